//! The difference of two scores in percentage points, without the dust of binary fractions.

use super::comparable::Shares;
use crate::model::eval::Aim;

/// A share of so many items is a count where it lies this near to a whole number.
const WHOLE: f64 = 1e-6;
/// What a difference of binary fractions may be off, in points: 100·(0.75 − 0.74) is 1.0000000000000009.
const SLACK_PP: f64 = 1e-9;

/// The gain in percentage points, positive is better. Where both scores (and a target) are counts of the same items it is 100·(count − count)/items, else
/// the difference of the values.
pub(super) fn gain_pp(shares: &Shares, items: Option<u64>) -> f64 {
    let counted = items.filter(|items| *items > 0).and_then(|items| {
        let count = |share: f64| {
            let count = share * items as f64;
            ((count - count.round()).abs() <= WHOLE).then_some(count.round())
        };
        let aim = match shares.aim {
            Aim::Target(at) => Aim::Target(count(at)?),
            other => other,
        };
        let better = gain(count(shares.base)?, count(shares.candidate)?, aim);
        Some(100.0 * better / items as f64)
    });
    let gain = counted.unwrap_or_else(|| 100.0 * gain(shares.base, shares.candidate, shares.aim));
    if gain.abs() <= SLACK_PP { 0.0 } else { gain }
}

fn gain(base: f64, candidate: f64, aim: Aim) -> f64 {
    match aim {
        Aim::Higher => candidate - base,
        Aim::Lower => base - candidate,
        Aim::Target(at) => (base - at).abs() - (candidate - at).abs(),
    }
}

/// A gain set exactly on the bound that it lies on but for dust.
pub(super) fn settled(gain_pp: f64, tolerance_pp: f64) -> f64 {
    if (gain_pp.abs() - tolerance_pp).abs() <= SLACK_PP {
        tolerance_pp.copysign(gain_pp)
    } else {
        gain_pp
    }
}
