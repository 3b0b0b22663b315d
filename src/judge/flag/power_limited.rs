//! The power limit held the arms down unequally.

use super::{Effect, Flag, Limit, Look, devices, means};
use crate::model::gpu_metrics;
use crate::model::sample::PerArm;
use crate::model::telemetry::{Telemetry, Watching};

/// The power limit held the arms down unequally. A device at its power limit is in its usual state under load, and no fault.
pub const FLAG: Flag = Flag {
    name: "power_limited",
    about: "the power limit held the clocks down, and the arms differ in how much of the time it did, or in their mean graphics clock",
    effect: Effect::Warns,
    attributable: true,
    limits: &[LIMITED, DIFFERS, CLOCK],
    look: Look::Arms(look),
};

const LIMITED: Limit = Limit {
    name: "power_limited_pct",
    default: 5.0,
    about: "share of the window from which the power limit counts as holding the clocks down, in %",
};
const DIFFERS: Limit = Limit {
    name: "power_differs_pp",
    default: 5.0,
    about: "how far the arms may differ in that share, in percentage points",
};
const CLOCK: Limit = Limit {
    name: "clock_differs_pct",
    default: 2.0,
    about: "how far the arms' mean graphics clocks may differ while either is held down, in %",
};

fn look(arms: &PerArm<Vec<&Telemetry>>, watching: &Watching) -> Option<String> {
    let (limited, differs, clock_differs) = (LIMITED.of(watching), DIFFERS.of(watching), CLOCK.of(watching));
    let found: Vec<String> = devices(arms)
        .filter_map(|(at, name)| {
            let word = gpu_metrics::Limit::Ppt.word();
            let [a, b] = means(arms, at, |device| {
                device.throttled_pct.get(word).copied().filter(|_| device.counters_trusted)
            })?;
            if a.max(b) <= limited {
                return None;
            }
            if (a - b).abs() > differs {
                return Some(format!(
                    "{name}: held down by the power limit {a:.0} % of the time on A and {b:.0} % on B, the limit is {differs} points apart"
                ));
            }
            let [base, candidate] = means(arms, at, |device| device.busy_gfxclk_mhz)?;
            let apart_pct = 100.0 * (candidate - base) / base;
            (apart_pct.abs() > clock_differs).then(|| {
                format!(
                    "{name}: at the power limit with {base:.0} MHz on A and {candidate:.0} MHz on B, the limit is {clock_differs} % apart"
                )
            })
        })
        .collect();
    (!found.is_empty()).then(|| found.join("; "))
}
