//! Scores without an upper end, such as perplexities: points say nothing of them, a share of the base does.

use super::answer::{Question, settle, too_few};
use super::comparable::{Differs, aim, settings};
use super::{Answer, Open, Threshold, words};
use crate::model::eval::{Aim, Score};
use crate::model::judgement::Verdict;
use crate::model::metric::Scale;
use crate::model::number::{figure, size, size_beside};

/// What a relative difference of binary fractions may be off, in percent.
const SLACK_PCT: f64 = 1e-9;

/// Compares two of them, where the rule says so in percent of the base.
pub(super) fn compare(question: &Question<'_>, other: &Score, [base, candidate]: [f64; 2], answer: &mut Answer) {
    let score = question.score;
    let mut open = Open {
        base,
        candidate,
        gain_pct: None,
    };
    answer.open = Some(open);
    let tolerance = match question.demand.threshold {
        Threshold::Percent(percent) => percent,
        Threshold::Disabled => f64::INFINITY,
        Threshold::Points(_) => {
            answer.counted = false;
            let because = format!(
                "{}: {} in the base, {} in the candidate: a score without an upper end has no percentage points, so the rule says nothing of it.",
                score.key,
                figure(base),
                figure(candidate)
            );
            let next = "Declare a tolerance in percent for it, such as 2%.";
            return settle(answer, Verdict::Incomparable, because, next);
        }
    };
    let better = match aim(score, other) {
        Ok(Aim::Higher) => candidate - base,
        Ok(Aim::Lower) => base - candidate,
        Ok(Aim::Target(_)) => {
            let because = format!("{}: a share of the base says nothing of a score with a target.", score.key);
            return settle(
                answer,
                Verdict::Incomparable,
                because,
                "Declare its scale, and a tolerance in points.",
            );
        }
        Err(Differs { why, next }) => return settle(answer, Verdict::Incomparable, format!("{}: {why}.", score.key), next),
    };
    let relative = Some(100.0 * better / base.abs()).filter(|relative| relative.is_finite());
    let relative = if better == 0.0 { Some(0.0) } else { relative };
    open.gain_pct = relative;
    answer.open = Some(open);
    let settings = settings(score, other);
    if !settings.is_empty() {
        answer.notes.push(words::settings_differ(&settings));
    }
    if let Some((verdict, because, next)) = too_few(question, other) {
        return settle(answer, verdict, because, next);
    }
    // A base of 0 has no relative change: any worsening is one.
    let lost = relative.map_or_else(|| -better.signum() * f64::INFINITY, |gain| -gain);
    let verdict = if lost > tolerance + SLACK_PCT {
        Verdict::Regression
    } else if lost < -tolerance {
        Verdict::Improvement
    } else {
        Verdict::NoRegression
    };
    let because = sentence(score, &open, better, tolerance);
    settle(answer, verdict, because, words::next(verdict, false));
}

fn sentence(score: &Score, open: &Open, better: f64, tolerance: f64) -> String {
    let Open { base, candidate, gain_pct } = open;
    let shown = |change: f64| size_beside(change.abs(), if tolerance.is_finite() { tolerance } else { 0.0 }, Scale::Pct, "");
    let change = match gain_pct {
        Some(0.0) => "no better and no worse".to_owned(),
        Some(gain) if *gain > 0.0 => format!("better by {}", shown(*gain)),
        Some(gain) if !tolerance.is_finite() => format!("worse by {}", shown(*gain)),
        Some(gain) if -gain > tolerance + SLACK_PCT => {
            format!(
                "worse by {}, more than the {} that is allowed",
                shown(*gain),
                size(tolerance, Scale::Pct, "")
            )
        }
        Some(gain) => format!("worse by {}, of {} that is allowed", shown(*gain), size(tolerance, Scale::Pct, "")),
        None => format!(
            "{}; relative to a base of 0 undefined",
            if better < 0.0 { "worse" } else { "better" }
        ),
    };
    let [base, candidate] = [*base, *candidate].map(figure);
    format!(
        "{}: {base} in the base, {candidate} in the candidate: {change}; its noise is not known.",
        score.key
    )
}
