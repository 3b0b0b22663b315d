//! The noise of a fixture: pooled over sessions, as an alarm, and as the number of blocks a tolerance needs.

use std::f64::consts::FRAC_1_SQRT_2;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{chi2_quantile, f_sf};

/// A session is noisier than characterised where chance explains it with less than this.
const ALARM_LEVEL: f64 = 0.001;

/// For each cap on blocks the largest ratio of run noise to margin at which a change of the margin is found with a power of
/// at least 95 % (level 1 %, 25 % of it for the rank look). Simulated with 20,000 sessions each, independent normal runs:
/// 95.8, 97.4, 95.4, 96.9, 96.0, 96.3, 96.2 and 96.7 %.
pub const CARRIED: [(usize, f64); 8] = [
    (4, 0.25),
    (6, 0.35),
    (8, 0.5),
    (12, 0.6),
    (14, 0.7),
    (16, 0.75),
    (20, 0.85),
    (28, 1.0),
];

/// One session's noise: all a band needs of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionNoise {
    /// The unfloored standard deviation of its pair differences, in response units.
    pub sp: f64,
    /// Its degrees of freedom, 2k − 2.
    pub df: usize,
}

/// The noise pooled over sessions of one identity, in response units; no effect of a candidate is in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Band {
    /// Degrees of freedom in all.
    pub nu: usize,
    /// The pooled standard deviation of a pair difference, √(Σ df·s²/Σ df).
    pub sp_pooled: f64,
    /// The same for a single run, sp/√2.
    pub sigma_run: f64,
    /// The 95 % interval of the pair difference's standard deviation.
    pub sp_ci95: [f64; 2],
    /// Its one-sided upper 80 % limit.
    pub sp_upper80: f64,
    /// What to plan with: that limit for a single run.
    pub recommended_sigma_run: f64,
}

/// Whether a session is noisier than its band.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseAlarm {
    /// The ratio of variances, session over band.
    pub f: f64,
    /// The chance of a ratio this large or larger.
    pub p: f64,
    /// The level it is compared with.
    pub level: f64,
    /// Whether it is below.
    pub noisier: bool,
}

/// Pools `sessions`; `None` without a degree of freedom or with a standard deviation that is negative or not finite.
pub fn pool(sessions: &[SessionNoise]) -> Option<Band> {
    if !sessions.iter().all(|s| s.sp >= 0.0 && s.sp.is_finite()) {
        return None;
    }
    let nu: usize = sessions.iter().map(|s| s.df).sum();
    let squares: f64 = sessions.iter().map(|s| s.df as f64 * s.sp.powi(2)).sum();
    let df = nu as f64;
    let limit = |p: f64| Some((squares / chi2_quantile(p, df)?).sqrt());
    let sp_pooled = (squares / df).sqrt();
    let sp_upper80 = limit(0.2)?;
    Some(Band {
        nu,
        sp_pooled,
        sigma_run: sp_pooled * FRAC_1_SQRT_2,
        sp_ci95: [limit(0.975)?, limit(0.025)?],
        sp_upper80,
        recommended_sigma_run: sp_upper80 * FRAC_1_SQRT_2,
    })
}

/// Tests by F whether `session` is noisier than `band`; `None` where either has no noise or no degree of freedom.
///
/// An alarm explains; it never shrinks or replaces the session's own noise in a decision.
pub fn alarm(session: SessionNoise, band: &Band) -> Option<NoiseAlarm> {
    let f = (session.sp / band.sp_pooled).powi(2);
    let p = f_sf(f, session.df as f64, band.nu as f64)?;
    Some(NoiseAlarm {
        f,
        p,
        level: ALARM_LEVEL,
        noisier: p < ALARM_LEVEL,
    })
}

/// The cap on blocks that shows a change of `margin` with at least 95 % power under this run noise (both in response units);
/// `None` where none does: mend the fixture, or widen the tolerance to what [`carried_margin`] allows.
pub fn blocks_needed(sigma_run: f64, margin: f64) -> Option<usize> {
    let ratio = sigma_run / margin;
    CARRIED.iter().find(|(_, carried)| ratio <= *carried).map(|(blocks, _)| *blocks)
}

/// The smallest margin, in response units, that at most `max_blocks` blocks show with at least 95 % power under this run
/// noise; `None` below 4 blocks.
pub fn carried_margin(sigma_run: f64, max_blocks: usize) -> Option<f64> {
    CARRIED
        .iter()
        .rfind(|(blocks, _)| *blocks <= max_blocks)
        .map(|(_, carried)| sigma_run / carried)
}
