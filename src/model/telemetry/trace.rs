//! All looks at a machine while one process ran: what flags are raised from.

use std::collections::BTreeSet;

use super::reading::mean;
use super::{Foreign, Reading};
use crate::model::gpu_metrics::Limit;

/// Activity from which a device counts as working, in %.
const WORKING_PCT: f64 = 10.0;

/// All looks at a machine while one process ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Seconds from the process's start to its end.
    pub window_s: f64,
    /// Seconds between two readings, as wanted.
    pub every_s: f64,
    /// Each watched device.
    pub devices: Vec<DeviceTrace>,
    /// Processes on a watched device that are not the measured one's, at any of the looks; or why that cannot be told.
    pub foreign: Result<Vec<Foreign>, String>,
    /// Share of the time in which some task of the machine waited for a processor, in %; or why that is not known.
    pub cpu_wait_pct: Result<f64, String>,
    /// Load of the machine beyond the process's own, in parts of its processors.
    pub other_load: Option<f64>,
    /// New messages of the kernel that tell of the devices, or why they are not known.
    pub messages: Result<Vec<String>, String>,
}

/// All looks at one device while one process ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceTrace {
    /// Its PCI address.
    pub device: String,
    /// What was read: `gpu_metrics 1.9`, or single files.
    pub source: String,
    /// Where the hottest spot and the memory begin to throttle, in °C.
    pub crit_c: [Option<f64>; 2],
    /// The highest step of the memory clock, in MHz.
    pub uclk_top_mhz: Option<f64>,
    /// Whether the throttle counters stood still while the device was idle.
    pub counters_trusted: bool,
    /// The looks in order: one just before the start, those meanwhile, one just after the end.
    pub readings: Vec<Reading>,
    /// The looks that failed.
    pub missed: Missed,
    /// What was set otherwise after the process than before it, in words.
    pub changed: Vec<String>,
    /// Uncorrectable errors of the memory that came meanwhile.
    pub uncorrectable: u64,
    /// Memory in use just before the start beyond what was in use before the session, in bytes.
    pub vram_above_idle_bytes: u64,
    /// The states of its link that were seen.
    pub links: BTreeSet<String>,
}

/// Looks that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missed {
    /// How many.
    pub all: u32,
    /// The most in a row.
    pub in_a_row: u32,
    /// Why the last one failed.
    pub why: Option<String>,
    /// The device refused a look as it does while it is reset.
    pub in_reset: bool,
}

impl DeviceTrace {
    /// The looks in which the device worked: what a process does before and after that is no part of its clocks. Where the device does
    /// not tell its activity, the looks while the process ran.
    pub fn busy(&self) -> Vec<&Reading> {
        let tells = self.readings.iter().any(|reading| reading.gfx_activity_pct.is_some());
        let inside = self.readings.get(1..self.readings.len().saturating_sub(1)).unwrap_or_default();
        let works = |reading: &&Reading| reading.gfx_activity_pct.is_some_and(|activity| activity >= WORKING_PCT);
        if tells {
            inside.iter().filter(works).collect()
        } else {
            inside.iter().collect()
        }
    }

    /// The mean graphics clock while the device worked, in MHz.
    pub fn busy_gfxclk_mhz(&self) -> Option<f64> {
        mean(self.busy().into_iter().filter_map(|reading| reading.gfxclk_mhz))
    }

    /// For which share of the window a limit held the clocks down, in %; none without counters that advance.
    pub fn throttled_pct(&self, limit: Limit) -> Option<f64> {
        let counted = |reading: &Reading| Some((reading.ticks?, *reading.residency.get(&limit)?));
        let mut all = self.readings.iter().filter_map(counted);
        let (first, last) = (all.next()?, all.next_back()?);
        // A counter that began anew says nothing of the window.
        let (ticks, held) = (last.0.checked_sub(first.0)?, last.1.checked_sub(first.1)?);
        (ticks > 0).then(|| 100.0 * f64::from(held) / f64::from(ticks))
    }

    /// Whether the driver's clock or the counters stood still between two looks that are at least 20 ms apart.
    pub fn is_stale(&self) -> bool {
        const APART_S: f64 = 0.02;
        let still = |pair: &[Reading]| match pair {
            [one, other] if other.at_s - one.at_s >= APART_S => {
                let clock = one.clock_s.is_some() && one.clock_s == other.clock_s;
                clock || (one.ticks.is_some() && one.ticks == other.ticks)
            }
            _ => false,
        };
        self.readings.windows(2).any(still)
    }
}

impl Trace {
    /// One sentence a device that `look` finds something at, joined; none where it finds nothing.
    pub fn of_devices(&self, look: impl Fn(&DeviceTrace) -> Option<String>) -> Option<String> {
        let found: Vec<String> = self
            .devices
            .iter()
            .filter_map(|device| Some(format!("{}: {}", device.device, look(device)?)))
            .collect();
        (!found.is_empty()).then(|| found.join("; "))
    }
}
