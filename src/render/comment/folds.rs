//! What stands folded: how it was measured, the raw values, and the footer's line of each record.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::inert::{name, prose};
use super::rows::Row;
use super::top::hex;
use crate::model::host::Level;
use crate::model::identity::Facts;
use crate::model::judgement::Range;
use crate::model::number::{chance, duration, figure};
use crate::model::record::Record;
use crate::model::sample::{Arm, Cell, Sample};
use crate::render::markdown::escape;
use crate::render::words::measured;

/// Most slots of a strip: the largest plan with looks that stops by itself has as many.
const SLOTS_MAX: usize = 56;
/// Values from small to large.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Facts of the machine and its device that are named.
const FACTS: [&str; 4] = ["product", "arch", "driver", "kernel"];
/// Most lines of one record.
const LINES_MAX: usize = 40;

/// How one record was measured, as lines of a list.
pub(super) fn how(record: &Record, label: &str) -> Vec<String> {
    let (gate, context, plan) = (&record.gate, &record.context, &record.plan);
    let mut lines = Vec::new();
    let mut item = |what: &str, text: String| lines.push(format!("- {what}: {text}\n"));
    let of = if label.is_empty() { &record.kind } else { label };
    item("record", format!("{}, {}", name(of), provenance(record)));
    item("gate", format!("{}, from the {}", name(&gate.name), prose(&gate.from)));
    let commit = context
        .base
        .commit
        .as_deref()
        .map_or_else(String::new, |commit| format!("`{}`, ", hex(commit)));
    item("base", format!("{commit}{}", prose(&context.base.why)));
    item("machine", machine(record));
    item("measured", prose(&measured(record)));
    let looks: Vec<String> = plan.looks.iter().map(u32::to_string).collect();
    // Without a look there is no error rate either.
    if !looks.is_empty() {
        item(
            "plan",
            format!(
                "looks after {} blocks, at most {} false alarms and {} missed slowdowns of the tolerance",
                looks.join(", "),
                chance(plan.alpha),
                chance(plan.beta)
            ),
        );
    }
    item(
        "worth",
        format!(
            "{}, because {}",
            record.judgement.disposition,
            prose(&record.judgement.disposition_because.join("; "))
        ),
    );
    for finding in record.host.findings.iter().filter(|finding| finding.level != Level::Pass) {
        let level = match finding.level {
            Level::Pass => "pass",
            Level::Warn => "warns",
            Level::Fail => "fails",
            Level::Unknown => "is unknown",
        };
        item("check", format!("{} {level}: {}", name(&finding.check), prose(&finding.saw)));
    }
    for unknown in &record.identity.missing {
        item("not known", format!("{}: {}", name(&unknown.field), prose(&unknown.why)));
    }
    context.banners.iter().for_each(|banner| item("note", prose(banner)));
    record.judgement.warnings.iter().for_each(|warning| item("warning", prose(warning)));
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("- and {more} more lines in the record\n"));
    }
    lines
}

/// Device and processor, as far as they are known.
fn machine(record: &Record) -> String {
    let identity = &record.identity;
    let text = |facts: &Facts, key: &str| facts.get(key).and_then(|value| value.as_str()).map(prose);
    let arch = identity.arch().map(|arch| name(&arch));
    let known = FACTS
        .iter()
        .filter(|fact| **fact != "arch")
        .filter_map(|fact| text(&identity.gpu, fact).or_else(|| text(&identity.machine, fact)));
    let cpu = identity.machine.get("cpu").and_then(|cpu| cpu["model"].as_str()).map(prose);
    let parts: Vec<String> = arch.into_iter().chain(known).chain(cpu).collect();
    let replayed = if record.host.replayed { ", replayed from a snapshot" } else { "" };
    if parts.is_empty() {
        format!("not known{replayed}")
    } else {
        parts.join(", ") + replayed
    }
}

/// Rule file and line, plan, seal, attempt and duration.
pub(super) fn provenance(record: &Record) -> String {
    let at = record.gate.rules.first().map_or("", |rule| rule.at.as_str());
    provenance_of(record, at)
}

/// The same, with the place of the rule that decided.
pub(super) fn provenance_of(record: &Record, at: &str) -> String {
    let at = if at.is_empty() { "no rule".to_owned() } else { name(at) };
    let (plan, seal) = (hex(&record.plan.digest), hex(&record.seal));
    let took = took(record).map_or_else(String::new, |seconds| format!(" · took {}", duration(seconds)));
    format!(
        "rule {at} · plan `{plan}` · record `{seal}` · attempt {}{took}",
        record.context.attempt
    )
}

/// From the start of the first process to the end of the last, in seconds; none where nothing ran.
fn took(record: &Record) -> Option<f64> {
    let samples = &record.evidence.samples;
    let instant = |sample: &Sample| sample.start.parse::<Timestamp>().ok();
    let (first, last) = (samples.first()?, samples.last()?);
    let seconds = (instant(last)?.as_microsecond() - instant(first)?.as_microsecond()) as f64 / 1e6;
    let last = last.values.get("wall_s").copied().filter(|wall| wall.is_finite())?;
    (seconds >= 0.0).then_some(seconds + last.max(0.0))
}

/// The head of the table of raw values.
pub(super) const RAW: [&str; 4] = [
    "what",
    "base min / median / max",
    "candidate min / median / max",
    "every slot, in the order of measuring",
];

/// The raw values of each judged bucket that has samples, one row each.
pub(super) fn raw<'b>(rows: &'b [Row<'_>]) -> impl ExactSizeIterator<Item = String> + 'b {
    let mut cells: HashMap<*const Record, HashMap<&Cell, Vec<&Sample>>> = HashMap::new();
    let mut seen = HashSet::new();
    for row in rows {
        cells.entry(std::ptr::from_ref(row.record)).or_insert_with(|| by_cell(row.record));
    }
    let mut buckets: Vec<&Row<'_>> = rows.iter().collect();
    buckets.retain(|row| {
        let record = std::ptr::from_ref(row.record);
        let measured = cells.get(&record).is_some_and(|cells| cells.contains_key(&row.ruling.cell));
        measured && seen.insert((record, &row.ruling.cell, &row.ruling.metric))
    });
    buckets.into_iter().map(move |row| {
        let ruling = row.ruling;
        let of_record = cells.get(&std::ptr::from_ref(row.record));
        let samples = of_record.and_then(|cells| cells.get(&ruling.cell));
        super::rows::line(&[
            row.subject(),
            range(ruling.base, &ruling.unit),
            range(ruling.candidate, &ruling.unit),
            strip(samples.map(Vec::as_slice).unwrap_or_default(), &ruling.metric),
        ])
    })
}

fn by_cell(record: &Record) -> HashMap<&Cell, Vec<&Sample>> {
    let mut cells: HashMap<&Cell, Vec<&Sample>> = HashMap::new();
    for sample in record.evidence.samples.iter().filter(|sample| !sample.warmup) {
        cells.entry(&sample.cell).or_default().push(sample);
    }
    cells
}

fn range(range: Option<Range>, unit: &str) -> String {
    range.map_or_else(
        || "not measured".to_owned(),
        |Range { min, median, max, .. }| format!("{} / {} / {} {}", figure(min), figure(median), figure(max), escape(unit)),
    )
}

/// Which arm ran in each slot, and above it how large its value was among all: `x` failed, `-` missing, and `v` in a block that is void.
fn strip(samples: &[&Sample], metric: &str) -> String {
    let value = |sample: &Sample| sample.values.get(metric).copied().filter(|value| value.is_finite());
    let values = samples.iter().filter_map(|sample| value(sample));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let void: HashSet<(u32, u32)> = samples
        .iter()
        .filter(|sample| sample.void.is_some())
        .map(|sample| (sample.block, sample.attempt))
        .collect();
    let (mut arms, mut bars) = (String::new(), String::new());
    let mut before: Option<&Sample> = None;
    for sample in samples.iter().take(SLOTS_MAX) {
        if before.is_some_and(|before| (before.block, before.attempt) != (sample.block, sample.attempt)) {
            arms.push(' ');
            bars.push(' ');
        }
        before = Some(sample);
        arms.push(match sample.arm {
            Arm::A => 'A',
            Arm::B => 'B',
        });
        bars.push(match value(sample) {
            _ if void.contains(&(sample.block, sample.attempt)) => 'v',
            _ if sample.failed.is_some() => 'x',
            None => '-',
            Some(value) => bar(value, low, high),
        });
    }
    let more = match samples.len().saturating_sub(SLOTS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("`{bars}`<br>`{arms}`{more}")
}

fn bar(value: f64, low: f64, high: f64) -> char {
    let share = if high > low { (value - low) / (high - low) } else { 0.0 };
    let at = (share * (BARS.len() - 1) as f64).round() as usize;
    BARS[at.min(BARS.len() - 1)]
}
