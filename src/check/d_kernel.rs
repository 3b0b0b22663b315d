//! The kernel's age.

use super::{Check, Sight, known, level, sight};
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The kernel's age.
pub const D_KERNEL: Check = Check {
    id: "D-KERNEL",
    source: "/proc/sys/kernel/osrelease",
    rule: "the declared one or newer / - / older",
    why: "Older kernels lack repairs that figures of this architecture need.",
    hint: "Start a newer kernel.",
    explained_by: &[],
    look,
};

/// The leading numbers of a release: `6.18.4-generic` is 6, 18, 4.
fn parts(release: &str) -> Vec<u64> {
    let numbers = release.split(['.', '-']);
    numbers.map_while(|part| part.parse().ok()).collect()
}

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.kernel_min.as_ref()?;
    let look = known(&machine.kernel.release, |release| {
        (level(parts(release) >= parts(wanted)), release.clone())
    });
    sight(&format!("{wanted} or newer"), look)
}
