//! The collected outputs of real tools: each is read, or refused with words of its own. They lie beside the repository and may be absent. Of the
//! kinds that no adapter reads, equivalents are in `tests/data/foreign`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gate::adapter::detect;
use gate::adapter::foreign::Input;
use gate::model::report::{Process, Report};

use super::told::read;
use crate::sources::root;

fn folder() -> Option<PathBuf> {
    let shared = env::var_os("GATE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    Some(shared.join("inputs")).filter(|folder| folder.is_dir())
}

/// How many series were read, and what is missing of them.
fn line(report: &Report) -> String {
    let missing: Vec<&str> = report
        .series
        .iter()
        .flat_map(|series| &series.processes)
        .filter_map(|process| match process {
            Process::Missing(missing) => Some(missing.why.as_str()),
            Process::Repetitions(_) => None,
        })
        .collect();
    let first = report.series.first().map_or_else(String::new, |series| series.label());
    let mut line = format!("{} series, first {first:?}", report.series.len());
    if let Some(why) = missing.first() {
        line += &format!(", {} missing: {why}", missing.len());
    }
    for note in &report.notes {
        line += &format!("; {note}");
    }
    line
}

fn outcome(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    match detect(&Input::of(&bytes)) {
        Err(refused) => format!("refused: {refused}"),
        Ok(adapter) => match read(adapter, &bytes, false) {
            Ok(report) => format!("{}: {}", adapter.name, line(&report)),
            Err(refused) => format!("{}: refused: {refused}", adapter.name),
        },
    }
}

#[test]
fn every_collected_output_is_read_or_refused_with_words() {
    let Some(folder) = folder() else {
        println!("skipped: no collected outputs beside the repository");
        return;
    };
    let mut lines = Vec::new();
    let mut tools: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    tools.sort();
    for tool in tools {
        let mut files: Vec<PathBuf> = fs::read_dir(&tool).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| !file.ends_with("PROVENANCE.md")) {
            let name = file.strip_prefix(&folder).unwrap().display();
            lines.push(format!("{name}: {}", outcome(file)));
        }
    }
    snapshot("tests/data/adapter", "collected", &lines);
}

fn snapshot(folder: &str, name: &str, lines: &[String]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, lines.join("\n")));
}

#[test]
fn every_other_format_is_refused_with_words_that_tell_it() {
    let mut files: Vec<PathBuf> = fs::read_dir(root().join("tests/data/foreign"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|file| file.extension() != Some("snap".as_ref()));
    files.sort();
    let name = |file: &Path| file.file_name().unwrap().to_str().unwrap().to_owned();
    let lines: Vec<String> = files.iter().map(|file| format!("{}: {}", name(file), outcome(file))).collect();
    assert!(lines.iter().all(|line| line.contains(": refused: ")), "{lines:#?}");
    snapshot("tests/data/foreign", "refused", &lines);
}
