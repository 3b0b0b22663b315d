//! Scores of a run: of the persona and the agenda, each a task of its own between 0 and 1, and the summary of a manifest.

use crate::adapter::foreign::Json;
use crate::adapter::lm_eval::{self, NO_METRIC, known};
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// The tasks that only this trainer has.
const OWN: [&str; 2] = ["persona", "agenda"];
/// What their score is called.
const SCORE: &str = "regression_score";
/// What a manifest has beside its summary.
const MANIFEST: [&str; 4] = ["run_id", "base_model", "blake3", "schema_version"];

pub(super) fn signs(document: &Json) -> usize {
    let own = OWN.iter().filter(|task| document.has(task)).count();
    let results = usize::from(own > 0 && document.has("results"));
    let summary = usize::from(document.has("eval_summary")) * (1 + MANIFEST.iter().filter(|key| document.has(key)).count());
    (own + results).max(summary)
}

/// Reads own scores, with those of lm-eval where they stand in the same document, or the summary of a manifest.
pub(super) fn read(document: &Json, notes: Vec<String>) -> Result<Report, Refused> {
    if let Some(summary) = document.get("eval_summary") {
        return of_manifest(document, summary, notes);
    }
    let mut report = match document.get("results") {
        Some(_) => lm_eval::results(document, notes),
        None => Report {
            tool: "mindxtrain".to_owned(),
            notes,
            ..Report::default()
        },
    };
    let own = OWN.iter().filter_map(|task| series(task, SCORE, document.get(task)?));
    report.series.extend(own);
    Ok(report)
}

/// The flat summary `task/metric,filter` of a manifest, which holds every number that it found.
fn of_manifest(document: &Json, summary: &Json, mut notes: Vec<String>) -> Result<Report, Refused> {
    let scores = summary.members().iter().filter_map(|(key, value)| {
        let (task, metric) = key.split_once('/').unwrap_or((key, SCORE));
        series(task, metric, value)
    });
    let scores: Vec<Reported> = scores.collect();
    if scores.is_empty() {
        return Err(Refused("`eval_summary` holds no score: nothing was evaluated".to_owned()));
    }
    notes.push("the summary of a manifest: eval.json tells more, and is what the manifest's digest covers".to_owned());
    let told = MANIFEST
        .iter()
        .filter(|key| **key != "blake3")
        .filter_map(|key| Some((*key, document.get(key)?)));
    Ok(Report {
        tool: "mindxtrain".to_owned(),
        series: scores,
        config: told.map(|(key, value)| (key.to_owned(), value.shown())).collect(),
        notes,
        ..Report::default()
    })
}

/// The series of one score; none where the name is of no score.
pub(super) fn series(task: &str, metric: &str, value: &Json) -> Option<Reported> {
    let (metric, filter) = match metric.split_once(',') {
        Some((metric, filter)) => (metric, Some(filter)),
        None => (metric, None),
    };
    if NO_METRIC.contains(&metric) || metric.ends_with("_stderr") {
        return None;
    }
    let of = [("task", Some(task)), ("filter", filter)];
    let is_own = OWN.contains(&task);
    let score = value.number();
    let (unit, better) = if is_own {
        (Unit::parse("1").ok(), Some(Better::Higher))
    } else {
        (known::unit(metric, score), known::better(metric))
    };
    let process = match score {
        Some(0.0) if is_own => Process::not_measured("0 stands for no samples too: which one cannot be told"),
        Some(score) if is_own && !(0.0..=1.0).contains(&score) && score.is_finite() => {
            Process::failed(format!("{score} is outside 0 to 1"))
        }
        Some(score) => Process::of(vec![score]),
        None if *value == Json::Null => Process::not_measured("null"),
        None => Process::failed(format!("{}, where a JSON number should stand", value.kind())),
    };
    Some(Reported {
        name: metric.to_owned(),
        of: of
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
            .collect(),
        unit,
        better,
        processes: vec![process],
        notes: vec!["no standard error reported".to_owned()],
        ..Reported::default()
    })
}
