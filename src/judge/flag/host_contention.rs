//! Others kept the processors busy.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{Trace, Watching};

/// Others kept the processors busy.
pub const FLAG: Flag = Flag {
    name: "host_contention",
    about: "tasks waited for a processor for more of the time than the limit, or the load beyond the process's own is above its limit",
    effect: Effect::Warns,
    attributable: false,
    limits: &[WAIT, LOAD],
    look: Look::Process(look),
};

const WAIT: Limit = Limit {
    name: "host_wait_pct",
    default: 10.0,
    about: "share of the window in which some task waited for a processor, in %",
};
const LOAD: Limit = Limit {
    name: "host_load_pct",
    default: 50.0,
    about: "load of the machine beyond the process's own, in % of its processors",
};

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let (most_wait, most_load) = (WAIT.of(watching), LOAD.of(watching));
    let waited = trace.cpu_wait_pct.as_ref().ok().filter(|&&wait| wait > most_wait);
    let waited = waited.map(|wait| format!("tasks waited for a processor {wait:.1} % of the time, the limit is {most_wait} %"));
    let load_pct = trace.other_load.map(|load| 100.0 * load).filter(|&load| load > most_load);
    waited.or_else(|| {
        load_pct.map(|load| format!("the load beyond the process's own was {load:.0} % of the processors, the limit is {most_load} %"))
    })
}
