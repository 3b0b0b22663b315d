//! The table that lm-eval prints: one row a metric, the task named on its first row only.

use std::collections::BTreeMap;

use super::known;
use crate::adapter::foreign::table::{Table, cell_value, markdown};
use crate::adapter::foreign::{Input, Json};
use crate::model::report::{Process, Refused, Report, Reported};

/// The columns that name a task or a group.
const OF_TASK: [&str; 3] = ["Tasks", "Task", "Groups"];

/// Whether a text holds such a table.
pub(super) fn is_one(text: &str) -> bool {
    let is_head = |line: &str| {
        let has = |word: &&str| line.contains(*word);
        line.starts_with('|') && ["Metric", "Value", "Stderr"].iter().all(has) && OF_TASK.iter().any(has)
    };
    text.lines().any(is_head)
}

/// Reads every such table of a text.
pub(super) fn read(input: &Input, text: &str) -> Result<Report, Refused> {
    let mut report = Report {
        tool: "lm-eval table".to_owned(),
        notes: vec!["the values of a table are rounded: a results file tells them whole".to_owned()],
        ..Report::default()
    };
    for table in markdown(text)? {
        let place = |names: &[&str]| table.head.iter().position(|head| names.contains(&head.as_str()));
        if let (Some(task), Some(metric), Some(value)) = (place(&OF_TASK), place(&["Metric"]), place(&["Value"])) {
            take(&table, [task, metric, value], &mut report.series)?;
        }
    }
    if report.series.is_empty() {
        return Err(input.nothing("no result of lm-eval: want a results file or the table that it prints"));
    }
    Ok(report)
}

fn take(table: &Table, [task_at, metric_at, value_at]: [usize; 3], series: &mut Vec<Reported>) -> Result<(), Refused> {
    let (mut task, mut version) = (String::new(), String::new());
    for (line, row) in &table.rows {
        let cell = |at: usize| row.get(at).map_or("", String::as_str);
        let named = |name: &str| table.head.iter().position(|head| head == name).map_or("", &cell);
        if !cell(task_at).is_empty() {
            // Members of a group are drawn below it.
            cell(task_at).trim_start_matches(['-', ' ']).clone_into(&mut task);
            named("Version").clone_into(&mut version);
        }
        let metric = cell(metric_at);
        if task.is_empty() || metric.is_empty() {
            return Err(Refused(format!("line {line}: the row names no task or no metric")));
        }
        let score = cell_value(cell(value_at));
        let filter = named("Filter");
        let present = |(key, value): (&str, &str)| (!value.is_empty()).then(|| (key.to_owned(), value.to_owned()));
        let better = match cell(metric_at + 1) {
            "↑" => Some(known::direction(true)),
            "↓" => Some(known::direction(false)),
            _ => known::better(metric),
        };
        series.push(Reported {
            name: metric.to_owned(),
            of: [("task", task.as_str()), ("filter", filter)]
                .into_iter()
                .filter_map(present)
                .collect(),
            unit: known::unit(metric, score.number()),
            better,
            processes: vec![process(&score)],
            stderr: cell_value(named("Stderr")).number().filter(|stderr| stderr.is_finite()),
            detail: [("task_version", version.as_str()), ("n_shot", named("n-shot"))]
                .into_iter()
                .filter_map(present)
                .collect::<BTreeMap<_, _>>(),
            ..Reported::default()
        });
    }
    Ok(())
}

fn process(score: &Json) -> Process {
    match score.number() {
        Some(score) => Process::of(vec![score]),
        None => Process::not_measured(format!("{}, where a number should stand", score.kind())),
    }
}
