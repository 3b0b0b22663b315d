//! Submodules: found in the user's own repository, never fetched.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::repository::{Repository, paths};
use crate::model::text::plain_line;

/// How deep submodules may be nested.
pub(super) const DEPTH_MAX: u32 = 8;

/// One submodule of a tree.
pub(super) struct Submodule {
    /// Where it is, below the top.
    pub path: PathBuf,
    /// The commit that the tree names.
    pub commit: String,
    /// Its name in `.gitmodules`.
    name: String,
}

/// The submodules of a tree, nested ones left out.
pub(super) fn list(repository: &Repository, tree: &str) -> Result<Vec<Submodule>> {
    let listed = repository.git.bytes(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let links = listed.split(|byte| *byte == 0).filter_map(|line| {
        let facts = line.strip_prefix(b"160000 commit ")?;
        let tab = facts.iter().position(|byte| *byte == b'\t')?;
        let path = paths(facts.get(tab + 1..)?).pop()?;
        Some((path, String::from_utf8_lossy(facts.get(..tab)?).into_owned()))
    });
    let links: Vec<(PathBuf, String)> = links.collect();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let names = names(repository, tree)?;
    let mut found = Vec::new();
    for (path, commit) in links {
        let name = names.iter().find(|(_, at)| Path::new(at) == path).map(|(name, _)| name.clone());
        let name = name.ok_or_else(|| anyhow!("{}: a submodule that .gitmodules does not name", path.display()))?;
        found.push(Submodule { path, commit, name });
    }
    Ok(found)
}

/// Names and paths in the `.gitmodules` of a tree.
fn names(repository: &Repository, tree: &str) -> Result<Vec<(String, String)>> {
    let blob = format!("{tree}:.gitmodules");
    let asked = ["config", "-z", "--blob", &blob, "--get-regexp", r"^submodule\..*\.path$"];
    let said = repository
        .git
        .asked(&asked)
        .context(".gitmodules cannot be read")?
        .unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let pairs = said.split('\0').filter_map(|pair| {
        let (key, path) = pair.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some((name.to_owned(), path.to_owned()))
    });
    Ok(pairs.collect())
}

/// The submodule's own repository, with `work_tree` as the place of its files.
pub(super) fn open(parent: &Repository, submodule: &Submodule, work_tree: &Path) -> Result<Repository> {
    let (name, path) = (&submodule.name, submodule.path.display());
    // A name is also a folder below .git.
    if name.split('/').any(|part| matches!(part, "" | "." | "..")) || name.starts_with('-') {
        bail!(
            "{path}: the submodule's name {:?} leaves the folder of submodules",
            plain_line(name, 100)
        );
    }
    let below = Path::new("modules").join(name);
    let places = [
        parent.git_dir.join(&below),
        parent.common_dir.join(&below),
        parent.top.join(&submodule.path).join(".git"),
    ];
    let git_dir = places.iter().find(|place| place.join("HEAD").is_file()).ok_or_else(|| {
        anyhow!("{path}: the submodule is not here: `git submodule update --init --recursive` in the checkout fetches it")
    })?;
    let repository = parent.of_submodule(git_dir, work_tree)?;
    if repository.commit(&submodule.commit)?.is_none() {
        bail!(
            "{path}: the submodule's commit {} is not here: `git -C {path} fetch origin {}` fetches it",
            submodule.commit,
            submodule.commit
        );
    }
    Ok(repository)
}

/// Refuses a submodule with changes that are not committed: a tree holds its commit only, and they would not be measured.
pub(super) fn refuse_changed(repository: &Repository, tree: &str, depth: u32) -> Result<()> {
    for submodule in list(repository, tree)? {
        let files = repository.top.join(&submodule.path);
        let below = open(repository, &submodule, &files)?;
        if below.is_dirty()? {
            bail!(
                "{}: the submodule has changes that are not committed, and only its commit would be measured: commit them there",
                submodule.path.display()
            );
        }
        if depth > 0 {
            refuse_changed(&below, &submodule.commit, depth - 1)?;
        }
    }
    Ok(())
}
