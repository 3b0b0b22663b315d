//! Are the clocks up and steady: what a warm-up waits for.

use crate::model::evidence::WarmUp;
use crate::model::telemetry::{DeviceTrace, Reading, Trace};
use crate::model::text::plain_line;

/// Shortest warm-up in seconds, and the longest that is waited for.
pub const TAKES_S: std::ops::RangeInclusive<f64> = 10.0..=120.0;
/// Length of the stretches that are compared, in seconds.
const STRETCH_S: f64 = 2.0;
/// Activity of a device that is warmed up, in %.
const ACTIVE_PCT: f64 = 90.0;
/// How far the clock may move from one stretch to the next, in %.
const CLOCK_PCT: f64 = 1.5;
/// Activity of the memory from which its clock must be at its top, in %.
const MEMORY_PCT: f64 = 30.0;
/// How fast the hottest spot may still warm, in °C a second.
const WARMS_C: f64 = 0.5;
/// Longest reason that is shown.
const WHY_MAX: usize = 300;

/// Whether every device that worked in a trace is steady, with what that rests on; none where no device can tell.
pub fn steady(trace: &Trace) -> Option<(bool, String)> {
    let told: Vec<Result<String, String>> = trace
        .devices
        .iter()
        .filter(|device| !device.busy().is_empty())
        .map(|device| of_device(device).map_err(|why| format!("{}: {why}", device.device)))
        .collect();
    let readable = trace.devices.iter().any(|device| !device.readings.is_empty());
    match told.iter().find_map(|told| told.as_ref().err()) {
        _ if !readable => None,
        Some(why) => Some((false, why.clone())),
        None if told.is_empty() => Some((false, "no watched device worked".to_owned())),
        None => Some((true, told.into_iter().flatten().collect::<Vec<String>>().join("; "))),
    }
}

fn of_device(device: &DeviceTrace) -> Result<String, String> {
    let inside = device.readings.get(1..device.readings.len().saturating_sub(1)).unwrap_or_default();
    let end = inside.last().map_or(0.0, |reading| reading.at_s);
    let stretch = |from: f64, to: f64| -> Vec<&Reading> {
        let within = |reading: &&Reading| reading.at_s > end - from && reading.at_s <= end - to;
        inside.iter().filter(within).collect()
    };
    let (before, last) = (stretch(2.0 * STRETCH_S, STRETCH_S), stretch(STRETCH_S, 0.0));
    let mean = |readings: &[&Reading], of: fn(&Reading) -> Option<f64>| {
        let values: Vec<f64> = readings.iter().filter_map(|reading| of(reading)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let active = mean(&last, |reading| reading.gfx_activity_pct).ok_or("its activity is not known")?;
    if active < ACTIVE_PCT {
        return Err(format!("{active:.0} % active, {ACTIVE_PCT} % are wanted"));
    }
    let clock = |readings: &[&Reading]| mean(readings, |reading| reading.gfxclk_mhz).ok_or("its clock is not known over four seconds");
    let (was, is) = (clock(&before)?, clock(&last)?);
    let moved = 100.0 * (is - was) / was;
    if moved.abs() > CLOCK_PCT {
        return Err(format!("the graphics clock still moves: {was:.0} MHz, then {is:.0} MHz"));
    }
    let memory = mean(&last, |reading| reading.umc_activity_pct).is_some_and(|active| active >= MEMORY_PCT);
    let low = |reading: &&Reading| {
        device
            .uclk_top_mhz
            .zip(reading.uclk_mhz)
            .is_some_and(|(top, clock)| clock < top - 0.5)
    };
    if memory && last.iter().any(low) {
        return Err("the memory clock is not at its top though the memory is active".to_owned());
    }
    let hot = |readings: &[&Reading]| mean(readings, |reading| reading.hotspot_c);
    let warms = hot(&before).zip(hot(&last)).map(|(was, is)| (is - was) / STRETCH_S);
    match warms {
        Some(warms) if warms >= WARMS_C => Err(format!("it still warms by {warms:.1} °C a second")),
        _ => Ok(format!("{}: {is:.0} MHz at {active:.0} % activity", device.device)),
    }
}

/// What a reader should know of a warm-up that did not do its work.
pub fn warning(warmup: &WarmUp) -> Option<String> {
    let helper = plain_line(&warmup.helper, 40);
    if let Some(silence) = &warmup.silence {
        let silence = plain_line(silence, WHY_MAX);
        return Some(format!(
            "plan.warmup: {helper} gave no answer ({silence}): the clocks start as the warm-up runs leave them"
        ));
    }
    let why = plain_line(&warmup.why, WHY_MAX);
    (warmup.steady == Some(false)).then(|| format!("dpm_not_ramped: not steady after {:.0} s of {helper}: {why}", warmup.took_s))
}
