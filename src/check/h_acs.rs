//! Whether bridges let cards talk to each other directly, where several work together.

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether bridges let cards talk to each other directly, where several work together.
pub const H_ACS: Check = Check {
    id: "H-ACS",
    source: "the configuration of PCI bridges, which takes root",
    rule: "source validation is off everywhere / it is on somewhere / -",
    why: "Every transfer between two cards then goes through the processor.",
    hint: "Switch it off in the firmware's setup, or with `setpci`.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    (declared.several_gpus && machine.cards.len() > 1).then_some(())?;
    let bridges = &machine.bridges;
    let on: Vec<&str> = bridges
        .iter()
        .filter(|(_, on)| **on == Ok(true))
        .map(|(name, _)| name.as_str())
        .collect();
    let closed = bridges.values().find_map(|on| on.as_ref().err());
    let look = match (on.is_empty(), closed) {
        (false, _) => (Level::Warn, format!("on at {}", on.join(", "))),
        (true, Some(unseen)) => (Level::Unknown, unseen.to_string()),
        (true, None) if bridges.is_empty() => (Level::Unknown, "no bridge with access control is listed".to_owned()),
        (true, None) => (Level::Pass, "off at every bridge".to_owned()),
    };
    sight("source validation off", look)
}
