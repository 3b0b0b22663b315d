//! `gate baseline accept`: a sealed record becomes lines of the baseline, and the evidence beside them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;

use super::{evidence_path, path_of, project, read, scores, shown};
use crate::cli::{answer, say};
use crate::edge::{baselines, files, ledger};
use crate::exit;
use crate::judge::acceptance::{Wanted, lines, worse};
use crate::judge::scores::acceptance as scores_wanted;
use crate::judge::summary::median;
use crate::model::baseline::{Baseline, SampleLine, is_arch};
use crate::model::gate::scores::ModelName;
use crate::model::number::figure;
use crate::model::record::{Record, VERSION, canonical, seal};
use crate::model::sample::Arm;

/// Longest reason that is kept, in characters.
const BECAUSE_MAX: usize = 300;

/// Accept a sealed record: its samples become lines of the baseline, the record itself their evidence
#[derive(Debug, Args)]
pub struct Accept {
    /// A record file, the first digits of a seal in the ledger, or `last`
    record: String,
    /// Add the session to the current ones [default]
    #[arg(long, conflicts_with = "replace")]
    append: bool,
    /// Put the session in the place of all current ones; historical lines stay
    #[arg(long)]
    replace: bool,
    /// Only this fixture; of scores, only this task
    #[arg(long, value_name = "NAME")]
    fixture: Option<String>,
    /// Only this metric
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Whose values: of the base (A) or of the candidate (B)
    #[arg(long, value_enum, default_value = "B", ignore_case = true)]
    arm: ArmName,
    /// Why a session that is worse than the current ones is accepted
    #[arg(long, value_name = "TEXT")]
    because: Option<String>,
    /// Of scores: the model that they are of, where the results do not tell its name and digest
    #[arg(long, value_name = "NAME@DIGEST", value_parser = ModelName::parse)]
    model: Option<ModelName>,
    /// The baseline [default: baselines/ARCH.txt of the architecture that was measured; of scores baselines/eval/MODEL.txt]
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// The ledger [default: GATE_LEDGER, else .gate/ledger.jsonl]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArmName {
    #[value(name = "A")]
    A,
    #[value(name = "B")]
    B,
}

impl Accept {
    /// Accepts, or says why not.
    ///
    /// # Errors
    /// When the record cannot be found, may not be accepted, or cannot be written.
    pub fn run(&self) -> Result<u8> {
        let value = self.find()?;
        let stored = value["seal"].as_str().unwrap_or_default();
        let sealed = seal(&value);
        let record: Record = match serde_json::from_value(value.clone()) {
            Ok(record) => record,
            Err(error) => bail!("{}: not a record: {error}", self.record),
        };
        if stored != sealed {
            say(&format!(
                "gate: violation: the seal is broken: it says {stored}, the bytes give {sealed}"
            ));
            return Ok(exit::VIOLATION.code);
        }
        if let Err(why) = crate::cli::ledger::again(&value, &record) {
            say(&format!("gate: violation: {why}"));
            return Ok(exit::VIOLATION.code);
        }
        self.refuse_relabelled(&record)?;
        if record.evidence.scores.is_some() {
            return self.accept_scores(&record, &(canonical(&value) + "\n"));
        }
        if self.model.is_some() {
            bail!("--model: says whose scores a record holds, and this one holds none");
        }
        self.accept(&record, &(canonical(&value) + "\n"))
    }

    fn accept_scores(&self, record: &Record, evidence: &str) -> Result<u8> {
        if self.arm == ArmName::A {
            bail!("--arm A: a record of scores is accepted for the model that it judged; accept the base's own record");
        }
        let accept = scores::Accept {
            replace: self.replace,
            wanted: scores_wanted::Wanted {
                task: self.fixture.as_deref(),
                metric: self.metric.as_deref(),
            },
            model: self.model.as_ref(),
            because: self.because.as_deref(),
            file: self.baseline.as_deref(),
        };
        let told = accept.run(record, evidence);
        answer(&told.with_context(|| format!("record {} is not accepted", short(&record.seal)))?)?;
        Ok(exit::PASS.code)
    }

    fn accept(&self, record: &Record, evidence: &str) -> Result<u8> {
        let refused = || format!("record {} is not accepted", short(&record.seal));
        let wanted = Wanted {
            arm: if self.arm == ArmName::A { Arm::A } else { Arm::B },
            fixture: self.fixture.as_deref(),
            metric: self.metric.as_deref(),
        };
        let lines = lines(record, &wanted).map_err(|why| anyhow!(why)).with_context(refused)?;
        let arch = record.identity.arch().filter(|arch| is_arch(arch));
        let arch = arch.ok_or_else(|| anyhow!("the architecture is not known")).with_context(refused)?;
        let path = path_of(self.baseline.as_deref(), &arch)?;
        let held = baselines::hold(&path)?;
        let mut baseline = read(&path)?.unwrap_or_else(|| Baseline::new(&arch));
        let same_name = crate::model::baseline::arch_of_file(&path.to_string_lossy()) == arch;
        if baseline.arch != arch || !same_name {
            bail!("{}: the record was measured on {arch}: name baselines/{arch}.txt", path.display());
        }
        let mut told = String::new();
        for line in lines {
            told.push_str(&self.put(record, &mut baseline, line).with_context(refused)?);
        }
        let date = record.at.get(..10).unwrap_or_default();
        let proof = evidence_path(&path, &arch, date, short(&record.seal));
        told.push_str(&format!("commit both: {} and {}\n", path.display(), proof.display()));
        baselines::write(&held, &path, &baseline.write(), &[(proof, evidence.to_owned())])?;
        answer(&told)?;
        Ok(exit::PASS.code)
    }

    /// Puts one line in; gives what to tell.
    fn put(&self, record: &Record, baseline: &mut Baseline, mut line: SampleLine) -> Result<String> {
        let current: Vec<SampleLine> = baseline.current(&line.fixture, &line.metric).cloned().collect();
        let references: Vec<&SampleLine> = current.iter().collect();
        let reason = self.because.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        match (worse(record, &line, &references), reason) {
            (Some(why), None) => bail!("{why}: say why it is accepted all the same, with --because"),
            (_, Some(reason)) if reason.chars().count() > BECAUSE_MAX => bail!("--because: at most {BECAUSE_MAX} characters are kept"),
            (_, Some(reason)) => drop(line.extras.insert("note".to_owned(), reason.to_owned())),
            (None, None) => {}
        }
        if self.replace
            && let Some(anchor) = anchor(&line, &current)
        {
            line.extras.insert("anchor".to_owned(), anchor);
        }
        let own = current.iter().filter(|other| other.identity == line.identity).count();
        let session = if self.replace { 1 } else { own + 1 };
        let middle = median(&mut line.values.clone()).map_or_else(String::new, figure);
        let told = format!(
            "accepted {} of {}: {} samples, median {middle} {}; session {session} of identity {}{}\n",
            crate::model::text::plain_line(&line.metric, 100),
            shown(&line.fixture),
            line.values.len(),
            line.unit,
            line.identity.as_deref().unwrap_or("-"),
            if session < 3 { ", 3 are needed to judge with" } else { "" },
        );
        let done = if self.replace {
            baseline.replace(line)
        } else {
            baseline.insert(line)
        };
        done.map_err(|why| anyhow!(why))?;
        Ok(told)
    }

    /// What the ledger says of a record since it was sealed counts, wherever the record comes from.
    fn refuse_relabelled(&self, record: &Record) -> Result<()> {
        let ledger = self.ledger()?;
        if !files::is_regular(&ledger) {
            return Ok(());
        }
        match ledger::relabels(&ledger::read(&ledger)?)?.get(&record.seal) {
            None => Ok(()),
            Some(relabel) => bail!(
                "record {} is not accepted: it is {}, {}",
                short(&record.seal),
                relabel.disposition,
                relabel.why()
            ),
        }
    }

    fn ledger(&self) -> Result<PathBuf> {
        Ok(ledger::path(self.ledger.as_deref(), &project()?.join(".gate")))
    }

    /// The record's JSON: from a file, else from the ledger.
    fn find(&self) -> Result<Value> {
        let path = Path::new(&self.record);
        let value = if files::is_regular(path) {
            let text = files::read_text(path)?;
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let (Some(line), None) = (lines.next(), lines.next()) else {
                bail!("{}: want one record on one line", path.display());
            };
            serde_json::from_str(line).with_context(|| format!("{}: not JSON", path.display()))?
        } else {
            let lines = ledger::read(&self.ledger()?)?;
            crate::cli::ledger::find(&lines, &self.record)?.value.clone()
        };
        match value["version"].as_u64() {
            Some(version) if version > u64::from(VERSION) => {
                bail!("the record is in format {version}, this gate knows {VERSION}: update gate")
            }
            Some(_) => Ok(value),
            None => bail!("{}: no record of gate", self.record),
        }
    }
}

/// Where creep is counted from once the current sessions of this identity are replaced: their own anchor, else the oldest of them.
fn anchor(line: &SampleLine, current: &[SampleLine]) -> Option<String> {
    let own = current
        .iter()
        .filter(|other| other.identity == line.identity && other.unit == line.unit);
    let oldest = own.min_by(|a, b| a.date.cmp(&b.date))?;
    match oldest.extra("anchor") {
        Some(anchor) => Some(anchor.to_owned()),
        None => Some(format!("{}@{}", oldest.date, median(&mut oldest.values.clone())?)),
    }
}

fn short(seal: &str) -> &str {
    seal.strip_prefix("b3:").and_then(|hex| hex.get(..12)).unwrap_or(seal)
}
