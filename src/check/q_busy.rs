//! Whether the devices are idle.

use super::{Check, Sight, activity, cards, known};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the devices are idle.
pub const Q_BUSY: Check = Check {
    id: "Q-BUSY",
    source: "gpu_busy_percent, gpu_metrics; ten looks in two seconds where they are of this machine",
    rule: "at most 1 % / at most 5 % / more",
    why: "Something else works there.",
    hint: "Wait, or end what runs.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    cards(machine, "at most 1 % busy", |card| {
        known(&activity(card), |&activity| {
            let found = match activity {
                activity if activity > 5.0 => Level::Fail,
                activity if activity > 1.0 => Level::Warn,
                _ => Level::Pass,
            };
            (found, format!("{activity} % busy"))
        })
    })
}
