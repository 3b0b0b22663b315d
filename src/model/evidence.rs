//! Samples and where they came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::eval::evidence::Scores;
use super::sample::Sample;

/// Why no further sample will come although the plan had room for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Ended {
    /// The declared length of the session was reached.
    SessionLimit {
        /// The limit in seconds.
        limit_s: f64,
    },
    /// The session would have had room for too few blocks to decide anything.
    TooFewBlocks {
        /// How many whole blocks fit the limit, by the duration of the warm-up.
        fit: u32,
        /// How many the plan needs at least.
        needed: u32,
        /// The limit in seconds.
        limit_s: f64,
    },
    /// A signal ended the run.
    Cancelled {
        /// `SIGINT` or `SIGTERM`.
        signal: String,
    },
    /// The tool could not go on; what it had is kept.
    Error {
        /// What happened.
        what: String,
    },
}

/// Samples and where they came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// `run` where `gate` measured, `ingest` where another tool did.
    pub source: String,
    /// Every sample in the order in which it was taken: warm-ups, failures, retries and voids included.
    pub samples: Vec<Sample>,
    /// Set where the session ended before its plan did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Scores that a harness gave, of the base and of the candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
}
