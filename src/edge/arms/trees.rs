//! The folders that arms are checked out, built and run in.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::claim::{Claim, NAME_DIGITS, Removed, sweep};
use crate::edge::git::Repository;

/// The folder of all trees: each has a name of eight digits without meaning, so that nothing that runs can tell the arms apart by it.
#[derive(Debug)]
pub struct Trees {
    folder: PathBuf,
    /// What killed runs had left and is gone now.
    pub cleared: Removed,
}

impl Trees {
    /// Opens the folder `trees` of a state folder (see [`crate::edge::files::state_folder`]) and removes what killed runs left there.
    ///
    /// # Errors
    /// When it is a symlink or under version control, or cannot be made.
    pub fn open(state: &Path, repository: &Repository) -> Result<Self> {
        let folder = own_folder(state, "trees", repository)?;
        let cleared = sweep(&folder)?;
        Ok(Self { folder, cleared })
    }

    /// Where the trees are.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Makes an empty folder. Where the digits are given (the key of a build, say), the name is made of them as long as it is free: a build that
    /// writes its own place into its files then finds the same place again.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn claim(&self, digits: Option<&str>) -> Result<Claim> {
        let chunks = digits.unwrap_or_default().as_bytes().chunks_exact(NAME_DIGITS);
        let preferred: Vec<String> = chunks.map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect();
        Claim::take(&self.folder, &preferred)
    }
}

/// Makes a folder of ours below a state folder, if need be.
///
/// # Errors
/// When it, or the state folder, is a symlink or under version control: what a change brings along must not stand for what `gate` keeps.
pub fn own_folder(state: &Path, name: &str, repository: &Repository) -> Result<PathBuf> {
    let folder = state.join(name);
    repository.refuse_committed(state)?;
    for place in [state, &folder] {
        if fs::symlink_metadata(place).is_ok_and(|found| found.is_symlink()) {
            bail!("{}: is a symlink, but gate keeps its own files there: remove it", place.display());
        }
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder)
}
