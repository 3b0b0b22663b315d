//! `vllm bench serve`, `latency` and `throughput`: JSON, appended lines, the summary of a sweep, and the printed text of serve.
//!
//! Where every request failed, every latency is 0 and looks like a perfect one: a run with failed requests has failed as a whole.

mod text;

use jiff::fmt::strtime;

use super::Adapter;
use super::foreign::runs::{self, Run};
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads vLLM's benchmarks.
pub const VLLM: Adapter = Adapter {
    name: "vllm",
    about: "vllm bench serve, latency and throughput: JSON, appended or swept, and the text of serve; failed requests fail the run",
    source: "https://github.com/vllm-project/vllm/tree/main/vllm/benchmarks (0.6 to 0.25.1)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// Rates, with unit: higher is better.
const RATES: [(&str, &str); 9] = [
    ("request_throughput", "req/s"),
    ("request_goodput", "req/s"),
    ("output_throughput", "tok/s"),
    ("total_token_throughput", "tok/s"),
    ("max_output_tokens_per_s", "tok/s"),
    ("requests_per_second", "req/s"),
    ("tokens_per_second", "tok/s"),
    ("input_throughput", "tok/s"),
    ("mean_output_throughput", "tok/s"),
];
/// Times of the whole run in seconds: lower is better.
const TIMES: [&str; 2] = ["duration", "elapsed_time"];
/// The latencies of serve, between a statistic and `_ms`.
const LATENCIES: [&str; 4] = ["_ttft_ms", "_tpot_ms", "_itl_ms", "_e2el_ms"];
/// Outcomes and names of a run that are neither compared nor configuration.
const OUTCOMES: [&str; 8] = [
    "date",
    "completed",
    "failed",
    "run_number",
    "total_output_tokens",
    "max_concurrent_requests",
    "rtfx",
    "total_num_tokens",
];

/// The runs of an output: one document, an array of them, or one a line.
fn runs_of(values: &[Json]) -> Vec<&Json> {
    values.iter().flat_map(Json::unlisted).collect()
}

fn signs(input: &Input) -> usize {
    let Some(documents) = input.json().ok().flatten() else {
        return if text::is_one(input.text()) { 2 } else { 0 };
    };
    let runs = runs_of(&documents.values);
    let Some(run) = runs.first() else { return 0 };
    let all = |keys: &[&str]| keys.iter().filter(|key| run.has(key)).count();
    let by_vllm = run.has("model_id") || run.has("endpoint_type");
    let serve = all(&["request_throughput", "completed", "mean_ttft_ms"]) * usize::from(by_vllm);
    let latency = all(&["latencies", "percentiles"]) * usize::from(run.has("avg_latency"));
    let throughput = all(&["num_requests", "tokens_per_second"]) * usize::from(run.has("elapsed_time"));
    serve.max(latency).max(throughput)
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    let (runs, mut notes) = match input.json()? {
        Some(documents) => {
            let runs = runs_of(&documents.values).into_iter().map(run).collect::<Vec<_>>();
            (runs, Input::json_notes(documents)?)
        }
        None => (vec![run(&text::read(input, text)?)], Vec::new()),
    };
    if runs.iter().all(|run| run.series.is_empty()) {
        return Err(input.nothing("no result of a vLLM benchmark"));
    }
    if runs.iter().all(|run| run.config.is_empty()) {
        notes.push("the output names neither model nor configuration".to_owned());
    }
    Ok(runs::gather("vllm bench", runs, notes).0)
}

fn run(document: &Json) -> Run {
    let failure = failure(document);
    let mut run = Run {
        at: document.get("date").and_then(Json::text).map(instant),
        ..Run::default()
    };
    for (key, value) in document.members() {
        // A build of 2024 wrote the key with a colon.
        let key = key.trim_end_matches(':');
        match kind(key) {
            Some((unit, better)) if *value != Json::Null => {
                let process = failure.clone().unwrap_or_else(|| one(key, value));
                run.series.push(series(key, unit, better, process));
            }
            Some(_) => {}
            None if OUTCOMES.contains(&key) || matches!(value, Json::List(_) | Json::Map(_)) => {}
            None if key == "avg_latency" => {}
            None => {
                run.config.insert(key.to_owned(), value.shown());
            }
        }
    }
    run.series.extend(latency(document));
    run
}

/// The unit and direction of a measured key.
fn kind(key: &str) -> Option<(&'static str, Option<Better>)> {
    if let Some((_, unit)) = RATES.iter().find(|(name, _)| *name == key) {
        return Some((unit, Some(Better::Higher)));
    }
    if TIMES.contains(&key) {
        return Some(("s", Some(Better::Lower)));
    }
    let is_latency = LATENCIES.iter().any(|end| key.ends_with(end));
    let better = if key.starts_with("std_") { None } else { Some(Better::Lower) };
    is_latency.then_some(("ms", better))
}

fn series(name: &str, unit: &str, better: Option<Better>, process: Process) -> Reported {
    Reported {
        name: name.to_owned(),
        unit: Unit::parse(unit).ok(),
        better,
        processes: vec![process],
        ..Reported::default()
    }
}

fn one(key: &str, value: &Json) -> Process {
    match value.number() {
        Some(number) if number < 0.0 => Process::failed(format!("a negative {key}")),
        Some(number) => Process::of(vec![number]),
        None => Process::failed(format!("{}, where a number should stand", value.kind())),
    }
}

/// What `vllm bench latency` measured: each run of the batch, and its percentiles.
fn latency(document: &Json) -> Vec<Reported> {
    let Some(mean) = document.get("avg_latency") else {
        return Vec::new();
    };
    let lower = Some(Better::Lower);
    let latencies = document.get("latencies").map_or(&[][..], Json::items);
    let numbers: Option<Vec<f64>> = latencies.iter().map(Json::number).collect();
    let process = match numbers {
        Some(numbers) if !numbers.is_empty() => Process::of(numbers),
        Some(_) => one("avg_latency", mean),
        None => Process::failed("latencies hold something that is no number"),
    };
    let percentiles = document.get("percentiles").map_or(&[][..], Json::members);
    let percentiles = percentiles
        .iter()
        .map(|(percent, value)| series(&format!("p{percent}_latency"), "s", lower, one("latency", value)));
    [series("latency", "s", lower, process)].into_iter().chain(percentiles).collect()
}

/// Why the whole run counts as failed: a request that did not complete takes no time.
fn failure(document: &Json) -> Option<Process> {
    let count = |key: &str| document.get(key).and_then(Json::count);
    let (completed, failed) = (count("completed"), count("failed").unwrap_or(0));
    let asked = count("num_prompts").or_else(|| Some(completed? + failed));
    match (completed, asked) {
        (Some(completed), Some(asked)) if completed < asked || failed > 0 || completed == 0 => {
            Some(Process::failed(format!("{completed} of {asked} requests completed")))
        }
        _ => None,
    }
}

/// `20260131-142530` as a date that others read; anything else as it stands.
fn instant(date: &str) -> String {
    let civil = strtime::parse("%Y%m%d-%H%M%S", date).and_then(|parsed| parsed.to_datetime());
    civil.map_or_else(|_| date.to_owned(), |civil| civil.to_string())
}
