//! Temperature held the clocks down.

use super::{Effect, Flag, Limit, Look};
use crate::model::gpu_metrics;
use crate::model::telemetry::{DeviceTrace, Reading, Trace, Watching};

/// Temperature held the clocks down.
pub const FLAG: Flag = Flag {
    name: "thermal_throttle",
    about: "temperature held the clocks down for more of the window than the limit, by the device's counters; where these are absent or not \
            to be trusted: it was near its critical temperature, and the graphics clock fell",
    effect: Effect::Voids,
    attributable: true,
    limits: &[TIME, NEAR, FALL],
    look: Look::Process(look),
};

const TIME: Limit = Limit {
    name: "thermal_throttle_pct",
    default: 1.0,
    about: "share of the window in which temperature held the clocks down, in %",
};
const NEAR: Limit = Limit {
    name: "thermal_near_c",
    default: 2.0,
    about: "without counters: how near the critical temperature counts as hot, in °C",
};
const FALL: Limit = Limit {
    name: "thermal_fall_pct",
    default: 5.0,
    about: "without counters: how far the graphics clock lies lower while hot, in %",
};
/// The counters that tell of temperature.
const THERMAL: [gpu_metrics::Limit; 4] = [
    gpu_metrics::Limit::SocketThermal,
    gpu_metrics::Limit::VrThermal,
    gpu_metrics::Limit::HbmThermal,
    gpu_metrics::Limit::Prochot,
];

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    trace.of_devices(|device| {
        let counted = THERMAL
            .into_iter()
            .filter_map(|limit| Some((limit.word(), device.throttled_pct(limit)?)));
        let counted: Vec<(&str, f64)> = counted.collect();
        if counted.is_empty() || !device.counters_trusted {
            return by_temperature(device, NEAR.of(watching), FALL.of(watching));
        }
        let limit = TIME.of(watching);
        let (word, share) = counted.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        (share > limit).then(|| format!("{word} held the clocks down {share:.1} % of the time, the limit is {limit} %"))
    })
}

/// Without counters: the clock while hot against the clock while not; where it was hot all the while, being hot is enough.
fn by_temperature(device: &DeviceTrace, near: f64, fall: f64) -> Option<String> {
    let over = |now: Option<f64>, crit: Option<f64>| now.zip(crit).is_some_and(|(now, crit)| now >= crit - near);
    let is_hot = |reading: &&Reading| over(reading.hotspot_c, device.crit_c[0]) || over(reading.mem_c, device.crit_c[1]);
    let (hot, cool): (Vec<&Reading>, Vec<&Reading>) = device.busy().into_iter().partition(|reading| is_hot(reading));
    let mean = |readings: &[&Reading]| {
        let clocks: Vec<f64> = readings.iter().filter_map(|reading| reading.gfxclk_mhz).collect();
        (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64)
    };
    if hot.is_empty() {
        return None;
    }
    match (mean(&hot), mean(&cool)) {
        (Some(hot), Some(cool)) if hot < cool * (1.0 - fall / 100.0) => Some(format!(
            "near its critical temperature, where the graphics clock fell from {cool:.0} to {hot:.0} MHz, the limit is {fall} %"
        )),
        (_, None) => Some(format!("within {near} °C of its critical temperature all the while")),
        _ => None,
    }
}
