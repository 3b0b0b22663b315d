//! Programs that watch GPUs.

use super::{Check, Sight, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Programs that watch GPUs.
pub const P_MONITOR: Check = Check {
    id: "P-MONITOR",
    source: "/proc/*/comm",
    rule: "none / one / -",
    why: "They ask the power firmware all the time, and open devices.",
    hint: "End it for the measurement.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let named: Vec<String> = machine
        .monitors
        .iter()
        .map(|(pid, name)| format!("{name} (process {pid})"))
        .collect();
    let look = match named.is_empty() {
        true => (Level::Pass, "none".to_owned()),
        false => (Level::Warn, named.join(", ")),
    };
    sight("none", look)
}
