//! `gate baseline check`: no line without evidence, and no evidence that does not say what its line says.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::{evidence_path, read_existing, scores, shown};
use crate::cli::answer;
use crate::edge::baselines;
use crate::exit;
use crate::judge::acceptance::agrees;
use crate::judge::band;
use crate::model::baseline::{BandLine, Baseline, SampleLine};
use crate::model::record::{Record, VERSION, seal};
use crate::model::text::plain_line;

/// What the lines of one baseline are worth.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Lines whose evidence carries them.
    pub proved: usize,
    /// Lines without a record, which nothing proves and no verdict rests on.
    pub historical: usize,
    /// What is wrong, one sentence a line.
    pub violations: Vec<String>,
}

/// Checks every file. A line that its evidence does not carry is a violation; a baseline without a line is nothing checked.
pub fn check(files: &[PathBuf]) -> Result<u8> {
    let (mut out, mut violations, mut lines) = (String::new(), 0, 0);
    for path in files {
        let found = inspect(path)?;
        let name = path.display();
        for why in &found.violations {
            out.push_str(&format!("{name}: {why}\n"));
        }
        violations += found.violations.len();
        lines += found.proved + found.historical;
        out.push_str(&format!(
            "{name}: {} lines with sound evidence, {} historical\n",
            found.proved, found.historical
        ));
    }
    out.push_str(&format!("{violations} violations\n"));
    answer(&out)?;
    Ok(match (violations, lines) {
        (0, 0) => exit::INCONCLUSIVE.code,
        (0, _) => exit::PASS.code,
        _ => exit::VIOLATION.code,
    })
}

/// Checks one file.
///
/// # Errors
/// When it is missing, cannot be read, or is no baseline.
pub fn inspect(path: &Path) -> Result<Inspection> {
    let mut found = Inspection::default();
    let mut tell = |what: String, verdict: Result<(), String>| match verdict {
        Ok(()) => found.proved += 1,
        Err(why) => found.violations.push(format!("{what}: {}", plain_line(&why, 1000))),
    };
    if let Some(bytes) = baselines::read(path)?.filter(|bytes| scores::is_one(bytes)) {
        for (what, verdict) in scores::proved(&scores::read(&bytes, path)?, path)? {
            tell(what, verdict);
        }
        return Ok(found);
    }
    let baseline = read_existing(path)?;
    for line in baseline.samples() {
        let what = format!("{} of {}, {}", plain_line(&line.metric, 100), shown(&line.fixture), line.date);
        if let Some(record) = &line.record {
            tell(what, sample(path, &baseline, line, record)?);
        }
    }
    for line in baseline.bands() {
        let what = format!("band of {} of {}", plain_line(&line.metric, 100), shown(&line.fixture));
        tell(what, proved_band(path, &baseline, line)?);
    }
    found.historical = baseline.samples().filter(|line| line.record.is_none()).count();
    Ok(found)
}

fn sample(path: &Path, baseline: &Baseline, line: &SampleLine, record: &str) -> Result<Result<(), String>> {
    let evidence = evidence_path(path, &baseline.arch, &line.date, record);
    let sound = sound(&evidence, record)?;
    // Of a superseded session nothing is claimed any more but that it was measured.
    Ok(sound.and_then(|found| {
        if line.is_historical() {
            Ok(())
        } else {
            agrees(line, &baseline.arch, &found)
        }
    }))
}

fn proved_band(path: &Path, baseline: &Baseline, line: &BandLine) -> Result<Result<(), String>> {
    let folder = baselines::folder_of(path).join("evidence").join(&baseline.arch);
    let mut records = Vec::new();
    let named = band::others(line).into_iter().rev().chain([line.record.as_str()]);
    for record in named {
        let found = match baselines::evidence_of(&folder, record)? {
            Some(evidence) => sound(&evidence, record)?,
            None => Err(format!("no evidence of record {record} in {}", folder.display())),
        };
        match found {
            Ok(found) => records.push(found),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(band::agrees(line, &baseline.arch, &records))
}

/// The record in an evidence file, its seal and its judgement verified.
pub fn sound(path: &Path, record: &str) -> Result<Result<Record, String>> {
    let Some(bytes) = baselines::read_evidence(path)? else {
        return Ok(Err(format!("no evidence: {} is missing", path.display())));
    };
    let at = |why: String| format!("{}: {why}", path.display());
    Ok(read(&bytes, record).map_err(at))
}

fn read(bytes: &[u8], record: &str) -> Result<Record, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("damaged: {error}"))?;
    let (stored, sealed) = (value["seal"].as_str().unwrap_or_default(), seal(&value));
    if stored != sealed {
        return Err(format!("the seal is broken: it says {stored}, the bytes give {sealed}"));
    }
    if !sealed.starts_with(&format!("b3:{record}")) {
        return Err(format!("it is record {sealed}, not {record}"));
    }
    if value["version"].as_u64().is_none_or(|version| version > u64::from(VERSION)) {
        return Err(format!("not in record format {VERSION} or older"));
    }
    let found: Record = serde_json::from_value(value.clone()).map_err(|error| format!("damaged: {error}"))?;
    crate::cli::ledger::again(&value, &found)?;
    Ok(found)
}
