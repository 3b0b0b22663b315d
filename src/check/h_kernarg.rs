//! Where launches put their arguments.

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Where launches put their arguments.
pub const H_KERNARG: Check = Check {
    id: "H-KERNARG",
    source: "HIP_FORCE_DEV_KERNARG",
    rule: "not set, or 1 / 0 / -",
    why: "In host memory every launch takes microseconds more.",
    hint: "Unset it, or set it to 1.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    machine.cards.first()?;
    let look = match machine.env.get("HIP_FORCE_DEV_KERNARG").map(String::as_str) {
        Some("0") => (Level::Warn, "0".to_owned()),
        Some(value) => (Level::Pass, value.to_owned()),
        None => (Level::Pass, "not set".to_owned()),
    };
    sight("not set, or 1", look)
}
