//! Which series of the results a gate judges: its patterns, met with what the files hold.

use std::collections::BTreeSet;

use anyhow::{Result, anyhow, bail};

use crate::cli::results::Found;
use crate::model::gate::declaration::{Series, SeriesPattern};
use crate::model::metric::{Better, DEFAULT_TOLERANCE_PCT, Metric, Scale};
use crate::model::report::Reported;
use crate::model::text::plain_line;
use crate::model::unit::{Unit, convert};

/// Most series of the results that are judged.
const SERIES_MAX: usize = 2_000;
/// Most names in a message.
const NAMED_MAX: usize = 6;
/// Longest name in a message, in characters.
const NAME_MAX: usize = 100;

/// The declared series: those that are named, and of the patterns what the results hold.
///
/// # Errors
/// A pattern that nothing fits, a series without unit or direction, results that contradict each other or the gate.
pub fn wanted(patterns: &[SeriesPattern], results: &[Found]) -> Result<Vec<Series>> {
    let (named, open): (Vec<&SeriesPattern>, Vec<&SeriesPattern>) = patterns.iter().partition(|pattern| !pattern.name.contains('*'));
    let mut wanted = Vec::new();
    for pattern in named {
        let from = pattern.from.as_deref().unwrap_or(&pattern.name);
        let found: Vec<(&Found, &Reported)> = all(results).filter(|(_, series)| is_called(series, from)).collect();
        wanted.push(series(pattern, &pattern.name, from, &found)?);
    }
    for pattern in open {
        let before = wanted.len();
        for label in labels(results) {
            let found: Vec<(&Found, &Reported)> = all(results).filter(|(_, series)| series.label() == label).collect();
            let fits_it = fits(&pattern.name, &label) || found.iter().any(|(_, series)| fits(&pattern.name, &series.name));
            let is_taken = |series: &Series| found.iter().any(|(_, reported)| is_called(reported, &series.from));
            if fits_it && !wanted.iter().any(is_taken) {
                wanted.push(series(pattern, &label, &label, &found)?);
            }
        }
        if wanted.len() == before && wanted.is_empty() {
            bail!(
                "metric {:?}: no series of the results fits it: {}",
                pattern.name,
                some(labels(results))
            );
        }
    }
    if wanted.len() > SERIES_MAX {
        bail!(
            "{} series fit the gate, and at most {SERIES_MAX} are judged: name those that count",
            wanted.len()
        );
    }
    Ok(wanted)
}

fn all(results: &[Found]) -> impl Iterator<Item = (&Found, &Reported)> {
    results
        .iter()
        .flat_map(|found| found.report.series.iter().map(move |series| (found, series)))
}

/// Every label once, in the order of the results.
fn labels(results: &[Found]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let labels = all(results).map(|(_, series)| series.label());
    labels.filter(|label| seen.insert(label.clone())).collect()
}

fn is_called(series: &Reported, from: &str) -> bool {
    series.name == from || series.label() == from
}

/// Whether a name fits a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

/// One declared series, with what the gate leaves open taken from the results that state it.
fn series(pattern: &SeriesPattern, name: &str, from: &str, found: &[(&Found, &Reported)]) -> Result<Series> {
    let shown = plain_line(name, NAME_MAX);
    let lacks = |what: &str, example: &str| {
        let where_from = match found.first() {
            Some((file, _)) => format!("{} does not state it", file.adapter),
            None => "no result holds the series".to_owned(),
        };
        anyhow!("metric {shown}: the {what} is not declared, and {where_from}: declare it in [[metric]], such as {example}")
    };
    let unit = pattern.unit.or_else(|| found.iter().find_map(|(_, series)| series.unit));
    let better = pattern.better.or_else(|| found.iter().find_map(|(_, series)| series.better));
    let better = better.ok_or_else(|| lacks("better direction", "better = \"lower\""))?;
    let unit = unit.ok_or_else(|| lacks("unit", "unit = \"ms\""))?;
    for (file, series) in found {
        check_kind(&shown, unit, better, file, series)?;
    }
    let metric = Metric {
        name: name.to_owned(),
        unit,
        better,
        tolerance: DEFAULT_TOLERANCE_PCT,
        scale: Scale::Pct,
        role: pattern.role,
        resolution: pattern.resolution,
        review_above_pct: pattern.review_above_pct,
    };
    let metric = match &pattern.tolerance {
        Some(tolerance) => metric.with_tolerance(tolerance).map_err(|why| anyhow!(why))?,
        None => metric,
    };
    Ok(Series {
        metric,
        from: from.to_owned(),
        reduce: pattern.reduce,
    })
}

/// Refuses a series whose numbers mean something else: that is no failed work, and no number either.
fn check_kind(name: &str, unit: Unit, better: Better, file: &Found, series: &Reported) -> Result<()> {
    if let Some(given) = series.unit.filter(|given| convert(1.0, *given, unit).is_none()) {
        bail!("{}: metric {name} is given in {given}, which does not convert to {unit}", file.file);
    }
    if series.better.is_some_and(|given| given != better) {
        let word = if better == Better::Higher { "lower" } else { "higher" };
        bail!(
            "{}: metric {name}: the format says that {word} is better, and the gate or another result the opposite",
            file.file
        );
    }
    Ok(())
}

/// A few names, for a message.
fn some(names: Vec<String>) -> String {
    let shown: Vec<String> = names.iter().take(NAMED_MAX).map(|name| plain_line(name, NAME_MAX)).collect();
    let more = if names.len() > NAMED_MAX { ", ..." } else { "" };
    format!("they hold {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, fit) in [
            ("*", "time[command=./a b]", true),
            ("*_ms", "mean_ttft_ms", true),
            ("mean_*_ms", "mean_ttft_ms", true),
            ("mean_*_ms", "mean_ms", false),
            ("tg*", "tg128[n_ubatch=512]", true),
            ("tg*", "pp512", false),
            ("*a*b", "xaxb", true),
            ("*a*b", "xbxa", false),
            ("tg128", "tg128x", false),
        ] {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }
}
