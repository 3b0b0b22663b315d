//! The device waited for the host.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{Trace, Watching};

/// The device waited for the host.
pub const FLAG: Flag = Flag {
    name: "host_bound",
    about: "the gate declares that the device is kept busy (`telemetry.gpu_bound`), and half of the looks found it less active than the limit",
    effect: Effect::Warns,
    attributable: true,
    limits: &[ACTIVE],
    look: Look::Process(look),
};

const ACTIVE: Limit = Limit {
    name: "host_bound_pct",
    default: 50.0,
    about: "median activity of the graphics engine, in %",
};

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let limit = ACTIVE.of(watching);
    trace.of_devices(|device| {
        let inside = device.readings.get(1..device.readings.len().saturating_sub(1))?;
        let mut activity: Vec<f64> = inside.iter().filter_map(|reading| reading.gfx_activity_pct).collect();
        activity.sort_by(f64::total_cmp);
        let median = *activity.get(activity.len() / 2)?;
        (watching.gpu_bound && median < limit).then(|| format!("median activity {median:.0} %, the limit is {limit} %"))
    })
}
