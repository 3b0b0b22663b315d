//! One result file as evidence: its format told by its content, and a large file of lines read without keeping it.

use std::path::Path;

use anyhow::{Result, anyhow};
use jiff::Timestamp;

use crate::adapter::foreign::Input;
use crate::adapter::{self, Adapter, Stream};
use crate::edge::results;
use crate::model::report::Report;
use crate::model::text::plain_cow;

/// A file above this size, in bytes, is read line by line where its format has lines.
const WHOLE_MAX_BYTES: usize = 4 << 20;
/// How much of such a file is looked at to tell its format.
const HEAD_MAX_BYTES: usize = 256 << 10;
/// Longest line of such a file.
const LINE_MAX_BYTES: u64 = 4 << 20;

/// What a file says, by which adapter, and when it was last written. `named` is the adapter that was asked for; `partial` accepts a cut end.
///
/// # Errors
/// When the file cannot be read, its format cannot be told, or it is no result.
pub(super) fn of_file(path: &Path, named: Option<&'static Adapter>, partial: bool) -> Result<(&'static Adapter, Report, Timestamp)> {
    let head = results::head(path, WHOLE_MAX_BYTES as u64 + 1)?;
    if head.len() > WHOLE_MAX_BYTES
        && let Some((adapter, stream)) = streaming(first_lines(&head), named, partial)
    {
        let report = streamed(path, stream)?;
        return Ok((adapter, report, results::written(path)?));
    }
    drop(head);
    let (bytes, written) = results::read(path)?;
    let input = Input::of(&bytes).partial(partial);
    drop(bytes);
    let adapter = named.map_or_else(|| adapter::detect(&input), Ok)?;
    Ok((adapter, (adapter.read)(&input, &[])?, written))
}

/// The reader of lines, where the first lines are of a format that has one. UTF-16 has no lines of bytes.
fn streaming(head: &[u8], named: Option<&'static Adapter>, partial: bool) -> Option<(&'static Adapter, Box<dyn Stream>)> {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return None;
    }
    let input = Input::of(head).partial(true);
    let adapter = named.or_else(|| adapter::detect(&input).ok())?;
    Some((adapter, adapter.stream?(partial)))
}

/// The first complete lines of a file.
fn first_lines(head: &[u8]) -> &[u8] {
    let head = head.get(..HEAD_MAX_BYTES).unwrap_or(head);
    let end = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    head.get(..end).unwrap_or_default()
}

fn streamed(path: &Path, mut stream: Box<dyn Stream>) -> Result<Report> {
    results::lines(path, LINE_MAX_BYTES, |line| {
        if line.contains(&0) {
            return Err(anyhow!("holds NUL bytes: it is binary, or damaged"));
        }
        Ok(stream.line(&plain_cow(line))?)
    })?;
    Ok(stream.report()?)
}
