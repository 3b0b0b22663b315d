//! The block that `vllm bench serve` prints.

use crate::adapter::foreign::table::cell_value;
use crate::adapter::foreign::{Input, Json};
use crate::model::report::Refused;

/// In the first line of the block.
const TITLE: &str = " Serving Benchmark Result ";
/// The labels without their units, in lower case, and the keys under which the JSON form has them.
const LABELS: [(&str, &str); 13] = [
    ("successful requests", "completed"),
    ("failed requests", "failed"),
    ("maximum request concurrency", "max_concurrency"),
    ("request rate configured", "request_rate"),
    ("benchmark duration", "duration"),
    ("total input tokens", "total_input_tokens"),
    ("total generated tokens", "total_output_tokens"),
    ("request throughput", "request_throughput"),
    ("request goodput", "request_goodput"),
    ("output token throughput", "output_throughput"),
    ("peak output token throughput", "max_output_tokens_per_s"),
    ("peak concurrent requests", "max_concurrent_requests"),
    ("total token throughput", "total_token_throughput"),
];
/// The latencies as they end their labels.
const LATENCIES: [&str; 4] = ["ttft", "tpot", "itl", "e2el"];

/// Whether a text holds the block.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().any(is_title)
}

fn is_title(line: &str) -> bool {
    line.contains(TITLE) && line.trim_start().starts_with("===")
}

/// The block as the members that the JSON form has.
pub(super) fn read(input: &Input, text: &str) -> Result<Json, Refused> {
    if text.lines().filter(|line| is_title(line)).count() > 1 {
        return Err(Refused(
            "several blocks of results in one text: give each a file of its own".to_owned(),
        ));
    }
    let mut members = Vec::new();
    let mut lines = text.lines().skip_while(|line| !is_title(line)).skip(1);
    loop {
        let Some(line) = lines.next().map(str::trim) else {
            return Err(input.nothing("the block of results has no end: the output is truncated"));
        };
        if !line.is_empty() && line.chars().all(|c| c == '=') {
            break;
        }
        let Some((label, value)) = line.rsplit_once(':') else { continue };
        let Some(key) = key(label) else { continue };
        let value = value.trim();
        let read = cell_value(value);
        if read.number().is_none() {
            return Err(Refused(format!(
                "{}: {value:?} is no number: a decimal comma is not read",
                label.trim()
            )));
        }
        members.push((key, read));
    }
    Ok(Json::Map(members))
}

/// The key of a label: `Mean TTFT (ms)` is `mean_ttft_ms`.
fn key(label: &str) -> Option<String> {
    let bare = label.split_once('(').map_or(label, |(bare, _)| bare).trim().to_lowercase();
    if let Some((_, key)) = LABELS.iter().find(|(name, _)| *name == bare) {
        return Some((*key).to_owned());
    }
    let (statistic, latency) = bare.split_once(' ')?;
    LATENCIES.contains(&latency).then(|| format!("{statistic}_{latency}_ms"))
}
