//! What the evidence is worth, from facts alone. The first that applies decides.

use std::collections::HashSet;

use super::Case;
use super::band::Bands;
use crate::model::evidence::Ended;
use crate::model::gate::Against;
use crate::model::judgement::{Disposition, Outcome, Range, Ruling, Verdict};
use crate::model::metric::Scale;
use crate::model::number::size;
use crate::model::plan::Objective;
use crate::model::sample::Cell;
use crate::model::telemetry::FOREIGN;
use crate::model::text::plain_line;

/// The disposition with the facts that decided it.
///
/// Historical is what a person says of a sealed record (see [`crate::model::relabel`]), so it is none of these.
pub fn of(case: &Case<'_>, verdicts: &[Ruling], bands: &Bands<'_>) -> (Disposition, Vec<String>) {
    let rejected = rejected(case, verdicts);
    let exploratory = exploratory(case, verdicts);
    if !exploratory.is_empty() {
        return (Disposition::Exploratory, exploratory);
    }
    if !rejected.is_empty() {
        return (Disposition::RejectedNull, rejected);
    }
    let mut facts = vec!["the identity is complete, the samples are raw, and the rule was declared before them".to_owned()];
    if case.plan.objective == Objective::Promote {
        facts.push(format!("no promotion candidate: it lacks {}", lacking(verdicts, bands).join("; ")));
    }
    (Disposition::Measured, facts)
}

/// What keeps a shown gain from being a promotion candidate. No record can hold the last two yet.
fn lacking(verdicts: &[Ruling], bands: &Bands<'_>) -> Vec<String> {
    let claims = verdicts.iter().filter(|ruling| ruling.required && ruling.against == Against::Base);
    let mut lacks: Vec<String> = claims.filter_map(|ruling| short_of_band(ruling, bands)).collect();
    lacks.push("proof that the intended path was active".to_owned());
    lacks.push("linked evidence that the output is correct".to_owned());
    lacks
}

/// Why a bucket's gain does not stand out of its accepted noise: there is none, or one run of that noise moves as far.
fn short_of_band(ruling: &Ruling, bands: &Bands<'_>) -> Option<String> {
    let metric = plain_line(&ruling.metric, 100);
    let Some(band) = bands.find(&ruling.cell.fixture, &ruling.metric) else {
        return Some(format!(
            "an accepted noise band of {metric} under this identity (`gate noise --accept` makes one)"
        ));
    };
    let moved = |(base, candidate): (Range, Range)| 100.0 * (candidate.median / base.median - 1.0).abs();
    let gain_pct = match ruling.scale {
        Scale::Pct => ruling.estimate,
        // A band is in percent.
        Scale::Pp | Scale::Abs => ruling.base.zip(ruling.candidate).map(moved).filter(|_| ruling.estimate > Some(0.0)),
    };
    let beyond = gain_pct.is_some_and(|gain_pct| gain_pct > band.high);
    (!beyond).then(|| {
        format!(
            "a gain on {metric} beyond the accepted noise band: a run varies by up to {}",
            size(band.high, Scale::Pct, "")
        )
    })
}

fn exploratory(case: &Case<'_>, verdicts: &[Ruling]) -> Vec<String> {
    let unknown = case.gate.complete.iter().filter_map(|field| {
        let why = case.identity.unknown(field)?;
        Some(format!("the identity is not complete: {field} is unknown ({why})"))
    });
    let mut facts: Vec<String> = unknown.collect();
    if case.host.replayed {
        facts.push("the host was replayed from a snapshot".to_owned());
    }
    if matches!(case.evidence.ended, Some(Ended::Unfit { .. })) {
        facts.push("nothing was measured: the machine is unfit".to_owned());
    }
    let blind = case
        .evidence
        .samples
        .iter()
        .find_map(|sample| sample.telemetry.as_ref()?.missing.get(FOREIGN));
    facts.extend(blind.map(|why| format!("nobody could see who else used the GPU: {}", plain_line(why, 200))));
    if case.context.new_gate {
        facts.push("the gate is new: nobody has agreed to its rule yet".to_owned());
    }
    if !case.context.changed_harness.is_empty() {
        facts.push(format!(
            "the measuring code itself differs between the arms: {}",
            case.context.changed_harness.join(", ")
        ));
    }
    // Against a baseline the other side's number counts sessions.
    let base = |ruling: &Ruling| ruling.base.filter(|_| ruling.against == Against::Base);
    let single = |ruling: &Ruling| [base(ruling), ruling.candidate].into_iter().flatten().any(|range| range.n == 1);
    if verdicts.iter().any(single) {
        facts.push("there is a single sample on a side".to_owned());
    }
    facts
}

fn rejected(case: &Case<'_>, verdicts: &[Ruling]) -> Vec<String> {
    let required = || verdicts.iter().filter(|ruling| ruling.required);
    let mut facts = Vec::new();
    if required().next().is_none() && !case.context.new_gate {
        facts.push("nothing was asked: no required rule covers a metric that is judged".to_owned());
    }
    let unreported = unreported(case);
    let counts = |ruling: &&Ruling| ruling.required || ruling.verdict == Verdict::EnvironmentShift;
    for ruling in verdicts.iter().filter(counts).filter(|ruling| ruling.outcome != Outcome::Pass) {
        let fact = match ruling.verdict {
            _ if lacks_only_a_baseline(ruling, &unreported) => continue,
            Verdict::ThrottleAttributable | Verdict::EnvironmentShift => format!("a confounder: {} on {}", ruling.verdict, ruling.metric),
            _ if ruling.outcome == Outcome::Fail => format!("the rule {} failed on {}: {}", ruling.rule, ruling.metric, ruling.verdict),
            _ => format!("the samples gave no answer on {}: {}", ruling.metric, ruling.verdict),
        };
        facts.push(fact);
    }
    facts
}

/// Whether the candidate was measured and only the baseline has nothing to compare it with: that says nothing against the samples.
fn lacks_only_a_baseline(ruling: &Ruling, unreported: &HashSet<(&Cell, &str)>) -> bool {
    let of_baseline = ruling.against == Against::Baseline || ruling.rule == "floor";
    match ruling.verdict {
        Verdict::Advisory | Verdict::New | Verdict::StaleBaseline => true,
        Verdict::NotMeasured => {
            let reported = ruling.candidate.is_some() && !unreported.contains(&(&ruling.cell, ruling.metric.as_str()));
            of_baseline && ruling.outcome == Outcome::Inconclusive && reported
        }
        _ => false,
    }
}

/// What some process did not report.
fn unreported<'a>(case: &Case<'a>) -> HashSet<(&'a Cell, &'a str)> {
    let samples = case.evidence.samples.iter();
    samples
        .flat_map(|sample| sample.missing.keys().map(|metric| (&sample.cell, metric.as_str())))
        .collect()
}
