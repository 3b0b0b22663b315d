//! Real git repositories in a temporary folder, with a home of their own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gate::edge::environment::{Scrubbed, Variables};
use gate::edge::git::Repository;

/// A folder for repositories, and the environment that every git in it sees.
pub struct Playground {
    folder: tempfile::TempDir,
}

impl Playground {
    /// An empty one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("home")).expect("the folder is ours");
        fs::write(
            folder.path().join("home/.gitconfig"),
            "[user]\nname = A\nemail = a@example.org\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n[core]\nautocrlf = false\n",
        )
        .expect("the folder is ours");
        Self { folder }
    }

    /// A place in it.
    pub fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("it is there").join(name)
    }

    /// The environment for `gate`'s own git: no configuration but the one of this place.
    pub fn env(&self) -> Variables {
        let path = std::env::var_os("PATH").expect("tests have a PATH");
        vec![
            ("PATH".into(), path),
            ("HOME".into(), self.path("home").into()),
            ("XDG_CONFIG_HOME".into(), self.path("home/.config").into()),
            ("GIT_DIR".into(), "/nonexistent".into()),
        ]
    }

    /// What builds may see.
    pub fn scrubbed(&self) -> Scrubbed {
        Scrubbed {
            kept: self.env().into_iter().filter(|(name, _)| name != "GIT_DIR").collect(),
            removed: Vec::new(),
        }
    }

    /// A new repository with one commit of `a` (`one`), and `.gate` in it.
    pub fn repository(&self, name: &str) -> Checkout<'_> {
        let checkout = Checkout {
            place: self,
            top: self.path(name),
        };
        self.git(&self.path(""), &["init", "--quiet", name]);
        checkout.write("a", "one\n");
        checkout.commit("first");
        checkout
    }

    /// Another checkout at a place that exists.
    pub fn at(&self, name: &str) -> Checkout<'_> {
        Checkout {
            place: self,
            top: self.path(name),
        }
    }

    /// Runs git as a user does; its answer without the last line's end.
    pub fn git(&self, cwd: &Path, arguments: &[&str]) -> String {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .envs(self.scrubbed().kept)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git runs");
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "git {arguments:?}: {err}");
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }
}

/// A checkout in the playground.
pub struct Checkout<'a> {
    place: &'a Playground,
    /// Its top.
    pub top: PathBuf,
}

impl Checkout<'_> {
    /// Runs git in it.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.place.git(&self.top, arguments)
    }

    /// Writes a file, folders made.
    pub fn write(&self, path: &str, text: &str) {
        let file = self.top.join(path);
        fs::create_dir_all(file.parent().expect("it has a folder")).expect("the folder is ours");
        fs::write(file, text).expect("the folder is ours");
    }

    /// Writes a script.
    pub fn script(&self, path: &str, text: &str) {
        self.write(path, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.top.join(path), fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }

    /// Commits everything; gives the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Writes `a` and commits it.
    pub fn change(&self, text: &str) -> String {
        self.write("a", text);
        self.commit(text)
    }

    /// As `gate` opens it.
    pub fn open(&self) -> Repository {
        Repository::open(&self.top, &self.place.env()).expect("a repository")
    }

    /// Every file of the repository itself (index, references, objects, stash, administration), with what is in it.
    pub fn inside(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let git_dir = self.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        everything(Path::new(&git_dir))
    }

    /// The state folder.
    pub fn state(&self) -> PathBuf {
        gate::edge::files::state_folder(&self.top).expect("it can be made")
    }
}

/// Every file below a folder, symlinks as what they say.
pub fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            found.extend(everything(&entry.path()));
        } else if kind.is_symlink() {
            let target: OsString = fs::read_link(entry.path()).expect("a link").into();
            found.insert(entry.path(), target.into_encoded_bytes());
        } else {
            found.insert(entry.path(), fs::read(entry.path()).expect("a file"));
        }
    }
    found
}
