//! One look at a device.

use std::collections::BTreeMap;

use crate::model::gpu_metrics::{Limit, Metrics};

/// One look at a device; what it does not say is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Seconds after the process's start; the look before it is at 0.
    pub at_s: f64,
    /// Seconds that the look took.
    pub took_s: f64,
    /// The driver's own time in seconds.
    pub clock_s: Option<f64>,
    /// Graphics clock in MHz, the mean of all dies.
    pub gfxclk_mhz: Option<f64>,
    /// How far the dies' clocks lie apart, in % of their median; none with a single one.
    pub apart_pct: Option<f64>,
    /// Memory clock in MHz.
    pub uclk_mhz: Option<f64>,
    /// Power of the socket in W.
    pub power_w: Option<f64>,
    /// The hottest spot in °C.
    pub hotspot_c: Option<f64>,
    /// The memory in °C.
    pub mem_c: Option<f64>,
    /// Activity of the graphics engine in %.
    pub gfx_activity_pct: Option<f64>,
    /// Activity of the memory controller in %.
    pub umc_activity_pct: Option<f64>,
    /// Memory in use, in bytes.
    pub vram_used_bytes: Option<u64>,
    /// The energy counter, in steps of [`crate::model::gpu_metrics::ENERGY_STEP_J`].
    pub energy_steps: Option<u64>,
    /// Ticks since the counters began.
    pub ticks: Option<u32>,
    /// Ticks for which each limit held the clocks down.
    pub residency: BTreeMap<Limit, u32>,
}

impl From<Metrics> for Reading {
    fn from(metrics: Metrics) -> Self {
        let clocks: Vec<f64> = metrics.gfxclk_mhz.iter().copied().map(f64::from).collect();
        Self {
            clock_s: metrics.clock_ns.map(|ns| ns as f64 / 1e9),
            gfxclk_mhz: mean(clocks.iter().copied()),
            apart_pct: apart_pct(clocks),
            uclk_mhz: metrics.uclk_mhz.map(f64::from),
            power_w: metrics.power_w,
            hotspot_c: metrics.hotspot_c,
            mem_c: metrics.mem_c,
            gfx_activity_pct: metrics.gfx_activity_pct,
            umc_activity_pct: metrics.umc_activity_pct,
            energy_steps: metrics.energy_steps,
            ticks: metrics.accumulation,
            residency: metrics.residency,
            ..Self::default()
        }
    }
}

/// The mean; none of nothing.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values
        .into_iter()
        .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn apart_pct(mut clocks: Vec<f64>) -> Option<f64> {
    clocks.sort_by(f64::total_cmp);
    let (low, high) = (clocks.first()?, clocks.last()?);
    let median = *clocks.get(clocks.len() / 2)?;
    (clocks.len() > 1 && median > 0.0).then(|| 100.0 * (high - low) / median)
}
