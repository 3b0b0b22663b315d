//! hyperfine's `--export-json`: one entry a command, one time a process.
//!
//! With `--ignore-failure` a command that dies at once is the fastest of all, and an aborted run leaves a valid file with fewer entries:
//! every exit code is looked at.

use std::collections::BTreeMap;

use super::Adapter;
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads hyperfine's JSON.
pub const HYPERFINE: Adapter = Adapter {
    name: "hyperfine",
    about: "hyperfine --export-json: time, user, system and memory of each command; a failed run counts as failed",
    source: "https://github.com/sharkdp/hyperfine/blob/master/src/benchmark/benchmark_result.rs (1.8 to 1.19)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// The head of the CSV export, and what the Markdown export begins with.
const TABLES: [&str; 2] = ["command,mean,stddev,median,user,system,min,max", "| Command | Mean ["];

fn signs(input: &Input) -> usize {
    if TABLES.iter().any(|head| input.text().trim_start().starts_with(head)) {
        return 2;
    }
    let first = entries(input).and_then(|entries| entries.first());
    let has = |key: &str| first.is_some_and(|entry| entry.has(key));
    [has("command"), has("mean") || has("times"), has("user") && has("system")]
        .into_iter()
        .filter(|sign| *sign)
        .count()
}

fn entries(input: &Input) -> Option<&[Json]> {
    let documents = input.json().ok()??;
    match documents.values.as_slice() {
        [document] => document.get("results").map(Json::items),
        _ => None,
    }
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    if TABLES.iter().any(|head| text.trim_start().starts_with(head)) {
        return Err(Refused(
            "hyperfine's CSV and Markdown tables tell neither exit codes nor single runs: export with --export-json".to_owned(),
        ));
    }
    let documents = input.json()?;
    let entries = entries(input).unwrap_or_default();
    let (Some(documents), false) = (documents, entries.is_empty()) else {
        return Err(input.nothing("hyperfine's `results` are missing or empty: no command was measured"));
    };
    let mut report = Report {
        tool: "hyperfine".to_owned(),
        notes: Input::json_notes(documents)?,
        ..Report::default()
    };
    for entry in entries {
        let of = identity(entry)?;
        if report.series.iter().any(|series| series.of == of) {
            let command = of.get("command").map_or("", String::as_str);
            report
                .notes
                .push(format!("the command {command:?} stands twice with the same parameters"));
        }
        report.series.extend(series(entry, &of));
    }
    Ok(report)
}

/// The command and its parameters: what tells an entry from the others.
fn identity(entry: &Json) -> Result<BTreeMap<String, String>, Refused> {
    let command = entry.get("command").and_then(Json::text);
    let command = command.ok_or_else(|| Refused("an entry of hyperfine's `results` has no `command`".to_owned()))?;
    let mut of = BTreeMap::from([("command".to_owned(), command.to_owned())]);
    let parameters = entry.get("parameters").map_or(&[][..], Json::members);
    of.extend(parameters.iter().map(|(name, value)| (name.clone(), value.shown())));
    Ok(of)
}

fn series(entry: &Json, of: &BTreeMap<String, String>) -> Vec<Reported> {
    let codes = entry.get("exit_codes").map(Json::items);
    let one = |name: &str, unit: &str, processes: Vec<Process>| Reported {
        name: name.to_owned(),
        of: of.clone(),
        unit: Unit::parse(unit).ok(),
        better: Some(Better::Lower),
        processes,
        ..Reported::default()
    };
    let (times, only_mean) = each_process(entry, codes);
    let mut time = one("time", "s", times);
    if only_mean {
        time.notes.push("only the mean of the runs is in the file".to_owned());
    }
    if codes.is_none() {
        time.notes.push("the file tells no exit codes".to_owned());
    }
    let mut all = vec![time];
    for name in ["user", "system"] {
        if let Some(mean) = entry.get(name) {
            let mut series = one(name, "s", vec![failure(codes).unwrap_or_else(|| value(mean))]);
            series.notes.push("the mean of the runs".to_owned());
            all.push(series);
        }
    }
    if let Some(memory) = entry.get("memory_usage_byte").map(Json::items).filter(|items| !items.is_empty()) {
        all.push(one("memory", "B", judged(memory, codes)));
    }
    all
}

/// The times of the processes, and whether their mean stands in for them.
fn each_process(entry: &Json, codes: Option<&[Json]>) -> (Vec<Process>, bool) {
    let times = entry.get("times").map_or(&[][..], Json::items);
    if !times.is_empty() {
        return (judged(times, codes), false);
    }
    let mean = entry
        .get("mean")
        .map_or_else(|| Process::not_measured("no times and no mean"), value);
    (vec![failure(codes).unwrap_or(mean)], true)
}

/// One process a value; a process whose exit code is not 0 has failed, and so has one of which none is told beside others.
fn judged(values: &[Json], codes: Option<&[Json]>) -> Vec<Process> {
    let one = |(at, given): (usize, &Json)| match codes {
        None => value(given),
        Some(codes) => match codes.get(at) {
            Some(code) => failed(code).unwrap_or_else(|| value(given)),
            None => Process::failed("no exit code is told of this run"),
        },
    };
    values.iter().enumerate().map(one).collect()
}

/// The failure of the first run that failed.
fn failure(codes: Option<&[Json]>) -> Option<Process> {
    codes.unwrap_or_default().iter().find_map(failed)
}

fn failed(code: &Json) -> Option<Process> {
    match code {
        Json::Whole(0) => None,
        Json::Null => Some(Process::failed("ended by a signal")),
        other => Some(Process::failed(format!("exit code {}", other.shown()))),
    }
}

fn value(given: &Json) -> Process {
    match given.number() {
        Some(value) if value < 0.0 => Process::failed("a negative time"),
        Some(value) => Process::of(vec![value]),
        None => Process::not_measured(format!("{}, where a number should stand", given.kind())),
    }
}
