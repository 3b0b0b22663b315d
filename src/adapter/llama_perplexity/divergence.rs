//! `--kl-divergence`: the statistics after the last chunk. The rows of chunks before them are means so far.

use std::collections::BTreeMap;

use super::{Output, Printed, series};
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Reported};

/// The last row that every build prints.
const LAST: &str = "Same top p";

/// The unit and direction of a row; of an ideal in the middle, and of the base model's own figures, there is no direction.
fn kind(label: &str) -> Option<(Option<&'static str>, Option<Better>)> {
    let (lower, higher) = (Some(Better::Lower), Some(Better::Higher));
    Some(match label {
        "Mean PPL(Q)" | "Mean ln(PPL(Q)/PPL(base))" | "Mean PPL(Q)/PPL(base)" | "Mean PPL(Q)-PPL(base)" => (None, lower),
        "Mean PPL(base)" => (None, None),
        "Cor(ln(PPL(Q)), ln(PPL(base)))" => (Some("%"), higher),
        "Minimum KLD" => (None, None),
        "RMS Δp" => (Some("pp"), lower),
        LAST => (Some("%"), higher),
        label if is_statistic(label, " KLD") => (None, lower),
        label if is_statistic(label, " Δp") => (Some("pp"), None),
        _ => return None,
    })
}

/// `Mean KLD`, `Median KLD`, `Maximum KLD` or a percentile such as `99.9% KLD`.
fn is_statistic(label: &str, of: &str) -> bool {
    label.strip_suffix(of).is_some_and(|which| {
        let is_percentile = || which.strip_suffix('%').is_some_and(|percent| percent.parse::<f64>().is_ok());
        matches!(which, "Mean" | "Median" | "Maximum" | "Minimum") || is_percentile()
    })
}

pub(super) fn read(output: &Output) -> Result<Vec<Reported>, Refused> {
    let detail = chunks(output)?;
    let mut all: Vec<Reported> = Vec::new();
    for line in &output.lines {
        let Some((label, value)) = line.rsplit_once(':') else { continue };
        let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((unit, better)) = kind(&label) else { continue };
        if all.iter().any(|series| series.name == label) {
            return Err(Refused(format!(
                "{label:?} stands several times: the output of several runs; give each a file of its own"
            )));
        }
        let mut found = series(&label, unit, better, &Printed::of(value));
        let is_negative = matches!(found.processes.as_slice(), [Process::Repetitions(values)] if values.iter().any(|value| *value < 0.0));
        if label.ends_with(" KLD") && is_negative {
            found.notes.push("a divergence below 0 is rounding".to_owned());
        }
        found.detail = detail.clone();
        all.push(found);
    }
    let is_whole = all.iter().any(|series| series.name == LAST);
    if !is_whole && (!output.input.is_partial() || all.is_empty()) {
        return Err(output.input.nothing(&match detail.get("chunks") {
            Some(chunks) if all.is_empty() => format!(
                "no statistics after chunk {chunks}: the run did not finish, or had fewer than 100 tokens; the rows of chunks are means so far"
            ),
            _ => format!("the statistics do not end with {LAST:?}: the output is truncated; --partial reads the rows before"),
        }));
    }
    Ok(all)
}

/// How many chunks the statistics rest on, from their table.
fn chunks(output: &Output) -> Result<BTreeMap<String, String>, Refused> {
    let mut last = 0_usize;
    for line in output.lines.iter().filter(|line| line.matches('±').count() > 2) {
        let number = line.split_whitespace().next().and_then(|word| word.parse::<usize>().ok());
        let Some(number) = number else { continue };
        if number != last + 1 {
            return Err(Refused(format!(
                "chunk {number} follows chunk {last}: lines are missing, or the output of several runs is mixed"
            )));
        }
        last = number;
    }
    let told = (last > 0).then(|| ("chunks".to_owned(), last.to_string()));
    Ok(told.into_iter().collect())
}
