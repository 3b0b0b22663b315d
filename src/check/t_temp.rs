//! How hot the devices are before anything is measured.

use super::{Check, Sight, cards};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// How hot the devices are before anything is measured.
pub const T_TEMP: Check = Check {
    id: "T-TEMP",
    source: "hwmon, sensors by their labels",
    rule: "30 degrees under the limit / 15 degrees / nearer",
    why: "A device that is still hot throttles sooner than a cool one.",
    hint: "Wait until it is cool.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    cards(machine, "30 degrees under the limit", |card| {
        let room = card.temperatures.iter().filter_map(|(label, sensor)| {
            let (now, limit) = (sensor.now_c.as_ref().ok()?, sensor.crit_c.as_ref().ok()?);
            Some((limit - now, format!("{label} {now} of {limit} degrees")))
        });
        let Some((room, saw)) = room.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            return (Level::Unknown, "no sensor with a limit".to_owned());
        };
        let found = match room {
            room if room <= 15.0 => Level::Fail,
            room if room <= 30.0 => Level::Warn,
            _ => Level::Pass,
        };
        (found, saw)
    })
}
