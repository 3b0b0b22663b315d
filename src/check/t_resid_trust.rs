//! Whether the throttle counters can be believed.

use super::{Check, Sight, activity, cards, known};
use crate::model::gpu_metrics::{Limit, Metrics};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;
use crate::model::host::seen::Unseen;

/// Whether the throttle counters can be believed.
pub const T_RESID_TRUST: Check = Check {
    id: "T-RESID-TRUST",
    source: "gpu_metrics, twice a second apart where it is of this machine",
    rule: "they stand still while the device is idle / they do not, or there are none / -",
    why: "Counters that run on an idle device say nothing of a busy one.",
    hint: "Nothing to do: throttling is then told from temperatures and clocks.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    cards(machine, "counters that stand still while idle", |card| {
        let tables: Vec<&Metrics> = card.metrics.iter().flatten().collect();
        let Some(last) = tables.last() else {
            return known(
                &card.metrics.last().cloned().unwrap_or_else(|| Err(Unseen::absent("gpu_metrics"))),
                |_| (Level::Pass, String::new()),
            );
        };
        let Some(ticks) = last.accumulation.filter(|_| !last.residency.is_empty()) else {
            return (
                Level::Warn,
                format!("revision {}.{} has no such counters", last.revision.0, last.revision.1),
            );
        };
        if activity(card).is_ok_and(|activity| activity > 5.0) {
            return (Level::Pass, "not looked at: the device works".to_owned());
        }
        let first = tables.first().filter(|_| tables.len() > 1);
        let share = |limit: &Limit, count: u32| match first {
            Some(first) => {
                let since = |now: u32, before: Option<u32>| f64::from(now.saturating_sub(before.unwrap_or(now)));
                since(count, first.residency.get(limit).copied()) / since(ticks, first.accumulation).max(1.0)
            }
            // One look: a counter that equals the ticks of its whole life was never not throttled.
            None => f64::from(u8::from(count == ticks && ticks > 0)),
        };
        match last.residency.iter().find(|(limit, count)| share(limit, **count) >= 0.05) {
            None => (Level::Pass, "they stand still".to_owned()),
            Some((limit, count)) => (
                Level::Warn,
                format!("{limit:?} counts {count} of {ticks} ticks while the device is idle"),
            ),
        }
    })
}
