//! The machine: its kernel, processors, memory, driver, GPUs, and who uses them, from the files of one root folder or of a snapshot.

mod capture;
pub(super) mod cards;
pub(super) mod kernel_log;
mod pci;
mod programs;
mod reader;
mod snapshot;
pub(super) mod source;
mod surroundings;
pub(super) mod topology;
mod variables;

use std::path::Path;
use std::time::Duration;

pub use capture::text as capture;
pub use programs::{ask_endpoint, ask_tools};
pub use reader::machine;
pub use snapshot::open;
pub use source::Source;

use crate::model::host::facts::{Recorded, recorded};
use crate::model::host::machine::Machine;

/// How often a device's activity is looked at.
const LOOKS: u32 = 10;
/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(200);
/// The telemetry table is read again with every fifth look, a second apart.
const TABLE_EVERY: u32 = 5;

/// Reads the machine and what surrounds this process, and asks the programs that know more: the GPU helpers, and AMD's own tools. Takes as
/// long as they may.
pub fn whole(source: &Source) -> Machine {
    let mut machine = machine(source);
    programs::ask_helpers(source, &mut machine);
    ask_tools(source, &mut machine);
    machine.surroundings = surroundings::read(source);
    machine
}

/// Reads the machine, and watches its GPUs for two seconds where it is this one; a replayed machine is not waited for.
pub fn observed(source: &Source) -> Machine {
    let mut machine = machine(source);
    if source.is_here() && !machine.cards.is_empty() {
        for look in 1..LOOKS {
            std::thread::sleep(BETWEEN);
            cards::look_again(source, &mut machine.cards, look % TABLE_EVERY == 0);
        }
    }
    machine
}

/// Whether the machine whose files stand under `root` has a GPU, for the compute driver or for the GPU driver.
pub fn has_devices(root: &Path) -> bool {
    let source = Source::folder(root);
    topology::nodes(&source).is_ok_and(|nodes| !nodes.is_empty()) || cards::are_there(&source)
}

/// Reads again what may change between two processes: what somebody may set on the devices, and who holds them.
pub fn again(source: &Source, machine: &mut Machine) {
    cards::settings_again(source, &mut machine.cards);
    machine.processes = topology::processes(source);
}

/// The facts of a record's identity about the machine whose files stand under `root`; `/` is this one.
pub fn read(root: &Path) -> Recorded {
    let mut recorded = recorded(&reader::without_bystanders(&Source::folder(root)));
    let arch = format!("cpu-{}", std::env::consts::ARCH);
    recorded.machine.insert("arch".to_owned(), arch.into());
    recorded
}
