//! `gate ledger`: what was measured and sealed.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::Value;

use super::{answer, canvas};
use crate::edge::{files, git, ledger};
use crate::judge::{Case, judge, same};
use crate::model::evidence::Ended;
use crate::model::judgement::ENGINE;
use crate::model::number::count;
use crate::model::plan::Orientation;
use crate::model::record::{Record, digest, plan_digest, seal, short};
use crate::model::text::{no_commands, plain_line};
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
    /// Check seals and chain, and judge every record again from its own evidence
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
            "{seal}  {}  {:<12}  {:<19}  {name}  {verdicts}\n",
            plain_line(&record.at, 40),
            outcome.word(),
            disposition.word()
        ));
    }
    answer(&no_commands(&out))?;
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

/// Seals, chain, digests, and every verdict from its own evidence. What was judged by an older engine is listed, not a violation; what was
/// judged by a newer one cannot be verified here.
fn verify(lines: &[ledger::Line]) -> Result<u8> {
    let mut out = String::new();
    let (mut broken, mut newer) = (0_u64, false);
    let mut prev: Option<String> = None;
    for line in lines {
        let mut tell = |text: String| out.push_str(&format!("line {}: {}\n", line.number, plain_line(&text, 1000)));
        let stored = line.seal().unwrap_or_default().to_owned();
        let mut faults = Vec::new();
        faults.extend(sealed(&line.value, &stored).err());
        if line.value["prev"].as_str() != prev.as_deref() {
            faults.push("the chain is broken: the line before it is not the one it was sealed after".to_owned());
        }
        match line.value["judgement"]["engine"].as_u64() {
            Some(engine) if engine > u64::from(ENGINE) => {
                newer = true;
                tell(format!(
                    "judged by engine {engine}, this is engine {ENGINE}: update gate to verify it"
                ));
            }
            _ => match line.record().map(|record| again(&line.value, &record)) {
                Err(error) => faults.push(format!("not a record: {}", error.root_cause())),
                Ok(Err(why)) => faults.push(why),
                Ok(Ok(note)) => note.into_iter().for_each(&mut tell),
            },
        }
        broken += faults.len() as u64;
        faults.into_iter().for_each(tell);
        prev = Some(stored);
    }
    let (records, violations) = (count(lines.len() as u64, "record"), count(broken, "violation"));
    let head = prev.as_deref().map_or_else(|| "none".to_owned(), short);
    answer(&format!("{out}{records}, {violations}, head seal {head}\n"))?;
    let exit = match (broken, newer, lines.is_empty()) {
        (1.., ..) => exit::VIOLATION,
        (0, true, _) => exit::ERROR,
        (0, false, true) => exit::INCONCLUSIVE,
        (0, false, false) => exit::PASS,
    };
    Ok(exit.code)
}

/// Whether a line's bytes are those that its seal was made of.
fn sealed(value: &Value, stored: &str) -> Result<(), String> {
    let computed = seal(value);
    if stored == computed {
        return Ok(());
    }
    let (stored, computed) = (short(stored), short(&computed));
    Err(format!("the seal is broken: it says {stored}, the bytes give {computed}"))
}

/// Judges a record again. Gives a note where an older engine judged otherwise.
pub(super) fn again(value: &Value, record: &Record) -> Result<Option<String>, String> {
    let plan = plan_digest(value);
    let text = digest(record.gate.text.as_bytes());
    for (what, stored, computed) in [("plan", &record.plan.digest, plan), ("gate", &record.gate.digest, text)] {
        if *stored != computed {
            let (stored, computed) = (short(stored), short(&computed));
            return Err(format!("the {what}'s digest says {stored}, its contents give {computed}"));
        }
    }
    consistent(record)?;
    let engine = record.judgement.engine;
    match same(&record.judgement, &judge(&Case::from(record))) {
        Ok(()) => Ok(None),
        Err(why) if engine < ENGINE => Ok(Some(format!("judged by engine {engine}, engine {ENGINE} differs: {why}"))),
        Err(why) => Err(format!("its own evidence does not give its judgement: {why}")),
    }
}

/// Whether what a record says twice is said alike: the order and its blocks, and why the run was cancelled.
fn consistent(record: &Record) -> Result<(), String> {
    let Record {
        plan, evidence, cancelled, ..
    } = record;
    let planned = |block: u32| match plan.sides() {
        [_, _] => plan.order.orientation(block),
        _ => Orientation::B,
    };
    if let Some((block, _)) = (0..)
        .zip(&plan.blocks)
        .find(|(block, orientation)| **orientation != planned(*block))
    {
        return Err(format!("block {} of the plan is not what its order puts there", block + 1));
    }
    let ended = match &evidence.ended {
        Some(Ended::Cancelled { signal }) => Some(signal),
        _ => None,
    };
    if ended != cancelled.as_ref() {
        let word = |signal: Option<&String>| signal.map_or_else(|| "no signal".to_owned(), Clone::clone);
        let (named, ended) = (word(cancelled.as_ref()), word(ended));
        return Err(format!("the record says that {named} cancelled it, its evidence {ended}"));
    }
    Ok(())
}
