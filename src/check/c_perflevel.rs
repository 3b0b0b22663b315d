//! What drives the clocks.

use super::{Check, Sight, cards, equals};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// What drives the clocks.
pub const C_PERFLEVEL: Check = Check {
    id: "C-PERFLEVEL",
    source: "power_dpm_force_performance_level",
    rule: "as declared / - / otherwise",
    why: "A level that an earlier job left holds clocks up or down for every later one.",
    hint: "`amd-smi reset --clocks`, or declare the level in the profile.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.perf_level.as_ref()?;
    cards(machine, wanted, |card| equals(&card.perf_level, wanted, Level::Fail, String::clone))
}
