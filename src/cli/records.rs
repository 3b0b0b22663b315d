//! The records that other commands wrote, for those that tell of them.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::ledger::sealed;
use crate::edge::{ledger, records};
use crate::model::github::is_commit;
use crate::model::number::count;
use crate::model::record::{Record, short};
use crate::model::text::plain_line;

/// Most gates that a sentence names.
const NAMED_MAX: usize = 5;
/// Longest name in a sentence, in characters.
const NAME_SHOWN: usize = 80;

/// Evidence is not what it was when it was sealed.
#[derive(Debug)]
pub(super) struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// Every record of some files and folders, each once, as what it counts for now.
///
/// # Errors
/// When a file cannot be read or there is no record; a [`Violation`] where a seal is broken.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Record>> {
    let found = records::read(paths)?;
    let lines: Vec<ledger::Line> = found.iter().map(|found| found.line.clone()).collect();
    let relabels = ledger::relabels(&lines).context("--records")?;
    let (mut seen, mut all) = (HashSet::new(), Vec::new());
    for records::Found { at, line } in &found {
        let seal = line.seal().unwrap_or_default();
        if let Err(why) = sealed(&line.value, seal) {
            return Err(Violation(format!("{at}: {why}")).into());
        }
        if line.is_relabel() || !seen.insert(seal.to_owned()) {
            continue;
        }
        let record = line.record().with_context(|| at.clone())?;
        all.push(match relabels.get(seal) {
            Some(relabel) => relabel.shown(record),
            None => record,
        });
    }
    if all.is_empty() {
        bail!("--records: relabels and no record");
    }
    Ok(all)
}

/// Why these records are no whole answer: a gate that was run beside one of them has none.
pub(super) fn lacking(records: &[Record]) -> Option<String> {
    let has = |name: &&String| records.iter().any(|record| record.gate.name == **name);
    let owed: BTreeSet<&String> = records
        .iter()
        .flat_map(|record| &record.context.beside)
        .filter(|name| !has(name))
        .collect();
    let named: Vec<String> = owed.iter().take(NAMED_MAX).map(|name| plain_line(name, NAME_SHOWN)).collect();
    (!owed.is_empty()).then(|| {
        format!(
            "{} of the same run left no record: {}{}; its log tells why, and what the others say is no whole answer",
            count(owed.len() as u64, "gate"),
            named.join(", "),
            if owed.len() > NAMED_MAX { ", ..." } else { "" }
        )
    })
}

/// The commit that these records speak of; none where none of them says it.
///
/// # Errors
/// When they speak of several, or of what is no commit.
pub(super) fn head(records: &[Record]) -> Result<Option<&str>> {
    let mut heads = records.iter().filter_map(|record| record.context.head.as_deref());
    let Some(first) = heads.next() else { return Ok(None) };
    if let Some(other) = heads.find(|head| *head != first) {
        bail!(
            "--records: they speak of two commits, {} and {}: name the records of one run",
            short(first),
            short(other)
        );
    }
    if !is_commit(first) {
        bail!("--records: {:?} is no commit id", short(first));
    }
    Ok(Some(first))
}

/// The commit that is spoken of: the records' own, which must be the one that the job answers for.
///
/// # Errors
/// When the records speak of another commit.
pub(super) fn head_in_job<'a>(records: &'a [Record], of_job: &'a str) -> Result<&'a str> {
    match head(records)? {
        Some(of_records) if of_records != of_job => bail!(
            "--records: they speak of commit {}, and this job answers for {}: hand over the records of this run",
            short(of_records),
            short(of_job)
        ),
        _ => Ok(of_job),
    }
}
