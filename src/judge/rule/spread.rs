//! `spread`: how far the candidate's own runs may lie apart.

use super::{Bucket, Kind, Ruled};
use crate::judge::summary;
use crate::model::judgement::Verdict;
use crate::model::metric::Scale;
use crate::model::number;
use crate::model::sample::Arm;

/// Bounds the range of the candidate's runs.
pub const KIND: Kind = Kind {
    name: "spread",
    about: "the candidate's own runs: their range (largest minus smallest) over their median may be at most `max`",
    judge,
};

/// A range grows with the number of runs, so the number is fixed: six runs of the candidate.
const BLOCKS: usize = 3;

fn judge(bucket: &Bucket<'_>) -> Ruled {
    if let Some(ruled) = bucket.obstacle() {
        return ruled;
    }
    let wanted = BLOCKS.min(bucket.plan.blocks.len());
    let have = bucket.course.blocks.len();
    if have < wanted || wanted == 0 {
        let why = bucket
            .ended_because()
            .unwrap_or_else(|| format!("{have} of {wanted} blocks are complete"));
        let ruling = bucket.ruling(
            have,
            Verdict::Inconclusive,
            format!("No answer: {why}."),
            "Measure again with room for three blocks.",
        );
        return Ruled {
            ruling,
            settled: bucket.ended.is_some(),
        };
    }
    let values = bucket.values(Arm::B, wanted);
    let (Some(spread), Some(max)) = (summary::summarise(&values), bucket.rule.max.as_ref()) else {
        return bucket.settle(
            Verdict::NotMeasured,
            "The rule declares no `max`.".to_owned(),
            "Declare how far the runs may lie apart.",
        );
    };
    let (size, unit) = match max.scale {
        Scale::Pct | Scale::Pp => (100.0 * spread.spread / spread.median.abs(), "%"),
        Scale::Abs => (spread.spread, bucket.metric.unit.canonical()),
    };
    if !size.is_finite() {
        let because = format!("{}: the median is 0, so a relative range is undefined.", bucket.subject());
        return bucket.settle(Verdict::Incomparable, because, "Declare `max` in the metric's own unit.");
    }
    let wide = size > max.value;
    let because = format!(
        "{}: {} runs of the candidate lie {} {unit} apart, at most {} {unit} is declared.",
        bucket.subject(),
        values.len(),
        number::figure(size),
        number::figure(max.value),
    );
    let verdict = if wide { Verdict::Regression } else { Verdict::NoRegression };
    let next = if wide {
        "Look at the single runs: two states, or a cold start, show in their order."
    } else {
        "Nothing to do."
    };
    Ruled {
        ruling: bucket.ruling(wanted, verdict, because, next),
        settled: true,
    }
}
