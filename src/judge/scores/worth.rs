//! What scores are worth, from facts alone. The first that applies decides.

use crate::judge::Case;
use crate::model::eval::evidence::{BaseKind, Scores};
use crate::model::judgement::{Disposition, Outcome, Ruling, Verdict};
use crate::model::text::plain_line;

/// The disposition with the facts that decided it.
pub(super) fn of(case: &Case<'_>, scores: &Scores, verdicts: &[Ruling]) -> (Disposition, Vec<String>) {
    let exploratory = exploratory(case, scores, verdicts);
    if !exploratory.is_empty() {
        return (Disposition::Exploratory, exploratory);
    }
    let rejected = rejected(verdicts);
    if !rejected.is_empty() {
        return (Disposition::RejectedNull, rejected);
    }
    let fact = "the models are known, the rule was declared before, and the scores are recorded with their files".to_owned();
    (Disposition::Measured, vec![fact])
}

fn exploratory(case: &Case<'_>, scores: &Scores, verdicts: &[Ruling]) -> Vec<String> {
    let unknown = case.gate.complete.iter().filter_map(|field| {
        let why = case.identity.unknown(field)?;
        Some(format!(
            "the identity is not complete: {} is unknown ({why})",
            plain_line(field, 60)
        ))
    });
    let mut facts: Vec<String> = unknown.collect();
    if case.gate.from == "command line" {
        facts.push("the rule was given with the scores at hand, and not declared before".to_owned());
    }
    if case.context.new_gate {
        facts.push("the gate is new: nobody has agreed to its rule yet".to_owned());
    }
    let paired = verdicts.iter().any(|ruling| ruling.detail.contains_key("paired"));
    if scores.base_kind == BaseKind::Results && !paired {
        facts.push("the base's results are loose files without the answers to the single items: an unpaired import".to_owned());
    }
    facts
}

fn rejected(verdicts: &[Ruling]) -> Vec<String> {
    let mut facts = Vec::new();
    if verdicts.iter().all(|ruling| !ruling.required) {
        facts.push("nothing was asked: no required rule covers a score".to_owned());
    }
    for ruling in verdicts.iter().filter(|ruling| ruling.required && ruling.outcome != Outcome::Pass) {
        // Lacking only a baseline says nothing against the scores.
        if ruling.verdict == Verdict::StaleBaseline {
            continue;
        }
        let name = plain_line(&format!("{} {}", ruling.cell.fixture, ruling.metric), 100);
        let name = name.trim_end();
        facts.push(if ruling.outcome == Outcome::Fail {
            format!("the rule {} failed on {name}: {}", ruling.rule, ruling.verdict)
        } else {
            format!("the scores gave no answer on {name}: {}", ruling.verdict)
        });
    }
    facts
}
