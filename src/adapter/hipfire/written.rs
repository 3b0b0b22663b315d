//! What hipfire's scripts write as JSON: the turns of `serve_harness.py`, a bench-suite object, and results per model.

use std::collections::BTreeMap;

use super::{fail, figure};
use crate::adapter::foreign::Json;
use crate::adapter::foreign::runs::Run;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Reported};
use crate::model::unit::Unit;

/// The figures of a turn.
const OF_TURN: [&str; 6] = ["prefill_ms", "prefill_tok_s", "decode_tok_s", "tau", "ttft_s", "wall_s"];
/// What must be equal before two turns are compared.
const TURN: [&str; 8] = ["ctx", "cached", "gen", "finish", "prompt_md5", "dflash", "mtp", "cycles"];
/// What makes the figures of a turn worthless, and what is said of it.
const UNHEALTHY: [(&str, &str); 2] = [
    ("empty", "the turn gave no visible text"),
    ("attractor", "the turn repeated itself"),
];

/// The kinds of document.
enum Form<'j> {
    Turns(Vec<&'j Json>),
    Suite(&'j Json),
    Models(Vec<&'j Json>),
}

fn form(values: &[Json]) -> Option<(Form<'_>, usize)> {
    let [value] = values else { return None };
    let count = |row: &Json, keys: &[&str]| keys.iter().filter(|key| row.has(key)).count();
    if let Some(first) = value.items().first() {
        let rows = value.items().iter().collect();
        let turns = count(first, &["decode_estimated", "runaway", "attractor", "ans_preview"]);
        if turns > 0 {
            return Some((Form::Turns(rows), turns));
        }
        let models = count(first, &["hfid", "dt_s", "parsed"]);
        return (models > 1).then_some((Form::Models(rows), models));
    }
    let suite = count(value, &["decode_tok_s", "prefill_natural_tok_s"]) + usize::from(!matches!(value.get("pp"), None | Some(Json::Null)));
    let is_error = value.has("model") && value.has("error");
    match (suite, is_error) {
        (0, false) => None,
        (0, true) => Some((Form::Suite(value), 1)),
        (suite, _) => Some((Form::Suite(value), suite)),
    }
}

pub(super) fn signs(values: &[Json]) -> usize {
    form(values).map_or(0, |(_, signs)| signs)
}

pub(super) fn runs(values: &[Json]) -> Result<Vec<Run>, Refused> {
    match form(values) {
        Some((Form::Turns(rows), _)) => Ok(vec![turns(&rows)]),
        Some((Form::Suite(suite), _)) => Ok(vec![of_suite(suite)]),
        Some((Form::Models(rows), _)) => rows.iter().enumerate().map(|(at, row)| of_model(at + 1, row)).collect(),
        None => Err(Refused(
            "no result of hipfire: want the turns of serve_harness, a bench-suite object, or results per model".to_owned(),
        )),
    }
}

/// One resident process; a turn is a prompt of its own, so that no figure goes over turns but the count of unhealthy ones.
fn turns(rows: &[&Json]) -> Run {
    let mut run = Run::default();
    for (at, row) in rows.iter().enumerate() {
        run.series.extend(turn(&(at + 1).to_string(), row));
    }
    for sign in ["empty", "attractor", "runaway", "retrieval_missing"] {
        run.series.extend(count(sign, rows));
    }
    run
}

fn turn(number: &str, row: &Json) -> Vec<Reported> {
    let is = |key: &str| is_true(row.get(key));
    let detail = TURN.iter().filter_map(|key| Some(((*key).to_owned(), row.get(key)?.shown())));
    let detail: BTreeMap<String, String> = detail.collect();
    let mut series: Vec<Reported> = OF_TURN.iter().filter_map(|key| figure(key, row.get(key)?)).collect();
    for figure in &mut series {
        figure.of.insert("turn".to_owned(), number.to_owned());
        if figure.name == "decode_tok_s" && is("decode_estimated") {
            figure.of.insert("source".to_owned(), "client".to_owned());
            figure
                .notes
                .push("estimated by the client: never compared with the server's own".to_owned());
        }
        if figure.name.starts_with("prefill") && row.get("cached").and_then(Json::count).is_some_and(|cached| cached > 0) {
            figure.notes.push("a part of the prompt came from the cache".to_owned());
        }
        if is("runaway") {
            figure.notes.push("ran into the limit of tokens".to_owned());
        }
        figure.detail.clone_from(&detail);
        let unhealthy = UNHEALTHY.iter().find(|(key, _)| is(key)).map(|(_, why)| *why);
        let missing = is("retrieval_missing").then_some("the turn did not retrieve what it was asked for");
        if let Some(why) = unhealthy.or(missing) {
            figure.processes = vec![Process::failed(why)];
        }
    }
    series
}

/// Whether a flag is raised: `true`, or a list of what is missing.
fn is_true(flag: Option<&Json>) -> bool {
    match flag {
        Some(Json::Bool(value)) => *value,
        Some(Json::List(items)) => !items.is_empty(),
        _ => false,
    }
}

/// In how many turns a sign of bad output was seen; none where no turn tells it.
fn count(sign: &str, rows: &[&Json]) -> Option<Reported> {
    let told: Vec<&Json> = rows.iter().filter_map(|row| row.get(sign)).collect();
    let seen = told.iter().filter(|flag| is_true(Some(flag))).count();
    let process = if told.len() == rows.len() {
        Process::of(vec![seen as f64])
    } else {
        Process::not_measured(format!("{} of {} turns tell it", told.len(), rows.len()))
    };
    (!told.is_empty()).then(|| Reported {
        name: format!("{sign}_turns"),
        unit: Unit::parse("count").ok(),
        better: Some(Better::Lower),
        processes: vec![process],
        n: Some(rows.len() as u64),
        ..Reported::default()
    })
}

/// One resident process that measured several lengths of prompt.
fn of_suite(suite: &Json) -> Run {
    let mut run = Run::default();
    for (length, value) in suite.get("pp").map_or(&[][..], Json::members) {
        let Some(mut series) = figure("prefill_tok_s", value) else {
            continue;
        };
        series.of.insert("pp".to_owned(), length.clone());
        if let Some(error) = value.get("error") {
            series.processes = vec![Process::failed(error.shown())];
        } else if *value == Json::Null {
            series.processes = vec![Process::not_measured("longer than the context")];
        }
        run.series.push(series);
    }
    for key in ["decode_tok_s", "prefill_natural_tok_s"] {
        // A suite that failed may have none of its figures.
        run.series.extend(figure(key, suite.get(key).unwrap_or(&Json::Null)));
    }
    let settings = ["model", "arch", "kv", "max_seq"]
        .iter()
        .filter_map(|key| Some((*key, suite.get(key)?.shown())));
    run.config = settings.map(|(key, value)| (key.to_owned(), bare(key, &value))).collect();
    if let Some(error) = suite.get("error") {
        fail(&mut run, &error.shown());
    }
    run
}

/// A path's last part: the folder differs from machine to machine.
fn bare(key: &str, value: &str) -> String {
    let name = value.rsplit(['/', '\\']).next().filter(|_| key == "model");
    name.unwrap_or(value).to_owned()
}

/// A row of results per model and mode.
fn of_model(number: usize, row: &Json) -> Result<Run, Refused> {
    let text = |key: &str| row.get(key).and_then(Json::text);
    let (Some(tag), Some(mode)) = (text("tag"), text("mode")) else {
        return Err(Refused(format!("row {number} names no tag and mode: it is no result of a model")));
    };
    let of = BTreeMap::from([("model".to_owned(), tag.to_owned()), ("mode".to_owned(), mode.to_owned())]);
    let parsed = row.get("parsed").map_or(&[][..], Json::members);
    let mut run = Run {
        series: parsed.iter().filter_map(|(key, value)| figure(key, value)).collect(),
        ..Run::default()
    };
    if run.series.is_empty() {
        // A run of which nothing was parsed is named as missing.
        run.series.extend(figure("decode_tokS", &Json::Null));
    }
    let settings = parsed
        .iter()
        .filter(|(key, _)| matches!(key.as_str(), "max_seq" | "dflash_disabled"));
    let detail: BTreeMap<String, String> = settings.map(|(key, value)| (key.clone(), value.shown())).collect();
    for series in &mut run.series {
        series.of.clone_from(&of);
        series.detail.clone_from(&detail);
    }
    match row.get("rc") {
        Some(Json::Whole(0)) => {}
        Some(code) => fail(&mut run, &format!("exit code {}", code.shown())),
        None => fail(&mut run, "no exit code is told of this run"),
    }
    Ok(run)
}
