//! The answer in sentences: why, and what to do next.

use super::{Answer, gain, of_a_run};
use crate::judge::crossover::{Bounds, Design};
use crate::judge::noise;
use crate::judge::rule::Bucket;
use crate::model::judgement::{Ruling, Verdict};
use crate::model::number::{self, chance, count, size};
use crate::model::plan::Objective;

/// Why there is this answer, in one sentence with its numbers.
pub fn because(bucket: &Bucket<'_>, ruling: &Ruling, answer: Answer) -> String {
    let (scale, unit) = (bucket.metric.scale, bucket.metric.unit.canonical());
    let (estimate, interval) = number::gain(ruling.estimate.unwrap_or(0.0), ruling.interval, ruling.tolerance, scale, unit);
    let tolerance = size(ruling.tolerance, scale, unit);
    let (alpha, beta) = (chance(bucket.plan.alpha), chance(bucket.plan.beta));
    let by = if answer.by_rank {
        ", by the exact rank test at the cap"
    } else {
        ""
    };
    let found = format!(
        "{}: gain {estimate}, interval {}, after {}{by}",
        bucket.subject(),
        interval.unwrap_or_default(),
        count(ruling.blocks, "block")
    );
    let [worse, better] = ["worse", "better"].map(|word| beyond(bucket, word));
    let short = if answer.smaller {
        format!("but the gain is shown to be smaller than the claimed {tolerance}")
    } else {
        format!("and not shown to fall short of the claimed {tolerance}")
    };
    match (ruling.verdict, bucket.plan.objective) {
        (Verdict::Regression, _) => format!(
            "{found}: {worse} beyond doubt (at most {alpha} of sessions say so where nothing got slower), and not shown to stay under the tolerance \
             of {tolerance}."
        ),
        (Verdict::SmallSlowdown, _) => format!("{found}: {worse} beyond doubt, but shown to stay under the tolerance of {tolerance}."),
        (Verdict::NoRegression, _) => {
            format!("{found}: a slowdown of {tolerance} is ruled out (missed in at most {beta} of sessions that have one).")
        }
        (Verdict::Improvement, _) => format!("{found}: {better} beyond doubt, and a slowdown of {tolerance} is ruled out."),
        (Verdict::ImprovementShown, _) => format!("{found}: {better} beyond doubt, {short}."),
        (Verdict::ClaimRejected, _) => format!("{found}: the gain is shown to be less than the claimed {tolerance}."),
        (_, Objective::Gate) => format!("{found}, the cap: neither shown {worse}, nor a slowdown of {tolerance} ruled out."),
        (_, Objective::Promote) => format!("{found}, the cap: neither shown {better}, nor a gain of {tolerance} ruled out."),
    }
}

/// `worse`, or `worse by more than 0.5 %` where a null margin is declared.
fn beyond(bucket: &Bucket<'_>, word: &str) -> String {
    let margin = bucket.plan.null_margin;
    if margin == 0.0 {
        return word.to_owned();
    }
    let shown = size(margin, bucket.metric.scale, bucket.metric.unit.canonical());
    format!("{word} by more than {shown}")
}

/// Why there is no answer yet and what to do: the next look is still to come, or never will because the session ended.
pub fn undecided(bucket: &Bucket<'_>, design: &Design) -> (String, String) {
    let (have, cap) = (bucket.blocks().len(), design.cap());
    let subject = bucket.subject();
    let have = count(have as u64, "block");
    let because = match bucket.ended_because() {
        Some(why) => format!("No answer on {subject}: {why}, and {have} gave none."),
        None => format!("No answer on {subject}: {have} of at most {cap} measured, and no look so far decided."),
    };
    (because, bucket.next_when_open().to_owned())
}

/// What to do about the answer.
pub fn next(bucket: &Bucket<'_>, design: &Design, ruling: &Ruling, bounds: Bounds) -> String {
    match ruling.verdict {
        Verdict::Regression => "Find what made it worse; or, if it is meant, declare a larger tolerance before measuring again.".to_owned(),
        Verdict::SmallSlowdown => "Nothing to do now; such steps add up, so look at it before the next one.".to_owned(),
        Verdict::ClaimRejected => "Claim less, or find what eats the gain.".to_owned(),
        Verdict::Inconclusive => quieter(bucket, design, ruling, bounds),
        _ => "Nothing to do.".to_owned(),
    }
}

/// What it would take to get an answer, from the noise that was seen.
fn quieter(bucket: &Bucket<'_>, design: &Design, ruling: &Ruling, bounds: Bounds) -> String {
    let (scale, unit) = (bucket.metric.scale, bucket.metric.unit.canonical());
    let sigma_run = ruling.looks.last().map_or(0.0, of_a_run);
    let shown = |delta: f64| size(gain(delta, scale, bucket.metric.better).abs(), scale, unit);
    let noise_seen = format!("Runs vary by {} (standard deviation)", shown(sigma_run));
    let cap = design.cap();
    let option = if bucket.plan.fixed { "--fixed-blocks" } else { "--max-blocks" };
    match noise::blocks_needed(sigma_run, bounds.m1) {
        Some(blocks) if blocks > cap => {
            format!("{noise_seen}: measure again with {option} {blocks}, which answers with this noise and tolerance most of the time.")
        }
        Some(_) => format!("{noise_seen}: measure again; {cap} blocks answer with this noise and tolerance most of the time."),
        None => match noise::carried_margin(sigma_run, cap.max(20)) {
            Some(margin) => format!(
                "{noise_seen}: quiet the machine or the command, or declare a tolerance of at least {}.",
                shown(margin)
            ),
            None => format!("{noise_seen}: quiet the machine or the command."),
        },
    }
}
