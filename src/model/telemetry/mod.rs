//! What a machine did while a process ran: as it was read, and as a record keeps it.

mod reading;
mod summary;
mod trace;

pub use reading::Reading;
pub use trace::{DeviceTrace, Missed, Trace};

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The times between two readings that are possible.
pub const EVERY: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(10);

/// What is watched, and by which limits: part of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Watching {
    /// Seconds between two readings.
    pub every_s: f64,
    /// Flags that void a block.
    pub void: Vec<String>,
    /// What is measured is declared to keep the device busy.
    pub gpu_bound: bool,
    /// Every limit of every flag by name, as used.
    pub limits: BTreeMap<String, f64>,
}

/// What the machine did while one process ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Telemetry {
    /// Seconds from the process's start to its end.
    pub window_s: f64,
    /// Seconds between two readings, as wanted.
    pub every_s: f64,
    /// Each watched device.
    pub devices: Vec<DeviceSummary>,
    /// Processes on a watched device that are not the measured one's.
    pub foreign: Vec<Foreign>,
    /// Share of the time in which some task of the machine waited for a processor, in %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_pct: Option<f64>,
    /// Load of the machine beyond the process's own, in parts of its processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_load: Option<f64>,
    /// New messages of the kernel that tell of the devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// What was out of the declared limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Raised>,
    /// What could not be told, by name, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

/// The name under which [`Telemetry::missing`] says that nobody could tell who else used the devices.
pub const FOREIGN: &str = "foreign";

/// What one device did while one process ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceSummary {
    /// Its PCI address.
    pub device: String,
    /// What was read: `gpu_metrics 1.9`, or single files.
    pub source: String,
    /// How often it was read.
    pub readings: u32,
    /// How often a reading failed.
    pub missed: u32,
    /// Graphics clock in MHz, the mean of all dies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gfxclk_mhz: Option<Stretch>,
    /// The mean of the graphics clock while the device worked, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_gfxclk_mhz: Option<f64>,
    /// Memory clock in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uclk_mhz: Option<Stretch>,
    /// Power of the socket in W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<Stretch>,
    /// The hottest spot in °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hotspot_c: Option<Stretch>,
    /// The hottest spot just before the start, in °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_hotspot_c: Option<f64>,
    /// The memory in °C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_c: Option<Stretch>,
    /// Activity of the graphics engine in %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gfx_activity_pct: Option<Stretch>,
    /// Activity of the memory controller in %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umc_activity_pct: Option<Stretch>,
    /// Memory in use, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_used_bytes: Option<Stretch>,
    /// For which share of the window each limit held the clocks down, in %, where there are counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttled_pct: BTreeMap<String, f64>,
    /// Whether these counters stood still while the device was idle, so that they can be believed.
    pub counters_trusted: bool,
    /// The states of its link that were seen, `32.0 GT/s PCIe x16`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The energy that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// What could not be told, by name, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

/// Smallest, mean and largest value of a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Smallest.
    pub min: f64,
    /// Mean over the readings.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// Energy that a device took while a process ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Energy {
    /// In J.
    pub energy_j: f64,
    /// Over so many seconds: from the reading before the start to the one after the end.
    pub over_s: f64,
    /// `accumulator`: the device's counter; `power_integral`: power over time.
    pub method: String,
    /// What it is the energy of: the `socket`, not the machine.
    pub scope: String,
}

/// A process on a device that is not the measured one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Foreign {
    /// Its number.
    pub pid: u32,
    /// Its command's name.
    pub name: String,
    /// Bytes of device memory that it held.
    pub vram_bytes: u64,
}

/// A flag that was raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Raised {
    /// Its name.
    pub flag: String,
    /// What was seen, with the limit.
    pub saw: String,
    /// Whether it voids the block.
    pub voids: bool,
}
