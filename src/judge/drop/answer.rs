//! The argument about one score, from "is it there" to a verdict.

use super::comparable::{Differs, Shares, differences, settings, shares, unstated};
use super::open;
use super::points::{gain_pp, settled};
use super::words::{self, Told};
use super::{Answer, Demand, PairedResult, Test, Threshold};
use crate::judge::paired::{ALPHA, Flips, SCORE_TEST_FROM, Shown, Withheld, join, shown};
use crate::judge::unpaired::false_alarm;
use crate::model::eval::{Aim, Extent, Key, Outcomes, Results, Score};
use crate::model::judgement::Verdict;
use crate::model::text::plain_line;

/// One score of the base, and all that may be said about it.
pub(super) struct Question<'a> {
    pub(super) demand: &'a Demand,
    pub(super) base: &'a Results,
    pub(super) candidate: &'a Results,
    pub(super) score: &'a Score,
    pub(super) counted: bool,
}

/// The answer, and which scores of the candidate it speaks of besides its own.
pub(super) struct Answered<'a> {
    pub(super) answer: Answer,
    pub(super) consumed: Vec<&'a Key>,
}

pub(super) fn of<'a>(question: &Question<'a>) -> Answered<'a> {
    let mut answer = blank(question.score, question.counted);
    if !question.counted {
        answer
            .notes
            .push("a group: its tasks count, and its own score is only shown".to_owned());
    }
    let mut consumed = Vec::new();
    match counterpart(question, &mut consumed) {
        Ok((other, values)) => compare(question, other, values, &mut answer),
        Err((verdict, Differs { why, next })) => settle(&mut answer, verdict, format!("{}: {why}.", question.score.key), next),
    }
    if question.demand.threshold == Threshold::Disabled {
        answer.verdict = Verdict::RuleDisabled;
        answer.because = format!("The rule is switched off, so it has no answer. {}", answer.because);
        "Declare a tolerance such as 1pp.".clone_into(&mut answer.next);
    }
    Answered { answer, consumed }
}

/// What the candidate alone has.
pub(super) fn new(score: &Score, counted: bool) -> Answer {
    let mut answer = blank(score, counted);
    let top = score.extent.map(Extent::top).filter(|top| top.is_finite());
    answer.candidate_pp = score.value.zip(top).map(|(value, top)| 100.0 * value / top);
    answer.items = score.items;
    let because = format!(
        "{}: only the candidate has it, so there is nothing to compare it with yet.",
        score.key
    );
    settle(&mut answer, Verdict::New, because, "Accept a baseline that has it.");
    answer
}

fn blank(score: &Score, counted: bool) -> Answer {
    Answer {
        key: score.key.clone(),
        verdict: Verdict::NotMeasured,
        counted,
        base_pp: None,
        candidate_pp: None,
        gain_pp: None,
        open: None,
        items: None,
        se_pp: None,
        false_alarm: None,
        paired: None,
        withheld: None,
        because: String::new(),
        next: String::new(),
        notes: Vec::new(),
    }
}

pub(super) fn settle(answer: &mut Answer, verdict: Verdict, because: String, next: &str) {
    answer.verdict = verdict;
    answer.because = because;
    next.clone_into(&mut answer.next);
}

type Obstacle = (Verdict, Differs);

/// The candidate's score of the same name, with the values of both.
fn counterpart<'a>(question: &Question<'a>, consumed: &mut Vec<&'a Key>) -> Result<(&'a Score, [f64; 2]), Obstacle> {
    let key = &question.score.key;
    let of = |results: &'a Results| results.scores.iter().filter(move |score| score.key == *key);
    for (side, results) in [("base", question.base), ("candidate", question.candidate)] {
        let times = of(results).count();
        if times > 1 {
            let why = format!("it stands {times} times in the {side}, and nothing says which one holds");
            return Err((Verdict::Incomparable, Differs { why, next: "Keep one." }));
        }
    }
    let Some(other) = of(question.candidate).next() else {
        return Err(lacking(question, consumed));
    };
    let number = |score: &Score, side: &str| {
        score.value.filter(|value| value.is_finite()).ok_or_else(|| {
            let why = score.missing.as_ref().map_or("no value is given", |missing| missing.why.as_str());
            let why = format!("the {side} has no score: {}", plain_line(why, 120));
            let next = "Run the task again: what was not measured is no pass.";
            (Verdict::NotMeasured, Differs { why, next })
        })
    };
    Ok((other, [number(question.score, "base")?, number(other, "candidate")?]))
}

/// The candidate has no score of this name: taken through another filter, or not measured.
fn lacking<'a>(question: &Question<'a>, consumed: &mut Vec<&'a Key>) -> Obstacle {
    let key = &question.score.key;
    let same = |other: &&Score| other.key.task == key.task && other.key.metric == key.metric;
    let in_base = |other: &&Score| question.base.scores.iter().any(|score| score.key == other.key);
    let others: Vec<&Key> = question
        .candidate
        .scores
        .iter()
        .filter(same)
        .filter(|other| !in_base(other))
        .map(|other| &other.key)
        .collect();
    if others.is_empty() {
        let why = "the base has it and the candidate does not: not measured, which is no pass".to_owned();
        let next = "Run the task on the candidate.";
        return (Verdict::NotMeasured, Differs { why, next });
    }
    let named = |key: &Key| {
        if key.filter.is_empty() {
            "none stated".to_owned()
        } else {
            key.filter.clone()
        }
    };
    let filters: Vec<String> = others.iter().map(|other| plain_line(&named(other), 60)).collect();
    let why = format!(
        "the two were not made alike: filter: {} in the base, {} in the candidate",
        plain_line(&named(key), 60),
        filters.join(", ")
    );
    consumed.extend(others);
    let next = "Compare scores that were taken through the same filter.";
    (Verdict::Incomparable, Differs { why, next })
}

fn compare(question: &Question<'_>, other: &Score, values: [f64; 2], answer: &mut Answer) {
    let (score, demand) = (question.score, question.demand);
    // A group's setup is that of its members, which are compared themselves.
    let differing = if question.counted {
        differences(score, other, demand.strict_config)
    } else {
        None
    };
    answer.items = score.items;
    if differing.is_none() && [score, other].iter().any(|score| score.extent == Some(Extent::Open)) {
        return open::compare(question, other, values, answer);
    }
    let shares = match differing.map_or_else(|| shares(values, score, other), Err) {
        Ok(shares) => shares,
        Err(Differs { why, next }) => return settle(answer, Verdict::Incomparable, format!("{}: {why}.", score.key), next),
    };
    let tolerance = match demand.threshold {
        Threshold::Points(points) => points,
        Threshold::Percent(percent) => percent * shares.base.abs(),
        Threshold::Disabled => f64::INFINITY,
    };
    if let Threshold::Percent(percent) = demand.threshold {
        answer.notes.push(words::of_the_base(percent, tolerance));
    }
    let gain = settled(gain_pp(&shares, score.items), tolerance);
    [answer.base_pp, answer.candidate_pp, answer.gain_pp] = [100.0 * shares.base, 100.0 * shares.candidate, gain].map(Some);
    let errors = errors(score, other, &shares);
    answer.se_pp = errors.map(|[one, other]| one.hypot(other));
    if !matches!(shares.aim, Aim::Target(_)) {
        pair(question, gain, tolerance, answer);
    }
    answer.false_alarm = answer
        .se_pp
        .filter(|_| tolerance.is_finite())
        .and_then(|se| false_alarm(tolerance, se));
    notes(score, other, tolerance, answer);
    if let Some((verdict, because, next)) = too_few(question, other) {
        return settle(answer, verdict, because, next);
    }
    let (verdict, lacking) = verdict(demand.test, gain, tolerance, answer.paired.as_ref());
    let told = Told {
        key: &score.key,
        shares: &shares,
        gain,
        tolerance,
        items: score.items,
        errors,
        paired_error: answer.paired.is_some(),
        se: answer.se_pp,
    };
    let because = match &lacking {
        Some(lacking) => format!("{} {lacking}", told.sentence()),
        None => told.sentence(),
    };
    settle(answer, verdict, because, words::next(verdict, lacking.is_some()));
}

/// What no verdict rests on: a score over no item, and a part of the task where only the whole counts.
pub(super) fn too_few(question: &Question<'_>, other: &Score) -> Option<(Verdict, String, &'static str)> {
    let score = question.score;
    if score.items == Some(0) {
        let because = format!("{}: a score over no items at all.", score.key);
        return Some((Verdict::NotMeasured, because, "Run the task again."));
    }
    let limited = score.is_limited() || other.is_limited();
    (limited && !question.demand.limited).then(|| {
        let next = "Run the whole task, or declare that limited runs are judged.";
        (Verdict::Inconclusive, words::limited(score), next)
    })
}

/// The verdict, and, where the paired test has the last word and none, what it lacks.
fn verdict(test: Test, gain: f64, tolerance: f64, paired: Option<&PairedResult>) -> (Verdict, Option<String>) {
    if gain >= -tolerance {
        let better = gain > tolerance;
        return (if better { Verdict::Improvement } else { Verdict::NoRegression }, None);
    }
    if test == Test::Point {
        return (Verdict::Regression, None);
    }
    match paired {
        Some(paired) if matches!(paired.shown, Shown::BeyondMargin | Shown::Worse) => (Verdict::Regression, None),
        Some(paired) => (Verdict::Inconclusive, Some(words::not_shown(paired, ALPHA))),
        None => {
            let lacks = "The rule wants the paired test too, and the answers to the single items are not at hand on both sides.";
            (Verdict::Inconclusive, Some(lacks.to_owned()))
        }
    }
}

/// Both standard errors in points; none where one is not stated or is 0, which says only that all answers were alike.
fn errors(base: &Score, candidate: &Score, shares: &Shares) -> Option<[f64; 2]> {
    let [from, to] = shares.tops;
    let error = |score: &Score, top: f64| {
        score
            .stderr
            .filter(|error| error.is_finite() && *error > 0.0)
            .map(|error| 100.0 * error / top)
    };
    Some([error(base, from)?, error(candidate, to)?])
}

/// Joins the single items, where both sides have them.
fn pair(question: &Question<'_>, gain: f64, tolerance: f64, answer: &mut Answer) {
    let key = &question.score.key;
    let of = |results: &'_ Results| results.outcomes.iter().position(|outcomes| outcomes.key == *key);
    let at = of(question.base).and_then(|at| question.base.outcomes.get(at));
    let Some((base, candidate)) = at.zip(of(question.candidate).and_then(|at| question.candidate.outcomes.get(at))) else {
        return;
    };
    match paired([base, candidate], question.score.items, gain, tolerance) {
        Ok((flips, result)) => {
            // Without a flip there is no estimate of the noise, not a noise of none.
            answer.se_pp = Some(100.0 * flips.noise()).filter(|se| *se > 0.0).or(answer.se_pp);
            answer.notes.push(words::paired(&result, tolerance));
            if flips.items < SCORE_TEST_FROM {
                answer.notes.push(words::too_small(flips.items, ALPHA));
            }
            answer.paired = Some(result);
        }
        Err(withheld) => {
            answer.notes.push(words::withheld(&withheld));
            answer.withheld = Some(withheld);
        }
    }
}

fn paired([base, candidate]: [&Outcomes; 2], items: Option<u64>, gain: f64, tolerance: f64) -> Result<(Flips, PairedResult), Withheld> {
    let flips = join(base, candidate)?;
    if let Some(items) = items.filter(|items| *items != flips.items) {
        let why = format!("the score is over {items} items and the outcomes are over {}", flips.items);
        return Err(Withheld::Unusable { why });
    }
    // Scores may be rounded, but not by half an answer.
    let net = 100.0 * flips.gain();
    if (net - gain).abs() > 50.0 / flips.items as f64 {
        let why = format!("the outcomes differ by {net:+.2} pp and the scores by {gain:+.2} pp, so they are not of this score");
        return Err(Withheld::Unusable { why });
    }
    let unusable = || Withheld::Unusable {
        why: "no test applies to the tolerance".to_owned(),
    };
    let result = PairedResult {
        lost: flips.lost,
        gained: flips.gained,
        items: flips.items,
        mcnemar: flips.mcnemar().ok_or_else(unusable)?,
        interval_pp: flips.interval(0.95).ok_or_else(unusable)?.map(|end| 100.0 * end),
        shown: shown(flips, tolerance / 100.0, ALPHA).ok_or_else(unusable)?,
    };
    Ok((flips, result))
}

fn notes(score: &Score, other: &Score, tolerance: f64, answer: &mut Answer) {
    let settings = settings(score, other);
    if !settings.is_empty() {
        answer.notes.push(words::settings_differ(&settings));
    }
    let unstated = unstated(score, other);
    if !unstated.is_empty() {
        answer.notes.push(words::unstated(&unstated));
    }
    for (side, score) in [("base", score), ("candidate", other)] {
        match score.stderr {
            Some(error) if error > 0.0 => {}
            Some(_) => answer.notes.push(format!(
                "the standard error of the {side} is 0: all its answers were alike, which does not make the score exact"
            )),
            None => answer.notes.push(format!("the standard error of the {side} is not reported")),
        }
    }
    if let Some(items) = score.items.filter(|items| *items > 0 && 100.0 / *items as f64 > tolerance) {
        answer.notes.push(format!("with {items} items a single answer fails the rule"));
    }
}
