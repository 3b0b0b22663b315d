//! llama-bench in every form it prints: JSON, JSON lines, CSV, Markdown; also wrapped by other scripts, and between the lines of a log.
//!
//! A row is a test under one configuration. Whatever is no measurement is configuration, unknown fields of newer builds included, and rows
//! that differ in it are never put together.

use super::Adapter;
use super::foreign::runs::{self, Run};
use super::foreign::table::{self, Table, cell_value};
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::quantity::split_number;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads llama-bench.
pub const LLAMA_BENCH: Adapter = Adapter {
    name: "llama-bench",
    about: "llama-bench -o json, jsonl, csv or md: tokens per second of each test (pp512, tg128, pp512 @ d4096); repetitions stay apart",
    source: "https://github.com/ggml-org/llama.cpp/tree/master/tools/llama-bench (b5606 to b9927)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// What is measured or names the test; everything else of a row is configuration.
const MEASURED: [&str; 10] = [
    "n_prompt",
    "n_gen",
    "n_depth",
    "test_time",
    "avg_ns",
    "stddev_ns",
    "avg_ts",
    "stddev_ts",
    "samples_ns",
    "samples_ts",
];
/// The first column of the CSV form.
const CSV_HEAD: &str = "build_commit,build_number";
/// Words of the SQL form.
const SQL: [&str; 2] = ["CREATE TABLE IF NOT EXISTS", "build_commit TEXT"];

fn signs(input: &Input) -> usize {
    let text = input.text();
    if SQL.iter().all(|word| text.contains(word)) || csv_text(text).is_some() {
        return 2;
    }
    if let Some(documents) = input.json().ok().flatten() {
        let row = rows_of(&documents.values).next();
        let has = |key: &str| row.is_some_and(|row| row.has(key));
        return [has("build_commit"), has("avg_ts"), has("n_prompt") && has("n_gen")]
            .into_iter()
            .filter(|sign| *sign)
            .count();
    }
    let is_head = |line: &str| line.starts_with("| model ") && ["size", "params", "test", "t/s"].iter().all(|word| line.contains(word));
    if text.lines().any(is_head) { 2 } else { 0 }
}

/// The rows of JSON values: of an array, a line each, or wrapped as `bench_raw`.
fn rows_of(values: &[Json]) -> impl Iterator<Item = &Json> {
    let rows = values.iter().flat_map(Json::unlisted);
    rows.flat_map(|row| row.get("bench_raw").map_or_else(|| vec![row], Json::unlisted))
}

/// The CSV form from its head on, and the line of that, from 1.
fn csv_text(text: &str) -> Option<(&str, usize)> {
    let at = if text.starts_with(CSV_HEAD) {
        0
    } else {
        text.find(&format!("\n{CSV_HEAD}"))? + 1
    };
    let (before, rest) = text.split_at_checked(at)?;
    Some((rest, before.matches('\n').count() + 1))
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    if SQL.iter().all(|word| text.contains(word)) {
        return Err(Refused(
            "llama-bench's SQL is a program, not a result: print with -o json".to_owned(),
        ));
    }
    let (rows, notes) = if let Some((text, line)) = csv_text(text) {
        (from_records(table::csv(text, line)?.records())?, Vec::new())
    } else if let Some(documents) = input.json()? {
        let records = rows_of(&documents.values).map(|row| row.members().to_vec());
        (from_records(records)?, Input::json_notes(documents)?)
    } else {
        from_markdown(input, text)?
    };
    if rows.is_empty() {
        return Err(input.nothing("no result rows of llama-bench"));
    }
    gathered(rows, notes)
}

fn from_records(records: impl Iterator<Item = Vec<(String, Json)>>) -> Result<Vec<Run>, Refused> {
    records.map(|record| from_record(&Json::Map(record))).collect()
}

fn from_record(record: &Json) -> Result<Run, Refused> {
    let tokens = |key: &str| record.get(key).and_then(Json::count);
    let (Some(prompt), Some(generated)) = (tokens("n_prompt"), tokens("n_gen")) else {
        return Err(Refused("a row of llama-bench has no n_prompt and n_gen".to_owned()));
    };
    let mut test = match (prompt, generated) {
        (prompt, 0) => format!("pp{prompt}"),
        (0, generated) => format!("tg{generated}"),
        (prompt, generated) => format!("pp{prompt}+tg{generated}"),
    };
    if let Some(depth) = tokens("n_depth").filter(|depth| *depth > 0) {
        test += &format!(" @ d{depth}");
    }
    let configuring = record.members().iter().filter(|(key, _)| !MEASURED.contains(&key.as_str()));
    let config = configuring.map(|(key, value)| match (key.as_str(), value) {
        // The folder differs from machine to machine.
        ("model_filename", Json::Text(path)) => {
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            (key.clone(), name.to_owned())
        }
        _ => (key.clone(), value.shown()),
    });
    let (process, note) = rate(record);
    Ok(Run {
        config: config.collect(),
        at: record.get("test_time").and_then(Json::text).map(str::to_owned),
        series: vec![series(test, process, note)],
    })
}

fn series(test: String, process: Process, note: Option<String>) -> Reported {
    Reported {
        name: test,
        unit: Unit::parse("tok/s").ok(),
        better: Some(Better::Higher),
        processes: vec![process],
        notes: note.into_iter().collect(),
        ..Reported::default()
    }
}

/// The tokens per second: the repetitions, else their mean.
fn rate(record: &Json) -> (Process, Option<String>) {
    for key in ["avg_ts", "stddev_ts"] {
        if let Some(Json::NotFinite(word)) = record.get(key) {
            return (Process::failed(format!("{key} is not a finite number ({word})")), None);
        }
    }
    let mean = record.get("avg_ts").and_then(Json::number);
    match (record.get("samples_ts"), mean) {
        (Some(samples), _) => {
            let numbers: Option<Vec<f64>> = samples.items().iter().map(Json::number).collect();
            match numbers {
                Some(numbers) => (checked(numbers), None),
                None => (Process::failed("samples_ts holds something that is no number"), None),
            }
        }
        (None, Some(mean)) => {
            let spread = record.get("stddev_ts").and_then(Json::number);
            let spread = spread.map_or_else(String::new, |sd| format!(", standard deviation {sd}"));
            (checked(vec![mean]), Some(format!("the mean of the repetitions{spread}")))
        }
        (None, None) => (Process::not_measured("neither samples_ts nor avg_ts"), None),
    }
}

fn checked(rates: Vec<f64>) -> Process {
    match rates.iter().find(|rate| **rate <= 0.0) {
        Some(rate) => Process::failed(format!("a throughput of {rate} tok/s is none: nothing ran, or the clock stepped")),
        None => Process::of(rates),
    }
}

/// The Markdown form, closed by its `build:` line.
fn from_markdown(input: &Input, text: &str) -> Result<(Vec<Run>, Vec<String>), Refused> {
    let is_ours = |table: &&Table| ["test", "t/s"].iter().all(|name| table.head.iter().any(|head| head == name));
    let tables = table::markdown(text)?;
    let ours: Vec<&Table> = tables.iter().filter(is_ours).collect();
    let table = match ours.as_slice() {
        [] => return Ok((Vec::new(), Vec::new())),
        [one] if one.rows.is_empty() => return Ok((Vec::new(), Vec::new())),
        [one] => one,
        several => {
            return Err(Refused(format!(
                "{} tables of llama-bench: which one counts cannot be told",
                several.len()
            )));
        }
    };
    let after = text.lines().skip(table.end.saturating_sub(1));
    let build = after.clone().find_map(|line| line.trim().strip_prefix("build: "));
    if build.is_none() && !input.is_partial() {
        return Err(input.nothing("the table has no `build:` line after it: the run did not finish; --partial reads the rows before"));
    }
    let mut rows: Vec<Run> = table
        .records()
        .map(|record| from_cells(&Json::Map(record)))
        .collect::<Result<_, _>>()?;
    for row in &mut rows {
        row.config.extend(build.map(|build| ("build".to_owned(), build.to_owned())));
    }
    let notes = vec!["a table shows only the fields that are not at their default: the others are not known".to_owned()];
    Ok((rows, notes))
}

/// A row of the Markdown form: `1234.56 ± 7.89` under `t/s`.
fn from_cells(record: &Json) -> Result<Run, Refused> {
    let test = record.get("test").and_then(Json::text);
    let test = test.ok_or_else(|| Refused("a row of the table names no test".to_owned()))?;
    let given = record.get("t/s").map(Json::shown).unwrap_or_default();
    let (mean, spread) = given.split_once('±').unwrap_or((given.as_str(), ""));
    let process = match cell_value(mean) {
        Json::NotFinite(word) => Process::failed(format!("t/s is not a finite number ({word})")),
        value => value.number().map_or_else(
            || Process::not_measured(format!("{mean:?} under t/s is no number")),
            |mean| checked(vec![mean]),
        ),
    };
    let config = record.members().iter().filter(|(key, _)| !matches!(key.as_str(), "test" | "t/s"));
    let note = format!("the mean of the repetitions, standard deviation {}", spread.trim());
    Ok(Run {
        config: config.map(|(key, value)| (key.clone(), value.shown())).collect(),
        at: None,
        series: vec![series(joined(test), process, Some(note))],
    })
}

/// The name of a test as newer builds write it: `pp 512` is `pp512`.
fn joined(test: &str) -> String {
    let older = |(kind, count): (&str, &str)| {
        let is_count = split_number(count).is_some_and(|(_, rest)| rest.is_empty());
        (matches!(kind, "pp" | "tg") && is_count).then(|| format!("{kind}{count}"))
    };
    test.split_once(' ').and_then(older).unwrap_or_else(|| test.to_owned())
}

/// The rows as series; rows of several builds are several results.
fn gathered(rows: Vec<Run>, notes: Vec<String>) -> Result<Report, Refused> {
    let (report, varying) = runs::gather("llama-bench", rows, notes);
    let builds = ["build_commit", "build_number", "build"];
    match builds.iter().find_map(|key| Some((key, varying.get(*key)?))) {
        None => Ok(report),
        Some((key, builds)) => Err(Refused(format!(
            "several builds in one file ({key}: {}): give each a file of its own",
            runs::told(builds)
        ))),
    }
}
