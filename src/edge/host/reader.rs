//! Kernel, processors, memory, driver, and who uses the GPUs.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;
use super::{cards, kernel_log, pci, topology, variables};
use crate::model::host::machine::{Cpu, Driver, Kernel, Machine, Memory, Programs, Surroundings};
use crate::model::host::seen::{Seen, Unseen, Why};

/// The number of the namespace that the first process of a machine counts processes in.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// Programs that watch GPUs, by the first 15 letters of their names, which is what the kernel keeps.
const MONITORS: [&str; 7] = ["rdcd", "gpuagent", "amd-smi", "rocm-smi", "amdgpu_top", "nvtop", "radeontop"];
/// Parameters of the driver that explain figures.
const PARAMETERS: [&str; 9] = [
    "cwsr_enable",
    "gpu_recovery",
    "lockup_timeout",
    "mes",
    "noretry",
    "ppfeaturemask",
    "runpm",
    "sched_policy",
    "vm_fragment_size",
];
/// Libraries of ROCm that a figure may depend on.
const LIBRARIES: [&str; 5] = [
    "libMIOpen.so.",
    "libamdhip64.so.",
    "libhipblaslt.so.",
    "librccl.so.",
    "librocblas.so.",
];
/// Most processors that a list of them may name.
const PROCESSORS_MAX: u32 = 1 << 16;

/// Reads everything once.
pub fn machine(source: &Source) -> Machine {
    let mut machine = without_bystanders(source);
    machine.kernel.log = kernel_log::read(source);
    machine.monitors = monitors(source);
    machine
}

/// The same without what only checks ask for, and what takes most of the time: the kernel's messages, and every process's name.
pub fn without_bystanders(source: &Source) -> Machine {
    let nodes = topology::nodes(source);
    let cards = cards::all(source);
    let release = source.text("proc/sys/kernel/osrelease");
    Machine {
        replayed: !source.is_here(),
        cpu: cpu(source),
        memory: memory(source),
        driver: driver(source, release.as_deref().unwrap_or_default()),
        kernel: Kernel {
            release,
            cmdline: source.text("proc/cmdline"),
            tainted: number(source, "proc/sys/kernel/tainted"),
            uptime_s: source.parse("proc/uptime", first_real),
            log: Err(Unseen {
                why: Why::NotRead,
                errno: None,
                at: "dev/kmsg".to_owned(),
            }),
        },
        rocm_libraries: rocm_libraries(source),
        rocm: rocm(source),
        processes: topology::processes(source),
        nodes,
        compute_device: source.is_there("dev/kfd") == Ok(true),
        bridges: if cards.len() > 1 { pci::bridges(source) } else { BTreeMap::new() },
        cards,
        monitors: Vec::new(),
        own_pid: if source.is_here() { std::process::id() } else { 0 },
        job_since_s: None,
        container: container(source),
        env: variables::read(source),
        programs: Programs::default(),
        surroundings: Surroundings::default(),
    }
}

fn cpu(source: &Source) -> Cpu {
    let cpus = "sys/devices/system/cpu";
    let cpuinfo = source.text("proc/cpuinfo");
    let of_cpuinfo = |read: fn(&str) -> Option<u64>| {
        let text = cpuinfo.as_deref().map_err(Clone::clone)?;
        read(text).ok_or_else(|| Unseen::malformed("proc/cpuinfo"))
    };
    let of_topology = || topology::processors(source);
    let online = source.parse(&format!("{cpus}/online"), |text| Some(processors(text)?.len() as u64));
    let memory_nodes = source.parse("sys/devices/system/node/has_cpu", |text| Some(processors(text)?.len() as u64));
    Cpu {
        model: cpuinfo.as_deref().map_err(Clone::clone).and_then(|text| {
            let model = field(text, "model name").ok_or_else(|| Unseen::malformed("proc/cpuinfo"))?;
            Ok(model.to_owned())
        }),
        threads: online
            .or_else(|_| of_cpuinfo(|text| Some(fields(text, "processor").count() as u64)))
            .or_else(|unseen| of_topology().map(|(_, cores)| cores).ok_or(unseen)),
        sockets: of_cpuinfo(|text| {
            let packages: BTreeSet<&str> = fields(text, "physical id").collect();
            (!packages.is_empty()).then_some(packages.len() as u64)
        }),
        numa_nodes: memory_nodes.or_else(|unseen| of_topology().map(|(nodes, _)| nodes).ok_or(unseen)),
        smt_active: flag(source, &format!("{cpus}/smt/active")),
        governor: source.text(&format!("{cpus}/cpu0/cpufreq/scaling_governor")),
        idle2_disabled: flag(source, &format!("{cpus}/cpu0/cpuidle/state2/disable")),
        numa_balancing: flag(source, "proc/sys/kernel/numa_balancing"),
        thp: source.parse("sys/kernel/mm/transparent_hugepage/enabled", |text| {
            let (_, rest) = text.split_once('[')?;
            Some(rest.split_once(']')?.0.to_owned())
        }),
        load: source.parse("proc/loadavg", first_real),
        pressure_pct: source.parse("proc/pressure/cpu", |text| {
            text.split_whitespace().find_map(|word| word.strip_prefix("avg10=")?.parse().ok())
        }),
        hypervisor: cpuinfo
            .as_deref()
            .map_err(Clone::clone)
            .map(|text| field(text, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))),
        allowed: source.parse("proc/self/status", |text| {
            processors(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
        }),
        of_node: of_node(source),
    }
}

/// The processors of each memory node.
fn of_node(source: &Source) -> BTreeMap<i64, BTreeSet<u32>> {
    let nodes = source.list("sys/devices/system/node").unwrap_or_default();
    let numbers = nodes.iter().filter_map(|name| name.strip_prefix("node")?.parse::<i64>().ok());
    numbers
        .filter_map(|node| {
            let path = format!("sys/devices/system/node/node{node}/cpulist");
            Some((node, source.parse(&path, processors).ok()?))
        })
        .collect()
}

fn memory(source: &Source) -> Memory {
    let path = "proc/meminfo";
    let text = source.text(path);
    let bytes = |name: &str| {
        let text = text.as_deref().map_err(Clone::clone)?;
        let kibibytes = field(text, name).and_then(|value| value.strip_suffix(" kB")?.trim().parse::<u64>().ok());
        kibibytes.map(|kibibytes| kibibytes << 10).ok_or_else(|| Unseen::malformed(path))
    };
    Memory {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        swap_used_bytes: bytes("SwapTotal").and_then(|total| Ok(total.saturating_sub(bytes("SwapFree")?))),
    }
}

fn driver(source: &Source, release: &str) -> Driver {
    let module = "sys/module/amdgpu";
    let parameters = PARAMETERS.iter().filter_map(|name| {
        let value = source.text(&format!("{module}/parameters/{name}")).ok()?;
        Some(((*name).to_owned(), value))
    });
    let built = format!("lib/modules/{release}/updates/dkms");
    let file = source
        .list(&built)
        .unwrap_or_default()
        .into_iter()
        .find(|name| name.starts_with("amdgpu.ko"));
    let mut dkms = BTreeMap::from([
        (
            "the module's taint",
            source.text(&format!("{module}/taint")).map(|taint| taint.contains(['O', 'E'])),
        ),
        (
            "a file in updates/dkms",
            file.map_or(Ok(false), |file| source.is_there(&format!("{built}/{file}"))),
        ),
    ]);
    // DKMS keeps its sources on the machine only; a replayed host may keep what its command said instead.
    if source.is_here() {
        dkms.insert("the sources in /var/lib/dkms", source.is_there("var/lib/dkms/amdgpu"));
    } else if let Ok(said) = source.text("cmd/dkms_status/stdout") {
        let installed = |line: &str| line.starts_with("amdgpu/") && line.ends_with("installed");
        dkms.insert("`dkms status`", Ok(said.lines().any(installed)));
    }
    Driver {
        state: source.text(&format!("{module}/initstate")),
        version: source.text(&format!("{module}/version")),
        srcversion: source.text(&format!("{module}/srcversion")),
        parameters: parameters.collect(),
        dkms,
        firmware_shadowed: source.is_there("lib/firmware/updates/amdgpu"),
    }
}

fn rocm(source: &Source) -> BTreeMap<String, String> {
    let folders = source.list("opt").unwrap_or_default();
    let installed = folders.into_iter().filter(|name| name.starts_with("rocm"));
    installed
        .filter_map(|name| {
            let version = source.text(&format!("opt/{name}/.info/version")).ok()?;
            Some((format!("opt/{name}"), version))
        })
        .collect()
}

/// Of each library the file with the longest name: the shorter ones are links to it.
fn rocm_libraries(source: &Source) -> BTreeMap<String, Vec<String>> {
    let folders = source.list("opt").unwrap_or_default();
    let installed = folders.into_iter().filter(|name| name.starts_with("rocm"));
    let of = |folder: String| {
        let place = format!("opt/{folder}/lib");
        let files = source.list(&place).unwrap_or_default();
        let versions = LIBRARIES.iter().filter_map(|library| {
            let file = files
                .iter()
                .filter(|file| file.starts_with(library))
                .max_by_key(|file| file.len())?;
            // What is looked at is remembered for a snapshot.
            (source.is_there(&format!("{place}/{file}")) == Ok(true)).then(|| file.clone())
        });
        let versions: Vec<String> = versions.collect();
        (!versions.is_empty()).then(|| (format!("opt/{folder}"), versions))
    };
    installed.filter_map(of).collect()
}

fn monitors(source: &Source) -> Vec<(u32, String)> {
    let names = source.list("proc").unwrap_or_default();
    let mut found: Vec<(u32, String)> = names
        .iter()
        .filter_map(|name| {
            let pid = name.parse().ok()?;
            let path = format!("proc/{name}/comm");
            let is_monitor = |bytes: &[u8]| MONITORS.contains(&String::from_utf8_lossy(bytes).trim());
            source.glance(&path).ok().filter(|bytes| is_monitor(bytes))?;
            Some((pid, source.text(&path).ok()?))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The first sign of a container.
fn container(source: &Source) -> Option<String> {
    let marks = [".dockerenv", "run/.containerenv"];
    let mark = marks.into_iter().find(|path| source.is_there(path) == Ok(true));
    mark.map(|path| format!("/{path} exists")).or_else(|| {
        let namespace = source.link("proc/self/ns/pid").ok()?;
        (namespace != FIRST_PID_NAMESPACE).then(|| "processes are counted in a namespace of their own".to_owned())
    })
}

fn number(source: &Source, path: &str) -> Seen<u64> {
    source.parse(path, |text| text.parse().ok())
}

/// `0` and `1`; numbers beyond mean more of the same.
fn flag(source: &Source, path: &str) -> Seen<bool> {
    number(source, path).map(|value| value != 0)
}

fn first_real(text: &str) -> Option<f64> {
    let value: f64 = text.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The values of every line `name : value`.
fn fields<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == name).then(|| value.trim())
    })
}

fn field<'a>(text: &'a str, name: &'a str) -> Option<&'a str> {
    fields(text, name).next()
}

/// A list of processors, `0-3,8`.
fn processors(text: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        (last < PROCESSORS_MAX).then_some(())?;
        all.extend(first..=last);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        let read = |text| processors(text).map(|all| all.into_iter().collect::<Vec<u32>>());
        assert_eq!(read("\t0-2,8\n"), Some(vec![0, 1, 2, 8]));
        for wrong in ["", "a", "1-", "0-4294967295"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
