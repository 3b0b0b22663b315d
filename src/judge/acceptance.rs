//! Which lines of a baseline a record may become, and what speaks against it.

use super::course::{Course, covers};
use super::reference::{response, session};
use super::rule::{gain, held_baseline};
use super::{Case, crossover, judge, summary};
use crate::model::baseline::{SampleLine, is_date};
use crate::model::gate::{Against, Rule};
use crate::model::identity::{build_digest, identity_digest};
use crate::model::judgement::{Disposition, Ruling, Verdict};
use crate::model::metric::{Metric, Role, Scale};
use crate::model::number::{difference, figure, size};
use crate::model::record::{Context, Record};
use crate::model::sample::{Arm, Cell};
use crate::model::text::plain_line;
use crate::model::unit::convert;

/// Labels that mark a record as made from code that nobody has reviewed.
const UNTRUSTED: [&str; 2] = ["untrusted", "fork"];
/// What a binary fraction may be off at a tie.
const SLACK: f64 = 1e-9;

/// Which part of a record is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Whose values.
    pub arm: Arm,
    /// Only this fixture.
    pub fixture: Option<&'a str>,
    /// Only this metric; without it every metric with the role `gate`.
    pub metric: Option<&'a str>,
}

/// The lines that a record gives: one for each fixture and metric, without what only the accepting person can say.
///
/// # Errors
/// Why the record may not become a baseline, in one sentence.
pub fn lines(record: &Record, wanted: &Wanted<'_>) -> Result<Vec<SampleLine>, String> {
    refuse(record)?;
    let identity = identity_digest(&record.identity, &record.gate.equal).map_err(|unknown| {
        let fields: Vec<String> = unknown.iter().map(|field| format!("{} ({})", field.field, field.why)).collect();
        format!(
            "the identity is not known, and what is unknown equals nothing: {}",
            fields.join(", ")
        )
    })?;
    let date = record.at.get(..10).filter(|date| is_date(date));
    let date = date.ok_or_else(|| format!("the record's time {:?} begins with no day", record.at))?;
    let seal = record.seal.strip_prefix("b3:").and_then(|hex| hex.get(..12));
    let seal = seal.ok_or("the record has no seal")?;
    let mut lines = Vec::new();
    for cell in record
        .plan
        .cells
        .iter()
        .filter(|cell| wanted.fixture.is_none_or(|name| name == cell.fixture))
    {
        let course = course(record, cell)?;
        for metric in record.gate.metrics.iter().filter(|metric| of_interest(metric, wanted)) {
            if !record.gate.measures(&cell.fixture, &metric.name) {
                continue;
            }
            let mut extras = std::collections::BTreeMap::new();
            extras.extend(build_digest(record.identity.arms.of(wanted.arm)).map(|build| ("binary".to_owned(), build)));
            if wanted.arm == Arm::A {
                extras.insert("arm".to_owned(), "A".to_owned());
            }
            lines.push(SampleLine {
                fixture: cell.fixture.clone(),
                metric: metric.name.clone(),
                unit: metric.unit,
                better: metric.better,
                date: date.to_owned(),
                identity: Some(identity.clone()),
                record: Some(seal.to_owned()),
                values: values(&course, metric, wanted.arm)?,
                extras,
            });
        }
    }
    if lines.is_empty() {
        let fixtures: Vec<&str> = record.plan.cells.iter().map(|cell| cell.fixture.as_str()).collect();
        let metrics: Vec<&str> = record.gate.metrics.iter().map(|metric| metric.name.as_str()).collect();
        return Err(format!(
            "the record has nothing of that name: its fixtures are {fixtures:?}, its metrics {metrics:?}"
        ));
    }
    Ok(lines)
}

fn of_interest(metric: &Metric, wanted: &Wanted<'_>) -> bool {
    wanted.metric.map_or(metric.role == Role::Gate, |name| name == metric.name)
}

/// Why a record of code that nobody has reviewed becomes no baseline.
pub(super) fn untrusted(record: &Record) -> Option<String> {
    let marked = |label: &&&str| record.labels.get(**label).is_some_and(|value| value != "false");
    let label = UNTRUSTED.iter().find(marked)?;
    Some(format!(
        "the record is labelled {label}: measure the merged code on a trusted machine"
    ))
}

/// Why a record becomes no baseline that holds a regression which somebody accepted for a while.
pub(super) fn waived(record: &Record) -> Option<String> {
    let is_waived = |ruling: &Ruling| ruling.verdict == Verdict::Waived;
    let why = "the record holds a waived regression, which moves no baseline: accept one without";
    record.judgement.verdicts.iter().any(is_waived).then(|| why.to_owned())
}

/// Refuses what is worth less than `measured`, what nobody reviewed, and what no real machine measured.
///
/// The disposition counts without the baseline itself: or none that has become wrong could ever be replaced.
fn refuse(record: &Record) -> Result<(), String> {
    if record.host.replayed {
        return Err("the host was replayed from a snapshot: no machine measured this".to_owned());
    }
    if let Some(why) = untrusted(record) {
        return Err(why);
    }
    if record.judgement.disposition == Disposition::Historical {
        return Err("the record is historical: it is kept, and no longer stands for anything".to_owned());
    }
    if record.cancelled.is_some() || record.evidence.ended.is_some() {
        return Err("the session did not come to its end".to_owned());
    }
    if let Some(why) = waived(record) {
        return Err(why);
    }
    let context = Context {
        baseline: None,
        ..record.context.clone()
    };
    let judgement = judge(&Case {
        context: &context,
        ..Case::from(record)
    });
    match judgement.disposition {
        Disposition::Measured | Disposition::PromotionCandidate => Ok(()),
        below => Err(format!(
            "the record is {below}, and at least measured is needed: {}",
            plain_line(&judgement.disposition_because.join("; "), 500)
        )),
    }
}

fn course<'a>(record: &'a Record, cell: &'a Cell) -> Result<Course<'a>, String> {
    let course = Course::read(&record.plan, &record.gate, cell, &record.evidence);
    let name = plain_line(&cell.fixture, 100);
    if course.trouble.is_some() {
        return Err(format!("the session of fixture {name:?} ran into trouble"));
    }
    if record.plan.sides().len() == 1 && course.blocks.len() < record.plan.blocks.len() {
        return Err(format!("the session of fixture {name:?} did not come to its end"));
    }
    Ok(course)
}

fn values(course: &Course<'_>, metric: &Metric, arm: Arm) -> Result<Vec<f64>, String> {
    let rows = course
        .blocks
        .iter()
        .flat_map(|block| &block.samples)
        .filter(|sample| sample.arm == arm);
    let values: Option<Vec<f64>> = rows.map(|sample| sample.value(&metric.name)).collect();
    match values {
        Some(values) if values.len() >= 2 => Ok(values),
        Some(values) => Err(format!(
            "{} has {} values of arm {arm}, and a session has at least 2",
            plain_line(&metric.name, 100),
            values.len()
        )),
        None => Err(format!(
            "{} was not measured by every run of arm {arm}",
            plain_line(&metric.name, 100)
        )),
    }
}

/// Why a line may not join the current sessions of its bucket without a reason being given: it is worse than they are, beyond the tolerance.
///
/// Sessions of the line's own identity are compared with, else those of the newest one: another identity is no way around the question.
pub fn worse(record: &Record, line: &SampleLine, current: &[&SampleLine]) -> Option<String> {
    let metric = record.gate.metrics.iter().find(|metric| metric.name == line.metric)?;
    let newest = current.iter().max_by(|a, b| a.date.cmp(&b.date))?;
    let own = current.iter().any(|other| other.identity == line.identity);
    let identity = if own { &line.identity } else { &newest.identity };
    let others = current.iter().filter(|other| other.identity == *identity);
    let (scale, tolerance) = tolerance(record, line, metric);
    let size_of = if scale == Scale::Pct { tolerance / 100.0 } else { tolerance };
    let sessions = others.map(|other| session(other, metric, scale)).collect::<Result<Vec<_>, _>>();
    let sessions = match sessions {
        Ok(sessions) => sessions,
        Err(why) => return Some(format!("{}: {why}", plain_line(&line.metric, 100))),
    };
    let mean = sessions.iter().map(|session| session.response).sum::<f64>() / sessions.len() as f64;
    let new = response(&line.values, metric, scale)?;
    let margin = crossover::margin(size_of, scale, metric.better)?;
    (new - mean > margin + SLACK).then(|| {
        let unit = metric.unit.canonical();
        let gain = gain(new - mean, scale, metric.better);
        format!(
            "{}: {} {unit} is a gain of {} against {} current sessions, worse than the tolerance of {}",
            plain_line(&line.metric, 100),
            summary::median(&mut line.values.clone()).map_or_else(String::new, figure),
            difference(gain, scale, unit),
            sessions.len(),
            size(tolerance, scale, unit)
        )
    })
}

/// The tolerance of the rule that holds this bucket against the baseline, else 5 %.
fn tolerance(record: &Record, line: &SampleLine, metric: &Metric) -> (Scale, f64) {
    let of_bucket = |rule: &&Rule| {
        rule.kind == "hold"
            && rule.against == Against::Baseline
            && covers(&rule.metric, &line.metric)
            && covers(&rule.fixture, &line.fixture)
    };
    let declared = record.gate.rules.iter().find(of_bucket).and_then(|rule| rule.tolerance.as_ref());
    let default = (Scale::Pct, held_baseline::TOLERANCE_PCT);
    declared.map_or(default, |declared| match declared.unit {
        Some(unit) => convert(declared.value, unit, metric.unit).map_or(default, |value| (declared.scale, value)),
        None => (declared.scale, declared.value),
    })
}

/// Whether a committed line is what its evidence gives: everything but what the accepting person said.
///
/// # Errors
/// Names what differs, or why the evidence may not be a baseline at all.
pub fn agrees(line: &SampleLine, arch: &str, evidence: &Record) -> Result<(), String> {
    let found = evidence.identity.arch();
    if found.as_deref() != Some(arch) {
        return Err(format!(
            "the evidence was measured on {}, not on {arch}",
            found.as_deref().unwrap_or("an unknown device")
        ));
    }
    let arm = if line.extra("arm") == Some("A") { Arm::A } else { Arm::B };
    let wanted = Wanted {
        arm,
        fixture: Some(&line.fixture),
        metric: Some(&line.metric),
    };
    let again = lines(evidence, &wanted)?;
    let again = again.first().ok_or("the evidence has no such fixture and metric")?;
    let differs = [
        ("the record", line.record != again.record),
        ("the date", line.date != again.date),
        ("the identity", line.identity != again.identity),
        ("the unit", line.unit != again.unit),
        ("the direction", line.better != again.better),
        ("the values", line.values != again.values),
        ("binary", line.extra("binary") != again.extra("binary")),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        Some((what, _)) => Err(format!("{what} of the line is not what the evidence gives: {again}")),
        None => Ok(()),
    }
}
