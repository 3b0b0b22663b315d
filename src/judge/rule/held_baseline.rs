//! `hold` against the baseline: a session is the unit, and the accepted sessions say how far one may lie from another.

use super::Bucket;
use super::hold::gain;
use crate::judge::crossover;
use crate::judge::prediction::{Prediction, predict};
use crate::judge::reference::{Found, Reference, Session, response, session};
use crate::judge::summary;
use crate::model::baseline::{SampleLine, days_between};
use crate::model::judgement::{Outcome, Range, Ruling, Verdict};
use crate::model::metric::Scale;
use crate::model::number::{self, chance, difference, figure, size};
use crate::model::sample::Arm;
use crate::model::text::plain_line;
use crate::model::unit::convert;

/// False alarms of one bucket where the session is like the accepted ones: one-sided for the candidate, two-sided for the base arm.
const LEVEL: f64 = 0.01;
/// Fewer sessions only advise: their own variation is not known.
const SESSIONS_MIN: usize = 3;
/// The tolerance where the rule declares none, in percent: single sessions differ by several percent.
pub const TOLERANCE_PCT: f64 = 5.0;
/// What a binary fraction may be off at a tie.
const SLACK: f64 = 1e-9;

/// Judges a bucket against the baseline; beside a base arm it never asks for another block.
pub fn judge(bucket: &Bucket<'_>) -> Ruling {
    match bucket.blocked() {
        Some(ruling) => against_nothing(bucket, ruling),
        None => answer(bucket),
    }
}

fn answer(bucket: &Bucket<'_>) -> Ruling {
    if let Some(ruling) = bucket.unfinished() {
        return ruling;
    }
    let Some(reference) = bucket.reference else {
        let because = "The rule compares with a baseline, and none was named.".to_owned();
        return bucket.settle(Verdict::NotMeasured, because, "Name it: --baseline baselines/ARCH.txt.");
    };
    let lines = match reference.find(&bucket.course.cell.fixture, &bucket.metric.name) {
        Found::Sessions(lines) => lines,
        Found::Stale(lines) => return against_nothing(bucket, stale(bucket, reference, &lines)),
        Found::New => return against_nothing(bucket, new(bucket, reference)),
        Found::Nothing(why) => return against_nothing(bucket, nothing(bucket, reference, &why)),
    };
    match Standing::of(bucket, reference, &lines) {
        Ok(standing) => standing.ruling(),
        Err(why) => {
            let because = format!("{}: {why}.", bucket.subject());
            let next = "Declare metric and tolerance as the baseline has them, or accept sessions of the new declaration.";
            against_nothing(bucket, bucket.settle(Verdict::Incomparable, because, next))
        }
    }
}

/// An answer without a number of the other side: the base arm is not what the rule speaks of.
fn against_nothing(bucket: &Bucket<'_>, mut ruling: Ruling) -> Ruling {
    (ruling.scale, ruling.tolerance) = declared(bucket).unwrap_or((Scale::Pct, TOLERANCE_PCT));
    ruling.base = None;
    ruling
}

/// Scale and size of the tolerance: the rule's, else 5 %.
fn declared(bucket: &Bucket<'_>) -> Option<(Scale, f64)> {
    let Some(tolerance) = &bucket.rule.tolerance else {
        return Some((Scale::Pct, TOLERANCE_PCT));
    };
    let value = match tolerance.unit {
        Some(unit) => convert(tolerance.value, unit, bucket.metric.unit)?,
        None => tolerance.value,
    };
    Some((tolerance.scale, value))
}

fn nothing(bucket: &Bucket<'_>, reference: &Reference<'_>, why: &str) -> Ruling {
    let because = format!("{}: {why}.", bucket.subject());
    let command = plain_line(bucket.command, 500);
    let accept = accept(&reference.own_file());
    let next = format!("Two commands make one: `{command}` measures a session, {accept} accepts it.");
    bucket.settle(Verdict::NotMeasured, because, &next)
}

fn accept(file: &str) -> String {
    format!("`gate baseline accept last --baseline {}`", plain_line(file, 200))
}

fn stale(bucket: &Bucket<'_>, reference: &Reference<'_>, lines: &[&SampleLine]) -> Ruling {
    let theirs = lines.first().and_then(|line| line.identity.as_deref()).unwrap_or_default();
    let equal = reference.equal.join(", ");
    let because = match &reference.identity {
        Ok(ours) => format!(
            "{}: the baseline's newest session has identity {theirs}, this one {ours}: {equal} must be equal, so no number is compared.",
            bucket.subject()
        ),
        Err(unknown) => format!(
            "{}: the identity is not known, and what is unknown equals nothing: {}.",
            bucket.subject(),
            plain_line(unknown, 500)
        ),
    };
    let next = format!(
        "Stale baseline: measure again as the baseline was, or accept this session with {}.",
        accept(&reference.own_file())
    );
    bucket.settle(Verdict::StaleBaseline, because, &next)
}

/// A bucket that the baseline does not have. Where an old one of the same figures has gone, it was probably renamed: no answer until accepted.
fn new(bucket: &Bucket<'_>, reference: &Reference<'_>) -> Ruling {
    let values = bucket.candidate_values();
    let alike = |line: &&&SampleLine| {
        let Ok(old) = session(line, &bucket.metric, Scale::Pct) else {
            return false;
        };
        let near = response(&values, &bucket.metric, Scale::Pct).is_some_and(|new| (new - old.response).abs() <= TOLERANCE_PCT / 100.0);
        near && line.values.len() == values.len()
    };
    let shown = |line: &SampleLine| match line.fixture.as_str() {
        "" => plain_line(&line.metric, 100),
        fixture => format!("{} of {}", plain_line(&line.metric, 100), plain_line(fixture, 100)),
    };
    let renamed = reference.unmeasured().iter().find(alike);
    let next = format!("{} makes it part of the baseline.", accept(&reference.own_file()));
    let because = match renamed {
        Some(line) => format!(
            "{}: new, no baseline; {} has gone, and its figures are alike: renamed?",
            bucket.subject(),
            shown(line)
        ),
        None => format!("{}: new, no baseline.", bucket.subject()),
    };
    let mut ruling = bucket.settle(Verdict::New, because, &next);
    if renamed.is_some() {
        ruling.outcome = Outcome::Inconclusive;
    }
    let mut gone: Vec<String> = reference.unmeasured().iter().map(|line| shown(line)).collect();
    gone.dedup();
    if !gone.is_empty() {
        gone.truncate(10);
        let names = gone.join(", ");
        ruling.warnings.push(format!(
            "the baseline has sessions of this identity that are not measured here: {names}"
        ));
    }
    ruling
}

/// A session beside the accepted ones, in the metric's terms. Responses: + = worse.
struct Standing<'a> {
    bucket: &'a Bucket<'a>,
    reference: &'a Reference<'a>,
    sessions: Vec<Session<'a>>,
    scale: Scale,
    tolerance: f64,
    margin: f64,
    /// The candidate's median response.
    candidate: f64,
    /// The base arm's, where there is one.
    base: Option<f64>,
}

impl<'a> Standing<'a> {
    fn of(bucket: &'a Bucket<'a>, reference: &'a Reference<'a>, lines: &[&'a SampleLine]) -> Result<Self, String> {
        let metric = &bucket.metric;
        let (scale, tolerance) = declared(bucket).ok_or("the tolerance does not convert to the metric's unit")?;
        let size = if scale == Scale::Pct { tolerance / 100.0 } else { tolerance };
        let margin = crossover::margin(size, scale, metric.better).ok_or("the tolerance has no meaning for the metric")?;
        let sessions = lines
            .iter()
            .map(|line| session(line, metric, scale))
            .collect::<Result<Vec<_>, _>>()?;
        let candidate = response(&bucket.candidate_values(), metric, scale).ok_or("a value has no meaning on a relative scale")?;
        let base = response(&bucket.values(Arm::A, bucket.blocks().len()), metric, scale);
        Ok(Self {
            bucket,
            reference,
            sessions,
            scale,
            tolerance,
            margin,
            candidate,
            base,
        })
    }

    fn ruling(&self) -> Ruling {
        let responses: Vec<f64> = self.sessions.iter().map(|session| session.response).collect();
        let prediction = predict(&responses, self.candidate, LEVEL).ok();
        let enough = self.sessions.len() >= SESSIONS_MIN;
        let mut ruling = match prediction.filter(|_| enough) {
            None => self.advisory(&responses),
            Some(prediction) => self.judged(&prediction, &responses),
        };
        (ruling.scale, ruling.tolerance, ruling.base) = (self.scale, self.tolerance, self.range());
        ruling.warnings.extend(self.age());
        match self.creep() {
            Some((since, true)) if ruling.verdict != Verdict::Regression => {
                ruling
                    .warnings
                    .push(format!("creep: {since}: accepted steps add up to more than the tolerance"));
            }
            Some((since, _)) => ruling.because.push_str(&format!(" It stands at {since}.")),
            None => {}
        }
        let gain_pct = self.median_gain_pct(&ruling);
        ruling
            .warnings
            .extend(gain_pct.and_then(|gain_pct| self.bucket.suspicious(gain_pct)));
        ruling
    }

    fn advisory(&self, responses: &[f64]) -> Ruling {
        let mean = responses.iter().sum::<f64>() / responses.len() as f64;
        let count = self.sessions.len();
        let because = format!(
            "{}: gain {} against {count} accepted session{}; {SESSIONS_MIN} are needed to say how far sessions lie apart.",
            self.bucket.subject(),
            self.shown(self.candidate - mean),
            if count == 1 { "" } else { "s" },
        );
        let next = format!("Accept sessions of other days: {}.", accept(&self.reference.own_file()));
        let mut ruling = self.bucket.settle(Verdict::Advisory, because, &next);
        ruling.estimate = Some(self.gain(self.candidate - mean));
        ruling
    }

    fn judged(&self, prediction: &Prediction, responses: &[f64]) -> Ruling {
        let base = self.base.and_then(|base| Some((base, predict(responses, base, LEVEL / 2.0).ok()?)));
        let (mean, mut warnings) = (prediction.mean, Vec::new());
        if let Some((base, of_base)) = base {
            let reach = (of_base.limit - mean).max(self.believable());
            let away = self.shown(base - mean);
            if (base - mean).abs() > reach && self.reference.base_is_accepted(&self.sessions) {
                return self.shifted(&away);
            }
            if base - mean > reach {
                warnings.push(format!(
                    "base_below_baseline: the base arm itself stands at {away} against the baseline: the environment, or an earlier merge; \
                     not this change"
                ));
            } else if mean - base > reach {
                warnings.push(format!(
                    "the base arm itself stands at {away} against the baseline: accept newer sessions, or the difference hides a slowdown"
                ));
            }
        }
        let delta = self.candidate - mean;
        let half = (prediction.limit - mean).max(self.believable());
        let beyond = delta > self.margin + SLACK;
        let gained = self.gain(delta) > self.tolerance + SLACK && -delta > half;
        let verdict = match (delta > half, beyond) {
            (true, true) => Verdict::Regression,
            (true, false) => Verdict::SmallSlowdown,
            (false, true) => Verdict::Inconclusive,
            (false, false) if gained => Verdict::Improvement,
            (false, false) => Verdict::NoRegression,
        };
        let mut ruling = self.bucket.settle(verdict, self.because(verdict, delta, half), self.next(verdict));
        let ends = [delta + half, delta - half].map(|end| self.gain(end));
        ruling.estimate = Some(self.gain(delta));
        ruling.interval = Some([ends[0].min(ends[1]), ends[0].max(ends[1])]).filter(|ends| ends.iter().all(|end| end.is_finite()));
        ruling.smallest_detectable = Some(self.gain(half.max(self.margin)).abs()).filter(|size| size.is_finite());
        ruling.warnings = warnings;
        ruling
    }

    fn shifted(&self, away: &str) -> Ruling {
        let because = format!(
            "{}: the base arm runs the accepted build and stands at {away} against the baseline, outside the limits of its sessions ({} of \
             such sessions would): the environment shifted, so nothing is said of the candidate against it.",
            self.bucket.subject(),
            chance(LEVEL)
        );
        let next = "What is compared within this session stands. Find what changed on the machine, or accept new sessions.";
        self.bucket.settle(Verdict::EnvironmentShift, because, next)
    }

    fn because(&self, verdict: Verdict, delta: f64, half: f64) -> String {
        let unit = self.bucket.metric.unit.canonical();
        let tolerance = size(self.tolerance, self.scale, unit);
        let ends = [delta + half, delta - half].map(|end| self.gain(end));
        let ends = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let (gain, ends) = number::gain(self.gain(delta), Some(ends), self.tolerance, self.scale, unit);
        let found = format!(
            "{}: gain {gain}, interval {}, against {} accepted sessions",
            self.bucket.subject(),
            ends.unwrap_or_default(),
            self.sessions.len()
        );
        let what = match verdict {
            Verdict::Regression => format!(
                "worse than such sessions are by chance (in {} of them) and beyond the tolerance of {tolerance}",
                chance(LEVEL)
            ),
            Verdict::SmallSlowdown => format!("worse than such sessions are by chance, but within the tolerance of {tolerance}"),
            Verdict::Inconclusive => format!("beyond the tolerance of {tolerance}, but the sessions lie too far apart to say so"),
            Verdict::Improvement => format!("better than such sessions are by chance and by more than the tolerance of {tolerance}"),
            _ => format!("within the tolerance of {tolerance} and the limits of the sessions"),
        };
        format!("{found}: {what}.")
    }

    fn next(&self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Regression if self.base.is_some() => {
                "Look at the comparison with the base arm: it tells this change from earlier ones."
            }
            Verdict::Regression => "Find what made it slower; or, if it is meant, accept it with --because.",
            Verdict::SmallSlowdown => "Nothing to do now; such steps add up, so look at it before the next one.",
            Verdict::Inconclusive => "Compare with a base arm (--base REV): that sees far smaller changes than sessions of other days.",
            Verdict::Improvement => "Accept the session, so that the gain is held from now on.",
            _ => "Nothing to do.",
        }
    }

    fn age(&self) -> Option<String> {
        let used = self.reference.used;
        let newest = &self.sessions.first()?.line.date;
        let days = days_between(newest, &used.today)?;
        (days > i64::from(used.stale_after_days)).then(|| {
            let limit = used.stale_after_days;
            format!("the newest accepted session is {days} days old ({newest}, more than {limit} days): accept a newer one")
        })
    }

    /// How far the session has moved from the first of its line of sessions, and whether that is more than the tolerance.
    fn creep(&self) -> Option<(String, bool)> {
        let oldest = self.sessions.last()?;
        let anchor = oldest.line.anchor();
        let (date, median) = match &anchor {
            Some(anchor) => (
                anchor.date.as_str(),
                convert(anchor.median, oldest.line.unit, self.bucket.metric.unit)?,
            ),
            None if self.sessions.len() < 2 => return None,
            None => (oldest.line.date.as_str(), oldest.median),
        };
        let crept = self.candidate - response(&[median], &self.bucket.metric, self.scale)?;
        let shown = self.shown(crept);
        let since = format!("{shown} since the anchor, the session of {date} with {}", figure(median));
        Some((since, crept > self.margin + SLACK))
    }

    /// What no clock can be believed below, in response units.
    fn believable(&self) -> f64 {
        match self.scale {
            Scale::Pct => self.bucket.plan.min_run_cv,
            Scale::Pp | Scale::Abs => self.bucket.metric.resolution.unwrap_or(0.0),
        }
    }

    fn range(&self) -> Option<Range> {
        let medians: Vec<f64> = self.sessions.iter().map(|session| session.median).collect();
        let spread = summary::summarise(&medians)?;
        Some(Range {
            n: medians.len() as u32,
            min: spread.min,
            median: spread.median,
            max: spread.max,
        })
    }

    fn median_gain_pct(&self, ruling: &Ruling) -> Option<f64> {
        if ruling.verdict == Verdict::EnvironmentShift {
            return None;
        }
        self.bucket.gain_pct(ruling.base?.median, ruling.candidate?.median)
    }

    fn gain(&self, delta: f64) -> f64 {
        gain(delta, self.scale, self.bucket.metric.better)
    }

    fn shown(&self, delta: f64) -> String {
        difference(self.gain(delta), self.scale, self.bucket.metric.unit.canonical())
    }
}
