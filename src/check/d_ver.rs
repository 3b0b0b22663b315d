//! The driver's version.

use super::{Check, Sight, known, level, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::seen::Why;

/// The driver's version.
pub const D_VER: Check = Check {
    id: "D-VER",
    source: "/sys/module/amdgpu/version",
    rule: "the declared one, or any where none is declared / none: part of the kernel / another",
    why: "Another driver is another program below every figure.",
    hint: "Install the declared version, or accept a new baseline for this one.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let wanted = declared.driver_version.as_ref();
    let look = match &machine.driver.version {
        Err(unseen) if unseen.why == Why::Absent => {
            let kernel = machine.kernel.release.as_deref().unwrap_or("unknown");
            (
                Level::Warn,
                format!("none: part of the kernel {kernel}, told apart by its sources' digest"),
            )
        }
        version => known(version, |version| {
            (level(wanted.is_none_or(|wanted| wanted == version)), version.clone())
        }),
    };
    sight(wanted.map_or("any version", |wanted| wanted), look)
}
