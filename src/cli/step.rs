//! What the job around this process is told: summary, outputs and annotations. Nothing of it changes a verdict.

use std::path::Path;

use anyhow::{Error, Result};

use super::{answer, record, records, say};
use crate::edge::{job, step};
use crate::model::github::{Annotation, Level};
use crate::model::record::{Record, short};
use crate::model::summary::Summary;
use crate::render::comment::{About, page};
use crate::render::status::annotations;
use crate::render::step::{commands, output, quoted};

/// Room below which a page is not put together, in bytes.
const PAGE_MIN_BYTES: usize = 50_000;

/// What a command came to.
pub(super) struct Told<'a> {
    /// Its records.
    pub records: &'a [Record],
    /// What kept it from more.
    pub errors: &'a [Error],
    /// What it shows on standard output.
    pub shown: &'a str,
    /// In which format.
    pub format: &'a str,
    /// Where the records were written with `--out`.
    pub out: Option<&'a Path>,
    /// The exit code that it will end with.
    pub exit_code: u8,
}

/// Whether a job is to be told: as `--github` says, else whether this is a step of one.
fn is_wanted(option: Option<bool>) -> bool {
    option.unwrap_or_else(step::is_one)
}

/// Writes sealed records out where that is asked for, shows them, and tells the job: the end of a command that only judges. Gives the exit code.
///
/// # Errors
/// When they cannot be written or shown.
pub(super) fn finish(records: &[Record], format: &str, out: Option<&Path>, github: Option<bool>) -> Result<u8> {
    record::write(records, out)?;
    let (shown, exit_code) = (record::shown(records, format)?, record::exit_code(records, &[]));
    let told = Told {
        records,
        errors: &[],
        shown: &shown,
        format,
        out,
        exit_code,
    };
    show(&told, github)?;
    Ok(exit_code)
}

/// Shows the answer, and tells the job around this process where that is wanted.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn show(told: &Told<'_>, github: Option<bool>) -> Result<()> {
    if is_wanted(github) { tell(told) } else { answer(told.shown) }
}

/// Shows the answer, and tells the job: what cannot be told is said, and the command goes on.
///
/// # Errors
/// When standard output cannot be written.
fn tell(told: &Told<'_>) -> Result<()> {
    let remarks = commands(&remarks(told));
    if told.format == "terminal" {
        // The names in it are foreign.
        let shown = step::token().map_or_else(|_| told.shown.to_owned(), |token| quoted(told.shown, &token));
        answer(&format!("{shown}{remarks}"))?;
    } else {
        // What is read by another program, or redirected to a file, holds nothing else.
        answer(told.shown)?;
        say(&remarks);
    }
    let values = [
        ("outcome", Summary::of(told.records).outcome.word().to_owned()),
        ("disposition", dispositions(told.records)),
        (
            "record",
            told.records.iter().map(|record| short(&record.seal)).collect::<Vec<_>>().join(" "),
        ),
        ("records", told.out.map_or_else(String::new, |out| out.display().to_string())),
        ("exit-code", told.exit_code.to_string()),
    ];
    warn("the outputs of the step", outputs(&values));
    warn("the summary of the job", summary(told.records));
    Ok(())
}

/// What the records are worth: each word once.
fn dispositions(records: &[Record]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in records.iter().map(|record| record.judgement.disposition.word()) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Adds outputs to the step.
///
/// # Errors
/// When they cannot be written.
pub(super) fn outputs(values: &[(&str, String)]) -> Result<()> {
    let token = step::token()?;
    let text: String = values.iter().filter_map(|(name, value)| output(name, value, &token)).collect();
    step::add_to_outputs(&text)
}

/// Adds the page of some records to the summary of the job.
///
/// # Errors
/// When it cannot be written, or what stands there leaves no room.
pub(super) fn summary(records: &[Record]) -> Result<()> {
    let job = job::of_this_process().ok().flatten();
    let head = records::head(records).ok().flatten();
    let about = About {
        head: head.or_else(|| job.as_ref().map(|job| job.head.as_str())),
        limit_bytes: step::summary_room().unwrap_or(PAGE_MIN_BYTES).max(PAGE_MIN_BYTES),
        ..About::default()
    };
    step::add_to_summary(&page(records, &about))
}

/// Says what could not be told, and goes on.
pub(super) fn warn(what: &str, done: Result<()>) {
    if let Err(error) = done {
        say(&format!("gate: warning: {what}: {error:#}; the verdict stands"));
    }
}

/// A remark for each ruling that needs eyes, and for each error.
fn remarks(told: &Told<'_>) -> Vec<Annotation> {
    let of_errors = told.errors.iter().map(|error| Annotation {
        path: String::new(),
        line: 0,
        level: Level::Failure,
        title: "gate".to_owned(),
        message: format!("{error:#}"),
    });
    of_errors.chain(annotations(told.records)).collect()
}

/// A warning on the page of the run.
pub(super) fn warning(message: &str) -> String {
    commands(&[Annotation {
        path: String::new(),
        line: 0,
        level: Level::Warning,
        title: "gate".to_owned(),
        message: message.to_owned(),
    }])
}
