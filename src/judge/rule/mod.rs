//! Rule kinds: one file each. A kind is a constant that its file exports and [`ALL`] lists.

mod exact;
mod hold;
mod spread;

use crate::judge::course::{Course, Trouble};
use crate::judge::crossover::Design;
use crate::judge::summary;
use crate::model::evidence::Ended;
use crate::model::figure::State;
use crate::model::gate::{Against, Rule};
use crate::model::judgement::{Outcome, Range, Ruling, Verdict};
use crate::model::metric::{Better, Metric};
use crate::model::plan::Plan;
use crate::model::sample::Arm;
use crate::model::{number, text};

/// Every rule kind.
pub const ALL: &[Kind] = &[hold::KIND, exact::KIND, spread::KIND];

/// A kind of rule.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name in gate files and records.
    pub name: &'static str,
    /// What it demands, in one sentence.
    pub about: &'static str,
    /// Judges one bucket.
    pub judge: fn(&Bucket<'_>) -> Ruled,
}

/// The judge of a kind. A name that this version does not know is an error of the record, never a rule left out.
pub fn judge_of(name: &str) -> fn(&Bucket<'_>) -> Ruled {
    ALL.iter().find(|kind| kind.name == name).map_or(unknown, |kind| kind.judge)
}

fn unknown(bucket: &Bucket<'_>) -> Ruled {
    let because = format!("This version of gate has no rule kind {:?}.", bucket.rule.kind);
    let mut ruled = bucket.settle(
        Verdict::Incomparable,
        because,
        "Judge with the version that wrote the gate, or newer.",
    );
    ruled.ruling.outcome = Outcome::Error;
    ruled
}

/// One question: one rule on one metric of one cell, with everything that may answer it.
pub struct Bucket<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The metric.
    pub metric: &'a Metric,
    /// The cell's samples and blocks.
    pub course: &'a Course<'a>,
    /// The plan.
    pub plan: &'a Plan,
    /// The looks with their critical values; of a plan that cannot be one, why not.
    pub design: Result<&'a Design, &'a String>,
    /// Why no more samples will come, if so.
    pub ended: Option<&'a Ended>,
    /// Which attempt at the same comparison this is, from 1.
    pub attempt: u32,
}

/// A rule's answer, and whether more samples could still change it.
pub struct Ruled {
    /// The answer as it stands.
    pub ruling: Ruling,
    /// Decided: later samples never change it.
    pub settled: bool,
}

impl Bucket<'_> {
    /// The answer that the samples give before any statistics: none where there is something to compare.
    pub fn obstacle(&self) -> Option<Ruled> {
        if let Some(ruled) = self.too_many_attempts() {
            return Some(ruled);
        }
        let name = &self.metric.name;
        let samples = &self.course.samples;
        if let Some(sample) = samples.iter().find(|sample| sample.profiled) {
            let profiler = sample
                .detail
                .get("profiler")
                .and_then(|value| value.as_str())
                .unwrap_or("a profiler");
            let because = format!("The processes ran under a profiler ({profiler}): such samples explain and never judge.");
            return Some(self.settle(
                Verdict::NotMeasured,
                because,
                "Take the profiler out of the environment and measure again.",
            ));
        }
        let lacks = |state: State| move |sample: &&&_| lacking(sample, name, state).is_some();
        if let Some(sample) = samples.iter().find(lacks(State::NotMeasured)) {
            let why = lacking(sample, name, State::NotMeasured).unwrap_or_default();
            let because = format!("Arm {} did not report {name}: {why}.", sample.arm);
            let next = "Make both commands print the metric on standard output, for example `NAME=12.3 ms`, or name one that they print.";
            return Some(self.settle(Verdict::NotMeasured, because, next));
        }
        match self.course.trouble.as_ref()? {
            Trouble::Failed { arm: Arm::A, place, why } => {
                let because = format!("The base arm A failed twice in {place}: {why}. Nothing can be compared with it.");
                let mut ruled = self.settle(Verdict::NotMeasured, because, "Run A's command by itself, and mend it first.");
                ruled.ruling.outcome = Outcome::Error;
                Some(ruled)
            }
            Trouble::Failed { arm: Arm::B, place, why } => {
                let because = self.candidate_failed(place, why);
                Some(self.settle(Verdict::CandidateFailed, because, "Run B's command by itself, and mend it."))
            }
            Trouble::Throttled { base, candidate } => {
                let because = format!("Declared host limits fired on {candidate} runs of the candidate and on {base} of the base.");
                let next = "The candidate itself drives the host to its limits: compare at a declared, lower clock or power.";
                Some(self.settle(Verdict::ThrottleAttributable, because, next))
            }
            Trouble::TooManyVoids { count, why } => {
                let allowed = self.plan.max_void_blocks;
                let because = format!("{count} blocks were void, {allowed} are allowed; the last because {why}.");
                Some(self.settle(
                    Verdict::Inconclusive,
                    because,
                    "Free the machine of what disturbed the blocks, and measure again.",
                ))
            }
            Trouble::OffPlan { seq } => {
                let because = format!("Sample {seq} does not stand where the plan puts it.");
                let mut ruled = self.settle(
                    Verdict::Incomparable,
                    because,
                    "Measure again: these samples do not belong to this plan.",
                );
                ruled.ruling.outcome = Outcome::Error;
                Some(ruled)
            }
        }
    }

    fn candidate_failed(&self, place: &str, why: &str) -> String {
        let beside = if self.plan.sides().len() == 2 {
            ", while the base A ran"
        } else {
            ""
        };
        format!("The candidate B failed twice in {place}{beside}: {why}.")
    }

    /// Retrying until it is green is no evidence: beyond the declared number of attempts there is no answer, whatever the samples say.
    fn too_many_attempts(&self) -> Option<Ruled> {
        let (attempt, allowed) = (self.attempt, self.plan.max_attempts);
        if allowed == 0 || attempt <= allowed {
            return None;
        }
        let because = format!("This is attempt {attempt} at the same comparison, and {allowed} are declared.");
        let next = "Change what is compared, or have somebody who owns the gate declare more `max_attempts`, and say why.";
        Some(self.settle(Verdict::Inconclusive, because, next))
    }

    /// A ruling over the first `blocks` valid blocks, not yet with an estimate.
    pub fn ruling(&self, blocks: usize, verdict: Verdict, because: String, next: &str) -> Ruling {
        let metric = self.metric;
        Ruling {
            rule: self.rule.kind.clone(),
            against: self.rule.against,
            of: Arm::B,
            cell: self.course.cell.clone(),
            metric: metric.name.clone(),
            verdict,
            outcome: verdict.outcome(),
            required: self.rule.required,
            scale: metric.scale,
            unit: metric.unit.canonical().to_owned(),
            estimate: None,
            interval: None,
            tolerance: self.tolerance(),
            blocks: blocks as u32,
            base: range(&self.values(Arm::A, blocks)),
            candidate: range(&self.values(Arm::B, blocks)),
            looks: Vec::new(),
            smallest_detectable: None,
            because,
            next: next.to_owned(),
            warnings: Vec::new(),
        }
    }

    /// A settled answer over all valid blocks, without an estimate.
    pub fn settle(&self, verdict: Verdict, because: String, next: &str) -> Ruled {
        Ruled {
            ruling: self.ruling(self.course.blocks.len(), verdict, because, next),
            settled: true,
        }
    }

    /// The rule's tolerance, else the metric's, in the metric's scale.
    pub fn tolerance(&self) -> f64 {
        self.rule
            .tolerance
            .as_ref()
            .map_or(self.metric.tolerance, |tolerance| tolerance.value)
    }

    /// One arm's values over the first `blocks` valid blocks, in the order of measuring.
    pub fn values(&self, arm: Arm, blocks: usize) -> Vec<f64> {
        let rows = self.course.blocks.iter().take(blocks).flat_map(|block| &block.samples);
        rows.filter(|sample| sample.arm == arm)
            .filter_map(|sample| sample.values.get(&self.metric.name).copied())
            .collect()
    }

    /// `spin_ms (lower is better)`, with the fixture where there is one.
    pub fn subject(&self) -> String {
        let better = match self.metric.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        let name = text::plain_line(&self.metric.name, 100);
        match self.course.cell.fixture.as_str() {
            "" => format!("{name} ({better} is better)"),
            fixture => format!("{name} of {} ({better} is better)", text::plain_line(fixture, 100)),
        }
    }

    /// Why the session ended before its plan, in words that continue a sentence.
    pub fn ended_because(&self) -> Option<String> {
        Some(match self.ended? {
            Ended::SessionLimit { limit_s } => format!("the session reached its limit of {}", number::duration(*limit_s)),
            Ended::TooFewBlocks { fit, needed, limit_s } => format!(
                "only {fit} of at least {needed} blocks fit into the session's limit of {}, by the duration of the warm-up",
                number::duration(*limit_s)
            ),
            Ended::Cancelled { signal } => format!("the run was cancelled by {signal}"),
            Ended::Error { what } => format!("the run broke off: {what}"),
        })
    }
}

fn lacking<'a>(sample: &'a crate::model::sample::Sample, name: &str, state: State) -> Option<&'a str> {
    sample
        .missing
        .get(name)
        .filter(|missing| missing.state == state && sample.failed.is_none())
        .map(|missing| missing.why.as_str())
}

fn range(values: &[f64]) -> Option<Range> {
    let spread = summary::summarise(values)?;
    Some(Range {
        n: values.len() as u32,
        min: spread.min,
        median: spread.median,
        max: spread.max,
    })
}

/// Whether a rule is judged from the samples of this session.
pub fn in_session(rule: &Rule) -> bool {
    rule.against == Against::Base
}
