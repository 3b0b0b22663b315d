//! What the formats for people say alike.

use crate::model::judgement::{Range, Ruling, Verdict};
use crate::model::metric::Scale;
use crate::model::number::{self, figure, size};
use crate::model::record::{Record, short};
use crate::model::text::plain_line;

/// Longest name that is shown.
const NAME_MAX: usize = 100;

/// How many columns the table of verdicts has.
pub const COLUMNS: usize = 8;
/// The columns of samples.
const OF_SAMPLES: [&str; COLUMNS] = [
    "metric",
    "base min / median / max",
    "candidate min / median / max",
    "gain, interval",
    "tolerance",
    "blocks",
    "could see",
    "verdict",
];

/// The columns of scores.
const OF_SCORES: [&str; COLUMNS] = [
    "score",
    "base",
    "candidate",
    "gain, interval",
    "tolerance",
    "n",
    "standard error",
    "verdict",
];

/// The columns of a record's table of verdicts.
pub fn columns(record: &Record) -> [&'static str; COLUMNS] {
    if record.evidence.scores.is_some() { OF_SCORES } else { OF_SAMPLES }
}

/// One row of the table of verdicts.
pub fn row(record: &Record, ruling: &Ruling) -> [String; COLUMNS] {
    if record.evidence.scores.is_some() {
        return score(ruling);
    }
    let unit = plain_line(&ruling.unit, NAME_MAX);
    let smallest = ruling
        .smallest_detectable
        .map_or_else(|| "-".to_owned(), |smallest| size(smallest, ruling.scale, &unit));
    [
        subject(ruling),
        range(ruling.base, &unit),
        range(ruling.candidate, &unit),
        gain(ruling, &unit),
        size(ruling.tolerance, ruling.scale, &unit),
        ruling.blocks.to_string(),
        smallest,
        verdict(ruling),
    ]
}

/// A row of a score: one value a side, or the middle of several runs.
fn score(ruling: &Ruling) -> [String; COLUMNS] {
    let unit = plain_line(&ruling.unit, NAME_MAX);
    let [task, metric] = [&ruling.cell.fixture, &ruling.metric].map(|name| plain_line(name, NAME_MAX));
    let of = |name: &str| ruling.detail.get(name).cloned().unwrap_or_default();
    let error = of("se_pp").as_f64();
    let tolerance = if ruling.verdict == Verdict::RuleDisabled {
        "off".to_owned()
    } else {
        size(ruling.tolerance, ruling.scale, &unit)
    };
    [
        format!("{task} {metric}").trim_end().to_owned(),
        value(ruling.base, &unit),
        value(ruling.candidate, &unit),
        gain(ruling, &unit),
        tolerance,
        of("items").as_u64().map_or_else(|| "-".to_owned(), |items| items.to_string()),
        error.map_or_else(|| "-".to_owned(), |error| size(error, Scale::Pp, "")),
        verdict(ruling),
    ]
}

fn value(range: Option<Range>, unit: &str) -> String {
    let unit = if unit == "1" { "" } else { unit };
    let one = |value: f64| if unit == "%" { format!("{value:.2}") } else { figure(value) };
    match range {
        None => "not measured".to_owned(),
        Some(Range { n: 1, median, .. }) => format!("{} {unit}", one(median)).trim_end().to_owned(),
        Some(Range { n, min, median, max }) => {
            format!("{} / {} / {} {unit}, {n} runs", one(min), one(median), one(max))
        }
    }
}

/// `q4-7b / tg128`; with its rule where that is not the usual one.
fn subject(ruling: &Ruling) -> String {
    let [fixture, metric, rule] = [&ruling.cell.fixture, &ruling.metric, &ruling.rule].map(|name| plain_line(name, NAME_MAX));
    let name = if fixture.is_empty() {
        metric
    } else {
        format!("{fixture} / {metric}")
    };
    if rule == "hold" { name } else { format!("{name}, {rule}") }
}

/// The gain with its interval; `-` where there are figures but no estimate.
fn gain(ruling: &Ruling, unit: &str) -> String {
    let Some(estimate) = ruling.estimate else {
        let measured = ruling.base.is_some() || ruling.candidate.is_some();
        return if measured { "-" } else { "not measured" }.to_owned();
    };
    match number::gain(estimate, ruling.interval, ruling.tolerance, ruling.scale, unit) {
        (estimate, Some(interval)) => format!("{estimate} {interval}"),
        (estimate, None) => estimate,
    }
}

/// The verdict's word; marked where nothing depends on it.
fn verdict(ruling: &Ruling) -> String {
    let word = ruling.verdict.word();
    if ruling.required {
        word.to_owned()
    } else {
        format!("{word} (advisory)")
    }
}

fn range(range: Option<Range>, unit: &str) -> String {
    range.map_or_else(
        || "not measured".to_owned(),
        |Range { min, median, max, .. }| format!("{} / {} / {} {unit}", figure(min), figure(median), figure(max)),
    )
}

/// The record's answer in one line: its outcome and the verdicts that made it.
pub fn headline(record: &Record) -> String {
    let judgement = &record.judgement;
    let mut words: Vec<String> = Vec::new();
    for ruling in judgement
        .verdicts
        .iter()
        .filter(|ruling| ruling.required && ruling.outcome == judgement.outcome)
    {
        let word = ruling.verdict.word().replace('_', " ");
        let says_more = word != judgement.outcome.word() && ruling.verdict != Verdict::NoRegression;
        if says_more && !words.contains(&word) {
            words.push(word);
        }
    }
    let mut line = judgement.outcome.to_string();
    if record.context.unaffected.is_some() {
        words.push("not affected by this change".to_owned());
    }
    if !words.is_empty() {
        line.push_str(&format!(": {}", words.join(", ")));
    }
    if let Some(signal) = &record.cancelled {
        line.push_str(&format!(", cancelled by {}", plain_line(signal, NAME_MAX)));
    }
    line
}

/// Where the rule and the base come from, a label and a text each; nothing of two commands, which say it themselves.
pub fn provenance(record: &Record) -> Vec<(&'static str, String)> {
    let (gate, context) = (&record.gate, &record.context);
    if gate.from == "command line" {
        let why = plain_line(&context.base.why, NAME_MAX * 3);
        return record.evidence.scores.iter().map(|_| ("base", why.clone())).collect();
    }
    let [name, from, why] = [&gate.name, &gate.from, &context.base.why].map(|text| plain_line(text, NAME_MAX * 3));
    let mut lines = vec![("gate", format!("{name}, from the {from}"))];
    let commit = context.base.commit.as_deref().map(short);
    lines.push(("base", commit.map_or_else(|| why.clone(), |commit| format!("{commit}, {why}"))));
    if let Some(head) = &context.head {
        let dirty = record.identity.arms.b.source.as_ref().is_some_and(|source| source.dirty);
        let changes = if dirty { ", with changes that are not committed" } else { "" };
        lines.push(("answers for", short(head) + changes));
    }
    if context.attempt > 1 {
        lines.push(("attempt", context.attempt.to_string()));
    }
    lines
}

/// How many processes ran, and how or by whom.
pub fn measured(record: &Record) -> String {
    if let Some(scores) = &record.evidence.scores {
        let file = plain_line(&scores.candidate.file, NAME_MAX * 3);
        let model = scores.candidate.model.as_ref();
        let model = model.map_or_else(|| "a model that they do not name".to_owned(), ToString::to_string);
        let at = scores
            .candidate
            .at
            .as_ref()
            .map_or_else(String::new, |at| format!(", {}", plain_line(at, NAME_MAX)));
        return format!("nothing here: results of {model} were read from {file}{at}");
    }
    let samples = &record.evidence.samples;
    let warmups = samples.iter().filter(|sample| sample.warmup).count();
    let failed = samples.iter().filter(|sample| sample.failed.is_some()).count();
    let void = samples.iter().filter(|sample| sample.void.is_some()).count();
    let mut text = match samples.len() {
        _ if record.evidence.is_ingested() => format!("{} by another tool", number::count(samples.len() as u64, "process")),
        1 => "1 fresh process".to_owned(),
        many => format!("{many} fresh processes"),
    };
    for (count, word) in [(warmups, "of them warm-up"), (failed, "failed"), (void, "void")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

/// What was watched while processes ran, and by which limits; none where nothing was.
pub fn watched(record: &Record) -> Option<String> {
    let watching = record.plan.telemetry.as_ref()?;
    let samples = record.evidence.samples.iter();
    let devices = samples
        .flat_map(|sample| &sample.telemetry)
        .map(|telemetry| telemetry.devices.len())
        .max()?;
    let limits = watching.limits.iter().map(|(name, value)| format!("{name} {value}"));
    Some(format!(
        "{} every {}; a block is void by {}; limits: {}",
        number::count(devices as u64, "device"),
        number::duration(watching.every_s),
        plain_line(&watching.void.join(", "), NAME_MAX * 10),
        plain_line(&limits.collect::<Vec<String>>().join(", "), NAME_MAX * 20)
    ))
}

/// The rulings, gravest first; what is required comes before what is advisory.
pub fn by_gravity(record: &Record) -> Vec<&Ruling> {
    let mut rulings: Vec<&Ruling> = record.judgement.verdicts.iter().collect();
    rulings.sort_by_key(|ruling| std::cmp::Reverse((ruling.required, ruling.outcome)));
    rulings
}

/// What kind of record it is.
pub fn kind(record: &Record) -> String {
    plain_line(&record.kind, NAME_MAX)
}
