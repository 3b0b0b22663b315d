//! The decision core: pure functions of model values.
//!
//! [`judge`] is the whole argument on one screen. It replays every declared look over the blocks so far, freezes each bucket at its first
//! decision and says what comes next. Nothing else in the crate decides: the runner asks for its next step ([`Steps`]) after every process, a resumed
//! session asks here, and `gate ledger verify` asks here again years later.

pub mod acceptance;
pub mod band;
pub mod calibration;
pub mod character;
pub mod course;
pub mod crossover;
pub mod disposition;
pub mod distribution;
pub mod drop;
pub mod flag;
pub mod noise;
pub mod paired;
pub mod prediction;
pub mod ranks;
pub mod reference;
pub mod responses;
pub mod rule;
pub mod scores;
pub mod search;
pub mod simulate;
pub mod steady;
mod steps;
pub mod summary;
pub mod unpaired;

pub use steps::Steps;

use serde_json::Value;

use band::Bands;
use course::{Course, covers};
use crossover::Design;
use reference::Reference;
use rule::Bucket;

use crate::model::evidence::{Ended, Evidence};
use crate::model::gate::{Gate, Rule};
use crate::model::host::Host;
use crate::model::identity::{ArmIdentity, Identity};
use crate::model::judgement::{Disposition, ENGINE, Judgement, Outcome, Ruling, Step, Verdict};
use crate::model::metric::{Metric, Role};
use crate::model::number::{chance, count};
use crate::model::plan::{Objective, Plan};
use crate::model::record::{Context, Record};
use crate::model::sample::{Cell, Slot};

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
    if let Some(why) = &case.context.unaffected {
        return unaffected(why);
    }
    if let Some(given) = &case.evidence.scores {
        return scores::judge(case, given);
    }
    let (courses, design) = (courses(case), looks(case.gate, case.plan));
    let reference = Reference::of(case);
    let bands = Bands::of(case);
    let buckets: Vec<Bucket<'_>> = buckets(case, &courses, design.as_ref(), reference.as_ref(), Some(&bands)).collect();
    let verdicts: Vec<Ruling> = buckets.iter().map(rule::judge).collect();

    let (disposition, disposition_because) = disposition::of(case, &verdicts, &bands);
    Judgement {
        engine: ENGINE,
        outcome: outcome(case, &verdicts),
        disposition,
        disposition_because,
        verdicts,
        warnings: warnings(case),
        step: next(case, &courses, &buckets),
    }
}

fn courses<'a>(case: &Case<'a>) -> Vec<Course<'a>> {
    let Case { gate, plan, evidence, .. } = case;
    let read = |cell| Course::read(plan, gate, cell, evidence);
    plan.cells.iter().map(read).collect()
}

/// Every question that the gate asks, with what may answer it.
fn buckets<'a>(
    case: &'a Case<'a>,
    courses: &'a [Course<'a>],
    design: Result<&'a Design, &'a String>,
    reference: Option<&'a Reference<'a>>,
    bands: Option<&'a Bands<'a>>,
) -> impl Iterator<Item = Bucket<'a>> {
    let bucket = move |(rule, index, course): (&'a Rule, usize, &'a Course<'a>)| {
        let metric = &case.gate.metrics[index];
        let barrier = course.barriers.get(index).copied().flatten();
        let band = bands.and_then(|bands| bands.find(&course.cell.fixture, &metric.name));
        let waiver = rule::waived::find(case.context, &case.gate.name, rule.against, &course.cell.fixture, &metric.name);
        let (metric, unsuited) = rule::suited(rule, metric);
        Bucket {
            rule,
            barrier: barrier.and_then(|before| Some((before, *course.samples.get(before)?))),
            metric,
            unsuited,
            course,
            plan: case.plan,
            design,
            ended: case.evidence.ended.as_ref(),
            attempt: case.context.attempt,
            reference,
            driven: driven(case, course.cell),
            command: &case.context.command,
            identical: case.context.identical,
            band,
            gate: case.gate,
            ingested: case.evidence.is_ingested(),
            differs: differs_against_the_rule(case),
            waiver,
        }
    };
    let asked = questions(case.gate, case.plan).into_iter();
    asked
        .filter_map(|(rule, metric, cell)| Some((rule, metric, courses.get(cell)?)))
        .map(bucket)
}

/// How the arms of another tool's results were configured differently, where the gate declares that such a pair is not comparable.
fn differs_against_the_rule<'a>(case: &Case<'a>) -> Option<&'a str> {
    let strict = case.identity.policy.get("strict_config") == Some(&Value::Bool(true));
    case.identity.config.get("differs").and_then(Value::as_str).filter(|_| strict)
}

/// The change touches nothing that the gate guards: it passes, and nothing was measured.
fn unaffected(why: &str) -> Judgement {
    Judgement {
        engine: ENGINE,
        outcome: Outcome::Pass,
        disposition: Disposition::Exploratory,
        disposition_because: vec!["nothing was measured".to_owned()],
        verdicts: Vec::new(),
        warnings: vec![format!("not affected by this change: {why}")],
        step: Step::Stop,
    }
}

/// Every question that a gate asks: a rule, the places of a metric and of a cell that it covers. Without a base arm nothing is asked against it.
fn questions<'a>(gate: &'a Gate, plan: &Plan) -> Vec<(&'a Rule, usize, usize)> {
    let mut all = Vec::new();
    for rule in &gate.rules {
        for (index, metric) in gate.metrics.iter().enumerate() {
            let asked = plan
                .cells
                .iter()
                .enumerate()
                .filter(|(_, cell)| asks(gate, plan, rule, metric, cell));
            all.extend(asked.map(|(cell, _)| (rule, index, cell)));
        }
    }
    all
}

fn asks(gate: &Gate, plan: &Plan, rule: &Rule, metric: &Metric, cell: &Cell) -> bool {
    let base_arm = plan.sides().len() == 2;
    metric.role == Role::Gate
        && (base_arm || !rule::needs_base(rule))
        && covers(&rule.metric, &metric.name)
        && covers(&rule.fixture, &cell.fixture)
        && gate.measures(&cell.fixture, &metric.name)
}

/// Whether some rule against the base arm speaks of this cell. Without a base arm the planned runs are what is measured.
fn driven(case: &Case<'_>, cell: &Cell) -> bool {
    let Case { gate, plan, .. } = case;
    if plan.sides().len() == 1 {
        return false;
    }
    let mut drivers = gate.rules.iter().filter(|rule| rule::drives(rule));
    drivers.any(|rule| gate.metrics.iter().any(|metric| asks(gate, plan, rule, metric, cell)))
}

/// The looks with their critical values, which must be those that the plan declares: alpha is shared among the buckets (Bonferroni), beta is not (all must pass); a promotion must hold
/// in every bucket, so that each has the full alpha (intersection-union).
///
/// # Errors
/// Why the plan cannot be judged.
pub fn looks(gate: &Gate, plan: &Plan) -> Result<Design, String> {
    let tests = |(rule, ..): &(&Rule, usize, usize)| rule.kind == "hold" && rule::drives(rule);
    let alpha = match plan.objective {
        Objective::Gate => plan.alpha / questions(gate, plan).iter().filter(|asked| tests(asked)).count().max(1) as f64,
        Objective::Promote => plan.alpha,
    };
    let blocks = plan.blocks.len();
    let design = if plan.fixed {
        Design::fixed(blocks, alpha, plan.beta, plan.rank_share)
    } else {
        Design::sequential(blocks, alpha, plan.beta, plan.rank_share)
    };
    let design = design.map_err(|error| error.to_string())?;
    if plan.looks.iter().map(|&look| look as usize).eq(design.looks.iter().copied()) {
        Ok(design)
    } else {
        Err(format!(
            "it declares looks after {:?} blocks, and its cap gives {:?}",
            plan.looks, design.looks
        ))
    }
}

/// The gravest outcome of the required rules. Nothing asked is nothing checked, unless a new gate was to advise only, and did; a run that
/// broke off is an error whatever it had.
fn outcome(case: &Case<'_>, verdicts: &[Ruling]) -> Outcome {
    let required = verdicts.iter().filter(|ruling| ruling.required).map(|ruling| ruling.outcome).max();
    let advised = case.context.new_gate && !verdicts.is_empty();
    let is_new = |ruling: &Ruling| ruling.verdict == Verdict::New;
    let mut asked = verdicts.iter().filter(|ruling| ruling.required || advised);
    if case.evidence.is_ingested() && asked.all(is_new) {
        // Nothing stands on both sides: nothing was compared.
        return Outcome::Inconclusive;
    }
    let asked = required.unwrap_or(if advised { Outcome::Pass } else { Outcome::Inconclusive });
    match case.evidence.ended {
        Some(Ended::Cancelled { .. } | Ended::Error { .. } | Ended::Unfit { .. }) => asked.max(Outcome::Error),
        Some(Ended::SessionLimit { .. } | Ended::TooFewBlocks { .. }) | None => asked,
    }
}

/// The next process: every cell's warm-up first, then the cells in turn, a block each; a cell whose buckets are decided drops out.
fn next(case: &Case<'_>, courses: &[Course<'_>], buckets: &[Bucket<'_>]) -> Step {
    if case.evidence.ended.is_some() {
        return Step::Stop;
    }
    let open = courses.iter().filter(|course| open(course, buckets));
    first(open.filter_map(|course| course.next.clone()))
}

/// Whether more samples of a cell could settle a rule.
fn open(course: &Course<'_>, buckets: &[Bucket<'_>]) -> bool {
    let mut own = buckets.iter().filter(|bucket| std::ptr::eq(bucket.course, course));
    own.any(|bucket| !rule::settled(bucket))
}

/// The slot whose turn it is.
fn first(slots: impl Iterator<Item = Slot>) -> Step {
    let turn = |slot: &Slot| (!slot.warmup, slot.position == 0 && slot.attempt == 0, slot.block);
    slots.min_by_key(turn).map_or(Step::Stop, Step::Run)
}

/// What concerns the whole session and changes no verdict.
fn warnings(case: &Case<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let attempt = case.context.attempt;
    if attempt > 1 {
        let slips = 1.0 - (1.0 - case.plan.beta).powi(attempt.min(1000) as i32);
        warnings.push(format!(
            "attempt {attempt} at the same comparison: over so many, a real slowdown of the tolerance slips through with at most {}",
            chance(slips)
        ));
    }
    let arms = &case.identity.arms;
    let same_files = !arms.a.artifacts.is_empty() && arms.a.artifacts == arms.b.artifacts;
    let tree = |arm: &ArmIdentity| arm.source.as_ref().and_then(|source| source.tree.clone());
    let config = &case.identity.config;
    let same_inputs = tree(&arms.a) == tree(&arms.b) && config.get("a") == config.get("b");
    if case.plan.sides().len() == 2 && same_files && same_inputs && case.plan.commands.a == case.plan.commands.b {
        warnings.push("both arms run the same files with the same arguments: this is an A/A comparison".to_owned());
    }
    warnings.extend(case.evidence.warmups.iter().filter_map(steady::warning));
    warnings.extend(flag::warnings(case.plan, &case.evidence.samples));
    let left_over: u64 = case
        .evidence
        .samples
        .iter()
        .filter_map(|sample| sample.detail.get("left_over")?.as_u64())
        .sum();
    match left_over {
        0 => {}
        1 => warnings.push("1 process outlived the measured command and was ended before the next slot".to_owned()),
        many => warnings.push(format!(
            "{many} processes outlived the measured command and were ended before the next slot"
        )),
    }
    warnings
}

/// Whether a stored judgement is what its own evidence gives: everything but its sentences, numbers equal within 1e-9 of their size (or
/// of 1, if they are smaller), because mathematical functions differ in their last digits from machine to machine.
///
/// # Errors
/// Names the first difference.
pub fn same(stored: &Judgement, again: &Judgement) -> Result<(), String> {
    let words = [
        ("outcome", stored.outcome.word(), again.outcome.word()),
        ("disposition", stored.disposition.word(), again.disposition.word()),
    ];
    for (what, stored, again) in words {
        if stored != again {
            return Err(format!("the {what} is stored as {stored} and judged as {again}"));
        }
    }
    if stored.verdicts.len() != again.verdicts.len() {
        let (stored, again) = (count(stored.verdicts.len() as u64, "verdict"), again.verdicts.len());
        return Err(format!("the judgement stores {stored} and gives {again}"));
    }
    for (stored, again) in stored.verdicts.iter().zip(&again.verdicts) {
        let at = format!("{} on {}", again.rule, again.metric);
        if (stored.verdict, stored.blocks) != (again.verdict, again.blocks) {
            let [was, is] = [stored, again].map(|ruling| format!("{} after {}", ruling.verdict, count(ruling.blocks, "block")));
            return Err(format!("{at}: stored as {was}, judged as {is}"));
        }
        let as_json = |ruling: &Ruling| serde_json::to_value(ruling).map_err(|error| format!("{at}: {error}"));
        if let Some(difference) = differ("", &as_json(stored)?, &as_json(again)?) {
            return Err(format!("{at}: {difference}"));
        }
    }
    Ok(())
}

/// The first difference of two JSON values, sentences aside.
fn differ(at: &str, stored: &Value, again: &Value) -> Option<String> {
    const SENTENCES: [&str; 3] = ["because", "next", "warnings"];
    let inside = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match (stored, again) {
        (Value::Object(stored), Value::Object(again)) if stored.len() == again.len() => stored
            .iter()
            .filter(|(name, _)| !SENTENCES.contains(&name.as_str()))
            .find_map(|(name, value)| differ(&inside(name), value, again.get(name).unwrap_or(&Value::Null))),
        (Value::Array(stored), Value::Array(again)) if stored.len() == again.len() => stored
            .iter()
            .zip(again)
            .enumerate()
            .find_map(|(index, (stored, again))| differ(&inside(&index.to_string()), stored, again)),
        (Value::Number(one), Value::Number(other)) if close(one.as_f64(), other.as_f64()) => None,
        _ if stored == again => None,
        _ => Some(format!("{at} is stored as {stored} and judged as {again}")),
    }
}

fn close(one: Option<f64>, other: Option<f64>) -> bool {
    let both = one.zip(other);
    both.is_some_and(|(one, other)| (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0))
}
