//! The arms began at different temperatures.

use super::{Effect, Flag, Limit, Look, devices, means};
use crate::model::sample::PerArm;
use crate::model::telemetry::{Telemetry, Watching};

/// The arms began at different temperatures.
pub const FLAG: Flag = Flag {
    name: "start_temp_mismatch",
    about: "the mean temperature at which processes of one arm began differs from the other's by more than the limit",
    effect: Effect::Warns,
    attributable: false,
    limits: &[APART],
    look: Look::Arms(look),
};

const APART: Limit = Limit {
    name: "start_temp_differs_c",
    default: 8.0,
    about: "how far the arms' mean temperatures before a start may differ, in °C",
};

fn look(arms: &PerArm<Vec<&Telemetry>>, watching: &Watching) -> Option<String> {
    let limit = APART.of(watching);
    let found: Vec<String> = devices(arms)
        .filter_map(|(at, name)| {
            let [a, b] = means(arms, at, |device| device.start_hotspot_c)?;
            ((a - b).abs() > limit)
                .then(|| format!("{name}: processes of A began at {a:.0} °C and those of B at {b:.0} °C, the limit is {limit} °C apart"))
        })
        .collect();
    (!found.is_empty()).then(|| found.join("; "))
}
