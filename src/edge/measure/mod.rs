//! One slot becomes one sample: a fresh process, and what its output says.

mod command;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use jiff::Timestamp;
use serde_json::Value;

pub use command::{Command, Private, Ready, Server, Stamp};
use command::{Filled, read_output};

use super::arms::claim::Claim;
use super::endpoint;
use super::process::{self, Ended, Exit, Interrupts, Launch, Served};
use crate::model::figure::{Figure, Reading};
use crate::model::gate::declaration::Series;
use crate::model::sample::{Arm, Cell, Sample, Slot};
use crate::model::{number, text};

/// How much of each output stream is kept of a process.
const KEEP_BYTES: usize = 16 << 20;
/// How much of a failed process's standard error stands in its sample.
const TAIL_CHARACTERS: usize = 400;

/// Turns one process's output into the figures of declared series: an adapter, as a value.
pub type Read = dyn Fn(&[u8], &[Series]) -> Reading;

/// Everything that is the same for every slot of a session.
pub struct Bench<'a> {
    /// What each arm runs on each fixture.
    pub commands: BTreeMap<(Cell, Arm), Ready>,
    /// What must not change while the session runs.
    pub files: Vec<Stamp>,
    /// Time limit of one process.
    pub timeout: Duration,
    /// Reads the figures of declared series from one process's output.
    pub read: Box<Read>,
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
        self.files.iter().try_for_each(Stamp::check)
    }

    /// Runs one slot, for at most `left` of the session.
    ///
    /// # Errors
    /// When the process could not be run at all: no memory, no process numbers. A program that cannot be loaded is a failed sample of its arm.
    pub fn run(&self, slot: &Slot, seq: u32, left: Duration) -> Result<Run> {
        let ready = self.commands.get(&(slot.cell.clone(), slot.arm));
        let ready = ready.ok_or_else(|| anyhow!("arm {}: the plan has a fixture {:?} without a command", slot.arm, slot.cell.fixture))?;
        let (command, filled) = (&ready.command, ready.fill()?);
        let launch = Launch {
            program: &command.program,
            args: &filled.args,
            env: &filled.env,
            cwd: &command.cwd,
            timeout: self.timeout.min(left),
            keep_bytes: KEEP_BYTES,
        };
        let (ended, server) = match self.start(&launch, &filled) {
            Ok(Started::Ended(ended, server)) => (ended, server),
            Ok(Started::NotReady(why, server)) if self.interrupts.pending().is_none() => {
                let mut sample = self.not_started(slot, seq, why);
                sample.detail.insert("server_tail".to_owned(), tail(&server.stderr.kept).into());
                return Ok(Run::Sample(Box::new(sample)));
            }
            Ok(Started::NotReady(..)) => return Ok(Run::Interrupted),
            Err(error @ process::RunError::Program(..)) => {
                return Ok(Run::Sample(Box::new(self.not_started(slot, seq, error.to_string()))));
            }
            Err(error) => bail!("arm {}: {error}", slot.arm),
        };
        match ended.exit {
            Exit::Interrupted(_) => return Ok(Run::Interrupted),
            Exit::TimedOut if left < self.timeout => return Ok(Run::SessionOver),
            _ => {}
        }
        let mut sample = self.sample(slot, seq, &ended, &command.series, filled.output.as_deref());
        if let Some(server) = server {
            let left_over = ended.left_over + server.left_over;
            if left_over > 0 {
                sample.detail.insert("left_over".to_owned(), left_over.into());
            }
            if sample.failed.is_some() {
                sample.detail.insert("server_tail".to_owned(), tail(&server.stderr.kept).into());
            }
        }
        filled.out.map_or(Ok(()), Claim::remove)?;
        Ok(Run::Sample(Box::new(sample)))
    }

    /// Runs the process by itself, or against its server.
    fn start(&self, launch: &Launch<'_>, filled: &Filled<'_>) -> Result<Started, process::RunError> {
        let Some(server) = &filled.server else {
            return process::run(launch, Some(self.interrupts)).map(|ended| Started::Ended(Box::new(ended), None));
        };
        let started = Launch {
            program: &server.program,
            args: &server.args,
            timeout: server.timeout.min(launch.timeout),
            ..*launch
        };
        let Served {
            client,
            stdout,
            stderr,
            left_over,
        } = process::run_served(&started, &|| endpoint::answers(&server.ready), launch, Some(self.interrupts))?;
        let server = Box::new(ServerEnded {
            stderr: if stderr.kept.is_empty() { stdout } else { stderr },
            left_over,
        });
        Ok(match client {
            Ok(ended) => Started::Ended(Box::new(ended), Some(server)),
            Err(why) => Started::NotReady(why, server),
        })
    }

    fn sample(&self, slot: &Slot, seq: u32, ended: &Ended, series: &[Series], output: Option<&Path>) -> Sample {
        let started = Timestamp::try_from(ended.started).unwrap_or_default();
        let mut sample = self.blank(slot, seq, format!("{started:.6}"));
        sample.pid = ended.pid;
        sample.failed = failed(ended.exit, self.timeout);
        if let Exit::Code(code) = ended.exit {
            sample.exit = Some(code);
        }
        let printed: Vec<Series> = series
            .iter()
            .filter(|series| !PROCESS_METRICS.contains(&series.metric.name.as_str()))
            .cloned()
            .collect();
        let mut reading = if sample.failed.is_some() {
            nothing_of(&printed, || Figure::failed("the process failed"))
        } else {
            self.figures(&printed, ended, output)
        };
        let peak = if ended.has_own_peak {
            Figure::Value(ended.peak_rss_bytes as f64)
        } else {
            // A started program inherits the peak of the one that starts it, so that less than that cannot be told.
            Figure::not_measured(format!("at most {} bytes, the peak of gate itself", ended.peak_rss_bytes))
        };
        let figures = [
            ("wall_s", Figure::Value(ended.wall_s)),
            ("cpu_s", Figure::Value(ended.cpu_s)),
            ("peak_rss_bytes", peak),
        ];
        for (name, figure) in figures {
            reading.set(name, figure);
        }
        for (bytes, blake3, output) in [
            ("stdout_bytes", "stdout_blake3", &ended.stdout),
            ("stderr_bytes", "stderr_blake3", &ended.stderr),
        ] {
            sample.detail.insert(bytes.to_owned(), output.total_bytes.into());
            if let Some(digest) = &output.blake3 {
                sample.detail.insert(blake3.to_owned(), format!("b3:{digest}").into());
            }
        }
        (sample.values, sample.missing) = (reading.values, reading.missing);
        sample.standard_errors = reading.standard_errors;
        if ended.left_over > 0 {
            sample.detail.insert("left_over".to_owned(), ended.left_over.into());
        }
        if sample.failed.is_some() {
            sample.detail.insert("stderr_tail".to_owned(), tail(&ended.stderr.kept).into());
        }
        sample
    }

    /// What the output says of each series, under the metric's name. Output that nobody asked to read is not parsed: the gap between two
    /// processes stays short.
    fn figures(&self, printed: &[Series], ended: &Ended, output: Option<&Path>) -> Reading {
        if printed.is_empty() {
            return Reading::default();
        }
        let from_file = output.map(|path| read_output(path, KEEP_BYTES as u64));
        let bytes = match &from_file {
            None => &ended.stdout.kept,
            Some(Ok(bytes)) => bytes,
            Some(Err(why)) => return nothing_of(printed, || Figure::not_measured(why.clone())),
        };
        (self.read)(bytes, printed)
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
            standard_errors: BTreeMap::new(),
            missing: BTreeMap::new(),
            detail,
            void: None,
            warmup: slot.warmup,
            profiled: self.profiler.is_some(),
            telemetry: None,
        }
    }
}

/// What came of a start.
enum Started {
    Ended(Box<Ended>, Option<Box<ServerEnded>>),
    NotReady(String, Box<ServerEnded>),
}

/// What is kept of a server: its standard error, or its standard output where it wrote none.
struct ServerEnded {
    stderr: process::Output,
    left_over: u32,
}

/// The same figure for every series.
fn nothing_of(series: &[Series], figure: impl Fn() -> Figure) -> Reading {
    let mut reading = Reading::default();
    for series in series {
        reading.set(&series.metric.name, figure());
    }
    reading
}

/// The end of an output, on one line.
fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let characters = text.chars().count();
    let tail: String = text.chars().skip(characters.saturating_sub(TAIL_CHARACTERS)).collect();
    text::plain_line(tail.trim(), TAIL_CHARACTERS)
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
