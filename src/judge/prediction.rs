//! A new session against the stored sessions of a baseline: the session is the unit, not the run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{t_sf, t_upper};

/// Where a new session stands among stored ones, in response units (+ = worse).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Stored sessions.
    pub sessions: usize,
    /// The mean of their medians.
    pub mean: f64,
    /// The standard deviation of their medians (n − 1).
    pub sd: f64,
    /// The prediction t of the new session, with `sessions − 1` degrees of freedom; none where the stored ones do not vary.
    pub t: Option<f64>,
    /// The one-sided p-value of "the new session is worse"; none likewise.
    pub p_worse: Option<f64>,
    /// The two-sided p-value of "the new session is different"; none likewise.
    pub p_different: Option<f64>,
    /// The response above which a session is worse at the one-sided level.
    pub limit: f64,
    /// Whether the new session is beyond it.
    pub exceeds: bool,
}

/// Why no prediction could be made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum NoPrediction {
    /// Fewer than two stored sessions: their variation is unknown.
    TooFewSessions {
        /// How many there were.
        sessions: usize,
    },
    /// A response was not finite, or the level not between 0 and 1.
    NotANumber,
}

/// Predicts the range of a new session from the medians of stored ones and places `new` in it, one-sided at `alpha`.
///
/// `medians` and `new` are session medians of the responses. t = (new − m̄)/(s · √(1 + 1/S)), df = S − 1.
///
/// # Errors
/// The reason why there is none.
pub fn predict(medians: &[f64], new: f64, alpha: f64) -> Result<Prediction, NoPrediction> {
    let sessions = medians.len();
    if sessions < 2 {
        return Err(NoPrediction::TooFewSessions { sessions });
    }
    if !medians.iter().chain([&new]).all(|v| v.is_finite()) {
        return Err(NoPrediction::NotANumber);
    }
    let (count, df) = (sessions as f64, (sessions - 1) as f64);
    let mean = medians.iter().sum::<f64>() / count;
    let sd = (medians.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / df).sqrt();
    let error = sd * (1.0 + 1.0 / count).sqrt();
    let t = Some((new - mean) / error).filter(|t| t.is_finite());
    let limit = mean + t_upper(alpha, df).ok_or(NoPrediction::NotANumber)? * error;
    Ok(Prediction {
        sessions,
        mean,
        sd,
        t,
        p_worse: t.and_then(|t| t_sf(t, df)),
        p_different: t.and_then(|t| t_sf(t.abs(), df)).map(|p| 2.0 * p),
        limit,
        exceeds: new > limit,
    })
}
