//! The clock moved steadily while the device worked.

use super::{Effect, Flag, Limit, Look};
use crate::model::telemetry::{DeviceTrace, Trace, Watching};

/// The clock moved steadily while the device worked.
pub const FLAG: Flag = Flag {
    name: "clock_drift",
    about: "a line through the graphics clock while the device worked rises or falls by more than the limit, the first tenth of that time left out",
    effect: Effect::Warns,
    attributable: true,
    limits: &[DRIFT],
    look: Look::Process(look),
};

const DRIFT: Limit = Limit {
    name: "clock_drift_pct",
    default: 3.0,
    about: "rise or fall of the graphics clock over a window, in % of its mean",
};
/// Looks from which a line says something.
const READINGS_MIN: usize = 10;

fn look(trace: &Trace, watching: &Watching) -> Option<String> {
    let limit = DRIFT.of(watching);
    trace.of_devices(|device| {
        let drift_pct = drift_pct(device).filter(|drift| drift.abs() > limit)?;
        Some(format!(
            "the graphics clock moved by {drift_pct:+.1} % over the window, the limit is {limit} %"
        ))
    })
}

/// The rise of a least-squares line over the window, in % of the mean. The first tenth is left out: clocks that are on their way up there
/// have a flag of their own.
fn drift_pct(device: &DeviceTrace) -> Option<f64> {
    let busy = device.busy();
    let later = busy.iter().skip(busy.len() / 10);
    let points: Vec<(f64, f64)> = later.filter_map(|reading| Some((reading.at_s, reading.gfxclk_mhz?))).collect();
    if points.len() < READINGS_MIN {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (at, clock) = (mean(|point| point.0), mean(|point| point.1));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - at) * (point.1 - clock), below + (point.0 - at).powi(2))
    });
    let window = points.last()?.0 - points.first()?.0;
    (below > 0.0 && clock > 0.0).then(|| 100.0 * above / below * window / clock)
}
