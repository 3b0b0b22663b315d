//! From evidence to a sealed record, and from records to what a user sees: the one path of every source of evidence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::canvas;
use crate::edge::{clock, files, git, job, ledger};
use crate::exit;
use crate::judge::{Case, judge};
use crate::model::evidence::Evidence;
use crate::model::gate::Gate;
use crate::model::github::PULL_LABEL;
use crate::model::host::Host;
use crate::model::identity::Identity;
use crate::model::judgement::Outcome;
use crate::model::plan::Plan;
use crate::model::record::{Context, Record, Tool, VERSION, digest_of_plan};
use crate::model::summary::Summary;
use crate::render;

/// What a judgement rests on.
pub struct Parts {
    /// Which command gathered it: `perf`, `ingest`.
    pub kind: &'static str,
    /// When the plan was written.
    pub at: String,
    /// What was declared.
    pub gate: Gate,
    /// In which order, and when to stop.
    pub plan: Plan,
    /// What was measured on what.
    pub identity: Identity,
    /// How fit the machine was.
    pub host: Host,
    /// What was measured.
    pub evidence: Evidence,
    /// What surrounds it.
    pub context: Context,
}

impl Parts {
    /// Judges, and makes the record, which is not sealed yet. The plan's digest is set where the session never came to complete it.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn judged(self, cancelled: Option<String>, mut labels: BTreeMap<String, String>) -> Result<Record> {
        let Self {
            kind,
            at,
            gate,
            mut plan,
            identity,
            host,
            evidence,
            context,
        } = self;
        let judgement = judge(&Case {
            gate: &gate,
            plan: &plan,
            identity: &identity,
            host: &host,
            evidence: &evidence,
            context: &context,
        });
        if plan.digest.is_empty() {
            plan.digest = digest_of_plan(&plan, &gate, &identity)?;
        }
        labels.insert("sealed_at".to_owned(), clock::now_seconds());
        if let Some(pull) = job::of_this_process().ok().flatten().and_then(|job| job.pull) {
            labels.insert(PULL_LABEL.to_owned(), pull.number.to_string());
        }
        Ok(Record {
            version: VERSION,
            tool: Tool::this(),
            kind: kind.to_owned(),
            at,
            gate,
            plan,
            identity,
            host,
            evidence,
            context,
            judgement,
            cancelled,
            labels,
            links: BTreeMap::new(),
            prev: None,
            seal: String::new(),
        })
    }
}

/// Where a run keeps what it leaves behind.
pub struct Places {
    /// The project's folder `.gate`.
    pub state: PathBuf,
    /// Its sessions.
    pub sessions: PathBuf,
    /// The ledger.
    pub ledger: PathBuf,
    /// Digests of files that were seen before.
    pub digests: PathBuf,
}

impl Places {
    /// Makes and checks every place that will be written, before any process runs. They are where gate runs, wherever the commands do.
    ///
    /// # Errors
    /// When one cannot be written, or `--out` is the ledger.
    pub fn checked(ledger: Option<&Path>, out: Option<&Path>) -> Result<Self> {
        let folder = files::working_folder()?;
        let state = files::state_folder(&git::top(&folder).unwrap_or_else(|| folder.clone()))?;
        let ledger = folder.join(ledger::path(ledger, &state));
        ledger::check(&ledger)?;
        if let Some(out) = out {
            files::check_writable(out).context("--out")?;
            if files::same_place(out, &ledger) {
                bail!(
                    "--out: {} is the ledger, which would be overwritten: name another file",
                    out.display()
                );
            }
        }
        Ok(Self {
            ledger,
            ..Self::below(state)
        })
    }

    /// The places below a state folder, with its own ledger.
    pub fn below(state: PathBuf) -> Self {
        Self {
            sessions: state.join("sessions"),
            ledger: state.join("ledger.jsonl"),
            digests: state.join("digests.json"),
            state,
        }
    }
}

/// Writes records to `out`, a line each, where one is named.
///
/// # Errors
/// When they cannot be written.
pub fn write(records: &[Record], out: Option<&Path>) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let lines = records.iter().map(|record| record.line().map(|line| line + "\n"));
    let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
    files::write(out, lines.concat().as_bytes()).context("--out")
}

/// Records in a format.
///
/// # Errors
/// When there is no such format, or one cannot be shown.
pub fn shown(records: &[Record], format: &str) -> Result<String> {
    let rendered = render::find(format).map_err(|why| anyhow!(why))?;
    let shown = records.iter().map(|record| (rendered.render)(record, canvas()));
    let shown: Vec<String> = shown.collect::<Result<_, _>>()?;
    Ok(shown.join(if format == "json" { "" } else { "\n" }))
}

/// The outcome of records, of which `errors` kept some from being made.
pub fn outcome(records: &[Record], errors: &[anyhow::Error]) -> Outcome {
    let outcome = Summary::of(records).outcome;
    if errors.is_empty() { outcome } else { outcome.max(Outcome::Error) }
}

/// The exit code of records, of which `errors` kept some from being made.
pub fn exit_code(records: &[Record], errors: &[anyhow::Error]) -> u8 {
    if errors.is_empty() {
        exit::of_summary(Summary::of(records)).code
    } else {
        exit::of(outcome(records, errors)).code
    }
}

/// Whether a word names a format of records.
///
/// # Errors
/// The formats that there are.
pub fn format_name(name: &str) -> Result<String, String> {
    render::find(name).map(|format| format.name.to_owned())
}
