//! What drives the processors' clocks.

use super::{Check, Sight, known, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// What drives the processors' clocks.
pub const H_GOV: Check = Check {
    id: "H-GOV",
    source: "cpu0/cpufreq/scaling_governor",
    rule: "performance / another / -",
    why: "A launch waits for the clock to rise.",
    hint: "`cpupower frequency-set -g performance`",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let look = known(&machine.cpu.governor, |governor| match governor.as_str() {
        "performance" => (Level::Pass, governor.clone()),
        _ => (Level::Warn, governor.clone()),
    });
    sight("performance", look)
}
