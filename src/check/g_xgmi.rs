//! The links between cards, where several work together.

use super::{Check, Sight, cards, level};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The links between cards, where several work together.
pub const G_XGMI: Check = Check {
    id: "G-XGMI",
    source: "gpu_metrics",
    rule: "all up / - / one down",
    why: "A mesh that lacks a link carries a fraction of the bandwidth.",
    hint: "Look for link errors in the kernel's messages; restart the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    (declared.several_gpus && machine.cards.len() > 1).then_some(())?;
    cards(machine, "every link up", |card| {
        match card.last_metrics().map(|metrics| &metrics.xgmi_link_status) {
            Some(links) if !links.is_empty() => {
                let down = links.iter().filter(|&&link| link == 0).count();
                (level(down == 0), format!("{down} of {} links down", links.len()))
            }
            _ => (Level::Unknown, "the device does not report its links".to_owned()),
        }
    })
}
