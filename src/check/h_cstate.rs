//! Whether processors sleep deeply.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::seen::Why;

/// Whether processors sleep deeply.
pub const H_CSTATE: Check = Check {
    id: "H-CSTATE",
    source: "cpu0/cpuidle/state2/disable",
    rule: "no such state, or disabled / enabled / -",
    why: "A launch waits for the processor to wake.",
    hint: "`cpupower idle-set -d 2`",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = match &machine.cpu.idle2_disabled {
        Err(unseen) if unseen.why == Why::Absent => (Level::Pass, "there is no state 2".to_owned()),
        state => known(state, |&disabled| match disabled {
            true => (Level::Pass, "state 2 is disabled".to_owned()),
            false => (Level::Warn, "state 2 is enabled".to_owned()),
        }),
    };
    sight("state 2 disabled", look)
}
