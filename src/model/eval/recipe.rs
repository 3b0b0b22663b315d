//! The part of a mindXtrain recipe that speaks of evaluation: tasks, base model, and how far a score may fall.

use serde::Deserialize;

use crate::model::gate::scores::ModelName;
use crate::model::text::plain_line;

/// What `threshold_pct` is where a recipe does not state it: a fall of 1 point is allowed.
pub const DEFAULT_THRESHOLD_PCT: f64 = -1.0;
/// Longest recipe, in bytes.
pub const FILE_MAX_BYTES: u64 = 1 << 20;

/// What a recipe asks of scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The tasks of the harness; none means every one.
    pub tasks: Vec<String>,
    /// Examples before each question, where it states them.
    pub few_shot: Option<u32>,
    /// The model that the scores are compared with, where it names one.
    pub base_model: Option<ModelName>,
    /// Percentage points, in spite of its name: -1 lets a score fall by 1 point.
    pub threshold_pct: f64,
}

#[derive(Deserialize)]
struct File {
    eval: Option<Eval>,
}

#[derive(Deserialize)]
struct Eval {
    harness: Option<Harness>,
    regression: Option<Regression>,
}

#[derive(Deserialize)]
struct Harness {
    tasks: Option<Vec<String>>,
    fewshot: Option<u32>,
}

#[derive(Deserialize)]
struct Regression {
    baseline: Option<String>,
    threshold_pct: Option<f64>,
}

/// Reads a recipe. `file` is what messages call it.
///
/// # Errors
/// Where the YAML is broken, with line and column, or it asks nothing of scores.
pub fn parse(text: &str, file: &str) -> Result<Recipe, String> {
    let read: File = serde_saphyr::from_str(text).map_err(|error| {
        let at = error
            .location()
            .map_or_else(String::new, |at| format!(":{}:{}", at.line(), at.column()));
        let what = error.without_snippet().to_string();
        format!("{file}{at}: {}", plain_line(what.lines().next().unwrap_or_default(), 300))
    })?;
    let Some(Eval { harness, regression }) = read.eval else {
        return Err(format!(
            "{file}: has no eval section, so it asks nothing of scores: give one with eval.regression"
        ));
    };
    let Some(Regression { baseline, threshold_pct }) = regression else {
        return Err(format!(
            "{file}: eval has no regression section, so it asks nothing of scores: add eval.regression.threshold_pct"
        ));
    };
    let (tasks, few_shot) = harness.map_or((None, None), |harness| (harness.tasks, harness.fewshot));
    let base_model = baseline.map(|name| ModelName::parse(&name)).transpose();
    Ok(Recipe {
        tasks: tasks.unwrap_or_default(),
        few_shot,
        base_model: base_model.map_err(|why| format!("{file}: eval.regression.baseline: {why}"))?,
        threshold_pct: threshold_pct.unwrap_or(DEFAULT_THRESHOLD_PCT),
    })
}
