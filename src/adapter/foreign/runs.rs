//! Runs under one or several configurations, told as one report.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::report::{Report, Reported};

/// How many values of a field a note names.
const SHOWN_MAX: usize = 4;

/// One row or document: what ran how, and what came of it.
#[derive(Debug, Default)]
pub struct Run {
    /// How it ran.
    pub config: BTreeMap<String, String>,
    /// When, as the output tells it.
    pub at: Option<String>,
    /// What it measured; `of` is filled in from the configuration.
    pub series: Vec<Reported>,
}

/// The fields that differ between runs, each with its values.
pub type Varying = BTreeMap<String, BTreeSet<String>>;

/// Puts runs together: fields that are the same in every run are the report's configuration, the others tell its series apart. The same
/// series again under the same configuration is a further process.
pub fn gather(tool: &str, runs: Vec<Run>, mut notes: Vec<String>) -> (Report, Varying) {
    let (constant, varying) = split(&runs);
    notes.extend(
        varying
            .iter()
            .map(|(key, given)| format!("the runs differ in {key}: {}", told(given))),
    );
    let mut report = Report {
        tool: tool.to_owned(),
        at: runs.iter().filter_map(|run| run.at.clone()).min(),
        config: constant,
        notes,
        ..Report::default()
    };
    let mut again = BTreeSet::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs {
        let of: BTreeMap<String, String> = run.config.into_iter().filter(|(key, _)| varying.contains_key(key)).collect();
        for mut series in run.series {
            series.of.extend(of.clone());
            let label = series.label();
            match places.get(&label).and_then(|place| report.series.get_mut(*place)) {
                Some(same) => {
                    same.processes.extend(series.processes);
                    again.insert(label);
                }
                None => {
                    places.insert(label, report.series.len());
                    report.series.push(series);
                }
            }
        }
    }
    if !again.is_empty() {
        let again = again.len();
        report.notes.push(format!(
            "{again} series measured several times with the same configuration: each is a run of its own"
        ));
    }
    (report, varying)
}

/// A few values of a field, for a message.
pub fn told(given: &BTreeSet<String>) -> String {
    given.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ")
}

fn split(runs: &[Run]) -> (BTreeMap<String, String>, Varying) {
    let keys: BTreeSet<&String> = runs.iter().flat_map(|run| run.config.keys()).collect();
    let (mut constant, mut varying) = (BTreeMap::new(), Varying::new());
    for key in keys {
        let given = runs
            .iter()
            .map(|run| run.config.get(key).map_or("(absent)", String::as_str).to_owned());
        let given: BTreeSet<String> = given.collect();
        match (given.len(), given.first()) {
            (1, Some(only)) => {
                constant.insert(key.clone(), only.clone());
            }
            _ => {
                varying.insert(key.clone(), given);
            }
        }
    }
    (constant, varying)
}
