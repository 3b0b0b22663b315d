//! lm-evaluation-harness: results files of every version so far, their inner map alone, and the printed tables.
//!
//! A series is a metric of a task under a filter. What stands beside the metrics without being one (alias, sample counts, standard errors)
//! is never taken for one, and a group is told from its own members.

pub(in crate::adapter) mod known;
pub mod samples;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Adapter;
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};

/// Reads lm-evaluation-harness.
pub const LM_EVAL: Adapter = Adapter {
    name: "lm-eval",
    about: "lm-evaluation-harness results and tables: each metric of each task and filter, with n, standard error and direction",
    source: "https://github.com/EleutherAI/lm-evaluation-harness/blob/main/lm_eval/evaluator.py (0.2 to 0.4.13)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// Members of a task's map that are no metric.
pub(in crate::adapter) const NO_METRIC: [&str; 4] = ["alias", "name", "sample_len", "sample_count"];
/// What the harness tells of the run beside `config`.
const TOLD: [&str; 9] = [
    "lm_eval_version",
    "git_hash",
    "model_name",
    "model_source",
    "system_instruction_sha",
    "fewshot_as_multiturn",
    "chat_template_sha",
    "transformers_version",
    "eot_token_id",
];

fn signs(input: &Input) -> usize {
    let Some(documents) = input.json().ok().flatten() else {
        return if table::is_one(input.text()) { 2 } else { 0 };
    };
    let Some(value) = documents.values.first() else { return 0 };
    if is_samples(value) || inner_map(value) {
        return 2;
    }
    let results = value.get("results").is_some_and(|results| matches!(results, Json::Map(_)));
    let beside = ["versions", "configs", "n-shot", "config", "higher_is_better"];
    usize::from(results) * (1 + beside.iter().filter(|key| value.has(key)).count())
}

fn is_samples(value: &Json) -> bool {
    value.has("doc_id") && value.has("doc") && (value.has("resps") || value.has("filtered_resps"))
}

/// Whether this is only what stands under `results`: tasks with `metric,filter` keys.
fn inner_map(value: &Json) -> bool {
    let filtered = |(_, task): &(String, Json)| task.members().iter().any(|(key, _)| key.contains("_stderr,"));
    !value.members().is_empty() && value.members().iter().all(filtered)
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    let Some(documents) = input.json()? else {
        return table::read(input, text);
    };
    let [document] = documents.values.as_slice() else {
        return Err(Refused(match documents.values.first() {
            Some(value) if is_samples(value) => "a per-sample log holds no scores of tasks: give the results file beside it".to_owned(),
            _ => "several lines of JSON: a results file of lm-eval is one document".to_owned(),
        }));
    };
    if is_samples(document) {
        return Err(Refused(
            "a per-sample log holds no scores of tasks: give the results file beside it".to_owned(),
        ));
    }
    let report = results(document, Input::json_notes(documents)?);
    if report.series.is_empty() {
        return Err(Refused("`results` holds no metric: no task was evaluated".to_owned()));
    }
    Ok(report)
}

/// What a results document says, or the inner map alone.
pub(in crate::adapter) fn results(document: &Json, notes: Vec<String>) -> Report {
    let results = document.get("results").unwrap_or(document);
    Results { document, results }.report(notes)
}

/// A results file.
struct Results<'j> {
    document: &'j Json,
    results: &'j Json,
}

impl Results<'_> {
    fn report(&self, notes: Vec<String>) -> Report {
        let version = self.document.get("lm_eval_version").and_then(Json::text);
        let with_filters = self.with_filters();
        let tool = match version {
            Some(version) => format!("lm-eval {version}"),
            None if with_filters => "lm-eval 0.4, version not told".to_owned(),
            None => "lm-eval before 0.4".to_owned(),
        };
        let mut tasks: Vec<(&str, &Json)> = self.results.members().iter().map(|(task, map)| (task.as_str(), map)).collect();
        let named: BTreeSet<&str> = tasks.iter().map(|(task, _)| *task).collect();
        let groups = self.document.get("groups").map_or(&[][..], Json::members);
        tasks.extend(
            groups
                .iter()
                .map(|(task, map)| (task.as_str(), map))
                .filter(|(task, _)| !named.contains(task)),
        );
        let series = tasks.iter().flat_map(|(task, map)| self.task(task, map, with_filters));
        Report {
            tool,
            at: self.date(),
            series: series.collect(),
            config: self.config(),
            notes,
        }
    }

    /// Since 0.4 a metric's key carries its filter.
    fn with_filters(&self) -> bool {
        let filtered = |(_, task): &(String, Json)| task.members().iter().any(|(key, _)| key.contains(','));
        self.results.members().iter().any(filtered)
    }

    /// The date inside, in seconds since 1970. `start_time` counts from the machine's start and is none.
    fn date(&self) -> Option<String> {
        let seconds = self.document.get("date").and_then(Json::number)?;
        let whole = Timestamp::from_second(seconds as i64).ok()?;
        Some(whole.to_string())
    }

    fn config(&self) -> BTreeMap<String, String> {
        let own = self.document.get("config").map_or(&[][..], Json::members);
        let own = own.iter().filter(|(key, _)| key != "batch_sizes");
        let told = TOLD
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), self.document.get(key)?.shown())));
        own.map(|(key, value)| (key.clone(), value.shown())).chain(told).collect()
    }

    fn task(&self, task: &str, map: &Json, with_filters: bool) -> Vec<Reported> {
        let mut series = Vec::new();
        for (key, value) in map.members() {
            let (metric, filter) = match key.split_once(',') {
                Some((metric, filter)) => (metric, Some(filter)),
                None if with_filters => continue,
                None => (key.as_str(), None),
            };
            if NO_METRIC.contains(&key.as_str()) || metric.ends_with("_stderr") || matches!(value, Json::Map(_) | Json::List(_)) {
                continue;
            }
            series.push(self.metric(task, map, (metric, filter), value));
        }
        series
    }

    fn metric(&self, task: &str, map: &Json, (metric, filter): (&str, Option<&str>), value: &Json) -> Reported {
        let stderr_key = match filter {
            Some(filter) => format!("{metric}_stderr,{filter}"),
            None => format!("{metric}_stderr"),
        };
        let score = value.number();
        let mut series = Reported {
            name: metric.to_owned(),
            of: [("task", Some(task)), ("filter", filter)]
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
                .collect(),
            unit: known::unit(metric, score),
            better: self.better(task, metric),
            processes: vec![match score {
                Some(score) => Process::of(vec![score]),
                None if matches!(value, Json::Null) => Process::not_measured("null"),
                None => Process::failed(format!("{}, where a JSON number should stand", value.kind())),
            }],
            detail: self.detail(task),
            ..Reported::default()
        };
        match map.get(&stderr_key).and_then(Json::number).filter(|stderr| stderr.is_finite()) {
            Some(stderr) => {
                series.stderr = Some(stderr);
                if stderr == 0.0 {
                    series
                        .notes
                        .push("a standard error of 0 tells that all answers agree, not that the score is certain".to_owned());
                }
            }
            None => series.notes.push("no standard error reported".to_owned()),
        }
        if known::unit(metric, Some(0.0)).is_some() && series.unit.is_none() && score.is_some_and(f64::is_finite) {
            series
                .notes
                .push("outside 0 to 1, where this metric is a share: another scale".to_owned());
        }
        self.items(task, map, metric, filter, &mut series);
        series
    }

    /// How many items the score rests on.
    fn items(&self, task: &str, map: &Json, metric: &str, filter: Option<&str>, series: &mut Reported) {
        let samples = self.of_task("n-samples", task);
        let count = |key: &str| samples.and_then(|samples| samples.get(key)).and_then(Json::count);
        let pooled = || {
            let key = filter.map_or_else(|| metric.to_owned(), |filter| format!("{metric},{filter}"));
            map.get("sample_count")?.get(&key)?.count()
        };
        series.n = count("effective").or_else(pooled).or_else(|| map.get("sample_len")?.count());
        if let (Some(n), Some(all)) = (series.n, count("original"))
            && n < all
        {
            let step = 100.0 / n as f64;
            series
                .notes
                .push(format!("{n} of {all} items: one answer moves a share by {step:.2} points"));
        }
    }

    /// What this task's own entry under a top-level key says.
    fn of_task(&self, key: &str, task: &str) -> Option<&Json> {
        self.document.get(key)?.get(task)
    }

    /// What must be equal before two scores are compared.
    fn detail(&self, task: &str) -> BTreeMap<String, String> {
        let mut detail = BTreeMap::new();
        for (name, key) in [("task_version", "versions"), ("n_shot", "n-shot"), ("task_hash", "task_hashes")] {
            if let Some(value) = self.of_task(key, task) {
                detail.insert(name.to_owned(), value.shown());
            }
        }
        let members: Vec<&str> = self
            .of_task("group_subtasks", task)
            .map_or(&[][..], Json::items)
            .iter()
            .filter_map(Json::text)
            .collect();
        if !members.is_empty() {
            detail.insert("group_of".to_owned(), members.join(","));
        }
        let all = self.of_task("n-samples", task).and_then(|samples| samples.get("original"));
        if let Some(all) = all.and_then(Json::count) {
            detail.insert("task_items".to_owned(), all.to_string());
        }
        detail
    }

    /// The direction as the file tells it, else as the metric is known; `null` in the file means that its members disagree.
    fn better(&self, task: &str, metric: &str) -> Option<Better> {
        let told = self.of_task("higher_is_better", task);
        let as_named = told.and_then(|told| told.get(metric));
        // The functional metric of code tasks is filed under its general name.
        let general = || told.filter(|_| metric.starts_with("pass@")).and_then(|told| told.get("pass_at_k"));
        match as_named.or_else(general) {
            Some(Json::Bool(higher)) => Some(known::direction(*higher)),
            Some(_) => None,
            None => known::better(metric),
        }
    }
}
