//! What earlier runs left: finished sessions and build logs that nobody needs any more. The ledger is never touched.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};

use super::arms::claim::Removed;
use super::session;

/// Removes session files, with what lies beside them under the same name, that were last written longer ago than `age`. Unfinished ones go
/// only where they are asked for, one that runs never, and what is no session file stays.
///
/// # Errors
/// When the folder cannot be read.
pub fn old_sessions(folder: &Path, age: Duration, unfinished_too: bool) -> Result<Removed> {
    let mut removed = Removed::default();
    let files = files(folder)?;
    for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")) {
        let Ok(file) = File::open(path) else { continue };
        // Whoever runs a session holds its lock; it is let go of only when the file is gone.
        if !is_older(path, age) || file.try_lock().is_err() {
            continue;
        }
        if is_finished(&file).is_none_or(|finished| !finished && !unfinished_too) {
            continue;
        }
        removed.take(path);
        for beside in files.iter().filter(|other| *other != path && belongs(other, path)) {
            removed.take(beside);
        }
    }
    Ok(removed)
}

/// Removes every file of a folder that was last written longer ago than `age`.
///
/// # Errors
/// When the folder cannot be read.
pub fn old_files(folder: &Path, age: Duration) -> Result<Removed> {
    let mut removed = Removed::default();
    for path in files(folder)?.iter().filter(|path| is_older(path, age)) {
        removed.take(path);
    }
    Ok(removed)
}

/// The regular files in a folder; none where there is no folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
    };
    let regular = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<PathBuf> = regular.map(|entry| entry.path()).collect();
    files.sort_unstable();
    Ok(files)
}

fn is_older(path: &Path, age: Duration) -> bool {
    let written = fs::symlink_metadata(path).and_then(|found| found.modified());
    written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|old| old >= age))
}

/// Whether a session's last line is its record; none where the file is no session.
fn is_finished(file: &File) -> Option<bool> {
    let mut first = *b"{\"session\":";
    file.read_exact_at(&mut first, 0).ok()?;
    (first == *b"{\"session\":").then(|| session::is_finished(file).ok())?
}

/// Whether a file is named like a session with another ending.
fn belongs(file: &Path, session: &Path) -> bool {
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let session = name(session);
    let id = session.trim_end_matches("jsonl");
    !id.is_empty() && name(file).starts_with(id)
}
