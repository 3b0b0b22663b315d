//! What surrounds a process on this machine, beside its hardware: the runner, the control group, and the kernels that libraries keep compiled.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::source::Source;
use crate::model::host::machine::{Cache, Surroundings};
use crate::model::text::plain_line;

/// Folders in which libraries keep what they compiled or tuned, below the home folder.
const CACHES: [&str; 5] = [
    ".cache/comgr",
    ".cache/miopen",
    ".cache/torch/inductor",
    ".config/miopen",
    ".triton/cache",
];
/// Variables that name such a folder or file somewhere else.
const NAMED: [&str; 5] = [
    "AITER_JIT_DIR",
    "MIOPEN_USER_DB_PATH",
    "PYTORCH_TUNABLEOP_FILENAME",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
];
/// Most files of one cache that are looked at, and how deep.
const FILES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 12;
/// Longest name that is kept.
const NAME_MAX: usize = 200;

/// What surrounds this process; of another machine only the control group, which its snapshot keeps.
pub fn read(source: &Source) -> Surroundings {
    let groups = source.text("proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().next_back().and_then(|line| line.rsplit(':').next());
    let cgroup = group.map(|group| plain_line(group, NAME_MAX));
    if !source.is_here() {
        return Surroundings {
            cgroup,
            ..Surroundings::default()
        };
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = set("HOME").map(PathBuf::from);
    let below = CACHES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), home.as_ref()?.join(name))));
    let named = NAMED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), PathBuf::from(set(name)?))));
    let caches: BTreeMap<String, Cache> = below.chain(named).filter_map(|(name, path)| Some((name, cache(&path)?))).collect();
    Surroundings {
        runner: set("RUNNER_NAME").map(|name| plain_line(&name.to_string_lossy(), NAME_MAX)),
        cgroup,
        caches,
    }
}

/// A cache by the names and sizes of its files, not by what is in them: reading gigabytes would take longer than it tells. None where it is absent.
fn cache(path: &Path) -> Option<Cache> {
    let found = fs::symlink_metadata(path).ok()?;
    let mut files = Vec::new();
    if found.is_dir() {
        walk(path, Path::new(""), 0, &mut files);
    } else {
        files.push((String::new(), found.len()));
    }
    files.sort_unstable();
    let mut digest = blake3::Hasher::new();
    for (name, bytes) in &files {
        digest.update(format!("{name}\0{bytes}\n").as_bytes());
    }
    Some(Cache {
        files: files.len() as u64,
        bytes: files.iter().map(|(_, bytes)| bytes).sum(),
        is_whole: files.len() < FILES_MAX,
        digest: format!("b3:{}", digest.finalize().to_hex()),
    })
}

fn walk(top: &Path, below: &Path, depth: usize, files: &mut Vec<(String, u64)>) {
    let Ok(entries) = fs::read_dir(top.join(below)) else { return };
    for entry in entries.flatten() {
        if files.len() >= FILES_MAX {
            return;
        }
        let name = below.join(entry.file_name());
        match entry.metadata() {
            Ok(found) if found.is_dir() && depth < DEPTH_MAX => walk(top, &name, depth + 1, files),
            Ok(found) if found.is_file() => files.push((name.to_string_lossy().into_owned(), found.len())),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_its_names_and_sizes() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, bytes: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("own folder");
            fs::write(path, bytes).expect("own folder");
        };
        assert_eq!(cache(&folder.path().join("absent")), None);
        write("a/one.o", "1234");
        write("two.o", "12");
        let first = cache(folder.path()).expect("a cache");
        assert_eq!((first.files, first.bytes, first.is_whole), (2, 6, true));
        write("two.o", "21");
        assert_eq!(cache(folder.path()), Some(first.clone()), "what is in a file is not read");
        write("two.o", "123");
        assert_ne!(cache(folder.path()), Some(first.clone()));
        write("two.o", "12");
        fs::rename(folder.path().join("two.o"), folder.path().join("three.o")).expect("own folder");
        assert_ne!(cache(folder.path()), Some(first));
        let file = cache(&folder.path().join("three.o")).expect("a file of its own");
        assert_eq!((file.files, file.bytes), (1, 2));
    }
}
