//! One question of a gate: one rule on one metric of one cell, with everything that may answer it.

use std::collections::BTreeMap;

use super::ingested;
use crate::judge::course::{Block, Course, Trouble};
use crate::judge::crossover::Design;
use crate::judge::reference::Reference;
use crate::judge::responses;
use crate::judge::summary;
use crate::model::baseline::BandLine;
use crate::model::evidence::Ended;
use crate::model::figure::State;
use crate::model::gate::waiver::Waiver;
use crate::model::gate::{Gate, Rule};
use crate::model::judgement::{Outcome, Range, Ruling, Verdict};
use crate::model::metric::{Better, Metric, Scale};
use crate::model::plan::Plan;
use crate::model::sample::{Arm, Sample};
use crate::model::{number, text};

/// Longest name in a sentence.
const NAME_MAX: usize = 100;

/// One question, with everything that may answer it.
#[derive(Clone)]
pub struct Bucket<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The metric, with the rule's tolerance where it has its own.
    pub metric: Metric,
    /// Why the rule's tolerance does not suit the metric, if it does not.
    pub unsuited: Option<String>,
    /// The cell's samples and blocks.
    pub course: &'a Course<'a>,
    /// The first sample that keeps this bucket from an answer, and how many of the cell's samples come before it; see [`bars`].
    pub barrier: Option<(usize, &'a Sample)>,
    /// The plan.
    pub plan: &'a Plan,
    /// The looks with their critical values; of a plan that cannot be one, why not.
    pub design: Result<&'a Design, &'a String>,
    /// Why no more samples will come, if so.
    pub ended: Option<&'a Ended>,
    /// Which attempt at the same comparison this is, from 1.
    pub attempt: u32,
    /// The baseline, where one was named.
    pub reference: Option<&'a Reference<'a>>,
    /// Whether a rule against the base arm decides how long this cell is measured.
    pub driven: bool,
    /// The command that repeats the measurement.
    pub command: &'a str,
    /// The arms were proved equal, and need not be measured.
    pub identical: bool,
    /// The accepted noise of this identity, where there is one.
    pub band: Option<&'a BandLine>,
    /// The whole gate.
    pub gate: &'a Gate,
    /// Another tool measured.
    pub ingested: bool,
    /// How the arms were configured differently, where that makes them incomparable.
    pub differs: Option<&'a str>,
    /// The waiver that speaks of it, where there is one.
    pub waiver: Option<&'a Waiver>,
}

/// What a rule without statistics of its own waits for where no other rule says how long to measure: eight runs of the candidate.
const BLOCKS: usize = 4;

/// What stands in the way of an answer, as the answer that it makes.
pub struct Obstacle {
    /// The verdict.
    pub verdict: Verdict,
    /// What it makes of the record: an error where the base is to blame.
    pub outcome: Outcome,
    /// Why, in one sentence.
    pub because: String,
    /// What to do.
    pub next: &'static str,
}

impl Obstacle {
    /// With the outcome that the verdict has.
    pub fn new(verdict: Verdict, because: String, next: &'static str) -> Self {
        let outcome = verdict.outcome();
        Self {
            verdict,
            outcome,
            because,
            next,
        }
    }
}

/// The metric as a rule judges it, with the rule's tolerance where it has its own; and why that does not suit, if it does not.
pub fn suited(rule: &Rule, metric: &Metric) -> (Metric, Option<String>) {
    let with_its_own = |tolerance| metric.clone().with_tolerance(tolerance);
    match rule.tolerance.as_ref().map(with_its_own) {
        None => (metric.clone(), None),
        Some(Ok(suited)) => (suited, None),
        Some(Err(why)) => (metric.clone(), Some(why)),
    }
}

/// Whether a sample keeps a metric's bucket from an answer.
pub fn bars(metric: &str, sample: &Sample) -> bool {
    sample.profiled || lacking(metric, sample).is_some()
}

/// Why a process that ended well gave no figure of a metric, if it gave none.
fn lacking<'s>(metric: &str, sample: &'s Sample) -> Option<&'s str> {
    if sample.failed.is_some() {
        return None;
    }
    match sample.missing(metric) {
        Some(missing) => (missing.state == State::NotMeasured).then_some(missing.why.as_str()),
        None => sample
            .value(metric)
            .is_none()
            .then_some("neither a figure nor a reason stands in the sample"),
    }
}

impl Bucket<'_> {
    /// The valid blocks that were complete before anything barred this bucket.
    pub fn blocks(&self) -> &[Block<'_>] {
        let blocks = &self.course.blocks;
        let Some((before, _)) = self.barrier else { return blocks };
        let whole = blocks.iter().take_while(|block| block.end <= before).count();
        blocks.get(..whole).unwrap_or_default()
    }

    /// Retrying until it is green is no evidence: beyond the declared number of attempts there is no answer, whatever the samples say.
    pub fn too_many_attempts(&self) -> Option<Obstacle> {
        let (attempt, allowed) = (self.attempt, self.plan.max_attempts);
        if allowed == 0 || attempt <= allowed {
            return None;
        }
        let (is, are) = (number::count(allowed, "attempt"), verb(allowed, "is", "are"));
        let because = format!("This is attempt {attempt} at the same comparison, and {is} {are} declared.");
        let next = "Change what is compared, or have somebody who owns the gate declare more `max_attempts`, and say why.";
        Some(Obstacle::new(Verdict::Inconclusive, because, next))
    }

    /// Whether anything stands in the way of more blocks.
    pub fn is_barred(&self) -> bool {
        self.barrier.is_some() || self.course.trouble.is_some()
    }

    /// What stands in the way of more blocks, if anything does.
    pub fn obstacle(&self) -> Option<Obstacle> {
        if self.ingested {
            return ingested::obstacle(self, self.gate);
        }
        let Some((_, sample)) = self.barrier else {
            return self.course.trouble.as_ref().map(|trouble| self.trouble(trouble));
        };
        if let Some(why) = lacking(&self.metric.name, sample) {
            let name = text::plain_line(&self.metric.name, NAME_MAX);
            let because = format!("Arm {} did not report {name}: {why}.", sample.arm);
            let next = "Make both commands print the metric on standard output, for example `NAME=12.3 ms`, or name one that they print.";
            return Some(Obstacle::new(Verdict::NotMeasured, because, next));
        }
        let named = sample.detail.get("profiler").and_then(|value| value.as_str());
        let because = format!(
            "The processes ran under a profiler ({}): such samples explain and never judge.",
            named.unwrap_or("which one is not recorded")
        );
        let next = "Take the profiler out of the environment and measure again.";
        Some(Obstacle::new(Verdict::NotMeasured, because, next))
    }

    /// What one trouble of the session makes of the answer.
    pub fn trouble(&self, trouble: &Trouble) -> Obstacle {
        match trouble {
            Trouble::Failed { arm: Arm::A, place, why } => {
                let because = format!("The base arm A failed twice in {place}: {why}. There is nothing to compare with.");
                let next = "Run A's command by itself, and mend it first.";
                Obstacle {
                    outcome: Outcome::Error,
                    ..Obstacle::new(Verdict::NotMeasured, because, next)
                }
            }
            Trouble::Failed { arm: Arm::B, place, why } => {
                let beside = if self.plan.sides().len() == 2 {
                    ", while the base A ran"
                } else {
                    ""
                };
                let because = format!("The candidate B failed twice in {place}{beside}: {why}.");
                Obstacle::new(Verdict::CandidateFailed, because, "Run B's command by itself, and mend it.")
            }
            Trouble::Throttled { base, candidate } => {
                let because = format!(
                    "Declared limits of the host were reached on {} of the candidate and on {base} of the base.",
                    number::count(*candidate, "run")
                );
                let next = "The candidate itself drives the host to its limits: compare at a lower clock or power, declared for both arms.";
                Obstacle::new(Verdict::ThrottleAttributable, because, next)
            }
            Trouble::TooManyVoids { count, why } => {
                let (found, allowed) = (number::count(*count, "block"), self.plan.max_void_blocks);
                let (were, are) = (verb(*count, "was", "were"), verb(allowed, "is", "are"));
                let because = format!("{found} {were} void, {allowed} {are} allowed; the last one because {why}.");
                Obstacle::new(
                    Verdict::Inconclusive,
                    because,
                    "Free the machine of what disturbed the blocks, and measure again.",
                )
            }
            Trouble::OffPlan { seq } => {
                let because = format!("Sample {seq} does not stand where the plan puts it.");
                let next = "Measure again: these samples do not belong to this plan.";
                Obstacle {
                    outcome: Outcome::Error,
                    ..Obstacle::new(Verdict::Incomparable, because, next)
                }
            }
        }
    }

    /// A ruling over the first `blocks` valid blocks, not yet with an estimate.
    pub fn ruling(&self, blocks: usize, verdict: Verdict, because: String, next: &str) -> Ruling {
        let metric = &self.metric;
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
            tolerance: metric.tolerance,
            blocks: blocks as u32,
            base: range(&self.values(Arm::A, blocks)),
            candidate: range(&self.values(Arm::B, blocks)),
            looks: Vec::new(),
            smallest_detectable: None,
            because,
            next: next.to_owned(),
            warnings: Vec::new(),
            detail: BTreeMap::new(),
        }
    }

    /// One arm's values over the first `blocks` valid blocks, in the order of measuring.
    pub fn values(&self, arm: Arm, blocks: usize) -> Vec<f64> {
        let rows = self.blocks().iter().take(blocks).flat_map(|block| &block.samples);
        rows.filter(|sample| sample.arm == arm)
            .filter_map(|sample| sample.value(&self.metric.name))
            .collect()
    }

    /// A settled answer over all blocks, without an estimate.
    pub fn settle(&self, verdict: Verdict, because: String, next: &str) -> Ruling {
        self.ruling(self.blocks().len(), verdict, because, next)
    }

    /// What stands in the way, as the whole answer.
    pub fn blocked(&self) -> Option<Ruling> {
        let Obstacle {
            verdict,
            outcome,
            because,
            next,
        } = self.obstacle()?;
        let ruling = self.settle(verdict, because, next);
        Some(Ruling { outcome, ..ruling })
    }

    /// The candidate's values in all valid blocks, in the order of measuring.
    pub fn candidate_values(&self) -> Vec<f64> {
        self.values(Arm::B, self.blocks().len())
    }

    /// Whether a rule that does not drive the session leaves it at what is there: beside a base arm always, else at the planned length.
    pub fn needs_no_more(&self) -> bool {
        self.driven || self.ended.is_some() || self.is_barred() || self.blocks().len() >= self.planned()
    }

    fn planned(&self) -> usize {
        let blocks = &self.plan.blocks;
        match (self.plan.sides().len(), self.driven) {
            (1, _) => blocks.len().max(1),
            (_, true) => 1,
            (_, false) => BLOCKS.min(blocks.len()).max(1),
        }
    }

    /// The answer of such a rule while there is too little to judge.
    pub fn unfinished(&self) -> Option<Ruling> {
        let (have, planned) = (self.blocks().len(), self.planned());
        if have >= planned {
            return None;
        }
        let why = self
            .ended_because()
            .unwrap_or_else(|| format!("{have} of {planned} blocks are complete"));
        let because = format!("No answer on {}: {why}.", self.subject());
        let ruling = self.settle(Verdict::Inconclusive, because, self.next_when_open());
        Some(Ruling { base: None, ..ruling })
    }

    /// The gain from one figure to another in the metric's scale, positive is better; none where it is relative to zero.
    pub fn gain(&self, from: f64, to: f64) -> Option<f64> {
        if self.metric.scale == Scale::Pct {
            return self.gain_pct(from, to);
        }
        let rise = self.points() * (to - from);
        Some(if self.metric.better == Better::Higher { rise } else { -rise })
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

    /// What turns a value of the metric into the numbers of its scale.
    pub fn points(&self) -> f64 {
        responses::points(&self.metric, self.metric.scale)
    }

    /// `spin_ms (lower is better)`, with the fixture where there is one.
    pub fn subject(&self) -> String {
        let better = match self.metric.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        let name = text::plain_line(&self.metric.name, NAME_MAX);
        match self.course.cell.fixture.as_str() {
            "" => format!("{name} ({better} is better)"),
            fixture => format!("{name} of {} ({better} is better)", text::plain_line(fixture, NAME_MAX)),
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
            Ended::Unfit { what } => format!("nothing was measured, because {what}"),
        })
    }

    /// What to do where there is no answer yet.
    pub fn next_when_open(&self) -> &'static str {
        match self.ended {
            None if self.ingested => "Give more results.",
            None => "Go on measuring.",
            Some(Ended::SessionLimit { .. } | Ended::TooFewBlocks { .. }) => {
                "Measure again with a longer --max-session, or with a shorter command."
            }
            Some(Ended::Cancelled { .. }) => "Go on with `gate perf --resume`, or measure again.",
            Some(Ended::Unfit { .. }) => "Make the machine fit: `gate preflight` tells what is wrong with it.",
            Some(Ended::Error { .. }) => "Mend what broke, then go on with `gate perf --resume`, or measure again.",
        }
    }
}

fn verb(count: u32, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
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
