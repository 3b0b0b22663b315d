//! What a record keeps of a trace.

use std::collections::BTreeMap;

use super::reading::mean;
use super::{DeviceSummary, DeviceTrace, Energy, FOREIGN, Reading, Stretch, Telemetry, Trace};
use crate::model::gpu_metrics::{ENERGY_STEP_J, Limit};
use crate::model::text::plain_line;

/// Most messages of the kernel, and most foreign processes, that a record keeps of one window.
const NAMED_MAX: usize = 20;
/// Longest message that is kept, in characters.
const MESSAGE_MAX: usize = 300;
/// Where counter and integral differ by more than this, in % of the integral, the counter is not believed.
const AGREE_PCT: f64 = 10.0;
/// Looks from which an integral is fine enough to contradict a counter.
const FINE_FROM: usize = 5;

impl From<&Trace> for Telemetry {
    fn from(trace: &Trace) -> Self {
        let mut missing = BTreeMap::new();
        let mut lacks = |name: &str, why: Option<&String>| missing.extend(why.map(|why| (name.to_owned(), why.clone())));
        if !trace.devices.is_empty() {
            lacks(FOREIGN, trace.foreign.as_ref().err());
            lacks("messages", trace.messages.as_ref().err());
        }
        lacks("cpu_wait_pct", trace.cpu_wait_pct.as_ref().err());
        let messages = trace.messages.iter().flatten();
        Self {
            window_s: rounded(trace.window_s),
            every_s: trace.every_s,
            devices: trace.devices.iter().map(DeviceSummary::from).collect(),
            foreign: trace.foreign.iter().flatten().take(NAMED_MAX).cloned().collect(),
            cpu_wait_pct: trace.cpu_wait_pct.as_ref().ok().copied().map(rounded),
            other_load: trace.other_load.map(rounded),
            messages: messages.take(NAMED_MAX).map(|message| plain_line(message, MESSAGE_MAX)).collect(),
            flags: Vec::new(),
            missing,
        }
    }
}

impl From<&DeviceTrace> for DeviceSummary {
    fn from(trace: &DeviceTrace) -> Self {
        let mut missing = BTreeMap::new();
        let why = trace.missed.why.clone().unwrap_or_else(|| format!("{} does not say", trace.source));
        let mut of = |name: &str, value: fn(&Reading) -> Option<f64>| {
            let found = stretch(trace.readings.iter().filter_map(value));
            if found.is_none() {
                missing.insert(name.to_owned(), why.clone());
            }
            found
        };
        let mut summary = Self {
            device: trace.device.clone(),
            source: trace.source.clone(),
            readings: trace.readings.len() as u32,
            missed: trace.missed.all,
            gfxclk_mhz: of("gfxclk_mhz", |reading| reading.gfxclk_mhz),
            uclk_mhz: of("uclk_mhz", |reading| reading.uclk_mhz),
            power_w: of("power_w", |reading| reading.power_w),
            hotspot_c: of("hotspot_c", |reading| reading.hotspot_c),
            mem_c: of("mem_c", |reading| reading.mem_c),
            gfx_activity_pct: of("gfx_activity_pct", |reading| reading.gfx_activity_pct),
            umc_activity_pct: of("umc_activity_pct", |reading| reading.umc_activity_pct),
            vram_used_bytes: of("vram_used_bytes", |reading| reading.vram_used_bytes.map(|bytes| bytes as f64)),
            busy_gfxclk_mhz: trace.busy_gfxclk_mhz().map(rounded),
            start_hotspot_c: trace.readings.first().and_then(|reading| reading.hotspot_c),
            throttled_pct: Limit::ALL
                .into_iter()
                .filter_map(|limit| Some((limit.word().to_owned(), rounded(trace.throttled_pct(limit)?))))
                .collect(),
            counters_trusted: trace.counters_trusted,
            links: trace.links.iter().cloned().collect(),
            energy: None,
            missing: BTreeMap::new(),
        };
        if summary.throttled_pct.is_empty() {
            missing.insert("throttled_pct".to_owned(), why.clone());
        }
        match energy(trace) {
            Ok(energy) => summary.energy = Some(energy),
            Err(why) => drop(missing.insert("energy".to_owned(), why)),
        }
        summary.missing = missing;
        summary
    }
}

/// To a thousandth: no instrument here shows more, and a record holds many of these.
fn rounded(value: f64) -> f64 {
    (1e3 * value).round() / 1e3
}

fn stretch(values: impl Iterator<Item = f64>) -> Option<Stretch> {
    let values: Vec<f64> = values.collect();
    Some(Stretch {
        min: values.iter().copied().reduce(f64::min)?,
        mean: rounded(mean(values.iter().copied())?),
        max: values.iter().copied().reduce(f64::max)?,
    })
}

/// The energy between the first and the last look: by the counter where it is sound, else by power over time.
///
/// # Errors
/// When neither can be told.
fn energy(trace: &DeviceTrace) -> Result<Energy, String> {
    if trace.is_stale() {
        return Err("the readings stood still".to_owned());
    }
    let (Some(first), Some(last)) = (trace.readings.first(), trace.readings.last()) else {
        return Err(trace.missed.why.clone().unwrap_or_else(|| "nothing was read".to_owned()));
    };
    // The driver's own time where every look has it: what stands between two looks is not what stands between two answers.
    let clocked = trace.readings.iter().all(|reading| reading.clock_s.is_some());
    let time = |reading: &Reading| reading.clock_s.filter(|_| clocked).unwrap_or(reading.at_s);
    let integral = integral(&trace.readings, time);
    let steps = first.energy_steps.zip(last.energy_steps);
    let counted = steps.and_then(|(first, last)| last.checked_sub(first)).filter(|&steps| steps > 0);
    let counted = counted.map(|steps| steps as f64 * ENERGY_STEP_J);
    let contradicted = |counted: f64| {
        let fine = integral.filter(|_| trace.readings.len() >= FINE_FROM);
        fine.is_some_and(|integral| (counted - integral).abs() > AGREE_PCT / 100.0 * integral)
    };
    let (energy_j, method) = match (counted, integral) {
        (Some(counted), _) if !contradicted(counted) => (counted, "accumulator"),
        (_, Some(integral)) => (integral, "power_integral"),
        _ => return Err(format!("{} gives neither a counter that advances nor power", trace.source)),
    };
    Ok(Energy {
        energy_j: rounded(energy_j),
        over_s: rounded(time(last) - time(first)),
        method: method.to_owned(),
        scope: "socket".to_owned(),
    })
}

/// Power over time by trapezoids, in J; none with fewer than two looks, or where one has no power.
fn integral(readings: &[Reading], time: impl Fn(&Reading) -> f64) -> Option<f64> {
    let area = |pair: &[Reading]| match pair {
        [one, other] => Some((time(other) - time(one)) * (one.power_w? + other.power_w?) / 2.0),
        _ => None,
    };
    let areas: Option<Vec<f64>> = readings.windows(2).map(area).collect();
    areas.filter(|areas| !areas.is_empty()).map(|areas| areas.iter().sum())
}
