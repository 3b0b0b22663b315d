//! The dies of a device ran at different clocks.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{Trace, Watching};

/// The dies of a device ran at different clocks.
pub const FLAG: Flag = Flag {
    name: "xcd_imbalance",
    about: "the dies' graphics clocks lay further apart than the limit for more of the time in which the device worked than the limit",
    effect: Effect::Warns,
    attributable: true,
    limits: &[APART, TIME],
    look: Look::Process(look),
};

const APART: Limit = Limit {
    name: "xcd_imbalance_pct",
    default: 10.0,
    about: "how far the dies' graphics clocks may lie apart, in % of their median",
};
const TIME: Limit = Limit {
    name: "xcd_imbalance_time_pct",
    default: 20.0,
    about: "share of the working time in which they may lie further apart, in %",
};

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let (apart, time) = (APART.of(watching), TIME.of(watching));
    trace.of_devices(|device| {
        let known: Vec<f64> = device.busy().into_iter().filter_map(|reading| reading.apart_pct).collect();
        let beyond = known.iter().filter(|&&pct| pct > apart).count();
        let share = 100.0 * beyond as f64 / known.len().max(1) as f64;
        (share > time)
            .then(|| format!("the dies' clocks lay more than {apart} % apart in {share:.0} % of the looks, the limit is {time} %"))
    })
}
