//! Whether the device is given to a guest.

use super::{Check, Sight, cards};
use crate::model::host::Level;
use crate::model::host::card::GUEST_MI300X;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the device is given to a guest.
pub const I_VIRT: Check = Check {
    id: "I-VIRT",
    source: "the PCI id, /proc/cpuinfo",
    rule: "no / yes / -",
    why: "A guest has other idle clocks and limits, and shares a machine that it does not see.",
    hint: "Compare with figures of the same kind of guest only.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    cards(machine, "no guest", |card| {
        match (card.device.as_deref(), &machine.cpu.hypervisor) {
            (Ok(GUEST_MI300X), _) => (Level::Warn, format!("a device for guests ({GUEST_MI300X})")),
            (_, Ok(true)) => (Level::Warn, "a virtual machine".to_owned()),
            (Ok(_), _) | (_, Ok(false)) => (Level::Pass, "no guest".to_owned()),
            (Err(unseen), _) => (Level::Unknown, unseen.to_string()),
        }
    })
}
