//! Bencher Metric Format: benchmark, measure, value. The format carries neither unit nor direction: the gate must declare both.

use serde_json::{Map, Value, json};

use super::Adapter;
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::report::{Process, Refused, Report, Reported};

/// Reads and writes Bencher Metric Format.
pub const BMF: Adapter = Adapter {
    name: "bmf",
    about: "Bencher Metric Format: the value of each measure of each benchmark; unit and direction are the gate's to declare",
    source: "https://bencher.dev/docs/reference/bencher-metric-format/ (2026)",
    signs: Some(signs),
    read,
    stream: None,
    write: Some(write),
};

/// What a measure may hold.
const MEMBERS: [&str; 3] = ["value", "lower_value", "upper_value"];
/// The key of a series' benchmark.
const BENCHMARK: &str = "benchmark";
/// The measure of a series that has no name beside its benchmark's.
const MEASURE: &str = "value";

fn document(input: &Input) -> Option<&Json> {
    match input.json().ok()??.values.as_slice() {
        [document @ Json::Map(_)] => Some(document),
        _ => None,
    }
}

fn signs(input: &Input) -> usize {
    let benchmarks = document(input).map_or(&[][..], Json::members);
    let measures = || benchmarks.iter().flat_map(|(_, measures)| measures.members());
    let nested = benchmarks.iter().all(|(_, measures)| matches!(measures, Json::Map(_)));
    let valued = measures().all(|(_, measure)| measure.has("value"));
    let nothing_else = measures().all(|(_, measure)| measure.members().iter().all(|(key, _)| MEMBERS.contains(&key.as_str())));
    if measures().next().is_none() || !nested {
        return 0;
    }
    usize::from(valued) + usize::from(nothing_else)
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let documents = input.json()?;
    let (Some(documents), Some(document)) = (documents, document(input)) else {
        return Err(input.nothing("no Bencher Metric Format: want one JSON object of benchmarks"));
    };
    let mut series = Vec::new();
    for (benchmark, measures) in document.members() {
        for (measure, value) in measures.members() {
            series.push(Reported {
                name: measure.clone(),
                of: [(BENCHMARK.to_owned(), benchmark.clone())].into(),
                processes: vec![process(value.get("value"))],
                ..Reported::default()
            });
        }
    }
    if series.is_empty() {
        return Err(Refused("the object holds no measure: nothing was measured".to_owned()));
    }
    Ok(Report {
        tool: "Bencher Metric Format".to_owned(),
        series,
        notes: Input::json_notes(documents)?,
        ..Report::default()
    })
}

fn process(value: Option<&Json>) -> Process {
    match value.map(|value| (value.number(), value.kind())) {
        Some((Some(number), _)) => Process::of(vec![number]),
        Some((None, kind)) => Process::failed(format!("{kind}, where a JSON number should stand")),
        None => Process::not_measured("no value"),
    }
}

fn write(report: &Report) -> Result<String, Refused> {
    let mut benchmarks = Map::new();
    for series in &report.series {
        let value = series.exported()?;
        let parts: Vec<String> = series.of.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let (benchmark, measure) = match series.of.get(BENCHMARK) {
            Some(benchmark) if series.of.len() == 1 => (benchmark.clone(), series.name.as_str()),
            _ if series.of.is_empty() => (series.name.clone(), MEASURE),
            _ => (parts.join(","), series.name.as_str()),
        };
        let measures = benchmarks.entry(benchmark).or_insert_with(|| Value::Object(Map::new()));
        if measures.get(measure).is_some() {
            return Err(Refused(format!("{}: stands twice, which this format cannot say", series.label())));
        }
        if let Value::Object(measures) = measures {
            measures.insert(measure.to_owned(), json!({ "value": value }));
        }
    }
    Ok(Value::Object(benchmarks).to_string() + "\n")
}
