//! `gate baseline show` and `diff`: what a baseline holds, and what moved since a revision.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow};

use super::{read, read_existing, scores, shown};
use crate::cli::answer;
use crate::cli::columns::table;
use crate::edge::baselines;
use crate::exit;
use crate::judge::summary::median;
use crate::model::baseline::{Baseline, SampleLine, parse_bytes};
use crate::model::metric::{Better, Scale};
use crate::model::number::{difference, figure};
use crate::model::text::plain_line;

/// Shows every session of the files.
pub fn show(files: &[PathBuf]) -> Result<u8> {
    let mut out = String::new();
    for path in files {
        if let Some(bytes) = baselines::read(path)?.filter(|bytes| scores::is_one(bytes)) {
            out.push_str(&scores::shown(&scores::read(&bytes, path)?, path));
            continue;
        }
        let baseline = read_existing(path)?;
        out.push_str(&format!("{} ({})\n", path.display(), baseline.arch));
        let head = [
            "fixture",
            "metric",
            "better",
            "date",
            "n",
            "min / median / max",
            "identity",
            "record",
            "says",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(baseline.samples().map(row));
        out.push_str(&table(&rows));
        for band in baseline.bands() {
            out.push_str(&format!(
                "band {} {}: {} % a run, 95 % interval {} to {} %, {} sessions, identity {}\n",
                shown(&band.fixture),
                plain_line(&band.metric, 60),
                band.sd_pct,
                band.low,
                band.high,
                band.sessions,
                band.identity
            ));
        }
    }
    answer(&out)?;
    Ok(exit::PASS.code)
}

fn row(line: &SampleLine) -> Vec<String> {
    let better = if line.better == Better::Higher { "higher" } else { "lower" };
    let digest = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "-".to_owned());
    let says: Vec<String> = line.extras.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut values = line.values.clone();
    let middle = median(&mut values).unwrap_or(f64::NAN);
    let ends = [values.first(), values.last()].map(|end| end.copied().map_or_else(String::new, figure));
    vec![
        shown(&line.fixture),
        plain_line(&line.metric, 60),
        better.to_owned(),
        line.date.clone(),
        line.values.len().to_string(),
        format!("{} / {} / {} {}", ends[0], figure(middle), ends[1], line.unit),
        digest(&line.identity),
        digest(&line.record),
        plain_line(&says.join(" "), 120),
    ]
}

/// Shows the sessions that came and went, and how the middle of each bucket moved.
pub fn diff(revision: &str, files: &[PathBuf]) -> Result<u8> {
    let mut out = String::new();
    for path in files {
        let name = path.to_string_lossy();
        let (was, is) = (baselines::at_revision(path, revision)?, baselines::read(path)?);
        if [&was, &is].into_iter().flatten().any(|bytes| scores::is_one(bytes)) {
            let read = |bytes: Option<Vec<u8>>| bytes.map(|bytes| scores::read(&bytes, path)).transpose();
            out.push_str(&format!("{name}: {revision} -> working tree\n"));
            out.push_str(&scores::moved(read(was)?.as_ref(), read(is)?.as_ref()));
            continue;
        }
        let old = match was {
            Some(bytes) => Some(parse_bytes(&bytes, &name).map_err(|fault| anyhow!("at {revision}: {fault}"))?),
            None => None,
        };
        let new = read(path)?;
        out.push_str(&format!("{name}: {revision} -> working tree\n"));
        let (old, new) = (buckets(old.as_ref()), buckets(new.as_ref()));
        let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for bucket in names {
            let empty = Vec::new();
            moved(
                &mut out,
                bucket,
                old.get(bucket).unwrap_or(&empty),
                new.get(bucket).unwrap_or(&empty),
            );
        }
    }
    answer(&out)?;
    Ok(exit::PASS.code)
}

type Buckets<'a> = BTreeMap<(&'a str, &'a str), Vec<&'a SampleLine>>;

fn buckets(baseline: Option<&Baseline>) -> Buckets<'_> {
    let mut buckets = Buckets::new();
    for line in baseline.into_iter().flat_map(Baseline::samples) {
        buckets.entry((&line.fixture, &line.metric)).or_default().push(line);
    }
    buckets
}

fn moved(out: &mut String, (fixture, metric): &(&str, &str), old: &[&SampleLine], new: &[&SampleLine]) {
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| ('-', line));
    let came = new.iter().filter(|line| !old.contains(line)).map(|line| ('+', line));
    let changes: Vec<(char, &&SampleLine)> = gone.chain(came).collect();
    if changes.is_empty() {
        return;
    }
    for (sign, line) in &changes {
        out.push_str(&format!("{sign} {}\n", plain_line(&line.to_string(), 500)));
    }
    let (Some(from), Some(to)) = (middle(old), middle(new)) else {
        return;
    };
    let rise = 100.0 * (to - from) / from.abs();
    let better = new.first().map_or(Better::Higher, |line| line.better);
    let gain = if better == Better::Higher { rise } else { -rise };
    let unit = new.first().map_or("", |line| line.unit.canonical());
    out.push_str(&format!(
        "  {} of {}: {} -> {} {unit}, a gain of {}\n",
        plain_line(metric, 60),
        shown(fixture),
        figure(from),
        figure(to),
        difference(gain, Scale::Pct, unit)
    ));
}

/// The median of the medians of the current sessions.
fn middle(lines: &[&SampleLine]) -> Option<f64> {
    let current = lines.iter().filter(|line| !line.is_historical());
    median(&mut current.filter_map(|line| median(&mut line.values.clone())).collect::<Vec<f64>>())
}
