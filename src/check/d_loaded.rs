//! The GPU driver.

use super::{Check, Sight, known, level, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::seen::Why;

/// The GPU driver.
pub const D_LOADED: Check = Check {
    id: "D-LOADED",
    source: "/sys/module/amdgpu/initstate",
    rule: "live / - / missing",
    why: "Without the driver there is no device to measure.",
    hint: "Load it: `modprobe amdgpu`; its messages say why it did not.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = match &machine.driver.state {
        Err(unseen) if unseen.why == Why::Absent => (Level::Fail, "not loaded".to_owned()),
        state => known(state, |state| (level(state == "live"), state.clone())),
    };
    sight("live", look)
}
