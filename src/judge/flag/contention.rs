//! Somebody else used the device.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{Trace, Watching};

/// Somebody else used the device.
pub const FLAG: Flag = Flag {
    name: "contention",
    about: "a process that is not the measured one's held memory of the device or worked on it, or memory was taken before the start that was \
            free before the session",
    effect: Effect::AlwaysVoids,
    attributable: false,
    limits: &[ABOVE],
    look: Look::Process(look),
};

const ABOVE: Limit = Limit {
    name: "contention_mib",
    default: 1024.0,
    about: "device memory in use before a start beyond that before the session, in MiB",
};
/// Bytes of a MiB.
const MIB: f64 = (1_u64 << 20) as f64;

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let limit = ABOVE.of(watching);
    let named = trace.foreign.iter().flatten().map(|foreign| {
        let held = foreign.vram_bytes as f64 / MIB;
        format!("process {} ({}) held {held:.0} MiB", foreign.pid, foreign.name)
    });
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        return Some(named.join("; "));
    }
    trace.of_devices(|device| {
        let above = device.vram_above_idle_bytes as f64 / MIB;
        (above > limit)
            .then(|| format!("{above:.0} MiB more than before the session were in use before the start, the limit is {limit} MiB"))
    })
}
