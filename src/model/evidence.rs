//! Samples and where they came from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// The machine is unfit to measure on, or could not be told fit: nothing was measured.
    Unfit {
        /// The reason, and what to do.
        what: String,
    },
    /// The tool could not go on; what it had is kept.
    Error {
        /// What happened.
        what: String,
    },
}

/// The source of results that another tool measured.
pub const INGEST: &str = "ingest";

/// What came of bringing the clocks up before the first process; no part of any figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUp {
    /// The helper.
    pub helper: String,
    /// How often it worked.
    pub rounds: u32,
    /// Seconds that all of it took.
    pub took_s: f64,
    /// Whether the clocks were steady at the end; absent where nobody could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
    /// What that rests on, or why it cannot be told.
    pub why: String,
    /// Why the helper gave no answer, where it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
    /// What it answered last.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub found: Map<String, Value>,
}

/// Samples and where they came from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// `run` where `gate` measured, `ingest` where another tool did.
    pub source: String,
    /// How the clocks were brought up, once a run of the session, where a helper is declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warmups: Vec<WarmUp>,
    /// Every sample in the order in which it was taken: warm-ups, failures, retries and voids included.
    pub samples: Vec<Sample>,
    /// Set where the session ended before its plan did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Scores that a harness gave, of the base and of the candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<Scores>,
}

impl Evidence {
    /// Whether another tool measured: its runs follow no plan of ours, and none of them is tried again.
    pub fn is_ingested(&self) -> bool {
        self.source == INGEST
    }
}
