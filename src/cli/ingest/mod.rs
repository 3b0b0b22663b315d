//! `gate ingest`: what other tools' result files say, shown, or judged by a gate.

mod again;
mod evidence;
mod files;
mod judging;
mod metrics;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::results::table::as_table;
use super::results::{self, Found, Reading};
use super::{answer, record, say, step};
use crate::adapter::{self, Adapter};
use crate::exit;
pub(in crate::cli) use again::again;
use files::Files;

/// Version of the JSON that is printed.
const VERSION: u32 = 1;

/// Read another tool's result files and show their evidence, or judge it by a gate
///
/// The format is told by the content, never by the name of the file. Folders are searched; what no adapter knows is left out and named.
/// Without --gate nothing is judged. With one, a result is one process of its arm, its repetitions are detail of that process, and the
/// record goes into the ledger. Only dated results in the order A B B A B A A B carry a verdict of `hold` against the base.
#[derive(Debug, Args)]
pub struct Ingest {
    #[command(flatten)]
    files: Files,
    /// The adapter, where the content does not tell it (`--list` shows them)
    #[arg(long, value_name = "NAME", value_parser = adapter::find)]
    adapter: Option<&'static Adapter>,
    /// Judge by this gate, whose source is ingest
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
    /// How it is shown: terminal, json, a format that an adapter writes (bmf, github-action-benchmark), or, with --gate, any format of records
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = format_name)]
    format: String,
    /// When the run began, RFC 3339: an older result is a leftover of another run and refused
    #[arg(long, value_name = "TIME")]
    started_at: Option<Timestamp>,
    /// Accept a file whose last line was cut, without that line
    #[arg(long)]
    partial: bool,
    /// Write the record to a file as well, as JSON
    #[arg(long, value_name = "FILE", requires = "gate")]
    out: Option<PathBuf>,
    /// The ledger to append the record to [default: .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE", requires = "gate")]
    ledger: Option<PathBuf>,
    /// Tell the job around it of a judgement: summary, outputs, annotations [default: where GITHUB_ACTIONS is true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", requires = "gate")]
    github: Option<bool>,
    /// List the adapters
    #[arg(long)]
    list: bool,
}

/// How evidence is shown.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Terminal,
    Json,
    As(&'static Adapter),
}

fn shown(name: &str) -> Result<Shown, String> {
    let writers = || adapter::ALL.iter().filter(|adapter| adapter.write.is_some());
    match name {
        "terminal" => Ok(Shown::Terminal),
        "json" => Ok(Shown::Json),
        other => writers().find(|adapter| adapter.name == other).map(Shown::As).ok_or_else(|| {
            let names: Vec<&str> = writers().map(|adapter| adapter.name).collect();
            format!("unknown format {other:?}: known are terminal, json, {}", names.join(", "))
        }),
    }
}

/// A format of evidence or of records; which of them is known only with the other options.
fn format_name(name: &str) -> Result<String, String> {
    shown(name)
        .map(drop)
        .or_else(|why| record::format_name(name).map(drop).map_err(|_| why))?;
    Ok(name.to_owned())
}

#[derive(Debug, Serialize)]
struct Everything<'a> {
    version: u32,
    results: &'a [Found],
}

impl Ingest {
    /// Shows the evidence of every file, or judges it.
    ///
    /// # Errors
    /// When nothing can be printed or judged. Without a gate, a file that is refused is told on standard error, and the exit code is that of
    /// an error.
    pub fn run(&self) -> Result<u8> {
        if self.list {
            let lines = adapter::ALL
                .iter()
                .map(|adapter| format!("{:<26} {}\n", adapter.name, adapter.about));
            answer(&lines.collect::<String>())?;
            return Ok(exit::PASS.code);
        }
        if let Some(gate) = &self.gate {
            return step::told(self.judge(gate), self.github);
        }
        if self.files.paths.is_empty() {
            bail!("FILE|DIR is missing: name the results to read");
        }
        if self.files.names_an_arm {
            bail!("--arm says which side of a gate a file is: name the gate with --gate, or compare two files with `gate compare A B`");
        }
        let shown = shown(&self.format).map_err(|why| anyhow!("--format: {why}; records have other formats, and need --gate"))?;
        self.show(shown)
    }

    fn reading(&self) -> Reading {
        Reading {
            adapter: self.adapter,
            started_at: self.started_at,
            partial: self.partial,
            ..Reading::default()
        }
    }

    fn show(&self, shown: Shown) -> Result<u8> {
        let (mut found, mut refused) = (Vec::new(), false);
        for (_, path) in &self.files.paths {
            match self.reading().of(path) {
                Ok((results, left_out)) => {
                    results::tell(&left_out);
                    found.extend(results);
                }
                Err(error) => {
                    refused = true;
                    say(&format!("gate: error: {}: {error:#}", path.display()));
                }
            }
        }
        if !found.is_empty() {
            answer(&in_format(shown, &found)?)?;
        }
        Ok(if refused { exit::ERROR.code } else { exit::PASS.code })
    }

    /// The command line that repeats it.
    fn command(&self, gate: &Path) -> String {
        let mut words: Vec<String> = ["gate", "ingest", "--gate"].map(str::to_owned).to_vec();
        words.push(gate.display().to_string());
        if let Some(adapter) = self.adapter {
            words.extend(["--adapter".to_owned(), adapter.name.to_owned()]);
        }
        if let Some(started) = self.started_at {
            words.extend(["--started-at".to_owned(), started.to_string()]);
        }
        if self.partial {
            words.push("--partial".to_owned());
        }
        let mut last = None;
        for (arm, path) in &self.files.paths {
            if last.replace(*arm) != Some(*arm) {
                words.extend(["--arm".to_owned(), arm.to_string()]);
            }
            words.push(path.display().to_string());
        }
        super::perf::shell_line(&words)
    }
}

fn in_format(shown: Shown, results: &[Found]) -> Result<String> {
    Ok(match shown {
        Shown::Json => {
            let version = VERSION;
            serde_json::to_string(&Everything { version, results })? + "\n"
        }
        Shown::Terminal => results.iter().map(as_table).collect(),
        Shown::As(adapter) => {
            let write = adapter.write.ok_or_else(|| anyhow!("{} is not written", adapter.name))?;
            let [one] = results else {
                bail!("{} results: {} holds one; give one file", results.len(), adapter.name);
            };
            write(&one.report).with_context(|| format!("{} as {}", one.file, adapter.name))?
        }
    })
}
