//! Folders that belong to one running process, and are removed by the next one where their owner was killed.
//!
//! Beside the folder `NAME` lies the file `NAME.lock`, locked as long as the owner lives: the kernel lets go of it however the owner
//! ends. Whoever gets the lock may remove both; the lock file goes last, and a lock on a file that is no longer in its place counts for nothing.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};

use crate::edge::digest::blake3_hex;

/// How many digits a name has: names say nothing, and all are equally long.
pub const NAME_DIGITS: usize = 8;
/// How many names are tried.
const NAMES_TRIED: usize = 100;

/// A folder that belongs to this process until this is dropped; then it is removed with everything in it.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    lock_path: PathBuf,
    /// Locked; none once the folder is gone.
    lock: Option<File>,
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// How many folders or files.
    pub count: u64,
    /// How many bytes they took.
    pub bytes: u64,
    /// What could not be removed, each with the reason.
    pub problems: Vec<String>,
}

impl Removed {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.count += other.count;
        self.bytes += other.bytes;
        self.problems.extend(other.problems);
        self
    }

    /// Removes a file or a folder with everything in it, and counts it.
    pub fn take(&mut self, path: &Path) {
        let bytes = bytes_below(path);
        match remove_all(path) {
            Ok(()) => {
                self.count += 1;
                self.bytes += bytes;
            }
            Err(error) => self.problems.push(format!("{}: {error}", path.display())),
        }
    }
}

impl Claim {
    /// Makes a folder in `parent` under the first free of the preferred names, else under a name that nobody can foresee.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn take(parent: &Path, preferred: &[String]) -> Result<Self> {
        let tried = preferred.iter().cloned().chain((0..NAMES_TRIED).map(|_| fresh_name()));
        for name in tried {
            if let Some(claim) = Self::named(parent, &name).with_context(|| format!("cannot make a folder in {}", parent.display()))? {
                return Ok(claim);
            }
        }
        bail!("{}: no name is free; `gate clean` makes room", parent.display())
    }

    /// None where the name is taken.
    fn named(parent: &Path, name: &str) -> io::Result<Option<Self>> {
        let (folder, lock_path) = (parent.join(name), parent.join(format!("{name}.lock")));
        let taken = |error: io::Error| {
            if error.kind() == ErrorKind::AlreadyExists {
                Ok(None)
            } else {
                Err(error)
            }
        };
        let lock = match File::create_new(&lock_path) {
            Ok(lock) => lock,
            Err(error) => return taken(error),
        };
        // Another process may be clearing up and take the fresh file for a leftover.
        if !locks(&lock, &lock_path)? {
            return Ok(None);
        }
        match DirBuilder::new().create(&folder) {
            Ok(()) => Ok(Some(Self {
                folder,
                lock_path,
                lock: Some(lock),
            })),
            Err(error) => {
                fs::remove_file(&lock_path)?;
                taken(error)
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// A file beside it, which is removed with it.
    pub fn beside(&self, ending: &str) -> PathBuf {
        self.folder.with_extension(ending)
    }

    /// Moves the folder to another place on the same file system, where it no longer belongs to this process.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn give_away(self, to: &Path) -> Result<()> {
        fs::rename(&self.folder, to).with_context(|| format!("cannot move {} to {}", self.folder.display(), to.display()))
    }

    /// Removes the folder now, and tells what is in the way.
    ///
    /// # Errors
    /// When something cannot be removed; the next run tries again.
    pub fn remove(mut self) -> Result<()> {
        self.clear().with_context(|| format!("cannot remove {}", self.folder.display()))
    }

    fn clear(&mut self) -> io::Result<()> {
        let Some(lock) = self.lock.take() else { return Ok(()) };
        let cleared = clear(&self.folder);
        if cleared.is_ok() {
            fs::remove_file(&self.lock_path)?;
        }
        drop(lock);
        cleared
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // What cannot be removed now is a leftover, which the next run removes or names.
        let _cleared = self.clear();
    }
}

/// Removes every folder of this kind in `parent` whose owner is gone.
///
/// # Errors
/// When the folder cannot be read.
pub fn sweep(parent: &Path) -> Result<Removed> {
    let mut removed = Removed::default();
    for name in names(parent)? {
        let (folder, lock_path) = (parent.join(&name), parent.join(format!("{name}.lock")));
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&lock_path);
        match opened.and_then(|lock| locks(&lock, &lock_path).map(|locked| locked.then_some(lock))) {
            // Its owner lives.
            Ok(None) => {}
            Ok(Some(_lock)) => {
                let bytes = bytes_below(&folder);
                match clear(&folder).and_then(|()| fs::remove_file(&lock_path)) {
                    Ok(()) => {
                        removed.count += 1;
                        removed.bytes += bytes;
                    }
                    Err(error) => removed.problems.push(format!("{}: {error}", folder.display())),
                }
            }
            Err(error) => removed.problems.push(format!("{}: {error}", lock_path.display())),
        }
    }
    Ok(removed)
}

/// The names of this kind in a folder, each once.
fn names(parent: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(parent).with_context(|| format!("cannot read {}", parent.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", parent.display()))?.file_name();
        let name = entry.to_str().map(|name| name.split('.').next().unwrap_or_default().to_owned());
        let ours = |name: &String| name.len() == NAME_DIGITS && name.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        names.extend(name.filter(ours));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Whether the lock was free and its file is still the one at its path.
fn locks(lock: &File, path: &Path) -> io::Result<bool> {
    match lock.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Ok(false),
        Err(fs::TryLockError::Error(error)) => return Err(error),
    }
    let own = lock.metadata()?;
    Ok(fs::symlink_metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
}

/// Removes a claimed folder and what lies beside it, the lock file left.
fn clear(folder: &Path) -> io::Result<()> {
    remove_all(folder)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for entry in fs::read_dir(folder.parent().unwrap_or(Path::new("/")))? {
        let entry = entry?.file_name().to_string_lossy().into_owned();
        let ending = entry.strip_prefix(&name).and_then(|rest| rest.strip_prefix('.'));
        if ending.is_some_and(|ending| ending != "lock") {
            remove_all(&folder.with_file_name(&entry))?;
        }
    }
    Ok(())
}

/// Removes a file, or a folder with everything in it, also where folders in it are closed to writing. What is absent is removed already.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let absent = |error: io::Error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) };
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path)
            .or_else(|_closed| {
                open_folders(path)?;
                fs::remove_dir_all(path)
            })
            .or_else(absent),
        Ok(_) => fs::remove_file(path).or_else(absent),
        Err(error) => absent(error),
    }
}

/// Gives the owner every right on a folder and on those below it.
fn open_folders(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_folders(&entry.path())?;
        }
    }
    Ok(())
}

/// How many bytes the files in a folder take; what cannot be read counts nothing.
pub fn bytes_below(path: &Path) -> u64 {
    let Ok(found) = fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_below(&entry.path())).sum()
}

/// Eight digits without meaning.
fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let salt = format!("{now} {} {}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut digits = blake3_hex(salt.as_bytes());
    digits.truncate(NAME_DIGITS);
    digits
}
