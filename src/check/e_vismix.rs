//! Variables that hide devices, set together.

use std::collections::BTreeSet;

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::visible::{DRIVER, RUNTIME, visible};

/// Variables that hide devices, set together.
pub const E_VISMIX: Check = Check {
    id: "E-VISMIX",
    source: "the environment",
    rule: "at most one is set / several that agree / several that leave out a device they name, or cannot be resolved",
    why: "Each counts in what the others leave: together they often show another device, or none.",
    hint: "Set one of them only; `gate perf --devices` sets them so that they agree.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let set: Vec<&str> = [DRIVER]
        .into_iter()
        .chain(RUNTIME)
        .filter(|name| machine.env.contains_key(*name))
        .collect();
    let gpus = machine.nodes.as_ref().map_or(0, Vec::len);
    let runtime: BTreeSet<&String> = RUNTIME.iter().filter_map(|name| machine.env.get(*name)).collect();
    let look = match visible(&machine.env, gpus) {
        _ if set.len() < 2 => (
            Level::Pass,
            set.first()
                .map_or_else(|| "none is set".to_owned(), |name| format!("only {name} is set")),
        ),
        _ if runtime.len() > 1 => (Level::Fail, format!("{} disagree", set.join(", "))),
        Err(why) => (Level::Fail, why),
        Ok(left) if left.is_empty() => (Level::Fail, format!("{} leave no device", set.join(", "))),
        Ok(left) => (Level::Warn, format!("{} agree on {} of {gpus} devices", set.join(", "), left.len())),
    };
    sight("at most one of them", look)
}
