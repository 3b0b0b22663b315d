//! `gate gates`: the declared gates of a repository.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};

use super::{answer, say};
use crate::edge::{files, git};
use crate::model::gate::declaration::{Declaration, Source};
use crate::model::gate::{Against, Fault, Known, Rule, parse, waiver};
use crate::model::gpu_helper;
use crate::model::text::plain_line;
use crate::{adapter, check, exit, judge};

/// Longest gate file, in bytes.
pub const GATE_MAX_BYTES: u64 = 1 << 20;
/// Longest printed line, in characters.
const LINE_MAX: usize = 2_000;

/// List the declared gates, or check that their files are sound
#[derive(Debug, Args)]
pub struct Gates {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print name, purpose, source, metrics and rules of every gate in gates/*.toml
    List,
    /// Print every fault as FILE:LINE:COLUMN; exit 2 if there is one, 3 if there is no gate
    Check {
        /// Gate files; without one, gates/*.toml of the repository
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

impl Gates {
    /// Does it.
    ///
    /// # Errors
    /// When a folder cannot be read, or standard output cannot be written.
    pub fn run(&self) -> Result<u8> {
        match &self.action {
            Action::List => list(),
            Action::Check { files } => check(files),
        }
    }
}

/// Reads a gate file with the rule kinds, adapters and checks of this version. `file` is what messages and rules call it.
///
/// # Errors
/// Every fault, in order of position.
pub fn read(text: &str, file: &str) -> Result<Declaration, Vec<Fault>> {
    let rules: Vec<&str> = judge::rule::ALL.iter().map(|kind| kind.name).collect();
    let adapters: Vec<&str> = adapter::ALL.iter().map(|adapter| adapter.name).collect();
    let checks: Vec<&str> = check::ALL.iter().map(|check| check.id).collect();
    let flags: Vec<&str> = judge::flag::ALL
        .iter()
        .filter(|flag| flag.can_void())
        .map(|flag| flag.name)
        .collect();
    let limits: Vec<&str> = judge::flag::limits().map(|limit| limit.name).collect();
    let known = Known {
        rules: &rules,
        adapters: &adapters,
        checks: Some(&checks),
        helpers: &gpu_helper::ALL,
        flags: &flags,
        limits: &limits,
    };
    parse(text, file, &known)
}

/// The gate files, or the waivers, of the repository around the working folder, or of the folder itself outside of one: their paths, and the
/// names by which messages call them.
fn declared(in_folder: &str) -> Result<Vec<(PathBuf, String)>> {
    let folder = files::working_folder()?;
    let top = git::top(&folder).unwrap_or(folder);
    let paths = files::listing(&top.join(in_folder), ".toml")?;
    let named = paths.into_iter().map(|path| {
        let name = path.strip_prefix(&top).unwrap_or(&path).display().to_string();
        (path, name)
    });
    Ok(named.collect())
}

/// A declaration, or the lines that tell why there is none.
pub fn load(path: &Path, name: &str) -> Result<Declaration, Vec<String>> {
    let text = files::read_declared(path, GATE_MAX_BYTES).map_err(|error| vec![format!("{error:#}")])?;
    read(&text, name).map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

/// The faults of a waiver, one a line.
fn waiver_faults(path: &Path, name: &str) -> Result<(), Vec<String>> {
    let text = files::read_declared(path, waiver::FILE_MAX_BYTES).map_err(|error| vec![format!("{error:#}")])?;
    let read = waiver::parse(&text, name).map(drop);
    read.map_err(|faults| faults.iter().map(Fault::to_string).collect())
}

fn is_waiver(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("waivers"))
}

fn check(named: &[PathBuf]) -> Result<u8> {
    let files = if named.is_empty() {
        [declared("gates")?, declared(waiver::FOLDER)?].concat()
    } else {
        named.iter().map(|path| (path.clone(), path.display().to_string())).collect()
    };
    let (waivers, gates): (Vec<_>, Vec<_>) = files.into_iter().partition(|(path, _)| is_waiver(path));
    if gates.is_empty() && (named.is_empty() || waivers.is_empty()) {
        say("gate: no gate is declared: there is no gates/*.toml here");
        return Ok(exit::INCONCLUSIVE.code);
    }
    let mut told = String::new();
    let mut wrong = 0_usize;
    let mut inspect = |what: &str, files: &[(PathBuf, String)], faults: fn(&Path, &str) -> Result<(), Vec<String>>| {
        let lines: Vec<Vec<String>> = files.iter().filter_map(|(path, name)| faults(path, name).err()).collect();
        told.extend(lines.iter().flatten().map(|line| plain_line(line, LINE_MAX) + "\n"));
        wrong += lines.len();
        told += &match (files.len(), lines.len()) {
            (0, _) => String::new(),
            (1, 0) => format!("1 {what} is sound\n"),
            (all, 0) => format!("{all} {what}s are sound\n"),
            (all, wrong) => format!("{wrong} of {all} {what}s have faults\n"),
        };
    };
    inspect("gate", &gates, |path, name| load(path, name).map(drop));
    inspect("waiver", &waivers, waiver_faults);
    answer(&told)?;
    Ok(if wrong == 0 { exit::PASS.code } else { exit::ERROR.code })
}

fn list() -> Result<u8> {
    let gates = declared("gates")?;
    if gates.is_empty() {
        say("gate: no gate is declared: there is no gates/*.toml here");
    }
    let mut told = String::new();
    let mut wrong = false;
    for (path, name) in &gates {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match load(path, name) {
            Ok(declaration) => told += &described(&stem, &declaration),
            Err(lines) => {
                wrong = true;
                say(&lines.join("\n"));
            }
        }
    }
    answer(&told)?;
    Ok(if wrong { exit::ERROR.code } else { exit::PASS.code })
}

/// A few lines about one gate.
fn described(name: &str, declaration: &Declaration) -> String {
    let (source, metrics): (_, Vec<String>) = match declaration.source {
        Source::Run => {
            let metrics = declaration.metrics.iter().map(|series| series.metric.flag());
            ("run", metrics.collect())
        }
        Source::Ingest => {
            let patterns = declaration.ingest.iter().flat_map(|ingest| &ingest.metrics);
            ("ingest", patterns.map(|pattern| pattern.name.clone()).collect())
        }
    };
    let rules: Vec<String> = declaration.rules.iter().map(|declared| in_words(&declared.rule)).collect();
    let about = if declaration.about.is_empty() {
        "no word about it"
    } else {
        &plain_line(&declaration.about, 200)
    };
    format!(
        "{name}: {about}\n  source   {source}\n  metrics  {}\n  rules    {}\n",
        metrics.join(", "),
        rules.join(", ")
    )
}

/// `hold against base of tg128`
fn in_words(rule: &Rule) -> String {
    let against = match rule.against {
        Against::Base => "base",
        Against::Baseline => "baseline",
    };
    let of = if rule.metric == "*" { "every metric" } else { &rule.metric };
    let on = if rule.fixture == "*" {
        String::new()
    } else {
        format!(" on {}", rule.fixture)
    };
    format!("{} against {against} of {of}{on}", rule.kind)
}
