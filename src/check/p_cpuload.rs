//! How busy the processors are.

use super::{Check, Sight, known, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// How busy the processors are.
pub const P_CPULOAD: Check = Check {
    id: "P-CPULOAD",
    source: "/proc/loadavg, /proc/pressure/cpu",
    rule: "load under 5 % of the processors / under 20 %, or tasks wait / more",
    why: "Launches wait for a processor like anything else.",
    hint: "Wait, or end what runs.",
    explained_by: &[],
    look,
};

/// Share of time in which a task waits that is worth knowing, in %.
const WAIT_PCT: f64 = 10.0;

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let look = known(&machine.cpu.load, |load| {
        known(&machine.cpu.threads, |&threads| {
            let share = load / threads.max(1) as f64;
            let waits = machine.cpu.pressure_pct.as_ref().is_ok_and(|&pressure| pressure > WAIT_PCT);
            let found = match share {
                share if share >= 0.2 => Level::Fail,
                share if share >= 0.05 || waits => Level::Warn,
                _ => Level::Pass,
            };
            (found, format!("load {load} on {threads} processors"))
        })
    });
    sight("load under 5 % of the processors", look)
}
