//! Comma-separated values with a head. Which columns are measured is the gate's to declare: the others tell series apart.

use std::collections::BTreeMap;

use super::Adapter;
use super::foreign::table::csv;
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::report::{Process, Refused, Report, Reported};

/// Reads comma-separated values.
pub const CSV: Adapter = Adapter {
    name: "csv",
    about: "comma-separated values with a head: declared columns (else every column of numbers), rows of equal other cells together",
    source: "https://www.rfc-editor.org/rfc/rfc4180 (2005)",
    signs: None,
    read,
    stream: None,
    write: None,
};

fn read(input: &Input, wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    let table = csv(text, 1)?;
    let lines = text.trim_end().lines().count();
    if table.end <= lines {
        return Err(Refused(format!(
            "line {} is blank and more follows: a second table; give each a file of its own",
            table.end
        )));
    }
    if let Some(twice) = table.head.iter().enumerate().find(|(at, name)| table.head[..*at].contains(name)) {
        return Err(Refused(format!("the head names the column {:?} twice", twice.1)));
    }
    let rows: Vec<Vec<(String, Json)>> = table.records().collect();
    let is_measured = |name: &str| {
        if wanted.is_empty() {
            let mut cells = rows.iter().flatten().filter(|(column, _)| column == name);
            cells.all(|(_, cell)| cell.number().is_some() || *cell == Json::Null)
        } else {
            let is_of = |from: &str| from.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
            wanted.iter().any(|series| is_of(&series.from))
        }
    };
    let (measured, telling): (Vec<&String>, Vec<&String>) = table.head.iter().partition(|name| is_measured(name));
    if rows.is_empty() || measured.is_empty() {
        return Err(Refused("no row, or no column of numbers, below the head".to_owned()));
    }
    let open_end =
        (!text.ends_with('\n')).then(|| "the last line has no end, which the format allows: whether it was cut cannot be told".to_owned());
    let mut report = Report {
        tool: "csv".to_owned(),
        notes: open_end.into_iter().collect(),
        ..Report::default()
    };
    for row in &rows {
        let cell = |name: &String| row.iter().find(|(column, _)| column == name).map_or(&Json::Null, |(_, cell)| cell);
        let of: BTreeMap<String, String> = telling.iter().map(|name| ((*name).clone(), cell(name).shown())).collect();
        for name in &measured {
            add(&mut report.series, name, &of, cell(name));
        }
    }
    Ok(report)
}

/// Adds a cell to its series: rows of equal other cells are repetitions, and one that is missing makes the series so.
fn add(series: &mut Vec<Reported>, name: &str, of: &BTreeMap<String, String>, cell: &Json) {
    let process = match cell.number() {
        Some(number) => Process::of(vec![number]),
        None if *cell == Json::Null => Process::not_measured("an empty cell"),
        None => Process::failed(format!("{:?} is no number", cell.shown())),
    };
    let same = series.iter_mut().find(|series| series.name == name && series.of == *of);
    match (same.and_then(|series| series.processes.first_mut()), process) {
        (None, process) => series.push(Reported {
            name: name.to_owned(),
            of: of.clone(),
            processes: vec![process],
            ..Reported::default()
        }),
        (Some(Process::Repetitions(values)), Process::Repetitions(more)) => values.extend(more),
        (Some(first @ Process::Repetitions(_)), missing) => *first = missing,
        (Some(Process::Missing(_)), _) => {}
    }
}
