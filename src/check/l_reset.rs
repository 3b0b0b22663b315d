//! Messages of resets and memory errors.

use super::{Check, Sight, messages, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::{Machine, RESET_MESSAGES};
use crate::model::host::profile::Declared;

/// Messages of resets and memory errors.
pub const L_RESET: Check = Check {
    id: "L-RESET",
    source: "the kernel's messages",
    rule: "none / before the job / since the job began",
    why: "A device that was reset may run on with less.",
    hint: "Restart the machine where figures look wrong since.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    sight("no such message", messages(machine, &RESET_MESSAGES, Level::Fail))
}
