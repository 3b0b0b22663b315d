//! Scores of a base and of a candidate, with where they come from: all that the rule of scores needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Results;
use crate::model::gate::scores::ModelName;

/// What one harness run gave, and where it was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreRun {
    /// The file as a person names it.
    pub file: String,
    /// When the run was made, as its file says; of an accepted run its day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The first 12 hex digits of the record that it was accepted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The model, as far as the file names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    /// What it says.
    pub results: Results,
    /// What a reader should know of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Where the base's scores come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BaseKind {
    /// There are none.
    None,
    /// Accepted runs of a committed baseline.
    Baseline,
    /// Results that were named for this comparison.
    Results,
}

/// Scores of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scores {
    /// Where the base's come from.
    pub base_kind: BaseKind,
    /// The runs of the base; several of a baseline are judged by the middle of each score.
    pub base: Vec<ScoreRun>,
    /// The run that is judged.
    pub candidate: ScoreRun,
    /// The day of the judgement, `YYYY-MM-DD`, UTC.
    pub today: String,
    /// From which age on a run of the base is called old, in days.
    pub stale_after_days: u32,
}
