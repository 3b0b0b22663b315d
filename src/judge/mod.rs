//! The decision core: pure functions of model values.
//!
//! [`judge`] is the whole argument on one screen. It replays every declared look over the blocks so far, freezes each bucket at its first
//! decision and says what comes next. Nothing else in the crate decides: the runner asks here after every process, a resumed session asks
//! here, and `gate ledger verify` asks here again years later.

pub mod acceptance;
pub mod course;
pub mod crossover;
pub mod disposition;
pub mod distribution;
pub mod noise;
pub mod prediction;
pub mod ranks;
pub mod reference;
pub mod rule;
pub mod simulate;
pub mod summary;

use course::{Course, covers};
use crossover::Design;
use reference::Reference;
use rule::{Bucket, Ruled};

use crate::model::evidence::{Ended, Evidence};
use crate::model::gate::{Gate, Rule};
use crate::model::host::Host;
use crate::model::identity::Identity;
use crate::model::judgement::{ENGINE, Judgement, Outcome, Step, Verdict};
use crate::model::metric::{Metric, Role};
use crate::model::plan::{Objective, Plan};
use crate::model::record::{Context, Record};

/// Everything that a judgement may rest on, and nothing else.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// What was declared.
    pub gate: &'a Gate,
    /// In which order, and when to stop.
    pub plan: &'a Plan,
    /// What was measured on what.
    pub identity: &'a Identity,
    /// How fit the machine was.
    pub host: &'a Host,
    /// What was measured so far.
    pub evidence: &'a Evidence,
    /// What surrounds it.
    pub context: &'a Context,
}

impl<'a> From<&'a Record> for Case<'a> {
    fn from(record: &'a Record) -> Self {
        let Record {
            gate,
            plan,
            identity,
            host,
            evidence,
            context,
            ..
        } = record;
        Self {
            gate,
            plan,
            identity,
            host,
            evidence,
            context,
        }
    }
}

/// Judges a case.
///
/// Asked again with more samples of the same plan it never changes a bucket that it has decided.
pub fn judge(case: &Case<'_>) -> Judgement {
    let Case { gate, plan, evidence, .. } = case;
    let courses: Vec<Course<'_>> = plan
        .cells
        .iter()
        .map(|cell| Course::read(plan, gate, cell, &evidence.samples))
        .collect();
    let questions: Vec<(&Rule, &Metric, &Course<'_>)> = questions(gate, &courses);
    let statistical = questions
        .iter()
        .filter(|(rule, ..)| rule.kind == "hold" && rule::drives(rule))
        .count();
    let design = design(plan, statistical);
    let reference = Reference::of(case);

    let mut verdicts = Vec::new();
    let mut open = vec![false; courses.len()];
    for (rule, metric, course) in questions {
        let bucket = Bucket {
            rule,
            metric,
            course,
            plan,
            design: design.as_ref(),
            ended: evidence.ended.as_ref(),
            reference: reference.as_ref(),
            driven: driven(gate, plan, course),
            command: &case.context.command,
        };
        let Ruled { ruling, settled } = rule::judge_of(&rule.kind)(&bucket);
        let at = courses.iter().position(|other| std::ptr::eq(other, course));
        if let (false, Some(open)) = (settled, at.and_then(|at| open.get_mut(at))) {
            *open = true;
        }
        verdicts.push(ruling);
    }

    let outcome = outcome(evidence, &verdicts);
    let (disposition, disposition_because) = disposition::of(case, &verdicts);
    let step = if evidence.ended.is_some() {
        Step::Stop
    } else {
        next(&courses, &open)
    };
    Judgement {
        engine: ENGINE,
        outcome,
        disposition,
        disposition_because,
        verdicts,
        warnings: warnings(case),
        step,
    }
}

/// Every question that the gate asks: a rule, a metric it covers, a cell it covers.
fn questions<'a>(gate: &'a Gate, courses: &'a [Course<'a>]) -> Vec<(&'a Rule, &'a Metric, &'a Course<'a>)> {
    let mut all = Vec::new();
    for rule in &gate.rules {
        for metric in gate
            .metrics
            .iter()
            .filter(|metric| metric.role == Role::Gate && covers(&rule.metric, &metric.name))
        {
            for course in courses.iter().filter(|course| covers(&rule.fixture, &course.cell.fixture)) {
                all.push((rule, metric, course));
            }
        }
    }
    all
}

/// Whether there is a base arm, and some rule against it speaks of this cell.
fn driven(gate: &Gate, plan: &Plan, course: &Course<'_>) -> bool {
    if !rule::has_base(plan) {
        return false;
    }
    let judged = |rule: &Rule| {
        gate.metrics
            .iter()
            .any(|metric| metric.role == Role::Gate && covers(&rule.metric, &metric.name))
    };
    let mut drivers = gate.rules.iter().filter(|rule| rule::drives(rule));
    drivers.any(|rule| covers(&rule.fixture, &course.cell.fixture) && judged(rule))
}

/// The looks with their critical values: alpha is shared among the buckets (Bonferroni), beta is not (all must pass); a promotion must hold
/// in every bucket, so that each has the full alpha (intersection-union).
fn design(plan: &Plan, buckets: usize) -> Result<Design, String> {
    let alpha = match plan.objective {
        Objective::Gate => plan.alpha / buckets.max(1) as f64,
        Objective::Promote => plan.alpha,
    };
    let blocks = plan.blocks.len();
    let design = if plan.fixed {
        Design::fixed(blocks, alpha, plan.beta, plan.rank_share)
    } else {
        Design::sequential(blocks, alpha, plan.beta, plan.rank_share)
    };
    design.map_err(|error| error.to_string())
}

/// The gravest outcome of the required rules. Nothing asked is nothing checked, and a run that broke off is an error whatever it had.
fn outcome(evidence: &Evidence, verdicts: &[crate::model::judgement::Ruling]) -> Outcome {
    let required = verdicts.iter().filter(|ruling| ruling.required).map(|ruling| ruling.outcome).max();
    let asked = required.unwrap_or(Outcome::Inconclusive);
    match evidence.ended {
        Some(Ended::Cancelled { .. } | Ended::Error { .. }) => asked.max(Outcome::Error),
        Some(Ended::SessionLimit { .. } | Ended::TooFewBlocks { .. }) | None => asked,
    }
}

/// The next process: every cell's warm-up first, then the cells in turn, a block each; a cell whose buckets are decided drops out.
fn next(courses: &[Course<'_>], open: &[bool]) -> Step {
    let running = courses.iter().zip(open).filter(|(_, open)| **open).map(|(course, _)| course);
    let slots = running.filter_map(|course| course.next.clone());
    let turn = |slot: &crate::model::sample::Slot| (!slot.warmup, slot.position == 0 && slot.attempt == 0, slot.block);
    slots.min_by_key(turn).map_or(Step::Stop, Step::Run)
}

/// What concerns the whole session and changes no verdict.
fn warnings(case: &Case<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let arms = &case.identity.arms;
    let same_files = !arms.a.artifacts.is_empty() && arms.a.artifacts == arms.b.artifacts;
    if same_files && case.plan.commands.a == case.plan.commands.b {
        warnings.push("both arms run the same files with the same arguments: this is an A/A comparison".to_owned());
    }
    let left_over: u64 = case
        .evidence
        .samples
        .iter()
        .filter_map(|sample| sample.detail.get("left_over")?.as_u64())
        .sum();
    if left_over > 0 {
        warnings.push(format!(
            "{left_over} processes outlived the measured command and were ended before the next slot"
        ));
    }
    warnings
}

/// Whether a stored judgement is what its own evidence gives: the same words, and numbers equal within 1e-9 of their size.
///
/// # Errors
/// Names the first difference.
pub fn same(stored: &Judgement, again: &Judgement) -> Result<(), String> {
    if stored.outcome != again.outcome {
        return Err(format!(
            "the outcome is stored as {} and judged as {}",
            stored.outcome, again.outcome
        ));
    }
    if stored.disposition != again.disposition {
        return Err(format!(
            "the disposition is stored as {} and judged as {}",
            stored.disposition, again.disposition
        ));
    }
    if stored.verdicts.len() != again.verdicts.len() {
        return Err(format!(
            "{} verdicts are stored and {} judged",
            stored.verdicts.len(),
            again.verdicts.len()
        ));
    }
    for (stored, again) in stored.verdicts.iter().zip(&again.verdicts) {
        let at = format!("{} on {}", again.rule, again.metric);
        if (stored.verdict, stored.blocks, stored.looks.len()) != (again.verdict, again.blocks, again.looks.len()) {
            return Err(format!(
                "{at}: stored as {} after {} blocks, judged as {} after {}",
                stored.verdict, stored.blocks, again.verdict, again.blocks
            ));
        }
        let numbers = |ruling: &crate::model::judgement::Ruling| {
            let interval = ruling.interval.unwrap_or([0.0, 0.0]);
            [
                ruling.estimate.unwrap_or(0.0),
                interval[0],
                interval[1],
                ruling.smallest_detectable.unwrap_or(0.0),
                ruling.tolerance,
            ]
        };
        for (stored, again) in numbers(stored).into_iter().zip(numbers(again)) {
            if (stored - again).abs() > 1e-9 * stored.abs().max(again.abs()).max(1.0) {
                return Err(format!("{at}: the number {stored} is stored and {again} judged"));
            }
        }
    }
    Ok(())
}

/// Whether a verdict is worth a reader's eyes first.
pub fn needs_eyes(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::NoRegression | Verdict::Improvement | Verdict::ImprovementShown)
}
