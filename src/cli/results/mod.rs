//! Other tools' results as commands take them: files and folders, read with one set of options.

pub mod keys;
pub mod table;

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow, bail};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::say;
use crate::adapter::foreign::Input;
use crate::adapter::{self, Adapter};
use crate::edge::lines::lines;
use crate::edge::{files, results};
use crate::model::number::count;
use crate::model::record::digest;
use crate::model::report::{Refused, Report, Reported};
use crate::model::text::plain_cow;

/// A file above this size, in bytes, is read line by line where its format has lines.
const WHOLE_MAX_BYTES: u64 = 4 << 20;
/// How much of such a file is looked at to tell its format.
const HEAD_MAX_BYTES: usize = 256 << 10;
/// Longest line of such a file.
const LINE_MAX_BYTES: usize = 4 << 20;
/// Most files of a folder that are named as left out.
const LEFT_OUT_MAX: usize = 20;

/// How results are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// The adapter, where the content does not tell it.
    pub adapter: Option<&'static Adapter>,
    /// When the run began: an older result is a leftover.
    pub started_at: Option<Timestamp>,
    /// Whether a file is accepted whose last line was cut.
    pub partial: bool,
    /// Failed requests that a tool may report, in percent.
    pub max_failed_pct: f64,
}

/// The evidence of one file.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    /// The file as it was named.
    pub file: String,
    /// Which adapter read it.
    pub adapter: &'static str,
    /// What it says.
    #[serde(flatten)]
    pub report: Report,
    /// `b3:` and the BLAKE3 of its bytes.
    #[serde(skip)]
    pub digest: String,
    /// When it was last written.
    #[serde(skip)]
    pub written: Timestamp,
}

impl Found {
    /// The instant that the result itself names, if it does.
    pub fn at(&self) -> Option<Timestamp> {
        self.report.at.as_deref().and_then(instant)
    }
}

/// Why a file gave no evidence.
pub struct Unread {
    /// Whether it is a result all the same, of a format that is known: it is never passed over.
    pub is_result: bool,
    /// Why.
    pub why: Error,
}

/// A file that a folder holds and nobody knows.
pub struct LeftOut {
    /// Which.
    pub path: PathBuf,
    /// Why, and whether it is a result all the same.
    pub unread: Unread,
}

impl Reading {
    /// The results of a file, or of every file of a folder that an adapter can read; with what was left out.
    ///
    /// # Errors
    /// When the file is refused, or the folder holds no result.
    pub fn of(&self, path: &Path) -> Result<(Vec<Found>, Vec<LeftOut>)> {
        if files::is_folder(path) {
            self.folder(path)
        } else {
            let found = self.file(path).map_err(|unread| unread.why)?;
            Ok((vec![found], Vec::new()))
        }
    }

    fn folder(&self, folder: &Path) -> Result<(Vec<Found>, Vec<LeftOut>)> {
        let (mut found, mut left_out) = (Vec::new(), Vec::new());
        for path in results::below(folder)? {
            match self.file(&path) {
                Ok(one) => found.push(one),
                Err(unread) => left_out.push(LeftOut { path, unread }),
            }
        }
        if found.is_empty() {
            tell(&left_out);
            bail!("no result found in {}", count(left_out.len() as u64, "file"));
        }
        Ok((found, left_out))
    }

    fn file(&self, path: &Path) -> Result<Found, Unread> {
        let unread = |is_result| move |why: Error| Unread { is_result, why };
        if let Some(streamed) = self.streamed(path).map_err(unread(true))? {
            return Ok(streamed);
        }
        let (bytes, written) = results::read(path).map_err(unread(true))?;
        let digest = digest(&bytes);
        let input = Input::of(&bytes).partial(self.partial).max_failed(self.max_failed_pct);
        drop(bytes);
        // What looks like a crash, or breaks off, may be the result of a run that died.
        let died = |why: &Refused| input.document().is_ok() && (input.json().is_err() || why.0.contains("looks like a crash"));
        let adapter = match self.adapter.map_or_else(|| adapter::detect(&input), Ok) {
            Ok(adapter) => adapter,
            Err(why) => return Err(unread(died(&why))(why.into())),
        };
        let report = (adapter.read)(&input, &[]).map_err(|why| unread(true)(why.into()))?;
        self.found(path, adapter, report, digest, written).map_err(unread(true))
    }

    /// A large file of a format that has lines, read without keeping it; none where it is small, or of another format.
    fn streamed(&self, path: &Path) -> Result<Option<Found>> {
        let head = results::head(path, WHOLE_MAX_BYTES + 1)?;
        if head.len() as u64 <= WHOLE_MAX_BYTES {
            return Ok(None);
        }
        let head = first_lines(&head);
        // UTF-16 has no lines of bytes.
        if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            return Ok(None);
        }
        let input = Input::of(head).partial(true);
        let Some(adapter) = self.adapter.or_else(|| adapter::detect(&input).ok()) else {
            return Ok(None);
        };
        let Some(stream) = adapter.stream.map(|stream| stream(self.partial)) else {
            return Ok(None);
        };
        // One reader, so that they come in their order.
        let mut stream = [stream];
        let whole = lines(path, LINE_MAX_BYTES, &mut stream, |stream, line| {
            if line.contains(&0) {
                bail!("holds NUL bytes: it is binary, or damaged");
            }
            Ok(stream.line(&plain_cow(line))?)
        })?;
        let [stream] = stream;
        let digest = format!("b3:{}", whole.blake3);
        self.found(path, adapter, stream.report()?, digest, results::written(path)?)
            .map(Some)
    }

    fn found(&self, path: &Path, adapter: &'static Adapter, mut report: Report, digest: String, written: Timestamp) -> Result<Found> {
        report.series.iter_mut().for_each(Reported::note_scatter);
        let found = Found {
            file: path.display().to_string(),
            adapter: adapter.name,
            report,
            digest,
            written,
        };
        self.check_age(&found)?;
        Ok(found)
    }

    /// Refuses a result of an earlier run, by the date inside it, else by when the file was written.
    fn check_age(&self, found: &Found) -> Result<()> {
        let Some(started) = self.started_at else { return Ok(()) };
        let (at, told) = match found.at() {
            Some(at) => (at, "the date inside"),
            None => (found.written, "when the file was written"),
        };
        if at < started {
            return Err(anyhow!(
                "a stale result: {told} is {at}, before the run began at {started}; remove it and run again"
            ));
        }
        Ok(())
    }
}

/// The first complete lines of a file.
fn first_lines(head: &[u8]) -> &[u8] {
    let head = head.get(..HEAD_MAX_BYTES).unwrap_or(head);
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    head.get(..end).unwrap_or_default()
}

/// Names what a folder held besides results.
pub fn tell(left_out: &[LeftOut]) {
    for LeftOut { path, unread } in left_out.iter().take(LEFT_OUT_MAX) {
        say(&format!("gate: left out: {}: {:#}", path.display(), unread.why));
    }
    if left_out.len() > LEFT_OUT_MAX {
        say(&format!("gate: left out: {} more", left_out.len() - LEFT_OUT_MAX));
    }
}

/// The instant that a tool's date names; one without a zone is taken as UTC.
fn instant(text: &str) -> Option<Timestamp> {
    let civil = || TimeZone::UTC.to_timestamp(text.parse::<DateTime>().ok()?).ok();
    text.parse().ok().or_else(civil)
}
