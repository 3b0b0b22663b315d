//! The GPU helpers: programs of their own that know a GPU runtime, found beside `gate` or on the `PATH`, and run within a limit.
//!
//! `gate` links no such runtime. A driver that aborts or hangs ends a helper, and gives a reason instead of an answer.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::environment;
use super::process::{self, Ended, Environment, Exit, Interrupts, Launch, RunError};
use crate::model::gpu_helper::{Document, State};
use crate::model::text::plain_line;

/// How much of a helper's output is kept; a document is far smaller.
const KEEP_BYTES: usize = 1 << 20;
/// Longest text of a helper or of the loader that is told.
const TOLD_MAX: usize = 300;
/// What the loader exits with where it finds no library.
const NOT_LOADED: i32 = 127;

/// One question to a helper.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The helper's name, `gate-ocl`.
    pub helper: &'a str,
    /// Subcommand and options, `["warmup", "--seconds", "10"]`.
    pub words: &'a [&'a str],
    /// How long it may take in all; longer than it is asked to work for, because a runtime needs its time to start.
    pub limit: Duration,
    /// Variables beside the inherited ones, such as those of [`super::device::variables`].
    pub variables: &'a [(String, String)],
}

/// Why a helper gave no answer: each way is told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// It stands neither beside `gate` nor in a folder of the `PATH`.
    Absent,
    /// It could not be started.
    NotStarted(String),
    /// A library that it needs is missing.
    LibraryMissing(String),
    /// Its runtime has no platform.
    NoPlatform(String),
    /// Its runtime has no device.
    NoDevice(String),
    /// Its device computes wrongly.
    Wrong(String),
    /// A call of its runtime failed.
    Failed(String),
    /// A call of its runtime did not come back.
    Hung(String),
    /// It was still running when its time was over.
    TimedOut(Duration),
    /// A signal ended it: abort, a fault of the memory.
    Signal(i32),
    /// `gate` itself was told to stop, by this signal.
    Interrupted(i32),
    /// It ended with this exit code and without an answer: the last it said.
    Exited(i32, String),
    /// It answered with something else than its document.
    Malformed(String),
}

impl Silence {
    /// The word of the reason.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::NotStarted(_) => "not started",
            Self::LibraryMissing(_) => "library missing",
            Self::NoPlatform(_) => "no platform",
            Self::NoDevice(_) => "no device",
            Self::Wrong(_) => "computes wrongly",
            Self::Failed(_) => "failed",
            Self::Hung(_) => "hung",
            Self::TimedOut(_) => "timed out",
            Self::Signal(_) => "ended by a signal",
            Self::Interrupted(_) => "interrupted",
            Self::Exited(..) => "no answer",
            Self::Malformed(_) => "not understood",
        }
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", self.word())?;
        match self {
            Self::Absent => write!(out, "neither beside gate nor in a folder of PATH"),
            Self::NotStarted(why)
            | Self::NoPlatform(why)
            | Self::NoDevice(why)
            | Self::Wrong(why)
            | Self::Failed(why)
            | Self::Hung(why)
            | Self::Malformed(why) => write!(out, "{why}"),
            Self::LibraryMissing(name) => write!(out, "{name} is not installed, or of another version than the helper was built with"),
            Self::TimedOut(limit) => write!(out, "it was still running after {} s and was stopped", limit.as_secs_f64()),
            Self::Signal(number) => write!(out, "number {number}; the runtime or driver brought it down"),
            Self::Interrupted(number) => write!(out, "gate got signal {number}"),
            Self::Exited(code, said) if said.is_empty() => write!(out, "it ended with exit code {code} and said nothing"),
            Self::Exited(code, said) => write!(out, "it ended with exit code {code}: {said}"),
        }
    }
}

impl std::error::Error for Silence {}

/// Asks a helper and gives what it found. Its process and whatever it started are gone when this returns.
///
/// # Errors
/// Why there is no answer.
pub fn ask(question: &Question<'_>, interrupts: Option<&Interrupts>) -> Result<Map<String, Value>, Silence> {
    let mut env = environment::of_children(&[]).kept;
    env.retain(|(name, _)| !question.variables.iter().any(|(given, _)| name == given.as_str()));
    env.extend(question.variables.iter().map(|(name, value)| (name.into(), value.into())));
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let program = find(question.helper, own_folder().as_deref(), path)?;
    let args: Vec<OsString> = question.words.iter().map(OsString::from).collect();
    let launch = Launch {
        program: &program,
        args: &args,
        env: &Environment::of(&env),
        cwd: Path::new("/"),
        timeout: question.limit,
        keep_bytes: KEEP_BYTES,
    };
    process::become_subreaper().map_err(|error| Silence::NotStarted(error.to_string()))?;
    let ended = process::run(&launch, interrupts).map_err(|error| match error {
        // A call that never comes back from the kernel cannot be ended, only told.
        RunError::Unkillable(_) => Silence::Hung(error.to_string()),
        _ => Silence::NotStarted(error.to_string()),
    })?;
    answer(question, &ended)
}

/// Where the running program stands.
fn own_folder() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.to_owned())
}

/// The helper's file: beside the program first, where an installation or a build puts both, then on the `PATH`.
fn find(helper: &str, beside: Option<&Path>, path: Option<&OsStr>) -> Result<PathBuf, Silence> {
    let beside = beside.map(|folder| folder.join(helper)).filter(|file| file.is_file());
    let named = beside.as_deref().and_then(Path::to_str).unwrap_or(helper);
    process::resolve(named, path, Path::new("/")).map_err(|why| {
        // A file that cannot be run is told; that there is none is the common case, and has its own word.
        if why.contains("no such") {
            Silence::Absent
        } else {
            Silence::NotStarted(why)
        }
    })
}

/// What an ended helper said.
fn answer(question: &Question<'_>, ended: &Ended) -> Result<Map<String, Value>, Silence> {
    let said = String::from_utf8_lossy(&ended.stderr.kept);
    match ended.exit {
        Exit::TimedOut => return Err(Silence::TimedOut(question.limit)),
        Exit::Interrupted(number) => return Err(Silence::Interrupted(number)),
        Exit::Signal(number) => return Err(Silence::Signal(number)),
        Exit::Code(NOT_LOADED) => {
            if let Some(name) = missing_library(&said) {
                return Err(Silence::LibraryMissing(name));
            }
        }
        Exit::Code(_) => {}
    }
    let text = String::from_utf8_lossy(&ended.stdout.kept);
    // A runtime may chatter on standard output before the document, which is one line, the last.
    let Some(line) = text.lines().rfind(|line| !line.trim().is_empty()) else {
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let code = if let Exit::Code(code) = ended.exit { code } else { 0 };
        return Err(Silence::Exited(code, plain_line(last, TOLD_MAX)));
    };
    let document = Document::parse(line).map_err(|why| Silence::Malformed(plain_line(&why, TOLD_MAX)))?;
    let command = question.words.first().copied().unwrap_or_default();
    if document.helper != question.helper || document.command != command {
        let (helper, command) = (document.helper, document.command);
        return Err(Silence::Malformed(plain_line(
            &format!("it answers as {helper} to {command:?}"),
            TOLD_MAX,
        )));
    }
    let why = plain_line(&document.why, TOLD_MAX);
    match document.state {
        State::Ok => Ok(document.found),
        State::NoPlatform => Err(Silence::NoPlatform(why)),
        State::NoDevice => Err(Silence::NoDevice(why)),
        State::Wrong => Err(Silence::Wrong(why)),
        State::Failed => Err(Silence::Failed(why)),
        State::Hung => Err(Silence::Hung(why)),
    }
}

/// The library that the dynamic loader did not find, from its message.
fn missing_library(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("error while loading shared libraries: ")?;
    let name = rest.split([':', '\n']).next()?;
    Some(plain_line(name, TOLD_MAX))
}
