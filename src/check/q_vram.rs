//! How much device memory is taken.

use super::{Check, Sight, cards, known};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// How much device memory is taken.
pub const Q_VRAM: Check = Check {
    id: "Q-VRAM",
    source: "mem_info_vram_used",
    rule: "at most 1 GiB / at most 2 GiB / more, or too little is left",
    why: "Taken memory is another program's, or a failure to come.",
    hint: "End what holds it.",
    explained_by: &["Q-VRAM-STRANDED"],
    look,
};

/// Bytes of a GiB.
const GIB: u64 = 1 << 30;

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    cards(machine, "at most 1 GiB in use", |card| {
        known(&card.vram_bytes.1, |&used| {
            let free = card.vram_bytes.0.as_ref().map_or(u64::MAX, |total| total.saturating_sub(used));
            let found = match used {
                _ if free < declared.vram_need_bytes => Level::Fail,
                used if used > 2 * GIB => Level::Fail,
                used if used > GIB => Level::Warn,
                _ => Level::Pass,
            };
            (found, format!("{:.2} GiB in use", used as f64 / GIB as f64))
        })
    })
}
