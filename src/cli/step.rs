//! What the job around this process is told: summary, outputs and annotations. Nothing of it changes a verdict.

use std::path::Path;

use anyhow::{Error, Result};

use super::{Ended, answer, record, records, say, tell_runner};
use crate::edge::{environment, job, step};
use crate::exit;
use crate::model::fault::Faults;
use crate::model::github::{Annotation, Level};
use crate::model::record::{Record, short};
use crate::model::text::no_commands;
use crate::render::comment::{self, About, page};
use crate::render::status::{annotations, failure};
use crate::render::step::{commands, harmless_json, output, quoted};

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

/// Hands the result of a command on, unchanged. Where an error kept it from any answer, the job is told of that first.
pub(super) fn told(result: Result<u8>, github: Option<bool>) -> Result<u8> {
    if let Err(error) = &result
        && is_wanted(github)
    {
        let Ended { exit_code, said, .. } = Ended::by(error);
        tell_of_failure(exit_code, &said, &of_error(error));
    }
    result
}

/// Tells the job of words that are none of the commands that tell one.
pub(super) fn tell_of_usage(said: &str) {
    let words = environment::arguments();
    let gives = |option: &str| words.iter().any(|word| word.split('=').next() == Some(option));
    let tells = match words.first().map(String::as_str) {
        Some("perf" | "eval") => true,
        Some("ingest") => gives("--gate"),
        _ => false,
    };
    let asked = words.iter().rev().find_map(|word| word.strip_prefix("--github"));
    let github = asked.map(|value| value != "=false");
    if tells && is_wanted(github) {
        let said = said.trim_start_matches("error: ");
        tell_of_failure(exit::ERROR.code, said, &[failure(said, None)]);
    }
}

/// Tells the job what kept a command from any answer. A step that reads outputs finds all of them.
fn tell_of_failure(exit_code: u8, said: &str, remarks: &[Annotation]) {
    // A signal's code has no word of its own.
    let outcome = if exit_code == exit::VIOLATION.code {
        exit::VIOLATION
    } else {
        exit::ERROR
    }
    .word;
    tell_runner(&commands(remarks));
    warn("the outputs of the step", outputs(&values(outcome, &[], None, exit_code)));
    warn("the summary of the job", summary_of_failure(said));
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
    // The names in what is shown are foreign. What is read by another program, or redirected to a file, holds nothing else.
    match told.format {
        "terminal" => {
            let shown = step::token().map_or_else(|_| told.shown.to_owned(), |token| quoted(told.shown, &token));
            answer(&format!("{shown}{remarks}"))?;
        }
        "json" => answer(&harmless_json(told.shown))?,
        _ => answer(&no_commands(told.shown))?,
    }
    if told.format != "terminal" {
        tell_runner(&remarks);
    }
    let outcome = record::outcome(told.records, told.errors).word();
    let values = values(outcome, told.records, told.out, told.exit_code);
    warn("the outputs of the step", outputs(&values));
    for error in told.errors {
        warn("the summary of the job", summary_of_failure(&format!("{error:#}")));
    }
    if !told.records.is_empty() || told.errors.is_empty() {
        warn("the summary of the job", summary(told.records));
    }
    Ok(())
}

/// The outputs of a step; the file of the records only where there is one in it.
fn values(outcome: &str, records: &[Record], out: Option<&Path>, exit_code: u8) -> [(&'static str, String); 5] {
    let out = out.filter(|_| !records.is_empty());
    let seals: Vec<String> = records.iter().map(|record| short(&record.seal)).collect();
    [
        ("outcome", outcome.to_owned()),
        ("disposition", dispositions(records)),
        ("record", seals.join(" ")),
        ("records", out.map_or_else(String::new, |out| out.display().to_string())),
        ("exit-code", exit_code.to_string()),
    ]
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

/// Adds a paragraph on what kept a command from its answer to the summary of the job.
///
/// # Errors
/// When it cannot be written, or what stands there leaves no room.
pub(super) fn summary_of_failure(why: &str) -> Result<()> {
    step::add_to_summary(&comment::failure(why))
}

/// Says what could not be told, and goes on.
pub(super) fn warn(what: &str, done: Result<()>) {
    if let Err(error) = done {
        say(&format!("gate: warning: {what}: {error:#}; the verdict stands"));
    }
}

/// A remark for each ruling that needs eyes, and for each error.
fn remarks(told: &Told<'_>) -> Vec<Annotation> {
    told.errors.iter().flat_map(of_error).chain(annotations(told.records)).collect()
}

/// A remark on an error; where it is the faults of files, one on each of them, at its place.
fn of_error(error: &Error) -> Vec<Annotation> {
    match error.chain().find_map(|cause| cause.downcast_ref::<Faults>()) {
        Some(faults) => {
            let at_its_place = faults
                .all
                .iter()
                .map(|fault| failure(&fault.to_string(), Some((&fault.file, fault.line))));
            at_its_place.collect()
        }
        None => vec![failure(&Ended::by(error).said, None)],
    }
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
