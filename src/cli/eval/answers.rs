//! Logs of single answers beside scores: found by task, read a line at a time, and used only where they make the score.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::found::Read;
use crate::adapter::lm_eval::samples::Samples;
use crate::edge::lines::{lines, useful_readers};
use crate::edge::results;
use crate::model::eval::{Outcomes, Results};
use crate::model::identity::Artifact;
use crate::model::text::plain_line;

/// Longest line of a log: an item with its prompt and answers.
const LINE_MAX_BYTES: usize = 16 << 20;
/// What such a file's name begins with.
const PREFIX: &str = "samples_";
/// What it ends with.
const SUFFIX: &str = ".jsonl";

/// Puts the answers to single items beside the scores that they make: those of the named folder, else those beside the results.
///
/// # Errors
/// When a named folder holds none, or one cannot be read.
pub fn attach(read: &mut Read, folder: Option<&Path>, option: &str) -> Result<()> {
    let named = folder.is_some();
    let files = match folder {
        Some(folder) => results::below(folder).with_context(|| option.to_owned())?,
        None => beside(&read.files)?,
    };
    let logs: Vec<PathBuf> = files.into_iter().filter(|path| stem(path).is_some()).collect();
    let stamp = read.files.first().and_then(|path| stamp(path));
    let tasks = tasks(&read.run.results);
    let mut used = 0;
    for task in &tasks {
        let of_task = |path: &&PathBuf| stem(path).is_some_and(|stem| is_of(stem, task));
        let own: Vec<&PathBuf> = logs.iter().filter(of_task).collect();
        let log = match chosen(&own, task, stamp.as_deref(), named) {
            Ok(Some(log)) => log,
            Ok(None) => continue,
            Err(why) => {
                read.run.notes.push(why);
                continue;
            }
        };
        used += 1;
        let outcomes = outcomes(log, task).with_context(|| log.display().to_string());
        match outcomes {
            Ok((outcomes, artifact)) => {
                read.artifacts.push(artifact);
                fitting(outcomes, &mut read.run.results, &mut read.run.notes);
            }
            Err(error) if named => return Err(error).context(option.to_owned()),
            Err(error) => read.run.notes.push(format!("{error:#}: no paired result of {task}")),
        }
    }
    match folder {
        Some(folder) if used == 0 && read.run.notes.is_empty() => bail!(
            "{option}: {}: no log of single answers of {} ({PREFIX}TASK_*{SUFFIX})",
            folder.display(),
            plain_line(&tasks.join(", "), 200)
        ),
        _ => Ok(()),
    }
}

/// The files beside the results.
fn beside(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    files.first().map_or_else(|| Ok(Vec::new()), |path| results::beside(path))
}

fn tasks(results: &Results) -> Vec<String> {
    let mut tasks: Vec<String> = results.scores.iter().map(|score| score.key.task.clone()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

/// What stands between `samples_` and `.jsonl`.
fn stem(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

/// Whether a log is of a task: its name alone, or followed by a date.
fn is_of(stem: &str, task: &str) -> bool {
    let rest = stem.strip_prefix(task);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('_').is_some_and(is_stamp))
}

fn is_stamp(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|byte| byte.is_ascii_digit() || b"-T.:".contains(&byte))
}

/// The date in the name of a results file: its logs have the same.
fn stamp(results: &Path) -> Option<String> {
    let name = results.file_stem()?.to_str()?;
    let (_, stamp) = name.rsplit_once('_')?;
    is_stamp(stamp).then(|| stamp.to_owned())
}

/// The log of one run: of several the one with the date of the results; beside dated results no other.
fn chosen<'a>(own: &[&'a PathBuf], task: &str, stamp: Option<&str>, named: bool) -> Result<Option<&'a PathBuf>, String> {
    let dated = |path: &&&PathBuf| stem(path).is_some_and(|stem| stamp.is_some_and(|stamp| stem.ends_with(&format!("_{stamp}"))));
    let same_date: Vec<&&PathBuf> = own.iter().filter(dated).collect();
    match (own, same_date.as_slice()) {
        (_, [one]) => Ok(Some(**one)),
        ([], _) => Ok(None),
        ([one], _) if named || stamp.is_none() => Ok(Some(*one)),
        (_, []) if !named && stamp.is_some() => Ok(None),
        (several, _) => Err(format!(
            "{} logs of single answers of {}, and nothing says which is of these results: no paired result",
            several.len(),
            plain_line(task, 80)
        )),
    }
}

/// The outcomes in a log, and which file it was.
fn outcomes(log: &Path, task: &str) -> Result<(Vec<Outcomes>, Artifact)> {
    let mut parts: Vec<Samples> = (0..useful_readers()).map(|_| Samples::default()).collect();
    let whole = lines(log, LINE_MAX_BYTES, &mut parts, |samples, line| Ok(samples.line(line)?))?;
    let artifact = Artifact {
        role: "samples".to_owned(),
        path: log.to_string_lossy().into_owned(),
        bytes: whole.bytes,
        md5: None,
        blake3: whole.blake3,
    };
    Ok((Samples::joined(parts)?.outcomes(task)?, artifact))
}

/// Keeps the outcomes that make a score of the results.
fn fitting(outcomes: Vec<Outcomes>, results: &mut Results, notes: &mut Vec<String>) {
    for outcomes in outcomes {
        let score = results.scores.iter().find(|score| {
            let same = score.key.task == outcomes.key.task && score.key.metric == outcomes.key.metric;
            let unfiltered = |filter: &str| filter.is_empty() || filter == "none";
            let filters = [&score.key.filter, &outcomes.key.filter];
            same && (filters[0] == filters[1] || filters.iter().all(|filter| unfiltered(filter)))
        });
        let Some(score) = score else { continue };
        let n = outcomes.items.len() as u64;
        let right = outcomes.right.bytes().filter(|byte| *byte == b'1').count() as f64;
        let top = if score.value.is_some_and(|value| value > 1.0) { 100.0 } else { 1.0 };
        let own = right / n as f64;
        let off = score.value.map_or(f64::INFINITY, |value| (value / top - own).abs());
        // A score may be rounded, but not by half an answer.
        if off * n as f64 > 0.5 || score.items.is_some_and(|items| items != n) {
            notes.push(format!(
                "{}: its log has {n} answers with a score of {own:.4}, which is not that of the results: no paired result",
                score.key
            ));
            continue;
        }
        results.outcomes.push(Outcomes {
            key: score.key.clone(),
            ..outcomes
        });
    }
}
