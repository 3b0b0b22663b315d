//! How each card is split into devices.

use super::{Check, Sight, cards, equals};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// How each card is split into devices.
pub const G_CPART: Check = Check {
    id: "G-CPART",
    source: "current_compute_partition",
    rule: "as declared / - / otherwise",
    why: "A partition has a part of the compute units; it falls back when the machine restarts.",
    hint: "Set it with `amd-smi set --compute-partition`, or declare it in the profile.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.compute_partition.as_ref()?;
    cards(machine, wanted, |card| {
        equals(&card.compute_partition, wanted, Level::Fail, String::clone)
    })
}
