//! Whether waves are saved and restored on a switch.

use super::{Check, Sight, level, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether waves are saved and restored on a switch.
pub const D_CWSR: Check = Check {
    id: "D-CWSR",
    source: "/sys/module/amdgpu/parameters/cwsr_enable",
    rule: "as declared / - / otherwise",
    why: "Without it a switch between programs is another thing, and nobody tests it.",
    hint: "Remove `cwsr_enable` from the module's options and restart the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.cwsr?;
    let look = match machine.driver.parameters.get("cwsr_enable") {
        Some(value) => (level((value != "0") == wanted), value.clone()),
        None => (Level::Unknown, "the driver does not say".to_owned()),
    };
    sight(if wanted { "1" } else { "0" }, look)
}
