//! `gate ledger`: what was measured and sealed.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};

use super::{answer, canvas};
use crate::edge::{files, git, ledger};
use crate::judge::{Case, judge, same};
use crate::model::judgement::ENGINE;
use crate::model::record::{Record, plan_digest, seal};
use crate::model::text::plain_line;
use crate::{exit, render};

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
    /// Judge every record again from its own bytes, and check seals and chain
    Verify,
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
            Command::Verify => verify(&lines),
        }
    }
}

fn log(lines: &[ledger::Line]) -> Result<u8> {
    let mut out = String::new();
    for line in lines {
        let record = line.record()?;
        let words: Vec<&str> = record.judgement.verdicts.iter().map(|ruling| ruling.verdict.word()).collect();
        let (outcome, disposition) = (record.judgement.outcome, record.judgement.disposition);
        let seal = short(&record.seal);
        let (name, verdicts) = (plain_line(&record.gate.name, 60), words.join(" "));
        out.push_str(&format!(
            "{seal}  {}  {:<12}  {disposition:<13}  {name}  {verdicts}\n",
            record.at,
            outcome.word()
        ));
    }
    answer(&out)?;
    Ok(exit::PASS.code)
}

fn show(lines: &[ledger::Line], wanted: &str, format: &str) -> Result<u8> {
    let format = render::find(format).map_err(|why| anyhow!("--format: {why}"))?;
    answer(&(format.render)(&find(lines, wanted)?.record()?, canvas())?)?;
    Ok(exit::PASS.code)
}

/// The line whose seal begins with these digits, or the last one.
///
/// # Errors
/// When there is none, or more than one.
pub(super) fn find<'a>(lines: &'a [ledger::Line], wanted: &str) -> Result<&'a ledger::Line> {
    let digits = wanted.trim_start_matches("b3:");
    let matches = |line: &&ledger::Line| {
        line.seal()
            .is_some_and(|seal| !digits.is_empty() && seal.trim_start_matches("b3:").starts_with(digits))
    };
    let found: Vec<&ledger::Line> = if wanted == "last" {
        lines.last().into_iter().collect()
    } else {
        lines.iter().filter(matches).collect()
    };
    match found.as_slice() {
        [] => bail!("no record's seal begins with {wanted:?}; `gate ledger log` lists them"),
        [line] => Ok(line),
        several => bail!("{} records' seals begin with {wanted:?}: give more digits", several.len()),
    }
}

/// Seals, chain, plan digests, and every verdict from its own evidence. What was judged by an older engine is listed, not a violation.
fn verify(lines: &[ledger::Line]) -> Result<u8> {
    let mut out = String::new();
    let mut broken = 0;
    let mut prev: Option<String> = None;
    for line in lines {
        let at = line.number;
        let mut fault = |text: String| {
            broken += 1;
            out.push_str(&format!("line {at}: {}\n", plain_line(&text, 1000)));
        };
        let stored = line.seal().unwrap_or_default().to_owned();
        let computed = seal(&line.value);
        if stored != computed {
            fault(format!(
                "the seal is broken: it says {}, the bytes give {}",
                short(&stored),
                short(&computed)
            ));
        }
        if line.value["prev"].as_str() != prev.as_deref() {
            fault("the chain is broken: the line before it is not the one it was sealed after".to_owned());
        }
        match line.record() {
            Err(error) => fault(format!("{error:#}")),
            Ok(record) => match again(&record) {
                Ok(None) => {}
                Ok(Some(note)) => out.push_str(&format!("line {at}: {note}\n")),
                Err(why) => fault(why),
            },
        }
        prev = Some(stored);
    }
    let head = prev.as_deref().map_or("none", short);
    out.push_str(&format!("{} records, {broken} violations, head seal {head}\n", lines.len()));
    answer(&out)?;
    Ok(match (broken, lines.len()) {
        (0, 0) => exit::INCONCLUSIVE.code,
        (0, _) => exit::PASS.code,
        _ => exit::VIOLATION.code,
    })
}

/// Judges a record again. Gives a note where an older engine judged otherwise.
///
/// # Errors
/// Says how its own evidence differs from what is stored.
pub(super) fn again(record: &Record) -> Result<Option<String>, String> {
    let digest = plan_digest(&record.plan, &record.gate, &record.identity).map_err(|error| error.to_string())?;
    if digest != record.plan.digest {
        return Err(format!(
            "the plan's digest says {}, its contents give {}",
            short(&record.plan.digest),
            short(&digest)
        ));
    }
    let engine = record.judgement.engine;
    match same(&record.judgement, &judge(&Case::from(record))) {
        Ok(()) => Ok(None),
        Err(why) if engine < ENGINE => Ok(Some(format!("judged by engine {engine}, engine {ENGINE} differs: {why}"))),
        Err(_) if engine > ENGINE => Err(format!(
            "judged by engine {engine}, this is engine {ENGINE}: update gate to verify it"
        )),
        Err(why) => Err(format!("its own evidence does not give its judgement: {why}")),
    }
}

fn short(seal: &str) -> &str {
    seal.strip_prefix("b3:").and_then(|hex| hex.get(..12)).unwrap_or(seal)
}
