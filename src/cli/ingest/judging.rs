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
use crate::cli::perf::workspace::Declared;
use crate::cli::record::{self, Parts, Places};
use crate::cli::results::{self, Found, Reading, keys};
use crate::cli::rules::Rules;
use crate::cli::{say, step};
use crate::edge::{clock, files, ledger};
use crate::judge::rule::needs_base;
use crate::judge::scores::KIND;
use crate::model::fault::Faults;
use crate::model::gate::declaration::{Declaration, Ingest as Keys, Series, Source};
use crate::model::gate::{Against, Bound, Gate, Rule};
use crate::model::host::Host;
use crate::model::identity::{Facts, Identity, Unknown};
use crate::model::metric::Metric;
use crate::model::plan::Plan;
use crate::model::record::{Base, Context, digest};
use crate::model::report::Report;
use crate::model::sample::{Arm, Cell};

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
        let rules = Rules::open(None)?;
        let declared = declared(path, &rules)?;
        let file = &declared.path;
        let keys = kept(&declared.declaration, file)?;
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
        let waivers = rules.waivers(&declared.name)?;
        let mut parts = self.parts(&declared, keys, &results, &wanted);
        parts.context.head = rules.head();
        parts.context.waivers = waivers.hold;
        parts.context.banners.extend(waivers.banners);
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

    fn parts(&self, declared: &Declared, keys: &Keys, results: &[(Arm, &Found)], wanted: &[Series]) -> Parts {
        let arranged = arrange(results, wanted);
        let has_base = results.iter().any(|(arm, _)| *arm == Arm::A);
        let adapter = results.first().map_or("", |(_, found)| found.adapter);
        let plan = plan(&declared.declaration, keys, &arranged, adapter);
        let of = |wanted: Arm| reports(results, wanted);
        let differs = if has_base {
            keys::in_words(&keys::differences(of(Arm::A), of(Arm::B)))
        } else {
            String::new()
        };
        let mut banners = declared.banners.clone();
        banners.extend(unshown_turns(&arranged));
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
            gate: gate(declared, wanted.iter().map(|series| series.metric.clone()).collect(), has_base),
            plan,
            host: Host::default(),
            evidence: arranged.evidence,
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
                new_gate: declared.is_new,
                beside: Vec::new(),
                changed_harness: Vec::new(),
                command: self.command(Path::new(&declared.path)),
            },
        }
    }
}

/// The gate where the rules come from.
fn declared(path: &Path, rules: &Rules) -> Result<Declared> {
    let file = path.display().to_string();
    let found = rules.read(path, GATE_MAX_BYTES).context("--gate")?;
    let found = found.ok_or_else(|| anyhow!("--gate: no such file: {file}"))?;
    let text = String::from_utf8(found.bytes).map_err(|_| anyhow!("--gate: {file}: not UTF-8"))?;
    let declaration = read(&text, &file).map_err(|all| Faults {
        whose: "the gate has faults",
        all,
    })?;
    Ok(Declared {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        from: found.from,
        path: file,
        text,
        declaration,
        banners: found.banner.into_iter().collect(),
        is_new: found.is_new,
    })
}

/// The gate as a record has it, with the metrics that its patterns meet.
pub fn gate(declared: &Declared, metrics: Vec<Metric>, has_base: bool) -> Gate {
    let Declaration { require, .. } = &declared.declaration;
    let mut rules = declared.declaration.rules_for(has_base);
    if declared.is_new {
        rules.iter_mut().for_each(|rule| rule.required = false);
    }
    Gate {
        name: declared.name.clone(),
        from: declared.from.clone(),
        digest: digest(declared.text.as_bytes()),
        text: declared.text.clone(),
        metrics,
        rules,
        complete: require.complete.clone(),
        equal: require.equal.clone(),
        measured: BTreeMap::new(),
        scores: None,
    }
}

/// The order that the results were made in, with what the gate says of it.
pub fn plan(declaration: &Declaration, keys: &Keys, arranged: &Arranged, adapter: &str) -> Plan {
    let blocks = arranged.blocks.clone();
    let samples = &arranged.evidence.samples;
    let took_turns = arranged.apart.is_none() && samples.iter().any(|sample| sample.arm == Arm::A);
    let most = blocks.len() as u32;
    Plan {
        order: arranged.order,
        looks: if took_turns { vec![most] } else { Vec::new() },
        cells: vec![Cell::default()],
        max_blocks: most,
        blocks,
        fixed: true,
        alpha: declaration.plan.alpha,
        beta: declaration.plan.beta,
        max_failed_pct: keys.max_failed_pct,
        on_inconclusive: declaration.plan.on_inconclusive,
        ..Plan::of_results(adapter.to_owned(), String::new())
    }
}

/// What a reader must know where the arms did not take turns.
pub fn unshown_turns(arranged: &Arranged) -> Option<String> {
    let why = arranged.apart.as_ref()?;
    Some(format!("nothing shows that the arms took turns: {why}"))
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
///
/// # Errors
/// Names the key that is not kept.
pub fn kept<'d>(declaration: &'d Declaration, file: &str) -> Result<&'d Keys> {
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
