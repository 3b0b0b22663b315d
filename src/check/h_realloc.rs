//! Whether the kernel leaves the devices' windows where they are.

use super::{Check, Sight, known, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the kernel leaves the devices' windows where they are.
pub const H_REALLOC: Check = Check {
    id: "H-REALLOC",
    source: "/proc/cmdline",
    rule: "`pci=realloc=off` / without / -",
    why: "Moved windows have kept GPUs from coming up.",
    hint: "Add `pci=realloc=off` to the kernel's command line and restart the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    machine.cards.first()?;
    let look = known(&machine.kernel.cmdline, |cmdline| {
        match cmdline.split_whitespace().any(|word| word == "pci=realloc=off") {
            true => (Level::Pass, "given".to_owned()),
            false => (Level::Warn, "not given".to_owned()),
        }
    });
    sight("pci=realloc=off", look)
}
