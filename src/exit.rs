//! Every exit code with its meaning.

use crate::model::judgement::Outcome;
use crate::model::summary::Summary;

/// One exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The code.
    pub code: u8,
    /// The outcome that it stands for.
    pub word: &'static str,
    /// When it is given.
    pub means: &'static str,
}

/// Every required rule held.
pub const PASS: Exit = Exit {
    code: 0,
    word: "pass",
    means: "every required rule held (warnings are printed); or an inconclusive answer that the gate declares advisory",
};
/// A rule failed.
pub const FAIL: Exit = Exit {
    code: 1,
    word: "fail",
    means: "a rule failed: regression, candidate crashed, candidate tripped the host's limits",
};
/// The tool could not do its work.
pub const ERROR: Exit = Exit {
    code: 2,
    word: "error",
    means: "the tool could not do its work: usage, configuration, unreadable input, host unfit, arm A does not run (after one retry)",
};
/// A required question has no answer.
pub const INCONCLUSIVE: Exit = Exit {
    code: 3,
    word: "inconclusive",
    means: "a required question has no answer: too noisy, not measured, stale or foreign baseline, nothing checked",
};
/// Integrity or policy.
pub const VIOLATION: Exit = Exit {
    code: 4,
    word: "violation",
    means: "integrity: a broken seal or chain, or a stored verdict that its own evidence does not give",
};

/// Every exit code, in order. A panic is 101 and a signal 128 + its number, as everywhere.
pub const ALL: [Exit; 5] = [PASS, FAIL, ERROR, INCONCLUSIVE, VIOLATION];

/// The exit code of an outcome.
pub const fn of(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Pass => PASS,
        Outcome::Fail => FAIL,
        Outcome::Error => ERROR,
        Outcome::Inconclusive => INCONCLUSIVE,
        Outcome::Violation => VIOLATION,
    }
}

/// The exit code of a summary.
pub const fn of_summary(summary: Summary) -> Exit {
    if summary.advisory { PASS } else { of(summary.outcome) }
}
