//! Records in files and folders: what was measured in other jobs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::{files, ledger, results};
use ledger::Line;

/// Most records that are read together.
const RECORDS_MAX: usize = 2_000;

/// A line of a file, and where it stands.
#[derive(Debug, Clone)]
pub struct Found {
    /// `FILE:LINE`.
    pub at: String,
    /// The line.
    pub line: Line,
}

/// Every line of some files, and of every `.json` and `.jsonl` file below some folders, in order.
///
/// # Errors
/// When one cannot be read or is no file of records, or there are none, or more than 2,000.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for path in paths {
        if !files::is_there(path) {
            bail!(
                "--records: {}: there is no such file or folder: a run writes its records with `--out FILE`",
                path.display()
            );
        }
        let files = if path.is_dir() { of_folder(path)? } else { vec![path.clone()] };
        for file in files {
            let lines = ledger::read(&file).context("--records")?;
            found.extend(lines.into_iter().map(|line| Found {
                at: format!("{}:{}", file.display(), line.number),
                line,
            }));
            if found.len() > RECORDS_MAX {
                bail!("--records: more than {RECORDS_MAX} records: name fewer files");
            }
        }
    }
    if found.is_empty() {
        let named: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        bail!("--records: no record in {}: a run writes them with `--out FILE`", named.join(", "));
    }
    Ok(found)
}

fn of_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = results::below(folder).context("--records")?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json" || ending == "jsonl"));
    Ok(files)
}
