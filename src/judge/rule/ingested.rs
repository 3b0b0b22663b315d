//! What stands in the way of an answer from another tool's results: work that failed, figures that one side lacks.

use super::Bucket;
use super::bucket::Obstacle;
use crate::judge::course::unusable;
use crate::judge::summary::median;
use crate::model::figure::State;
use crate::model::gate::Gate;
use crate::model::judgement::{Outcome, Verdict};
use crate::model::metric::Metric;
use crate::model::number::{count, difference, size};
use crate::model::sample::{Arm, Sample};
use crate::model::text::plain_line;

/// How far the medians of two metrics may lie apart, in percent, for one to be the other renamed.
const ALIKE_PCT: f64 = 5.0;
/// Longest name and longest reason in a sentence, in characters.
const SHOWN_MAX: usize = 200;
/// Most notes of the tool that a ruling repeats.
const NOTES_MAX: usize = 4;

/// What stands in the way, the gravest first: failed work never looks like an answer.
pub fn obstacle(bucket: &Bucket<'_>, gate: &Gate) -> Option<Obstacle> {
    let samples = &bucket.course.samples;
    let failed = |arm: Arm| {
        samples.iter().filter(|sample| sample.arm == arm).find_map(|sample| {
            let why = failure(sample, &bucket.metric, gate)?;
            Some(format!("{}{}", plain_line(&why, SHOWN_MAX), of_file(sample)))
        })
    };
    if let Some(why) = failed(Arm::A) {
        let because = format!("The base arm A failed: {why}. There is nothing to compare with.");
        let obstacle = Obstacle::new(Verdict::NotMeasured, because, "Run the base again, and mend it first.");
        return Some(Obstacle {
            outcome: Outcome::Error,
            ..obstacle
        });
    }
    if let Some(why) = failed(Arm::B) {
        let beside = if bucket.plan.sides().len() == 2 {
            ", while the base A did its work"
        } else {
            ""
        };
        let because = format!("The candidate B failed{beside}: {why}.");
        return Some(Obstacle::new(
            Verdict::CandidateFailed,
            because,
            "Find why its work failed, and run it again.",
        ));
    }
    if let Some(differs) = bucket.differs.filter(|_| super::needs_base(bucket.rule)) {
        let because = format!(
            "{}: the arms were configured differently: {}.",
            bucket.subject(),
            plain_line(differs, SHOWN_MAX * 5)
        );
        let next = "Run both arms alike; or take `strict_config` out, and the difference stands beside the verdict.";
        return Some(Obstacle::new(Verdict::Incomparable, because, next));
    }
    if is_new(samples, &bucket.metric.name) && super::needs_base(bucket.rule) {
        return Some(new(bucket, gate));
    }
    let lacks = |sample: &&&Sample| sample.value(&bucket.metric.name).is_none();
    let sample = samples.iter().find(lacks)?;
    let why = sample
        .missing(&bucket.metric.name)
        .map_or("no such series", |missing| missing.why.as_str());
    let because = format!(
        "Arm {} did not report {}: {}{}.",
        sample.arm,
        plain_line(&bucket.metric.name, SHOWN_MAX),
        plain_line(why, SHOWN_MAX),
        of_file(sample)
    );
    let next = "Give results that hold it, or take the metric out of the gate in a reviewed change.";
    Some(Obstacle::new(Verdict::NotMeasured, because, next))
}

/// Why a run counts as failed on a metric: the process itself, or a figure that is none.
fn failure(sample: &Sample, metric: &Metric, gate: &Gate) -> Option<String> {
    sample.failed.clone().or_else(|| unusable(sample, metric, gate))
}

fn of_file(sample: &Sample) -> String {
    let file = sample.detail.get("file").and_then(|file| file.as_str());
    file.map_or_else(String::new, |file| format!(" (in {})", plain_line(file, SHOWN_MAX)))
}

/// Whether the candidate has a metric in every run, and the base in none.
fn is_new(samples: &[&Sample], metric: &str) -> bool {
    stands(samples, metric, Arm::B, true) && stands(samples, metric, Arm::A, false)
}

/// Whether every run of an arm has a metric, or none has; false without a run.
fn stands(samples: &[&Sample], metric: &str, arm: Arm, there: bool) -> bool {
    let absent = |sample: &Sample| sample.missing(metric).is_some_and(|missing| missing.state == State::NotMeasured);
    let mut runs = samples.iter().filter(|sample| sample.arm == arm).peekable();
    let any = runs.peek().is_some();
    any && runs.all(|sample| if there { sample.value(metric).is_some() } else { absent(sample) })
}

/// A metric without a counterpart passes as new, unless one with the same figures has gone: then it was probably renamed, and somebody must
/// say so.
fn new(bucket: &Bucket<'_>, gate: &Gate) -> Obstacle {
    let samples = &bucket.course.samples;
    let gone = |metric: &&Metric| {
        let lost = stands(samples, &metric.name, Arm::A, true) && stands(samples, &metric.name, Arm::B, false);
        let same_kind = metric.unit == bucket.metric.unit && metric.better == bucket.metric.better;
        lost && same_kind
            && alike(
                &values(samples, &metric.name, Arm::A),
                &values(samples, &bucket.metric.name, Arm::B),
            )
    };
    match gate.metrics.iter().find(gone) {
        None => {
            let because = format!("{}: new, the base does not have it.", bucket.subject());
            Obstacle::new(Verdict::New, because, "Nothing to do; the next comparison has it on both sides.")
        }
        Some(gone) => {
            let because = format!(
                "{}: new, the base does not have it; {} has gone, and its figures are alike: renamed?",
                bucket.subject(),
                plain_line(&gone.name, SHOWN_MAX)
            );
            let obstacle = Obstacle::new(Verdict::New, because, "Give the series the same name on both sides.");
            Obstacle {
                outcome: Outcome::Inconclusive,
                ..obstacle
            }
        }
    }
}

fn values(samples: &[&Sample], metric: &str, arm: Arm) -> Vec<f64> {
    let runs = samples.iter().filter(|sample| sample.arm == arm);
    runs.filter_map(|sample| sample.value(metric)).collect()
}

fn alike(a: &[f64], b: &[f64]) -> bool {
    let middle = |values: &[f64]| median(&mut values.to_vec());
    let near = |(a, b): (f64, f64)| (a - b).abs() <= ALIKE_PCT / 100.0 * a.abs();
    a.len() == b.len() && middle(a).zip(middle(b)).is_some_and(near)
}

/// Why runs that did not take turns carry no verdict on a level, with the difference of their medians, which is all they show.
pub fn apart(bucket: &Bucket<'_>) -> (String, String) {
    let [a, b] = Arm::BOTH.map(|arm| values(&bucket.course.samples, &bucket.metric.name, arm));
    let counted = |values: &[f64]| count(values.len() as u64, "process");
    let unit = bucket.metric.unit.canonical();
    let middle = |values: &[f64]| median(&mut values.to_vec());
    let gain = middle(&a).zip(middle(&b)).and_then(|(a, b)| bucket.gain(a, b));
    let gain = gain.map_or_else(
        || "a relative gain is undefined".to_owned(),
        |gain| format!("the gain of the medians is {}", difference(gain, bucket.metric.scale, unit)),
    );
    let lacks = if a.len() == 1 || b.len() == 1 {
        "a single process says nothing of the noise between processes"
    } else {
        "nothing shows that the arms took turns, and a drift of the machine looks like a slowdown"
    };
    let because = format!(
        "No answer on {}: {gain}, from {} of the base and {} of the candidate: {lacks}.",
        bucket.subject(),
        counted(&a),
        counted(&b)
    );
    let next = format!(
        "Give at least 8 dated results in the order A B B A B A A B, or let `gate perf` measure; or declare a floor, such as `at_least = \"95% of base\"`, \
         which compares the medians without an error rate (the tolerance here is {}).",
        size(bucket.metric.tolerance, bucket.metric.scale, unit)
    );
    (because, next)
}

/// What the tool's own repetitions say of a metric, from every run, each once.
pub fn notes(bucket: &Bucket<'_>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for sample in &bucket.course.samples {
        let told = sample.detail.get("notes").and_then(|notes| notes.get(&bucket.metric.name));
        for note in told.and_then(|told| told.as_array()).into_iter().flatten() {
            let Some(note) = note.as_str() else { continue };
            let note = format!("arm {}: {}{}", sample.arm, plain_line(note, SHOWN_MAX), of_file(sample));
            if notes.len() < NOTES_MAX && !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}
