//! The power cap.

use super::{Check, Sight, cards, known, level};
use crate::model::host::Level;
use crate::model::host::card::GUEST_MI300X;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The power cap.
pub const C_PCAP: Check = Check {
    id: "C-PCAP",
    source: "power1_cap, power1_cap_default",
    rule: "the default / not readable in a guest / another",
    why: "A cap that an earlier job left lowers clocks under load.",
    hint: "`amd-smi reset --power-cap`",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    cards(machine, "the default cap", |card| {
        if card.cap_w.is_err() && card.device.as_deref() == Ok(GUEST_MI300X) {
            return (Level::Warn, "not readable in a guest".to_owned());
        }
        known(&card.cap_w, |&cap| {
            known(&card.cap_default_w, |&default| {
                (level((cap - default).abs() < 0.5), format!("{cap} W, the default is {default} W"))
            })
        })
    })
}
