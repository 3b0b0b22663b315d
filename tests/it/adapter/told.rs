//! What each adapter makes of its cases, in one snapshot an adapter.

use std::fmt::Write as _;
use std::fs;

use gate::adapter::foreign::Input;
use gate::adapter::{ALL, Adapter};
use gate::model::report::{Process, Refused, Report, Reported};

use super::case_files;
use crate::sources::root;

/// A report as a few lines of text, or the words that refuse it.
pub fn told(result: &Result<Report, Refused>) -> String {
    let report = match result {
        Ok(report) => report,
        Err(refused) => return format!("refused: {refused}\n"),
    };
    let mut out = format!("{} {}\n", report.tool, report.at.as_deref().unwrap_or("(no date)"));
    for series in &report.series {
        out += &line(series);
    }
    for (key, value) in &report.config {
        writeln!(out, "  {key} = {value}").unwrap();
    }
    for note in &report.notes {
        writeln!(out, "  note: {note}").unwrap();
    }
    out
}

fn line(series: &Reported) -> String {
    let processes: Vec<String> = series
        .processes
        .iter()
        .map(|process| match process {
            Process::Repetitions(values) => format!("{values:?}"),
            Process::Missing(missing) => format!("{:?}: {}", missing.state, missing.why),
        })
        .collect();
    let unit = series.unit.map_or("no unit", |unit| unit.canonical());
    let mut out = format!("  {} ({unit}, {:?}): {}", series.label(), series.better, processes.join(" "));
    for extra in [
        series.n.map(|n| format!(" n={n}")),
        series.stderr.map(|stderr| format!(" stderr={stderr}")),
    ] {
        out += &extra.unwrap_or_default();
    }
    for note in &series.notes {
        out += &format!(" ({note})");
    }
    out + "\n"
}

/// Reads bytes as `gate ingest` does.
pub fn read(adapter: &Adapter, bytes: &[u8], partial: bool) -> Result<Report, Refused> {
    let mut report = (adapter.read)(&Input::of(bytes).partial(partial), &[])?;
    report.series.iter_mut().for_each(Reported::note_scatter);
    Ok(report)
}

#[test]
fn every_case_is_told_as_its_snapshot_says() {
    for adapter in ALL.iter().filter(|adapter| adapter.name != "key-value") {
        let mut all = String::new();
        for file in case_files(adapter.name) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(&file).unwrap();
            all += &format!("== {name}\n{}", told(&read(adapter, &bytes, false)));
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root().join("tests/data/adapter").join(adapter.name));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!("told", all));
    }
}
