//! The memory of the host.

use super::{Check, Sight, known, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The memory of the host.
pub const Q_HOSTMEM: Check = Check {
    id: "Q-HOSTMEM",
    source: "/proc/meminfo",
    rule: "enough, and no swap in use / swap in use / less than declared",
    why: "A program that swaps measures the disk.",
    hint: "End what holds memory; `swapoff -a` and `swapon -a` empty the swap.",
    explained_by: &[],
    look,
};

/// Bytes of a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let need = declared.memory_need_bytes;
    let look = known(&machine.memory.available_bytes, |&available| {
        let swap = machine.memory.swap_used_bytes.as_ref().copied().unwrap_or(0);
        let saw = format!(
            "{:.1} GiB available, {:.1} GiB of swap in use",
            available as f64 / GIB,
            swap as f64 / GIB
        );
        match available {
            available if available < need => (Level::Fail, saw),
            _ if swap > 0 => (Level::Warn, saw),
            _ => (Level::Pass, saw),
        }
    });
    sight(&format!("{:.1} GiB available, no swap in use", need as f64 / GIB), look)
}
