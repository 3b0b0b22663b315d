//! What a session's buckets find in the baseline: their accepted sessions, or why there is none to compare with.

use std::collections::{HashMap, HashSet};

use super::summary::median;
use super::{Case, crossover};
use crate::model::baseline::{BaselineUse, SampleLine};
use crate::model::identity::{build_digest, identity_digest};
use crate::model::metric::{Metric, Scale};
use crate::model::unit::convert;

/// Most sessions that a bucket is compared with, the newest ones.
pub const SESSIONS_MAX: usize = 20;

/// A baseline as one case sees it.
pub struct Reference<'a> {
    /// The baseline in the record.
    pub used: &'a BaselineUse,
    /// Identity fields that must be equal.
    pub equal: &'a [String],
    /// The digest of today's identity; of one that is not known, why it is not.
    pub identity: Result<String, String>,
    /// The architecture of today's machine; none where it is not known.
    pub arch: Option<String>,
    /// The digest of what the base arm runs; none where it is not known.
    base_build: Option<String>,
    buckets: HashMap<(&'a str, &'a str), Vec<&'a SampleLine>>,
    /// Current lines under today's identity that this gate does not measure.
    unmeasured: Vec<&'a SampleLine>,
    /// Whether any measured bucket has a current line.
    any_current: bool,
}

/// What a bucket finds.
pub enum Found<'a> {
    /// Sessions under today's identity, the newest first.
    Sessions(Vec<&'a SampleLine>),
    /// Only sessions under another identity.
    Stale(Vec<&'a SampleLine>),
    /// No current session at all, though other buckets have one.
    New,
    /// No current session at all.
    Nothing(String),
}

/// One accepted session in the terms of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The line.
    pub line: &'a SampleLine,
    /// The median of its values, in the metric's unit.
    pub median: f64,
    /// The median of its responses; + = worse.
    pub response: f64,
}

impl<'a> Reference<'a> {
    /// The case's baseline; none where none was named.
    pub fn of(case: &Case<'a>) -> Option<Self> {
        let used = case.context.baseline.as_ref()?;
        let identity = identity_digest(case.identity, &case.gate.equal).map_err(|unknown| {
            let fields: Vec<String> = unknown.iter().map(|field| format!("{} ({})", field.field, field.why)).collect();
            fields.join(", ")
        });
        let mut buckets: HashMap<(&str, &str), Vec<&SampleLine>> = HashMap::new();
        for line in &used.lines {
            buckets.entry((&line.fixture, &line.metric)).or_default().push(line);
        }
        for lines in buckets.values_mut() {
            lines.sort_by(|a, b| b.date.cmp(&a.date));
        }
        let arch = case.identity.arch();
        let of_machine = arch.as_deref() == Some(used.arch.as_str());
        let fixtures: HashSet<&str> = case.plan.cells.iter().map(|cell| cell.fixture.as_str()).collect();
        let metrics: HashSet<&str> = case.gate.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let measured = |line: &SampleLine| {
            let known = fixtures.contains(line.fixture.as_str()) && metrics.contains(line.metric.as_str());
            known && case.gate.measures(&line.fixture, &line.metric)
        };
        let current = |line: &&SampleLine| !line.is_historical();
        let own = |line: &&SampleLine| current(line) && identity.as_ref().is_ok_and(|own| line.identity.as_ref() == Some(own));
        Some(Self {
            any_current: of_machine && used.lines.iter().filter(current).any(measured),
            unmeasured: used.lines.iter().filter(own).filter(|line| !measured(line)).collect(),
            base_build: build_digest(&case.identity.arms.a),
            used,
            equal: &case.gate.equal,
            identity,
            arch,
            buckets,
        })
    }

    /// What a bucket finds.
    pub fn find(&self, fixture: &str, metric: &str) -> Found<'a> {
        let (file, arch) = (&self.used.file, self.arch.as_deref().unwrap_or("this machine"));
        let nothing = |why: String| Found::Nothing(format!("No current line for {arch}: {why}"));
        if self.used.digest.is_none() {
            return nothing(format!("there is no file {file}"));
        }
        if self.arch.as_ref() != Some(&self.used.arch) {
            let theirs = &self.used.arch;
            return nothing(format!("{file} is of {theirs}, and no architecture inherits figures from another"));
        }
        let lines = self.buckets.get(&(fixture, metric)).map(Vec::as_slice).unwrap_or_default();
        let current: Vec<&SampleLine> = lines.iter().filter(|line| !line.is_historical()).copied().collect();
        let own = |line: &&&SampleLine| self.identity.as_ref().is_ok_and(|own| line.identity.as_ref() == Some(own));
        let sessions: Vec<&SampleLine> = current.iter().filter(own).take(SESSIONS_MAX).copied().collect();
        match (lines, current.as_slice(), sessions.as_slice()) {
            (_, _, [_, ..]) => Found::Sessions(sessions),
            (_, [_, ..], _) => Found::Stale(current),
            ([line, ..], ..) => nothing(format!(
                "{file} has only the {}, which is no reference for a claim",
                historical(line)
            )),
            _ if self.any_current => Found::New,
            _ => nothing(format!("{file} has no session of it")),
        }
    }

    /// The newest historical line of a bucket.
    pub fn historical(&self, fixture: &str, metric: &str) -> Option<&'a SampleLine> {
        let lines = self.buckets.get(&(fixture, metric))?;
        lines.iter().find(|line| line.is_historical()).copied()
    }

    /// Lines of this identity that this gate does not measure.
    pub fn unmeasured(&self) -> &[&'a SampleLine] {
        &self.unmeasured
    }

    /// Whether the base arm runs a build that one of the sessions was accepted from.
    pub fn base_is_accepted(&self, sessions: &[Session<'_>]) -> bool {
        let build = self.base_build.as_deref();
        build.is_some() && sessions.iter().any(|session| session.line.extra("binary") == build)
    }

    /// Where a baseline of today's machine would stand.
    pub fn own_file(&self) -> String {
        let file = &self.used.file;
        match &self.arch {
            Some(arch) if *arch != self.used.arch => match file.rsplit_once('/') {
                Some((folder, _)) => format!("{folder}/{arch}.txt"),
                None => format!("{arch}.txt"),
            },
            _ => file.clone(),
        }
    }
}

/// `historical 164 tok/s of 2026-04-28 (best-of-2, hipfire)`
pub fn historical(line: &SampleLine) -> String {
    let said: Vec<&str> = ["stat", "source"].iter().filter_map(|key| line.extra(key)).collect();
    let said = if said.is_empty() {
        String::new()
    } else {
        format!(" ({})", crate::model::text::plain_line(&said.join(", "), 100))
    };
    let value = median(&mut line.values.clone()).map_or_else(String::new, crate::model::number::figure);
    format!("historical {value} {} of {}{said}", line.unit, line.date)
}

/// A line in the terms of a metric, on a scale.
///
/// # Errors
/// Why the two do not compare, in words that end a sentence.
pub fn session<'a>(line: &'a SampleLine, metric: &Metric, scale: Scale) -> Result<Session<'a>, String> {
    if line.better != metric.better {
        return Err("the baseline says the other direction is better".to_owned());
    }
    let converted = line.values.iter().map(|value| convert(*value, line.unit, metric.unit));
    let Some(mut values) = converted.collect::<Option<Vec<f64>>>() else {
        return Err(format!("the baseline's unit {} does not convert to {}", line.unit, metric.unit));
    };
    let response =
        response(&values, metric, scale).ok_or_else(|| format!("a value of {} has no meaning on a relative scale", line.date))?;
    let median = median(&mut values).ok_or_else(|| format!("the session of {} has no values", line.date))?;
    Ok(Session { line, median, response })
}

/// The median of the responses of some values in the metric's unit; none where there is no value, or one has no meaning on the scale.
pub fn response(values: &[f64], metric: &Metric, scale: Scale) -> Option<f64> {
    // Points of a share that is recorded as a fraction.
    let points = if scale == Scale::Pp && metric.unit.canonical() == "1" {
        100.0
    } else {
        1.0
    };
    let responses = values.iter().map(|value| crossover::worse(points * value, scale, metric.better));
    median(&mut responses.collect::<Option<Vec<f64>>>()?)
}
