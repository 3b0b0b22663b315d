//! What the answer of some records does to a change on GitHub: one table, read by the comment, the status and the check run.

use crate::model::github::{Conclusion, State};
use crate::model::judgement::{Disposition, Outcome, Verdict};
use crate::model::record::Record;
use crate::model::summary::Summary;

/// What an answer does to a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// As a commit status.
    pub state: State,
    /// As a check run.
    pub conclusion: Conclusion,
    /// Which policy that is, where the outcome's word does not say it; one phrase.
    pub why: Option<&'static str>,
    /// Whether a commit status is set at all.
    pub is_posted: bool,
}

impl Policy {
    /// What these records do to a change; none at all is an error, because nothing was reported.
    ///
    /// GitHub lets a required check pass that is neutral: only what is declared not to decide is neutral.
    pub fn of(records: &[Record]) -> Self {
        let all = |disposition| records.iter().all(|record| record.judgement.disposition == disposition);
        let summary = Summary::of(records);
        match summary.outcome {
            _ if records.is_empty() => Self::says(State::Error, Conclusion::Failure, Some("there is no report")),
            // What is kept for the past says nothing of the commit that stands here.
            _ if all(Disposition::Historical) => Self {
                is_posted: false,
                ..Self::says(
                    State::Success,
                    Conclusion::Neutral,
                    Some("historical: it says nothing of this change"),
                )
            },
            Outcome::Violation | Outcome::Fail => Self::says(State::Failure, Conclusion::Failure, None),
            Outcome::Error if records.iter().any(|record| record.cancelled.is_some()) => {
                Self::says(State::Error, Conclusion::Cancelled, Some("the run was cancelled"))
            }
            Outcome::Error => Self::says(State::Error, Conclusion::Failure, Some("the question could not be put")),
            Outcome::Inconclusive if summary.advisory => Self::says(
                State::Success,
                Conclusion::Neutral,
                Some("advisory: the gate declares that an inconclusive answer does not block"),
            ),
            Outcome::Inconclusive => Self::says(State::Failure, Conclusion::Failure, Some("no answer is no pass")),
            // It would have blocked, whatever it is worth.
            Outcome::Pass if records.iter().any(waives) => Self::says(
                State::Success,
                Conclusion::Success,
                Some("waived: needs a code owner's review of gates/waivers"),
            ),
            Outcome::Pass if all(Disposition::Exploratory) => {
                Self::says(State::Success, Conclusion::Neutral, Some("exploratory: not gating"))
            }
            Outcome::Pass if records.iter().any(promotes) => {
                Self::says(State::Success, Conclusion::Success, Some("a candidate for promotion"))
            }
            Outcome::Pass => Self::says(State::Success, Conclusion::Success, None),
        }
    }

    /// Whether the change is held up where the check or status is required.
    pub fn blocks(&self) -> bool {
        self.state != State::Success
    }

    const fn says(state: State, conclusion: Conclusion, why: Option<&'static str>) -> Self {
        Self {
            state,
            conclusion,
            why,
            is_posted: true,
        }
    }
}

fn waives(record: &Record) -> bool {
    record.judgement.verdicts.iter().any(|ruling| ruling.verdict == Verdict::Waived)
}

fn promotes(record: &Record) -> bool {
    record.judgement.disposition == Disposition::PromotionCandidate
}
