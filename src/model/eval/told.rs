//! A report of any adapter as scores: what of it names a score, and what tells how the score was made.

use std::collections::BTreeMap;

use super::evidence::ScoreRun;
use super::{Aim, Extent, Group, Key, Results, Score, Setup, baseline};
use crate::model::figure::{Missing, State};
use crate::model::gate::scores::ModelName;
use crate::model::metric::Better;
use crate::model::report::{Process, Report, Reported};
use crate::model::unit::Dimension;

/// The metric of a series that only has a name: a persona score, an agenda score.
pub const SCORE: &str = "score";
/// Scores without an upper end, by their whole names.
const OPEN: [&str; 5] = ["perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ppl"];
/// A share whose ideal lies in the middle.
const BALANCED: &str = "pct_stereotype";
/// Settings that name the model and its place, or are fields of their own.
const NO_SETTING: [&str; 20] = [
    "chat_template_sha",
    "fewshot_as_multiturn",
    "git_hash",
    "limit",
    "lm_eval_version",
    "model_args",
    "model_name",
    "model_name_sanitized",
    "model_revision",
    "model_sha",
    "model_num_parameters",
    "model_source",
    "num_fewshot",
    "no_cache",
    "peft_sha",
    "system_instruction_sha",
    "transformers_version",
    "use_cache",
    "eot_token_id",
    "batch_sizes",
];
/// Arguments that name the model or its place.
const NAMES_MODEL: [&str; 8] = ["base_url", "delta", "model", "path", "peft", "pretrained", "revision", "tokenizer"];

impl ScoreRun {
    /// The scores of one file.
    pub fn of(report: &Report, file: String) -> Self {
        let config = Config(&report.config);
        let common = config.setup();
        let scores = report.series.iter().map(|series| score(series, &common)).collect();
        let mut groups: Vec<Group> = Vec::new();
        for series in &report.series {
            if let (Some(name), Some(members)) = (series.of.get("task"), series.detail.get("group_of"))
                && groups.iter().all(|group| group.name != *name)
            {
                let members = members.split(',').map(str::to_owned).collect();
                groups.push(Group {
                    name: name.clone(),
                    members,
                });
            }
        }
        Self {
            file,
            at: report.at.clone(),
            record: None,
            model: config.model(),
            results: Results {
                scores,
                groups,
                outcomes: Vec::new(),
            },
            notes: report.notes.clone(),
        }
    }

    /// Takes in the scores of a further file of the same run.
    pub fn add(&mut self, other: Self) {
        self.file = format!("{}, {}", self.file, other.file);
        self.at = self.at.take().or(other.at);
        self.model = self.model.take().or(other.model);
        self.results.scores.extend(other.results.scores);
        self.results.groups.extend(other.results.groups);
        self.notes.extend(other.notes);
    }
}

fn score(series: &Reported, common: &Setup) -> Score {
    let missing = |state, why: &str| Missing {
        state,
        why: why.to_owned(),
    };
    let (value, missing) = match series.processes.as_slice() {
        [Process::Repetitions(values)] => match values.as_slice() {
            [value] if value.is_finite() => (Some(*value), None),
            _ => (None, Some(missing(State::Failed, "several values stand for one score"))),
        },
        [Process::Missing(why)] => (None, Some(why.clone())),
        [] => (None, Some(missing(State::NotMeasured, "no value"))),
        _ => (None, Some(missing(State::Failed, "several runs stand in one file"))),
    };
    let key = key(series);
    let share = series.unit.filter(|unit| unit.dimension() == Dimension::Share);
    let extent = match share.map(|unit| unit.canonical()) {
        Some("%") => Some(Extent::Hundred),
        Some(_) => Some(Extent::One),
        None if OPEN.contains(&key.metric.as_str()) => Some(Extent::Open),
        None => None,
    };
    let aim = match series.better {
        Some(Better::Higher) => Some(Aim::Higher),
        Some(Better::Lower) => Some(Aim::Lower),
        None if key.metric == BALANCED => Some(Aim::Target(0.5)),
        None => None,
    };
    let detail = |name: &str| series.detail.get(name).cloned();
    let mut setup = Setup {
        task_version: detail("task_version"),
        task_hash: detail("task_hash").filter(|hash| !hash.is_empty()),
        ..common.clone()
    };
    setup.few_shot = detail("n_shot").and_then(|shots| shots.parse().ok()).or(setup.few_shot);
    Score {
        key,
        value,
        missing,
        items: series.n,
        of: detail("task_items").and_then(|items| items.parse().ok()),
        stderr: series.stderr,
        aim,
        extent,
        setup,
    }
}

fn key(series: &Reported) -> Key {
    match series.of.get("task") {
        Some(task) => Key {
            task: task.clone(),
            metric: series.name.clone(),
            filter: series.of.get("filter").cloned().unwrap_or_default(),
        },
        None => Key {
            task: series.label(),
            metric: SCORE.to_owned(),
            filter: String::new(),
        },
    }
}

/// What a file says of the run as a whole.
struct Config<'a>(&'a BTreeMap<String, String>);

impl Config<'_> {
    /// A field that is stated: `null` and its like state that there is none.
    fn stated(&self, name: &str) -> Option<Option<&str>> {
        let text = self.0.get(name)?;
        Some(Some(text.as_str()).filter(|text| !matches!(*text, "" | "null" | "None" | "none" | "N/A")))
    }

    fn setup(&self) -> Setup {
        let or_none = |stated: Option<&str>| stated.unwrap_or("none").to_owned();
        let mut template = self.stated("chat_template_sha").map(or_none);
        for (name, word) in [("system_instruction_sha", "system"), ("fewshot_as_multiturn", "multiturn")] {
            if let Some(Some(value)) = self.stated(name).filter(|value| *value != Some("false")) {
                template = Some(format!("{} {word}:{value}", template.as_deref().unwrap_or("not stated")));
            }
        }
        let few_shot = self.stated("num_fewshot").flatten().and_then(|shots| shots.parse().ok());
        let harness = self.stated("lm_eval_version").flatten().map(|version| format!("lm_eval-{version}"));
        Setup {
            few_shot,
            chat_template: template,
            harness,
            limit: self.stated("limit").map(or_none),
            config: self.settings(),
            ..Setup::default()
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let own = self.0.iter().filter(|(name, _)| !NO_SETTING.contains(&name.as_str()));
        let own = own.map(|(name, value)| (name.clone(), value.clone()));
        let arguments = self
            .arguments()
            .into_iter()
            .filter(|(name, _)| !NAMES_MODEL.contains(&name.as_str()));
        own.chain(arguments.map(|(name, value)| (format!("model_args.{name}"), value)))
            .collect()
    }

    /// The model's arguments, written as a text or as an object: `k=v,k=v`.
    fn arguments(&self) -> BTreeMap<String, String> {
        let text = self.0.get("model_args").map_or("", |text| text.trim_matches(['{', '}']));
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect()
    }

    fn model(&self) -> Option<ModelName> {
        let arguments = self.arguments();
        let of_arguments = || {
            let names = ["pretrained", "model", "path"].into_iter();
            names.filter_map(|name| arguments.get(name).map(String::as_str)).next()
        };
        let id = of_arguments().or_else(|| self.stated("model_name").flatten())?;
        let digest = self.stated("model_sha").flatten().map(str::to_ascii_lowercase);
        Some(ModelName {
            id: id.to_owned(),
            digest: digest.filter(|digest| baseline::is_digest(digest)),
        })
    }
}
