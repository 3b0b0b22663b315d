//! Whether the processes that the driver lists can be named.

use super::{Check, Sight, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the processes that the driver lists can be named.
pub const P_NSPID: Check = Check {
    id: "P-NSPID",
    source: "/proc/self/ns/pid, marks of containers",
    rule: "no container / a container / -",
    why: "A container hides who else uses the device; only memory and activity tell.",
    hint: "Measure outside of the container, or give it the host's process namespace.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = match &machine.container {
        None => (Level::Pass, "no container".to_owned()),
        Some(sign) => (Level::Warn, format!("a container ({sign}): processes outside have no names here")),
    };
    sight("no container", look)
}
