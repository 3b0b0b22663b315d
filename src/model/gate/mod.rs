//! A gate: what is declared before anything is measured.

mod arms;
pub mod declaration;
mod fault;
pub mod file;
pub mod keys;
mod paths;
mod reading;
mod rules;
pub mod scores;
mod series;
mod session;
mod value;
pub mod waiver;
mod words;

pub use super::fault::Fault;
pub use file::{Known, parse};
pub use paths::matches;
pub use scores::{ScoreKeys, Test};

use std::collections::BTreeMap;

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
    /// `floor`: the least that the candidate's median must reach; `limit`: its estimate, beyond its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Bound>,
    /// `floor`: the most that the candidate's median may reach; `limit`: its estimate, beyond its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Bound>,
    /// `drop`: what a failure rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
}

/// A declared bound of a `floor` or `limit` rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Bound {
    /// A value in the metric's own unit: `140 tok/s`.
    Value {
        /// The value.
        value: f64,
    },
    /// A share of the historical line of the baseline: `95% of historical`.
    Historical {
        /// The share in percent.
        share_pct: f64,
    },
    /// A share of the base arm's median: `95% of base`.
    Base {
        /// The share in percent.
        share_pct: f64,
    },
    /// A share of the median of the current lines of the baseline: `95% of baseline`.
    Baseline {
        /// The share in percent.
        share_pct: f64,
    },
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
    /// Identity fields that must equal the baseline's, or it is stale.
    #[serde(default)]
    pub equal: Vec<String>,
    /// Fixtures that measure only some of the metrics; the others measure every one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, Vec<String>>,
    /// What is asked of scores; absent where the gate judges none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoreKeys>,
}

impl Gate {
    /// Whether a fixture measures a metric.
    pub fn measures(&self, fixture: &str, metric: &str) -> bool {
        self.measured
            .get(fixture)
            .is_none_or(|metrics| metrics.iter().any(|name| name == metric))
    }
}
