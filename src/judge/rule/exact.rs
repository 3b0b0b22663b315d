//! `exact`: a deterministic figure (bytes, counts) compares without statistics.

use super::{Bucket, Kind, error};
use crate::model::gate::Against;
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::metric::{Better, Scale};
use crate::model::number;
use crate::model::sample::Arm;

/// Compares a figure that repeats exactly.
pub const KIND: Kind = Kind {
    name: "exact",
    about: "a deterministic figure: two runs of an arm must agree exactly, and the candidate may be worse by at most the tolerance (0 is allowed)",
    settled,
    judge,
};

/// Two runs per arm, one block, answer it.
const BLOCKS: usize = 1;
/// A change that exceeds the tolerance by this part of it only does so by rounding.
const ROUNDING: f64 = 1e-12;

fn settled(bucket: &Bucket<'_>) -> bool {
    bucket.rule.against == Against::Baseline || runs(bucket).is_some()
}

/// Two runs of each arm, base first: those that differ, where any do.
fn runs(bucket: &Bucket<'_>) -> Option<[[f64; 2]; 2]> {
    // Runs that took no turns serve as well: what repeats exactly does not drift.
    let blocks = if bucket.plan.is_apart() { bucket.blocks().len() } else { BLOCKS };
    let [a, b] = Arm::BOTH.map(|arm| {
        let values = bucket.values(arm, blocks);
        let (&first, others) = values.split_first()?;
        let other = others.iter().find(|&&other| other != first).or(others.first())?;
        Some([first, *other])
    });
    Some([a?, b?])
}

fn judge(bucket: &Bucket<'_>) -> Ruling {
    if bucket.rule.against == Against::Baseline {
        let because = "A deterministic figure is compared with the base arm, not with a baseline.".to_owned();
        return error(bucket, because, "Declare `against = \"base\"`, or a `floor`.");
    }
    let Some([[a, a_again], [b, b_again]]) = runs(bucket) else {
        let open = if bucket.ingested {
            "two runs of each arm must agree, and an arm has fewer"
        } else {
            "no block is complete yet"
        };
        let why = bucket.ended_because().unwrap_or_else(|| open.to_owned());
        let because = format!("No answer on {}: {why}.", bucket.subject());
        return bucket.ruling(0, Verdict::Inconclusive, because, bucket.next_when_open());
    };
    match [(Arm::A, a, a_again), (Arm::B, b, b_again)]
        .into_iter()
        .find(|(_, one, other)| one != other)
    {
        Some((arm, one, other)) => {
            let unit = bucket.metric.unit;
            let because = format!(
                "{}: not deterministic, arm {arm} gave {one} {unit} and {other} {unit}.",
                bucket.subject()
            );
            let next = "Judge this metric with a `hold` rule: it varies from run to run.";
            let mut ruling = bucket.ruling(BLOCKS, Verdict::Incomparable, because, next);
            ruling.outcome = Outcome::Error;
            ruling
        }
        None => compare(bucket, a, b),
    }
}

fn compare(bucket: &Bucket<'_>, base: f64, candidate: f64) -> Ruling {
    let metric = &bucket.metric;
    let (scale, unit, tolerance) = (metric.scale, metric.unit.canonical(), metric.tolerance);
    let rise = match scale {
        Scale::Pct if base == 0.0 => None,
        Scale::Pct => Some(100.0 * (candidate - base) / base.abs()),
        Scale::Pp | Scale::Abs => Some(bucket.points() * (candidate - base)),
    };
    let better = |rise: f64| if metric.better == Better::Higher { rise } else { -rise };
    let gain = rise.map(better);
    // Relative to zero there is no size, only a direction.
    let verdict = match gain.unwrap_or_else(|| better((candidate - base) * f64::INFINITY)) {
        _ if candidate == base => Verdict::NoRegression,
        gain if gain > 0.0 => Verdict::Improvement,
        gain if -gain <= tolerance * (1.0 + ROUNDING) => Verdict::SmallSlowdown,
        _ => Verdict::Regression,
    };
    let change = match gain {
        _ if candidate == base => "no change".to_owned(),
        Some(gain) => format!("gain {}", number::gain(gain, None, tolerance, scale, unit).0),
        None => "a relative change from zero is undefined".to_owned(),
    };
    let because = format!(
        "{}: {base} {unit} on A and {candidate} {unit} on B, the same in both runs of each arm: {change}; worse by at most {} is allowed.",
        bucket.subject(),
        number::size(tolerance, scale, unit),
    );
    let next = match verdict {
        Verdict::Regression => "Find what made the figure worse.",
        Verdict::SmallSlowdown => "Nothing to do now; such steps add up, so look at it before the next one.",
        _ => "Nothing to do.",
    };
    let mut ruling = bucket.ruling(BLOCKS, verdict, because, next);
    ruling.estimate = gain.filter(|gain| gain.is_finite());
    ruling
}
