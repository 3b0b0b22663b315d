//! What the formats for people say alike.

use crate::model::judgement::{Outcome, Range, Ruling};
use crate::model::number::{difference, figure, interval, size};
use crate::model::record::Record;
use crate::model::text::plain_line;

/// Longest name that is shown.
const NAME_MAX: usize = 100;

/// The columns of the table of verdicts.
pub const COLUMNS: [&str; 8] = [
    "metric",
    "base min / median / max",
    "candidate min / median / max",
    "gain, interval",
    "tolerance",
    "blocks",
    "could see",
    "verdict",
];

/// One row of the table of verdicts.
pub fn row(ruling: &Ruling) -> [String; 8] {
    let unit = plain_line(&ruling.unit, NAME_MAX);
    let name = match ruling.cell.fixture.as_str() {
        "" => plain_line(&ruling.metric, NAME_MAX),
        fixture => format!("{} / {}", plain_line(fixture, NAME_MAX), plain_line(&ruling.metric, NAME_MAX)),
    };
    let gain = match (ruling.estimate, ruling.interval) {
        (Some(estimate), Some(ends)) => format!(
            "{} {}",
            difference(estimate, ruling.scale, &unit),
            interval(ends, ruling.scale, &unit)
        ),
        (Some(estimate), None) => difference(estimate, ruling.scale, &unit),
        (None, _) => "not measured".to_owned(),
    };
    let smallest = ruling
        .smallest_detectable
        .map_or_else(|| "-".to_owned(), |smallest| size(smallest, ruling.scale, &unit));
    [
        name,
        range(ruling.base, &unit),
        range(ruling.candidate, &unit),
        gain,
        size(ruling.tolerance, ruling.scale, &unit),
        ruling.blocks.to_string(),
        smallest,
        ruling.verdict.to_string(),
    ]
}

fn range(range: Option<Range>, unit: &str) -> String {
    range.map_or_else(
        || "not measured".to_owned(),
        |Range { min, median, max, .. }| format!("{} / {} / {} {unit}", figure(min), figure(median), figure(max)),
    )
}

/// The record's answer in one line.
pub fn headline(record: &Record) -> String {
    let judgement = &record.judgement;
    let cancelled = record
        .cancelled
        .as_ref()
        .map(|signal| format!(", cancelled by {signal}"))
        .unwrap_or_default();
    let words: Vec<String> = match judgement.outcome {
        Outcome::Pass => Vec::new(),
        outcome => judgement
            .verdicts
            .iter()
            .filter(|ruling| ruling.outcome == outcome)
            .map(|ruling| ruling.verdict.to_string())
            .collect(),
    };
    let mut words: Vec<String> = words.into_iter().map(|word| word.replace('_', " ")).collect();
    words.dedup();
    let why = if words.is_empty() {
        String::new()
    } else {
        format!(": {}", words.join(", "))
    };
    format!("{}{why}{cancelled}", judgement.outcome)
}

/// How many processes ran, and how.
pub fn measured(record: &Record) -> String {
    let samples = &record.evidence.samples;
    let warmups = samples.iter().filter(|sample| sample.warmup).count();
    let failed = samples.iter().filter(|sample| sample.failed.is_some()).count();
    let void = samples.iter().filter(|sample| sample.void.is_some()).count();
    let mut text = format!("{} fresh processes, {warmups} of them warm-up", samples.len());
    for (count, word) in [(failed, "failed"), (void, "void")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

/// The rulings, gravest first.
pub fn by_gravity(record: &Record) -> Vec<&Ruling> {
    let mut rulings: Vec<&Ruling> = record.judgement.verdicts.iter().collect();
    rulings.sort_by_key(|ruling| std::cmp::Reverse(ruling.outcome));
    rulings
}

/// The first hex digits of a seal.
pub fn short(seal: &str) -> &str {
    seal.strip_prefix("b3:").and_then(|hex| hex.get(..12)).unwrap_or(seal)
}
