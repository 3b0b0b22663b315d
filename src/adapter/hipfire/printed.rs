//! What hipfire's benchmarks print: `SUMMARY  gen_tok_s=164.0  ...`, and the runs of `bench-cold.sh`.

use std::collections::BTreeMap;

use super::figure;
use crate::adapter::foreign::runs::Run;
use crate::adapter::foreign::table::cell_value;
use crate::adapter::foreign::{Input, Lines};
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Reported};
use crate::model::unit::Unit;

/// The first word of the line.
const SUMMARY: &str = "SUMMARY";
/// The head of bench-cold has these.
const HEAD: [&str; 3] = ["runs=", "pp=[", "start_temp="];
/// Its last line begins so.
const END: &str = "end_temp=";

/// What follows the word on its line.
fn summary(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix(SUMMARY).filter(|rest| rest.starts_with([' ', '\t']))
}

pub(super) fn summary_signs(text: &str) -> usize {
    let signs = |line: &str| ["gen_tok_s=", "prefill_tok_s="].iter().filter(|word| line.contains(**word)).count();
    text.lines().filter_map(summary).map(signs).max().unwrap_or(0)
}

fn is_head(line: &str) -> bool {
    HEAD.iter().all(|word| line.contains(word))
}

pub(super) fn cold_signs(text: &str) -> usize {
    let has = |word: &str| text.contains(word);
    if text.lines().any(is_head) {
        1 + usize::from(has("prefill=") || has(": CRASH") || has(END))
    } else {
        0
    }
}

/// One run a line; words that are no figure tell how it ran.
pub(super) fn summaries(lines: &Lines) -> Result<Vec<Run>, Refused> {
    let runs = lines.complete.iter().filter_map(|line| summary(line)).map(of_summary);
    let runs = runs.collect::<Result<Vec<Run>, Refused>>()?;
    if runs.is_empty() {
        return Err(Refused("the SUMMARY line has no end: the output is truncated".to_owned()));
    }
    Ok(runs)
}

fn of_summary(rest: &str) -> Result<Run, Refused> {
    let mut run = Run::default();
    for word in rest.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else { continue };
        if run.series.iter().any(|series| series.name == key) {
            return Err(Refused(format!("the SUMMARY line has {key:?} twice")));
        }
        match figure(key, &cell_value(value)) {
            Some(series) => run.series.push(series),
            None => {
                run.config.insert(key.to_owned(), value.to_owned());
            }
        }
    }
    Ok(run)
}

/// The runs of bench-cold: fresh processes, each a sample.
pub(super) fn cold(input: &Input, lines: &Lines) -> Result<Run, Refused> {
    let mut heads = lines.complete.iter().filter(|line| is_head(line));
    let head = heads.next().copied().unwrap_or_default();
    if heads.next().is_some() {
        return Err(Refused("the outputs of several benches: give each a file of its own".to_owned()));
    }
    let ended = lines.complete.iter().any(|line| line.starts_with(END));
    if !ended && !input.is_partial() {
        return Err(input.nothing("no `end_temp=` at the end: the bench did not finish; --partial reads the runs before"));
    }
    let mut run = Run {
        config: told(head),
        ..Run::default()
    };
    for (prompt, values) in lines.complete.iter().filter_map(|line| of_run(line)) {
        for (name, process) in ["prefill", "decode"].into_iter().zip(processes(values)) {
            let of = BTreeMap::from([("pp".to_owned(), prompt.to_owned())]);
            add(&mut run.series, name, of, process);
        }
    }
    if run.series.is_empty() {
        return Err(input.nothing("the bench printed no run"));
    }
    let asked = run.config.get("runs").and_then(|runs| runs.parse::<usize>().ok());
    match asked.and_then(|asked| Some((asked, run.series.iter().find(|series| series.processes.len() != asked)?))) {
        Some((asked, series)) if ended => Err(Refused(format!(
            "{} of {asked} runs of pp{}: lines are missing",
            series.processes.len(),
            series.of.get("pp").map_or("", String::as_str)
        ))),
        _ => Ok(run),
    }
}

/// `model=m  label=  runs=5  pp=[32,128]  gen=50  start_temp=41°C` as fields.
fn told(head: &str) -> BTreeMap<String, String> {
    let fields = head.split("  ").filter_map(|field| field.trim().split_once('='));
    let told = fields.filter(|(_, value)| !value.is_empty());
    told.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// `pp32   run 1: ...`: the prompt's length, and what follows.
fn of_run(line: &str) -> Option<(&str, &str)> {
    let (prompt, rest) = line.trim_start().strip_prefix("pp")?.split_once(" run ")?;
    let (number, values) = rest.split_once(": ")?;
    number.trim().parse::<u32>().ok()?;
    Some((prompt.trim(), values.trim()))
}

/// `prefill=351.4   tok/s  decode=164.0  tok/s  temp=45°C`, or `CRASH`.
fn processes(values: &str) -> [Process; 2] {
    if values == "CRASH" {
        return [Process::failed("the run crashed"), Process::failed("the run crashed")];
    }
    ["prefill=", "decode="].map(|name| {
        let given = values
            .split_once(name)
            .map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default());
        given.map_or_else(
            || Process::failed("the row has no such rate"),
            |given| super::process(&cell_value(given)),
        )
    })
}

fn add(series: &mut Vec<Reported>, name: &str, of: BTreeMap<String, String>, process: Process) {
    match series.iter_mut().find(|series| series.name == name && series.of == of) {
        Some(same) => same.processes.push(process),
        None => series.push(Reported {
            name: name.to_owned(),
            of,
            unit: Unit::parse("tok/s").ok(),
            better: Some(Better::Higher),
            processes: vec![process],
            ..Reported::default()
        }),
    }
}
