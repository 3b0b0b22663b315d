//! A regression that a reviewed file accepts: the same rule asked again, with the file's limit as its tolerance.

use super::{Bucket, Kind};
use crate::model::gate::waiver::Waiver;
use crate::model::gate::{Against, Rule};
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::record::Context;

/// The waiver that speaks of one question; against the base arm only one that the change itself brings.
pub fn find<'a>(context: &'a Context, gate: &str, rule: &Rule, fixture: &str, metric: &str) -> Option<&'a Waiver> {
    let speaks = |waiver: &&Waiver| {
        waiver.gate == gate && waiver.fixture == fixture && waiver.metric == metric && !(waiver.carried && rule.against == Against::Base)
    };
    context.waivers.iter().find(speaks)
}

/// The ruling on a regression that a waiver speaks of. Worse than the limit, or not shown to be within it, it stays what it is.
pub fn judge(kind: &Kind, bucket: &Bucket<'_>, mut ruling: Ruling, waiver: &Waiver) -> Ruling {
    let limited = bucket.metric.clone().with_tolerance(&waiver.limit);
    let asked = limited.map(|metric| (kind.judge)(&Bucket { metric, ..bucket.clone() }));
    match asked {
        Ok(within) if within.outcome == Outcome::Pass => {
            ruling.verdict = Verdict::Waived;
            ruling.outcome = Outcome::Pass;
            ruling.because = format!("{} Accepted up to {}: {}.", ruling.because, waiver.limit, waiver.in_words());
            ruling.next = format!("Mend it before {} is over, or the gate fails again.", waiver.until);
        }
        Ok(_) => ruling.warnings.push(format!(
            "a waiver accepts up to {}, and this is not shown to be within it: {}",
            waiver.limit,
            waiver.in_words()
        )),
        Err(why) => ruling
            .warnings
            .push(format!("a waiver does not apply, {why}: {}", waiver.in_words())),
    }
    ruling
}
