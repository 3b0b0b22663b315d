//! Messages of more queues than the device has.

use super::{Check, Sight, messages, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::{Machine, OVERSUBSCRIBED_MESSAGE};
use crate::model::host::profile::Declared;

/// Messages of more queues than the device has.
pub const L_OVERSUB: Check = Check {
    id: "L-OVERSUB",
    source: "the kernel's messages",
    rule: "none / any / -",
    why: "Queues then take turns, and every one of them waits.",
    hint: "End what holds queues; figures since then are degraded.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    sight("no such message", messages(machine, &[OVERSUBSCRIBED_MESSAGE], Level::Warn))
}
