//! Whether the kernel moves memory between nodes by itself.

use super::{Check, Sight, known, sight, wants_gpu};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the kernel moves memory between nodes by itself.
pub const H_NUMABAL: Check = Check {
    id: "H-NUMABAL",
    source: "/proc/sys/kernel/numa_balancing",
    rule: "off / on / -",
    why: "It helps some loads and stalls others; in any case it must be the same for both.",
    hint: "`sysctl kernel.numa_balancing=0`",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    wants_gpu(machine, declared).then_some(())?;
    let look = known(&machine.cpu.numa_balancing, |&on| match on {
        false => (Level::Pass, "off".to_owned()),
        true => (Level::Warn, "on".to_owned()),
    });
    sight("off", look)
}
