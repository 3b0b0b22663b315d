//! Rule kinds: one file each. A kind is a constant that its file exports and [`ALL`] lists.

mod bucket;
mod drop;
mod exact;
mod floor;
pub mod held_baseline;
mod hold;
mod ingested;
mod limit;
mod spread;
pub mod waived;

use bucket::Obstacle;
pub use bucket::{Bucket, bars, suited};
pub(super) use hold::gain;

use crate::judge::course::Trouble;
use crate::model::gate::{Against, Bound, Rule};
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::metric::Tolerance;

/// Every rule kind.
pub const ALL: &[Kind] = &[hold::KIND, floor::KIND, limit::KIND, exact::KIND, spread::KIND, drop::KIND];

/// A kind of rule.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name in gate files and records.
    pub name: &'static str,
    /// What it demands, in one sentence.
    pub about: &'static str,
    /// Whether the bucket's valid blocks carry an answer, so that more of them change nothing. Never asks the baseline, which does not grow.
    pub settled: fn(&Bucket<'_>) -> bool,
    /// What the bucket's valid blocks answer.
    pub judge: fn(&Bucket<'_>) -> Ruling,
}

/// Whether later samples never change the answer of a bucket: its valid blocks have decided, or something stands in the way of more.
pub fn settled(bucket: &Bucket<'_>) -> bool {
    let answered = |kind: &Kind| bucket.unsuited.is_some() || made_no_difference(bucket) || (kind.settled)(bucket);
    bucket.ended.is_some() || bucket.is_barred() || bucket.too_many_attempts().is_some() || kind(bucket).is_none_or(answered)
}

/// Judges one bucket. What its valid blocks have decided stays decided; where they decided nothing, whatever stands in the way of more
/// blocks is the answer.
pub fn judge(bucket: &Bucket<'_>) -> Ruling {
    // Samples that do not belong to the plan decide nothing, wherever they stand.
    if let Some(trouble @ Trouble::OffPlan { .. }) = &bucket.course.trouble {
        let Obstacle { because, next, .. } = bucket.trouble(trouble);
        return error(bucket, because, next);
    }
    let Some(kind) = kind(bucket) else {
        let because = format!("This version of gate has no rule kind {:?}.", bucket.rule.kind);
        return error(bucket, because, "Judge with the version that wrote the gate, or with a newer one.");
    };
    if let Some(why) = &bucket.unsuited {
        return error(
            bucket,
            format!("The rule cannot be judged: {why}."),
            "Declare a tolerance that suits the metric.",
        );
    }
    if made_no_difference(bucket) {
        let because = "Both arms were built from equal inputs and came out byte for byte equal: there is nothing to tell apart.".to_owned();
        return bucket.settle(Verdict::IdenticalArtifact, because, "Nothing to do.");
    }
    let ruling = if bucket.ingested {
        of_results(bucket, kind)
    } else {
        of_session(bucket, kind)
    };
    let asked = |limit: &Tolerance| {
        let limited = bucket.metric.clone().with_tolerance(limit);
        limited.map(|metric| (kind.judge)(&Bucket { metric, ..bucket.clone() }))
    };
    match bucket.waiver {
        Some(waiver) => waived::judge(ruling, waiver, asked),
        None => ruling,
    }
}

/// Judges what was measured here: what the valid blocks leave open, whatever stands in the way of more answers.
fn of_session(bucket: &Bucket<'_>, kind: &Kind) -> Ruling {
    let mut ruling = (kind.judge)(bucket);
    let too_many = bucket.too_many_attempts();
    let undecided = too_many.is_some() || !(kind.settled)(bucket);
    if undecided && let Some(obstacle) = too_many.or_else(|| bucket.obstacle()) {
        let Obstacle {
            verdict,
            outcome,
            because,
            next,
        } = obstacle;
        (ruling.verdict, ruling.outcome, ruling.because, ruling.next) = (verdict, outcome, because, next.to_owned());
    }
    ruling
}

/// Judges what another tool measured: nothing more will come, so whatever stands in the way is the answer.
fn of_results(bucket: &Bucket<'_>, kind: &Kind) -> Ruling {
    let mut ruling = match bucket.blocked() {
        Some(ruling) => ruling,
        None => (kind.judge)(bucket),
    };
    ruling.warnings.extend(ingested::notes(bucket));
    ruling
}

/// Whether the rule compares two arms whose builds are equal.
fn made_no_difference(bucket: &Bucket<'_>) -> bool {
    bucket.identical && needs_base(bucket.rule)
}

/// The bucket's kind of rule. A name that this version does not know is an error of the record, never a rule left out.
fn kind(bucket: &Bucket<'_>) -> Option<&'static Kind> {
    ALL.iter().find(|kind| kind.name == bucket.rule.kind)
}

/// An answer that no sample can mend.
fn error(bucket: &Bucket<'_>, because: String, next: &str) -> Ruling {
    let ruling = bucket.ruling(bucket.blocks().len(), Verdict::Incomparable, because, next);
    Ruling {
        outcome: Outcome::Error,
        ..ruling
    }
}

/// Whether a rule says how long a session is measured: it speaks of the base arm.
pub fn drives(rule: &Rule) -> bool {
    rule.against == Against::Base && ![floor::KIND.name, limit::KIND.name].contains(&rule.kind.as_str())
}

/// Whether a rule has no answer without a base arm.
pub fn needs_base(rule: &Rule) -> bool {
    let of_base = |bound: &Option<Bound>| matches!(bound, Some(Bound::Base { .. }));
    let compares = [hold::KIND.name, exact::KIND.name].contains(&rule.kind.as_str());
    rule.against == Against::Base && (compares || of_base(&rule.at_least) || of_base(&rule.at_most))
}
