//! `hold`: the candidate must hold the base's level, within the tolerance, by the sequential crossover test.

mod warnings;
mod words;

use super::{Bucket, Kind, error, held_baseline, ingested};
use crate::judge::crossover::{self, Block, Bounds, Claim, Decision, Design, Replay, Stop};
use crate::judge::responses::Responses;
use crate::model::gate::Against;
use crate::model::judgement::{Look, Ruling, Verdict};
use crate::model::metric::{Better, Metric, Scale};
use crate::model::plan::Objective;

/// Holds the base's level.
pub const KIND: Kind = Kind {
    name: "hold",
    about: "the candidate holds the base's level: a slowdown of the tolerance is caught (missed at most beta), false alarms are at most alpha where \
            nothing got slower",
    settled,
    judge,
};

/// An answer of the looks: the verdict, after how many blocks, and whether only the rank look gave it.
#[derive(Clone, Copy)]
struct Answer {
    verdict: Verdict,
    blocks: usize,
    by_rank: bool,
    /// Of a claimed gain: shown, but smaller than claimed.
    smaller: bool,
}

fn settled(bucket: &Bucket<'_>) -> bool {
    if bucket.rule.against == Against::Baseline {
        return bucket.needs_no_more();
    }
    // What cannot be judged is not mended by more blocks.
    let Ok(design) = bucket.design else { return true };
    if margins(bucket).is_some() && bucket.blocks().len() < design.looks.first().copied().unwrap_or(0) {
        return false;
    }
    let Some((bounds, blocks)) = responses(bucket) else { return true };
    match bucket.plan.objective {
        Objective::Gate => crossover::stop(design, bounds, &blocks).is_some(),
        Objective::Promote => crossover::promote(design, bounds, &blocks).stop.is_some(),
    }
}

fn judge(bucket: &Bucket<'_>) -> Ruling {
    if bucket.rule.against == Against::Baseline {
        return held_baseline::judge(bucket);
    }
    if bucket.plan.is_apart() {
        let (because, next) = ingested::apart(bucket);
        return bucket.settle(Verdict::Inconclusive, because, &next);
    }
    let design = match bucket.design {
        Ok(design) => design,
        Err(why) => {
            return error(
                bucket,
                format!("The plan cannot be judged: {why}."),
                "Measure again with a sound plan.",
            );
        }
    };
    let Some((bounds, blocks)) = responses(bucket) else {
        let because = format!("{}: the tolerance or a value has no meaning on its scale.", bucket.subject());
        return error(bucket, because, "Declare the tolerance in the metric's own unit.");
    };
    let (looks, answer) = match bucket.plan.objective {
        Objective::Gate => {
            let Replay { looks, stop } = crossover::decide(design, bounds, &blocks);
            (looks, stop.map(|stop| answer(stop, verdict_of(stop.decision), false)))
        }
        Objective::Promote => {
            let Replay { looks, stop } = crossover::promote(design, bounds, &blocks);
            let smaller = |claim| claim == Claim::ImprovementShownSmaller;
            (
                looks,
                stop.map(|stop| answer(stop, claim_verdict(stop.decision), smaller(stop.decision))),
            )
        }
    };
    let mut ruling = bucket.ruling(
        answer.map_or(blocks.len(), |answer| answer.blocks),
        answer.map_or(Verdict::Inconclusive, |answer| answer.verdict),
        String::new(),
        "",
    );
    describe(bucket, design, &mut ruling, looks, bounds);
    (ruling.because, ruling.next) = match answer {
        Some(answer) => (
            words::because(bucket, &ruling, answer),
            words::next(bucket, design, &ruling, bounds),
        ),
        None => words::undecided(bucket, design),
    };
    ruling
}

fn answer<D>(stop: Stop<D>, verdict: Verdict, smaller: bool) -> Answer {
    let Stop { k, by_rank, .. } = stop;
    Answer {
        verdict,
        blocks: k,
        by_rank,
        smaller,
    }
}

/// The two effects that are told apart, in the engine's direction: null margin and tolerance.
fn margins(bucket: &Bucket<'_>) -> Option<(f64, f64)> {
    let Metric {
        scale, better, tolerance, ..
    } = bucket.metric;
    let size = |value: f64| if scale == Scale::Pct { value / 100.0 } else { value };
    let toward = match bucket.plan.objective {
        Objective::Gate => better,
        // A claimed gain is a margin in the good direction.
        Objective::Promote if better == Better::Higher => Better::Lower,
        Objective::Promote => Better::Higher,
    };
    let margin = |value: f64| crossover::margin(size(value), scale, toward);
    Some((margin(bucket.plan.null_margin)?, margin(tolerance)?))
}

/// The blocks in the engine's direction, and what is tested.
fn responses(bucket: &Bucket<'_>) -> Option<(Bounds, Vec<Block>)> {
    let (m0, m1) = margins(bucket)?;
    let responses = Responses::of(bucket.blocks(), &bucket.metric, bucket.metric.scale)?;
    let floor = responses.floor(bucket.plan.min_run_cv);
    Some((Bounds { m0, m1, floor }, responses.blocks))
}

const fn verdict_of(decision: Decision) -> Verdict {
    match decision {
        Decision::Regression => Verdict::Regression,
        Decision::SmallSlowdown => Verdict::SmallSlowdown,
        Decision::NoRegression => Verdict::NoRegression,
        Decision::Improvement => Verdict::Improvement,
        Decision::Inconclusive => Verdict::Inconclusive,
    }
}

const fn claim_verdict(claim: Claim) -> Verdict {
    match claim {
        Claim::ImprovementShown | Claim::ImprovementShownSmaller => Verdict::ImprovementShown,
        Claim::ClaimRejected => Verdict::ClaimRejected,
        Claim::Inconclusive => Verdict::Inconclusive,
    }
}

/// A difference in the engine's direction as a gain in the metric's own: positive is better.
pub(in crate::judge) fn gain(delta: f64, scale: Scale, better: Better) -> f64 {
    match (scale, better) {
        (Scale::Pct, Better::Lower) => -100.0 * delta.exp_m1(),
        (Scale::Pct, Better::Higher) => 100.0 * (-delta).exp_m1(),
        (Scale::Pp | Scale::Abs, _) => -delta,
    }
}

/// Turns an effect of a look into + = worse: the looks of a promotion are on the negated responses.
const fn sign(objective: Objective) -> f64 {
    match objective {
        Objective::Gate => 1.0,
        Objective::Promote => -1.0,
    }
}

/// Fills in estimate, interval, smallest detectable change and warnings from the last look.
fn describe(bucket: &Bucket<'_>, design: &Design, ruling: &mut Ruling, looks: Vec<Look>, bounds: Bounds) {
    let (scale, better) = (bucket.metric.scale, bucket.metric.better);
    if let Some(look) = looks.last() {
        let sign = sign(bucket.plan.objective);
        let [one, other] = look.rci.map(|end| gain(sign * end, scale, better));
        ruling.estimate = Some(gain(sign * look.est, scale, better));
        ruling.interval = Some([one.min(other), one.max(other)]);
        let alpha = look.level_r * design.looks.len() as f64 + design.rank.as_ref().and_then(|rank| rank.alpha).unwrap_or(0.0);
        let smallest = crossover::mde(of_a_run(look), look.k, alpha, bucket.plan.beta);
        ruling.smallest_detectable = smallest
            .map(|smallest| gain(sign * smallest, scale, better).abs())
            .filter(|smallest| smallest.is_finite());
        ruling.warnings = warnings::of(bucket, look, bounds);
        let medians = ruling.base.zip(ruling.candidate);
        let gain_pct = medians.and_then(|(base, candidate)| bucket.gain_pct(base.median, candidate.median));
        ruling.warnings.extend(gain_pct.and_then(|gain_pct| bucket.suspicious(gain_pct)));
    }
    ruling.looks = looks;
}

/// The standard deviation of a single run, from that of the pair differences.
fn of_a_run(look: &Look) -> f64 {
    look.sp * std::f64::consts::FRAC_1_SQRT_2
}
