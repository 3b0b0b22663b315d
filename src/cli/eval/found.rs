//! Results of a harness: one file, or the one of a folder that is meant.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::artifact;
use crate::adapter::foreign::Input;
use crate::adapter::lm_eval::{self, samples};
use crate::adapter::{self, Adapter, key_value, mindxtrain};
use crate::cli::say;
use crate::edge::{files, results};
use crate::model::eval::SCORE;
use crate::model::eval::evidence::ScoreRun;
use crate::model::figure::State;
use crate::model::gate::declaration::Series;
use crate::model::gate::scores::ModelName;
use crate::model::identity::Artifact;
use crate::model::number::count;
use crate::model::report::{Process, Report};
use crate::model::text::plain_line;

/// The adapters whose results a folder is searched for.
const SCORES: [&str; 2] = [lm_eval::LM_EVAL.name, mindxtrain::MINDXTRAIN.name];
/// How much of a file tells whether it is a log of single answers.
const HEAD_BYTES: u64 = 4096;
/// Most results that a message lists.
const LISTED_MAX: usize = 20;
/// Longest name in a message.
const NAME_MAX: usize = 200;

/// Which of several results is meant, and how they are read.
pub struct Choice<'a> {
    /// The newest, by the date inside.
    pub newest: bool,
    /// This model's.
    pub model: Option<String>,
    /// The adapter, where it is not told by the content.
    pub adapter: Option<&'static Adapter>,
    /// Declared series, for formats that need them.
    pub series: &'a [Series],
}

/// One run, with the files that it was read from.
pub struct Read {
    /// Its scores.
    pub run: ScoreRun,
    /// Its files with their digests.
    pub artifacts: Vec<Artifact>,
    /// The result files themselves.
    pub files: Vec<PathBuf>,
    /// The adapter that read the first of them.
    pub adapter: &'static str,
}

/// The run that paths name: further files add scores to those of the first.
///
/// # Errors
/// When a file cannot be read, a folder holds no result, or several and no choice.
pub fn run(paths: &[PathBuf], choice: &Choice<'_>) -> Result<Read> {
    let mut all: Option<Read> = None;
    for path in paths {
        let read = one(path, choice)?;
        match &mut all {
            None => all = Some(read),
            Some(all) => {
                all.run.add(read.run);
                all.artifacts.extend(read.artifacts);
                all.files.extend(read.files);
            }
        }
    }
    all.ok_or_else(|| anyhow!("no results are named"))
}

/// The run of one file, or of the folder that holds it.
///
/// # Errors
/// As [`run`].
pub fn one(path: &Path, choice: &Choice<'_>) -> Result<Read> {
    if !files::is_folder(path) {
        return file(path, choice).with_context(|| path.display().to_string());
    }
    let (mut found, mut left_out) = (Vec::new(), 0_u64);
    for path in results::below(path)? {
        if results::head(&path, HEAD_BYTES).is_ok_and(|head| samples::is_log(&head)) {
            continue;
        }
        match file_of_folder(&path, choice) {
            Some(read) => found.push(read),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        say(&format!(
            "{}: {} left out, no results of a harness",
            path.display(),
            count(left_out, "file")
        ));
    }
    same_once(&mut found);
    chosen(path, found, choice)
}

/// A file of a folder, where it holds results of a harness.
fn file_of_folder(path: &Path, choice: &Choice<'_>) -> Option<Read> {
    let read = file(path, choice).ok()?;
    match choice.adapter {
        Some(adapter) => (read.adapter == adapter.name).then_some(read),
        None => SCORES.contains(&read.adapter).then_some(read).filter(has_tasks),
    }
}

/// Whether it holds scores of tasks, and not only how fast the run was.
fn has_tasks(read: &Read) -> bool {
    read.run.results.scores.iter().any(|score| score.key.metric != SCORE)
}

fn file(path: &Path, choice: &Choice<'_>) -> Result<Read> {
    if samples::is_log(&results::head(path, HEAD_BYTES)?) {
        bail!("a log of single answers holds no scores of tasks: name the results file, or its folder with --samples-a or --samples-b");
    }
    let (bytes, _) = results::read(path)?;
    let artifact = artifact("results", path, &bytes)?;
    let input = Input::of(&bytes);
    drop(bytes);
    let declared = (!choice.series.is_empty()).then_some(&key_value::KEY_VALUE);
    let adapter = match choice.adapter {
        Some(adapter) => adapter,
        None => match (adapter::detect(&input), declared) {
            (Ok(adapter), _) => adapter,
            // Persona and agenda scores come as bare names with numbers.
            (Err(_), Some(key_value)) if input.document().is_ok() => key_value,
            (Err(refused), _) => bail!(refused),
        },
    };
    let mut report: Report = (adapter.read)(&input, choice.series)?;
    if adapter.name == key_value::KEY_VALUE.name {
        // A declared name that the file does not have is another file's.
        let absent = |process: &Process| matches!(process, Process::Missing(why) if why.state == State::NotMeasured);
        report.series.retain(|series| !series.processes.iter().all(absent));
    }
    if report.series.is_empty() {
        bail!("holds no score");
    }
    let run = ScoreRun::of(&report, path.display().to_string());
    Ok(Read {
        run,
        artifacts: vec![artifact],
        files: vec![path.to_owned()],
        adapter: adapter.name,
    })
}

/// A copy of a file is no second result.
fn same_once(found: &mut Vec<Read>) {
    let digest = |read: &Read| read.artifacts.first().map(|artifact| artifact.blake3.clone());
    let mut seen = Vec::new();
    found.retain(|read| {
        let new = !seen.contains(&digest(read));
        seen.push(digest(read));
        new
    });
}

/// The one that is meant.
fn chosen(folder: &Path, mut found: Vec<Read>, choice: &Choice<'_>) -> Result<Read> {
    if found.is_empty() {
        bail!("{}: no result found", folder.display());
    }
    if let Some(wanted) = &choice.model {
        let all = listed(&found);
        found.retain(|read| read.run.model.as_ref().is_some_and(|model| is_named(model, wanted)));
        if found.is_empty() {
            bail!("{}: no result of the model {wanted:?} is among\n{all}", folder.display());
        }
    }
    if found.len() > 1 && choice.newest {
        if let Some(undated) = found.iter().find(|read| read.run.at.is_none()) {
            bail!(
                "{}: no date inside, so that nothing says which is the newest: name one file",
                undated.run.file
            );
        }
        let newest = found.iter().filter_map(|read| read.run.at.clone()).max();
        found.retain(|read| read.run.at == newest);
    }
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (one, _) => {
            found.extend(one);
            bail!(
                "{}: {}: name one, or choose with --newest or --model:\n{}",
                folder.display(),
                count(found.len() as u64, "result"),
                listed(&found)
            )
        }
    }
}

/// Whether a name means a model: the whole of its name, or what stands after the last slash.
fn is_named(model: &ModelName, wanted: &str) -> bool {
    let last = |text: &'_ str| text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    model.id == wanted || last(&model.id) == wanted
}

fn listed(found: &[Read]) -> String {
    let line = |read: &Read| {
        let model = read
            .run
            .model
            .as_ref()
            .map_or_else(|| "model not named".to_owned(), ToString::to_string);
        let at = read.run.at.as_deref().unwrap_or("no date inside");
        format!("  {}: {model}, {}", plain_line(&read.run.file, NAME_MAX), plain_line(at, 40))
    };
    let mut lines: Vec<String> = found.iter().take(LISTED_MAX).map(line).collect();
    if found.len() > LISTED_MAX {
        lines.push(format!("  and {} more", found.len() - LISTED_MAX));
    }
    lines.join("\n")
}
