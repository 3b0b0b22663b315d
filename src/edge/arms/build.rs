//! The steps that make an arm runnable, run one after the other in its tree.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::edge::environment::{Scrubbed, Variables};
use crate::edge::process::{self, Ended, Environment, Exit, Interrupts, Launch};
use crate::model::text::{plain, plain_line};

/// How much of each output stream of a step is kept, in bytes.
const KEEP_BYTES: usize = 16 << 20;
/// How many of the last lines are told.
const TAIL_LINES: usize = 30;
/// How long a told line may be, in characters.
const LINE_MAX: usize = 500;
/// Variables of a terminal or a login: they differ from one to the next, and no build may depend on them.
const OF_A_LOGIN: [&str; 14] = [
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "XDG_SESSION_ID",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// The variable that ends git's search for a repository above a tree.
pub const CEILING: &str = "GIT_CEILING_DIRECTORIES";

/// What is run to build an arm.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    /// The arm's tree: every step starts there.
    pub tree: &'a Path,
    /// Argument vectors, placeholders replaced.
    pub steps: &'a [Vec<String>],
    /// The whole environment; see [`environment`].
    pub env: &'a [(OsString, OsString)],
    /// Limit of all steps together.
    pub timeout: Duration,
    /// Where the output is kept.
    pub log: &'a Path,
}

/// A build that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFailed {
    /// The step, as it could be typed.
    pub step: String,
    /// How it ended.
    pub exit: String,
    /// Its last lines, free of control characters.
    pub tail: Vec<String>,
    /// Where all of its output is.
    pub log: PathBuf,
}

impl fmt::Display for BuildFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "build step `{}` {}; all of its output is in {}",
            self.step,
            self.exit,
            self.log.display()
        )?;
        self.tail.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for BuildFailed {}

/// What a build sees: what measured processes see, without what belongs to a terminal or login, with what the gate declares (`declared`,
/// placeholders replaced), and with no way from the tree up into the user's own repository.
pub fn environment(scrubbed: &Scrubbed, declared: &[(String, String)], trees: &Path) -> Variables {
    let mut kept = scrubbed.kept.clone();
    kept.retain(|(name, _)| !OF_A_LOGIN.iter().any(|of_a_login| name == of_a_login));
    let ceiling = (CEILING.into(), trees.as_os_str().to_owned());
    let declared = declared.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    for (name, value) in std::iter::once(ceiling).chain(declared) {
        kept.retain(|(other, _)| *other != name);
        kept.push((name, value));
    }
    kept
}

/// Runs every step; gives how long they took, in seconds. Nothing of a step runs on after its end, where this process has become the one
/// that inherits orphans (see [`process::become_subreaper`]).
///
/// # Errors
/// A [`BuildFailed`] where a step cannot be started, fails, passes the limit or is interrupted; else why the log cannot be written.
pub fn build(build: &Build<'_>, interrupts: Option<&Interrupts>) -> Result<f64> {
    let started = Instant::now();
    let failed = || format!("cannot write the build log {}", build.log.display());
    let mut log = File::create(build.log).with_context(failed)?;
    for words in build.steps {
        let step = shell_words::join(words);
        writeln!(log, "$ {step}").with_context(failed)?;
        let fault = |exit: String, tail| BuildFailed {
            step: plain_line(&step, LINE_MAX),
            exit,
            tail,
            log: build.log.to_owned(),
        };
        let left = build.timeout.saturating_sub(started.elapsed());
        let ended = run(build, words, left, interrupts).map_err(|why| fault(format!("cannot be started: {why}"), Vec::new()))?;
        for stream in [&ended.stdout, &ended.stderr] {
            log.write_all(&stream.kept).with_context(failed)?;
            let cut_bytes = stream.total_bytes - stream.kept.len() as u64;
            if cut_bytes > 0 {
                writeln!(log, "\n[{cut_bytes} more bytes were not kept]").with_context(failed)?;
            }
        }
        let exit = match ended.exit {
            Exit::Code(0) => continue,
            Exit::Code(code) => format!("failed with exit code {code}"),
            Exit::Signal(signal) => format!("was ended by signal {signal}"),
            Exit::TimedOut => format!(
                "was stopped: all steps together may take {} s; build_timeout allows more",
                build.timeout.as_secs()
            ),
            Exit::Interrupted(signal) => format!("was interrupted by signal {signal}"),
        };
        return Err(fault(exit, tail(&ended)).into());
    }
    Ok(started.elapsed().as_secs_f64())
}

fn run(build: &Build<'_>, words: &[String], timeout: Duration, interrupts: Option<&Interrupts>) -> Result<Ended, String> {
    let (program, args) = words.split_first().ok_or("the step is empty: it must name a program")?;
    let path = build
        .env
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let program = process::resolve(program, path, build.tree)?;
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let launch = Launch {
        program: &program,
        args: &args,
        env: &Environment::of(build.env),
        cwd: build.tree,
        timeout,
        keep_bytes: KEEP_BYTES,
    };
    process::run(&launch, interrupts).map_err(|error| error.to_string())
}

/// The last lines of both streams: of each at least half of them, as far as it has so many.
fn tail(ended: &Ended) -> Vec<String> {
    let lines = |bytes: &[u8]| -> Vec<String> {
        let text = plain(bytes);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| plain_line(line, LINE_MAX)).collect()
    };
    let (mut out, mut err) = (lines(&ended.stdout.kept), lines(&ended.stderr.kept));
    let half = TAIL_LINES / 2;
    let of_err = err.len().min(TAIL_LINES - out.len().min(half));
    let of_out = out.len().min(TAIL_LINES - of_err);
    let mut tail = out.split_off(out.len() - of_out);
    tail.extend(err.split_off(err.len() - of_err));
    tail
}
