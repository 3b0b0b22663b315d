//! Google Benchmark's `--benchmark_format=json`: rows of one process, repetitions under one name.
//!
//! Aggregate rows are computed from the repetitions and are no samples; a row with an error has the time 0 and has failed.

use std::collections::BTreeMap;

use super::Adapter;
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::{Unit, convert};

/// Reads Google Benchmark's JSON.
pub const GOOGLE_BENCHMARK: Adapter = Adapter {
    name: "google-benchmark",
    about: "Google Benchmark's JSON: real_time, cpu_time, rates and user counters of each benchmark; aggregates only where nothing else is",
    source: "https://github.com/google/benchmark/blob/main/src/json_reporter.cc (1.4 to 1.9.5)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// Keys of a row that are no measurement.
const DESCRIBING: [&str; 19] = [
    "name",
    "family_index",
    "per_family_instance_index",
    "run_name",
    "run_type",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "aggregate_name",
    "aggregate_unit",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
    "label",
];
/// Fields of the context that describe the machine and the library.
const CONTEXT: [&str; 8] = [
    "host_name",
    "executable",
    "num_cpus",
    "mhz_per_cpu",
    "cpu_scaling_enabled",
    "aslr_enabled",
    "library_version",
    "library_build_type",
];

fn document(input: &Input) -> Option<&Json> {
    match input.json().ok()??.values.as_slice() {
        [document] => Some(document),
        _ => None,
    }
}

fn signs(input: &Input) -> usize {
    let Some(document) = document(input) else { return 0 };
    let Some(row) = document.get("benchmarks").and_then(|rows| rows.items().first()) else {
        return 0;
    };
    let has = |key: &str| row.has(key);
    let context = document.get("context");
    let of_context = |key: &str| context.is_some_and(|context| context.has(key));
    [
        has("run_type") && has("name"),
        has("real_time") || has("cpu_time"),
        has("time_unit"),
        has("family_index"),
        of_context("library_build_type"),
    ]
    .into_iter()
    .filter(|sign| *sign)
    .count()
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let documents = input.json()?;
    let (Some(documents), Some(document)) = (documents, document(input)) else {
        return Err(input.nothing("no Google Benchmark document: want one JSON object with `benchmarks`"));
    };
    let mut report = Report {
        tool: "google-benchmark".to_owned(),
        notes: Input::json_notes(documents)?,
        ..Report::default()
    };
    if let Some(context) = document.get("context") {
        report.at = context.get("date").and_then(Json::text).map(str::to_owned);
        let known = CONTEXT.iter().filter_map(|key| Some((*key, context.get(key)?)));
        report.config = known.map(|(key, value)| (key.to_owned(), value.shown())).collect();
    }
    let rows = document.get("benchmarks").map_or(&[][..], Json::items);
    let mut gathered = Gathered::default();
    for row in rows.iter().filter(|row| !is_aggregate(row)) {
        gathered.take(row)?;
    }
    let aggregates = only_aggregates(rows, &mut gathered)?;
    if aggregates > 0 {
        report
            .notes
            .push(format!("{aggregates} rows are aggregates without their repetitions"));
    }
    report.series = gathered.series;
    if report.series.is_empty() {
        return Err(input.nothing("no measurement: `benchmarks` has no row of a repetition, a mean or a median"));
    }
    Ok(report)
}

fn is_aggregate(row: &Json) -> bool {
    row.get("run_type").and_then(Json::text) == Some("aggregate")
}

fn text<'j>(row: &'j Json, key: &str) -> &'j str {
    row.get(key).and_then(Json::text).unwrap_or_default()
}

/// The name that repetitions share.
fn shared_name(row: &Json) -> Result<String, Refused> {
    let named = [text(row, "run_name"), text(row, "name")].into_iter().find(|name| !name.is_empty());
    named
        .map(str::to_owned)
        .ok_or_else(|| Refused("a row of `benchmarks` has no name".to_owned()))
}

/// Takes means and medians of benchmarks that have no repetition of their own; gives how many.
fn only_aggregates(rows: &[Json], gathered: &mut Gathered) -> Result<usize, Refused> {
    let measured = gathered.names();
    let mut taken = 0;
    for row in rows.iter().filter(|row| is_aggregate(row)) {
        let name = shared_name(row)?;
        let aggregate = text(row, "aggregate_name");
        if measured.contains(&name) || !matches!(aggregate, "mean" | "median") {
            continue;
        }
        gathered.take_as(
            row,
            BTreeMap::from([("benchmark".to_owned(), name), ("aggregate".to_owned(), aggregate.to_owned())]),
        );
        taken += 1;
    }
    Ok(taken)
}

/// The series so far, in the order of their first row.
#[derive(Default)]
struct Gathered {
    series: Vec<Reported>,
    places: BTreeMap<String, usize>,
}

impl Gathered {
    fn names(&self) -> Vec<String> {
        self.series
            .iter()
            .filter_map(|series| series.of.get("benchmark").cloned())
            .collect()
    }

    fn take(&mut self, row: &Json) -> Result<(), Refused> {
        let of = BTreeMap::from([("benchmark".to_owned(), shared_name(row)?)]);
        self.take_as(row, of);
        Ok(())
    }

    fn take_as(&mut self, row: &Json, of: BTreeMap<String, String>) {
        let failure = failure(row);
        let unit = Unit::parse(text(row, "time_unit"));
        for name in ["real_time", "cpu_time"] {
            let process = match (&failure, &unit, row.get(name)) {
                (Some(failure), ..) => failure.clone(),
                (None, _, None) => Process::not_measured("the row has no such time"),
                (None, Err(_), _) => Process::failed(format!("the time unit {:?} is not known", text(row, "time_unit"))),
                (None, Ok(_), Some(value)) => one(value),
            };
            self.add(name, &of, unit.as_ref().ok().copied(), Some(Better::Lower), process);
        }
        for (key, value) in row.members() {
            if DESCRIBING.contains(&key.as_str()) || value.number().is_none() {
                continue;
            }
            let (unit, better) = match key.as_str() {
                "bytes_per_second" => (Unit::parse("B/s").ok(), Some(Better::Higher)),
                "items_per_second" => (None, Some(Better::Higher)),
                _ => (None, None),
            };
            self.add(key, &of, unit, better, failure.clone().unwrap_or_else(|| one(value)));
        }
    }

    /// Adds a repetition: to the process of its series, which fails where one of its repetitions does.
    fn add(&mut self, name: &str, of: &BTreeMap<String, String>, unit: Option<Unit>, better: Option<Better>, process: Process) {
        let new = Reported {
            name: name.to_owned(),
            of: of.clone(),
            unit,
            better,
            processes: Vec::new(),
            ..Reported::default()
        };
        let place = *self.places.entry(new.label()).or_insert_with(|| {
            self.series.push(new);
            self.series.len() - 1
        });
        let Some(series) = self.series.get_mut(place) else { return };
        let process = in_unit(process, unit, series.unit);
        match (series.processes.first_mut(), process) {
            (None, process) => series.processes.push(process),
            (Some(Process::Repetitions(values)), Process::Repetitions(more)) => values.extend(more),
            (Some(first @ Process::Repetitions(_)), missing) => *first = missing,
            (Some(Process::Missing(_)), _) => {}
        }
    }
}

/// Repetitions of one benchmark may be told in different units.
fn in_unit(process: Process, given: Option<Unit>, wanted: Option<Unit>) -> Process {
    match (process, given, wanted) {
        (Process::Repetitions(values), Some(given), Some(wanted)) if given != wanted => {
            let converted: Option<Vec<f64>> = values.iter().map(|value| convert(*value, given, wanted)).collect();
            converted.map_or_else(|| Process::failed(format!("given in {given} and in {wanted}")), Process::of)
        }
        (process, ..) => process,
    }
}

fn one(value: &Json) -> Process {
    match value.number() {
        Some(number) => Process::of(vec![number]),
        None => Process::not_measured(format!("{}, where a number should stand", value.kind())),
    }
}

/// Why the row is no measurement.
fn failure(row: &Json) -> Option<Process> {
    let is_set = |key: &str| !matches!(row.get(key), None | Some(Json::Bool(false) | Json::Null));
    if is_set("error_occurred") {
        return Some(Process::failed(format!("the benchmark failed: {}", text(row, "error_message"))));
    }
    is_set("skipped").then(|| Process::not_measured(format!("skipped: {}", text(row, "skip_message"))))
}
