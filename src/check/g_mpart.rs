//! How each card's memory is split.

use super::{Check, Sight, cards, known, level};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// How each card's memory is split.
pub const G_MPART: Check = Check {
    id: "G-MPART",
    source: "current_memory_partition",
    rule: "as declared / - / otherwise, or split under a card that is whole",
    why: "Memory split in four has other bandwidth; a whole card cannot have it.",
    hint: "Set it with `amd-smi set --memory-partition`, or declare it in the profile.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.memory_partition.as_ref()?;
    cards(machine, wanted, |card| {
        known(&card.memory_partition, |memory| {
            let whole = card.compute_partition.as_deref() == Ok("SPX");
            match whole && memory == "NPS4" {
                true => (Level::Fail, "NPS4 of a card in SPX, which cannot be".to_owned()),
                false => (level(memory == wanted), memory.clone()),
            }
        })
    })
}
