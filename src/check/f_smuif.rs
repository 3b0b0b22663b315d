//! Whether driver and power firmware speak the same interface.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether driver and power firmware speak the same interface.
pub const F_SMUIF: Check = Check {
    id: "F-SMUIF",
    source: "the kernel's messages",
    rule: "equal, or not told / different / -",
    why: "The firmware is made to work with older drivers; a difference is worth knowing where clocks look wrong.",
    hint: "Update driver and firmware together.",
    explained_by: &[],
    look,
};

/// The versions in `smu driver if version = A, smu fw if version = B, ...`.
fn interfaces(text: &str) -> Option<(&str, &str)> {
    let after = |label: &str| {
        let (_, rest) = text.split_once(label)?;
        rest.split([',', ' ']).next()
    };
    Some((after("smu driver if version = ")?, after("smu fw if version = ")?))
}

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = known(&machine.kernel.log, |log| {
        match log.iter().rev().find_map(|message| interfaces(&message.text)) {
            None => (Level::Pass, "not told".to_owned()),
            Some((driver, firmware)) if driver == firmware => (Level::Pass, format!("{driver} both")),
            Some((driver, firmware)) => (Level::Warn, format!("the driver's is {driver}, the firmware's {firmware}")),
        }
    });
    sight("one interface version", look)
}
