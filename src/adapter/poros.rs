//! Poros Bench's `results.jsonl`, and a single cell: one row for each method, model and precision.
//!
//! A cell that ran out of memory holds zeros where nothing was measured; its status decides, never the number.

use std::collections::BTreeMap;

use super::Adapter;
use super::foreign::runs::{self, Run};
use super::foreign::{Input, Json};
use crate::model::gate::declaration::Series;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads Poros Bench.
pub const POROS: Adapter = Adapter {
    name: "poros",
    about: "Poros Bench results.jsonl or a cell: memory, seconds a step, throughput and parity of each method, model and precision",
    source: "docs/formats.md of this repository: no public definition is known (rows as of 0.2.0)",
    signs: Some(signs),
    read,
    stream: None,
    write: None,
};

/// What tells a cell from the others, under the names that it has had.
const CELL: [(&str, &[&str]); 3] = [
    ("method", &["method"]),
    ("model", &["model_id", "model"]),
    ("precision", &["precision"]),
];
/// What must be equal before two cells are compared.
const PROTOCOL: [&str; 9] = [
    "hardware",
    "torch_version",
    "transformers_version",
    "bitsandbytes_version",
    "steps",
    "seq_len",
    "block_size",
    "entrypoint",
    "bitwise_exact",
];

/// A measured figure: its names, unit, direction, the key of its passes, and what must be known of it.
struct Figure {
    names: [&'static str; 2],
    unit: Option<&'static str>,
    better: Better,
    passes: Option<&'static str>,
    note: &'static str,
}

const FIGURES: [Figure; 5] = [
    Figure {
        names: ["vram_peak_mb", "peak_vram_mb"],
        unit: Some("MB"),
        better: Better::Lower,
        passes: None,
        note: "the largest of the passes; controlled by the protocol",
    },
    Figure {
        names: ["s_per_step", "s_per_step"],
        unit: Some("s/step"),
        better: Better::Lower,
        passes: Some("pass_s_per_step"),
        note: "indicative across methods, whose data pipelines differ",
    },
    Figure {
        names: ["tok_per_sec", "tokens_per_s"],
        unit: Some("tok/s"),
        better: Better::Higher,
        passes: None,
        note: "indicative across methods, whose data pipelines differ",
    },
    Figure {
        names: ["parity_loss_max_diff", "parity_loss"],
        unit: None,
        better: Better::Lower,
        passes: None,
        note: "",
    },
    Figure {
        names: ["parity_weight_max_diff", "parity_adapter"],
        unit: None,
        better: Better::Lower,
        passes: None,
        note: "",
    },
];

fn cells(values: &[Json]) -> Vec<&Json> {
    values.iter().flat_map(Json::unlisted).collect()
}

fn signs(input: &Input) -> usize {
    let documents = input.json().ok().flatten();
    let cells = documents.map(|documents| cells(&documents.values)).unwrap_or_default();
    let Some(cell) = cells.first() else { return 0 };
    let named = cell.has("method") && cell.has("precision");
    let figured = cell.has("s_per_step") || cell.has("oom") || cell.has("vram_peak_mb");
    [named, named && cell.has("status"), named && figured]
        .into_iter()
        .filter(|sign| *sign)
        .count()
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let Some(documents) = input.json()? else {
        return Err(input.nothing("no cell of Poros Bench: want its results.jsonl, or the JSON of a cell"));
    };
    let cells = cells(&documents.values);
    let runs = cells
        .iter()
        .enumerate()
        .map(|(at, cell)| run(at + 1, cell))
        .collect::<Result<Vec<Run>, Refused>>()?;
    if runs.is_empty() {
        return Err(Refused("the document holds no cell: nothing was measured".to_owned()));
    }
    Ok(runs::gather("Poros Bench", runs, Input::json_notes(documents)?).0)
}

fn run(number: usize, cell: &Json) -> Result<Run, Refused> {
    let mut of = BTreeMap::new();
    for (name, keys) in CELL {
        let value = keys.iter().find_map(|key| cell.get(key).and_then(Json::text));
        let value = value.ok_or_else(|| Refused(format!("row {number} names no {name}: it is no cell")))?;
        of.insert(name.to_owned(), value.to_owned());
    }
    let detail = PROTOCOL.iter().filter_map(|key| Some(((*key).to_owned(), cell.get(key)?.shown())));
    let detail: BTreeMap<String, String> = detail.collect();
    let failure = failure(cell);
    let series = FIGURES.iter().filter_map(|figure| {
        let found = figure.names.iter().find(|name| cell.has(name));
        // Of a cell without any result, memory and speed are named as missing.
        let name = found.or_else(|| figure.names.first().filter(|_| failure.is_some() && figure.unit.is_some()))?;
        let processes = failure
            .clone()
            .map_or_else(|| processes(figure, name, cell), |failure| vec![failure]);
        let parity = cell
            .get(name)
            .and_then(Json::number)
            .filter(|value| figure.unit.is_none() && value.is_finite());
        let note = parity.map_or_else(|| figure.note.to_owned(), exponent);
        Some(Reported {
            name: figure.names.first().unwrap_or(name).to_string(),
            of: of.clone(),
            unit: figure.unit.and_then(|unit| Unit::parse(unit).ok()),
            better: Some(figure.better),
            processes,
            detail: detail.clone(),
            notes: [note].into_iter().filter(|note| !note.is_empty()).collect(),
            ..Reported::default()
        })
    });
    Ok(Run {
        series: series.collect(),
        at: cell.get("timestamp").and_then(Json::text).map(str::to_owned),
        ..Run::default()
    })
}

/// A difference as Poros prints it: `1.50e-07`, and `0.00e+00` where there is none at all.
fn exponent(value: f64) -> String {
    let text = format!("{value:.2e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}e{:+03}", exponent.parse::<i32>().unwrap_or(0))
}

/// One process a pass, which is a process of its own; else the value of the cell.
fn processes(figure: &Figure, name: &str, cell: &Json) -> Vec<Process> {
    let passes = figure.passes.and_then(|key| cell.get(key)).map_or(&[][..], Json::items);
    if passes.is_empty() {
        vec![value(figure, cell.get(name).unwrap_or(&Json::Null))]
    } else {
        passes.iter().map(|pass| value(figure, pass)).collect()
    }
}

fn value(figure: &Figure, given: &Json) -> Process {
    match given.number() {
        // A difference of 0 is an answer; memory, time or speed of 0 is a default that nobody filled in.
        Some(number) if number == 0.0 && figure.unit.is_some() => Process::not_measured("0 stands for not measured"),
        Some(number) if number < 0.0 => Process::failed(format!("a negative value: {number}")),
        Some(number) => Process::of(vec![number]),
        None if *given == Json::Null => Process::not_measured("not measured"),
        None => Process::failed(format!("{}, where a JSON number should stand", given.kind())),
    }
}

/// Why the cell has no result.
fn failure(cell: &Json) -> Option<Process> {
    let text = |key: &str| cell.get(key).and_then(Json::text).unwrap_or_default();
    let why = [text("error_message"), text("error"), text("reason")]
        .into_iter()
        .find(|text| !text.is_empty());
    let told = |word: &str| why.map_or_else(|| word.to_owned(), |why| format!("{word}: {why}"));
    match (text("status"), cell.get("oom")) {
        ("oom", _) | (_, Some(Json::Bool(true))) => Some(Process::failed(told("oom"))),
        ("ok", _) => None,
        ("error", _) => Some(Process::failed(told("error"))),
        ("", _) => Some(Process::not_measured("the cell tells no status")),
        ("skipped", _) => Some(Process::not_measured(told("skipped"))),
        (other, _) => Some(Process::not_measured(told(&format!("skipped (status {other:?})")))),
    }
}
