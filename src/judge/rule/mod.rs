//! Rule kinds: one file each. A kind is a constant that its file exports and [`ALL`] lists.

mod bucket;
mod exact;
mod floor;
pub mod held_baseline;
mod hold;
mod spread;

use bucket::Obstacle;
pub use bucket::{Bucket, suited};
pub(super) use hold::gain;

use crate::judge::course::Trouble;
use crate::model::gate::{Against, Rule};
use crate::model::judgement::{Outcome, Ruling, Verdict};

/// Every rule kind.
pub const ALL: &[Kind] = &[hold::KIND, floor::KIND, exact::KIND, spread::KIND];

/// A kind of rule.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name in gate files and records.
    pub name: &'static str,
    /// What it demands, in one sentence.
    pub about: &'static str,
    /// What the bucket's valid blocks answer; not settled where they carry no answer yet.
    pub judge: fn(&Bucket<'_>) -> Ruled,
}

/// A rule's answer, and whether more samples could still change it.
pub struct Ruled {
    /// The answer as it stands.
    pub ruling: Ruling,
    /// Decided: later samples never change it.
    pub settled: bool,
}

/// Judges one bucket. What its valid blocks have decided stays decided; where they decided nothing, whatever stands in the way of more
/// blocks is the answer.
pub fn judge(bucket: &Bucket<'_>) -> Ruled {
    // Samples that do not belong to the plan decide nothing, wherever they stand.
    if let Some(trouble @ Trouble::OffPlan { .. }) = &bucket.course.trouble {
        let Obstacle { because, next, .. } = bucket.trouble(trouble);
        return error(bucket, because, next);
    }
    // A name that this version does not know is an error of the record, never a rule left out.
    let Some(kind) = ALL.iter().find(|kind| kind.name == bucket.rule.kind) else {
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
    let Ruled { mut ruling, mut settled } = (kind.judge)(bucket);
    let too_many = bucket.too_many_attempts();
    settled &= too_many.is_none();
    if !settled && let Some(obstacle) = too_many.or_else(|| bucket.obstacle()) {
        let Obstacle {
            verdict,
            outcome,
            because,
            next,
        } = obstacle;
        (ruling.verdict, ruling.outcome, ruling.because, ruling.next) = (verdict, outcome, because, next.to_owned());
        settled = true;
    }
    let settled = settled || bucket.ended.is_some();
    Ruled { ruling, settled }
}

/// An answer that no sample can mend.
fn error(bucket: &Bucket<'_>, because: String, next: &str) -> Ruled {
    let mut ruling = bucket.ruling(bucket.blocks().len(), Verdict::Incomparable, because, next);
    ruling.outcome = Outcome::Error;
    Ruled { ruling, settled: true }
}

/// Whether a rule says how long a session is measured: it speaks of the base arm.
pub fn drives(rule: &Rule) -> bool {
    rule.against == Against::Base && rule.kind != floor::KIND.name
}

/// Whether a rule has no answer without a base arm.
pub fn needs_base(rule: &Rule) -> bool {
    rule.against == Against::Base && [hold::KIND.name, exact::KIND.name].contains(&rule.kind.as_str())
}
