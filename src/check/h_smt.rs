//! Whether two threads share a core.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether two threads share a core.
pub const H_SMT: Check = Check {
    id: "H-SMT",
    source: "/sys/devices/system/cpu/smt/active",
    rule: "no, or declared / yes / -",
    why: "Two threads of one core slow each other.",
    hint: "Switch it off in the firmware's setup, or declare `smt = true`.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = known(&machine.cpu.smt_active, |&active| match active && !declared.smt {
        false => (Level::Pass, if active { "yes, as declared" } else { "no" }.to_owned()),
        true => (Level::Warn, "yes".to_owned()),
    });
    sight(if declared.smt { "either" } else { "no" }, look)
}
