//! The architecture of every GPU.

use std::collections::BTreeSet;

use super::{Check, Sight, known, level, sight};
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// The architecture of every GPU.
pub const G_ARCH: Check = Check {
    id: "G-ARCH",
    source: "the compute driver's topology",
    rule: "the declared architecture / - / another",
    why: "Figures of one architecture say nothing about another.",
    hint: "Choose the profile of this machine, or the machine of this profile.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.arch.as_ref()?;
    let look = known(&machine.nodes, |nodes| {
        let archs: BTreeSet<&str> = nodes.iter().map(|node| node.arch.as_str()).collect();
        let fits = !archs.is_empty() && archs.iter().all(|arch| arch == wanted);
        let saw = archs.into_iter().collect::<Vec<&str>>().join(", ");
        (level(fits), if saw.is_empty() { "no GPU".to_owned() } else { saw })
    });
    sight(wanted, look)
}
