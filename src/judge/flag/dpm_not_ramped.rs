//! The clocks were still on their way up.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{DeviceTrace, Trace, Watching};

/// The clocks were still on their way up.
pub const FLAG: Flag = Flag {
    name: "dpm_not_ramped",
    about: "the graphics clock in the first tenth of the time in which the device worked lies below the rest by more than the limit",
    effect: Effect::Voids,
    attributable: true,
    limits: &[RAMP],
    look: Look::Process(look),
};

const RAMP: Limit = Limit {
    name: "dpm_not_ramped_pct",
    default: 10.0,
    about: "how far the first tenth's graphics clock lies below the rest's, in %",
};
/// Looks of which a tenth is one.
const READINGS_MIN: usize = 10;

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let limit = RAMP.of(watching);
    trace.of_devices(|device| {
        let [first, rest] = parts(device)?;
        (first < rest * (1.0 - limit / 100.0))
            .then(|| format!("{first:.0} MHz at first and {rest:.0} MHz later, the limit is {limit} % below"))
    })
}

/// The mean clock of the first tenth and of the rest.
fn parts(device: &DeviceTrace) -> Option<[f64; 2]> {
    let clocks: Vec<f64> = device.busy().into_iter().filter_map(|reading| reading.gfxclk_mhz).collect();
    if clocks.len() < READINGS_MIN {
        return None;
    }
    let (first, rest) = clocks.split_at(clocks.len() / 10);
    Some([first, rest].map(|part| part.iter().sum::<f64>() / part.len() as f64))
}
