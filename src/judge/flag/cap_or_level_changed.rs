//! Something set the device otherwise while a process ran.

use super::{Effect, Flag, Look};
use crate::model::telemetry::{Trace, Watching};

/// Something set the device otherwise while a process ran.
pub const FLAG: Flag = Flag {
    name: "cap_or_level_changed",
    about: "the power cap, what drives the clocks, the highest clock or a partition is not after the process what it was before",
    effect: Effect::Voids,
    attributable: false,
    limits: &[],
    look: Look::Process(look),
};

fn look(trace: &Trace, _: &Watching) -> Option<String> {
    trace.of_devices(|device| (!device.changed.is_empty()).then(|| device.changed.join(", ")))
}
