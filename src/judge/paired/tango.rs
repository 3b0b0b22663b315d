//! The score test of a difference of two paired proportions, and the interval that it gives (Tango 1998, Statistics in Medicine 17:891).
//!
//! With b items lost, c gained, n in all and a hypothesis d for the gain, the share of lost items that is most likely under the hypothesis is
//! q = (−B + √(B² − 8nC))/(4n), B = (2n − c + b)·d − b − c, C = −b·d(1 − d), and z = (c − b − n·d)/√(n·(2q + d(1 − d))).

use super::Flips;
use crate::judge::distribution::normal_quantile;

/// Halvings of an interval of length 2: beyond the digits of a double.
const HALVINGS: usize = 80;

/// The statistic z; `None` for a hypothesis outside (−1, 1). Where the variance is none, which happens without a flip at d = 0 only, it is 0.
pub fn score(flips: Flips, hypothesis: f64) -> Option<f64> {
    let d = hypothesis;
    if !(d > -1.0 && d < 1.0) {
        return None;
    }
    let [b, c, n] = [flips.lost, flips.gained, flips.items].map(|count| count as f64);
    let linear = (2.0 * n - c + b) * d - b - c;
    let constant = -b * d * (1.0 - d);
    let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
    // Of the two forms of the same root, the one that subtracts nothing.
    let q = if linear > 0.0 {
        -2.0 * constant / (linear + root)
    } else {
        (root - linear) / (4.0 * n)
    };
    let variance = n * (2.0 * q + d * (1.0 - d));
    let distance = c - b - n * d;
    let z = if distance == 0.0 { 0.0 } else { distance / variance.sqrt() };
    z.is_finite().then_some(z)
}

/// All hypotheses with |z| ≤ z₁₋α/₂, α = 1 − `confidence`.
pub fn interval(flips: Flips, confidence: f64) -> Option<[f64; 2]> {
    let critical = normal_quantile(0.5 + 0.5 * confidence).filter(|critical| *critical > 0.0)?;
    let gain = flips.gain();
    let low = crossing(flips, critical, -1.0, gain);
    let high = crossing(flips, -critical, gain, 1.0);
    Some([low, high])
}

/// Where the statistic, which falls as the hypothesis rises, passes `level` between `low` and `high`.
fn crossing(flips: Flips, level: f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if score(flips, middle).is_some_and(|z| z > level) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
