//! A variable that hides devices, set to nothing.

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::visible::{DRIVER, RUNTIME};

/// A variable that hides devices, set to nothing.
pub const E_EMPTYVIS: Check = Check {
    id: "E-EMPTYVIS",
    source: "the environment",
    rule: "none / - / one",
    why: "Some runtimes read it as \"all\", others as \"none\".",
    hint: "Unset it, or name the devices.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let empty = |name: &&str| machine.env.get(*name).is_some_and(|value| value.trim().is_empty());
    let look = match [DRIVER].into_iter().chain(RUNTIME).find(empty) {
        None => (Level::Pass, "none is empty".to_owned()),
        Some(name) => (Level::Fail, format!("{name} is set and empty")),
    };
    sight("none that is empty", look)
}
