//! One machine as its files describe it: every field a value, or the reason why it has none.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::card::{Card, Node, Process};
use super::seen::Seen;
use super::smi::Smi;

/// Parts of the kernel's messages that tell of a reset, a hang or an uncorrectable error of a device.
pub const RESET_MESSAGES: [&str; 4] = [
    "GPU reset begin",
    "fence wait loop timeout",
    "uncorrectable hardware errors",
    "no-retry page fault",
];
/// The part of the kernel's message that tells of more queues than a device has.
pub const OVERSUBSCRIBED_MESSAGE: &str = "Runlist is getting oversubscribed";
/// The part of the kernel's message that tells of clocks held down.
pub const THROTTLED_MESSAGE: &str = "GPU is throttled";

/// The machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Read from a snapshot or a tree instead of from this machine.
    pub replayed: bool,
    /// The kernel.
    pub kernel: Kernel,
    /// The processors.
    pub cpu: Cpu,
    /// The memory.
    pub memory: Memory,
    /// The GPU driver.
    pub driver: Driver,
    /// Versions of ROCm by the folder that they are installed in, `opt/rocm-7.0.2`.
    pub rocm: BTreeMap<String, String>,
    /// The libraries of each that a figure may depend on, by the names of their files, which end in their versions: `librocblas.so.5.0.70002`.
    pub rocm_libraries: BTreeMap<String, Vec<String>>,
    /// GPUs, or partitions of them, in the compute driver's order.
    pub nodes: Seen<Vec<Node>>,
    /// The compute driver's device file exists.
    pub compute_device: bool,
    /// The devices that the GPU driver drives.
    pub cards: Vec<Card>,
    /// PCI bridges by address, and whether each checks the source of transfers between devices; read where there are several cards.
    pub bridges: BTreeMap<String, Seen<bool>>,
    /// Processes that hold a compute context, by number.
    pub processes: Seen<Vec<Process>>,
    /// Names of running programs that only watch GPUs, with their process numbers.
    pub monitors: Vec<(u32, String)>,
    /// The process that asks: what it holds is not foreign.
    pub own_pid: u32,
    /// When the job began that this is a part of, in seconds after the kernel's start: messages since then are the job's own.
    pub job_since_s: Option<f64>,
    /// What tells that this is a container; none outside of one.
    pub container: Option<String>,
    /// Variables that GPU runtimes read and that are set.
    pub env: BTreeMap<String, String>,
    /// What programs say beside the files.
    pub programs: Programs,
    /// What surrounds the process that asks; nothing where another machine is read.
    pub surroundings: Surroundings,
}

/// What surrounds a process, beside the hardware.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The name of the runner that its job runs on.
    pub runner: Option<String>,
    /// Its control group.
    pub cgroup: Option<String>,
    /// What libraries keep compiled or tuned, by folder or variable.
    pub caches: BTreeMap<String, Cache>,
}

/// What a library keeps compiled or tuned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// How many files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// Whether every file was looked at.
    pub is_whole: bool,
    /// `b3:` and the BLAKE3 of their names and sizes.
    pub digest: String,
}

/// What programs say of the machine; nothing where nobody asked them.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// What each GPU helper says of its runtime and devices, or why it says nothing.
    pub helpers: BTreeMap<String, Result<Map<String, Value>, String>>,
    /// What one of AMD's own tools says.
    pub smi: Option<Smi>,
    /// The status that a served endpoint answered with, or why there is no answer.
    pub endpoint: Option<Result<u16, String>>,
}

/// The kernel and what it was told.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// `6.8.0-60-generic`
    pub release: Seen<String>,
    /// The command line that it was started with.
    pub cmdline: Seen<String>,
    /// The bits of its taint.
    pub tainted: Seen<u64>,
    /// Seconds since it started.
    pub uptime_s: Seen<f64>,
    /// Its messages.
    pub log: Seen<Vec<Message>>,
}

/// One message of the kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Seconds after the kernel's start, where it says.
    pub at_s: Option<f64>,
    /// The text.
    pub text: String,
}

/// The processors and how the kernel drives them.
#[derive(Debug, Clone)]
pub struct Cpu {
    /// Its name.
    pub model: Seen<String>,
    /// Hardware threads.
    pub threads: Seen<u64>,
    /// Packages.
    pub sockets: Seen<u64>,
    /// Memory nodes with processors.
    pub numa_nodes: Seen<u64>,
    /// Two threads share a core.
    pub smt_active: Seen<bool>,
    /// Frequency governor of processor 0.
    pub governor: Seen<String>,
    /// Whether the deep idle state 2 of processor 0 is disabled; absent where there is no such state.
    pub idle2_disabled: Seen<bool>,
    /// Whether the kernel moves pages between memory nodes by itself.
    pub numa_balancing: Seen<bool>,
    /// The chosen word of `transparent_hugepage/enabled`.
    pub thp: Seen<String>,
    /// Load average over a minute.
    pub load: Seen<f64>,
    /// Share of time that some task waited for a processor, over ten seconds, in %.
    pub pressure_pct: Seen<f64>,
    /// The processor says that it is a guest's.
    pub hypervisor: Seen<bool>,
    /// Processors that this process may run on.
    pub allowed: Seen<BTreeSet<u32>>,
    /// Processors of each memory node.
    pub of_node: BTreeMap<i64, BTreeSet<u32>>,
}

/// The memory.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Bytes in all.
    pub total_bytes: Seen<u64>,
    /// Bytes that can be had without swapping.
    pub available_bytes: Seen<u64>,
    /// Bytes of swap in use.
    pub swap_used_bytes: Seen<u64>,
}

/// The kernel module `amdgpu`.
#[derive(Debug, Clone)]
pub struct Driver {
    /// `live` once it is loaded.
    pub state: Seen<String>,
    /// Its version; a module that belongs to the kernel has none.
    pub version: Seen<String>,
    /// A digest of its sources.
    pub srcversion: Seen<String>,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Each sign of a module that was built outside of the kernel, and whether it is there.
    pub dkms: BTreeMap<&'static str, Seen<bool>>,
    /// Whether firmware files stand where they shadow the distribution's.
    pub firmware_shadowed: Seen<bool>,
}

impl Driver {
    /// Whether the module was built outside of the kernel; none where the signs disagree, or there are none.
    pub fn is_dkms(&self) -> Option<bool> {
        let mut told = self.dkms.values().filter_map(|sign| sign.as_ref().ok());
        let first = *told.next()?;
        told.all(|&sign| sign == first).then_some(first)
    }
}

impl Machine {
    /// Leaves out every card but these, with what others hold on them.
    pub fn keep_only(&mut self, bdfs: &BTreeSet<String>) {
        self.cards.retain(|card| card.bdf.as_ref().is_ok_and(|bdf| bdfs.contains(bdf)));
        let Ok(nodes) = &mut self.nodes else { return };
        let left: BTreeSet<u64> = nodes
            .iter()
            .filter(|node| !bdfs.contains(&node.bdf))
            .map(|node| node.gpu_id)
            .collect();
        nodes.retain(|node| bdfs.contains(&node.bdf));
        for process in self.processes.iter_mut().flatten() {
            process.vram_bytes.retain(|gpu, _| !left.contains(gpu));
            process.cu_occupancy.retain(|gpu, _| !left.contains(gpu));
        }
    }

    /// The node of a card, and its further partitions.
    pub fn nodes_of<'a>(&'a self, card: &'a Card) -> impl Iterator<Item = &'a Node> {
        let bdf = card.bdf.as_deref().unwrap_or_default();
        self.nodes.iter().flatten().filter(move |node| node.bdf == bdf)
    }

    /// Processes with memory or work on a GPU that are not this one, and whether they still run.
    pub fn foreign(&self) -> impl Iterator<Item = &Process> {
        let own = self.own_pid;
        self.processes
            .iter()
            .flatten()
            .filter(move |process| process.pid != own && process.is_busy())
    }
}
