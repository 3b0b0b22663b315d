//! The base's scores: accepted runs of an eval baseline, or results that are named for this comparison.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::declared::Declared;
use super::found::{self, Choice, Read};
use super::{Eval, answers, artifact};
use crate::cli::rules::{Found, Rules};
use crate::edge::{baselines, files, results};
use crate::model::baseline::FILE_MAX_BYTES;
use crate::model::eval::baseline::{EvalBaseline, HEAD, ScoreLine, parse_bytes};
use crate::model::eval::evidence::{BaseKind, ScoreRun};
use crate::model::eval::{Outcomes, Results};
use crate::model::gate::scores::ModelName;
use crate::model::identity::Artifact;
use crate::model::record::{Record, seal};
use crate::model::text::plain_line;

/// Where eval baselines are.
pub const FOLDER: &str = "baselines/eval";
/// Most accepted runs that are judged with, the newest ones.
const RUNS_MAX: usize = 20;
/// Largest evidence file that is read, in bytes.
const EVIDENCE_MAX_BYTES: u64 = 256 << 20;
/// Largest committed result file that is compared with the one at hand, in bytes.
const COMMITTED_MAX_BYTES: u64 = 256 << 20;

/// The base's scores, and what a reader should know of them.
pub struct Base {
    /// Where they come from.
    pub kind: BaseKind,
    /// One entry a run.
    pub runs: Vec<ScoreRun>,
    /// The files that were read.
    pub artifacts: Vec<Artifact>,
    /// Where they come from, in words.
    pub why: String,
    /// What a reviewer must see.
    pub banners: Vec<String>,
    /// The rules' revision does not have them: they only advise.
    pub is_new: bool,
}

/// The base's scores.
///
/// # Errors
/// When they are named and cannot be read, or several could be meant.
pub fn base(options: &Eval, declared: &Declared, rules: &Rules, choice: &Choice<'_>) -> Result<Base> {
    let mut base = Base {
        kind: BaseKind::None,
        runs: Vec::new(),
        artifacts: Vec::new(),
        why: "none: no baseline is named, and none stands in baselines/eval".to_owned(),
        banners: Vec::new(),
        is_new: false,
    };
    let wanted = declared.gate.scores.as_ref().and_then(|keys| keys.base_model.as_ref());
    let named: Vec<PathBuf> = match (&options.baseline[..], &declared.baseline) {
        ([], Some(path)) => {
            let path = rules.named(path);
            if !files::is_there(&path) && rules.committed(&path, COMMITTED_MAX_BYTES)?.is_none() {
                base.why = format!("none: {} is not there yet", path.display());
                return Ok(base);
            }
            vec![path]
        }
        ([], None) => Vec::new(),
        (named, _) => named.to_vec(),
    };
    if named.is_empty() {
        let accepted = accepted(&rules.list(FOLDER, ".txt")?, rules)?;
        if let Some(chosen) = chosen(accepted, wanted)? {
            base.accept(chosen, rules)?;
        }
    }
    for path in &named {
        match meant(path, wanted, rules)? {
            Some(chosen) => base.accept(chosen, rules)?,
            None => base.take(path, options, rules, choice)?,
        }
    }
    if options.samples_a.is_some() && base.kind != BaseKind::Results {
        bail!("--samples-a: the base is no results file: accepted runs have their answers in their evidence");
    }
    Ok(base)
}

/// One baseline with its file.
struct Accepted {
    path: PathBuf,
    found: Found,
    baseline: EvalBaseline,
}

/// The baseline that a path means; none where it is a file or folder of results.
fn meant(path: &Path, wanted: Option<&ModelName>, rules: &Rules) -> Result<Option<Accepted>> {
    if files::is_folder(path) {
        let texts = files::listing(path, ".txt")?.into_iter();
        let baselines: Vec<PathBuf> = texts.filter(|path| is_baseline(path)).collect();
        return chosen(accepted(&baselines, rules)?, wanted);
    }
    let committed = rules.committed(path, FILE_MAX_BYTES as u64)?;
    let committed = committed.is_some_and(|bytes| begins(&bytes));
    if committed || is_baseline(path) {
        return accepted(&[path.to_owned()], rules).map(|mut one| one.pop());
    }
    if !files::is_regular(path) {
        bail!("--baseline: no such file or folder: {}", path.display());
    }
    Ok(None)
}

fn is_baseline(path: &Path) -> bool {
    results::head(path, 64).is_ok_and(|head| begins(&head))
}

fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(HEAD.as_bytes())
}

fn accepted(paths: &[PathBuf], rules: &Rules) -> Result<Vec<Accepted>> {
    let read = |path: &PathBuf| -> Result<Option<Accepted>> {
        let Some(found) = rules.read(path, FILE_MAX_BYTES as u64)? else {
            return Ok(None);
        };
        let baseline = parse_bytes(&found.bytes, &path.to_string_lossy()).map_err(|fault| anyhow!(fault))?;
        Ok(Some(Accepted {
            path: path.clone(),
            found,
            baseline,
        }))
    };
    paths.iter().filter_map(|path| read(path).transpose()).collect()
}

/// The baseline of the wanted model; the only one where there is but one, whatever its model: the judge refuses a foreign one.
fn chosen(mut accepted: Vec<Accepted>, wanted: Option<&ModelName>) -> Result<Option<Accepted>> {
    if accepted.len() <= 1 {
        return Ok(accepted.pop());
    }
    let lines: Vec<String> = accepted
        .iter()
        .map(|one| format!("  {}: {}", one.path.display(), name(&one.baseline)))
        .collect();
    let all = lines.join("\n");
    let number = accepted.len();
    if let Some(wanted) = wanted {
        accepted.retain(|one| name(&one.baseline).agrees(wanted));
    }
    match (accepted.pop(), accepted.len()) {
        (Some(one), 0) => Ok(Some(one)),
        (Some(_), _) => {
            bail!("{number} baselines, and nothing says which: name one with --baseline, or the model with --base-model:\n{all}")
        }
        (None, _) => bail!("{number} baselines, and none is of the wanted model: name one with --baseline:\n{all}"),
    }
}

fn name(baseline: &EvalBaseline) -> ModelName {
    ModelName {
        id: baseline.model.id.clone(),
        digest: Some(baseline.model.digest.clone()),
    }
}

impl Base {
    /// Takes the accepted runs of a baseline.
    fn accept(&mut self, accepted: Accepted, rules: &Rules) -> Result<()> {
        let Accepted { path, found, baseline } = accepted;
        if self.kind == BaseKind::Results {
            bail!(
                "--baseline: {} is a baseline, and others are results: name one kind",
                path.display()
            );
        }
        self.artifacts.push(artifact("baseline", &path, &found.bytes)?);
        self.kind = BaseKind::Baseline;
        self.why = format!("the baseline {} of the {}", path.display(), found.from);
        self.banners.extend(found.banner);
        self.is_new |= found.is_new;
        for mut run in runs(&baseline, &path) {
            match evidence(&run, &path, rules) {
                Ok(outcomes) => run.results.outcomes = outcomes,
                Err(why) => run.notes.push(format!("no paired result: {why:#}")),
            }
            self.runs.push(run);
        }
        Ok(())
    }

    /// Takes results: a file or folder is a run of its own, unless it only adds tasks to the one before it.
    fn take(&mut self, path: &Path, options: &Eval, rules: &Rules, choice: &Choice<'_>) -> Result<()> {
        if self.kind == BaseKind::Baseline {
            bail!(
                "--baseline: {} are results, and others are a baseline: name one kind",
                path.display()
            );
        }
        // The model option speaks of the candidate.
        let choice = Choice {
            newest: choice.newest,
            model: None,
            adapter: choice.adapter,
            series: choice.series,
        };
        let mut read = found::one(path, &choice).context("--baseline")?;
        for file in &read.files {
            refuse_edited(file, rules)?;
        }
        answers::attach(&mut read, options.samples_a.as_deref(), "--samples-a")?;
        let Read { run, artifacts, .. } = read;
        self.why = match self.kind {
            BaseKind::None => format!("the results {}", run.file),
            _ => format!("{}, {}", self.why, run.file),
        };
        self.kind = BaseKind::Results;
        self.artifacts.extend(artifacts);
        match self.runs.last_mut().filter(|last| !share_a_score(&last.results, &run.results)) {
            Some(last) => last.add(run),
            None => self.runs.push(run),
        }
        Ok(())
    }
}

fn share_a_score(one: &Results, other: &Results) -> bool {
    one.scores.iter().any(|score| other.scores.iter().any(|same| same.key == score.key))
}

/// A change must not edit the committed results that it is compared with.
fn refuse_edited(path: &Path, rules: &Rules) -> Result<()> {
    let Some(committed) = rules.committed(path, COMMITTED_MAX_BYTES)? else {
        return Ok(());
    };
    let (own, _) = results::read(path)?;
    if own == committed {
        return Ok(());
    }
    bail!(
        "--baseline: {}: this change edits the results that it is compared with: take those of the {}",
        path.display(),
        rules.words
    )
}

/// The accepted runs, the newest first: the lines of one record are one run.
fn runs(baseline: &EvalBaseline, path: &Path) -> Vec<ScoreRun> {
    let mut by_record: BTreeMap<(&str, &str), Vec<&ScoreLine>> = BTreeMap::new();
    for line in baseline.scores() {
        by_record.entry((&line.date, &line.record)).or_default().push(line);
    }
    let run = |((date, record), lines): ((&str, &str), Vec<&ScoreLine>)| ScoreRun {
        file: path.display().to_string(),
        at: Some(date.to_owned()),
        record: Some(record.to_owned()),
        model: Some(name(baseline)),
        results: Results {
            scores: lines.into_iter().map(|line| line.score.clone()).collect(),
            groups: baseline.groups().cloned().collect(),
            outcomes: Vec::new(),
        },
        notes: Vec::new(),
    };
    by_record.into_iter().rev().take(RUNS_MAX).map(run).collect()
}

/// Where the evidence of an accepted run stands.
pub fn evidence_path(baseline: &Path, date: &str, record: &str) -> PathBuf {
    let name = baseline.file_stem().unwrap_or_default();
    baselines::folder_of(baseline)
        .join("evidence")
        .join(name)
        .join(format!("{date}-{record}.json"))
}

/// The answers to single items of an accepted run, from its evidence.
fn evidence(run: &ScoreRun, baseline: &Path, rules: &Rules) -> Result<Vec<Outcomes>> {
    let (date, record) = (run.at.as_deref().unwrap_or_default(), run.record.as_deref().unwrap_or_default());
    let path = evidence_path(baseline, date, record);
    let Some(found) = rules.read(&path, EVIDENCE_MAX_BYTES)? else {
        bail!("its evidence is not there ({})", path.display());
    };
    let value: Value = serde_json::from_slice(&found.bytes).with_context(|| format!("{}: not JSON", path.display()))?;
    let stored = value["seal"].as_str().unwrap_or_default();
    if stored != seal(&value) || !stored.trim_start_matches("b3:").starts_with(record) {
        bail!("{}: its seal is broken, or it is another record", path.display());
    }
    let of_record: Record = serde_json::from_value(value).with_context(|| format!("{}: no record", path.display()))?;
    let scores = of_record.evidence.scores.ok_or_else(|| anyhow!("{}: no scores", path.display()))?;
    Ok(scores.candidate.results.outcomes)
}

/// A baseline's name in a file: the model's, without what a path must not hold.
pub fn file_name(model: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = plain_line(model, 100).replace('/', "--").chars().map(safe).collect();
    let name = name.trim_matches(['.', '-', '_']).to_owned();
    format!("{}.txt", if name.is_empty() { "model" } else { &name })
}
