//! Huge pages.

use super::{Check, Sight, equals, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Huge pages.
pub const H_THP: Check = Check {
    id: "H-THP",
    source: "/sys/kernel/mm/transparent_hugepage/enabled",
    rule: "as declared / otherwise / -",
    why: "They change what allocating and registering memory costs.",
    hint: "Write the declared word to the file.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.thp.as_ref()?;
    sight(wanted, equals(&machine.cpu.thp, wanted, Level::Warn, String::clone))
}
