//! A figure is a value, not measured, or failed; what is missing keeps its reason and is never a zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody gave a value.
    NotMeasured,
    /// A value was given that cannot be used.
    Failed,
}

/// A missing value with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Not measured, or failed.
    pub state: State,
    /// The reason, one phrase.
    pub why: String,
}

impl Missing {
    /// Nobody gave a value, because of `why`.
    pub fn not_measured(why: impl Into<String>) -> Self {
        Self {
            state: State::NotMeasured,
            why: why.into(),
        }
    }

    /// What was given cannot be used, because of `why`.
    pub fn failed(why: impl Into<String>) -> Self {
        Self {
            state: State::Failed,
            why: why.into(),
        }
    }
}

/// What one process said about one metric.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// A finite number in the metric's unit.
    Value(f64),
    /// No number, and why.
    Missing(Missing),
}

impl Figure {
    /// Nobody gave a value, because of `why`.
    pub fn not_measured(why: impl Into<String>) -> Self {
        Self::Missing(Missing::not_measured(why))
    }

    /// What was given cannot be used, because of `why`.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Missing(Missing::failed(why))
    }
}

/// The figures of one process, split as a sample stores them: every wanted metric stands in exactly one of the two maps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Finite numbers, each in its metric's unit.
    pub values: BTreeMap<String, f64>,
    /// The standard errors that the tool states of some of them, in the same units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub standard_errors: BTreeMap<String, f64>,
    /// What is missing, and why.
    pub missing: BTreeMap<String, Missing>,
}

impl Reading {
    /// Whether this metric has its figure, a value or a reason.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.missing.contains_key(name)
    }

    /// Sets the figure of one metric, replacing an earlier one. A number that is not finite becomes a failure.
    pub fn set(&mut self, name: &str, figure: Figure) {
        self.values.remove(name);
        self.missing.remove(name);
        self.standard_errors.remove(name);
        match figure {
            Figure::Value(value) if value.is_finite() => {
                self.values.insert(name.to_owned(), value);
            }
            Figure::Value(_) => self.set(name, Figure::failed("not a finite number")),
            Figure::Missing(missing) => {
                self.missing.insert(name.to_owned(), missing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_stands_in_one_map_and_the_last_figure_wins() {
        let mut reading = Reading::default();
        reading.set("a", Figure::Value(1.0));
        reading.set("a", Figure::not_measured("no such series"));
        reading.set("b", Figure::Value(f64::NAN));
        reading.set("c", Figure::failed("x"));
        reading.set("c", Figure::Value(3.0));
        let expected = r#"{"values":{"c":3.0},"missing":{"a":{"state":"not_measured","why":"no such series"},"b":{"state":"failed","why":"not a finite number"}}}"#;
        assert_eq!(serde_json::to_string(&reading).unwrap(), expected);
    }
}
