//! Device memory that is taken by nobody.

use super::{Check, Sight, cards, known};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Device memory that is taken by nobody.
pub const Q_VRAM_STRANDED: Check = Check {
    id: "Q-VRAM-STRANDED",
    source: "mem_info_vram_used, /sys/class/kfd/kfd/proc",
    rule: "none / - / more than 1 GiB",
    why: "The driver lost it: it comes back with a reset.",
    hint: "Reset the device, or restart the machine.",
    explained_by: &[],
    look,
};

/// Bytes of a GiB.
const GIB: u64 = 1 << 30;

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    // Where any process holds memory, that process is the cause, and its own check names it.
    let held = machine
        .processes
        .as_ref()
        .map(|all| all.iter().any(|process| process.vram_all_bytes() > 0));
    cards(machine, "none", |card| {
        known(&card.vram_bytes.1, |&used| match (used > GIB, &held) {
            (false, _) | (true, Ok(true)) => (Level::Pass, "none".to_owned()),
            (true, Ok(false)) => (
                Level::Fail,
                format!("{:.2} GiB in use, and no process holds memory", used as f64 / GIB as f64),
            ),
            (true, Err(unseen)) => (Level::Unknown, unseen.to_string()),
        })
    })
}
