//! `gate ledger verify`: what the ledger says is what its own bytes give.

use std::collections::HashSet;

use anyhow::Result;
use serde_json::Value;

use crate::cli::answer;
use crate::edge::ledger::Line;
use crate::exit;
use crate::judge::{Case, judge, same};
use crate::model::evidence::Ended;
use crate::model::judgement::{Disposition, ENGINE};
use crate::model::number::count;
use crate::model::plan::Orientation;
use crate::model::record::{Record, digest, plan_digest, seal, short};
use crate::model::text::plain_line;

/// Seals, chain, digests, and every verdict from its own evidence; of a relabel that its record stands before it. What was judged by an older
/// engine is listed, not a violation; what was judged by a newer one cannot be verified here.
pub fn verify(lines: &[Line]) -> Result<u8> {
    let mut out = String::new();
    let (mut broken, mut newer) = (0_u64, false);
    let mut records = HashSet::new();
    let mut prev: Option<&str> = None;
    for line in lines {
        let mut tell = |text: String| out.push_str(&format!("line {}: {}\n", line.number, plain_line(&text, 1000)));
        let stored = line.seal().unwrap_or_default();
        let mut faults = Vec::new();
        faults.extend(sealed(&line.value, stored).err());
        if line.value["prev"].as_str() != prev {
            faults.push("the chain is broken: the line before it is not the one it was sealed after".to_owned());
        }
        match line.value["judgement"]["engine"].as_u64() {
            _ if line.is_relabel() => faults.extend(relabels(line, &records).err()),
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
        if !line.is_relabel() {
            records.insert(stored);
        }
        broken += faults.len() as u64;
        faults.into_iter().for_each(tell);
        prev = Some(stored);
    }
    let relabelled = lines.iter().filter(|line| line.is_relabel()).count() as u64;
    let mut counted = count(lines.len() as u64 - relabelled, "record");
    if relabelled > 0 {
        counted.push_str(&format!(" and {}", count(relabelled, "relabel")));
    }
    let head = prev.map_or_else(|| "none".to_owned(), short);
    answer(&format!("{out}{counted}, {}, head seal {head}\n", count(broken, "violation")))?;
    let exit = match (broken, newer, lines.is_empty()) {
        (1.., ..) => exit::VIOLATION,
        (0, true, _) => exit::ERROR,
        (0, false, true) => exit::INCONCLUSIVE,
        (0, false, false) => exit::PASS,
    };
    Ok(exit.code)
}

/// Whether a relabel is one: of a record that stands before it, and to something that only a person can say.
fn relabels(line: &Line, records: &HashSet<&str>) -> Result<(), String> {
    let relabel = line.relabel().map_err(|error| format!("not a relabel: {}", error.root_cause()))?;
    if relabel.disposition != Disposition::Historical {
        return Err(format!(
            "it makes a record {}: a relabel can only make it historical",
            relabel.disposition
        ));
    }
    if !records.contains(relabel.of.as_str()) {
        return Err(format!("it relabels {}, and no record before it has that seal", short(&relabel.of)));
    }
    Ok(())
}

/// Whether a line's bytes are those that its seal was made of.
pub fn sealed(value: &Value, stored: &str) -> Result<(), String> {
    let computed = seal(value);
    if stored == computed {
        return Ok(());
    }
    let (stored, computed) = (short(stored), short(&computed));
    Err(format!("the seal is broken: it says {stored}, the bytes give {computed}"))
}

/// Judges a record again. Gives a note where an older engine judged otherwise.
pub fn again(value: &Value, record: &Record) -> Result<Option<String>, String> {
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
