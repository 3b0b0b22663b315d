//! `hold`: the candidate must hold the base's level, within the tolerance, by the sequential crossover test.

use super::{Bucket, Kind, Ruled, held_baseline};
use crate::judge::crossover::{self, Block, Bounds, Claim, Decision, Design};
use crate::judge::{noise, summary};
use crate::model::gate::Against;
use crate::model::judgement::{Look, Outcome, Ruling, Verdict};
use crate::model::metric::{Better, Scale};
use crate::model::number::{chance, difference, figure, interval, size};
use crate::model::plan::Objective;
use crate::model::sample::{Arm, Sample};

/// Holds the base's level.
pub const KIND: Kind = Kind {
    name: "hold",
    about: "the candidate holds the base's level: a slowdown of the tolerance is caught (missed at most beta), false alarms are at most alpha where \
            nothing got slower",
    judge,
};

fn judge(bucket: &Bucket<'_>) -> Ruled {
    if bucket.rule.against == Against::Baseline {
        return held_baseline::judge(bucket);
    }
    if let Some(ruled) = bucket.obstacle() {
        return ruled;
    }
    let design = match bucket.design {
        Ok(design) => design,
        Err(why) => {
            let mut ruled = bucket.settle(
                Verdict::Incomparable,
                format!("The plan cannot be judged: {why}."),
                "Measure again with a sound plan.",
            );
            ruled.ruling.outcome = Outcome::Error;
            return ruled;
        }
    };
    let Some((bounds, blocks)) = responses(bucket) else {
        let because = format!("The tolerance or a value of {} has no meaning on its scale.", bucket.metric.name);
        return bucket.settle(Verdict::Incomparable, because, "Declare the tolerance in the metric's own unit.");
    };
    let (looks, stop) = match bucket.plan.objective {
        Objective::Gate => {
            let replay = crossover::decide(design, bounds, &blocks);
            (
                replay.looks,
                replay.stop.map(|stop| (verdict_of(stop.decision), stop.k, stop.by_rank)),
            )
        }
        Objective::Promote => {
            let replay = crossover::promote(design, bounds, &blocks);
            (
                replay.looks,
                replay.stop.map(|stop| (claim_verdict(stop.decision), stop.k, stop.by_rank)),
            )
        }
    };
    match stop {
        Some(answer) => Ruled {
            ruling: decided(bucket, design, answer, looks, bounds),
            settled: true,
        },
        None => undecided(bucket, design, looks, bounds),
    }
}

/// The blocks in the engine's direction, and what is tested.
fn responses(bucket: &Bucket<'_>) -> Option<(Bounds, Vec<Block>)> {
    let metric = bucket.metric;
    let (scale, better) = (metric.scale, metric.better);
    let size = |value: f64| if scale == Scale::Pct { value / 100.0 } else { value };
    let toward = match bucket.plan.objective {
        Objective::Gate => better,
        // A claimed gain is a margin in the good direction.
        Objective::Promote if better == Better::Higher => Better::Lower,
        Objective::Promote => Better::Higher,
    };
    let m1 = crossover::margin(size(bucket.tolerance()), scale, toward)?;
    let m0 = crossover::margin(size(bucket.plan.null_margin), scale, toward)?;
    // Points of a share that is recorded as a fraction.
    let points = if scale == Scale::Pp && metric.unit.canonical() == "1" {
        100.0
    } else {
        1.0
    };
    let mut values = Vec::new();
    let mut blocks = Vec::new();
    for block in &bucket.course.blocks {
        let mut y = [0.0; 4];
        for (y, sample) in y.iter_mut().zip(block.samples) {
            let value = points * sample.values.get(&metric.name)?;
            values.push(value);
            *y = crossover::worse(value, scale, better)?;
        }
        blocks.push(Block {
            orientation: block.orientation,
            y,
        });
    }
    let resolution = points * metric.resolution.unwrap_or(0.0);
    let floor = match scale {
        Scale::Pct => crossover::floor_log(bucket.plan.min_run_cv, resolution, &values),
        Scale::Pp | Scale::Abs => crossover::floor_abs(0.0, resolution),
    };
    Some((Bounds { m0, m1, floor }, blocks))
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

/// Not at a deciding look: the next one is still to come, or never will because the session ended.
fn undecided(bucket: &Bucket<'_>, design: &Design, looks: Vec<Look>, bounds: Bounds) -> Ruled {
    let have = bucket.course.blocks.len();
    let cap = design.cap();
    let why = bucket
        .ended_because()
        .unwrap_or_else(|| format!("{have} of at most {cap} blocks are measured, and no look so far decided"));
    let because = format!("No answer on {}: {why}.", bucket.subject());
    let next = match bucket.ended {
        Some(_) => "Measure again, with a longer --max-session or a shorter command if time ran out.",
        None => "Go on measuring.",
    };
    let mut ruling = bucket.ruling(have, Verdict::Inconclusive, because, next);
    describe(bucket, design, &mut ruling, looks, bounds);
    Ruled {
        ruling,
        settled: bucket.ended.is_some(),
    }
}

fn decided(
    bucket: &Bucket<'_>,
    design: &Design,
    (verdict, k, by_rank): (Verdict, usize, bool),
    looks: Vec<Look>,
    bounds: Bounds,
) -> Ruling {
    let mut ruling = bucket.ruling(k, verdict, String::new(), "");
    describe(bucket, design, &mut ruling, looks, bounds);
    ruling.because = because(bucket, &ruling, by_rank);
    ruling.next = next(bucket, design, &ruling, bounds);
    ruling
}

/// A difference in the engine's direction as a gain in the metric's own: positive is better.
pub(in crate::judge) fn gain(delta: f64, scale: Scale, better: Better) -> f64 {
    match (scale, better) {
        (Scale::Pct, Better::Lower) => -100.0 * delta.exp_m1(),
        (Scale::Pct, Better::Higher) => 100.0 * (-delta).exp_m1(),
        (Scale::Pp | Scale::Abs, _) => -delta,
    }
}

/// Fills in estimate, interval, smallest detectable change and warnings from the last look.
fn describe(bucket: &Bucket<'_>, design: &Design, ruling: &mut Ruling, looks: Vec<Look>, bounds: Bounds) {
    let (scale, better) = (bucket.metric.scale, bucket.metric.better);
    if let Some(look) = looks.last() {
        // The looks of a promotion are on the negated responses.
        let sign = if bucket.plan.objective == Objective::Promote { -1.0 } else { 1.0 };
        let ends = look.rci.map(|end| gain(sign * end, scale, better));
        ruling.estimate = Some(gain(sign * look.est, scale, better));
        ruling.interval = Some([ends[0].min(ends[1]), ends[0].max(ends[1])]);
        let sigma_run = look.sp * std::f64::consts::FRAC_1_SQRT_2;
        let alpha = look.level_r * design.looks.len() as f64 + design.rank.as_ref().and_then(|rank| rank.alpha).unwrap_or(0.0);
        let smallest = crossover::mde(sigma_run, look.k, alpha, bucket.plan.beta);
        ruling.smallest_detectable = smallest
            .map(|smallest| gain(smallest, scale, better).abs())
            .filter(|smallest| smallest.is_finite());
        ruling.warnings = warnings(bucket, look, bounds);
        let medians = ruling.base.zip(ruling.candidate);
        let gain_pct = medians.and_then(|(base, candidate)| bucket.gain_pct(base.median, candidate.median));
        ruling.warnings.extend(gain_pct.and_then(|gain_pct| bucket.suspicious(gain_pct)));
    }
    ruling.looks = looks;
}

fn warnings(bucket: &Bucket<'_>, look: &Look, bounds: Bounds) -> Vec<String> {
    let metric = bucket.metric;
    let (scale, unit) = (metric.scale, metric.unit.canonical());
    let shown = |delta: f64| difference(gain(delta, scale, metric.better), scale, unit);
    let mut warnings = Vec::new();
    if look.gamma.abs() > bounds.m1 / 2.0 {
        let drift = shown(look.gamma);
        warnings.push(format!(
            "drift of {drift} a run, more than half the tolerance: the order cancels it, but look for its cause"
        ));
    }
    if (look.est - look.hl).abs() > look.se {
        let (mean, hl) = (shown(look.est), shown(look.hl));
        warnings.push(format!("single runs pull the estimate: {mean} by means, {hl} by Hodges-Lehmann"));
    }
    if look.floored {
        warnings.push("the runs differ by less than any clock can be believed: the smallest believable noise was used instead".to_owned());
    }
    let values = Arm::BOTH.map(|arm| bucket.values(arm, look.k));
    let respond = |values: &[f64]| {
        values
            .iter()
            .filter_map(|&value| crossover::worse(value, scale, metric.better))
            .collect::<Vec<f64>>()
    };
    let [a, b] = [respond(&values[0]), respond(&values[1])];
    if let Some(differ) = crossover::arms_differ(&a, &b, bounds.floor * std::f64::consts::FRAC_1_SQRT_2) {
        let [base, candidate] =
            [differ.a_largest, differ.b_largest].map(|largest| size(gain(largest, scale, metric.better).abs(), scale, unit));
        warnings.push(format!(
            "the arms' noise differs: runs lie up to {base} from the median on A and up to {candidate} on B, so that beta need not hold; \
             a `spread` rule judges noise itself"
        ));
    }
    warnings.extend(
        Arm::BOTH
            .into_iter()
            .zip(&values)
            .filter_map(|(arm, values)| outliers(bucket, arm, values, look.k)),
    );
    warnings
}

/// Flags what lies far out in its arm; it is kept, whatever its value.
fn outliers(bucket: &Bucket<'_>, arm: Arm, values: &[f64], blocks: usize) -> Option<String> {
    let spread = summary::summarise(values)?;
    let rows = bucket
        .course
        .blocks
        .iter()
        .take(blocks)
        .flat_map(|block| block.samples)
        .filter(|sample: &&Sample| sample.arm == arm);
    let flagged: Vec<String> = rows
        .zip(&spread.flags)
        .filter(|(_, flagged)| **flagged)
        .filter_map(|(sample, _)| {
            Some(format!(
                "sample {} with {}",
                sample.seq,
                figure(*sample.values.get(&bucket.metric.name)?)
            ))
        })
        .collect();
    if flagged.is_empty() {
        return None;
    }
    let verb = if flagged.len() == 1 { "lies" } else { "lie" };
    Some(format!(
        "on {arm} {} {verb} far from the median of {}; nothing is dropped",
        flagged.join(", "),
        figure(spread.median)
    ))
}

fn because(bucket: &Bucket<'_>, ruling: &Ruling, by_rank: bool) -> String {
    let (scale, unit) = (bucket.metric.scale, bucket.metric.unit.canonical());
    let estimate = difference(ruling.estimate.unwrap_or(0.0), scale, unit);
    let bounds = interval(ruling.interval.unwrap_or([0.0, 0.0]), scale, unit);
    let tolerance = size(ruling.tolerance, scale, unit);
    let (alpha, beta) = (chance(bucket.plan.alpha), chance(bucket.plan.beta));
    let by = if by_rank { ", by the exact rank test at the cap" } else { "" };
    let found = format!(
        "{}: gain {estimate}, interval {bounds}, after {} blocks{by}",
        bucket.subject(),
        ruling.blocks
    );
    match ruling.verdict {
        Verdict::Regression => format!(
            "{found}: worse beyond doubt (at most {alpha} of sessions say so where nothing got slower), and not shown to stay under the tolerance \
             of {tolerance}."
        ),
        Verdict::SmallSlowdown => format!("{found}: worse beyond doubt, but shown to stay under the tolerance of {tolerance}."),
        Verdict::NoRegression => {
            format!("{found}: a slowdown of {tolerance} is ruled out (missed in at most {beta} of sessions that have one).")
        }
        Verdict::Improvement => format!("{found}: better beyond doubt, and a slowdown of {tolerance} is ruled out."),
        Verdict::ImprovementShown => format!("{found}: better beyond doubt{}.", short_of_claim(ruling, &tolerance)),
        Verdict::ClaimRejected => format!("{found}: the gain is shown to be less than the claimed {tolerance}."),
        _ => format!("{found}, the cap: neither shown worse, nor a slowdown of {tolerance} ruled out."),
    }
}

fn short_of_claim(ruling: &Ruling, claim: &str) -> String {
    match ruling.looks.last() {
        Some(look) if look.within => format!(", but smaller than the claimed {claim}"),
        _ => format!(", and not short of the claimed {claim} beyond doubt"),
    }
}

fn next(bucket: &Bucket<'_>, design: &Design, ruling: &Ruling, bounds: Bounds) -> String {
    match ruling.verdict {
        Verdict::Regression => {
            "Find what made it slower; or, if it is meant, declare a larger tolerance before measuring again.".to_owned()
        }
        Verdict::SmallSlowdown => "Nothing to do now; such steps add up, so look at it before the next one.".to_owned(),
        Verdict::ClaimRejected => "Claim less, or find what eats the gain.".to_owned(),
        Verdict::Inconclusive => quieter(bucket, design, ruling, bounds),
        _ => "Nothing to do.".to_owned(),
    }
}

/// What it would take to get an answer, from the noise that was seen.
fn quieter(bucket: &Bucket<'_>, design: &Design, ruling: &Ruling, bounds: Bounds) -> String {
    let (scale, unit) = (bucket.metric.scale, bucket.metric.unit.canonical());
    let sigma_run = ruling.looks.last().map_or(0.0, |look| look.sp * std::f64::consts::FRAC_1_SQRT_2);
    let shown = |delta: f64| size(gain(delta, scale, bucket.metric.better).abs(), scale, unit);
    let noise_seen = format!("Runs vary by {} (standard deviation)", shown(sigma_run));
    let cap = design.cap();
    match noise::blocks_needed(sigma_run, bounds.m1) {
        Some(blocks) if blocks > cap => format!("{noise_seen}: --max-blocks {blocks} carries this tolerance."),
        Some(_) => format!("{noise_seen}: measure again; the cap of {cap} blocks carries this tolerance most of the time."),
        None => match noise::carried_margin(sigma_run, cap.max(20)) {
            Some(margin) => format!(
                "{noise_seen}: quiet the machine or the command, or declare a tolerance of at least {}.",
                shown(margin)
            ),
            None => format!("{noise_seen}: quiet the machine or the command."),
        },
    }
}
