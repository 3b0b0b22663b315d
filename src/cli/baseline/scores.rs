//! Eval baselines: accepting a record of scores, showing, comparing and checking what is accepted.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::check::sound;
use super::project;
use crate::cli::columns::table;
use crate::cli::eval::base::{FOLDER, evidence_path, file_name};
use crate::edge::{baselines, files};
use crate::judge::scores::acceptance::{self, Accepted, Wanted, agrees, worse};
use crate::model::eval::baseline::{EvalBaseline, HEAD, ScoreLine, parse_bytes};
use crate::model::gate::scores::ModelName;
use crate::model::number::{count, figure};
use crate::model::record::Record;
use crate::model::text::plain_line;

/// Longest reason that is kept, in characters.
const BECAUSE_MAX: usize = 300;

/// Whether the bytes of a file are an eval baseline.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(HEAD.as_bytes())
}

/// Every eval baseline of the project.
///
/// # Errors
/// When the folder cannot be read.
pub fn list() -> Result<Vec<PathBuf>> {
    baselines::list(&folder()?)
}

/// The folder of eval baselines, as short as it can be named from here.
fn folder() -> Result<PathBuf> {
    let folder = project()?.join(FOLDER);
    let cwd = files::working_folder()?.canonicalize()?;
    Ok(folder.strip_prefix(&cwd).map_or_else(|_| folder.clone(), Path::to_owned))
}

/// Reads the eval baseline in these bytes.
///
/// # Errors
/// The first place that is wrong.
pub fn read(bytes: &[u8], path: &Path) -> Result<EvalBaseline> {
    parse_bytes(bytes, &path.to_string_lossy()).map_err(|fault| anyhow!(fault))
}

/// How a record of scores is accepted.
pub struct Accept<'a> {
    /// Put the run in the place of all current ones.
    pub replace: bool,
    /// Which part of it.
    pub wanted: Wanted<'a>,
    /// The model, as a person names it.
    pub model: Option<&'a ModelName>,
    /// Why a worse run is accepted.
    pub because: Option<&'a str>,
    /// The baseline, where it is named.
    pub file: Option<&'a Path>,
}

impl Accept<'_> {
    /// Accepts a record; gives what to tell.
    ///
    /// # Errors
    /// When it may not be accepted, the baseline is of another model, or a file cannot be written.
    pub fn run(&self, record: &Record, evidence: &str) -> Result<String> {
        let Accepted { lines, left_out } = acceptance::lines(record, &self.wanted).map_err(|why| anyhow!(why))?;
        let model = acceptance::model(record, self.model).map_err(|why| anyhow!(why))?;
        let path = match self.file {
            Some(path) => path.to_owned(),
            None => self.known(&model.id)?.unwrap_or(folder()?.join(file_name(&model.id))),
        };
        let held = baselines::hold(&path)?;
        let mut baseline = match baselines::read(&path)? {
            Some(bytes) => read(&bytes, &path)?,
            None => EvalBaseline::new(model.clone()).map_err(|why| anyhow!(why))?,
        };
        let at = || path.display().to_string();
        baseline.check_model(&model).map_err(|why| anyhow!(why)).with_context(at)?;
        let mut told: Vec<String> = left_out.iter().map(|why| format!("left out {}\n", plain_line(why, 300))).collect();
        let (date, seal) = lines
            .first()
            .map(|line| (line.date.clone(), line.record.clone()))
            .unwrap_or_default();
        for line in lines {
            told.push(self.put(&mut baseline, line)?);
        }
        let groups = record.evidence.scores.iter().flat_map(|scores| &scores.candidate.results.groups);
        for group in groups.filter(|group| !group.members.is_empty()) {
            baseline.replace_group(group.clone()).map_err(|why| anyhow!(why))?;
        }
        let proof = evidence_path(&path, &date, &seal);
        told.push(format!("commit both: {} and {}\n", path.display(), proof.display()));
        baselines::write(&held, &path, &baseline.write(), &[(proof, evidence.to_owned())])?;
        Ok(told.concat())
    }

    /// The baseline of this model that stands already, whatever its file is called.
    fn known(&self, id: &str) -> Result<Option<PathBuf>> {
        for path in list()? {
            let Some(bytes) = baselines::read(&path)? else { continue };
            if read(&bytes, &path)?.model.id == id {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn put(&self, baseline: &mut EvalBaseline, mut line: ScoreLine) -> Result<String> {
        let current: Vec<ScoreLine> = baseline.runs(&line.score.key).cloned().collect();
        let references: Vec<&ScoreLine> = current.iter().collect();
        let reason = self.because.map(str::trim).filter(|reason| !reason.is_empty());
        match (worse(&line, &references), reason) {
            (Some(why), None) => bail!("{why} Say why it is accepted all the same, with --because"),
            (_, Some(reason)) if reason.chars().count() > BECAUSE_MAX => bail!("--because: at most {BECAUSE_MAX} characters are kept"),
            (_, Some(reason)) => drop(line.extras.insert("note".to_owned(), reason.to_owned())),
            (None, None) => {}
        }
        let runs = if self.replace { 1 } else { current.len() as u64 + 1 };
        let told = format!(
            "accepted {}: {}; {}\n",
            line.score.key,
            line.score.value.map_or_else(String::new, figure),
            count(runs, "run")
        );
        let done = if self.replace {
            baseline.replace(line)
        } else {
            baseline.insert(line)
        };
        done.map_err(|why| anyhow!(why))?;
        Ok(told)
    }
}

/// What an eval baseline holds.
pub fn shown(baseline: &EvalBaseline, path: &Path) -> String {
    let model = &baseline.model;
    let mut out = format!("{} ({}, {})\n", path.display(), plain_line(&model.id, 100), model.digest);
    let head = [
        "task", "metric", "filter", "better", "date", "score", "n", "stderr", "few-shot", "version", "harness", "record", "says",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(baseline.scores().map(row));
    out.push_str(&table(&rows));
    for group in baseline.groups() {
        let members = plain_line(&group.members.join(" "), 200);
        out.push_str(&format!("group {}: {members}\n", plain_line(&group.name, 60)));
    }
    out
}

fn row(line: &ScoreLine) -> Vec<String> {
    let score = &line.score;
    let or_none = |text: Option<String>| text.map_or_else(|| "-".to_owned(), |text| plain_line(&text, 60));
    let says: Vec<String> = line.extras.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let setup = &score.setup;
    vec![
        plain_line(&score.key.task, 60),
        plain_line(&score.key.metric, 60),
        or_none(Some(score.key.filter.clone()).filter(|filter| !filter.is_empty())),
        or_none(score.aim.map(|aim| aim.to_string())),
        line.date.clone(),
        or_none(score.value.map(figure)),
        or_none(score.items.map(|items| items.to_string())),
        or_none(score.stderr.map(figure)),
        or_none(setup.few_shot.map(|shots| shots.to_string())),
        or_none(setup.task_version.clone()),
        or_none(setup.harness.clone()),
        line.record.clone(),
        plain_line(&says.join(" "), 120),
    ]
}

/// The runs that came and went between two states of a baseline.
pub fn moved(old: Option<&EvalBaseline>, new: Option<&EvalBaseline>) -> String {
    let lines = |baseline: Option<&EvalBaseline>| -> Vec<String> {
        let lines = baseline.into_iter().flat_map(EvalBaseline::scores);
        lines.map(ToString::to_string).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| ('-', line));
    let came = new.iter().filter(|line| !old.contains(line)).map(|line| ('+', line));
    gone.chain(came)
        .map(|(sign, line)| format!("{sign} {}\n", plain_line(line, 500)))
        .collect()
}

/// Each score with whether its evidence carries it.
///
/// # Errors
/// When a file cannot be read.
pub fn proved(baseline: &EvalBaseline, path: &Path) -> Result<Vec<(String, Result<(), String>)>> {
    let one = |line: &ScoreLine| -> Result<(String, Result<(), String>)> {
        let evidence = sound(&evidence_path(path, &line.date, &line.record), &line.record)?;
        let what = format!("{}, {}", line.score.key, line.date);
        Ok((what, evidence.and_then(|record| of_model(baseline, line, &record))))
    };
    baseline.scores().map(one).collect()
}

fn of_model(baseline: &EvalBaseline, line: &ScoreLine, record: &Record) -> Result<(), String> {
    let model = &baseline.model;
    let named = ModelName {
        id: model.id.clone(),
        digest: Some(model.digest.clone()),
    };
    let own = record.evidence.scores.as_ref().and_then(|scores| scores.candidate.model.as_ref());
    if let Some(own) = own.filter(|own| own.digest.is_some() && !own.agrees(&named)) {
        return Err(format!("the evidence is of the model {own}, not of {named}"));
    }
    agrees(line, record)
}
