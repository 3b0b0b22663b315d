//! What a handful of numbers looks like: extremes, median, spread and the values that stand apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value further than this many (normal-consistent) median deviations from the median stands apart.
const APART: f64 = 5.0;

/// Makes the MAD of normal numbers an estimate of their standard deviation: 1/Φ⁻¹(3/4).
const MAD_TO_SD: f64 = 1.4826;

/// The spread of some numbers, in their own unit. Flags inform; no value is ever left out of a decision for its size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many numbers.
    pub n: usize,
    /// The smallest.
    pub min: f64,
    /// The middle one, or the mean of the two middle ones.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// `max - min`.
    pub spread: f64,
    /// `spread / median`; none where the median is zero.
    pub spread_rel: Option<f64>,
    /// The median of the absolute deviations from the median, unscaled.
    pub mad: f64,
    /// For each number in the given order: whether |v − median| > 5 · 1.4826 · MAD.
    pub flags: Vec<bool>,
}

/// Summarises finite `values`; `None` where there are none or one is not finite.
pub fn summarise(values: &[f64]) -> Option<Spread> {
    if !values.iter().all(|v| v.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    let middle = median(&mut sorted)?;
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let mad = mad(values, middle)?;
    let spread = max - min;
    Some(Spread {
        n: values.len(),
        min,
        median: middle,
        max,
        spread,
        spread_rel: Some(spread / middle).filter(|rel| rel.is_finite()),
        mad,
        flags: values.iter().map(|v| (v - middle).abs() > APART * MAD_TO_SD * mad).collect(),
    })
}

/// The median of `values`, which are left sorted; `None` for none.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = values.len() / 2;
    let high = *values.get(upper)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    let low = *values.get(upper.checked_sub(1)?)?;
    Some(0.5 * (low + high))
}

/// The median of the absolute deviations of `values` from `centre`; `None` for none.
pub fn mad(values: &[f64], centre: f64) -> Option<f64> {
    median(&mut values.iter().map(|v| (v - centre).abs()).collect::<Vec<_>>())
}
