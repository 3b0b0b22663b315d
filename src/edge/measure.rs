//! One slot becomes one sample: a fresh process, and what its output says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde_json::Value;

use super::environment::Variables;
use super::process::{self, Ended, Exit, Interrupts, Launch};
use crate::model::figure::{Figure, Reading};
use crate::model::metric::Metric;
use crate::model::sample::{PerArm, Sample, Slot};
use crate::model::{number, text};

/// How much of each output stream is kept of a process.
const KEEP_BYTES: usize = 16 << 20;
/// How much of a failed process's standard error stands in its sample.
const TAIL_CHARACTERS: usize = 400;

/// One arm's command, ready to start.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// The executable file.
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Variables,
    /// What must not change while the session runs: each file with its size, inode and times.
    pub files: Vec<Stamp>,
}

/// A file as it was when it was digested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    path: PathBuf,
    seen: [i64; 5],
}

impl Stamp {
    /// Takes the stamp of a file.
    ///
    /// # Errors
    /// When the file is gone.
    pub fn of(path: PathBuf) -> Result<Self> {
        let found = fs::metadata(&path).with_context(|| format!("cannot look at {}", path.display()))?;
        let seen = [
            found.ino() as i64,
            found.size() as i64,
            found.mtime(),
            found.mtime_nsec(),
            found.ctime_nsec(),
        ];
        Ok(Self { path, seen })
    }

    fn check(&self) -> Result<()> {
        if Self::of(self.path.clone())?.seen != self.seen {
            bail!(
                "{} changed while the session ran: its samples are of two different programs; measure anew",
                self.path.display()
            );
        }
        Ok(())
    }
}

/// Everything that is the same for every slot of a session.
pub struct Bench<'a> {
    /// The commands.
    pub commands: PerArm<Command>,
    /// Where every process starts.
    pub cwd: PathBuf,
    /// Time limit of one process.
    pub timeout: Duration,
    /// The declared metrics.
    pub metrics: Vec<Metric>,
    /// Reads figures from standard output.
    pub read: fn(&[u8], &[Metric]) -> Reading,
    /// The profiler in the environment, if there is one.
    pub profiler: Option<String>,
    /// Ends the running process early.
    pub interrupts: &'a Interrupts,
}

/// What came of running a slot.
#[derive(Debug)]
pub enum Run {
    /// A sample.
    Sample(Box<Sample>),
    /// Nothing: a signal to this program ended the process.
    Interrupted,
    /// Nothing: the session's time was up before the process's own limit.
    SessionOver,
}

/// The figures of every process, whatever it prints.
pub const PROCESS_METRICS: [&str; 3] = ["wall_s", "cpu_s", "peak_rss_bytes"];

impl Bench<'_> {
    /// The work of every gap between two processes, the same calls each time: nothing that runs may have changed.
    ///
    /// # Errors
    /// When a file of an arm changed or is gone.
    pub fn check_files(&self) -> Result<()> {
        let stamps = self.commands.a.files.iter().chain(&self.commands.b.files);
        stamps.into_iter().try_for_each(Stamp::check)
    }

    /// Runs one slot, for at most `left` of the session.
    ///
    /// # Errors
    /// When the process could not be run at all: no memory, no process numbers. A program that cannot be loaded is a failed sample of its arm.
    pub fn run(&self, slot: &Slot, seq: u32, left: Duration) -> Result<Run> {
        let command = self.commands.of(slot.arm);
        let launch = Launch {
            program: &command.program,
            args: &command.args,
            env: &command.env,
            cwd: &self.cwd,
            timeout: self.timeout.min(left),
            keep_bytes: KEEP_BYTES,
        };
        let ended = match process::run(&launch, Some(self.interrupts)) {
            Ok(ended) => ended,
            Err(error @ process::RunError::Program(..)) => {
                return Ok(Run::Sample(Box::new(self.not_started(slot, seq, error.to_string()))));
            }
            Err(error) => bail!("arm {}: {error}", slot.arm),
        };
        Ok(match ended.exit {
            Exit::Interrupted(_) => Run::Interrupted,
            Exit::TimedOut if left < self.timeout => Run::SessionOver,
            _ => Run::Sample(Box::new(self.sample(slot, seq, &ended))),
        })
    }

    fn sample(&self, slot: &Slot, seq: u32, ended: &Ended) -> Sample {
        let started = Timestamp::try_from(ended.started).unwrap_or_default();
        let mut sample = self.blank(slot, seq, format!("{started:.6}"));
        sample.pid = ended.pid;
        sample.failed = failed(ended.exit, self.timeout);
        if let Exit::Code(code) = ended.exit {
            sample.exit = Some(code);
        }
        let printed: Vec<Metric> = self
            .metrics
            .iter()
            .filter(|metric| !PROCESS_METRICS.contains(&metric.name.as_str()))
            .cloned()
            .collect();
        // Output that nobody asked to read is not parsed: the gap between two processes stays short.
        let mut reading = if sample.failed.is_none() && !printed.is_empty() {
            (self.read)(&ended.stdout.kept, &printed)
        } else {
            Reading::default()
        };
        for metric in printed.iter().filter(|_| sample.failed.is_some()) {
            reading.set(&metric.name, Figure::failed("the process failed"));
        }
        let peak = if ended.peak_rss_bytes > ended.peak_rss_floor_bytes {
            Figure::Value(ended.peak_rss_bytes as f64)
        } else {
            // A started program inherits the peak of the one that starts it, so that less than that cannot be told.
            Figure::not_measured(format!("at most {} bytes, the peak of gate itself", ended.peak_rss_floor_bytes))
        };
        let figures = [
            ("wall_s", Figure::Value(ended.wall_s)),
            ("cpu_s", Figure::Value(ended.cpu_s)),
            ("peak_rss_bytes", peak),
        ];
        for (name, figure) in figures {
            reading.set(name, figure);
        }
        (sample.values, sample.missing) = (reading.values, reading.missing);
        sample.detail.extend(self.detail(ended, sample.failed.is_some()));
        sample
    }

    fn not_started(&self, slot: &Slot, seq: u32, why: String) -> Sample {
        let mut sample = self.blank(slot, seq, super::clock::now());
        sample.failed = Some(why);
        sample
    }

    fn blank(&self, slot: &Slot, seq: u32, start: String) -> Sample {
        let mut detail = BTreeMap::new();
        if let Some(profiler) = &self.profiler {
            detail.insert("profiler".to_owned(), Value::from(profiler.clone()));
        }
        Sample {
            seq,
            cell: slot.cell.clone(),
            block: slot.block,
            position: slot.position,
            attempt: slot.attempt,
            arm: slot.arm,
            pid: 0,
            start,
            exit: None,
            failed: None,
            values: BTreeMap::new(),
            missing: BTreeMap::new(),
            detail,
            void: None,
            warmup: slot.warmup,
            profiled: self.profiler.is_some(),
            telemetry: None,
        }
    }

    fn detail(&self, ended: &Ended, failed: bool) -> BTreeMap<String, Value> {
        let mut detail = BTreeMap::new();
        for (name, output) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
            detail.insert(format!("{name}_bytes"), output.total_bytes.into());
            if let Some(blake3) = &output.blake3 {
                detail.insert(format!("{name}_blake3"), format!("b3:{blake3}").into());
            }
        }
        if ended.left_over > 0 {
            detail.insert("left_over".to_owned(), ended.left_over.into());
        }
        if failed {
            let text = String::from_utf8_lossy(&ended.stderr.kept);
            let characters = text.chars().count();
            let tail: String = text.chars().skip(characters.saturating_sub(TAIL_CHARACTERS)).collect();
            detail.insert("stderr_tail".to_owned(), text::plain_line(tail.trim(), TAIL_CHARACTERS).into());
        }
        detail
    }
}

/// Why a process's end makes its sample a failure.
fn failed(exit: Exit, timeout: Duration) -> Option<String> {
    match exit {
        Exit::Code(0) => None,
        Exit::Code(code) => Some(format!("exit code {code}")),
        Exit::Signal(signal) => Some(format!("ended by signal {signal}")),
        Exit::TimedOut => Some(format!("ran longer than its limit of {}", number::duration(timeout.as_secs_f64()))),
        Exit::Interrupted(signal) => Some(format!("interrupted by signal {signal}")),
    }
}
