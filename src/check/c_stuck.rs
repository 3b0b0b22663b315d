//! Whether the clock follows the work.

use super::{Check, Sight, activity, cards, known, level};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the clock follows the work.
pub const C_STUCK: Check = Check {
    id: "C-STUCK",
    source: "gpu_busy_percent, pp_dpm_sclk, power",
    rule: "idle, or clocks up under work / - / busy at a clock under 300 MHz, or at little more than idle power",
    why: "A clock that stays down makes everything slow.",
    hint: "Reset the device, or restart the machine.",
    explained_by: &[],
    look,
};

/// Activity from which clocks must be up, in %.
const BUSY_PCT: f64 = 90.0;
/// A clock under this is that of an idle device, in MHz.
const AWAKE_MHZ: u64 = 300;

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    cards(machine, "a clock that follows the work", |card| {
        known(&activity(card), |&activity| {
            if activity < BUSY_PCT {
                return (Level::Pass, format!("{activity} % busy"));
            }
            let step = card.sclk.iter().flatten().find(|step| step.live).map(|step| step.mhz);
            let dies = card.last_metrics().and_then(|metrics| metrics.gfxclk_mhz.iter().max().copied());
            let Some(clock) = step.or(dies.map(u64::from)) else {
                return (Level::Unknown, "the clock is not readable".to_owned());
            };
            let weak = card
                .power_w
                .as_ref()
                .ok()
                .zip(declared.power_idle_w)
                .is_some_and(|((power, _), idle)| *power < 1.3 * idle);
            (level(clock >= AWAKE_MHZ && !weak), format!("{activity} % busy at {clock} MHz"))
        })
    })
}
