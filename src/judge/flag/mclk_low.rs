//! The memory clock was low under load.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{DeviceTrace, Trace, Watching};

/// The memory clock was low under load.
pub const FLAG: Flag = Flag {
    name: "mclk_low",
    about: "the memory was active, and its clock was below the highest step for more of the time than the limit",
    effect: Effect::Voids,
    attributable: true,
    limits: &[ACTIVE, TIME],
    look: Look::Process(look),
};

const ACTIVE: Limit = Limit {
    name: "mclk_low_active_pct",
    default: 30.0,
    about: "activity of the memory controller from which its clock must be up, in %",
};
const TIME: Limit = Limit {
    name: "mclk_low_time_pct",
    default: 5.0,
    about: "share of the window with a low memory clock under such activity, in %",
};

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let (active, limit) = (ACTIVE.of(watching), TIME.of(watching));
    trace.of_devices(|device| {
        let share_pct = low_pct(device, active).filter(|&share| share > limit)?;
        let top = device.uclk_top_mhz?;
        Some(format!(
            "the memory clock was below {top:.0} MHz in {share_pct:.0} % of the looks though the memory was active, the limit is {limit} %"
        ))
    })
}

fn low_pct(device: &DeviceTrace, active: f64) -> Option<f64> {
    let top = device.uclk_top_mhz?;
    let known: Vec<(f64, f64)> = device
        .readings
        .iter()
        .filter_map(|reading| Some((reading.umc_activity_pct?, reading.uclk_mhz?)))
        .collect();
    let low = known
        .iter()
        .filter(|(activity, clock)| *activity >= active && *clock < top - 0.5)
        .count();
    (!known.is_empty()).then(|| 100.0 * low as f64 / known.len() as f64)
}
