//! A benchmark task may fall by no more than a tolerance in percentage points against its base: any task, never the mean.
//!
//! [`judge`] first asks whether the two scores of a task can be compared at all, then by how many points they differ, and only then what that shows.
//! A fall of exactly the tolerance passes. Nothing is rounded before it is compared, and no sentence contradicts its verdict.

mod answer;
mod comparable;
mod open;
mod points;
mod words;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::paired::{McNemar, Shown, Withheld};
use super::unpaired::{FromNoise, from_noise};
use crate::model::eval::{Key, Results};
use crate::model::judgement::{Outcome, Verdict};

pub use words::OF_THE_RUN;

pub use crate::model::gate::Test;

/// The tolerance where none is declared, in percentage points.
pub const DEFAULT_TOLERANCE_PP: f64 = 1.0;

/// How far a score may fall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// By so many percentage points, at least 0.
    Points(f64),
    /// By so many percent of the base's score, at least 0.
    Percent(f64),
    /// By any amount: the rule has no answer.
    Disabled,
}

impl Threshold {
    /// Reads the `threshold_pct` of a recipe, which counts percentage points: -1 lets a score fall by 1 point, and -100 switches the rule off.
    ///
    /// # Errors
    /// When it is not a finite number, or demands a gain.
    pub fn of_recipe(threshold_pct: f64) -> Result<Self, String> {
        if !threshold_pct.is_finite() {
            return Err(format!(
                "threshold_pct = {threshold_pct}: not a finite number: write -1.0 for 1 point"
            ));
        }
        if threshold_pct > 0.0 {
            return Err(format!(
                "threshold_pct = {threshold_pct}: demands a gain: write -{threshold_pct} to let a score fall by {threshold_pct} points"
            ));
        }
        Ok(if threshold_pct <= -100.0 {
            Self::Disabled
        } else {
            Self::Points(threshold_pct.abs())
        })
    }
}

/// The rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demand {
    /// How far a score may fall.
    pub threshold: Threshold,
    /// What a failure rests on.
    pub test: Test,
    /// Whether runs on a part of the items are judged, where both sides have the same limit.
    pub limited: bool,
    /// Whether a difference in any other setting makes two scores incomparable; else it is named beside the verdict.
    pub strict_config: bool,
}

impl Default for Demand {
    fn default() -> Self {
        Self {
            threshold: Threshold::Points(DEFAULT_TOLERANCE_PP),
            test: Test::Point,
            limited: false,
            strict_config: false,
        }
    }
}

/// What the items that both sides answered show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedResult {
    /// b: right before, wrong now.
    pub lost: u64,
    /// c: wrong before, right now.
    pub gained: u64,
    /// Items in all.
    pub items: u64,
    /// The exact tests.
    pub mcnemar: McNemar,
    /// The 95 % interval of the gain by the score test, in points.
    pub interval_pp: [f64; 2],
    /// What is shown about the tolerance.
    pub shown: Shown,
}

/// Two scores without an upper end, such as perplexities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Open {
    /// The base's value.
    pub base: f64,
    /// The candidate's value.
    pub candidate: f64,
    /// The gain in percent of the base: positive is better; none where the base is 0.
    pub gain_pct: Option<f64>,
}

/// What the rule says of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Which score.
    pub key: Key,
    /// The answer.
    pub verdict: Verdict,
    /// Whether it counts: the score of a group is shown beside those of its members, and does not.
    pub counted: bool,
    /// The base's score, in points of its scale: 0 to 100.
    pub base_pp: Option<f64>,
    /// The candidate's score, likewise.
    pub candidate_pp: Option<f64>,
    /// The gain in points: positive is better, whichever way the score is good.
    pub gain_pp: Option<f64>,
    /// What is compared where the score has no upper end, and so no points.
    pub open: Option<Open>,
    /// Items of each side.
    pub items: Option<u64>,
    /// The standard error of the gain in points: of both scores as if their items were different, or of the paired items.
    pub se_pp: Option<f64>,
    /// The chance that the task would fail if nothing had changed; none where no standard error is known.
    pub false_alarm: Option<f64>,
    /// What the single items show.
    pub paired: Option<PairedResult>,
    /// Why outcomes that are there are not used.
    pub withheld: Option<Withheld>,
    /// Why, in one sentence with the numbers.
    pub because: String,
    /// What to do next.
    pub next: String,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// What the rule says of all tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Failing tasks first, the worst of them first; then what has no answer; then what passes; what does not count last.
    pub answers: Vec<Answer>,
    /// How many tasks would fail if nothing had changed.
    pub from_noise: FromNoise,
    /// The same in a sentence, where there is something to say.
    pub noise: Option<String>,
}

impl Report {
    /// The tasks that fail, the worst first.
    pub fn failing(&self) -> impl Iterator<Item = &Answer> {
        let counted = self.answers.iter().filter(|answer| answer.counted);
        counted.filter(|answer| answer.verdict.outcome() == Outcome::Fail)
    }

    /// The gravest outcome of what counts. Where no task is on both sides, nothing was checked.
    pub fn outcome(&self) -> Outcome {
        let counted = self
            .answers
            .iter()
            .filter(|answer| answer.counted && answer.verdict != Verdict::New);
        counted
            .map(|answer| answer.verdict.outcome())
            .max()
            .unwrap_or(Outcome::Inconclusive)
    }
}

/// Judges every score of the base, and names what only the candidate has.
pub fn judge(demand: &Demand, base: &Results, candidate: &Results) -> Report {
    let shown_only = base.beside_members(&candidate.groups);
    let candidates_groups = candidate.beside_members(&base.groups);
    let mut answers: Vec<Answer> = Vec::new();
    let mut met: HashSet<&Key> = HashSet::new();
    for score in &base.scores {
        let counted = !shown_only.contains(score.key.task.as_str());
        let answer = answer::of(&answer::Question {
            demand,
            base,
            candidate,
            score,
            counted,
        });
        let repeated = !met.insert(&score.key);
        if !repeated {
            met.extend(answer.consumed);
            answers.push(answer.answer);
        }
    }
    for score in &candidate.scores {
        if met.insert(&score.key) {
            let counted = !candidates_groups.contains(score.key.task.as_str());
            answers.push(answer::new(score, counted));
        }
    }
    answers.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| worse_first(one, other)));
    let counted = || answers.iter().filter(|answer| answer.counted && answer.gain_pp.is_some());
    let chances: Vec<f64> = counted().filter_map(|answer| answer.false_alarm).collect();
    let from_noise = from_noise(&chances);
    Report {
        noise: words::noise(&from_noise, counted().count() - chances.len()),
        from_noise,
        answers,
    }
}

fn rank(answer: &Answer) -> (bool, u8) {
    let place = match answer.verdict.outcome() {
        Outcome::Violation | Outcome::Fail => 0,
        Outcome::Error | Outcome::Inconclusive => 1,
        Outcome::Pass if answer.verdict != Verdict::New => 2,
        Outcome::Pass => 3,
    };
    (!answer.counted, place)
}

fn worse_first(one: &Answer, other: &Answer) -> std::cmp::Ordering {
    let gain = |answer: &Answer| answer.gain_pp.unwrap_or(f64::INFINITY);
    gain(one).total_cmp(&gain(other)).then_with(|| one.key.cmp(&other.key))
}
