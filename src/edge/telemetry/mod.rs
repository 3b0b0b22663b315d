//! Looks at the devices while a process runs: a thread that reads their files, and the same few reads in every gap.

mod device;
mod holders;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use device::{Device, Looks};
use holders::{Found, Holders};

use super::host::kernel_log::Tail;
use super::host::{self, Source};
use crate::model::host::card::Card;
use crate::model::host::machine::{Machine, OVERSUBSCRIBED_MESSAGE, RESET_MESSAGES, THROTTLED_MESSAGE};
use crate::model::telemetry::Trace;

/// How long a device may take to answer before nobody waits for it any more: a driver that hangs must not take this program along.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most readings that are kept of one process; beyond, every second one goes, and they come half as often.
const READINGS_MAX: usize = 20_000;
/// The kernel's account of tasks that waited for a processor.
const PRESSURE: &str = "proc/pressure/cpu";

/// What watches a session's processes.
pub struct Watch {
    source: Source,
    root: PathBuf,
    every: Duration,
    machine: Machine,
    devices: Vec<Device>,
    holders: Holders,
    log: Tail,
    /// Memory in use on each device before the session.
    idle_vram: Vec<Option<u64>>,
    /// Set once a device does not answer.
    hung: bool,
}

impl Watch {
    /// Prepares to watch the devices of a machine that was read from `root`. `trusted` says whether its throttle counters can be believed.
    pub fn new(root: &Path, machine: Machine, every: Duration, trusted: bool) -> Self {
        let source = Source::folder(root);
        let devices: Vec<Device> = machine
            .cards
            .iter()
            .map(|card| Device::new(&source, &machine, card, trusted))
            .collect();
        Self {
            root: root.to_owned(),
            every,
            holders: Holders::new(&source, &machine),
            log: Tail::open(&source),
            idle_vram: machine.cards.iter().map(|card| card.vram_bytes.1.as_ref().ok().copied()).collect(),
            devices,
            machine,
            source,
            hung: false,
        }
    }

    /// The machine as it was read last.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Whether any device is watched.
    pub fn has_devices(&self) -> bool {
        !self.devices.is_empty()
    }

    /// Runs something and looks at the machine meanwhile; then reads again what may have been set otherwise, the same files every time.
    /// Without a device no thread is started.
    pub fn during<T>(&mut self, run: impl FnOnce() -> T) -> (T, Trace) {
        let waited = self.waited_us();
        let clock = Instant::now();
        let (result, looks) = self.looked(run);
        let window_s = clock.elapsed().as_secs_f64();
        let cpu_wait_pct = match (waited, self.waited_us()) {
            (Ok(before), Ok(after)) => Ok((after.saturating_sub(before)) as f64 / 1e4 / window_s.max(1e-6)),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        let before = self.machine.cards.clone();
        if self.has_devices() {
            host::again(&self.source, &mut self.machine);
        }
        let messages = self.log.next(&self.source).map_err(|unseen| unseen.to_string());
        let (devices, foreign) = self.traces(looks, &before);
        let trace = Trace {
            window_s,
            every_s: self.every.as_secs_f64(),
            devices,
            foreign,
            cpu_wait_pct,
            other_load: None,
            messages: messages.map(|all| all.into_iter().filter(|message| tells_of_devices(message)).collect()),
        };
        (result, trace)
    }

    /// Load of the machine beyond `own` processors, in parts of all; none where it is not known.
    pub fn other_load(&self, own: f64) -> Option<f64> {
        let load = self
            .source
            .peek("proc/loadavg", |text| text.split_whitespace().next()?.parse::<f64>().ok());
        let threads = self.machine.cpu.threads.as_ref().ok()?;
        Some(((load.ok()? - own) / (*threads).max(1) as f64).max(0.0))
    }

    /// Microseconds in which some task waited for a processor, since the kernel began to count.
    fn waited_us(&self) -> Result<u64, String> {
        let total = |text: &str| {
            text.lines()
                .find(|line| line.starts_with("some "))?
                .split("total=")
                .nth(1)?
                .trim()
                .parse()
                .ok()
        };
        self.source.peek(PRESSURE, total).map_err(|unseen| unseen.to_string())
    }

    /// The looks of a thread beside `run`; none where there is no device, or where one hangs.
    fn looked<T>(&mut self, run: impl FnOnce() -> T) -> (T, Option<Looks>) {
        if self.devices.is_empty() || self.hung {
            return (run(), None);
        }
        let (root, every, devices, holders) = (self.root.clone(), self.every, self.devices.clone(), self.holders.clone());
        let ((began, has_begun), (end, has_ended), (done, looks)) = (channel(), channel::<()>(), channel());
        let job = move || {
            let looks = look(&Source::folder(&root), every, Looks::new(devices, holders), &began, &has_ended);
            let _nobody_waits = done.send(looks);
        };
        // The thread is not waited for in its own right: one that hangs inside the kernel could not be.
        if std::thread::Builder::new().name("telemetry".to_owned()).spawn(job).is_err() || has_begun.recv_timeout(PATIENCE).is_err() {
            self.hung = true;
            return (run(), None);
        }
        let result = run();
        drop(end);
        let looks = looks.recv_timeout(PATIENCE).ok();
        self.hung = looks.is_none();
        (result, looks)
    }

    fn traces(&mut self, looks: Option<Looks>, before: &[Card]) -> (Vec<crate::model::telemetry::DeviceTrace>, Found) {
        let Some(looks) = looks else {
            let why = format!("a device did not answer within {} s", PATIENCE.as_secs());
            let missed = self.devices.iter().map(|device| device.missed(&why)).collect();
            return (missed, Err(why));
        };
        let (mut devices, foreign) = looks.finish();
        for (at, device) in devices.iter_mut().enumerate() {
            if let (Some(was), Some(is)) = (before.get(at), self.machine.cards.get(at)) {
                device.changed = changed(was, is);
            }
            let first = device.readings.first().and_then(|reading| reading.vram_used_bytes);
            let idle = self.idle_vram.get(at).copied().flatten();
            device.vram_above_idle_bytes = first.zip(idle).map_or(0, |(first, idle)| first.saturating_sub(idle));
        }
        for (own, seen) in self.devices.iter_mut().zip(&devices) {
            own.saw_errors(seen.uncorrectable);
        }
        (devices, foreign)
    }
}

/// The thread's work: a look before the start, one every so often, one after the end.
fn look(source: &Source, every: Duration, mut looks: Looks, began: &Sender<()>, has_ended: &Receiver<()>) -> Looks {
    let (clock, mut every) = (Instant::now(), every);
    looks.take(source, clock, true);
    let _nobody_waits = began.send(());
    let mut next = clock.elapsed() + every;
    loop {
        let left = next.saturating_sub(clock.elapsed());
        if has_ended.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        looks.take(source, clock, false);
        if looks.len() > READINGS_MAX {
            looks.thin();
            every *= 2;
        }
        // What was missed while a look took long is not caught up with.
        next = (next + every).max(clock.elapsed());
    }
    looks.take(source, clock, true);
    looks
}

fn tells_of_devices(message: &str) -> bool {
    let words = RESET_MESSAGES.iter().chain([&OVERSUBSCRIBED_MESSAGE, &THROTTLED_MESSAGE]);
    message.contains("amdgpu") || words.into_iter().any(|word| message.contains(word))
}

/// What is set otherwise, in words. What was not readable before or is not now is no change.
fn changed(was: &Card, is: &Card) -> Vec<String> {
    let top = |card: &Card| {
        card.sclk
            .as_ref()
            .ok()
            .and_then(|steps| steps.last())
            .map(|step| format!("{} MHz", step.mhz))
    };
    let watts = |card: &Card| card.cap_w.as_ref().ok().map(|watts| format!("{watts} W"));
    let text = |value: &crate::model::host::seen::Seen<String>| value.as_ref().ok().cloned();
    let pairs = [
        ("the power cap", watts(was), watts(is)),
        ("the performance level", text(&was.perf_level), text(&is.perf_level)),
        ("the highest graphics clock", top(was), top(is)),
        ("the compute partition", text(&was.compute_partition), text(&is.compute_partition)),
        ("the memory partition", text(&was.memory_partition), text(&is.memory_partition)),
    ];
    let differs = pairs.into_iter().filter_map(|(what, was, is)| Some((what, was?, is?)));
    differs
        .filter(|(_, was, is)| was != is)
        .map(|(what, was, is)| format!("{what} was {was} and is {is}"))
        .collect()
}
