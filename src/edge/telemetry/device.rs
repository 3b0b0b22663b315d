//! One device's files, and the looks at them.

use std::collections::BTreeMap;
use std::time::Instant;

use super::holders::{Found, Holders};
use crate::edge::host::{Source, cards};
use crate::model::gpu_metrics;
use crate::model::host::card::{Card, Step, steps};
use crate::model::host::machine::Machine;
use crate::model::host::seen::{Seen, Unseen, Why};
use crate::model::telemetry::{DeviceTrace, Foreign, Reading};

/// Where one device's files are, and what does not change.
#[derive(Debug, Clone)]
pub struct Device {
    name: String,
    folder: String,
    hwmon: String,
    /// The sensors' files by label.
    sensors: BTreeMap<String, String>,
    power: &'static str,
    crit_c: [Option<f64>; 2],
    uclk_top_mhz: Option<f64>,
    counters_trusted: bool,
    /// Whether the telemetry table can be read, and its revision.
    table: Option<(u8, u8)>,
    /// Uncorrectable errors so far.
    errors: Option<u64>,
}

impl Device {
    /// Finds the files of a card.
    pub fn new(source: &Source, machine: &Machine, card: &Card, trusted: bool) -> Self {
        let (folder, hwmon) = cards::places(source, &card.name);
        let names = source.list(&format!("{folder}/{hwmon}")).unwrap_or_default();
        let label = |name: &String| {
            let sensor = name.strip_suffix("_label").filter(|sensor| sensor.starts_with("temp"))?;
            Some((
                source
                    .peek(&format!("{folder}/{hwmon}/{name}"), |text| Some(text.to_owned()))
                    .ok()?,
                format!("{sensor}_input"),
            ))
        };
        let crit = |label: &str| card.temperatures.get(label)?.crit_c.as_ref().ok().copied();
        let mut device = Self {
            name: card.label().to_owned(),
            sensors: names.iter().filter_map(label).collect(),
            power: card.power_w.as_ref().map_or("power1_input", |(_, file)| file),
            crit_c: [crit("junction"), crit("mem")],
            uclk_top_mhz: card.mclk.as_ref().ok().and_then(|steps| steps.last()).map(|step| step.mhz as f64),
            counters_trusted: trusted && machine.cards.iter().any(|card| card.last_metrics().is_some()),
            table: card.last_metrics().map(|metrics| metrics.revision),
            errors: None,
            folder,
            hwmon,
        };
        device.errors = device.uncorrectable(source);
        device
    }

    /// The trace of a window in which nothing was read.
    pub fn missed(&self, why: &str) -> DeviceTrace {
        let mut trace = self.trace();
        trace.missed.all = 1;
        trace.missed.in_a_row = 1;
        trace.missed.why = Some(why.to_owned());
        trace
    }

    /// Notes that this many more errors came.
    pub fn saw_errors(&mut self, more: u64) {
        self.errors = self.errors.map(|errors| errors.saturating_add(more));
    }

    fn trace(&self) -> DeviceTrace {
        DeviceTrace {
            device: self.name.clone(),
            source: match self.table {
                Some((format, content)) => format!("gpu_metrics {format}.{content}"),
                None => "hwmon and pp_dpm files".to_owned(),
            },
            crit_c: self.crit_c,
            uclk_top_mhz: self.uclk_top_mhz,
            counters_trusted: self.counters_trusted,
            ..DeviceTrace::default()
        }
    }

    /// Errors of the memory that could not be corrected, since the driver was loaded.
    fn uncorrectable(&self, source: &Source) -> Option<u64> {
        let count = |text: &str| text.lines().find_map(|line| line.strip_prefix("ue:")?.trim().parse().ok());
        source.peek(&format!("{}/ras/umc_err_count", self.folder), count).ok()
    }

    fn number(&self, source: &Source, file: &str) -> Seen<f64> {
        let read = |text: &str| text.parse::<i64>().ok().map(|value| value as f64);
        source
            .peek(&format!("{}/{file}", self.folder), read)
            .map_err(|unseen| unseen.of_device(false))
    }

    /// One look.
    fn read(&self, source: &Source) -> Seen<Reading> {
        let mut reading = if self.table.is_some() {
            let path = format!("{}/gpu_metrics", self.folder);
            let blob = source.glance(&path).map_err(|unseen| unseen.of_device(false))?;
            let metrics = gpu_metrics::decode(&blob).map_err(|fault| Unseen {
                why: Why::Malformed,
                errno: None,
                at: format!("{path} ({fault})"),
            })?;
            Reading::from(metrics)
        } else {
            self.of_files(source)?
        };
        reading.vram_used_bytes = self.number(source, "mem_info_vram_used").ok().map(|bytes| bytes as u64);
        Ok(reading)
    }

    /// Without the telemetry table: a file each. The activity answers for the device: where that is refused, the look failed.
    fn of_files(&self, source: &Source) -> Seen<Reading> {
        let sensor = |file: &str, steps: f64| {
            self.number(source, &format!("{}/{file}", self.hwmon))
                .ok()
                .map(|value| value / steps)
        };
        let temperature = |label: &str| sensor(self.sensors.get(label)?, 1e3);
        let live = |file: &str| {
            let all = source.peek(&format!("{}/{file}", self.folder), steps).ok()?;
            all.into_iter().find(|step: &Step| step.live).map(|step| step.mhz as f64)
        };
        Ok(Reading {
            gfx_activity_pct: Some(self.number(source, "gpu_busy_percent")?),
            umc_activity_pct: self.number(source, "mem_busy_percent").ok(),
            gfxclk_mhz: live("pp_dpm_sclk"),
            uclk_mhz: live("pp_dpm_mclk"),
            power_w: sensor(self.power, 1e6),
            hotspot_c: temperature("junction").or_else(|| temperature("edge")),
            mem_c: temperature("mem"),
            ..Reading::default()
        })
    }

    /// The state of the link.
    fn link(&self, source: &Source) -> Option<String> {
        let text = |file: &str| source.peek(&format!("{}/{file}", self.folder), |text| Some(text.to_owned())).ok();
        Some(format!("{} x{}", text("current_link_speed")?, text("current_link_width")?))
    }
}

/// The looks of one window.
pub struct Looks {
    devices: Vec<(Device, DeviceTrace, u32)>,
    holders: Holders,
    foreign: Found,
}

impl Looks {
    /// None so far.
    pub fn new(devices: Vec<Device>, holders: Holders) -> Self {
        let of = |device: Device| {
            let trace = device.trace();
            (device, trace, 0)
        };
        Self {
            devices: devices.into_iter().map(of).collect(),
            holders,
            foreign: Ok(Vec::new()),
        }
    }

    /// How many readings are kept of a device.
    pub fn len(&self) -> usize {
        self.devices.iter().map(|(_, trace, _)| trace.readings.len()).max().unwrap_or(0)
    }

    /// Looks once at every device and at who holds them; at an end of the window with what takes longer.
    pub fn take(&mut self, source: &Source, clock: Instant, at_an_end: bool) {
        for (device, trace, row) in &mut self.devices {
            let begun = clock.elapsed();
            match device.read(source) {
                Ok(mut reading) => {
                    *row = 0;
                    (reading.at_s, reading.took_s) = (begun.as_secs_f64(), (clock.elapsed() - begun).as_secs_f64());
                    trace.readings.push(reading);
                }
                Err(unseen) => {
                    *row += 1;
                    let missed = &mut trace.missed;
                    missed.all += 1;
                    missed.in_a_row = missed.in_a_row.max(*row);
                    missed.in_reset |= unseen.why == Why::InReset;
                    missed.why = Some(unseen.to_string());
                }
            }
            trace.links.extend(device.link(source));
            if at_an_end && let Some((was, is)) = device.errors.zip(device.uncorrectable(source)) {
                trace.uncorrectable = is.saturating_sub(was);
            }
        }
        self.add(self.holders.foreign(source, at_an_end));
    }

    /// Who was seen once is kept, with the most that it held; what cannot be told at one look cannot be told of the window.
    fn add(&mut self, found: Found) {
        match (&mut self.foreign, found) {
            (Ok(all), Ok(found)) => {
                for one in found {
                    match all.iter_mut().find(|other: &&mut Foreign| other.pid == one.pid) {
                        Some(other) => other.vram_bytes = other.vram_bytes.max(one.vram_bytes),
                        None => all.push(one),
                    }
                }
            }
            (known @ Ok(_), Err(why)) => *known = Err(why),
            (Err(_), _) => {}
        }
    }

    /// Leaves out every second reading, but not the first.
    pub fn thin(&mut self) {
        for (_, trace, _) in &mut self.devices {
            let mut at = 0;
            trace.readings.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
    }

    /// What was seen.
    pub fn finish(self) -> (Vec<DeviceTrace>, Found) {
        (self.devices.into_iter().map(|(_, trace, _)| trace).collect(), self.foreign)
    }
}
