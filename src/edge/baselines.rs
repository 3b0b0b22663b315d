//! Baseline files and the evidence beside them, in their folder.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use git2::Repository;

use super::files;
use crate::model::baseline::FILE_MAX_BYTES;

/// Largest evidence file that is read, in bytes.
const EVIDENCE_MAX_BYTES: u64 = 256 << 20;

/// The bytes of a baseline file; none where there is no such file.
///
/// # Errors
/// When it cannot be read, or is too large.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    bytes(path, FILE_MAX_BYTES as u64)
}

/// The bytes of an evidence file; none where there is no such file.
///
/// # Errors
/// When it cannot be read, or is too large.
pub fn read_evidence(path: &Path) -> Result<Option<Vec<u8>>> {
    bytes(path, EVIDENCE_MAX_BYTES)
}

fn bytes(path: &Path, limit_bytes: u64) -> Result<Option<Vec<u8>>> {
    let failed = || format!("cannot read {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(failed),
    };
    let mut bytes = Vec::new();
    file.take(limit_bytes + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > limit_bytes {
        bail!("{}: over {limit_bytes} bytes, more are not read", path.display());
    }
    Ok(Some(bytes))
}

/// The baseline files of a folder, sorted; none where there is no such folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = entries(folder)?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "txt") && path.is_file());
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read the folder {}", folder.display())),
    };
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    found.sort_unstable();
    Ok(found)
}

/// The evidence of a record whose day is not known.
///
/// # Errors
/// When the folder cannot be read.
pub fn evidence_of(folder: &Path, record: &str) -> Result<Option<PathBuf>> {
    let ending = format!("-{record}.json");
    let mut found = entries(folder)?.into_iter();
    Ok(found.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending))))
}

/// The folder of a baseline file, made where it is missing, for this process alone while it is held.
#[derive(Debug)]
pub struct Held(File);

/// Holds the folder of a baseline file, so that nothing is lost between reading and writing it.
///
/// # Errors
/// When it cannot be made or locked.
pub fn hold(baseline: &Path) -> Result<Held> {
    let folder = folder_of(baseline);
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let file = File::open(folder).with_context(|| format!("cannot open the folder {}", folder.display()))?;
    file.lock()
        .with_context(|| format!("cannot lock the folder {}", folder.display()))?;
    Ok(Held(file))
}

/// Writes a baseline, and the evidence of its new lines before it: all or nothing.
///
/// # Errors
/// When one cannot be written, or evidence is there with other contents; every file is then as it was.
pub fn write(held: &Held, baseline: &Path, text: &str, evidence: &[(PathBuf, String)]) -> Result<()> {
    let mut made = Vec::new();
    let proved = evidence.iter().try_for_each(|(path, record)| prove(path, record, &mut made));
    let written = proved.and_then(|()| files::write(baseline, text.as_bytes()));
    if written.is_err() {
        // Evidence without a line is no baseline; the first error is the one to tell.
        made.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    written?;
    held.0.sync_all().context("cannot sync the folder of the baseline")
}

/// Writes one evidence file, unless it is there.
fn prove<'a>(path: &'a Path, record: &str, made: &mut Vec<&'a Path>) -> Result<()> {
    match read_evidence(path)? {
        Some(there) if there == record.as_bytes() => return Ok(()),
        Some(_) => bail!("{}: is there already, with other contents", path.display()),
        None => {}
    }
    let folder = folder_of(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    files::write(path, record.as_bytes())?;
    made.push(path);
    files::sync_folder(folder)
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The bytes of a file at a revision; none where that revision does not have it.
///
/// # Errors
/// When there is no repository, no such revision, or the file is too large.
pub fn at_revision(path: &Path, revision: &str) -> Result<Option<Vec<u8>>> {
    let path = std::path::absolute(path)?;
    let repository = Repository::discover(folder_of(&path)).context("not in a git repository")?;
    let top = repository.workdir().context("the git repository has no working tree")?;
    let real = folder_of(&path)
        .canonicalize()
        .with_context(|| format!("cannot find {}", folder_of(&path).display()))?;
    let folder = real
        .strip_prefix(top.canonicalize()?)
        .context("the file is outside the repository")?;
    let inside = folder.join(path.file_name().unwrap_or_default());
    let tree = repository
        .revparse_single(revision)
        .and_then(|object| object.peel_to_tree())
        .with_context(|| format!("no revision {revision:?}"))?;
    let Ok(entry) = tree.get_path(&inside) else { return Ok(None) };
    let blob = entry
        .to_object(&repository)
        .and_then(|object| object.peel_to_blob())
        .with_context(|| format!("{} is no file at {revision}", inside.display()))?;
    if blob.size() > FILE_MAX_BYTES {
        bail!("{} at {revision}: over {FILE_MAX_BYTES} bytes, more are not read", inside.display());
    }
    Ok(Some(blob.content().to_vec()))
}
