//! `gate compare`: two results side by side. Nothing is judged.

mod rows;
mod scores;
mod shown;
mod side;

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};

use super::results::keys;
use super::{answer, say};
use crate::adapter::{self, Adapter, bmf, github_action_benchmark};
use crate::exit;
use rows::Comparison;
use side::Side;

/// Put two results side by side: per metric base, candidate and gain; what differs between them
///
/// A and B are a result file of another tool, a folder of such files (each is one process), a record of gate (its candidate), or a baseline
/// (its newest current sessions; of scores, every accepted run). A gain is positive where B is better; a difference here is never called a regression, because nothing was
/// declared: `gate perf` and `gate ingest --gate` judge.
#[derive(Debug, Args)]
pub struct Compare {
    /// The base: a result file, a folder of them, a record, or a baseline
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The candidate
    #[arg(value_name = "B")]
    b: PathBuf,
    /// The one field that is meant to differ; more that differ are exit 1
    #[arg(long, value_name = "FIELD")]
    one_lever: Option<String>,
    /// Another form instead of the table; bmf and github-action-benchmark hold one result, the candidate's
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = To::Terminal)]
    to: To,
    /// The adapter of both, where the content does not tell it
    #[arg(long, value_name = "NAME", value_parser = adapter::find)]
    adapter: Option<&'static Adapter>,
    /// Accept a file whose last line was cut, without that line
    #[arg(long)]
    partial: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    Terminal,
    Markdown,
    Csv,
    Json,
    Bmf,
    GithubActionBenchmark,
}

impl Compare {
    /// Compares.
    ///
    /// # Errors
    /// When a side cannot be read, or the format cannot say what there is.
    pub fn run(&self) -> Result<u8> {
        let read = |path: &PathBuf| Side::read(path, self.adapter, self.partial).with_context(|| path.display().to_string());
        let (mut a, mut b) = (read(&self.a)?, read(&self.b)?);
        keys::align(&mut [&mut a.report, &mut b.report]);
        let comparison = Comparison::of(&a, &b, self.one_lever.as_deref());
        let text = match self.to {
            To::Terminal => shown::terminal(&comparison),
            To::Markdown => shown::markdown(&comparison),
            To::Csv => shown::csv(&comparison),
            To::Json => serde_json::to_string(&comparison)? + "\n",
            To::Bmf => exported(&bmf::BMF, &b)?,
            To::GithubActionBenchmark => exported(&github_action_benchmark::GITHUB_ACTION_BENCHMARK, &b)?,
        };
        answer(&text)?;
        if comparison.is_empty() {
            say("gate: no series stands on both sides: nothing was compared");
            return Ok(exit::INCONCLUSIVE.code);
        }
        if self.one_lever.is_some() && !comparison.beside_lever().is_empty() {
            let fields: Vec<&str> = comparison.beside_lever();
            say(&format!("gate: more differs than the declared lever: {}", fields.join(", ")));
            return Ok(exit::FAIL.code);
        }
        Ok(exit::PASS.code)
    }
}

fn exported(adapter: &Adapter, side: &Side) -> Result<String> {
    let write = adapter.write.ok_or_else(|| anyhow!("{} is not written", adapter.name))?;
    if side.report.series.is_empty() {
        bail!("{}: holds no series", side.name);
    }
    write(&side.report).with_context(|| format!("{} as {}", side.name, adapter.name))
}
