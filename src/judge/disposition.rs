//! What the evidence is worth, from facts alone. The first that applies decides.

use super::Case;
use crate::model::judgement::{Disposition, Outcome, Ruling, Verdict};
use crate::model::plan::Objective;

/// The disposition with the facts that decided it.
pub fn of(case: &Case<'_>, verdicts: &[Ruling]) -> (Disposition, Vec<String>) {
    let rejected = rejected(verdicts);
    let exploratory = exploratory(case, verdicts);
    if !exploratory.is_empty() {
        return (Disposition::Exploratory, exploratory);
    }
    if !rejected.is_empty() {
        return (Disposition::RejectedNull, rejected);
    }
    let mut facts = vec!["the identity is complete, the samples are raw, and the rule was declared before them".to_owned()];
    if case.plan.objective == Objective::Promote {
        facts.push("a promotion also needs an accepted noise band, proof of the intended path and linked correctness evidence".to_owned());
    }
    (Disposition::Measured, facts)
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
    let single = |ruling: &Ruling| ruling.base.is_some_and(|range| range.n == 1) || ruling.candidate.is_some_and(|range| range.n == 1);
    if verdicts.iter().any(single) {
        facts.push("there is a single sample on a side".to_owned());
    }
    facts
}

fn rejected(verdicts: &[Ruling]) -> Vec<String> {
    let required = || verdicts.iter().filter(|ruling| ruling.required);
    let mut facts = Vec::new();
    if required().next().is_none() {
        facts.push("nothing was asked: no required rule covers a metric that is judged".to_owned());
    }
    for ruling in required().filter(|ruling| ruling.outcome != Outcome::Pass) {
        let fact = match ruling.verdict {
            Verdict::ThrottleAttributable => format!("a confounder: {} on {}", ruling.verdict, ruling.metric),
            _ if ruling.outcome == Outcome::Fail => format!("the rule {} failed on {}: {}", ruling.rule, ruling.metric, ruling.verdict),
            _ => format!("the samples gave no answer on {}: {}", ruling.metric, ruling.verdict),
        };
        facts.push(fact);
    }
    facts
}
