//! `gate noise`: what A/A sessions say of a fixture, before anything is compared on it.

mod report;

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use clap::{ArgGroup, Args, Parser, ValueEnum};

use super::perf::Perf;
use super::perf::calibration::{Calibration as Session, shell_line};
use super::{answer, baseline, of_signal, parse, refused, say};
use crate::edge::{environment, files, git};
use crate::exit::{self, Exit};
use crate::judge::calibration::{Calibration, calibrate};
use crate::model::record::Record;

/// The commit that is measured where none is named.
const HEAD: &str = "HEAD";

/// Measure a fixture against itself: how noisy it is, and which tolerance it carries
///
/// Runs several sessions of equal arms with a fixed number of blocks. Their records go into the ledger, labelled noise; they are no attempts at
/// any comparison. Exit 0 where every fixture is characterised; a bias of equal arms, two states or a drift are warnings. Exit 1 where no cap on
/// blocks carries a declared tolerance, 3 where a fixture could not be characterised.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["a", "gates"]))]
pub struct Noise {
    /// The command line of both arms
    #[arg(long, value_name = "CMD")]
    a: Option<String>,
    /// A declared gate, whose base arm both arms are; may be given several times
    #[arg(long = "gate", value_name = "FILE")]
    gates: Vec<PathBuf>,
    /// The commit that both arms of a gate run
    #[arg(long, value_name = "REV", default_value = HEAD, conflicts_with = "a")]
    rev: String,
    /// How many sessions
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=20))]
    sessions: u32,
    /// Blocks of four processes in each session
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=28))]
    blocks: u32,
    /// Put the noise into the baseline as the accepted band, its records beside it as evidence
    #[arg(long)]
    accept: bool,
    /// Why a band that is noisier than the accepted one is accepted
    #[arg(long, value_name = "TEXT", value_parser = parse::reason, requires = "accept")]
    because: Option<String>,
    /// The baseline [default: baselines/ARCH.txt of the architecture that was measured]
    #[arg(long, value_name = "FILE", requires = "accept")]
    baseline: Option<PathBuf>,
    /// How the answer is shown
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// With --a: as for `gate perf`
    #[arg(long = "metric", value_name = "NAME:higher|lower:UNIT", requires = "a")]
    metrics: Vec<String>,
    /// With --a: the tolerance that is to be carried [default: 2%]
    #[arg(long, value_name = "SIZE", requires = "a")]
    tolerance: Option<String>,
    /// With --a: the cap that later sessions shall have [default: 14]
    #[arg(long, value_name = "N", requires = "a")]
    max_blocks: Option<String>,
    /// With --a: the time limit of one process [default: 10m]
    #[arg(long, value_name = "TIME", requires = "a")]
    timeout: Option<String>,
    /// With --a: set a variable
    #[arg(long = "env", value_name = "K=V", requires = "a")]
    env: Vec<String>,
    /// With --a: the folder in which the command runs
    #[arg(long, value_name = "DIR", requires = "a")]
    cwd: Option<String>,
    /// With --gate: the GPUs to measure on
    #[arg(long, value_name = "INDEX|BDF,...", requires = "gates")]
    device: Option<String>,
    /// With --gate: where builds are kept [default: .gate/cache]
    #[arg(long, value_name = "DIR", requires = "gates")]
    cache_dir: Option<String>,
    /// How long to wait for the device's lock
    #[arg(long, value_name = "TIME")]
    lock_timeout: Option<String>,
    /// The ledger to append the records to [default: GATE_LEDGER, else .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Terminal,
    Json,
    Markdown,
}

/// The options of `gate perf`, as a command line of their own.
#[derive(Debug, Parser)]
#[command(name = "gate noise")]
struct Measuring {
    #[command(flatten)]
    perf: Perf,
}

/// What the sessions of one gate gave.
struct Gate {
    records: Vec<Record>,
    found: Vec<Result<Calibration, String>>,
}

impl Noise {
    /// Measures and tells.
    ///
    /// # Errors
    /// Whatever keeps it from measuring, or a band from being accepted; records that were sealed stay.
    pub fn run(&self) -> Result<u8> {
        let mut perf = match Measuring::try_parse_from(self.words()) {
            Ok(measuring) => measuring.perf,
            Err(error) => return Ok(refused(&error)),
        };
        let commit = self.commit()?;
        let mut sessions: Vec<Vec<Record>> = Vec::new();
        for number in 1..=self.sessions {
            say(&format!("session {number} of {}", self.sessions));
            let session = Session {
                blocks: self.blocks,
                label: format!("{number} of {}", self.sessions),
                command: self.command(),
                commit: commit.clone(),
            };
            let finished = perf.calibrate(session)?;
            if let Some(signal) = finished.signal {
                say("cancelled: whole sessions are in the ledger, and nothing is said of their noise");
                return Ok(of_signal(signal));
            }
            if let Some(error) = finished.errors.into_iter().next() {
                return Err(error);
            }
            sessions.push(finished.records);
        }
        let gates: Vec<Gate> = by_gate(sessions);
        let accepted = self.accepted(&gates)?;
        let found: Vec<&Result<Calibration, String>> = gates.iter().flat_map(|gate| &gate.found).collect();
        let mut out = match self.format {
            Format::Terminal => report::terminal(&found),
            Format::Markdown => report::markdown(&found),
            Format::Json => report::json(&found)?,
        };
        if self.format == Format::Json {
            say(accepted.trim_end());
        } else {
            out.push_str(&accepted);
        }
        answer(&out)?;
        Ok(exit_of(&found).code)
    }

    /// Accepts the bands of every gate, where that is asked for and every fixture is characterised.
    fn accepted(&self, gates: &[Gate]) -> Result<String> {
        let whole = gates
            .iter()
            .all(|gate| !gate.found.is_empty() && gate.found.iter().all(Result::is_ok));
        match (self.accept, whole) {
            (false, _) => return Ok(String::new()),
            (true, false) => return Ok("nothing is accepted: not every fixture is characterised\n".to_owned()),
            (true, true) => {}
        }
        let mut told = String::new();
        for gate in gates {
            let found = gate.found.iter().flatten();
            let buckets: Vec<(&str, &str)> = found.map(|found| (found.fixture.as_str(), found.metric.as_str())).collect();
            let text = baseline::band::accept(&gate.records, &buckets, self.because.as_deref(), self.baseline.as_deref());
            told.push_str(&text.context("the noise is not accepted")?);
        }
        Ok(told)
    }

    /// The commit that both arms of a gate run.
    fn commit(&self) -> Result<Option<String>> {
        if self.gates.is_empty() {
            return Ok(None);
        }
        let repository = git::Repository::open(&files::working_folder()?, &environment::of_children(&[]).kept)?;
        let commit = repository.commit(&self.rev)?;
        commit.map(Some).ok_or_else(|| anyhow!("--rev {}: no such commit here", self.rev))
    }

    /// The command line of the measuring sessions.
    fn words(&self) -> Vec<String> {
        let mut words = vec!["gate noise".to_owned()];
        let mut add = |option: &str, value: &str| words.push(format!("{option}={value}"));
        if let Some(a) = &self.a {
            add("--a", a);
            add("--b", a);
        }
        self.options(&mut add);
        for (option, value) in [
            ("--cache-dir", &self.cache_dir),
            ("--lock-timeout", &self.lock_timeout),
            ("--ledger", &self.ledger),
        ] {
            if let Some(value) = value {
                add(option, value);
            }
        }
        words
    }

    /// Every option that says what is measured, and nothing about where it is kept.
    fn options(&self, add: &mut dyn FnMut(&str, &str)) {
        for gate in &self.gates {
            add("--gate", &gate.to_string_lossy());
        }
        for metric in &self.metrics {
            add("--metric", metric);
        }
        for variable in &self.env {
            add("--env", variable);
        }
        for (option, value) in [
            ("--tolerance", &self.tolerance),
            ("--max-blocks", &self.max_blocks),
            ("--timeout", &self.timeout),
            ("--cwd", &self.cwd),
            ("--device", &self.device),
        ] {
            if let Some(value) = value {
                add(option, value);
            }
        }
    }

    /// The command that repeats all of it.
    fn command(&self) -> String {
        let mut words = vec!["gate".to_owned(), "noise".to_owned()];
        let mut add = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
        if let Some(a) = &self.a {
            add("--a", a);
        }
        self.options(&mut add);
        if self.rev != HEAD {
            add("--rev", &self.rev);
        }
        add("--sessions", &self.sessions.to_string());
        add("--blocks", &self.blocks.to_string());
        shell_line(&words)
    }
}

/// The records of each gate, and what they say.
fn by_gate(sessions: Vec<Vec<Record>>) -> Vec<Gate> {
    let mut gates: Vec<Vec<Record>> = Vec::new();
    for record in sessions.into_iter().flatten() {
        let same = |records: &&mut Vec<Record>| records.first().is_some_and(|first| first.gate.name == record.gate.name);
        match gates.iter_mut().find(same) {
            Some(records) => records.push(record),
            None => gates.push(vec![record]),
        }
    }
    let whole = gates.into_iter().map(|records| Gate {
        found: calibrate(&records),
        records,
    });
    whole.collect()
}

fn exit_of(found: &[&Result<Calibration, String>]) -> Exit {
    if found.iter().any(|found| found.as_ref().is_ok_and(|found| !found.carries())) {
        exit::FAIL
    } else if found.is_empty() || found.iter().any(|found| found.is_err()) {
        exit::INCONCLUSIVE
    } else {
        exit::PASS
    }
}
