//! Firmware files that take precedence over the installed ones.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Firmware files that take precedence over the installed ones.
pub const F_SHADOW: Check = Check {
    id: "F-SHADOW",
    source: "/lib/firmware/updates/amdgpu",
    rule: "none / some / -",
    why: "What was installed is then not what runs.",
    hint: "Remove /lib/firmware/updates/amdgpu, or keep it on purpose and pin the versions.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = known(&machine.driver.firmware_shadowed, |&shadowed| match shadowed {
        false => (Level::Pass, "none".to_owned()),
        true => (Level::Warn, "there are some".to_owned()),
    });
    sight("none", look)
}
