//! Files that are written whole or not at all, and folders of our own.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Largest file that is read into memory.
const READ_MAX_BYTES: u64 = 256 << 20;
/// Most entries of a folder that are looked at.
pub const ENTRIES_MAX: usize = 10_000;

/// The folder `.gate` of a project, made where it is missing, and kept out of version control by a `.gitignore` of its own.
///
/// # Errors
/// When it cannot be made or written.
pub fn state_folder(project: &Path) -> Result<PathBuf> {
    let folder = project.join(".gate");
    let advice = || {
        format!(
            "cannot write the folder {}: start gate in a folder that can be written; --cwd moves the commands",
            folder.display()
        )
    };
    fs::create_dir_all(folder.join("sessions")).with_context(advice)?;
    let ignore = folder.join(".gitignore");
    if !ignore.is_file() {
        fs::write(&ignore, "*\n").with_context(advice)?;
    }
    Ok(folder)
}

/// Refuses a path that could not be written later, before anything is measured.
///
/// # Errors
/// When the folder is missing or read-only, or the path is a folder.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!("{}: is a folder; name a file", path.display());
    }
    if special(path) {
        return Ok(());
    }
    let probe = beside(path);
    File::create_new(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file whole or not at all: beside it first, synced, then renamed into place.
///
/// # Errors
/// When it cannot be written; the file is then as it was.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if special(path) {
        return OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .with_context(failed);
    }
    let part = beside(path);
    let written = File::create_new(&part).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written
        .and_then(|()| fs::rename(&part, path))
        .inspect_err(|_| drop(fs::remove_file(&part)))
        .with_context(failed)
}

/// Reads a text file within the size limit.
///
/// # Errors
/// When it cannot be read, is too large, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let size = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    if size > READ_MAX_BYTES {
        bail!("{}: {size} bytes, at most {READ_MAX_BYTES} are read", path.display());
    }
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a declaration: a regular file of at most `max_bytes`, never through a link.
///
/// # Errors
/// When it is a link or no file, is too large, cannot be read, or is not UTF-8.
pub fn read_declared(path: &Path, max_bytes: u64) -> Result<String> {
    let failed = || format!("cannot read {}", path.display());
    let found = fs::symlink_metadata(path).with_context(failed)?;
    if found.is_symlink() {
        bail!("{}: is a symbolic link; put the file itself there", path.display());
    }
    if !found.is_file() {
        bail!("{}: is no regular file", path.display());
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .with_context(failed)?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes).with_context(failed)?;
    if bytes.len() as u64 > max_bytes {
        bail!("{}: more than {max_bytes} bytes, which is the most that is read", path.display());
    }
    String::from_utf8(bytes).with_context(|| format!("{}: is not UTF-8 text", path.display()))
}

/// The entries of a folder whose names end in `suffix`, sorted by name; folders are left out, links are not. None where there is no
/// such folder.
///
/// # Errors
/// When the folder is a link or cannot be read, or holds more than [`ENTRIES_MAX`] entries.
pub fn listing(folder: &Path, suffix: &str) -> Result<Vec<PathBuf>> {
    let failed = || format!("cannot read the folder {}", folder.display());
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(failed),
        Ok(found) if found.is_symlink() => bail!("{}: is a symbolic link; put the folder itself there", folder.display()),
        Ok(_) => {}
    }
    let mut paths = Vec::new();
    for (count, entry) in fs::read_dir(folder).with_context(failed)?.enumerate() {
        if count >= ENTRIES_MAX {
            bail!("{}: more than {ENTRIES_MAX} entries", folder.display());
        }
        let entry = entry.with_context(failed)?;
        let named = entry.file_name().to_string_lossy().ends_with(suffix);
        if named && !entry.file_type().with_context(failed)?.is_dir() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether anything stands at a path, a broken link included.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The bytes of an input file; none where there is no such file.
///
/// # Errors
/// When it cannot be read, is no regular file, or is larger than `max_bytes`.
pub fn read_input(path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(None) };
    if !found.is_file() || found.len() > max_bytes {
        bail!("{}: not a regular file of at most {max_bytes} bytes", path.display());
    }
    fs::read(path).map(Some).with_context(|| format!("cannot read {}", path.display()))
}

/// Makes a folder and those above it where they are missing.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

/// Makes a new or renamed entry of a folder durable.
///
/// # Errors
/// When the folder cannot be synced.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .with_context(|| format!("cannot sync {}", folder.display()))
}

/// Whether a path is a folder.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Whether a path is a regular file.
pub fn is_regular(path: &Path) -> bool {
    path.is_file()
}

/// Whether two paths, of files that may not exist yet, name the same place.
pub fn same_place(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        path.canonicalize()
            .or_else(|_| {
                Ok::<_, std::io::Error>(
                    path.parent()
                        .unwrap_or(&path)
                        .canonicalize()?
                        .join(path.file_name().unwrap_or_default()),
                )
            })
            .ok()
    };
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// The interpreter that a script names in its first line; none where the file is a program of its own.
///
/// Of `#!/usr/bin/env NAME` the interpreter is `env`, which the kernel starts; what it finds is not followed.
///
/// # Errors
/// When the file cannot be read.
pub fn interpreter(path: &Path) -> Result<Option<PathBuf>> {
    let mut first = [0_u8; 256];
    let read = File::open(path)
        .and_then(|mut file| file.read(&mut first))
        .with_context(|| format!("cannot read {}", path.display()))?;
    let line = first[..read].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Some(rest) = line.strip_prefix(b"#!") else { return Ok(None) };
    let text = String::from_utf8_lossy(rest);
    Ok(text.split_whitespace().next().map(PathBuf::from).filter(|found| found.is_file()))
}

/// Whether a file is a script: its first line names an interpreter, or its name ends as those of a scripting language do.
pub fn is_script(path: &Path) -> bool {
    const ENDINGS: [&str; 10] = ["sh", "py", "pl", "rb", "js", "lua", "R", "jl", "awk", "php"];
    let mut first = [0; 2];
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
        || File::open(path)
            .and_then(|mut file| file.read_exact(&mut first))
            .is_ok_and(|()| first == *b"#!")
}

/// The working folder.
///
/// # Errors
/// When it was removed.
pub fn working_folder() -> Result<PathBuf> {
    std::env::current_dir().context("the working folder is gone: change to another")
}

/// A pipe or device: it cannot be replaced, only written.
fn special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// A private folder that is removed with everything in it when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one in the temporary folder.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<Self> {
        let parent = std::env::temp_dir();
        for attempt in 0..100 {
            let folder = parent.join(format!("gate-{}-{attempt}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("cannot make the folder {}", folder.display())),
            }
        }
        bail!("{} is full of folders named gate-*: remove them", parent.display())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays in the temporary folder, which the system cleans.
        let _removed = fs::remove_dir_all(&self.0);
    }
}

/// The file of this program.
///
/// # Errors
/// When the system does not tell.
pub fn own_program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find the own program file")
}
