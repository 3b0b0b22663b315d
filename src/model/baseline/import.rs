//! Older baselines: `key=value`, with fixture, metric, unit and direction in the key.
//!
//! A key is `FIXTURE_METRIC`. The metric is the unit's suffix with the one measure word before it, if there is one, so that it has the name
//! under which such tools print it: `9b_mq4_pp128_prefill_tok_s` is `prefill_tok_s` of `9b_mq4_pp128`, `9b_mq4_gen_tok_s` is `gen_tok_s` of
//! `9b_mq4`, and `27b_dflash_lru_tau` is `tau` of `27b_dflash_lru`.

use std::collections::{BTreeMap, HashMap};

use super::{Baseline, FILE_MAX_BYTES, Fault, LINE_MAX_BYTES, Refused, SampleLine, is_arch, is_date};
use crate::model::metric::Better::{self, Higher, Lower};
use crate::model::quantity::split_number;
use crate::model::unit::Unit;

/// What every suffix means. The longest that fits decides, so that `_tok_s` is a rate although it ends as `_s` does.
const SUFFIXES: &[(&str, &str, Better)] = &[
    ("tok_s", "tok/s", Higher),
    ("req_s", "req/s", Higher),
    ("it_s", "it/s", Higher),
    ("img_s", "img/s", Higher),
    ("gib_s", "GiB/s", Higher),
    ("mib_s", "MiB/s", Higher),
    ("gb_s", "GB/s", Higher),
    ("mb_s", "MB/s", Higher),
    ("tau", "count", Higher),
    ("mfu", "1", Higher),
    ("s_per_step", "s/step", Lower),
    ("ms", "ms", Lower),
    ("s", "s", Lower),
    ("mb", "MB", Lower),
    ("gb", "GB", Lower),
    ("watts", "W", Lower),
];

/// Words that belong to the metric where they stand before its unit.
const MEASURES: &[&str] = &[
    "prefill", "decode", "gen", "ttft", "tpot", "itl", "wall", "avg", "p50", "p90", "p95", "p99", "peak", "hbm", "vram", "load", "bw",
];

/// What is said of every imported line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The day of the measurement, `YYYY-MM-DD`.
    pub date: String,
    /// Who published it.
    pub source: Option<String>,
    /// Which statistic the values are: `best-of-2`.
    pub stat: Option<String>,
}

/// Reads the older text as historical sessions, in its order. `file` is how faults name it.
///
/// # Errors
/// The first place that is wrong, an architecture or a day that is none among them.
pub fn import_hipfire(text: &str, arch: &str, provenance: &Provenance, file: &str) -> Result<Vec<SampleLine>, Fault> {
    let refuse = |what: String| Err(Fault::new(file, 1, text, 0, what));
    if !is_arch(arch) {
        return refuse(format!("{arch:?} is no architecture such as gfx942"));
    }
    if !is_date(&provenance.date) {
        return refuse(format!("{:?} is no day such as 2026-11-30", provenance.date));
    }
    if text.len() > FILE_MAX_BYTES {
        return refuse(format!("{} bytes, at most {FILE_MAX_BYTES} are read", text.len()));
    }
    let lines = older_lines(text, file)?;
    Ok(lines.into_iter().map(|line| historical(line, provenance)).collect())
}

/// One line of the older text.
#[derive(Debug, Clone, PartialEq)]
pub struct OlderLine {
    /// What was measured: `9b_mq4_pp128`.
    pub fixture: String,
    /// What of it: `prefill_tok_s`.
    pub metric: String,
    /// The unit that the metric's last word means.
    pub unit: Unit,
    /// The direction that goes with it.
    pub better: Better,
    /// A finite number above 0.
    pub value: f64,
}

/// Reads the older text, in its order. `file` is how faults name it.
///
/// # Errors
/// The first place that is wrong.
pub fn older_lines(text: &str, file: &str) -> Result<Vec<OlderLine>, Fault> {
    let mut seen = HashMap::new();
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fault = |(byte, what)| Fault::new(file, index + 1, line, byte, what);
        let Some((key, value)) = pair(line).map_err(fault)? else { continue };
        if let Some(before) = seen.insert(key, index + 1) {
            return Err(fault((0, format!("duplicate: line {before} has the key {key} already"))));
        }
        lines.push(older_line(key, value).map_err(fault)?);
    }
    if lines.is_empty() {
        return Err(Fault::new(file, 1, text, 0, "no line of the form key=value".to_owned()));
    }
    Ok(lines)
}

/// The unit and the direction that a key's last words mean; none where they mean nothing. The longest that fits decides.
pub fn meaning(key: &str) -> Option<(Unit, Better)> {
    let (_, unit, better) = suffix(key)?;
    Some((Unit::parse(unit).ok()?, *better))
}

fn suffix(key: &str) -> Option<&'static (&'static str, &'static str, Better)> {
    let fitting = SUFFIXES.iter().filter(|(suffix, ..)| before(key, suffix).is_some());
    fitting.max_by_key(|(suffix, ..)| suffix.len())
}

/// Puts imported sessions into a baseline, all or none.
///
/// # Errors
/// When one of them is there already.
pub fn merge(baseline: &Baseline, lines: Vec<SampleLine>) -> Result<Baseline, Refused> {
    let mut merged = baseline.clone();
    for line in lines {
        merged.insert(line)?;
    }
    Ok(merged)
}

fn pair(line: &str) -> Result<Option<(&str, f64)>, (usize, String)> {
    if line.len() > LINE_MAX_BYTES {
        return Err((0, format!("a line of {} bytes, at most {LINE_MAX_BYTES} are read", line.len())));
    }
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(None);
    }
    let start = line.len() - line.trim_start().len();
    let mut parts = trimmed.splitn(3, '=');
    let (Some(key), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err((start, "want key=value, with exactly one =".to_owned()));
    };
    let value_at = start + key.len() + 1;
    let value = value.trim();
    let number = match split_number(value) {
        Some((number, "")) if !value.contains(['e', 'E']) => number.parse::<f64>().ok(),
        _ => None,
    };
    match number.filter(|number| number.is_finite()) {
        Some(number) if number > 0.0 => Ok(Some((key.trim(), number))),
        Some(_) => Err((value_at, format!("{value:?}: zero or less is a failed run, not a baseline"))),
        None => Err((value_at, format!("{value:?}: not a plain decimal number"))),
    }
}

fn older_line(key: &str, value: f64) -> Result<OlderLine, (usize, String)> {
    let Some((suffix, unit, better)) = suffix(key) else {
        let known: Vec<String> = SUFFIXES.iter().map(|(suffix, ..)| format!("_{suffix}")).collect();
        return Err((0, format!("{key:?} ends in no known unit: known are {}", known.join(" "))));
    };
    if *suffix == "mfu" && value > 1.5 {
        return Err((key.len() + 1, format!("{value} is no share: write 40 % as 0.4")));
    }
    let stem = before(key, suffix).unwrap_or_default();
    let measure = MEASURES
        .iter()
        .find_map(|word| Some((before(stem, word)?, format!("{word}_{suffix}"))));
    let (fixture, metric) = measure.unwrap_or_else(|| (stem, (*suffix).to_owned()));
    Ok(OlderLine {
        fixture: fixture.to_owned(),
        metric,
        unit: Unit::parse(unit).map_err(|why| (0, why))?,
        better: *better,
        value,
    })
}

fn historical(line: OlderLine, provenance: &Provenance) -> SampleLine {
    let mut extras = BTreeMap::from([("status".to_owned(), "historical".to_owned())]);
    for (key, said) in [("source", &provenance.source), ("stat", &provenance.stat)] {
        extras.extend(said.clone().map(|said| (key.to_owned(), said)));
    }
    SampleLine {
        fixture: line.fixture,
        metric: line.metric,
        unit: line.unit,
        better: line.better,
        date: provenance.date.clone(),
        identity: None,
        record: None,
        values: vec![line.value],
        extras,
    }
}

/// What stands before a last word; empty where the word is all there is.
fn before<'a>(key: &'a str, word: &str) -> Option<&'a str> {
    let rest = key.strip_suffix(word)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_suffix('_') }
}
