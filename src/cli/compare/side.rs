//! One side of a comparison, whatever it is kept in: one report.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::scores;
use crate::adapter::Adapter;
use crate::cli::results::{self, Found, Reading, keys};
use crate::edge::files;
use crate::model::baseline::{FILE_MAX_BYTES, SampleLine, parse_bytes};
use crate::model::eval::baseline::HEAD;
use crate::model::identity::{Facts, Identity};
use crate::model::record::{Record, VERSION, seal, short};
use crate::model::report::{Process, Report, Reported};
use crate::model::sample::{Arm, Sample};

/// How a baseline begins.
const BASELINE: &str = "gate-baseline ";
/// Configuration that differs from checkout to checkout and explains no figure.
const PLACES: [&str; 2] = ["cwd", "removed_env"];

/// One side.
pub struct Side {
    /// As it was named.
    pub name: String,
    /// What it is, in words.
    pub is: String,
    /// Its series, each with its processes, and its configuration.
    pub report: Report,
}

impl Side {
    /// Reads a file or folder.
    ///
    /// # Errors
    /// When it holds nothing that is known, or is damaged.
    pub fn read(path: &Path, adapter: Option<&'static Adapter>, partial: bool) -> Result<Self> {
        let name = path.display().to_string();
        let whole = files::read_input(path, FILE_MAX_BYTES as u64).ok().flatten();
        if let Some(bytes) = whole.filter(|_| adapter.is_none()) {
            if bytes.starts_with(BASELINE.as_bytes()) {
                return of_baseline(name, &bytes);
            }
            if bytes.starts_with(HEAD.as_bytes()) {
                return scores::of_baseline(name, &bytes);
            }
            if let Some(value) = record(&bytes)? {
                return of_record(name, &value);
            }
        }
        let reading = Reading {
            adapter,
            partial,
            ..Reading::default()
        };
        let (mut found, left_out) = reading.of(path)?;
        results::tell(&left_out);
        if let Some(result) = left_out.into_iter().find(|left_out| left_out.unread.is_result) {
            let file = result.path.display().to_string();
            return Err(result.unread.why.context(file)).context("a result that cannot be read is not passed over");
        }
        keys::fill(&mut found);
        let is = match found.as_slice() {
            [one] => one.adapter.to_owned(),
            several => format!("{} results", several.len()),
        };
        Ok(Self {
            name,
            is,
            report: together(found),
        })
    }
}

/// Several results as one: each is a further process of its series. Fields in which they differ are told with every value.
fn together(found: Vec<Found>) -> Report {
    let differing = keys::several(found.iter().map(|one| &one.report));
    let mut reports = found.into_iter().map(|found| found.report);
    let Some(mut all) = reports.next() else { return Report::default() };
    for report in reports {
        for series in report.series {
            match all.series.iter_mut().find(|known| known.label() == series.label()) {
                Some(known) => {
                    known.processes.extend(series.processes);
                    known.notes.extend(series.notes);
                }
                None => all.series.push(series),
            }
        }
        all.notes.extend(report.notes);
        all.config.extend(report.config);
    }
    all.config.extend(differing);
    all
}

fn of_baseline(name: String, bytes: &[u8]) -> Result<Side> {
    let baseline = parse_bytes(bytes, &name).map_err(|fault| anyhow!("{fault}"))?;
    let mut newest: BTreeMap<(&str, &str), &SampleLine> = BTreeMap::new();
    for line in baseline.samples().filter(|line| !line.is_historical()) {
        let known = newest.entry((&line.fixture, &line.metric)).or_insert(line);
        if line.date >= known.date {
            *known = line;
        }
    }
    if newest.is_empty() {
        bail!("the baseline has no current session: there is nothing to compare with");
    }
    let series = newest.into_values().map(|line| Reported {
        name: line.metric.clone(),
        of: of_fixture(&line.fixture),
        unit: Some(line.unit),
        better: Some(line.better),
        processes: line.values.iter().map(|value| Process::of(vec![*value])).collect(),
        notes: vec![format!("session of {}", line.date)],
        ..Reported::default()
    });
    Ok(Side {
        is: format!("baseline of {}", baseline.arch),
        report: Report {
            tool: "gate".to_owned(),
            series: series.collect(),
            config: BTreeMap::from([("arch".to_owned(), baseline.arch.clone())]),
            ..Report::default()
        },
        name,
    })
}

fn of_fixture(fixture: &str) -> BTreeMap<String, String> {
    let named = (!fixture.is_empty()).then(|| ("fixture".to_owned(), fixture.to_owned()));
    named.into_iter().collect()
}

/// The record that a file holds, as JSON; none where it holds something else.
fn record(bytes: &[u8]) -> Result<Option<Value>> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let Some(Ok(first)) = values.next() else { return Ok(None) };
    if !(first["seal"].is_string() && first["judgement"].is_object() && first["evidence"].is_object()) {
        return Ok(None);
    }
    if first["version"].as_u64().is_none_or(|version| version > u64::from(VERSION)) {
        bail!("a record of a format that this version does not read: update gate");
    }
    match values.next() {
        None => Ok(Some(first)),
        Some(_) => bail!("holds several records: give a file with one, as --out writes"),
    }
}

/// What a record's candidate gave.
fn of_record(name: String, value: &Value) -> Result<Side> {
    let stored = value["seal"].as_str().unwrap_or_default();
    if seal(value) != stored {
        bail!("the record's seal is broken ({}): its numbers cannot be trusted", short(stored));
    }
    let record: Record = serde_json::from_value(value.clone()).context("not a record that this version reads")?;
    let counts = |sample: &&Sample| sample.arm == Arm::B && !sample.warmup && !sample.profiled && sample.void.is_none();
    let samples: Vec<&Sample> = record.evidence.samples.iter().filter(counts).collect();
    let judged = record.evidence.scores.as_ref();
    let mut series = judged.map_or_else(Vec::new, |judged| scores::series(&judged.candidate.results));
    for cell in &record.plan.cells {
        for metric in record
            .gate
            .metrics
            .iter()
            .filter(|metric| record.gate.measures(&cell.fixture, &metric.name))
        {
            let of_cell = samples.iter().filter(|sample| sample.cell == *cell);
            series.push(Reported {
                name: metric.name.clone(),
                of: of_fixture(&cell.fixture),
                unit: Some(metric.unit),
                better: Some(metric.better),
                processes: of_cell.map(|sample| process(sample, &metric.name)).collect(),
                ..Reported::default()
            });
        }
    }
    Ok(Side {
        is: format!("record {}, its candidate", short(&record.seal)),
        report: Report {
            tool: format!("gate {}", record.kind),
            at: Some(record.at.clone()),
            series,
            config: fields(&record.identity),
            ..Report::default()
        },
        name,
    })
}

fn process(sample: &Sample, metric: &str) -> Process {
    match (&sample.failed, sample.value(metric), sample.missing(metric)) {
        (Some(why), ..) => Process::failed(why.clone()),
        (None, Some(value), _) => Process::of(vec![value]),
        (None, None, Some(missing)) => Process::Missing(missing.clone()),
        (None, None, None) => Process::not_measured("neither a figure nor a reason stands in the sample"),
    }
}

/// The identity of a record's candidate, one text a field.
fn fields(identity: &Identity) -> BTreeMap<String, String> {
    let parts: [(&str, &Facts); 5] = [
        ("model", &identity.model),
        ("prompt", &identity.prompt),
        ("gpu", &identity.gpu),
        ("config", &identity.config),
        ("policy", &identity.policy),
    ];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let told = parts
        .into_iter()
        .flat_map(|(part, facts)| facts.iter().map(move |(field, value)| (part, field, value)));
    let told = told.filter(|(part, field, _)| *part != "config" || !PLACES.contains(&field.as_str()));
    let mut fields: BTreeMap<String, String> = told.map(|(part, field, value)| (format!("{part}.{field}"), text(value))).collect();
    if let Some(source) = &identity.arms.b.source {
        fields.insert("source".to_owned(), source.tree.clone().unwrap_or_else(|| source.commit.clone()));
    }
    if let Some(build) = crate::model::identity::build_digest(&identity.arms.b) {
        fields.insert("artifacts".to_owned(), build);
    }
    fields
}
