//! Who holds a watched device besides the measured process.

use std::collections::BTreeSet;

use crate::edge::host::{Source, topology};
use crate::model::host::machine::Machine;
use crate::model::host::seen::{Seen, Why};
use crate::model::telemetry::Foreign;

/// Who was found, or why that cannot be told.
pub type Found = Result<Vec<Foreign>, String>;

/// The number of the namespace that the first process of a machine counts processes in.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// Where the compute driver lists the processes with a context.
const PROCESSES: &str = "sys/class/kfd/kfd/proc";
/// How often the parents of a process are looked for where one of them goes meanwhile.
const TRIES: u32 = 3;
/// Most parents that are climbed from a process.
const PARENTS_MAX: usize = 64;
/// Longest name of a process that is kept.
const NAME_MAX: usize = 64;

/// How to find who holds the watched devices.
#[derive(Debug, Clone)]
pub struct Holders {
    /// The driver's numbers of the watched devices, and their addresses.
    gpus: BTreeSet<u64>,
    addresses: BTreeSet<String>,
    /// Whether the compute driver lists processes; else open files of the devices are looked for.
    listed: bool,
    /// Why nobody can be told from the measured process.
    blind: Option<String>,
}

impl Holders {
    /// Finds out how.
    pub fn new(source: &Source, machine: &Machine) -> Self {
        let addresses: BTreeSet<String> = machine.cards.iter().filter_map(|card| card.bdf.clone().ok()).collect();
        let nodes = machine.nodes.as_deref().unwrap_or_default();
        let own = nodes.iter().filter(|node| addresses.contains(&node.bdf));
        let blind = match source.link("proc/self/ns/pid") {
            // Where the first process is hidden from this user, so are those of others.
            Ok(namespace) if namespace == FIRST_PID_NAMESPACE => source.glance("proc/1/stat").err().map(|unseen| unseen.to_string()),
            Ok(_) => Some("the driver counts processes as the machine outside of this container does".to_owned()),
            Err(unseen) => Some(unseen.to_string()),
        };
        Self {
            gpus: own.map(|node| node.gpu_id).collect(),
            addresses,
            listed: !nodes.is_empty(),
            blind,
        }
    }

    /// The processes that hold memory of a watched device or work on it, that still run, and that do not descend from this program. Where
    /// no driver lists them, open files are looked for at the ends of a window only: that takes long.
    pub fn foreign(&self, source: &Source, at_an_end: bool) -> Found {
        if let Some(why) = &self.blind {
            return Err(why.clone());
        }
        let found = match (self.listed, at_an_end) {
            (true, _) => self.of_the_list(source),
            (false, true) => self.of_open_files(source),
            (false, false) => Ok(Vec::new()),
        };
        found.map_err(|unseen| unseen.to_string())
    }

    fn of_the_list(&self, source: &Source) -> Seen<Vec<Foreign>> {
        let pids = match topology::numbered(source, PROCESSES) {
            // The driver makes the folder with the first process.
            Err(unseen) if unseen.why == Why::Absent => return Ok(Vec::new()),
            other => other?,
        };
        let mut found = Vec::new();
        for pid in pids {
            let Some(vram_bytes) = self.held(source, pid)? else { continue };
            found.extend(named(source, pid, vram_bytes));
        }
        Ok(found)
    }

    /// Bytes that a process holds of the watched devices; none where it holds nothing and does not work.
    fn held(&self, source: &Source, pid: u32) -> Seen<Option<u64>> {
        let mut bytes = 0;
        let mut works = false;
        for gpu in &self.gpus {
            let number = |file: String| match source.peek(&format!("{PROCESSES}/{pid}/{file}"), |text| text.parse::<u64>().ok()) {
                // It ended meanwhile, or never used this device.
                Err(unseen) if unseen.why == Why::Absent => Ok(0),
                other => other,
            };
            bytes += number(format!("vram_{gpu}"))?;
            works |= number(format!("stats_{gpu}/cu_occupancy"))? > 0;
        }
        Ok((bytes > 0 || works).then_some(bytes))
    }

    /// Without a list: processes that have a file of a watched device open, with the memory that this file tells.
    fn of_open_files(&self, source: &Source) -> Seen<Vec<Foreign>> {
        let mut found = Vec::new();
        for pid in topology::numbered(source, "proc")? {
            let files = match source.list(&format!("proc/{pid}/fd")) {
                Err(unseen) if unseen.why == Why::Absent => continue,
                other => other?,
            };
            let device = |file: &&String| {
                let target = source.link(&format!("proc/{pid}/fd/{file}")).unwrap_or_default();
                target.starts_with("/dev/dri/render") || target == "/dev/kfd"
            };
            let held = files.iter().filter(device).filter_map(|file| {
                let told = source
                    .peek(&format!("proc/{pid}/fdinfo/{file}"), |text| Some(text.to_owned()))
                    .ok()?;
                self.of_file(&told)
            });
            if let Some(vram_bytes) = held.reduce(u64::max).filter(|&bytes| bytes > 0) {
                found.extend(named(source, pid, vram_bytes));
            }
        }
        Ok(found)
    }

    /// Bytes of device memory that an open file tells of, where it belongs to a watched device.
    fn of_file(&self, told: &str) -> Option<u64> {
        let field = |name: &str| {
            told.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
                .map(str::trim)
        };
        self.addresses.contains(field("drm-pdev")?).then_some(())?;
        let (number, unit) = field("drm-memory-vram")?.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        number.checked_mul(if unit == "KiB" { 1 << 10 } else { 1 })
    }
}

/// A process that runs and does not descend from this program; what is gone, or is one of ours, is none.
fn named(source: &Source, pid: u32, vram_bytes: u64) -> Option<Foreign> {
    let name = source
        .peek(&format!("proc/{pid}/comm"), |text| {
            Some(text.chars().take(NAME_MAX).collect::<String>())
        })
        .ok()?;
    let foreign = (0..TRIES).find_map(|_| is_foreign(source, pid)).unwrap_or(false);
    foreign.then_some(Foreign { pid, name, vram_bytes })
}

/// Whether a running process descends from another than this program; not so where it is gone. None where one of its parents went while
/// it was looked for: then it has another one now.
fn is_foreign(source: &Source, pid: u32) -> Option<bool> {
    let own = std::process::id();
    let mut at = pid;
    for _ in 0..PARENTS_MAX {
        if at == own {
            return Some(false);
        }
        match source.peek(&format!("proc/{at}/stat"), parent) {
            Ok(parent) if parent > 1 => at = parent,
            Ok(_) => return Some(true),
            Err(_) if at == pid => return Some(false),
            Err(_) => return None,
        }
    }
    Some(true)
}

/// The parent in a process's `stat`, whose name in brackets may hold anything.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("12 (a) b) 3 (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a) S"), None);
    }
}
