//! Contexts whose process is gone.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::card::Process;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::seen::Why;

/// Contexts whose process is gone.
pub const P_KFDPROC_ORPHAN: Check = Check {
    id: "P-KFDPROC-ORPHAN",
    source: "/sys/class/kfd/kfd/proc, /proc",
    rule: "none / one without memory / one that holds memory",
    why: "The driver did not clean up: memory stays taken until a reset.",
    hint: "Restart the driver or the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    (wants_gpu(machine, declared) && machine.container.is_none()).then_some(())?;
    let look = known(&machine.processes, |processes| {
        let gone = |process: &&Process| process.name.as_ref().is_err_and(|unseen| unseen.why == Why::Absent);
        let held = |process: &Process| process.vram_all_bytes();
        match processes.iter().filter(gone).max_by_key(|process| held(process)) {
            None => (Level::Pass, "none".to_owned()),
            Some(process) if held(process) == 0 => (
                Level::Warn,
                format!("process {} is gone, its context without memory is not", process.pid),
            ),
            Some(process) => (
                Level::Fail,
                format!("process {} is gone, {} bytes that it held are not free", process.pid, held(process)),
            ),
        }
    });
    sight("none", look)
}
