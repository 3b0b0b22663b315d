//! A gate: what is declared before anything is measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::{Metric, Tolerance};

/// What a rule compares the candidate with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// The base arm of the same session.
    Base,
    /// The committed baseline of other sessions.
    Baseline,
}

/// One declared rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// The rule kind's name: `hold`, `exact`, `spread`.
    pub kind: String,
    /// The reference.
    pub against: Against,
    /// The metric it speaks of; `*` for every metric with the role `gate`.
    #[serde(default = "every")]
    pub metric: String,
    /// The fixture it speaks of; `*` for every one.
    #[serde(default = "every")]
    pub fixture: String,
    /// Whether the outcome of the record depends on it.
    pub required: bool,
    /// Where it was declared: file and line, or `command line`.
    pub at: String,
    /// `hold`, `exact`: the tolerance, where it is not the metric's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Tolerance>,
    /// `spread`: the largest allowed range over median of the candidate's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Tolerance>,
}

fn every() -> String {
    "*".to_owned()
}

/// A gate as it stood when the measurement was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Its name; `command-line` where options declared it.
    pub name: String,
    /// Where it was read from.
    pub from: String,
    /// `b3:` and the BLAKE3 of `text`.
    pub digest: String,
    /// The declaration itself.
    pub text: String,
    /// What is measured.
    pub metrics: Vec<Metric>,
    /// What is required of it.
    pub rules: Vec<Rule>,
    /// Identity fields that must be known, or the evidence is exploratory.
    pub complete: Vec<String>,
}
