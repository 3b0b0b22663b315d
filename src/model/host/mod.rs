//! The machine: what its files say, and how fit its checks found it.

pub mod card;
pub mod difference;
pub mod facts;
pub mod machine;
pub mod profile;
pub mod seen;
pub mod smi;
pub mod visible;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The level of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As wanted.
    Pass,
    /// Worth knowing.
    Warn,
    /// Unfit.
    Fail,
    /// Could not be told.
    Unknown,
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check's id.
    pub check: String,
    /// How it ended.
    pub level: Level,
    /// What was seen.
    pub saw: String,
    /// What was wanted.
    pub wants: String,
    /// What to do.
    pub hint: String,
}

/// The machine as its checks found it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// One entry a check that ran.
    pub findings: Vec<Finding>,
    /// Read from a snapshot instead of from this machine.
    pub replayed: bool,
}
