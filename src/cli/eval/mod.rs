//! `gate eval`: scores that a harness gave, against those of the base model. Nothing is run.

pub mod again;
mod answers;
pub mod base;
mod declared;
mod found;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use base::Base;
use declared::{Declared, FROM_OPTIONS};
use found::Choice;

use super::perf::shell_line;
use super::record::{Parts, Places, format_name};
use super::rules::Rules;
use super::waivers::Waivers;
use super::{parse, step};
use crate::adapter::{self, Adapter};
use crate::edge::{clock, files, ledger};
use crate::model::eval::Extent;
use crate::model::eval::evidence::{BaseKind, ScoreRun, Scores};
use crate::model::evidence::Evidence;
use crate::model::gate::scores::ModelName;
use crate::model::gate::{Gate, Test};
use crate::model::host::Host;
use crate::model::identity::{ArmIdentity, Artifact, Facts, Identity, Unknown, none};
use crate::model::metric::Tolerance;
use crate::model::plan::Plan;
use crate::model::record::{self, Context, Record};
use crate::model::sample::PerArm;

/// Judge benchmark scores against those of the base model: no task may fall by more than the tolerance
///
/// The rule is that of gates/eval.toml, of a recipe, or of --tolerance. Without a base the scores are only recorded, which is no pass;
/// `gate baseline accept last` makes them a baseline.
#[derive(Debug, Default, Args)]
pub struct Eval {
    /// Result files, or a folder that is searched; further files add tasks of their own [default: ingest.path of the gate]
    #[arg(value_name = "RESULTS")]
    results: Vec<PathBuf>,
    /// The declared gate [default: gates/eval.toml where it stands and no other rule is given]
    #[arg(long, value_name = "FILE", conflicts_with = "tolerance")]
    gate: Option<PathBuf>,
    /// The base's scores: an eval baseline, results, or a folder; several are several runs [default: baselines/eval/*.txt]
    #[arg(long, value_name = "FILE|DIR")]
    baseline: Vec<PathBuf>,
    /// How far a score may fall: points (1pp), or a share of the base's score (1%) [default: 1pp]
    #[arg(long, value_name = "SIZE", value_parser = tolerance, allow_hyphen_values = true)]
    tolerance: Option<Tolerance>,
    /// What a failure rests on: the fall alone, or the paired test of the single answers too [default: point]
    #[arg(long, value_name = "point|paired", value_parser = test)]
    test: Option<Test>,
    /// The base's logs of single answers [default: those beside its results]
    #[arg(long, value_name = "DIR")]
    samples_a: Option<PathBuf>,
    /// The candidate's logs of single answers [default: those beside its results]
    #[arg(long, value_name = "DIR")]
    samples_b: Option<PathBuf>,
    /// Of several results take the newest, by the date inside
    #[arg(long)]
    newest: bool,
    /// Of several results take this model's
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Take tasks, base model and threshold from a mindXtrain recipe
    #[arg(long, value_name = "FILE", conflicts_with = "tolerance")]
    recipe: Option<PathBuf>,
    /// The model that the base's scores must be of, by name or NAME@DIGEST
    #[arg(long, value_name = "NAME", value_parser = ModelName::parse)]
    base_model: Option<ModelName>,
    /// A difference in any setting makes scores incomparable; else it is named beside the verdict
    #[arg(long)]
    strict_config: bool,
    /// Judge scores on a part of a task's items, where both sides have the same limit
    #[arg(long)]
    limited: bool,
    /// The scale of the scores
    #[arg(long, value_name = "0-1|0-100", value_parser = scale)]
    scale: Option<Extent>,
    /// The scale of the base's scores
    #[arg(long, value_name = "0-1|0-100", value_parser = scale)]
    base_scale: Option<Extent>,
    /// The adapter, where the content does not tell it
    #[arg(long, value_name = "NAME", value_parser = adapter::find)]
    adapter: Option<&'static Adapter>,
    /// Where gate and baseline are read from [default: the base branch's tip on a pull request, else the working tree]
    #[arg(long, value_name = "REV")]
    rules_from: Option<String>,
    /// Runs of the base older than this are called old
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse::days)]
    stale_after: u32,
    /// How the record is shown on standard output
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = format_name)]
    format: String,
    /// Write the record to a file as well, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The ledger to append the record to [default: .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Tell the job around it: summary, outputs, annotations [default: where GITHUB_ACTIONS is true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    github: Option<bool>,
}

fn tolerance(text: &str) -> Result<Tolerance, String> {
    let bare = text.trim().parse::<f64>().is_ok_and(f64::is_finite);
    if bare {
        let number = text.trim();
        return Err(format!(
            "{number}: say {number}pp (percentage points) or {number}% (of the base's score)"
        ));
    }
    let tolerance = Tolerance::parse_margin(text)?;
    match tolerance.unit {
        Some(unit) => Err(format!(
            "{text:?}: a score has no {unit}: say 1pp (percentage points) or 1% (of the base's score)"
        )),
        None => Ok(tolerance),
    }
}

fn test(text: &str) -> Result<Test, String> {
    match text {
        "point" => Ok(Test::Point),
        "paired" => Ok(Test::Paired),
        other => Err(format!("{other:?}: say point or paired")),
    }
}

fn scale(text: &str) -> Result<Extent, String> {
    let known = [Extent::One, Extent::Hundred].into_iter().find(|extent| extent.word() == text);
    known.ok_or_else(|| format!("{text:?}: say 0-1 or 0-100"))
}

impl Eval {
    /// Reads, judges, seals, shows.
    ///
    /// # Errors
    /// Whatever keeps the scores or the rule from being read; nothing is recorded then.
    pub fn run(&self) -> Result<u8> {
        step::told(self.judged_and_shown(), self.github)
    }

    fn judged_and_shown(&self) -> Result<u8> {
        let places = Places::checked(self.ledger.as_deref(), self.out.as_deref())?;
        let rules = Rules::open(self.rules_from.as_deref())?;
        let declared = Declared::of(self, &rules)?;
        let paths = self.paths(&declared, &rules)?;
        let choice = Choice {
            newest: self.newest || declared.newest,
            model: self.model.clone().or_else(|| declared.model.clone()),
            adapter: self.adapter.or(declared.adapter),
            series: &declared.series,
        };
        let mut candidate = found::run(&paths, &choice)?;
        answers::attach(&mut candidate, self.samples_b.as_deref(), "--samples-b")?;
        declared.check_few_shot(&mut candidate.run);
        let base = base::base(self, &declared, &rules, &choice)?;
        refuse_itself(&candidate, &base)?;
        let record = self.judged(declared, candidate, base, &rules)?;
        let records = [ledger::append(&places.ledger, record)?];
        step::finish(&records, &self.format, self.out.as_deref(), self.github)
    }

    /// The results that are judged: the named ones, else those that the gate names.
    fn paths(&self, declared: &Declared, rules: &Rules) -> Result<Vec<PathBuf>> {
        match (&self.results[..], &declared.path) {
            ([], Some(path)) => Ok(vec![rules.named(path)]),
            ([], None) => bail!("no results are named: give a result file or its folder"),
            (named, _) => Ok(named.to_vec()),
        }
    }

    fn judged(&self, declared: Declared, candidate: found::Read, base: Base, rules: &Rules) -> Result<Record> {
        let at = clock::now();
        let identity = identity(&candidate.run, &candidate.artifacts, candidate.adapter, &base);
        let Declared {
            mut gate,
            mut banners,
            is_new,
            ..
        } = declared;
        banners.extend(base.banners);
        let waivers = if gate.from == FROM_OPTIONS {
            Waivers::default()
        } else {
            rules.waivers(&gate.name)?
        };
        banners.extend(waivers.banners);
        let is_new = is_new || base.is_new;
        if is_new {
            gate.rules.iter_mut().for_each(|rule| rule.required = false);
        }
        let folder = files::working_folder()?;
        let plan = Plan::of_results(candidate.adapter.to_owned(), folder.to_string_lossy().into_owned());
        let evidence = Evidence {
            source: "ingest".to_owned(),
            warmups: Vec::new(),
            samples: Vec::new(),
            ended: None,
            scores: Some(Scores {
                base_kind: base.kind,
                base: base.runs,
                candidate: candidate.run,
                today: at.chars().take(10).collect(),
                stale_after_days: self.stale_after,
            }),
        };
        let context = Context {
            base: record::Base {
                commit: None,
                why: base.why,
            },
            head: rules.head(),
            attempt: 1,
            band: Vec::new(),
            waivers: waivers.hold,
            banners,
            baseline: None,
            unaffected: None,
            identical: false,
            new_gate: is_new,
            beside: Vec::new(),
            changed_harness: Vec::new(),
            command: self.command(),
        };
        let parts = Parts {
            kind: "eval",
            at,
            gate,
            plan,
            identity,
            host: Host::default(),
            evidence,
            context,
        };
        parts.judged(None, BTreeMap::new())
    }

    /// The command that judges again.
    fn command(&self) -> String {
        let mut words: Vec<String> = ["gate", "eval"].map(str::to_owned).to_vec();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([format!("--{name}"), value]);
            }
        };
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        option("gate", self.gate.as_ref().map(path));
        for baseline in &self.baseline {
            option("baseline", Some(path(baseline)));
        }
        option("tolerance", self.tolerance.as_ref().map(ToString::to_string));
        let test = |test: Test| if test == Test::Point { "point" } else { "paired" }.to_owned();
        option("test", self.test.map(test));
        option("samples-a", self.samples_a.as_ref().map(path));
        option("samples-b", self.samples_b.as_ref().map(path));
        option("model", self.model.clone());
        option("recipe", self.recipe.as_ref().map(path));
        let name = |model: &ModelName| match &model.digest {
            Some(digest) => format!("{}@{digest}", model.id),
            None => model.id.clone(),
        };
        option("base-model", self.base_model.as_ref().map(name));
        option("scale", self.scale.map(|scale| scale.word().to_owned()));
        option("base-scale", self.base_scale.map(|scale| scale.word().to_owned()));
        option("adapter", self.adapter.map(|adapter| adapter.name.to_owned()));
        option("rules-from", self.rules_from.clone());
        let switches = [
            ("newest", self.newest),
            ("strict-config", self.strict_config),
            ("limited", self.limited),
        ];
        words.extend(switches.iter().filter(|(_, set)| *set).map(|(name, _)| format!("--{name}")));
        words.extend(self.results.iter().map(path));
        shell_line(&words)
    }
}

/// A file that is compared with itself passes always.
fn refuse_itself(candidate: &found::Read, base: &Base) -> Result<()> {
    let results = |artifact: &&Artifact| artifact.role == "results";
    let of_base = |own: &&Artifact| base.artifacts.iter().filter(results).any(|other| other.blake3 == own.blake3);
    match candidate.artifacts.iter().filter(results).find(of_base) {
        None => Ok(()),
        Some(same) => bail!(
            "{}: base and candidate are the same results, byte for byte: nothing to compare; name the base model's with --baseline",
            same.path
        ),
    }
}

/// What was scored, as far as files tell it.
fn identity(candidate: &ScoreRun, artifacts: &[Artifact], adapter: &str, base: &Base) -> Identity {
    let facts = |name: &ModelName| {
        let mut facts = Facts::from([("id".to_owned(), json!(name.id))]);
        facts.extend(name.digest.as_ref().map(|digest| ("digest".to_owned(), json!(digest))));
        facts
    };
    let mut missing = vec![Unknown {
        field: "source".to_owned(),
        why: "result files do not tell which code made them".to_owned(),
    }];
    missing.push(Unknown {
        field: "gpu".to_owned(),
        why: "result files do not tell on which device they were made".to_owned(),
    });
    let mut of_model = candidate.model.as_ref().map(facts).unwrap_or_default();
    match base.runs.first().and_then(|run| run.model.as_ref()) {
        Some(name) if !of_model.is_empty() => drop(of_model.insert("base".to_owned(), json!(facts(name)))),
        Some(_) => {}
        None if base.kind == BaseKind::None => {}
        None => missing.push(Unknown {
            field: "model".to_owned(),
            why: "the base's results do not name it".to_owned(),
        }),
    }
    if of_model.is_empty() {
        missing.push(Unknown {
            field: "model".to_owned(),
            why: "the results do not name it".to_owned(),
        });
    }
    Identity {
        arms: PerArm {
            a: ArmIdentity {
                source: None,
                artifacts: base.artifacts.clone(),
            },
            b: ArmIdentity {
                source: None,
                artifacts: artifacts.to_vec(),
            },
        },
        model: of_model,
        prompt: none(),
        gpu: Facts::new(),
        config: Facts::from([("adapter".to_owned(), json!(adapter))]),
        policy: Facts::from([("process".to_owned(), json!("none: results are read from files"))]),
        machine: Facts::new(),
        missing,
    }
}

/// A file that was read, with its digests.
/// A file of scores, by the bytes that were read.
fn artifact(role: &str, path: &std::path::Path, bytes: &[u8]) -> Result<Artifact> {
    let digests = crate::edge::digest::digest_bytes(bytes)?;
    Ok(Artifact {
        role: role.to_owned(),
        path: path.to_string_lossy().into_owned(),
        bytes: digests.bytes,
        md5: Some(digests.md5),
        blake3: digests.blake3,
    })
}

/// The gate of rules that no file declares.
fn bare_gate() -> Gate {
    Gate {
        name: String::new(),
        from: String::new(),
        digest: String::new(),
        text: String::new(),
        metrics: Vec::new(),
        rules: Vec::new(),
        complete: COMPLETE.map(str::to_owned).to_vec(),
        equal: Vec::new(),
        measured: BTreeMap::new(),
        scores: None,
    }
}

/// What of the identity must be known of scores, or they are exploratory.
const COMPLETE: [&str; 1] = ["model"];
