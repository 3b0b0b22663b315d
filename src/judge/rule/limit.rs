//! `limit`: the candidate's estimate keeps a declared limit by more than the error that its tool states. No answer is finer than that error.

use super::{Bucket, Kind};
use crate::judge::paired::{ALPHA, Limited, against_limit};
use crate::model::gate::Bound;
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::number::{count, figure};
use crate::model::sample::{Arm, Sample};

/// Bounds an estimate that comes with its standard error.
pub const KIND: Kind = Kind {
    name: "limit",
    about: "the candidate's estimate, with the standard error that its tool states, lies beyond doubt above `at_least`, or below `at_most`, as the \
            mean KLD of llama-perplexity can; within that error of the limit there is no answer",
    settled: |bucket| bucket.needs_no_more(),
    judge,
};

/// What one estimate says of one limit.
struct Answer {
    limited: Limited,
    /// `0.031 ± 0.002, which is at most 0.05 beyond doubt`
    words: String,
}

fn judge(bucket: &Bucket<'_>) -> Ruling {
    let ruling = bucket.blocked().or_else(|| bucket.unfinished()).unwrap_or_else(|| answer(bucket));
    Ruling { base: None, ..ruling }
}

fn answer(bucket: &Bucket<'_>) -> Ruling {
    let name = &bucket.metric.name;
    let limits = [(true, &bucket.rule.at_least), (false, &bucket.rule.at_most)];
    let limits: Vec<(bool, f64)> = limits
        .into_iter()
        .filter_map(|(least, bound)| match bound {
            Some(Bound::Value { value }) => Some((least, *value)),
            _ => None,
        })
        .collect();
    let samples = bucket.blocks().iter().flat_map(|block| &block.samples);
    let estimates: Vec<(f64, Option<f64>)> = samples
        .filter(|sample| sample.arm == Arm::B)
        .filter_map(|sample| Some((sample.value(name)?, error(sample, name))))
        .collect();
    let mut gravest: Option<Answer> = None;
    for (estimate, error) in &estimates {
        let Some(error) = error else {
            return without_error(bucket);
        };
        for (least, limit) in &limits {
            let Some(answer) = compare(bucket, *estimate, *error, *least, *limit) else {
                return without_error(bucket);
            };
            if gravest.as_ref().is_none_or(|other| weight(answer.limited) > weight(other.limited)) {
                gravest = Some(answer);
            }
        }
    }
    let Some(Answer { limited, words }) = gravest else {
        let because = format!("The rule on {} declares no limit as a figure.", bucket.subject());
        let next = "Declare `at_most` or `at_least` as a figure.";
        let ruling = bucket.settle(Verdict::Incomparable, because, next);
        return Ruling {
            outcome: Outcome::Error,
            ..ruling
        };
    };
    let of = match estimates.len() {
        1 => String::new(),
        several => format!(" (the one of {} that keeps it least)", count(several as u64, "run")),
    };
    let because = format!("{}{of}: {words}.", bucket.subject());
    match limited {
        Limited::Within => bucket.settle(Verdict::NoRegression, because, "Nothing to do."),
        Limited::Beyond => bucket.settle(
            Verdict::Regression,
            because,
            "Find what made it worse; a limit is moved by a reviewed change only.",
        ),
        Limited::Open => bucket.settle(
            Verdict::Inconclusive,
            because,
            "Evaluate more text: the error falls with the square root of its length.",
        ),
    }
}

/// The standard error of a sample's figure, where its tool stated one that can be used: none at all says nothing.
fn error(sample: &Sample, metric: &str) -> Option<f64> {
    sample.standard_errors.get(metric).copied().filter(|error| *error > 0.0)
}

fn compare(bucket: &Bucket<'_>, estimate: f64, error: f64, least: bool, limit: f64) -> Option<Answer> {
    let sign = if least { -1.0 } else { 1.0 };
    let limited = against_limit(sign * estimate, error, sign * limit)?;
    let unit = match bucket.metric.unit.canonical() {
        "1" => String::new(),
        unit => format!(" {unit}"),
    };
    let [estimate, error] = [estimate, error].map(figure);
    let bound = format!("{} {limit}{unit}", if least { "at least" } else { "at most" });
    let words = match limited {
        Limited::Within => format!(
            "{estimate} ± {error}{unit}, which keeps {bound} with an error of at most {} %",
            100.0 * ALPHA
        ),
        Limited::Beyond => format!(
            "{estimate} ± {error}{unit}, which breaks {bound} with an error of at most {} %",
            100.0 * ALPHA
        ),
        Limited::Open => format!("no answer: {estimate} ± {error}{unit} is too near to {bound} for its standard error"),
    };
    Some(Answer { limited, words })
}

/// The order of answers, the gravest last.
fn weight(limited: Limited) -> u8 {
    match limited {
        Limited::Within => 0,
        Limited::Open => 1,
        Limited::Beyond => 2,
    }
}

fn without_error(bucket: &Bucket<'_>) -> Ruling {
    let because = format!(
        "{}: the tool states no standard error of it, so how far from the limit it lies cannot be told.",
        bucket.subject()
    );
    let next = "Declare a `floor`, which compares the figure alone, or a metric with an error, such as the mean KLD of llama-perplexity.";
    bucket.settle(Verdict::NotMeasured, because, next)
}
