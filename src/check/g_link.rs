//! The link to the host.

use super::{Check, Sight, activity, cards, known};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The link to the host.
pub const G_LINK: Check = Check {
    id: "G-LINK",
    source: "current_link_speed, current_link_width",
    rule: "as declared / lower while idle / lower under load",
    why: "A link that came up narrow slows every copy; one that is idle may only rest.",
    hint: "Look again under load; if it stays low, reseat the card or restart the machine.",
    explained_by: &[],
    look,
};

/// Activity from which a link has no reason to rest, in %.
const BUSY_PCT: f64 = 50.0;

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let (speed, width) = (declared.link_speed_gts?, declared.link_width?);
    cards(machine, &format!("{speed} GT/s x{width}"), |card| {
        known(&card.link_speed, |said| {
            known(&card.link_width, |lanes| {
                let now = said.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
                let Some(now) = now else {
                    return (Level::Unknown, format!("{said:?}"));
                };
                let busy = activity(card).is_ok_and(|activity| activity >= BUSY_PCT);
                let found = match (now >= speed && *lanes >= width, busy) {
                    (true, _) => Level::Pass,
                    (false, false) => Level::Warn,
                    (false, true) => Level::Fail,
                };
                (found, format!("{now} GT/s x{lanes}"))
            })
        })
    })
}
