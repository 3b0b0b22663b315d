//! The highest graphics clock.

use super::{Check, Sight, cards, known, level};
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The highest graphics clock.
pub const C_SCLKMAX: Check = Check {
    id: "C-SCLKMAX",
    source: "the last step of pp_dpm_sclk",
    rule: "the declared one / - / lower",
    why: "A limit that an earlier job left slows everything by its ratio.",
    hint: "`amd-smi reset --perf-determinism`, or declare the clock in the profile.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.sclk_max_mhz?;
    cards(machine, &format!("{wanted} MHz"), |card| {
        known(&card.sclk, |steps| {
            let top = steps.last().map_or(0, |step| step.mhz);
            (level(top >= wanted), format!("{top} MHz"))
        })
    })
}
