//! Messages of throttling.

use super::{Check, Sight, messages, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::{Machine, THROTTLED_MESSAGE};
use crate::model::host::profile::Declared;

/// Messages of throttling.
pub const L_DMESG_THROTTLE: Check = Check {
    id: "L-DMESG-THROTTLE",
    source: "the kernel's messages",
    rule: "none / before the job / since the job began",
    why: "The device was too hot, or short of power.",
    hint: "Let it cool; look at fans and power.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    sight("no such message", messages(machine, &[THROTTLED_MESSAGE], Level::Fail))
}
