//! Result files of other tools: found in folders, read within limits.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::files::ENTRIES_MAX;

/// Largest result file that is read.
pub const RESULT_MAX_BYTES: u64 = 256 << 20;
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

/// The first bytes of a file, at most `most` of them.
///
/// # Errors
/// When it cannot be read.
pub fn head(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).context("cannot be read")?;
    file.take(most).read_to_end(&mut bytes).context("cannot be read")?;
    Ok(bytes)
}

/// When a file was last written.
///
/// # Errors
/// When that cannot be told.
pub fn written(path: &Path) -> Result<Timestamp> {
    let written = fs::metadata(path).and_then(|found| found.modified()).context("cannot be read")?;
    Ok(Timestamp::try_from(written).unwrap_or(Timestamp::MAX))
}

/// The regular files beside a file, sorted; links are not followed.
///
/// # Errors
/// When the folder cannot be read.
pub fn beside(path: &Path) -> Result<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let failed = || format!("cannot read the folder {}", folder.display());
    let mut found = Vec::new();
    for (seen, entry) in fs::read_dir(folder).with_context(failed)?.enumerate() {
        if seen >= ENTRIES_MAX {
            bail!("{}: more than {ENTRIES_MAX} entries", folder.display());
        }
        let entry = entry.with_context(failed)?;
        if entry.file_type().with_context(failed)?.is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
