//! `limit`: the candidate's estimate keeps a declared limit by more than the error that its tool states. No answer is finer than that error.

use super::{Bucket, Kind};
use crate::judge::paired::{ALPHA, Limited, against_limit};
use crate::model::gate::Bound;
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::number::{count, figure};
use crate::model::sample::{Arm, Sample};
use crate::model::unit::Unit;

/// Bounds an estimate that comes with its standard error.
pub const KIND: Kind = Kind {
    name: "limit",
    about: "the candidate's estimate, with the standard error that its tool states, lies beyond doubt above `at_least`, or below `at_most`, as the \
            mean KLD of llama-perplexity can; within that error of the limit there is no answer",
    settled: |bucket| bucket.needs_no_more(),
    judge,
};

/// One estimate against one limit.
struct Question {
    estimate: f64,
    error: f64,
    limit: f64,
    /// Whether the limit is the least that is allowed.
    least: bool,
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
    let mut gravest: Option<Question> = None;
    for (estimate, error) in &estimates {
        let Some(error) = *error else {
            return without_error(bucket);
        };
        for (least, limit) in &limits {
            let question = Question {
                estimate: *estimate,
                error,
                limit: *limit,
                least: *least,
            };
            if gravest.as_ref().is_none_or(|other| question.beyond() > other.beyond()) {
                gravest = Some(question);
            }
        }
    }
    let Some(question) = gravest else {
        let because = format!("The rule on {} declares no limit as a figure.", bucket.subject());
        let next = "Declare `at_most` or `at_least` as a figure.";
        let ruling = bucket.settle(Verdict::Incomparable, because, next);
        return Ruling {
            outcome: Outcome::Error,
            ..ruling
        };
    };
    let Some(limited) = question.limited() else {
        return without_error(bucket);
    };
    let of = match estimates.len() {
        1 => String::new(),
        several => format!(" (the one of {} that keeps it least)", count(several as u64, "run")),
    };
    let because = format!("{}{of}: {}.", bucket.subject(), question.in_words(limited, bucket.metric.unit));
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

impl Question {
    fn sign(&self) -> f64 {
        if self.least { -1.0 } else { 1.0 }
    }

    /// How far the estimate lies beyond the limit, in standard errors.
    fn beyond(&self) -> f64 {
        self.sign() * (self.estimate - self.limit) / self.error
    }

    fn limited(&self) -> Option<Limited> {
        against_limit(self.sign() * self.estimate, self.error, self.sign() * self.limit)
    }

    fn in_words(&self, limited: Limited, unit: Unit) -> String {
        let unit = match unit.canonical() {
            "1" => String::new(),
            unit => format!(" {unit}"),
        };
        let [estimate, error] = [self.estimate, self.error].map(figure);
        let bound = format!("{} {}{unit}", if self.least { "at least" } else { "at most" }, self.limit);
        let kept = |verb: &str| {
            format!(
                "{estimate} ± {error}{unit}, which {verb} {bound} with an error of at most {} %",
                100.0 * ALPHA
            )
        };
        match limited {
            Limited::Within => kept("keeps"),
            Limited::Beyond => kept("breaks"),
            Limited::Open => format!("no answer: {estimate} ± {error}{unit} is too near to {bound} for its standard error"),
        }
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
