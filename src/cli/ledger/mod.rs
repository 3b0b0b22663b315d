//! `gate ledger`: what was measured and sealed.

mod relabel;
mod verify;

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};

use super::{answer, canvas, say};
use crate::edge::{files, git, ledger};
use crate::model::record::short;
use crate::model::text::{no_commands, plain_line};
use crate::{exit, render};

pub(super) use verify::{again, sealed};

/// Look at the sealed records, and check them
#[derive(Debug, Args)]
pub struct Ledger {
    #[command(subcommand)]
    command: Command,
    /// The ledger [default: GATE_LEDGER, else .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE", global = true)]
    ledger: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the records, newest last
    Log,
    /// Show one record again, in any format
    Show {
        /// The first digits of its seal, or `last`
        record: String,
        /// How it is shown
        #[arg(long, value_name = "FORMAT", default_value = "terminal")]
        format: String,
    },
    /// Check seals and chain, and judge every record again from its own evidence
    Verify,
    Relabel(relabel::Relabel),
    Stale(relabel::Stale),
}

impl Ledger {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn run(&self) -> Result<u8> {
        let cwd = files::working_folder()?;
        let project = git::top(&cwd).unwrap_or(cwd);
        let path = ledger::path(self.ledger.as_deref(), &project.join(".gate"));
        let lines = ledger::read(&path)?;
        match &self.command {
            Command::Log => log(&lines),
            Command::Show { record, format } => show(&lines, record, format),
            Command::Verify => verify::verify(&lines),
            Command::Relabel(relabel) => relabel.run(&path, &lines),
            Command::Stale(stale) => stale.run(&path, &lines),
        }
    }
}

fn log(lines: &[ledger::Line]) -> Result<u8> {
    let relabels = ledger::relabels(lines)?;
    let mut out = String::new();
    for line in lines {
        if line.is_relabel() {
            let relabel = line.relabel()?;
            let [seal, of] = [&relabel.seal, &relabel.of].map(|seal| short(seal));
            let (at, because) = (plain_line(&relabel.at, 40), plain_line(&relabel.because, 200));
            out.push_str(&format!(
                "{seal}  {at}  relabel       {:<19}  {of}: {because}\n",
                relabel.disposition.word()
            ));
            continue;
        }
        let record = line.record()?;
        let words: Vec<&str> = record.judgement.verdicts.iter().map(|ruling| ruling.verdict.word()).collect();
        let (outcome, relabel) = (record.judgement.outcome, relabels.get(&record.seal));
        let disposition = relabel.map_or(record.judgement.disposition, |relabel| relabel.disposition);
        let seal = short(&record.seal);
        let (name, verdicts) = (plain_line(&record.gate.name, 60), words.join(" "));
        out.push_str(&format!(
            "{seal}  {}  {:<12}  {:<19}  {name}  {verdicts}\n",
            plain_line(&record.at, 40),
            outcome.word(),
            disposition.word()
        ));
    }
    answer(&no_commands(&out))?;
    Ok(exit::PASS.code)
}

/// Shows a record as what it counts for now; as JSON it is the sealed line, whatever came after it.
fn show(lines: &[ledger::Line], wanted: &str, format: &str) -> Result<u8> {
    let format = render::find(format).map_err(|why| anyhow!("--format: {why}"))?;
    let mut record = find(lines, wanted)?.record()?;
    if let Some(relabel) = ledger::relabels(lines)?.get(&record.seal) {
        if format.name == render::json::FORMAT.name {
            say(&format!("it is {} now: {}", relabel.disposition, relabel.why()));
        } else {
            record = relabel.shown(record);
        }
    }
    answer(&(format.render)(&record, canvas())?)?;
    Ok(exit::PASS.code)
}

/// The record whose seal begins with these digits, or the last one.
///
/// # Errors
/// When there is none, or more than one.
pub(super) fn find<'a>(lines: &'a [ledger::Line], wanted: &str) -> Result<&'a ledger::Line> {
    let digits = wanted.trim_start_matches("b3:");
    let matches = |line: &&ledger::Line| {
        line.seal()
            .is_some_and(|seal| !digits.is_empty() && seal.trim_start_matches("b3:").starts_with(digits))
    };
    let mut records = lines.iter().filter(|line| !line.is_relabel());
    let found: Vec<&ledger::Line> = if wanted == "last" {
        records.next_back().into_iter().collect()
    } else {
        records.filter(matches).collect()
    };
    match found.as_slice() {
        [] => bail!("no record's seal begins with {wanted:?}; `gate ledger log` lists them"),
        [line] => Ok(line),
        several => bail!("{} records' seals begin with {wanted:?}: give more digits", several.len()),
    }
}
