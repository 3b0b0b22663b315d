//! What tells series apart, alike over several results: a field that varies within one of them names the series of all.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use crate::model::report::Report;

/// Gives every series the fields that tell series apart in any of the results, taken from its result's configuration where it lacks them.
pub fn fill(results: &mut [Found]) {
    let mut reports: Vec<&mut Report> = results.iter_mut().map(|found| &mut found.report).collect();
    align(&mut reports);
}

/// As [`fill`], of reports.
pub fn align(reports: &mut [&mut Report]) {
    let series = reports.iter().flat_map(|report| &report.series);
    let keys: BTreeSet<String> = series.flat_map(|series| series.of.keys().cloned()).collect();
    for report in reports {
        let Report { series, config, .. } = &mut **report;
        for key in &keys {
            let Some(value) = config.get(key) else { continue };
            for series in series.iter_mut().filter(|series| !series.of.contains_key(key)) {
                series.of.insert(key.clone(), value.clone());
            }
        }
    }
}

/// How the configurations of two sides differ: each field with what either side has, `(absent)` where it lacks it.
pub fn differences<'a>(
    base: impl Iterator<Item = &'a Report>,
    candidate: impl Iterator<Item = &'a Report>,
) -> BTreeMap<String, [String; 2]> {
    let [base, candidate] = [values(base), values(candidate)];
    let joined = |side: BTreeMap<&String, BTreeSet<&str>>| -> BTreeMap<String, String> {
        let told = side.into_iter().map(|(field, values)| (field.clone(), joined(&values)));
        told.collect()
    };
    pairs(&joined(base), &joined(candidate))
}

fn joined(values: &BTreeSet<&str>) -> String {
    values.iter().copied().collect::<Vec<&str>>().join(", ")
}

/// The fields of two maps that differ, each with what either has.
pub fn pairs(base: &BTreeMap<String, String>, candidate: &BTreeMap<String, String>) -> BTreeMap<String, [String; 2]> {
    let fields: BTreeSet<&String> = base.keys().chain(candidate.keys()).collect();
    let told = |side: &BTreeMap<String, String>, field: &String| side.get(field).cloned().unwrap_or_else(|| "(absent)".to_owned());
    let pairs = fields
        .into_iter()
        .map(|field| (field.clone(), [told(base, field), told(candidate, field)]));
    pairs.filter(|(_, [base, candidate])| base != candidate).collect()
}

/// The fields in which reports differ among themselves, each with every value.
pub fn several<'a>(reports: impl Iterator<Item = &'a Report>) -> BTreeMap<String, String> {
    let differing = values(reports).into_iter().filter(|(_, values)| values.len() > 1);
    differing.map(|(field, values)| (field.clone(), joined(&values))).collect()
}

fn values<'a>(reports: impl Iterator<Item = &'a Report>) -> BTreeMap<&'a String, BTreeSet<&'a str>> {
    let mut fields: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
    for (field, value) in reports.flat_map(|report| &report.config) {
        fields.entry(field).or_default().insert(value);
    }
    fields
}

/// Differences in one line: `n_gpu_layers 99 → -1; flash_attn 0 → -1`.
pub fn in_words(differences: &BTreeMap<String, [String; 2]>) -> String {
    let words = differences
        .iter()
        .map(|(field, [base, candidate])| format!("{field} {base} → {candidate}"));
    words.collect::<Vec<String>>().join("; ")
}
