//! `spread`: how far the candidate's own runs may lie apart.

use super::{Bucket, Kind};
use crate::judge::summary;
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::metric::Scale;
use crate::model::number;
use crate::model::sample::Arm;

/// Bounds the range of the candidate's runs.
pub const KIND: Kind = Kind {
    name: "spread",
    about: "the candidate's own runs: their range (largest minus smallest) over their median may be at most `max`",
    settled,
    judge,
};

/// A range grows with the number of runs, so the number is fixed: six runs of the candidate.
const BLOCKS: usize = 3;

fn settled(bucket: &Bucket<'_>) -> bool {
    let wanted = wanted(bucket);
    wanted > 0 && bucket.blocks().len() >= wanted && bucket.values(Arm::B, wanted).len() > 1
}

fn wanted(bucket: &Bucket<'_>) -> usize {
    BLOCKS.min(bucket.plan.blocks.len())
}

fn judge(bucket: &Bucket<'_>) -> Ruling {
    let (wanted, have) = (wanted(bucket), bucket.blocks().len());
    if !settled(bucket) {
        let why = bucket.ended_because().unwrap_or_else(|| match bucket.ingested {
            true => "a single run has no range".to_owned(),
            false => format!("{have} of {} are complete", number::count(wanted as u64, "block")),
        });
        let because = format!("No answer on {}: {why}.", bucket.subject());
        return bucket.ruling(have, Verdict::Inconclusive, because, bucket.next_when_open());
    }
    let mut ruling = bucket.ruling(wanted, Verdict::Incomparable, String::new(), "");
    match bound(bucket) {
        Ok((scale, max)) => {
            (ruling.scale, ruling.tolerance) = (scale, max);
            compare(bucket, &mut ruling);
        }
        Err(why) => {
            ruling.outcome = Outcome::Error;
            ruling.because = format!("The rule cannot be judged: {why}.");
            ruling.next = "Declare with `max` how far the runs may lie apart, such as 5% or 0.5 ms.".to_owned();
        }
    }
    ruling
}

/// The declared bound on its scale, an absolute one in the metric's unit.
fn bound(bucket: &Bucket<'_>) -> Result<(Scale, f64), String> {
    let max = bucket.rule.max.as_ref().ok_or("it declares no `max`")?;
    let suited = bucket.metric.clone().with_tolerance(max);
    match max.scale {
        // As wide as the median and wider can be asked for.
        Scale::Pct => Ok((Scale::Pct, max.value)),
        Scale::Pp | Scale::Abs => suited.map(|metric| (metric.scale, metric.tolerance)),
    }
}

fn compare(bucket: &Bucket<'_>, ruling: &mut Ruling) {
    let values = bucket.values(Arm::B, ruling.blocks as usize);
    let Some(spread) = summary::summarise(&values) else { return };
    let (scale, max, unit) = (ruling.scale, ruling.tolerance, bucket.metric.unit.canonical());
    let size = match scale {
        Scale::Pct => 100.0 * spread.spread / spread.median.abs(),
        Scale::Pp if unit == "1" => 100.0 * spread.spread,
        Scale::Pp | Scale::Abs => spread.spread,
    };
    if !size.is_finite() {
        ruling.because = format!("{}: the median is 0, so a relative range is undefined.", bucket.subject());
        ruling.next = "Declare `max` in the metric's own unit.".to_owned();
        return;
    }
    ruling.because = format!(
        "{}: {} runs of the candidate lie within {}, at most {} is declared.",
        bucket.subject(),
        values.len(),
        number::size_beside(size, max, scale, unit),
        number::size(max, scale, unit),
    );
    let wide = size > max;
    ruling.verdict = if wide { Verdict::Regression } else { Verdict::NoRegression };
    ruling.next = if wide {
        "Look at the single runs: two states, or a cold start, show in their order.".to_owned()
    } else {
        "Nothing to do.".to_owned()
    };
    ruling.outcome = ruling.verdict.outcome();
}
