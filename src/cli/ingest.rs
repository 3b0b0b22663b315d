//! `gate ingest`: what other tools' result files say. Nothing is judged.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::columns::table;
use super::{answer, evidence, say};
use crate::adapter::{self, Adapter};
use crate::edge::{files, results};
use crate::exit;
use crate::model::gate::declaration::Reduce;
use crate::model::metric::Better;
use crate::model::number::{count, figure};
use crate::model::report::{Process, Report, Reported, reduce};
use crate::model::text::plain_line;

/// Most files of a folder that are named as left out.
const LEFT_OUT_MAX: usize = 20;
/// Longest cell, in characters.
const CELL_MAX: usize = 100;
/// Version of the JSON that is printed.
const VERSION: u32 = 1;

/// Read another tool's result files and show their evidence; nothing is judged
///
/// The format is told by the content, never by the name of the file. Folders are searched; what no adapter knows is left out and named.
#[derive(Debug, Args)]
pub struct Ingest {
    /// Result files, or folders that hold them
    #[arg(value_name = "FILE|DIR", required_unless_present = "list")]
    paths: Vec<PathBuf>,
    /// The adapter, where the content does not tell it (`--list` shows them)
    #[arg(long, value_name = "NAME", value_parser = adapter::find)]
    adapter: Option<&'static Adapter>,
    /// How the evidence is shown: terminal, json, or a format that an adapter writes (bmf, github-action-benchmark)
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = shown)]
    format: Shown,
    /// When the run began, RFC 3339: an older result is a leftover of another run and refused
    #[arg(long, value_name = "TIME")]
    started_at: Option<Timestamp>,
    /// Accept a file whose last line was cut, without that line
    #[arg(long)]
    partial: bool,
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

/// The evidence of one file.
#[derive(Debug, Serialize)]
struct Found {
    file: String,
    adapter: &'static str,
    #[serde(flatten)]
    report: Report,
}

#[derive(Debug, Serialize)]
struct Everything {
    version: u32,
    results: Vec<Found>,
}

impl Ingest {
    /// Shows the evidence of every file.
    ///
    /// # Errors
    /// When nothing can be printed. A file that is refused is told on standard error, and the exit code is that of an error.
    pub fn run(&self) -> Result<u8> {
        if self.list {
            let lines = adapter::ALL
                .iter()
                .map(|adapter| format!("{:<26} {}\n", adapter.name, adapter.about));
            answer(&lines.collect::<String>())?;
            return Ok(exit::PASS.code);
        }
        let (mut results, mut refused) = (Vec::new(), false);
        for path in &self.paths {
            let found = if files::is_folder(path) {
                self.folder(path)
            } else {
                self.file(path).map(|found| vec![found])
            };
            match found {
                Ok(found) => results.extend(found),
                Err(error) => {
                    refused = true;
                    say(&format!("gate: error: {}: {error:#}", path.display()));
                }
            }
        }
        if !results.is_empty() {
            answer(&self.shown(results)?)?;
        }
        Ok(if refused { exit::ERROR.code } else { exit::PASS.code })
    }

    /// Every file of a folder that an adapter can read; the others are named.
    fn folder(&self, folder: &Path) -> Result<Vec<Found>> {
        let (mut results, mut left_out) = (Vec::new(), 0_usize);
        for path in results::below(folder)? {
            match self.file(&path) {
                Ok(found) => results.push(found),
                Err(error) => {
                    left_out += 1;
                    if left_out <= LEFT_OUT_MAX {
                        say(&format!("gate: left out: {}: {error:#}", path.display()));
                    }
                }
            }
        }
        if left_out > LEFT_OUT_MAX {
            say(&format!("gate: left out: {} more", left_out - LEFT_OUT_MAX));
        }
        if results.is_empty() {
            bail!("no result found in {}", count(left_out as u64, "file"));
        }
        Ok(results)
    }

    fn file(&self, path: &Path) -> Result<Found> {
        let (adapter, mut report, written) = evidence::of_file(path, self.adapter, self.partial)?;
        report.series.iter_mut().for_each(Reported::note_scatter);
        self.check_age(&report, written)?;
        Ok(Found {
            file: path.display().to_string(),
            adapter: adapter.name,
            report,
        })
    }

    /// Refuses a result of an earlier run, by the date inside it, else by when the file was written.
    fn check_age(&self, report: &Report, written: Timestamp) -> Result<()> {
        let Some(started) = self.started_at else { return Ok(()) };
        let (at, told) = match report.at.as_deref().and_then(instant) {
            Some(at) => (at, "the date inside"),
            None => (written, "when the file was written"),
        };
        if at < started {
            return Err(anyhow!(
                "a stale result: {told} is {at}, before the run began at {started}; remove it and run again"
            ));
        }
        Ok(())
    }

    fn shown(&self, results: Vec<Found>) -> Result<String> {
        Ok(match self.format {
            Shown::Json => {
                let version = VERSION;
                serde_json::to_string(&Everything { version, results })? + "\n"
            }
            Shown::Terminal => results.iter().map(as_table).collect(),
            Shown::As(adapter) => {
                let write = adapter.write.ok_or_else(|| anyhow!("{} is not written", adapter.name))?;
                let [one] = results.as_slice() else {
                    bail!("{} results: {} holds one; give one file", results.len(), adapter.name);
                };
                write(&one.report).with_context(|| format!("{} as {}", one.file, adapter.name))?
            }
        })
    }
}

/// The instant that a tool's date names; one without a zone is taken as UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let civil = || TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok();
    text.parse().ok().or_else(civil)
}

fn as_table(found: &Found) -> String {
    let report = &found.report;
    let at = report
        .at
        .as_ref()
        .map_or_else(String::new, |at| format!(", {}", plain_line(at, CELL_MAX)));
    let mut out = format!(
        "{} ({}: {}{at})\n",
        plain_line(&found.file, CELL_MAX * 2),
        found.adapter,
        plain_line(&report.tool, CELL_MAX)
    );
    let head = ["  series", "better", "processes", "repetitions", "min / median / max", "says"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.series.iter().map(row));
    out += &table(&rows);
    for (key, value) in &report.config {
        out += &format!("  {} = {}\n", plain_line(key, CELL_MAX), plain_line(value, CELL_MAX));
    }
    for note in &report.notes {
        out += &format!("  note: {}\n", plain_line(note, CELL_MAX * 2));
    }
    out
}

fn row(series: &Reported) -> Vec<String> {
    let better = match series.better {
        Some(Better::Higher) => "higher",
        Some(Better::Lower) => "lower",
        None => "not stated",
    };
    let repetitions = series.processes.iter().filter_map(|process| match process {
        Process::Repetitions(values) => Some(values.as_slice()),
        Process::Missing(_) => None,
    });
    let values: Vec<f64> = repetitions.flatten().copied().collect();
    let shown = |how| reduce(values.clone(), how).map_or_else(|| "--".to_owned(), figure);
    let unit = series.unit.map_or_else(|| "(no unit stated)".to_owned(), |unit| unit.to_string());
    let spread = format!("{} / {} / {} {unit}", shown(Reduce::Min), shown(Reduce::Median), shown(Reduce::Max));
    let mut says: Vec<String> = series.notes.clone();
    for process in &series.processes {
        if let Process::Missing(missing) = process
            && !says.contains(&missing.why)
        {
            says.push(missing.why.clone());
        }
    }
    says.extend(series.stderr.map(|stderr| format!("standard error {}", figure(stderr))));
    says.extend(series.n.map(|n| format!("n = {n}")));
    vec![
        format!("  {}", plain_line(&series.label(), CELL_MAX)),
        better.to_owned(),
        series.processes.len().to_string(),
        values.len().to_string(),
        if values.is_empty() { "--".to_owned() } else { spread },
        plain_line(&says.join("; "), CELL_MAX * 2),
    ]
}
