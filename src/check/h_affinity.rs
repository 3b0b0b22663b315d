//! Whether this process runs near the devices.

use super::{Check, Sight, cards, known};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether this process runs near the devices.
pub const H_AFFINITY: Check = Check {
    id: "H-AFFINITY",
    source: "Cpus_allowed_list, numa_node",
    rule: "near, or declared / far / -",
    why: "A launch from a far node crosses the link between packages.",
    hint: "Start it near: `numactl --cpunodebind`, or set HSA_OVERRIDE_CPU_AFFINITY_DEBUG=0 on purpose.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let on_purpose = machine.env.get("HSA_OVERRIDE_CPU_AFFINITY_DEBUG").is_some_and(|value| value == "0");
    if on_purpose || machine.cpu.numa_nodes.as_ref().is_ok_and(|&nodes| nodes <= 1) {
        let saw = if on_purpose { "set on purpose" } else { "there is one memory node" };
        return cards(machine, "near", |_| (Level::Pass, saw.to_owned()));
    }
    cards(machine, "near", |card| {
        known(&machine.cpu.allowed, |allowed| {
            known(&card.numa_node, |node| match machine.cpu.of_node.get(node) {
                Some(near) if near.is_disjoint(allowed) => (Level::Warn, format!("no processor of memory node {node} is allowed")),
                Some(_) => (Level::Pass, format!("processors of memory node {node} are allowed")),
                None if *node < 0 => (Level::Pass, "the device has no memory node".to_owned()),
                None => (Level::Unknown, format!("the processors of memory node {node} are not known")),
            })
        })
    })
}
