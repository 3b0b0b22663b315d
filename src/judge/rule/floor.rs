//! `floor`: the candidate's median must reach a declared figure, or a share of a baseline line. No statistics: a floor is a floor.

use super::{Bucket, Kind};
use crate::judge::reference::{Found, Reference, historical, session};
use crate::judge::summary::median;
use crate::model::gate::Bound;
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::metric::{Better, Scale};
use crate::model::number::{count, figure};
use crate::model::sample::Arm;
use crate::model::text::plain_line;

/// Bounds the candidate's median.
pub const KIND: Kind = Kind {
    name: "floor",
    about: "the candidate's median reaches `at_least`, or stays within `at_most`: a figure, or a share of the base arm's median, or of the historical \
            or current lines of the baseline; nothing is rounded",
    settled: |bucket| bucket.needs_no_more(),
    judge,
};

/// What a binary fraction may be off at a tie, relative.
const SLACK: f64 = 1e-9;

/// A bound in the metric's unit, and how it came about.
struct Limit<'a> {
    value: f64,
    least: bool,
    /// What it is a share of, in words and in the metric's unit; none for a plain figure.
    share_of: Option<(String, f64)>,
    /// The statistic of the reference, where it is not a median.
    stat: Option<&'a str>,
    /// Whether it is a share of what the base arm gave in this session.
    of_base: bool,
}

fn judge(bucket: &Bucket<'_>) -> Ruling {
    let ruling = bucket.blocked().unwrap_or_else(|| answer(bucket));
    let bounds = [&bucket.rule.at_least, &bucket.rule.at_most];
    if bounds.iter().any(|bound| matches!(bound, Some(Bound::Base { .. }))) {
        return ruling;
    }
    Ruling { base: None, ..ruling }
}

fn answer(bucket: &Bucket<'_>) -> Ruling {
    if let Some(ruling) = bucket.unfinished() {
        return ruling;
    }
    let bounds = [(true, bucket.rule.at_least.as_ref()), (false, bucket.rule.at_most.as_ref())];
    let mut limits = Vec::new();
    for (least, bound) in bounds.into_iter().filter_map(|(least, bound)| Some((least, bound?))) {
        match limit(bucket, least, bound) {
            Ok(limit) => limits.push(limit),
            Err(ruling) => return *ruling,
        }
    }
    let values = bucket.candidate_values();
    match median(&mut values.clone()) {
        Some(observed) if !limits.is_empty() => compare(bucket, &limits, observed, values.len()),
        _ => {
            let because = format!("The rule on {} declares neither `at_least` nor `at_most`.", bucket.subject());
            let mut ruling = bucket.settle(Verdict::Incomparable, because, "Declare the floor.");
            ruling.outcome = Outcome::Error;
            ruling
        }
    }
}

fn limit<'a>(bucket: &Bucket<'a>, least: bool, bound: &Bound) -> Result<Limit<'a>, Box<Ruling>> {
    let (share_pct, share) = match bound {
        Bound::Value { value } => {
            return Ok(Limit {
                value: *value,
                least,
                share_of: None,
                stat: None,
                of_base: false,
            });
        }
        Bound::Base { share_pct } => (*share_pct, of_base(bucket)?),
        Bound::Historical { share_pct } => (*share_pct, of_historical(bucket)?),
        Bound::Baseline { share_pct } => (*share_pct, of_current(bucket)?),
    };
    let (what, value, stat) = share;
    Ok(Limit {
        // The product first: 14.9 · 95 is exact more often than 14.9 · 0.95.
        value: value * share_pct / 100.0,
        least,
        share_of: Some((format!("{share_pct} % of the {what}"), value)),
        stat,
        of_base: matches!(bound, Bound::Base { .. }),
    })
}

type Share<'a> = Result<(String, f64, Option<&'a str>), Box<Ruling>>;

fn of_base<'a>(bucket: &Bucket<'a>) -> Share<'a> {
    let mut values = bucket.values(Arm::A, bucket.blocks().len());
    let runs = count(values.len() as u64, "run");
    match median(&mut values) {
        Some(middle) => Ok((
            format!("median {} {} of {runs} of the base", figure(middle), bucket.metric.unit),
            middle,
            None,
        )),
        None => {
            let because = format!(
                "{}: the bound is a share of the base arm's median, and there is no base arm.",
                bucket.subject()
            );
            Err(Box::new(bucket.settle(Verdict::NotMeasured, because, "Measure both arms.")))
        }
    }
}

fn of_historical<'a>(bucket: &Bucket<'a>) -> Share<'a> {
    let name = (bucket.course.cell.fixture.as_str(), bucket.metric.name.as_str());
    let reference = named(bucket)?;
    let lacks = |why: String| Box::new(lacking(bucket, reference, &why));
    let file = &reference.used.file;
    if reference.arch.as_ref() != Some(&reference.used.arch) {
        return Err(lacks(format!("{file} is of another architecture than this machine")));
    }
    let line = reference
        .historical(name.0, name.1)
        .ok_or_else(|| lacks(format!("{file} has no historical line of it")))?;
    let old = session(line, &bucket.metric, Scale::Abs).map_err(|why| Box::new(incomparable(bucket, &why)))?;
    Ok((historical(line), old.median, line.stat()))
}

fn of_current<'a>(bucket: &Bucket<'a>) -> Share<'a> {
    let reference = named(bucket)?;
    let lines = match reference.find(&bucket.course.cell.fixture, &bucket.metric.name) {
        Found::Sessions(lines) => lines,
        Found::Stale(_) => {
            let because = format!("{}: the baseline was measured under another identity.", bucket.subject());
            let next = "Measure again as the baseline was, or accept new sessions.";
            return Err(Box::new(bucket.settle(Verdict::StaleBaseline, because, next)));
        }
        Found::New => return Err(Box::new(lacking(bucket, reference, "the baseline has no session of it"))),
        Found::Nothing(why) => return Err(Box::new(lacking(bucket, reference, &why))),
    };
    let sessions = lines.iter().map(|line| session(line, &bucket.metric, Scale::Abs));
    let medians = sessions
        .map(|session| session.map(|session| session.median))
        .collect::<Result<Vec<f64>, _>>();
    let mut medians = medians.map_err(|why| Box::new(incomparable(bucket, &why)))?;
    let count = medians.len();
    let middle = median(&mut medians).ok_or_else(|| Box::new(lacking(bucket, reference, "the baseline has no session of it")))?;
    let unit = bucket.metric.unit;
    Ok((
        format!("median {} {unit} of {count} accepted sessions", figure(middle)),
        middle,
        None,
    ))
}

fn named<'a>(bucket: &Bucket<'a>) -> Result<&'a Reference<'a>, Box<Ruling>> {
    bucket.reference.ok_or_else(|| {
        let because = format!("{}: the floor is a share of a baseline, and none was named.", bucket.subject());
        Box::new(bucket.settle(Verdict::NotMeasured, because, "Name it: --baseline baselines/ARCH.txt."))
    })
}

fn lacking(bucket: &Bucket<'_>, reference: &Reference<'_>, why: &str) -> Ruling {
    let because = format!("{}: there is nothing to take a share of: {why}.", bucket.subject());
    let next = format!(
        "Declare the floor as a figure, or put a line into {}: `gate baseline import`, `gate baseline accept`.",
        plain_line(&reference.own_file(), 200)
    );
    bucket.settle(Verdict::NotMeasured, because, &next)
}

fn incomparable(bucket: &Bucket<'_>, why: &str) -> Ruling {
    let because = format!("{}: {why}.", bucket.subject());
    bucket.settle(Verdict::Incomparable, because, "Declare the metric as the baseline has it.")
}

/// Whether a figure keeps a limit; a tie does.
fn keeps(limit: &Limit<'_>, observed: f64) -> bool {
    let slack = SLACK * limit.value.abs();
    if limit.least {
        observed >= limit.value - slack
    } else {
        observed <= limit.value + slack
    }
}

fn compare(bucket: &Bucket<'_>, limits: &[Limit<'_>], observed: f64, runs: usize) -> Ruling {
    let unit = bucket.metric.unit;
    let broken = limits.iter().find(|limit| !keeps(limit, observed));
    let shown: Vec<String> = limits.iter().map(|limit| shown(limit, unit.canonical())).collect();
    let because = format!(
        "{}: the median of {} is {observed} {unit}, {} {}.",
        bucket.subject(),
        count(runs as u64, "run"),
        if broken.is_some() { "which breaks" } else { "which keeps" },
        shown.join(" and ")
    );
    let base = median(&mut bucket.values(Arm::A, bucket.course.blocks.len()));
    let fails_too = |limit: &Limit<'_>| limit.share_of.is_some() && !limit.of_base && base.is_some_and(|base| !keeps(limit, base));
    let mut ruling = match broken {
        None => bucket.settle(Verdict::NoRegression, because, "Nothing to do."),
        Some(limit) if fails_too(limit) => {
            let because = format!("{because} The base arm breaks it too, so it is not this change that does.");
            let next = "Find out whether the environment or an earlier merge did, and accept new sessions or mend it.";
            bucket.settle(Verdict::StaleBaseline, because, next)
        }
        Some(_) => bucket.settle(
            Verdict::Regression,
            because,
            "Find what made it worse; a floor is lowered by a reviewed change only.",
        ),
    };
    for limit in limits {
        let Some((_, reference)) = &limit.share_of else { continue };
        let gain_pct = bucket.gain_pct(*reference, observed);
        ruling.warnings.extend(gain_pct.and_then(|gain_pct| bucket.suspicious(gain_pct)));
        if let Some(stat) = limit.stat {
            let stat = plain_line(stat, 60);
            let optimistic = if bucket.metric.better == Better::Higher {
                "higher"
            } else {
                "lower"
            };
            ruling.warnings.push(format!(
                "the reference is a {stat}, and a median is compared with it: a {stat} is {optimistic} than a median of the same runs"
            ));
        }
    }
    ruling
}

fn shown(limit: &Limit<'_>, unit: &str) -> String {
    let side = if limit.least { "at least" } else { "at most" };
    match &limit.share_of {
        Some((what, _)) => format!("{side} {} {unit} ({what})", limit.value),
        None => format!("{side} {} {unit}", limit.value),
    }
}
