//! How many cards the compute driver lists.

use std::collections::BTreeSet;

use super::{Check, Sight, known, level, sight};
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// How many cards the compute driver lists.
pub const G_COUNT: Check = Check {
    id: "G-COUNT",
    source: "the compute driver's topology",
    rule: "as many as declared / - / more or fewer",
    why: "A card that did not come up makes the others carry its work.",
    hint: "Look for the missing card in the kernel's messages; restart the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.cards?;
    let look = known(&machine.nodes, |nodes| {
        let cards: BTreeSet<&str> = nodes.iter().map(|node| node.bdf.as_str()).collect();
        (level(cards.len() == wanted), format!("{} cards", cards.len()))
    });
    sight(&format!("{wanted} cards"), look)
}
