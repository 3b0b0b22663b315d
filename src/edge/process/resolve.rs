//! Which file a command's first word means.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Where programs are looked for when no `PATH` says so.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// What a name turned out to be.
enum Found {
    Program,
    Nothing,
    Folder,
    NotExecutable,
    NotAFile,
}

/// Finds the executable file that `program` means, as `execvp` does: a name with a slash is a path, relative to `cwd`; any other
/// is looked for in the folders of `path`, an empty one of which means `cwd`. Links are not followed in the answer. The error is
/// one sentence.
pub fn resolve(program: &str, path: Option<&OsStr>, cwd: &Path) -> Result<PathBuf, String> {
    if program.is_empty() {
        return Err("the command is empty: it must name a program".to_owned());
    }
    if program.contains('/') {
        let file = cwd.join(program);
        return match sentence(&examine(&file)) {
            None => Ok(file),
            Some(what) => Err(format!("{program}: {what}")),
        };
    }
    let mut near_miss = None;
    for folder in path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|&byte| byte == b':') {
        let file = cwd.join(OsStr::from_bytes(folder)).join(program);
        match examine(&file) {
            Found::Program => return Ok(file),
            Found::Nothing => {}
            other => near_miss = near_miss.or(sentence(&other).map(|what| format!("{}: {what}", file.display()))),
        }
    }
    Err(near_miss.unwrap_or_else(|| format!("{program}: no such program in any folder of PATH; a path needs a slash, as in ./{program}")))
}

fn examine(file: &Path) -> Found {
    match std::fs::metadata(file) {
        Err(_) => Found::Nothing,
        Ok(meta) if meta.is_dir() => Found::Folder,
        Ok(meta) if !meta.is_file() => Found::NotAFile,
        Ok(_) if access(file, Access::EXEC_OK).is_err() => Found::NotExecutable,
        Ok(_) => Found::Program,
    }
}

fn sentence(found: &Found) -> Option<&'static str> {
    match found {
        Found::Program => None,
        Found::Nothing => Some("no such file"),
        Found::Folder => Some("a folder, not a program"),
        Found::NotExecutable => Some("not executable for this user; `chmod +x` makes it so"),
        Found::NotAFile => Some("not a regular file"),
    }
}
