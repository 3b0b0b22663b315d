//! Scores as series: the accepted runs of an eval baseline, and the candidate of a record of scores.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use super::side::Side;
use crate::model::eval::baseline::parse_bytes;
use crate::model::eval::{Aim, Extent, Group, Results, Score};
use crate::model::metric::Better;
use crate::model::report::{Process, Report, Reported};
use crate::model::unit::Unit;

/// The accepted runs, each a process of its scores.
///
/// # Errors
/// Where the file is wrong.
pub fn of_baseline(name: String, bytes: &[u8]) -> Result<Side> {
    let baseline = parse_bytes(bytes, &name).map_err(|fault| anyhow!("{fault}"))?;
    let mut series: Vec<Reported> = Vec::new();
    for line in baseline.scores() {
        let mut one = reported(&line.score, members(baseline.groups(), &line.score.key.task));
        one.notes.push(format!("run of {}", line.date));
        match series.iter_mut().find(|known| known.label() == one.label()) {
            Some(known) if known.detail == one.detail => {
                known.processes.extend(one.processes);
                known.notes.extend(one.notes);
            }
            // The last one is the one that counts, when the question changed.
            Some(known) => *known = one,
            None => series.push(one),
        }
    }
    let model = &baseline.model;
    Ok(Side {
        is: "baseline of scores".to_owned(),
        report: Report {
            tool: "gate".to_owned(),
            series,
            config: BTreeMap::from([
                ("model_name".to_owned(), model.id.clone()),
                ("model_sha".to_owned(), model.digest.clone()),
            ]),
            ..Report::default()
        },
        name,
    })
}

/// The tasks of a group; none of any other task.
fn members<'g>(mut groups: impl Iterator<Item = &'g Group>, task: &str) -> &'g [String] {
    groups.find(|group| group.name == task).map_or(&[], |group| &group.members)
}

/// Every score of a run.
pub fn series(results: &Results) -> Vec<Reported> {
    let one = |score: &Score| reported(score, members(results.groups.iter(), &score.key.task));
    results.scores.iter().map(one).collect()
}

/// A score as an adapter tells it.
fn reported(score: &Score, members: &[String]) -> Reported {
    let (key, setup) = (&score.key, &score.setup);
    let named = [("task", &key.task), ("filter", &key.filter)];
    let named = named.into_iter().filter(|(_, name)| !name.is_empty());
    let detail = [
        ("task_version", setup.task_version.clone()),
        ("n_shot", setup.few_shot.map(|shots| shots.to_string())),
        ("task_hash", setup.task_hash.clone()),
        ("task_items", score.of.map(|items| items.to_string())),
        ("group_of", (!members.is_empty()).then(|| members.join(","))),
    ];
    let unit = match score.extent {
        Some(Extent::One) => Some("1"),
        Some(Extent::Hundred) => Some("%"),
        Some(Extent::Open) | None => None,
    };
    let (better, note) = match score.aim {
        Some(Aim::Higher) => (Some(Better::Higher), None),
        Some(Aim::Lower) => (Some(Better::Lower), None),
        Some(Aim::Target(at)) => (None, Some(format!("good near {at}"))),
        None => (None, None),
    };
    let process = match (score.value, &score.missing) {
        (Some(value), _) => Process::of(vec![value]),
        (None, Some(missing)) => Process::Missing(missing.clone()),
        (None, None) => Process::not_measured("neither a value nor a reason"),
    };
    Reported {
        name: key.metric.clone(),
        of: named.map(|(field, name)| (field.to_owned(), name.clone())).collect(),
        unit: unit.and_then(|unit| Unit::parse(unit).ok()),
        better,
        processes: vec![process],
        n: score.items,
        stderr: score.stderr,
        detail: detail
            .into_iter()
            .filter_map(|(field, value)| Some((field.to_owned(), value?)))
            .collect(),
        notes: note.into_iter().collect(),
    }
}
