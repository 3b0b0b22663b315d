mod announce;
mod arms;
pub mod calibration;
mod commands;
pub mod context;
mod declare;
mod gates;
mod identity;
mod inputs;
mod making;
pub mod pair;
mod reused;
mod session;
mod warmup;
mod watching;
pub mod workspace;

pub use declare::shell_line;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};

use session::Device;

use super::record::{self, Places};
use super::{of_signal, parse, say, step};
use crate::edge::session::{Header, Session};
use crate::edge::{device, files, ledger};
use crate::model::metric::{Metric, Tolerance};
use crate::model::plan::{OnInconclusive, Order};
use crate::model::record::Record;

/// Measure two arms in fresh ABBA processes and judge the candidate against the base
///
/// Without --a and --b every gate in gates/*.toml that measures is run: the base arm is built from the chosen commit, the candidate from the
/// working tree. Several gates give several records.
#[derive(Debug, Args)]
pub struct Perf {
    /// The base's command line, split as a shell splits words, without a shell
    #[arg(long, value_name = "CMD", requires = "b")]
    a: Option<String>,
    /// The candidate's command line; the same as A's is an A/A comparison
    #[arg(long, value_name = "CMD", requires = "a")]
    b: Option<String>,
    /// A declared gate to run; may be given several times [default: every gate in gates/*.toml]
    #[arg(long = "gate", value_name = "FILE", conflicts_with = "a")]
    gates: Vec<PathBuf>,
    /// The committed baseline to judge against [default: baselines/ARCH.txt where a gate asks for one]
    #[arg(long, value_name = "FILE", conflicts_with = "a")]
    baseline: Option<PathBuf>,
    /// The commit of the base arm [default: by the event, the working tree, or the history]
    #[arg(long, value_name = "REV", conflicts_with = "a")]
    base: Option<String>,
    /// Measure the candidate alone, against floors and baseline
    #[arg(long, conflicts_with_all = ["a", "base"])]
    no_base: bool,
    /// Where gates, baselines and prompts are read from [default: the base branch's tip on a pull request, else the working tree]
    #[arg(long, value_name = "REV", conflicts_with = "a")]
    rules_from: Option<String>,
    /// The GPUs to measure on, by the driver's index or PCI address
    #[arg(long, value_name = "INDEX|BDF,...", conflicts_with = "a")]
    device: Option<String>,
    /// Where builds are kept [default: .gate/cache]
    #[arg(long, value_name = "DIR", conflicts_with = "a")]
    cache_dir: Option<PathBuf>,
    /// Sessions of the baseline older than this are called old
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse::days, conflicts_with = "a")]
    stale_after: u32,
    /// A figure to judge: name, better direction, unit; from standard output, or wall_s, cpu_s, peak_rss_bytes [default: wall_s:lower:s]
    #[arg(long = "metric", value_name = "NAME:higher|lower:UNIT", value_parser = Metric::parse_flag, requires = "a")]
    metrics: Vec<Metric>,
    /// How figures are read from standard output
    #[arg(long, value_name = "ADAPTER", default_value = "key-value", requires = "a")]
    extract: String,
    /// The slowdown to catch: relative (2%) or absolute with its unit (0.5ms)
    #[arg(long, value_name = "SIZE", default_value = "2%", value_parser = Tolerance::parse, allow_hyphen_values = true, requires = "a")]
    tolerance: Tolerance,
    /// Cap of the session in blocks of four processes, 2 to 28
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u32).range(2..=28), allow_hyphen_values = true, requires = "a")]
    max_blocks: u32,
    /// Exactly N blocks and one look after the last: for a number to cite
    #[arg(long, value_name = "N", conflicts_with = "max_blocks", value_parser = clap::value_parser!(u32).range(2..=1000), allow_hyphen_values = true, requires = "a")]
    fixed_blocks: Option<u32>,
    /// How blocks are oriented
    #[arg(long, value_enum, default_value_t = OrderName::ThueMorse, requires = "a")]
    order: OrderName,
    /// False alarms where nothing got slower, over all metrics
    #[arg(long, value_name = "RATE", default_value = "0.01", value_parser = parse::error_rate, allow_hyphen_values = true, requires = "a")]
    alpha: f64,
    /// Missed slowdowns of the tolerance
    #[arg(long, value_name = "RATE", default_value = "0.05", value_parser = parse::error_rate, allow_hyphen_values = true, requires = "a")]
    beta: f64,
    /// Discarded processes per arm at the start
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100), allow_hyphen_values = true, requires = "a")]
    warmup_runs: u32,
    /// Time limit of one process
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse::duration, allow_hyphen_values = true, requires = "a")]
    timeout: Duration,
    /// Length limit of the session; the warm-up's duration decides how many blocks fit
    #[arg(long, value_name = "TIME", default_value = "45m", value_parser = parse::duration, allow_hyphen_values = true, requires = "a")]
    max_session: Duration,
    /// What an inconclusive answer does: exit 3, or exit 0 with the outcome still inconclusive
    #[arg(long, value_enum, default_value_t = OnInconclusiveName::Fail, requires = "a")]
    on_inconclusive: OnInconclusiveName,
    /// Set a variable for both arms
    #[arg(long = "env", value_name = "K=V", value_parser = parse::variable, requires = "a")]
    env: Vec<(String, String)>,
    /// Hand on a variable that is withheld otherwise: tokens, keys, CI variables
    #[arg(long = "pass-env", value_name = "NAME", value_parser = parse::variable_name, requires = "a")]
    pass_env: Vec<String>,
    /// The folder in which both commands run
    #[arg(long, value_name = "DIR", requires = "a")]
    cwd: Option<PathBuf>,
    /// How often GPUs are read while a process runs, from 10ms to 10s; off where they do not matter
    #[arg(long, value_name = "TIME|off", default_value = "100ms", value_parser = parse::every, requires = "a")]
    telemetry: parse::Every,
    /// A folder with the files of a machine, instead of this one: for proofs about the gate itself; the record says so.
    #[arg(long, value_name = "DIR", hide = true)]
    host: Option<PathBuf>,
    /// How long to wait for the device's lock
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse::duration_or_zero, allow_hyphen_values = true)]
    lock_timeout: Duration,
    /// How the record is shown on standard output
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = record::format_name)]
    format: String,
    /// Write the record to a file as well, as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The ledger to append the record to [default: .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Tell the job around it: summary, outputs, annotations [default: where GITHUB_ACTIONS is true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    github: Option<bool>,
    /// Go on with a session that was killed
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// The revisions of both arms, where another command chose them.
    #[arg(skip)]
    revisions: Option<(String, String)>,
    /// Set where equal arms are measured for their noise.
    #[arg(skip)]
    calibration: Option<calibration::Calibration>,
    /// What the other command marks the records with.
    #[arg(skip)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OrderName {
    ThueMorse,
    Abba,
}

impl From<OrderName> for Order {
    fn from(name: OrderName) -> Self {
        match name {
            OrderName::ThueMorse => Self::ThueMorse,
            OrderName::Abba => Self::Abba,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnInconclusiveName {
    Fail,
    Advisory,
}

impl From<OnInconclusiveName> for OnInconclusive {
    fn from(name: OnInconclusiveName) -> Self {
        match name {
            OnInconclusiveName::Fail => Self::Fail,
            OnInconclusiveName::Advisory => Self::Advisory,
        }
    }
}

impl Perf {
    /// Measures, judges, seals, shows.
    ///
    /// # Errors
    /// Whatever keeps it from measuring; nothing is measured then.
    pub fn run(&self) -> Result<u8> {
        step::told(self.measured_and_shown(), self.github)
    }

    fn measured_and_shown(&self) -> Result<u8> {
        let declared = self.declared(&self.folder()?)?;
        let places = self.places()?;
        let gates::Finished { records, errors, signal } = self.records(&places, declared)?;
        record::write(&records, self.out.as_deref())?;
        let shown = record::shown(&records, &self.format)?;
        let code = record::exit_code(&records, &errors);
        let exit_code = signal.map_or(code, of_signal);
        let told = step::Told {
            records: &records,
            errors: &errors,
            shown: &shown,
            format: &self.format,
            out: self.out.as_deref(),
            exit_code,
        };
        step::show(&told, self.github)?;
        for error in &errors {
            say(&format!("gate: error: {error:#}"));
        }
        // Not told where the session ends: one in a folder of its own, as a self-test has, cannot go on.
        let cancelled = records.last().filter(|record| record.cancelled.is_some());
        if let Some(id) = cancelled.and_then(|record| record.labels.get("session")) {
            say(&format!("cancelled; `gate perf --resume {id}` goes on with it"));
        }
        Ok(exit_code)
    }

    /// The records of two commands, of a resumed session, or of the declared gates.
    fn records(&self, places: &Places, declared: Option<declare::Declared>) -> Result<gates::Finished> {
        let of_commands = declared.is_some()
            || self
                .resume
                .as_deref()
                .is_some_and(|id| session::is_of_commands(&places.sessions, id));
        if !of_commands {
            return gates::run(self, places);
        }
        let (record, signal) = self.measured(places, declared)?;
        Ok(gates::Finished {
            records: vec![record],
            signal,
            ..gates::Finished::default()
        })
    }

    /// Measures, judges and seals, or takes the record of a session that is finished.
    fn measured(&self, places: &Places, declared: Option<declare::Declared>) -> Result<Finished> {
        let Some(id) = &self.resume else {
            return self.fresh(places, declared.ok_or_else(|| anyhow!("--a and --b are missing"))?);
        };
        let session = self.resumed(places, id, declared)?;
        if let Some(record) = session.record.clone() {
            return Ok((record, None));
        }
        let anew = || format!("--resume {id}: leave it out to measure anew");
        let declared = declare::Declared::of(&session.header).with_context(anew)?;
        let arms = arms::Arms::find(&declared, &places.digests).with_context(anew)?;
        arms.check_same(&session.header).with_context(anew)?;
        let ledger = match self.ledger {
            Some(_) => places.ledger.clone(),
            None => session.header.ledger.clone(),
        };
        ledger::check(&ledger)?;
        let interrupts = session::listen()?;
        let command = session.header.context.command.clone();
        let device = Device::lock(&interrupts, &device::locks(&[]), self.lock_timeout, &command)?;
        let watched = watching::Watched::of_commands(self, session.header.plan.telemetry.as_ref())?;
        if let Some(why) = watched.unfit {
            bail!("{why}");
        }
        device.run(session, arms, watched.watcher, &ledger)
    }

    /// Measures in a folder of its own instead of the project's, and shows nothing: for proofs about the gate itself.
    ///
    /// # Errors
    /// As [`Perf::run`].
    pub fn run_in(&self, folder: &Path) -> Result<Finished> {
        let declared = self.declared(folder)?;
        let places = Places::below(files::state_folder(folder)?);
        self.measured(&places, declared)
    }

    /// From which age on a session of the baseline is called old, in days.
    const fn stale_after_days(&self) -> u32 {
        self.stale_after
    }

    /// Where the machine's files are.
    fn root(&self) -> &Path {
        self.host.as_deref().unwrap_or(Path::new("/"))
    }

    fn folder(&self) -> Result<PathBuf> {
        let cwd = match &self.cwd {
            Some(folder) => folder
                .canonicalize()
                .with_context(|| format!("--cwd: cannot enter {}", folder.display()))?,
            None => files::working_folder()?,
        };
        if !cwd.is_absolute() || !files::is_folder(&cwd) {
            bail!("--cwd: {} is not a folder", cwd.display());
        }
        Ok(cwd)
    }

    /// Where this run keeps what it leaves behind.
    fn places(&self) -> Result<Places> {
        if !files::is_folder(self.root()) {
            bail!("--host: {} is not a folder", self.root().display());
        }
        Places::checked(self.ledger.as_deref(), self.out.as_deref())
    }

    /// What the options declare; nothing where only a session to resume is named.
    fn declared(&self, cwd: &Path) -> Result<Option<declare::Declared>> {
        match (&self.a, &self.b) {
            (Some(a), Some(b)) => declare::declared(self, a, b, cwd).map(Some),
            // clap asks for both or neither.
            _ => Ok(None),
        }
    }

    /// Measures from the start. The session file is made once the device is ours: a run that only waited leaves none behind.
    fn fresh(&self, places: &Places, declared: declare::Declared) -> Result<Finished> {
        let arms = arms::Arms::find(&declared, &places.digests)?;
        let interrupts = session::listen()?;
        let device = Device::lock(&interrupts, &device::locks(&[]), self.lock_timeout, &declared.context.command)?;
        let watched = watching::Watched::of_commands(self, declared.plan.telemetry.as_ref())?;
        if let Some(why) = watched.unfit {
            let identity = identity::identity(&declared, &arms, self.root());
            return watching::unfit(self, declared, (identity, watched.host), &why, &places.ledger);
        }
        let mut header = identity::header(declared, &arms, places.ledger.clone(), self.labels(), self.root());
        header.host = watched.host;
        let same = |other: &Header| other.plan == header.plan && other.gate == header.gate && other.identity.arms == header.identity.arms;
        let unfinished = crate::edge::session::unfinished(&places.sessions, same);
        let session = Session::create(&places.sessions, header)?;
        if let Some(id) = unfinished {
            say(&format!(
                "an unfinished session of the same plan: `gate perf --resume {id}` goes on with it; this run starts anew"
            ));
        }
        for line in announce::plan_lines(&session.header) {
            say(&line);
        }
        device.run(session, arms, watched.watcher, &places.ledger)
    }

    /// Opens a session to go on with it; what the options declare besides must be what it was started with.
    fn resumed(&self, places: &Places, id: &str, declared: Option<declare::Declared>) -> Result<Session> {
        let session = Session::open(&places.sessions, id)?;
        if let Some(declared) = declared {
            declare::same(&session.header, &declared)
                .map_err(|why| anyhow!("--resume {id}: the plan changed: {why}; leave --resume out to measure anew"))?;
        }
        Ok(session)
    }
}

/// What a finished run gives: its record, and the signal that ended it early, if one did.
type Finished = (Record, Option<i32>);
