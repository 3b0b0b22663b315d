//! The readings themselves cannot be relied on.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{DeviceTrace, Trace, Watching};

/// The readings themselves cannot be relied on.
pub const FLAG: Flag = Flag {
    name: "stale_telemetry",
    about: "nothing could be read, more looks in a row failed than the limit, the device's own time stood still between two looks, or a look took longer than the limit",
    effect: Effect::Warns,
    attributable: false,
    limits: &[MISSES, SLOW],
    look: Look::Process(look),
};

const MISSES: Limit = Limit {
    name: "stale_misses",
    default: 3.0,
    about: "looks that may fail in a row",
};
const SLOW: Limit = Limit {
    name: "stale_read_ms",
    default: 50.0,
    about: "how long the slowest look in a hundred may take, in ms",
};

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let (misses, slow) = (MISSES.of(watching), SLOW.of(watching));
    trace.of_devices(|device| {
        if device.readings.is_empty() {
            let why = device.missed.why.as_deref().unwrap_or("unknown why");
            return Some(format!("nothing could be read: {why}"));
        }
        let failed = f64::from(device.missed.in_a_row);
        if failed > misses {
            let why = device.missed.why.as_deref().unwrap_or("unknown why");
            return Some(format!("{failed} looks in a row failed ({why}), the limit is {misses}"));
        }
        if device.is_stale() {
            return Some("the device's own time stood still between two looks".to_owned());
        }
        let took = took_ms(device).filter(|&took| took > slow)?;
        Some(format!("the slowest look in a hundred took {took:.0} ms, the limit is {slow} ms"))
    })
}

/// The 99th percentile of how long a look took.
fn took_ms(device: &DeviceTrace) -> Option<f64> {
    let mut took: Vec<f64> = device.readings.iter().map(|reading| 1e3 * reading.took_s).collect();
    took.sort_by(f64::total_cmp);
    took.get((took.len() * 99 / 100).min(took.len().saturating_sub(1))).copied()
}
