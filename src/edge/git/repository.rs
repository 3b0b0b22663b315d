//! A repository as `gate` sees it: its revisions, its state, and files of a revision as blobs. Nothing here writes to it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::command::{Git, alternate};
use crate::edge::environment::Variables;
use crate::model::text::plain_line;

/// Largest file of a revision that is read: rules and prompts are small.
const BLOB_MAX_BYTES: u64 = 1 << 20;

/// A checkout with the repository behind it.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(super) git: Git,
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    shallow: bool,
}

/// One entry of a folder of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    mode: String,
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) bytes: u64,
    pub(super) path: String,
}

impl Entry {
    /// Whether it is a symbolic link.
    pub(super) fn is_link(&self) -> bool {
        self.mode == LINK_MODE
    }
}

const LINK_MODE: &str = "120000";

impl Repository {
    /// Opens the repository around a folder. Who owns it is checked as git checks it.
    ///
    /// # Errors
    /// Outside a repository, in a bare one, in another user's, or without a usable `git`.
    pub fn open(folder: &Path, environment: &Variables) -> Result<Self> {
        let git = Git::find(folder, environment)?;
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-common-dir",
            "--is-shallow-repository",
        ];
        let said = git.text(&asked)?;
        let [top, git_dir, common_dir, shallow] = said.lines().collect::<Vec<_>>()[..] else {
            bail!("{}: its path holds a line end, which is not supported", folder.display());
        };
        let git = git.with("GIT_DIR", git_dir).with("GIT_WORK_TREE", top).at(Path::new(top));
        Ok(Self {
            git: git.without_filters()?,
            top: top.into(),
            git_dir: git_dir.into(),
            common_dir: common_dir.into(),
            shallow: shallow == "true",
        })
    }

    /// The repository of a submodule whose files are, or will be, in `work_tree`.
    pub(super) fn of_submodule(&self, git_dir: &Path, work_tree: &Path) -> Result<Self> {
        let git = self.git.clone().with("GIT_DIR", git_dir).with("GIT_WORK_TREE", work_tree);
        Ok(Self {
            git: git.at(work_tree).without_filters()?,
            top: work_tree.to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir: git_dir.to_owned(),
            shallow: false,
        })
    }

    /// The same, able to see the objects in a further folder too.
    pub(super) fn seeing(&self, objects: &Path) -> Self {
        Self {
            git: self.git.clone().with("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate(objects)),
            ..self.clone()
        }
    }

    /// The top of the working tree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Whether the history was cut off when it was fetched.
    pub const fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// The commit that a revision means; none where there is none.
    ///
    /// # Errors
    /// When it is ambiguous or cannot be read.
    pub fn commit(&self, revision: &str) -> Result<Option<String>> {
        self.verified(&format!("{revision}^{{commit}}"))
    }

    /// The tree that a revision, or a tree's own id, means.
    ///
    /// # Errors
    /// When there is none.
    pub fn tree(&self, revision: &str) -> Result<String> {
        let found = self.verified(&format!("{revision}^{{tree}}"))?;
        found.ok_or_else(|| anyhow!("{}: no such revision here{}", plain_line(revision, 200), self.deepen()))
    }

    fn verified(&self, expression: &str) -> Result<Option<String>> {
        let found = self
            .git
            .asked(&["rev-parse", "--verify", "--quiet", "--end-of-options", expression])?;
        found.map(|id| Ok(String::from_utf8(id)?.trim().to_owned())).transpose()
    }

    /// The best common ancestor of two commits; none where there is none.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>> {
        let found = self.git.asked(&["merge-base", one, other])?;
        found.map(|id| Ok(String::from_utf8(id)?.trim().to_owned())).transpose()
    }

    /// What a symbolic reference points to; none where there is none.
    pub(super) fn symbolic(&self, name: &str) -> Result<Option<String>> {
        let found = self.git.asked(&["symbolic-ref", "--quiet", name])?;
        found.map(|id| Ok(String::from_utf8(id)?.trim().to_owned())).transpose()
    }

    /// The names of the configured remotes.
    pub(super) fn remotes(&self) -> Result<Vec<String>> {
        Ok(self.git.text(&["remote"])?.lines().map(str::to_owned).collect())
    }

    /// The user as git's configuration names them: `NAME <EMAIL>`; none where it has no name.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub fn user(&self) -> Result<Option<String>> {
        let value = |key: &str| -> Result<Option<String>> {
            let found = self.git.asked(&["config", "--get", key])?;
            let found = found.map(|text| plain_line(String::from_utf8_lossy(&text).trim(), 100));
            Ok(found.filter(|text| !text.is_empty()))
        };
        let (name, email) = (value("user.name")?, value("user.email")?);
        Ok(name.map(|name| email.map_or_else(|| name.clone(), |email| format!("{name} <{email}>"))))
    }

    /// Whether tracked files differ from HEAD, or untracked files that are not ignored exist. Changes inside submodules do not count.
    ///
    /// # Errors
    /// When the working tree cannot be looked at.
    pub fn is_dirty(&self) -> Result<bool> {
        let status = [
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--no-renames",
        ];
        Ok(!self.git.bytes(&status)?.is_empty())
    }

    /// What to add to a message where history may be missing.
    pub(super) const fn deepen(&self) -> &'static str {
        if self.shallow {
            "; this clone is shallow: check out with `fetch-depth: 0`, or run `git fetch --unshallow`"
        } else {
            ""
        }
    }

    /// The bytes of a file of a revision, read as a blob; none where there is no such file.
    ///
    /// # Errors
    /// When the path leaves the tree or goes through a symlink, or the file is a symlink, a folder, a submodule or larger than 1 MiB.
    pub fn read_blob(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>> {
        self.read_blob_within(revision, path, BLOB_MAX_BYTES)
    }

    /// The same for a file that may be larger, such as the evidence of a baseline.
    ///
    /// # Errors
    /// As [`Repository::read_blob`], beyond `max_bytes`.
    pub fn read_blob_within(&self, revision: &str, path: &str, max_bytes: u64) -> Result<Option<Vec<u8>>> {
        let tree = self.tree(revision)?;
        let Some(entry) = self.entry(&tree, path)? else { return Ok(None) };
        let shown = plain_line(path, 200);
        match (entry.mode.as_str(), entry.kind.as_str()) {
            (LINK_MODE, _) => bail!("{shown}: a symlink; in a revision only the file itself is read"),
            (_, "blob") if entry.bytes > max_bytes => {
                bail!("{shown}: {} bytes, at most {max_bytes} are read from a revision", entry.bytes)
            }
            (_, "blob") => Ok(Some(self.git.bytes(&["cat-file", "blob", &entry.id])?)),
            (_, "commit") => bail!("{shown}: a submodule, not a file"),
            _ => bail!("{shown}: a folder, not a file"),
        }
    }

    /// The names in a folder of a revision, folders left out, sorted; empty where there is no such folder. Symlinks are among
    /// them, and reading one is refused.
    ///
    /// # Errors
    /// When the path leaves the tree, goes through a symlink or is none of a folder.
    pub fn list(&self, revision: &str, folder: &str) -> Result<Vec<String>> {
        let tree = self.tree(revision)?;
        match self.entry(&tree, folder)? {
            None => return Ok(Vec::new()),
            Some(entry) if entry.kind == "tree" => {}
            Some(entry) if entry.mode == LINK_MODE => bail!("{}: a symlink, not a folder", plain_line(folder, 200)),
            Some(_) => bail!("{}: not a folder", plain_line(folder, 200)),
        }
        let below = format!("{folder}/");
        let entries = self.entries(&tree, &below)?;
        let names = entries.iter().filter(|entry| entry.kind != "tree");
        let mut names: Vec<String> = names
            .filter_map(|entry| Some(entry.path.strip_prefix(&below)?.to_owned()))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Every path that differs between two revisions or trees, sorted.
    ///
    /// # Errors
    /// When one of them is not here.
    pub fn changed_paths(&self, base: &str, candidate: &str) -> Result<Vec<PathBuf>> {
        let (base, candidate) = (self.tree(base)?, self.tree(candidate)?);
        let diff = [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            &base,
            &candidate,
        ];
        Ok(paths(&self.git.bytes(&diff)?))
    }

    /// Refuses a folder of ours that the repository has files of its own in: what is kept there is trusted, and a change could forge it.
    ///
    /// # Errors
    /// Names the first such file.
    pub fn refuse_committed(&self, folder: &Path) -> Result<()> {
        let Ok(inside) = folder.strip_prefix(&self.top) else {
            return Ok(());
        };
        let spec = format!(":(top,literal){}", inside.display());
        if let Some(file) = paths(&self.git.bytes(&["ls-files", "-z", "--", &spec])?).first() {
            bail!(
                "{}: is under version control, but gate keeps its own state in {}: `git rm -r --cached {}` and ignore it",
                file.display(),
                folder.display(),
                inside.display()
            );
        }
        Ok(())
    }

    /// The entry of a path; none where it does not exist.
    fn entry(&self, tree: &str, path: &str) -> Result<Option<Entry>> {
        check_inside(path)?;
        if let Some(entry) = self.entries(tree, path)?.into_iter().find(|entry| entry.path == path) {
            return Ok(Some(entry));
        }
        // Absent, or behind something that is no folder.
        for (at, _) in path.match_indices('/') {
            let parent = path.get(..at).unwrap_or_default();
            match self.entries(tree, parent)?.into_iter().find(|entry| entry.path == parent) {
                Some(entry) if entry.mode == LINK_MODE => {
                    bail!(
                        "{}: {parent} is a symlink, which is not followed in a revision",
                        plain_line(path, 200)
                    )
                }
                Some(entry) if entry.kind == "tree" => {}
                _ => break,
            }
        }
        Ok(None)
    }

    /// Every entry below some folders of a tree that is no folder itself.
    pub(super) fn below(&self, tree: &str, folders: &[&str]) -> Result<Vec<Entry>> {
        self.listed(&[&["ls-tree", "-r", "-z", "-l", "--full-tree", tree, "--"], folders].concat())
    }

    fn entries(&self, tree: &str, path: &str) -> Result<Vec<Entry>> {
        let spec = format!(":(literal){path}");
        self.listed(&["ls-tree", "-z", "-l", "--full-tree", tree, "--", &spec])
    }

    fn listed(&self, ls_tree: &[&str]) -> Result<Vec<Entry>> {
        let listed = self.git.bytes(ls_tree)?;
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        lines
            .map(|line| parse_entry(line).context("git ls-tree answers in an unknown form"))
            .collect()
    }
}

/// `MODE SP KIND SP ID SP+ SIZE TAB PATH`
fn parse_entry(line: &[u8]) -> Option<Entry> {
    let line = String::from_utf8_lossy(line);
    let (facts, path) = line.split_once('\t')?;
    let mut facts = facts.split_ascii_whitespace().map(str::to_owned);
    Some(Entry {
        mode: facts.next()?,
        kind: facts.next()?,
        id: facts.next()?,
        bytes: facts.next()?.parse().unwrap_or_default(),
        path: path.to_owned(),
    })
}

/// Refuses a path that is not plainly below the top of a tree.
fn check_inside(path: &str) -> Result<()> {
    let sound = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    if path.split('/').all(sound) {
        return Ok(());
    }
    bail!(
        "{:?}: must be a path below the top of the repository, without . or ..",
        plain_line(path, 200)
    )
}

/// Paths that are separated by NUL.
pub(super) fn paths(listed: &[u8]) -> Vec<PathBuf> {
    let parts = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    parts.map(|path| PathBuf::from(OsString::from_vec(path.to_vec()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_top_are_taken() {
        for path in ["gates/perf.toml", "a", "a b/ü", "...", "-x", ":(top)x"] {
            assert!(check_inside(path).is_ok(), "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a/.", "a\0b"] {
            assert!(check_inside(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn an_entry_is_read() {
        let entry = parse_entry(b"100644 blob 0123 \t  17\tx");
        assert_eq!(entry, None, "a tab too early leaves no size");
        let entry = parse_entry(b"100644 blob 0123      17\ta\tb").expect("an entry");
        assert_eq!((entry.mode.as_str(), entry.bytes, entry.path.as_str()), ("100644", 17, "a\tb"));
        let entry = parse_entry(b"040000 tree 4567       -\tgates").expect("an entry");
        assert_eq!((entry.kind.as_str(), entry.bytes), ("tree", 0));
    }
}
