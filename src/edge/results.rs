//! Result files of other tools: found in folders, read within limits.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::files::ENTRIES_MAX;

/// Largest result file that is read.
pub const RESULT_MAX_BYTES: u64 = 256 << 20;
/// How much of a streamed file is held at a time, in bytes.
const HELD_BYTES: usize = 1 << 18;
/// How deep folders are searched.
const DEPTH_MAX: usize = 16;

/// Every regular file below a folder, sorted; links are not followed, and folders whose name begins with a dot are left out.
///
/// # Errors
/// When a folder cannot be read, or there are more than [`ENTRIES_MAX`] entries or 16 levels.
pub fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut seen) = (Vec::new(), 0_usize);
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if depth > DEPTH_MAX {
            bail!(
                "{}: deeper than {DEPTH_MAX} folders; name the folder of the results",
                folder.display()
            );
        }
        let failed = || format!("cannot read the folder {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            seen += 1;
            if seen > ENTRIES_MAX {
                bail!("more than {ENTRIES_MAX} entries; name the folder of the results");
            }
            let kind = entry.file_type().with_context(failed)?;
            if kind.is_file() {
                found.push(entry.path());
            } else if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The bytes of a result file, and when it was last written.
///
/// # Errors
/// When it cannot be read or is larger than [`RESULT_MAX_BYTES`].
pub fn read(path: &Path) -> Result<(Vec<u8>, Timestamp)> {
    let failed = || "cannot be read";
    let file = File::open(path).with_context(failed)?;
    let written = file.metadata().and_then(|found| found.modified()).with_context(failed)?;
    let mut bytes = Vec::new();
    file.take(RESULT_MAX_BYTES + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > RESULT_MAX_BYTES {
        bail!("more than {RESULT_MAX_BYTES} bytes, which is the most that is read");
    }
    Ok((bytes, Timestamp::try_from(written).unwrap_or(Timestamp::MAX)))
}

/// Whether a file is larger than what is read as a whole.
pub fn is_large(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() > RESULT_MAX_BYTES)
}

/// A result file as a stream, for formats that are read line by line whatever their size; and when it was last written.
///
/// # Errors
/// When it cannot be opened.
pub fn stream(path: &Path) -> Result<(impl BufRead + use<>, Timestamp)> {
    let failed = || "cannot be read";
    let file = File::open(path).with_context(failed)?;
    let written = file.metadata().and_then(|found| found.modified()).with_context(failed)?;
    let written = Timestamp::try_from(written).unwrap_or(Timestamp::MAX);
    Ok((BufReader::with_capacity(HELD_BYTES, file), written))
}
