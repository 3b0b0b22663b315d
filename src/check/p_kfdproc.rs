//! Other processes with memory or work on a GPU.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Other processes with memory or work on a GPU.
pub const P_KFDPROC: Check = Check {
    id: "P-KFDPROC",
    source: "/sys/class/kfd/kfd/proc",
    rule: "none / - / one",
    why: "Two programs share clocks, power and memory.",
    hint: "End it, or wait for it, or measure on another device.",
    explained_by: &[],
    look,
};

/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = known(&machine.processes, |_| {
        let running = machine
            .foreign()
            .filter(|process| machine.container.is_some() || process.name.is_ok());
        let named = running.map(|process| {
            let name = process.name.as_deref().unwrap_or("of the machine outside");
            format!(
                "process {} ({name}) holds {:.1} GiB",
                process.pid,
                process.vram_all_bytes() as f64 / GIB
            )
        });
        let named: Vec<String> = named.collect();
        match named.is_empty() {
            true => (Level::Pass, "none".to_owned()),
            false => (Level::Fail, named.join("; ")),
        }
    });
    sight("none", look)
}
