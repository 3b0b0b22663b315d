//! Kept builds: artifacts under the key of everything that they depend on, digested again whenever they are used.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::artifacts::Artifacts;
use super::claim::{Claim, Removed, bytes_below, remove_all, sweep};

/// The version of an entry's own format.
const VERSION: u32 = 1;
/// Largest list of files that is read, in bytes.
const LIST_MAX_BYTES: u64 = 16 << 20;
const LIST: &str = "list.json";
const FILES: &str = "files";
const ENTRIES: &str = "builds";
const PARTS: &str = "parts";
const LOCK: &str = "lock";
/// How long another process may hold the lock before this one does without the cache.
const LOCK_WAIT: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How much is kept; the longest unused goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many builds.
    pub builds: usize,
    /// How many bytes they may take together.
    pub bytes: u64,
}

impl Limits {
    /// What is kept between runs.
    pub const DEFAULT: Self = Self {
        builds: 64,
        bytes: 20 << 30,
    };
    /// Nothing is kept.
    pub const NONE: Self = Self { builds: 0, bytes: 0 };
}

/// The folder of kept builds. Several processes may use it at once: an entry appears whole or not at all, and goes only while nobody
/// copies from it.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    limits: Limits,
}

#[derive(Debug, Serialize, Deserialize)]
struct List {
    version: u32,
    key: String,
    /// The tree that the files hold the path of: they run nowhere else.
    bound_to: Option<PathBuf>,
    artifacts: Artifacts,
}

impl Store {
    /// Opens the folder, made where it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path, limits: Limits) -> Result<Self> {
        for part in [ENTRIES, PARTS] {
            let folder = folder.join(part);
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot make the folder {}: name another with --cache-dir", folder.display()))?;
        }
        Ok(Self {
            folder: fs::canonicalize(folder).with_context(|| format!("cannot look at {}", folder.display()))?,
            limits,
        })
    }

    /// Opens the folder where it is one of kept builds; nothing is made.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn existing(folder: &Path, limits: Limits) -> Result<Option<Self>> {
        let ours = [ENTRIES, PARTS].iter().all(|part| folder.join(part).is_dir());
        ours.then(|| Self::open(folder, limits)).transpose()
    }

    /// Puts a kept build into a tree and digests what is then there; none where none is kept that runs in this place. A damaged
    /// entry is removed, and counts as none.
    ///
    /// # Errors
    /// When the tree cannot be written.
    pub fn put_into(&self, tree: &Path, key: &str) -> Result<Option<Artifacts>> {
        check(key)?;
        let Some(lock) = self.lock(false)? else { return Ok(None) };
        for name in [key.to_owned(), bound_name(key, tree)] {
            let entry = self.folder.join(ENTRIES).join(name);
            let Some(list) = read_list(&entry) else { continue };
            let elsewhere = list.bound_to.is_some_and(|place| place != tree);
            if list.version != VERSION || list.key != key || elsewhere || !list.artifacts.stay_inside() {
                continue;
            }
            let put = list
                .artifacts
                .copy(&entry.join(FILES), tree)
                .and_then(|()| list.artifacts.check(tree));
            if put.is_ok() {
                touch(&entry);
                return Ok(Some(list.artifacts));
            }
            // A build must not take what is damaged for its own earlier work.
            for (path, _) in list.artifacts.iter() {
                remove_all(&tree.join(path)).with_context(|| format!("cannot remove {path} in {}", tree.display()))?;
            }
            drop(lock);
            if let Some(_lock) = self.lock(true)? {
                remove_all(&entry).with_context(|| format!("cannot remove {}", entry.display()))?;
            }
            return Ok(None);
        }
        Ok(None)
    }

    /// Keeps a build; false where it is too large, or another process does not let go of the folder.
    ///
    /// # Errors
    /// When it cannot be written; nothing is then kept.
    pub fn keep(&self, tree: &Path, key: &str, artifacts: &Artifacts) -> Result<bool> {
        check(key)?;
        if artifacts.bytes() > self.limits.bytes || self.limits.builds == 0 {
            return Ok(false);
        }
        let part = Claim::take(&self.folder.join(PARTS), &[])?;
        let bound = artifacts.hold_path(tree)?;
        artifacts.copy(tree, &make(&part.path().join(FILES))?)?;
        artifacts.check(&part.path().join(FILES))?;
        let list = List {
            version: VERSION,
            key: key.to_owned(),
            bound_to: bound.then(|| tree.to_owned()),
            artifacts: artifacts.clone(),
        };
        crate::edge::files::write(&part.path().join(LIST), &serde_json::to_vec(&list)?)?;
        let name = if bound { bound_name(key, tree) } else { key.to_owned() };
        let entry = self.folder.join(ENTRIES).join(name);
        let Some(_lock) = self.lock(true)? else { return Ok(false) };
        remove_all(&entry).with_context(|| format!("cannot remove {}", entry.display()))?;
        part.give_away(&entry)?;
        self.shrink(self.limits, Some(&entry))?;
        Ok(true)
    }

    /// Removes what is beyond the limits, and what killed runs left.
    ///
    /// # Errors
    /// When the folder cannot be read, or another process does not let go of it.
    pub fn clean(&self, limits: Limits) -> Result<Removed> {
        let swept = sweep(&self.folder.join(PARTS))?;
        let Some(_lock) = self.lock(true)? else {
            bail!("{}: in use by another process; try again when it is done", self.folder.display())
        };
        Ok(swept.and(self.shrink(limits, None)?))
    }

    /// Removes the longest unused entries until the rest is within the limits. Needs the lock.
    fn shrink(&self, limits: Limits, newest: Option<&Path>) -> Result<Removed> {
        let folder = self.folder.join(ENTRIES);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            if !is_entry(&path) {
                continue;
            }
            let used = fs::metadata(path.join(LIST)).and_then(|found| found.modified());
            entries.push((
                newest == Some(&*path),
                used.unwrap_or(SystemTime::UNIX_EPOCH),
                bytes_below(&path),
                path,
            ));
        }
        entries.sort();
        let (mut removed, mut builds) = (Removed::default(), entries.len());
        let mut bytes: u64 = entries.iter().map(|(_, _, bytes, _)| bytes).sum();
        for (is_newest, _, size, path) in &entries {
            if *is_newest || (builds <= limits.builds && bytes <= limits.bytes) {
                break;
            }
            removed.take(path);
            builds -= 1;
            bytes -= size;
        }
        Ok(removed)
    }

    /// The lock of the folder, shared or not; none where another process holds it too long.
    fn lock(&self, alone: bool) -> Result<Option<File>> {
        let path = self.folder.join(LOCK);
        let failed = || format!("cannot lock {}", path.display());
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(failed)?;
        let started = Instant::now();
        loop {
            match if alone { file.try_lock() } else { file.try_lock_shared() } {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
                Err(TryLockError::WouldBlock) if started.elapsed() > LOCK_WAIT => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }
}

/// The name of an entry that runs in one place only.
fn bound_name(key: &str, tree: &Path) -> String {
    format!("{key}-{}", tree.file_name().unwrap_or_default().to_string_lossy())
}

fn check(key: &str) -> Result<()> {
    if !is_key(key) {
        bail!("{key:?} is no key of a build");
    }
    Ok(())
}

fn is_key(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Whether a folder has the name of an entry: another is not ours to remove.
fn is_entry(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_key(name.split('-').next().unwrap_or_default())
}

fn make(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    Ok(folder.to_owned())
}

fn read_list(entry: &Path) -> Option<List> {
    let path = entry.join(LIST);
    let found = fs::symlink_metadata(&path).ok()?;
    if !found.is_file() || found.len() > LIST_MAX_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Notes that an entry was used; where that cannot be noted, it only goes earlier.
fn touch(entry: &Path) {
    let list = File::options().write(true).open(entry.join(LIST));
    let _noted = list.and_then(|list| list.set_modified(SystemTime::now()));
}
