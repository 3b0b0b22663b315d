//! `exact`: a deterministic figure (bytes, counts) compares without statistics.

use super::{Bucket, Kind, Ruled};
use crate::model::gate::Against;
use crate::model::judgement::{Outcome, Verdict};
use crate::model::metric::{Better, Scale};
use crate::model::number;
use crate::model::sample::Arm;

/// Compares a figure that repeats exactly.
pub const KIND: Kind = Kind {
    name: "exact",
    about: "a deterministic figure: two runs of an arm must agree exactly, and the candidate may be worse by at most the tolerance (0 is allowed)",
    judge,
};

/// Two runs per arm, one block, answer it.
const BLOCKS: usize = 1;

fn judge(bucket: &Bucket<'_>) -> Ruled {
    if bucket.rule.against == Against::Baseline {
        let because = "A deterministic figure is compared with the base arm, not with a baseline.".to_owned();
        let mut ruled = bucket.settle(Verdict::Incomparable, because, "Declare `against = \"base\"`, or a `floor`.");
        ruled.ruling.outcome = Outcome::Error;
        return ruled;
    }
    if let Some(ruled) = bucket.obstacle() {
        return ruled;
    }
    if bucket.course.blocks.len() < BLOCKS {
        let why = bucket.ended_because().unwrap_or_else(|| "no block is complete yet".to_owned());
        let ruling = bucket.ruling(
            0,
            Verdict::Inconclusive,
            format!("No answer: {why}."),
            "Measure again with room for one block.",
        );
        return Ruled {
            ruling,
            settled: bucket.ended.is_some(),
        };
    }
    let (base, candidate) = (bucket.values(Arm::A, BLOCKS), bucket.values(Arm::B, BLOCKS));
    for (arm, values) in [(Arm::A, &base), (Arm::B, &candidate)] {
        let Some(differs) = values.iter().find(|value| **value != values[0]) else {
            continue;
        };
        let because = format!(
            "{} is not deterministic: arm {arm} gave {} and {}.",
            bucket.metric.name, values[0], differs
        );
        let mut ruled = bucket.settle(
            Verdict::Incomparable,
            because,
            "Judge this metric with a `hold` rule: it varies from run to run.",
        );
        ruled.ruling.outcome = Outcome::Error;
        return ruled;
    }
    compare(bucket, base[0], candidate[0])
}

fn compare(bucket: &Bucket<'_>, base: f64, candidate: f64) -> Ruled {
    let metric = bucket.metric;
    let rise = match metric.scale {
        Scale::Pct if base == 0.0 => None,
        Scale::Pct => Some(100.0 * (candidate - base) / base.abs()),
        Scale::Pp | Scale::Abs => Some(candidate - base),
    };
    let better = |rise: f64| if metric.better == Better::Higher { rise } else { -rise };
    let gain = rise.map(better);
    // Relative to zero there is no size, only a direction.
    let verdict = match gain.unwrap_or_else(|| better((candidate - base) * f64::INFINITY)) {
        _ if candidate == base => Verdict::NoRegression,
        gain if gain > 0.0 => Verdict::Improvement,
        gain if -gain <= bucket.tolerance() => Verdict::SmallSlowdown,
        _ => Verdict::Regression,
    };
    let change = match gain {
        _ if candidate == base => "no change".to_owned(),
        Some(gain) => format!("a gain of {}", number::difference(gain, metric.scale, metric.unit.canonical())),
        None => "a relative change from zero is undefined".to_owned(),
    };
    let allowed = number::size(bucket.tolerance(), metric.scale, metric.unit.canonical());
    let because = format!(
        "{}: {base} {unit} on A and {candidate} {unit} on B, equal in both runs of each arm: {change}; worse by at most {allowed} is allowed.",
        bucket.subject(),
        unit = metric.unit.canonical(),
    );
    let next = if verdict == Verdict::Regression {
        "Find what made the figure worse."
    } else {
        "Nothing to do."
    };
    let mut ruling = bucket.ruling(BLOCKS, verdict, because, next);
    ruling.estimate = gain.filter(|gain| gain.is_finite());
    Ruled { ruling, settled: true }
}
