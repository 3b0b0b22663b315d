//! A regression that a reviewed file accepts: the same rule asked again, with the file's limit as its tolerance.

use crate::model::gate::Against;
use crate::model::gate::waiver::Waiver;
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::metric::Tolerance;
use crate::model::record::Context;

/// How the warning begins that a limit does not suit the question.
pub const UNSUITED: &str = "a waiver does not apply";

/// The waiver that speaks of one question: one that may excuse it before one that may not.
pub fn find<'a>(context: &'a Context, gate: &str, against: Against, fixture: &str, metric: &str) -> Option<&'a Waiver> {
    let speaks = |waiver: &&Waiver| waiver.gate == gate && waiver.fixture == fixture && waiver.metric == metric;
    let all = || context.waivers.iter().filter(speaks);
    all().find(|waiver| !is_of_the_base(waiver, against)).or_else(|| all().next())
}

/// Whether it was reviewed for an earlier change: against the base, which has what it accepted, it excuses nothing.
fn is_of_the_base(waiver: &Waiver, against: Against) -> bool {
    waiver.carried && against == Against::Base
}

/// The ruling on a question that a waiver speaks of; only a regression is excused. Worse than the limit, or not shown to be within it, it stays
/// what it is. `asked` is the ruling with another tolerance, or why that tolerance does not suit the question.
pub fn judge(mut ruling: Ruling, waiver: &Waiver, asked: impl FnOnce(&Tolerance) -> Result<Ruling, String>) -> Ruling {
    if ruling.verdict != Verdict::Regression {
        return ruling;
    }
    if is_of_the_base(waiver, ruling.against) {
        let why = "a waiver that this change does not bring excuses nothing against the base";
        ruling.warnings.push(format!("{why}: {}", waiver.in_words()));
        return ruling;
    }
    match asked(&waiver.limit) {
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
        Err(why) => ruling.warnings.push(format!("{UNSUITED}, {why}: {}", waiver.in_words())),
    }
    ruling
}
