//! Scores whose single answers are not at hand: all that two standard errors tell, and what noise alone would do to many tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::normal_sf;
use super::paired::Margin;

/// A z test on the errors of both scores as if the items had been different ones: conservative, because they are mostly the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// The gain, in the unit of the standard errors; positive is better.
    pub gain: f64,
    /// √(se₁² + se₂²).
    pub se: f64,
    /// gain/se; none where there is no error.
    pub z: Option<f64>,
    /// The one-sided p-value of "the candidate is worse"; 1 where nothing changed without any error, none for another change without one.
    pub p_worse: Option<f64>,
    /// Both sides of the margin; none where there is no error.
    pub margin: Option<Margin>,
}

impl Unpaired {
    /// Compares by the standard errors of both scores; `margin` is the loss in question, all in one unit. `None` where a number is not finite or negative.
    pub fn of(gain: f64, errors: [f64; 2], margin: f64) -> Option<Self> {
        let sound = gain.is_finite() && margin.is_finite() && errors.iter().all(|error| error.is_finite() && *error >= 0.0);
        if !sound {
            return None;
        }
        let se = errors[0].hypot(errors[1]);
        let z = Some(gain / se).filter(|z| z.is_finite());
        let p_worse = match z {
            Some(z) => normal_sf(-z),
            None => (gain == 0.0).then_some(1.0),
        };
        let beyond = Some((gain + margin) / se).filter(|z| z.is_finite());
        Some(Self {
            gain,
            se,
            z,
            p_worse,
            margin: beyond.and_then(Margin::of),
        })
    }
}

/// The chance that a task falls by more than `tolerance` where nothing changed: P(Z > tolerance/se), `se` that of the difference, in the same unit.
/// 0 where there is no noise; `None` where a number is not finite or negative.
pub fn false_alarm(tolerance: f64, se: f64) -> Option<f64> {
    let sound = tolerance.is_finite() && tolerance >= 0.0 && se.is_finite() && se >= 0.0;
    if !sound {
        return None;
    }
    if se == 0.0 { Some(0.0) } else { normal_sf(tolerance / se) }
}

/// How many of some tasks would fail if nothing had changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FromNoise {
    /// Tasks whose noise is known.
    pub tasks: usize,
    /// How many of them fail on average: the sum of their chances.
    pub expected: f64,
    /// The chance that at least one of them fails, tasks being independent: 1 − Π(1 − p).
    pub any: f64,
}

/// Adds the chances of several tasks, each as [`false_alarm`] gives it.
pub fn from_noise(chances: &[f64]) -> FromNoise {
    let none: f64 = chances.iter().map(|chance| 1.0 - chance).product();
    FromNoise {
        tasks: chances.len(),
        expected: chances.iter().sum(),
        any: 1.0 - none,
    }
}
