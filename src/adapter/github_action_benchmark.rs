//! The custom input of github-action-benchmark: name, unit, value. Whether bigger is better stands in the workflow, not in the file.

use serde_json::{Value, json};

use super::Adapter;
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads and writes the custom input of github-action-benchmark.
pub const GITHUB_ACTION_BENCHMARK: Adapter = Adapter {
    name: "github-action-benchmark",
    about: "github-action-benchmark's customSmallerIsBetter and customBiggerIsBetter: the direction is the gate's to declare",
    source: "https://github.com/benchmark-action/github-action-benchmark/blob/master/src/extract.ts (1.20)",
    signs: Some(signs),
    read,
    stream: None,
    write: Some(write),
};

/// What an entry may hold.
const MEMBERS: [&str; 5] = ["name", "unit", "value", "range", "extra"];

fn entries(input: &Input) -> &[Json] {
    let documents = input.json().ok().flatten();
    match documents.map(|documents| documents.values.as_slice()) {
        Some([list @ Json::List(_)]) => list.items(),
        _ => &[],
    }
}

fn signs(input: &Input) -> usize {
    let entries = entries(input);
    let named = |entry: &Json| entry.has("name") && entry.has("unit") && entry.has("value");
    let nothing_else = |entry: &Json| entry.members().iter().all(|(key, _)| MEMBERS.contains(&key.as_str()));
    if entries.is_empty() {
        return 0;
    }
    usize::from(entries.iter().all(named)) + usize::from(entries.iter().all(nothing_else))
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let documents = input.json()?;
    let entries = entries(input);
    let (Some(documents), false) = (documents, entries.is_empty()) else {
        return Err(input.nothing("no entries of github-action-benchmark: want a JSON array of name, unit and value"));
    };
    let mut report = Report {
        tool: "github-action-benchmark".to_owned(),
        notes: Input::json_notes(documents)?,
        ..Report::default()
    };
    for entry in entries {
        let series = series(entry)?;
        if report.series.iter().any(|other| other.name == series.name) {
            report.notes.push(format!("{:?} stands twice", series.name));
        }
        report.series.push(series);
    }
    Ok(report)
}

fn series(entry: &Json) -> Result<Reported, Refused> {
    let text = |key: &str| entry.get(key).and_then(Json::text);
    let name = text("name").ok_or_else(|| Refused("an entry has no name".to_owned()))?;
    let known = text("unit").and_then(|unit| Unit::parse(unit).ok());
    let unknown = entry
        .get("unit")
        .map(Json::shown)
        .filter(|unit| known.is_none() && !unit.is_empty());
    let mut notes: Vec<String> = unknown.map(|unit| format!("the unit {unit:?} is not known")).into_iter().collect();
    notes.extend(entry.get("range").map(|range| format!("range {}", range.shown())));
    Ok(Reported {
        name: name.to_owned(),
        unit: known,
        processes: vec![match entry.get("value").map(|value| (value.number(), value.kind())) {
            Some((Some(number), _)) => Process::of(vec![number]),
            Some((None, kind)) => Process::failed(format!("{kind}, where a JSON number should stand")),
            None => Process::not_measured("no value"),
        }],
        notes,
        ..Reported::default()
    })
}

fn write(report: &Report) -> Result<String, Refused> {
    let mut entries = Vec::new();
    for series in &report.series {
        let unit = series.unit.map_or("", Unit::canonical);
        entries.push(json!({ "name": series.label(), "unit": unit, "value": series.exported()? }));
    }
    Ok(Value::Array(entries).to_string() + "\n")
}
