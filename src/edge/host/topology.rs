//! What the compute driver lists: nodes, and processes that hold a context.

use std::collections::BTreeMap;

use super::source::Source;
use crate::model::host::card::{Node, Process, node, property};
use crate::model::host::seen::{Seen, Why};

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";
const PROCESSES: &str = "sys/class/kfd/kfd/proc";

/// Every GPU, or partition of one, in the driver's order.
pub fn nodes(source: &Source) -> Seen<Vec<Node>> {
    let nodes = numbered(source, NODES)?.into_iter().filter_map(|number| {
        let properties = source.text(&format!("{NODES}/{number}/properties")).ok()?;
        let gpu_id = source.parse(&format!("{NODES}/{number}/gpu_id"), |text| text.parse().ok());
        node(gpu_id.unwrap_or(0), &properties)
    });
    Ok(nodes.collect())
}

/// How many nodes are processors, and how many of their threads there are; none where the driver lists none.
pub fn processors(source: &Source) -> Option<(u64, u64)> {
    let threads = numbered(source, NODES).ok()?.into_iter().filter_map(|number| {
        let properties = source.text(&format!("{NODES}/{number}/properties")).ok()?;
        property(&properties, "cpu_cores_count").filter(|&threads| threads > 0)
    });
    let (nodes, threads) = threads.fold((0, 0), |(nodes, all), threads| (nodes + 1, all + threads));
    (nodes > 0).then_some((nodes, threads))
}

/// Every process with a compute context. The driver makes the folder with the first one: where only the folder is missing, there is none.
pub fn processes(source: &Source) -> Seen<Vec<Process>> {
    let pids = match numbered(source, PROCESSES) {
        Err(unseen) if unseen.why == Why::Absent && source.list(NODES).is_ok() => Vec::new(),
        other => other?,
    };
    pids.into_iter().map(|pid| process(source, pid)).collect()
}

/// One process. What it holds is known, or the whole list is not: a process that may not be looked into is not one without memory.
fn process(source: &Source, pid: u32) -> Seen<Process> {
    let folder = format!("{PROCESSES}/{pid}");
    let files = source.list(&folder).unwrap_or_default();
    let every = |prefix: &'static str, below: &str| -> Seen<BTreeMap<u64, u64>> {
        let named = files
            .iter()
            .filter_map(|file| Some((file, file.strip_prefix(prefix)?.parse::<u64>().ok()?)));
        let mut found = BTreeMap::new();
        for (file, gpu) in named {
            match source.parse(&format!("{folder}/{file}{below}"), |text| text.parse().ok()) {
                Ok(value) => {
                    found.insert(gpu, value);
                }
                // It ended meanwhile, or the driver does not count this.
                Err(unseen) if unseen.why == Why::Absent => {}
                Err(unseen) => return Err(unseen),
            }
        }
        Ok(found)
    };
    Ok(Process {
        pid,
        name: source.text(&format!("proc/{pid}/comm")),
        vram_bytes: every("vram_", "")?,
        cu_occupancy: every("stats_", "/cu_occupancy")?,
    })
}

/// The entries of a folder that are numbers, by size.
pub fn numbered(source: &Source, folder: &str) -> Seen<Vec<u32>> {
    let mut numbers: Vec<u32> = source.list(folder)?.iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
