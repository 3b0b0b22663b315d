//! hipfire: what its benchmarks print and write, and its older baselines.
//!
//! The last words of a key are its unit (`_tok_s`, `_ms`). A figure of 0 stands for nothing that ran, and a script that saw every run crash
//! ends well all the same: the rows decide.

mod printed;
mod written;

use super::Adapter;
use super::foreign::runs::{self, Run};
use super::foreign::{Input, Json, Lines};
use crate::model::baseline::import::{meaning, older_lines};
use crate::model::gate::declaration::Series;
use crate::model::report::{Process, Refused, Report, Reported};

/// Reads hipfire's benchmarks.
pub const HIPFIRE: Adapter = Adapter {
    name: "hipfire",
    about: "hipfire: SUMMARY lines (on standard error), bench-cold, serve_harness and bench-suite JSON, results per model, older baselines",
    source: "https://github.com/warpfront/hipfire/tree/master/scripts (as of commits 2f05029 and 0c43912 of 2026)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

fn signs(input: &Input) -> usize {
    let text = input.text();
    let of_json = || input.json().ok().flatten().map_or(0, |documents| written::signs(&documents.values));
    [printed::summary_signs(text), printed::cold_signs(text), baseline_signs(text)]
        .into_iter()
        .max()
        .filter(|signs| *signs > 0)
        .unwrap_or_else(of_json)
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    let lines = Lines::of(text);
    let mut notes: Vec<String> = lines.note().into_iter().collect();
    let runs = if printed::cold_signs(text) > 0 {
        vec![printed::cold(input, &lines)?]
    } else if printed::summary_signs(text) > 0 {
        printed::summaries(&lines)?
    } else if baseline_signs(text) > 1 {
        return baseline(input, text, &lines);
    } else if let Some(documents) = input.json()? {
        notes = Input::json_notes(documents)?;
        notes.push("the output carries no digest of the model and the program".to_owned());
        written::runs(&documents.values)?
    } else {
        return Err(input.nothing("no result of hipfire: its SUMMARY line goes to standard error, which must be kept (2>&1)"));
    };
    Ok(runs::gather("hipfire", runs, notes).0)
}

/// Lines `key=value` whose keys end in units, and a comment that calls them a baseline.
fn baseline_signs(text: &str) -> usize {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let mut lines = text.lines().filter(is_said).peekable();
    let is_ours = |line: &str| line.split_once('=').is_some_and(|(key, _)| meaning(key.trim()).is_some());
    if lines.peek().is_none() || !lines.all(is_ours) {
        return 0;
    }
    let mut comments = text.lines().filter(|line| line.starts_with('#'));
    1 + usize::from(comments.any(|line| line.contains("baseline")))
}

/// A file of older baselines: what somebody wrote down, one value a key.
fn baseline(input: &Input, text: &str, lines: &Lines) -> Result<Report, Refused> {
    let cut = lines.cut.trim();
    if cut.contains('=') && !input.is_partial() {
        return Err(Refused(
            "the last line has no end: its number may be cut; end it, or read the lines before it with --partial".to_owned(),
        ));
    }
    let text = text.strip_suffix(lines.cut).unwrap_or(text);
    let lines = older_lines(text, "").map_err(|fault| Refused(format!("line {}, column {}: {}", fault.line, fault.column, fault.what)))?;
    let series = lines.into_iter().map(|line| Reported {
        name: line.metric,
        of: [("fixture".to_owned(), line.fixture)].into(),
        unit: Some(line.unit),
        better: Some(line.better),
        processes: vec![Process::of(vec![line.value])],
        notes: vec!["written down, not measured here".to_owned()],
        ..Reported::default()
    });
    Ok(Report {
        tool: "hipfire baseline".to_owned(),
        series: series.collect(),
        notes: vec!["a baseline: `gate baseline import` keeps it as history".to_owned()],
        ..Report::default()
    })
}

/// The series of a key whose last words are a unit; none for any other key.
fn figure(key: &str, value: &Json) -> Option<Reported> {
    let (unit, better) = meaning(&key.replace("tokS", "tok_s"))?;
    Some(Reported {
        name: key.to_owned(),
        unit: Some(unit),
        better: Some(better),
        processes: vec![process(value)],
        ..Reported::default()
    })
}

fn process(value: &Json) -> Process {
    match value.number() {
        Some(0.0) => Process::not_measured("0 stands for nothing that ran"),
        Some(number) if number < 0.0 => Process::failed(format!("a negative value: {number}")),
        Some(number) => Process::of(vec![number]),
        None if *value == Json::Null => Process::not_measured("null"),
        None => Process::failed(format!("{}, where a number should stand", value.kind())),
    }
}

/// Fails every figure of a run.
fn fail(run: &mut Run, why: &str) {
    for series in &mut run.series {
        series.processes = vec![Process::failed(why)];
    }
}
