//! The machine under a session: fit or not before it, and watched while its processes run.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::declare::Declared;
use super::session::{Unmeasured, unmeasured};
use super::{Finished, Perf};
use crate::cli::parse::Every;
use crate::cli::preflight::{self, Fitness};
use crate::cli::say;
use crate::edge::device::Gpu;
use crate::edge::host;
use crate::edge::measure::{Bench, Run};
use crate::edge::telemetry::Watch;
use crate::judge::flag;
use crate::model::evidence::Ended;
use crate::model::gate::declaration::TelemetryKeys;
use crate::model::host::{Finding, Host};
use crate::model::identity::Identity;
use crate::model::sample::{Sample, Slot};
use crate::model::telemetry::{Telemetry, Trace, Watching};

/// What is watched for a gate's keys: nothing on a machine without a GPU, unless the gate says what.
pub fn of_keys(keys: &TelemetryKeys, root: &Path) -> Option<Watching> {
    let every = keys.every?;
    let watched = keys.declared || host::has_devices(root);
    watched.then(|| flag::watching(every.as_secs_f64(), keys.void.clone(), keys.gpu_bound, &keys.limits))
}

/// What is watched for two commands.
pub fn of_option(every: Every, root: &Path) -> Option<Watching> {
    let every = every.0?;
    host::has_devices(root).then(|| flag::watching(every.as_secs_f64(), None, false, &[].into()))
}

/// The machine before a session.
pub struct Watched {
    /// What the required checks found.
    pub host: Host,
    /// Why nothing may be measured, if so.
    pub unfit: Option<String>,
    /// What looks at the machine while processes run.
    pub watcher: Option<Watcher>,
}

impl Watched {
    /// For two commands.
    ///
    /// # Errors
    /// When the machine cannot be read.
    pub fn of_commands(options: &Perf, watching: Option<&Watching>) -> Result<Self> {
        Ok(Self::of(options.root(), &[], &[], &options.env, watching)?.of_host(options))
    }

    /// For a gate that requires these checks.
    ///
    /// # Errors
    /// When the machine cannot be read.
    pub fn of_gate(options: &Perf, checks: &[String], declared: &Declared) -> Result<Self> {
        let watching = declared.plan.telemetry.as_ref();
        Ok(Self::of(options.root(), checks, &declared.devices, &declared.env, watching)?.of_host(options))
    }

    /// A machine whose files are not this one's is replayed, whatever was read of it.
    fn of_host(mut self, options: &Perf) -> Self {
        self.host.replayed |= options.host.is_some();
        self
    }

    fn of(root: &Path, checks: &[String], devices: &[Gpu], env: &[(String, String)], watching: Option<&Watching>) -> Result<Self> {
        // Where nobody asks for checks and GPUs do not matter, nothing is looked at.
        let asked = !checks.is_empty() || watching.is_some();
        let machine = asked.then(|| preflight::machine(root, devices, env)).transpose()?;
        let Fitness { host, unfit } = preflight::required(checks, machine.as_ref())?;
        let watcher = match (machine, watching) {
            (Some(machine), Some(watching)) if unfit.is_none() => {
                let trusted = preflight::counters_are_trusted(&machine);
                let every = Duration::try_from_secs_f64(watching.every_s).context("the time between two readings")?;
                let last = preflight::in_a_gap(&machine)?;
                Some(Watcher {
                    watch: Watch::new(root, machine, every, trusted),
                    watching: watching.clone(),
                    last,
                })
            }
            _ => None,
        };
        Ok(Self { host, unfit, watcher })
    }
}

/// Looks at the machine while processes run.
pub struct Watcher {
    watch: Watch,
    watching: Watching,
    /// What the cheap checks found last.
    last: Vec<Finding>,
}

impl Watcher {
    /// Runs a slot, and tells in its sample what the machine did meanwhile. A block is void by what was seen, whatever was measured.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn run(&mut self, bench: &Bench<'_>, slot: &Slot, seq: u32, left: Duration) -> Result<Run> {
        let (run, trace) = self.watch.during(|| bench.run(slot, seq, left));
        let mut run = run?;
        if let Run::Sample(sample) = &mut run {
            self.tell(sample, trace);
        }
        Ok(run)
    }

    /// Runs something else that is watched; without a trace where there is no device.
    pub fn during<T>(&mut self, run: impl FnOnce() -> T) -> (T, Option<Trace>) {
        let (result, trace) = self.watch.during(run);
        (result, self.watch.has_devices().then_some(trace))
    }

    fn tell(&self, sample: &mut Sample, mut trace: Trace) {
        let used = sample
            .value("cpu_s")
            .zip(sample.value("wall_s"))
            .filter(|(_, wall_s)| *wall_s > 0.0);
        trace.other_load = self.watch.other_load(used.map_or(0.0, |(cpu_s, wall_s)| cpu_s / wall_s));
        let mut telemetry = Telemetry::from(&trace);
        telemetry.flags = flag::raised(&trace, &self.watching);
        if !sample.warmup {
            sample.void = flag::void(&telemetry.flags);
        }
        sample.telemetry = Some(Box::new(telemetry));
    }

    /// What the cheap checks find after a sample otherwise than before it.
    ///
    /// # Errors
    /// When a profile names a check that does not exist.
    pub fn changes(&mut self, seq: u32) -> Result<Vec<Finding>> {
        if !self.watch.has_devices() {
            return Ok(Vec::new());
        }
        let now = preflight::in_a_gap(self.watch.machine())?;
        let changed = now.iter().filter_map(|finding| {
            let was = self.last.iter().find(|was| was.check == finding.check)?;
            let differs = (was.level, &was.saw) != (finding.level, &finding.saw);
            differs.then(|| Finding {
                saw: format!("after sample {seq}: {}; before it: {}", finding.saw, was.saw),
                ..finding.clone()
            })
        });
        let changed = changed.collect();
        self.last = now;
        Ok(changed)
    }
}

/// What an unfit machine comes to.
const NOTHING: &str = "Nothing was measured; `gate preflight` tells more";

/// Seals the record of an unfit machine, on which nothing is measured.
///
/// # Errors
/// When it cannot be sealed; and with the reason itself where another command wants samples.
pub fn unfit(options: &Perf, declared: Declared, (identity, host): (Identity, Host), why: &str, ledger: &Path) -> Result<Finished> {
    let of = Unmeasured {
        identity,
        host,
        ended: Some(Ended::Unfit { what: why.to_owned() }),
        labels: options.labels(),
    };
    let finished = unmeasured(declared, of, ledger)?;
    if options.calibration.is_some() || options.revisions.is_some() {
        bail!("{why}\n{NOTHING}");
    }
    say(&format!("gate: error: {why}\n{NOTHING}"));
    Ok(finished)
}
