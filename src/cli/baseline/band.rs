//! Accepting the noise of A/A sessions: a band in the baseline for each fixture and metric, and the sessions' records as its evidence.

use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::{evidence_path, path_of, read, shown};
use crate::edge::baselines;
use crate::judge::band;
use crate::model::baseline::{BandLine, Baseline, arch_of_file, is_arch};
use crate::model::judgement::Disposition;
use crate::model::metric::Scale;
use crate::model::number::{count, size};
use crate::model::record::{Record, short};
use crate::model::text::plain_line;

/// Puts the bands of these fixtures and metrics in the place of the accepted ones of their identity; gives what to tell.
///
/// # Errors
/// When the records may not be accepted, a band is noisier than the accepted one and no reason is given, or a file cannot be written.
pub fn accept(records: &[Record], buckets: &[(&str, &str)], because: Option<&str>, file: Option<&Path>) -> Result<String> {
    let last = records.last().ok_or_else(|| anyhow!("there is no session"))?;
    if let Some(local) = records
        .iter()
        .find(|record| record.judgement.disposition == Disposition::Exploratory)
    {
        bail!(
            "record {} is exploratory: {}",
            short(&local.seal),
            plain_line(&local.judgement.disposition_because.join("; "), 500)
        );
    }
    let arch = last.identity.arch().filter(|arch| is_arch(arch));
    let arch = arch.ok_or_else(|| anyhow!("the architecture is not known"))?;
    let path = path_of(file, &arch)?;
    let held = baselines::hold(&path)?;
    let mut baseline = read(&path)?.unwrap_or_else(|| Baseline::new(&arch));
    if baseline.arch != arch || arch_of_file(&path.to_string_lossy()) != arch {
        bail!(
            "{}: the sessions were measured on {arch}: name baselines/{arch}.txt",
            path.display()
        );
    }
    let mut told = String::new();
    for (fixture, metric) in buckets {
        let line = band::line(records, fixture, metric).map_err(|why| anyhow!("{}: {why}", plain_line(metric, 100)))?;
        told.push_str(&put(&mut baseline, line, because)?);
    }
    let mut evidence = Vec::new();
    for record in records {
        let date = record.at.get(..10).unwrap_or_default();
        let proof = evidence_path(&path, &arch, date, &short(&record.seal));
        told.push_str(&format!("evidence: {}\n", proof.display()));
        evidence.push((proof, record.line()? + "\n"));
    }
    baselines::write(&held, &path, &baseline.write(), &evidence)?;
    told.push_str(&format!("commit {} with its evidence\n", path.display()));
    Ok(told)
}

fn put(baseline: &mut Baseline, mut line: BandLine, because: Option<&str>) -> Result<String> {
    let same = |other: &&BandLine| (&other.fixture, &other.metric, &other.identity) == (&line.fixture, &line.metric, &line.identity);
    let accepted = baseline.bands().find(same).cloned();
    match (accepted.as_ref().and_then(|accepted| band::worse(&line, accepted)), because) {
        (Some(why), None) => bail!("{why}: say why it is accepted all the same, with --because"),
        (_, Some(reason)) => drop(line.extras.insert("note".to_owned(), reason.to_owned())),
        (None, None) => {}
    }
    let shown_pct = [line.sd_pct, line.low, line.high].map(|pct| size(pct, Scale::Pct, ""));
    let told = format!(
        "accepted the noise of {} of {}: {} a run, 95 % interval {} to {}, {}, identity {}\n",
        plain_line(&line.metric, 100),
        shown(&line.fixture),
        shown_pct[0],
        shown_pct[1],
        shown_pct[2],
        count(line.sessions, "session"),
        line.identity
    );
    baseline.replace_band(line).map_err(|why| anyhow!(why))?;
    Ok(told)
}
