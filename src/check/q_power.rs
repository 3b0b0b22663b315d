//! Whether the power is that of an idle device.

use super::{Check, Sight, cards, known, level};
use crate::model::host::card::GUEST_MI300X;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the power is that of an idle device.
pub const Q_POWER: Check = Check {
    id: "Q-POWER",
    source: "hwmon power1_input, else power1_average",
    rule: "up to 1.25 x the declared idle power / - / more",
    why: "Power shows work that no counter shows.",
    hint: "Wait; if it stays, look for work that was left behind.",
    explained_by: &["P-KFDPROC", "T-TEMP", "C-STUCK"],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    declared.power_idle_w?;
    cards(machine, "at most 1.25 x the idle power", |card| {
        let guest = card.device.as_deref() == Ok(GUEST_MI300X);
        let idle = if guest {
            declared.power_idle_guest_w.or(declared.power_idle_w)
        } else {
            declared.power_idle_w
        };
        let idle = idle.unwrap_or(f64::INFINITY);
        known(&card.power_w, |(power, _)| {
            (level(*power <= 1.25 * idle), format!("{power} W, idle is {idle} W"))
        })
    })
}
