//! Results judged by a gate: what was declared, what the files carry, and the one path from there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::json;

use super::Ingest;
use super::evidence::{Arranged, arrange};
use super::metrics::wanted;
use crate::adapter;
use crate::cli::gates::{GATE_MAX_BYTES, read};
use crate::cli::record::{self, Parts, Places};
use crate::cli::results::{self, Found, Reading, keys};
use crate::cli::{say, step};
use crate::edge::{clock, files, ledger};
use crate::judge::rule::needs_base;
use crate::judge::scores::KIND;
use crate::model::fault::Faults;
use crate::model::gate::declaration::{Declaration, Ingest as Keys, Series, Source};
use crate::model::gate::{Against, Bound, Gate, Rule};
use crate::model::host::Host;
use crate::model::identity::{Facts, Identity, Unknown};
use crate::model::plan::{Objective, Plan};
use crate::model::record::{Base, Context, digest};
use crate::model::report::Report;
use crate::model::sample::{Arm, Cell, PerArm};

/// Most files that one judgement rests on.
const RESULTS_MAX: usize = 1_000;
/// Fields of an identity that no result file tells.
const UNTOLD: [(&str, &str); 5] = [
    ("source", "a result does not tell the version control behind it"),
    ("artifacts", "a result does not hold the files that ran"),
    ("model", "a result does not hold the model's digest"),
    ("prompt", "a result does not hold the prompt's digest"),
    ("gpu", "the machine that measured is not this one for certain"),
];

impl Ingest {
    /// Judges the results by a gate, and seals the record.
    pub(super) fn judge(&self, path: &Path) -> Result<u8> {
        record::format_name(&self.format).map_err(|why| anyhow!("--format with --gate: {why}"))?;
        let places = Places::checked(self.ledger.as_deref(), self.out.as_deref())?;
        let file = path.display().to_string();
        let text = files::read_declared(path, GATE_MAX_BYTES).context("--gate")?;
        let declaration = read(&text, &file).map_err(|all| Faults {
            whose: "the gate has faults",
            all,
        })?;
        let keys = kept(&declaration, &file)?;
        let mut results = self.results(keys)?;
        for (_, found) in &mut results {
            if let Some(banner) = found.report.notes.first() {
                say(&format!("gate: {}: {banner}", found.file));
            }
        }
        let (arms, mut found): (Vec<Arm>, Vec<Found>) = results.into_iter().unzip();
        keys::fill(&mut found);
        let wanted = wanted(&keys.metrics, &found)?;
        let results: Vec<(Arm, &Found)> = arms.into_iter().zip(&found).collect();
        let parts = self.parts(path, text, &declaration, keys, &results, &wanted);
        if has_no_question(&parts) {
            say(&format!(
                "gate: no rule of {file} speaks of the candidate alone: name the base's results after --arm A, or declare a floor"
            ));
        }
        let record = ledger::append(&places.ledger, parts.judged(None, BTreeMap::new())?)?;
        let records = [record];
        step::finish(&records, &self.format, self.out.as_deref(), self.github)
    }

    /// Every named result with its arm. One that is refused ends it all: what is left would be a choice.
    fn results(&self, keys: &Keys) -> Result<Vec<(Arm, Found)>> {
        let declared = keys.adapter.as_deref().map(adapter::find).transpose().map_err(|why| anyhow!(why))?;
        let reading = Reading {
            adapter: self.adapter.or(declared),
            max_failed_pct: keys.max_failed_pct,
            ..self.reading()
        };
        let mut results: Vec<(Arm, Found)> = Vec::new();
        for (arm, path) in self.named(keys)? {
            let (mut found, left_out) = reading.of(&path).with_context(|| path.display().to_string())?;
            results::tell(&left_out);
            if let Some(result) = left_out.into_iter().find(|left_out| left_out.unread.is_result) {
                return Err(result.unread.why.context(result.path.display().to_string()))
                    .context("a result that cannot be read is not passed over");
            }
            if keys.newest {
                found = vec![newest(found)?];
            }
            results.extend(found.into_iter().map(|found| (arm, found)));
        }
        if results.len() > RESULTS_MAX {
            bail!("{} results: at most {RESULTS_MAX} are judged together", results.len());
        }
        for (found, earlier) in twins(results.iter().map(|(_, found)| found)) {
            if found.at().is_some() || files::same_place(Path::new(&found.file), Path::new(&earlier.file)) {
                bail!("{} is {} byte for byte: a process counts once", found.file, earlier.file);
            }
        }
        if results.iter().all(|(arm, _)| *arm == Arm::A) {
            bail!("every result is of arm A, the base: name the candidate's after --arm B");
        }
        Ok(results)
    }

    /// The named files, else the one that the gate names.
    fn named(&self, keys: &Keys) -> Result<Vec<(Arm, PathBuf)>> {
        if !self.files.paths.is_empty() {
            return Ok(self.files.paths.clone());
        }
        let path = keys.path.as_ref();
        let path = path.ok_or_else(|| anyhow!("name FILE or DIR: neither the command line nor ingest.path of the gate names results"))?;
        let folder = files::working_folder()?;
        let top = crate::edge::git::top(&folder).unwrap_or(folder);
        Ok(vec![(Arm::B, top.join(path))])
    }

    fn parts(
        &self,
        path: &Path,
        text: String,
        declaration: &Declaration,
        keys: &Keys,
        results: &[(Arm, &Found)],
        wanted: &[Series],
    ) -> Parts {
        let has_base = results.iter().any(|(arm, _)| *arm == Arm::A);
        let gate = Gate {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            from: format!("file {}", path.display()),
            digest: digest(text.as_bytes()),
            text,
            metrics: wanted.iter().map(|series| series.metric.clone()).collect(),
            rules: declaration.rules_for(has_base),
            complete: declaration.require.complete.clone(),
            equal: declaration.require.equal.clone(),
            measured: BTreeMap::new(),
            scores: None,
        };
        let Arranged {
            order,
            blocks,
            apart,
            evidence,
        } = arrange(results, wanted);
        let adapters: Vec<&str> = results.iter().map(|(_, found)| found.adapter).collect();
        let plan = Plan {
            objective: Objective::Gate,
            order,
            looks: if has_base && apart.is_none() {
                vec![blocks.len() as u32]
            } else {
                Vec::new()
            },
            cells: vec![Cell::default()],
            max_blocks: blocks.len() as u32,
            blocks,
            fixed: true,
            alpha: declaration.plan.alpha,
            beta: declaration.plan.beta,
            null_margin: 0.0,
            rank_share: 0.25,
            min_run_cv: 0.0005,
            warmup_runs: 0,
            warmup: None,
            telemetry: None,
            max_void_blocks: 0,
            max_attempts: 0,
            max_failed_pct: keys.max_failed_pct,
            timeout_s: 0.0,
            max_session_s: 0.0,
            on_inconclusive: declaration.plan.on_inconclusive,
            extract: adapters.first().copied().unwrap_or_default().to_owned(),
            commands: PerArm::default(),
            cwd: String::new(),
            digest: String::new(),
        };
        let of = |wanted: Arm| reports(results, wanted);
        let differs = if has_base {
            keys::in_words(&keys::differences(of(Arm::A), of(Arm::B)))
        } else {
            String::new()
        };
        let mut banners: Vec<String> = apart
            .map(|why| format!("nothing shows that the arms took turns: {why}"))
            .into_iter()
            .collect();
        if !differs.is_empty() {
            banners.push(format!("the configuration of the arms differs: {differs}"));
        }
        let told = results.iter().flat_map(|(arm, found)| {
            found
                .report
                .notes
                .iter()
                .map(move |note| format!("arm {arm}, {}: {note}", found.file))
        });
        banners.extend(told);
        let twins = twins(results.iter().map(|(_, found)| *found));
        banners.extend(
            twins
                .into_iter()
                .map(|(found, earlier)| format!("{} is {} byte for byte", found.file, earlier.file)),
        );
        Parts {
            kind: "ingest",
            at: clock::now(),
            identity: identity(results, &differs, keys),
            gate,
            plan,
            host: Host::default(),
            evidence,
            context: Context {
                base: Base {
                    commit: None,
                    why: if has_base { "the results after --arm A" } else { "no base arm" }.to_owned(),
                },
                head: None,
                attempt: 1,
                band: Vec::new(),
                waivers: Vec::new(),
                banners,
                baseline: None,
                unaffected: None,
                identical: false,
                new_gate: false,
                changed_harness: Vec::new(),
                command: self.command(path),
            },
        }
    }
}

/// Results that are an earlier one byte for byte, each with that one.
fn twins<'a>(results: impl Iterator<Item = &'a Found>) -> Vec<(&'a Found, &'a Found)> {
    let mut seen: BTreeMap<&str, &Found> = BTreeMap::new();
    let twin = |found: &'a Found| seen.insert(&found.digest, found).map(|earlier| (found, earlier));
    results.filter_map(twin).collect()
}

/// Whether every rule compares with a base arm that is not there.
fn has_no_question(parts: &Parts) -> bool {
    parts.plan.sides().len() == 1 && parts.gate.rules.iter().all(needs_base)
}

fn reports<'a>(results: &'a [(Arm, &'a Found)], wanted: Arm) -> impl Iterator<Item = &'a Report> {
    results
        .iter()
        .filter(move |(arm, _)| *arm == wanted)
        .map(|(_, found)| &found.report)
}

/// What a gate asks for is kept or refused, never passed over.
fn kept<'d>(declaration: &'d Declaration, file: &str) -> Result<&'d Keys> {
    let Some(keys) = declaration.ingest.as_ref().filter(|_| declaration.source == Source::Ingest) else {
        bail!("{file}: its source is run: `gate perf --gate {file}` measures it");
    };
    let refused = [
        ("require.guard", declaration.require.guard),
        ("require.checks", !declaration.require.checks.is_empty()),
        ("ingest.model", keys.model.is_some()),
        ("ingest.tasks", !keys.tasks.is_empty()),
        ("ingest.groups", !keys.groups.is_empty()),
        ("ingest.baseline", keys.baseline.is_some()),
        ("ingest.base_model", keys.base_model.is_some()),
    ];
    if let Some((key, _)) = refused.iter().find(|(_, asked)| *asked) {
        bail!("{file}: {key}: `gate ingest` does not keep it, so nothing was judged; leave the key out where the gate holds without it");
    }
    let asks_baseline = |rule: &&Rule| {
        let share = |bound: &Option<Bound>| matches!(bound, Some(Bound::Historical { .. } | Bound::Baseline { .. }));
        rule.kind != KIND && rule.against == Against::Baseline || share(&rule.at_least) || share(&rule.at_most)
    };
    if let Some(rule) = declaration.rules.iter().map(|declared| &declared.rule).find(asks_baseline) {
        bail!(
            "{}: this rule asks for a baseline, and nothing shows on which machine another tool measured: compare with results after --arm A, declare \
             a figure, or let `gate perf` measure",
            rule.at
        );
    }
    if !declaration.when.is_empty() {
        say("gate: when.paths decides what is measured; these results are there, and are judged");
    }
    Ok(keys)
}

/// The newest of several results, by the dates inside them.
fn newest(found: Vec<Found>) -> Result<Found> {
    let undated = found.iter().find(|one| one.at().is_none()).filter(|_| found.len() > 1);
    if let Some(undated) = undated {
        bail!(
            "ingest.newest: {} carries no date, so which is the newest cannot be told",
            undated.file
        );
    }
    let last = found.iter().filter_map(Found::at).max();
    let mut newest: Vec<Found> = found.into_iter().filter(|one| one.at() == last).collect();
    match (newest.pop(), newest.pop()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => bail!("ingest.newest: {} and {} carry the same date: name one", one.file, other.file),
        (None, _) => bail!("ingest.newest: there is no result"),
    }
}

/// What the results tell of what was measured on what; the rest is unknown.
fn identity(results: &[(Arm, &Found)], differs: &str, keys: &Keys) -> Identity {
    let mut config = Facts::new();
    for (_, found) in results {
        for (field, value) in &found.report.config {
            config.entry(field.clone()).or_insert_with(|| json!(value));
        }
    }
    if !differs.is_empty() {
        config.insert("differs".to_owned(), json!(differs));
    }
    let policy = Facts::from([
        ("process".to_owned(), json!("as the tool ran")),
        ("strict_config".to_owned(), json!(keys.strict_config)),
    ]);
    let mut missing: Vec<Unknown> = UNTOLD
        .iter()
        .map(|(field, why)| Unknown {
            field: (*field).to_owned(),
            why: (*why).to_owned(),
        })
        .collect();
    if config.is_empty() {
        missing.push(Unknown {
            field: "config".to_owned(),
            why: "the results tell no configuration".to_owned(),
        });
    }
    Identity {
        config,
        policy,
        missing,
        ..Identity::default()
    }
}
