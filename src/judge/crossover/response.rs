use std::f64::consts::SQRT_2;

use crate::judge::summary::median;
use crate::model::metric::{Better, Scale};

/// Larger values than this are refused on the absolute scale, so that sums of squares stay finite.
const LARGEST: f64 = 1e150;

/// The variance floor looks at the values of the first two blocks only, and is frozen from then on.
const FLOOR_VALUES: usize = 8;

/// +1 where more of the value is worse, -1 where less is.
fn sign(better: Better) -> f64 {
    match better {
        Better::Lower => 1.0,
        Better::Higher => -1.0,
    }
}

/// The response of one measured value, + = worse; this is the one place where a metric's direction is applied.
///
/// `None` where the value cannot be one: not finite, not positive on the relative scale, beyond ±1e150 on the absolute one.
pub fn worse(value: f64, scale: Scale, better: Better) -> Option<f64> {
    let valid = match scale {
        Scale::Pct => value.is_finite() && value > 0.0,
        Scale::Pp | Scale::Abs => value.abs() <= LARGEST,
    };
    valid.then(|| {
        sign(better)
            * match scale {
                Scale::Pct => value.ln(),
                Scale::Pp | Scale::Abs => value,
            }
    })
}

/// The worsening, in response units, that a `tolerance` stands for: a fraction (0.02 is 2 %) on the relative scale, where it
/// becomes ln(1 + tol) for lower-is-better and −ln(1 − tol) for higher-is-better; the metric's unit on the absolute one.
///
/// `None` for a negative or non-finite tolerance, or a loss of everything (tol ≥ 1 where higher is better).
pub fn margin(tolerance: f64, scale: Scale, better: Better) -> Option<f64> {
    let margin = match scale {
        Scale::Pct => sign(better) * (sign(better) * tolerance).ln_1p(),
        Scale::Pp | Scale::Abs => tolerance,
    };
    (tolerance >= 0.0 && margin.is_finite()).then_some(margin)
}

/// The floor of the pair differences' standard deviation on the relative scale: √2 · max(`min_run_cv`, resolution/(√12 · median)).
///
/// `resolution` is the metric's step (0 if none), in the unit of `values`: the raw values of all valid blocks in running
/// order. Only the first two blocks' eight count. Without values the resolution is ignored.
pub fn floor_log(min_run_cv: f64, resolution: f64, values: &[f64]) -> f64 {
    let mut first: Vec<f64> = values.iter().take(FLOOR_VALUES).copied().collect();
    let rounding_cv = median(&mut first).map_or(0.0, |middle| rounding_sd(resolution) / middle);
    SQRT_2 * min_run_cv.max(rounding_cv)
}

/// The floor of the pair differences' standard deviation on the absolute scale: √2 · max(`min_run_sd`, resolution/√12).
pub fn floor_abs(min_run_sd: f64, resolution: f64) -> f64 {
    SQRT_2 * min_run_sd.max(rounding_sd(resolution))
}

/// The standard deviation of an error that is uniform over one step.
fn rounding_sd(resolution: f64) -> f64 {
    resolution / 12.0_f64.sqrt()
}
