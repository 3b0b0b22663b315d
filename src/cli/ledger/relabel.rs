//! `gate ledger relabel` and `stale`: records that are kept and stand for nothing any more.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use jiff::{Span, Timestamp};

use super::find;
use crate::cli::answer;
use crate::cli::parse::reason;
use crate::edge::{clock, ledger};
use crate::exit;
use crate::model::number::count;
use crate::model::record::{Record, Tool, short};
use crate::model::relabel;
use crate::model::text::plain_line;

/// Make a record historical: it stays as it was sealed, is shown as historical, and cannot be accepted into a baseline
///
/// The ledger gets one more sealed line that names the record and the reason; nothing that was sealed changes.
#[derive(Debug, Args)]
pub struct Relabel {
    /// The first digits of its seal, or `last`
    record: String,
    /// What it is from now on
    #[arg(value_enum)]
    label: Label,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    because: String,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Label {
    /// Kept and shown; a reference for nothing
    Historical,
}

/// List the records that are older than some days and not historical yet
#[derive(Debug, Args)]
pub struct Stale {
    /// The age, in days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=36_500))]
    days: u32,
    /// Make every one of them historical
    #[arg(long)]
    relabel: bool,
    /// Why [default: older than N days]
    #[arg(long, value_name = "TEXT", value_parser = reason, requires = "relabel")]
    because: Option<String>,
}

impl Relabel {
    /// Appends the line.
    ///
    /// # Errors
    /// When there is no such record, it is historical already, or the ledger cannot be written.
    pub fn run(&self, path: &Path, lines: &[ledger::Line]) -> Result<u8> {
        let Label::Historical = self.label;
        let record = find(lines, &self.record)?.record()?;
        if let Some(before) = ledger::relabels(lines)?.get(&record.seal) {
            bail!("record {} is {} already: {}", short(&record.seal), before.disposition, before.why());
        }
        answer(&add(path, &record, &self.because)?)?;
        Ok(exit::PASS.code)
    }
}

impl Stale {
    /// Lists them, and appends a line for each where that is asked for.
    ///
    /// # Errors
    /// When a record has no readable time, or the ledger cannot be written.
    pub fn run(&self, path: &Path, lines: &[ledger::Line]) -> Result<u8> {
        let relabels = ledger::relabels(lines)?;
        let now: Timestamp = clock::now().parse()?;
        let limit = now.checked_sub(Span::new().hours(24 * i64::from(self.days)))?;
        let days = count(self.days, "day");
        let (mut out, mut found) = (String::new(), 0_u64);
        for line in lines.iter().filter(|line| !line.is_relabel()) {
            let record = line.record()?;
            let at: Timestamp = record
                .at
                .parse()
                .with_context(|| format!("line {}: when it was measured", line.number))?;
            if at >= limit || relabels.contains_key(&record.seal) {
                continue;
            }
            found += 1;
            let because = self.because.clone().unwrap_or_else(|| format!("older than {days}"));
            out.push_str(&if self.relabel {
                add(path, &record, &because)?
            } else {
                format!(
                    "{}  {}  {}\n",
                    short(&record.seal),
                    plain_line(&record.at, 40),
                    plain_line(&record.gate.name, 60)
                )
            });
        }
        out.push_str(&format!("{} older than {days}\n", count(found, "record")));
        answer(&out)?;
        Ok(exit::PASS.code)
    }
}

/// Appends one relabel; gives what to tell.
fn add(path: &Path, record: &Record, because: &str) -> Result<String> {
    let relabel = relabel::Relabel::historical(&record.seal, because, clock::now_seconds(), Tool::this());
    let relabel = ledger::relabel(path, relabel)?;
    let (of, seal, name) = (short(&record.seal), short(&relabel.seal), plain_line(&record.gate.name, 60));
    Ok(format!(
        "record {of} ({name}, {}) is historical; relabel {seal}\n",
        plain_line(&record.at, 40)
    ))
}
