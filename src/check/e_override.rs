//! A device made to look like another.

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// A device made to look like another.
pub const E_OVERRIDE: Check = Check {
    id: "E-OVERRIDE",
    source: "HSA_OVERRIDE_GFX_VERSION",
    rule: "not set / - / set",
    why: "Code for another architecture then runs, and its figures are of neither.",
    hint: "Unset HSA_OVERRIDE_GFX_VERSION.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let look = match machine.env.get("HSA_OVERRIDE_GFX_VERSION").filter(|value| !value.is_empty()) {
        None => (Level::Pass, "not set".to_owned()),
        Some(value) => (Level::Fail, value.clone()),
    };
    sight("not set", look)
}
