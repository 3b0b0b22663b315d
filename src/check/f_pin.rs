//! The versions of firmware that were declared.

use super::{Check, Sight, cards};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The versions of firmware that were declared.
pub const F_PIN: Check = Check {
    id: "F-PIN",
    source: "fw_version, vbios_version",
    rule: "as declared / another / -",
    why: "New firmware moves clocks and limits: figures before and after are two machines.",
    hint: "Install the declared firmware, or accept a new baseline for this one.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    (!declared.firmware.is_empty() || declared.vbios.is_some()).then_some(())?;
    cards(machine, "the declared versions", |card| {
        let pinned = declared
            .firmware
            .iter()
            .map(|(name, wanted)| (name.as_str(), wanted, card.firmware.get(name)));
        let board = declared.vbios.iter().map(|wanted| ("vbios", wanted, Some(&card.vbios)));
        let mut found = (Level::Pass, "the declared versions".to_owned());
        for (name, wanted, is) in pinned.chain(board) {
            match is {
                Some(Ok(is)) if is == wanted => {}
                Some(Ok(is)) => return (Level::Warn, format!("{name} is {is}, declared is {wanted}")),
                _ => found = (Level::Unknown, format!("the version of {name} is not readable")),
            }
        }
        found
    })
}
