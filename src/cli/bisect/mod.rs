//! `gate bisect`: which commit made it slower.

mod first;
mod neighbours;
mod report;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};

use report::Row;

use super::perf::pair::{Compared, Pairs};
use super::{answer, say};
use crate::edge::git::{Commit, Repository};
use crate::edge::{environment, files};
use crate::exit::Exit;
use crate::judge::search::unfit;
use crate::model::sample::Arm;

/// Most comparisons of neighbours: each takes a session.
const NEIGHBOURS_MAX: usize = 100;
/// Most commits that a search passes over because they cannot be judged.
const SKIPPED_MAX: usize = 32;

/// Compare commits by a declared gate, neighbour by neighbour, or search the first that regresses
///
/// Every comparison is a session of fresh processes in blocks of A B B A, with a record of its own. Commits are built in folders of their own:
/// neither checkout, index, stash nor branches are touched. One that cannot be built or run is passed over, and is neither good nor bad.
///
/// --first compares commits of the range with its older end, by halving. It assumes that once a commit is slower every later one is, and shares
/// the gate's alpha and beta among all comparisons before the first one. Exit 1 if a commit is found (or, without --first, any comparison
/// regresses), 0 if nothing regresses, 3 if there is no single answer, 2 on errors.
#[derive(Debug, Args)]
pub struct Bisect {
    /// The commits to compare, each with the one before it
    #[arg(value_name = "REV", num_args = 2.., required_unless_present = "range", conflicts_with = "range")]
    revisions: Vec<String>,
    /// A and every commit after it up to B, by first parents, oldest first: at most 10000, and without --first at most 101 with A
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    range: Option<String>,
    /// Search the first commit of the range that regresses against A
    #[arg(long)]
    first: bool,
    /// The gate to compare by [default: the only one in gates/*.toml]
    #[arg(long, value_name = "FILE")]
    gate: Option<PathBuf>,
    /// Judge this metric only
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Measure on this fixture only
    #[arg(long, value_name = "NAME")]
    fixture: Option<String>,
    /// Where gate and prompts are read from [default: the base branch's tip on a pull request, else the working tree]
    #[arg(long, value_name = "REV")]
    rules_from: Option<String>,
    /// The GPUs to measure on, by the driver's index or PCI address
    #[arg(long, value_name = "INDEX|BDF,...")]
    device: Option<String>,
    /// How long each comparison waits for the device's lock
    #[arg(long, value_name = "TIME", default_value = "10m")]
    lock_timeout: String,
    /// How the answer is shown on standard output
    #[arg(long, value_enum, default_value_t = Shown::Terminal)]
    format: Shown,
    /// Where builds are kept [default: .gate/cache]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// The ledger to append the records to [default: .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    Terminal,
    Json,
}

impl Bisect {
    /// Compares and tells.
    ///
    /// # Errors
    /// Whatever keeps it from comparing; what was sealed before stays.
    pub fn run(&self) -> Result<u8> {
        let repository = Repository::open(&files::working_folder()?, &environment::of_children(&[]).kept)?;
        let commits = self.commits(&repository)?;
        let (Some(oldest), Some(newest)) = (commits.first(), commits.last()) else {
            bail!("no commits to compare")
        };
        let mut pairs = Pairs::open(&self.options(), (&oldest.id, &newest.id))?;
        pairs.narrow(self.metric.as_deref(), self.fixture.as_deref())?;
        let report = if self.first {
            first::search(&mut pairs, &commits)?
        } else {
            neighbours::compare(&mut pairs, &commits)?
        };
        answer(&match self.format {
            Shown::Terminal => report.text(),
            Shown::Json => report.json()?,
        })?;
        Ok(report.exit.code)
    }

    /// The commits in the order in which they are compared.
    fn commits(&self, repository: &Repository) -> Result<Vec<Commit>> {
        let Some(range) = &self.range else {
            if self.first {
                bail!("--first searches a range: name it with --range A..B");
            }
            let commits = self.revisions.iter().map(|name| repository.described(name));
            let commits: Vec<Commit> = commits.collect::<Result<_>>()?;
            if let Some((name, _)) = self.revisions.iter().zip(commits.windows(2)).find(|(_, pair)| pair[0] == pair[1]) {
                bail!("{name} and the revision after it are the same commit: there is nothing to compare");
            }
            return few(commits);
        };
        let (from, to) = ends(range).map_err(|why| anyhow!("--range {range}: {why}"))?;
        let (from, to) = (repository.described(from)?, repository.described(to)?);
        let mut commits = repository.first_parent_line(&from, &to)?;
        commits.insert(0, from);
        if self.first { Ok(commits) } else { few(commits) }
    }

    /// The options of each comparison.
    fn options(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--lock-timeout".into(), self.lock_timeout.clone().into()];
        let options: [(&str, Option<OsString>); 5] = [
            ("--gate", self.gate.clone().map(Into::into)),
            ("--rules-from", self.rules_from.clone().map(Into::into)),
            ("--device", self.device.clone().map(Into::into)),
            ("--cache-dir", self.cache_dir.clone().map(Into::into)),
            ("--ledger", self.ledger.clone().map(Into::into)),
        ];
        for (name, value) in options {
            words.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        }
        words
    }
}

/// Refuses more commits than are compared neighbour by neighbour.
fn few(commits: Vec<Commit>) -> Result<Vec<Commit>> {
    let comparisons = commits.len() - 1;
    if comparisons > NEIGHBOURS_MAX {
        bail!(
            "{comparisons} comparisons, each a session of its own; at most {NEIGHBOURS_MAX} are made: narrow the range, or search with --first"
        );
    }
    Ok(commits)
}

/// The two ends of a range; an empty one is HEAD.
fn ends(range: &str) -> Result<(&str, &str), String> {
    let wants = "write A..B, the older commit first";
    match range.split_once("..") {
        None => Err(wants.to_owned()),
        Some((_, to)) if to.starts_with('.') => Err(format!("three dots mean another thing to git: {wants}")),
        Some(("", "")) => Err(wants.to_owned()),
        Some((from, to)) => Ok((if from.is_empty() { "HEAD" } else { from }, if to.is_empty() { "HEAD" } else { to })),
    }
}

/// Compares `commit` with `base` and writes down what came of it. Where one of them cannot be judged, it is named with the reason.
fn compared(pairs: &mut Pairs, base: &Commit, commit: &Commit) -> Result<(Row, Option<Arm>)> {
    let mut row = Row::of(commit);
    row.against = Some(base.short().to_owned());
    let arm = match pairs.compare(&base.id, &commit.id)? {
        Compared::Unmade(arm, why) => {
            row.cannot = Some(why);
            Some(arm)
        }
        Compared::Record(record) => {
            let unfit = unfit(&record).map(|(arm, why)| (arm, why.to_owned()));
            row.record = Some(record);
            row.cannot = unfit.as_ref().map(|(_, why)| why.clone());
            unfit.map(|(arm, _)| arm)
        }
    };
    Ok((row, arm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends() {
        assert_eq!(ends("v1..v2"), Ok(("v1", "v2")));
        assert_eq!(ends("v1.."), Ok(("v1", "HEAD")));
        assert_eq!(ends("..v2"), Ok(("HEAD", "v2")));
        for range in ["v1", "..", "v1...v2", ""] {
            assert!(ends(range).is_err(), "{range}");
        }
    }
}
