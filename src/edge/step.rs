//! The files of a step that its runner reads: summary and outputs.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::environment;

/// What a runner takes of a step's summary, in bytes: 1 MiB, and above it nothing at all.
const SUMMARY_MAX_BYTES: u64 = 1_000_000;

/// Whether this process is a step of GitHub Actions.
pub fn is_one() -> bool {
    environment::value("GITHUB_ACTIONS").as_deref() == Some("true")
}

/// How much room the summary of this step has, in bytes, beside what is written there already; none where there is no file for it.
pub fn summary_room() -> Option<usize> {
    let path = named("GITHUB_STEP_SUMMARY")?;
    let written = fs::metadata(path).map_or(0, |found| found.len());
    usize::try_from(SUMMARY_MAX_BYTES.saturating_sub(written)).ok()
}

/// Adds Markdown to the summary of this step; what the step wrote before stays.
///
/// # Errors
/// When there is no file for it, it cannot be written, or there is no room.
pub fn add_to_summary(text: &str) -> Result<()> {
    match summary_room() {
        Some(room) if text.len() > room => bail!(
            "GITHUB_STEP_SUMMARY: {} bytes do not fit: the runner takes {SUMMARY_MAX_BYTES} of a step",
            text.len()
        ),
        _ => add("GITHUB_STEP_SUMMARY", text),
    }
}

/// Adds lines to the outputs of this step.
///
/// # Errors
/// When there is no file for them or it cannot be written.
pub fn add_to_outputs(text: &str) -> Result<()> {
    add("GITHUB_OUTPUT", text)
}

fn add(variable: &str, text: &str) -> Result<()> {
    let Some(path) = named(variable) else {
        bail!("{variable} is not set: hand it on, in a container too");
    };
    let failed = || format!("{variable}: cannot write {path}");
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(Path::new(&path))
        .with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)
}

fn named(variable: &str) -> Option<String> {
    environment::value(variable).filter(|path| !path.is_empty())
}

/// 32 hex digits that nobody can guess, for delimiters.
///
/// # Errors
/// When the system gives no random bytes.
pub fn token() -> Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read /dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
