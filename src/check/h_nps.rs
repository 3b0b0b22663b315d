//! Memory nodes of each processor package.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Memory nodes of each processor package.
pub const H_NPS: Check = Check {
    id: "H-NPS",
    source: "/sys/devices/system/node, /proc/cpuinfo",
    rule: "one / several / -",
    why: "Memory of a far node is slower.",
    hint: "Set NPS1 in the firmware's setup.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = known(&machine.cpu.numa_nodes, |&nodes| {
        if nodes <= 1 {
            return (Level::Pass, "one memory node".to_owned());
        }
        known(&machine.cpu.sockets, |&sockets| {
            let found = if nodes > sockets { Level::Warn } else { Level::Pass };
            (found, format!("{nodes} memory nodes on {sockets} packages"))
        })
    });
    sight("one a package", look)
}
