//! Rule kinds: one file each. A kind is a constant that its file exports and [`ALL`] lists.

mod exact;
mod floor;
pub mod held_baseline;
mod hold;
mod spread;

pub(super) use hold::gain;

use crate::judge::course::{Course, Trouble};
use crate::judge::crossover::Design;
use crate::judge::reference::Reference;
use crate::judge::summary;
use crate::model::evidence::Ended;
use crate::model::figure::State;
use crate::model::gate::{Against, Rule};
use crate::model::judgement::{Outcome, Range, Ruling, Verdict};
use crate::model::metric::{Better, Metric, Scale};
use crate::model::plan::Plan;
use crate::model::sample::Arm;
use crate::model::{number, text};

/// Every rule kind.
pub const ALL: &[Kind] = &[hold::KIND, floor::KIND, exact::KIND, spread::KIND];

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
    /// The baseline, where one was named.
    pub reference: Option<&'a Reference<'a>>,
    /// Whether a rule against the base arm decides how long this cell is measured.
    pub driven: bool,
    /// The command that repeats the measurement.
    pub command: &'a str,
}

/// What a rule without statistics of its own waits for where no other rule says how long to measure: eight runs of the candidate.
const BLOCKS: usize = 4;

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
                let because = format!("The candidate B failed twice in {place}, while the base A ran: {why}.");
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
        let rows = self.course.blocks.iter().take(blocks).flat_map(|block| block.samples);
        rows.filter(|sample| sample.arm == arm)
            .filter_map(|sample| sample.values.get(&self.metric.name).copied())
            .collect()
    }

    /// The candidate's values in all valid blocks, in the order of measuring.
    pub fn candidate_values(&self) -> Vec<f64> {
        self.values(Arm::B, self.course.blocks.len())
    }

    /// Whether a rule that does not drive the session leaves it at what is there: beside a base arm always, else at the planned length.
    pub fn needs_no_more(&self) -> bool {
        self.driven || self.ended.is_some() || self.course.trouble.is_some() || self.course.blocks.len() >= self.planned()
    }

    fn planned(&self) -> usize {
        let cap = self.plan.blocks.len();
        match (has_base(self.plan), self.driven) {
            (false, _) => cap.max(1),
            (true, true) => 1,
            (true, false) => BLOCKS.min(cap).max(1),
        }
    }

    /// The answer of such a rule while there is too little to judge.
    pub fn unfinished(&self) -> Option<Ruled> {
        let (have, planned) = (self.course.blocks.len(), self.planned());
        if have >= planned {
            return None;
        }
        let why = self
            .ended_because()
            .unwrap_or_else(|| format!("{have} of {planned} blocks are complete"));
        let because = format!("No answer on {}: {why}.", self.subject());
        let mut ruled = self.settle(Verdict::Inconclusive, because, "Measure again, with room for the whole session.");
        ruled.ruling.base = None;
        Some(ruled)
    }

    /// The gain from one figure to another in percent, positive is better; none from zero.
    pub fn gain_pct(&self, from: f64, to: f64) -> Option<f64> {
        let rise = 100.0 * (to - from) / from.abs();
        let gain = if self.metric.better == Better::Higher { rise } else { -rise };
        Some(gain).filter(|gain| gain.is_finite())
    }

    /// The warning that a gain is too good to be taken on trust.
    pub fn suspicious(&self, gain_pct: f64) -> Option<String> {
        let limit = self.metric.review_above_pct?;
        (gain_pct > limit).then(|| {
            let (gain, limit) = (number::difference(gain_pct, Scale::Pct, ""), number::size(limit, Scale::Pct, ""));
            format!("suspicious improvement: a gain of {gain} is more than {limit}: make sure that the same work is done")
        })
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

/// Whether a rule says how long a session is measured: it speaks of the base arm.
pub fn drives(rule: &Rule) -> bool {
    rule.against == Against::Base && rule.kind != floor::KIND.name
}

/// Whether the base arm runs in a plan at all.
pub fn has_base(plan: &Plan) -> bool {
    plan.blocks.iter().any(|orientation| orientation.arms().contains(&Arm::A))
}
