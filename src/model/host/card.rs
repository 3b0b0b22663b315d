//! GPUs: as the compute driver counts them, as devices with sensors, and the processes on them.

use std::collections::BTreeMap;

use super::seen::Seen;
use crate::model::gpu_metrics::Metrics;

/// PCI id of an MI300X that a host gives to a guest.
pub const GUEST_MI300X: &str = "0x74b5";

/// One compute node: a GPU, or a partition of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The driver's number for it, which process files are named after.
    pub gpu_id: u64,
    /// PCI address of the card, `0000:26:00.0`; partitions share it.
    pub bdf: String,
    /// `gfx942`
    pub arch: String,
    /// Dies that share the work.
    pub xcc: Option<u64>,
    /// Compute units.
    pub cu: Option<u64>,
    /// Firmware of the compute engine and of the copy engine.
    pub firmware: (Option<u64>, Option<u64>),
}

/// A line of a `pp_dpm_*` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// `0`, `1`, ..., or `S` for a clock below the lowest one.
    pub label: String,
    /// The clock in MHz.
    pub mhz: u64,
    /// Marked as the clock of this moment.
    pub live: bool,
}

/// A clock's steps. Between the lowest and the highest, some devices show the live clock as a step of its own.
pub type Steps = Vec<Step>;

/// Reads a `pp_dpm_*` file; none where a line is not a step, or there is none.
pub fn steps(text: &str) -> Option<Steps> {
    let step = |line: &str| {
        let (label, rest) = line.split_once(':')?;
        let (clock, live) = match rest.trim().strip_suffix('*') {
            Some(clock) => (clock.trim(), true),
            None => (rest.trim(), false),
        };
        let digits = clock.find(|c: char| !c.is_ascii_digit())?;
        clock[digits..].eq_ignore_ascii_case("mhz").then_some(())?;
        Some(Step {
            label: label.trim().to_owned(),
            mhz: clock[..digits].parse().ok()?,
            live,
        })
    };
    let steps: Option<Steps> = text.lines().filter(|line| !line.trim().is_empty()).map(step).collect();
    steps.filter(|steps| !steps.is_empty())
}

/// A temperature sensor.
#[derive(Debug, Clone)]
pub struct Temperature {
    /// Now, in °C.
    pub now_c: Seen<f64>,
    /// Where the device begins to throttle, in °C.
    pub crit_c: Seen<f64>,
}

/// One device of the GPU driver.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its folder, `card1`.
    pub name: String,
    /// PCI address.
    pub bdf: Seen<String>,
    /// PCI id of the device, `0x74a1`.
    pub device: Seen<String>,
    /// PCI ids of the subsystem, vendor and device, and the revision.
    pub subsystem: Seen<String>,
    /// Which card it is, as a hash.
    pub uid_hash: Seen<String>,
    /// The name that the device gives itself.
    pub product: Seen<String>,
    /// The firmware of its board.
    pub vbios: Seen<String>,
    /// The memory node that it hangs on; −1 where there is no choice.
    pub numa_node: Seen<i64>,
    /// Activity in %, one value a look.
    pub busy_pct: Vec<Seen<f64>>,
    /// Memory of the device in bytes: all of it, and what is in use.
    pub vram_bytes: (Seen<u64>, Seen<u64>),
    /// Who made the memory.
    pub vram_vendor: Seen<String>,
    /// Steps of the graphics clock.
    pub sclk: Seen<Steps>,
    /// Steps of the memory clock.
    pub mclk: Seen<Steps>,
    /// `auto`, `perf_determinism`, ...
    pub perf_level: Seen<String>,
    /// `SPX`, `CPX`, ...
    pub compute_partition: Seen<String>,
    /// `NPS1`, `NPS4`, ...
    pub memory_partition: Seen<String>,
    /// `32.0 GT/s PCIe`
    pub link_speed: Seen<String>,
    /// Lanes.
    pub link_width: Seen<u64>,
    /// `active` or `suspended`.
    pub runtime_status: Seen<String>,
    /// Versions of its firmware by name, `mec`, as the driver writes them.
    pub firmware: BTreeMap<String, Seen<String>>,
    /// Power of the socket in W, and the file's name that it came from.
    pub power_w: Seen<(f64, &'static str)>,
    /// Power cap in W.
    pub cap_w: Seen<f64>,
    /// The cap that the device came with, in W.
    pub cap_default_w: Seen<f64>,
    /// Sensors by label: `junction`, `mem`, `edge`.
    pub temperatures: BTreeMap<String, Temperature>,
    /// The telemetry table, one value a look.
    pub metrics: Vec<Seen<Metrics>>,
}

impl Card {
    /// How reports name it: by address where it has one.
    pub fn label(&self) -> &str {
        self.bdf.as_deref().unwrap_or(&self.name)
    }

    /// The last telemetry table that could be read.
    pub fn last_metrics(&self) -> Option<&Metrics> {
        self.metrics.iter().rev().find_map(|metrics| metrics.as_ref().ok())
    }

    /// The product's name: what the device says, else what its PCI id is known to be.
    pub fn product_name(&self) -> Option<String> {
        let said = self.product.as_ref().ok().filter(|name| !name.is_empty()).cloned();
        said.or_else(|| {
            let known = match self.device.as_deref().ok()? {
                "0x74a0" => "AMD Instinct MI300A",
                "0x74a1" => "AMD Instinct MI300X",
                GUEST_MI300X => "AMD Instinct MI300X VF",
                "0x74a5" => "AMD Instinct MI325X",
                _ => return None,
            };
            Some(known.to_owned())
        })
    }
}

/// A process with a compute context.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its number, in the namespace of the driver's files.
    pub pid: u32,
    /// Its name; absent where no process has this number.
    pub name: Seen<String>,
    /// Bytes of device memory by the driver's number for the GPU.
    pub vram_bytes: BTreeMap<u64, u64>,
    /// Compute units in use by the driver's number for the GPU.
    pub cu_occupancy: BTreeMap<u64, u64>,
}

impl Process {
    /// Bytes on all GPUs.
    pub fn vram_all_bytes(&self) -> u64 {
        self.vram_bytes.values().sum()
    }

    /// Holds memory or computes; an entry without either only looks.
    pub fn is_busy(&self) -> bool {
        self.vram_all_bytes() > 0 || self.cu_occupancy.values().any(|&units| units > 0)
    }
}

/// Reads a node's properties; none where it is a processor's.
///
/// `gfx_target_version` is major·10000 + minor·100 + stepping, the stepping written in hex; `location_id` is bus, device and function in
/// 8, 5 and 3 bits.
pub fn node(gpu_id: u64, properties: &str) -> Option<Node> {
    let number = |name: &str| property(properties, name);
    let version = number("gfx_target_version").filter(|&version| version != 0)?;
    let (domain, location) = (number("domain").unwrap_or(0), number("location_id")?);
    let per_unit = number("simd_per_cu").filter(|&simd| simd > 0);
    Some(Node {
        gpu_id,
        bdf: format!(
            "{domain:04x}:{:02x}:{:02x}.{}",
            location >> 8 & 0xff,
            location >> 3 & 0x1f,
            location & 7
        ),
        arch: format!("gfx{}{}{:x}", version / 10_000, version / 100 % 100, version % 100),
        xcc: number("num_xcc"),
        cu: number("simd_count").zip(per_unit).map(|(simd, per_unit)| simd / per_unit),
        firmware: (number("fw_version"), number("sdma_fw_version")),
    })
}

/// One number of a node's properties.
pub fn property(properties: &str, name: &str) -> Option<u64> {
    properties
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_architectures_come_from_the_topology() {
        let properties = "cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nlocation_id 9728\ndomain 0\n";
        let read = node(7, properties).unwrap();
        assert_eq!(
            (read.arch.as_str(), read.bdf.as_str(), read.cu),
            ("gfx942", "0000:26:00.0", Some(304))
        );
        let arch = |version: u32| node(1, &format!("gfx_target_version {version}\nlocation_id 0\n")).map(|node| node.arch);
        assert_eq!(arch(90_010).as_deref(), Some("gfx90a"));
        assert_eq!(arch(110_501).as_deref(), Some("gfx1151"));
        assert_eq!(arch(0), None);
    }

    #[test]
    fn clock_steps_are_read_as_devices_write_them() {
        let read = |text: &str| {
            steps(text).map(|steps| {
                steps
                    .iter()
                    .map(|step| (step.label.clone(), step.mhz, step.live))
                    .collect::<Vec<_>>()
            })
        };
        let step = |label: &str, mhz, live| (label.to_owned(), mhz, live);
        assert_eq!(
            read("S: 133Mhz *\n0: 500Mhz\n1: 2100Mhz \n"),
            Some(vec![step("S", 133, true), step("0", 500, false), step("1", 2100, false)])
        );
        assert_eq!(read("0: 500Mhz *"), Some(vec![step("0", 500, true)]));
        for wrong in ["", "unavailable\n", "0: fast\n", "0: 500\n", "0: 99999999999999999999Mhz\n"] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
