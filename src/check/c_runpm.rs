//! Whether the device is awake.

use super::{Check, Sight, cards, known};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the device is awake.
pub const C_RUNPM: Check = Check {
    id: "C-RUNPM",
    source: "power/runtime_status",
    rule: "active / - / suspended",
    why: "A device that wakes up takes time, and says nothing until then.",
    hint: "Start with `amdgpu.runpm=0`, or write `on` to power/control.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    cards(machine, "active", |card| {
        known(&card.runtime_status, |status| {
            let found = match status.as_str() {
                "active" => Level::Pass,
                "suspended" => Level::Fail,
                "unsupported" => Level::Pass,
                _ => Level::Warn,
            };
            (found, status.clone())
        })
    })
}
