//! Whether devices reach memory without translation.

use super::{Check, Sight, known, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether devices reach memory without translation.
pub const H_IOMMU: Check = Check {
    id: "H-IOMMU",
    source: "/proc/cmdline",
    rule: "`iommu=pt` / without / -",
    why: "Every copy between host and device is translated otherwise.",
    hint: "Add `iommu=pt` to the kernel's command line and restart the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    machine.cards.first()?;
    let look = known(&machine.kernel.cmdline, |cmdline| {
        match cmdline.split_whitespace().any(|word| word == "iommu=pt") {
            true => (Level::Pass, "given".to_owned()),
            false => (Level::Warn, "not given".to_owned()),
        }
    });
    sight("iommu=pt", look)
}
