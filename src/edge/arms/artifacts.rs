//! What an arm runs: the files that its build left in its tree, found by pattern, digested, and looked at again before they run.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, Serialize};

use crate::edge::digest::{Digests, digest_file};
use crate::edge::measure::Stamp;
use crate::model::identity::Artifact;
use crate::model::pattern::Patterns;

/// How many files may match.
const FILES_MAX: usize = 10_000;
/// How many bytes they may take together.
const BYTES_MAX: u64 = 64 << 30;
/// How deep folders may be nested.
const DEPTH_MAX: usize = 100;
/// The role that an artifact has in a record.
const ROLE: &str = "artifact";

/// What stands at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// A file.
    File {
        /// What is in it.
        digests: Digests,
        /// Its permission bits.
        mode: u32,
    },
    /// A symlink that stays in the tree.
    Link {
        /// What it says.
        target: String,
    },
}

/// The artifacts of one arm: paths below the top of its tree, with `/`, and what stands there. Equal artifacts are equal files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts(BTreeMap<String, Content>);

impl Artifacts {
    /// Finds and digests what the patterns match. A symlink is kept as one, and what it leads to belongs to it.
    ///
    /// # Errors
    /// When a pattern matches nothing, a symlink leaves the tree, or a file cannot be read or changes meanwhile.
    pub fn find(tree: &Path, patterns: &Patterns) -> Result<Self> {
        let mut search = Search {
            tree: &fs::canonicalize(tree).with_context(|| format!("cannot look at {}", tree.display()))?,
            patterns,
            found: BTreeMap::new(),
            folders_elsewhere: Vec::new(),
            bytes: 0,
        };
        search.walk(Path::new(""), 0)?;
        let Search {
            found, folders_elsewhere, ..
        } = search;
        if let Some(pattern) = patterns.first_unmatched(found.keys().map(String::as_str)) {
            let elsewhere = match folders_elsewhere.first() {
                Some(link) => format!("; {link} is a symlink to a folder, which is not followed"),
                None => String::new(),
            };
            bail!("artifacts: {pattern:?} matches no file in the arm's tree{elsewhere}");
        }
        Ok(Self(found))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every path, and every symlink's target, stays below the top: a list that was read from a file may say anything.
    pub fn stay_inside(&self) -> bool {
        self.iter().all(|(path, content)| {
            let parts = path.split('/').count();
            let plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            plain
                && match content {
                    Content::File { .. } => true,
                    Content::Link { target } => is_inside(target, parts - 1),
                }
        })
    }

    /// Every path with what stands there, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Content)> {
        self.0.iter().map(|(path, content)| (path.as_str(), content))
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files().map(|(_, digests)| digests.bytes).sum()
    }

    fn files(&self) -> impl Iterator<Item = (&str, &Digests)> {
        self.iter().filter_map(|(path, content)| match content {
            Content::File { digests, .. } => Some((path, digests)),
            Content::Link { .. } => None,
        })
    }

    /// What a record says of them: paths below the tree, whose own name means nothing.
    pub fn of_record(&self) -> Vec<Artifact> {
        let files = self.files().map(|(path, digests)| Artifact {
            role: ROLE.to_owned(),
            path: path.to_owned(),
            bytes: digests.bytes,
            md5: Some(digests.md5.clone()),
            blake3: digests.blake3.clone(),
        });
        files.collect()
    }

    /// The stamps of the files in a tree, for the looks between slots.
    ///
    /// # Errors
    /// When one is gone.
    pub fn stamps(&self, tree: &Path) -> Result<Vec<Stamp>> {
        self.files().map(|(path, _)| Stamp::of(tree.join(path))).collect()
    }

    /// Digests the files in a tree again.
    ///
    /// # Errors
    /// Names the first that is not what it was.
    pub fn check(&self, tree: &Path) -> Result<()> {
        for (path, content) in &self.0 {
            let place = tree.join(path);
            let is = match content {
                Content::File { .. } => file(&place),
                Content::Link { .. } => link(&place),
            };
            if is.as_ref().ok() != Some(content) {
                let why = is.err().map(|error| format!(" ({error:#})")).unwrap_or_default();
                bail!(
                    "{path} is not what this arm's build made{why}: another build or run writes to it, as with a target folder that both arms share; give each arm its own"
                );
            }
        }
        Ok(())
    }

    /// Copies them from one tree into another, never as links to the same file. What stands there is replaced.
    ///
    /// # Errors
    /// When one cannot be copied.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        for (path, content) in &self.0 {
            let place = to.join(path);
            let failed = || format!("cannot copy {path} to {}", to.display());
            make_parents(to, path).with_context(failed)?;
            super::claim::remove_all(&place).with_context(failed)?;
            match content {
                Content::File { mode, .. } => {
                    fs::copy(from.join(path), &place).with_context(failed)?;
                    fs::set_permissions(&place, Permissions::from_mode(*mode)).with_context(failed)?;
                }
                Content::Link { target } => symlink(target, &place).with_context(failed)?,
            }
        }
        Ok(())
    }

    /// Whether a file holds the path of its own tree, so that it runs there only.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn hold_path(&self, tree: &Path) -> Result<bool> {
        for (path, _) in self.files() {
            let failed = || format!("cannot read {path}");
            let mut file = fs::File::open(tree.join(path)).with_context(failed)?;
            if super::scan::holds(&mut file, tree.as_os_str().as_encoded_bytes()).with_context(failed)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A walk through a tree.
struct Search<'a> {
    tree: &'a Path,
    patterns: &'a Patterns,
    found: BTreeMap<String, Content>,
    folders_elsewhere: Vec<String>,
    bytes: u64,
}

impl Search<'_> {
    fn walk(&mut self, folder: &Path, depth: usize) -> Result<()> {
        let failed = || format!("cannot look through {}", folder.display());
        if depth > DEPTH_MAX {
            bail!("{}: folders are nested more than {DEPTH_MAX} deep", folder.display());
        }
        for entry in fs::read_dir(self.tree.join(folder)).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let kind = entry.file_type().with_context(failed)?;
            let below = folder.join(entry.file_name());
            let Some(path) = below.to_str() else { continue };
            if kind.is_dir() {
                if self.patterns.may_hold(path) {
                    self.walk(&below, depth + 1)?;
                }
            } else if self.patterns.matches(path) {
                self.take(path)?;
            } else if kind.is_symlink() && self.patterns.may_hold(path) {
                self.folders_elsewhere.push(path.to_owned());
            }
        }
        Ok(())
    }

    fn take(&mut self, path: &str) -> Result<()> {
        if self.found.contains_key(path) {
            return Ok(());
        }
        if self.found.len() >= FILES_MAX {
            bail!("artifacts: more than {FILES_MAX} files match; name fewer");
        }
        let place = self.tree.join(path);
        if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink()) {
            let content = file(&place).with_context(|| format!("artifacts: {path}"))?;
            if let Content::File { digests, .. } = &content {
                self.bytes += digests.bytes;
            }
            if self.bytes > BYTES_MAX {
                bail!("artifacts: more than {BYTES_MAX} bytes match; name fewer");
            }
            self.found.insert(path.to_owned(), content);
            return Ok(());
        }
        let end = fs::canonicalize(&place).with_context(|| format!("artifacts: {path}: a symlink to nothing"))?;
        let end = end.strip_prefix(self.tree).map_err(|_outside| {
            anyhow!(
                "artifacts: {path}: a symlink to {}, outside the arm's tree, where another build can replace it; copy the file instead",
                end.display()
            )
        })?;
        let content = link(&place).with_context(|| format!("artifacts: {path}"))?;
        self.found.insert(path.to_owned(), content);
        match end.to_str() {
            Some(end) if self.tree.join(end).is_file() => self.take(end),
            _ => bail!("artifacts: {path}: a symlink to a folder; name the files in it"),
        }
    }
}

/// Whether a relative path from a folder `depth` folders below the top never climbs above the top.
fn is_inside(path: &str, depth: usize) -> bool {
    let step = |depth: usize, part: &str| match part {
        ".." => depth.checked_sub(1),
        "." => Some(depth),
        "" => None,
        _ => Some(depth + 1),
    };
    path.split('/').try_fold(depth, step).is_some()
}

/// Makes the folders above a path below a tree; a symlink on the way would lead out of it.
fn make_parents(tree: &Path, path: &str) -> Result<()> {
    for (at, _) in path.match_indices('/') {
        let folder = tree.join(path.get(..at).unwrap_or_default());
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => bail!("{} is not a folder", folder.display()),
            Err(_) => fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?,
        }
    }
    Ok(())
}

fn file(place: &Path) -> Result<Content> {
    let found = fs::symlink_metadata(place).context("it is gone")?;
    if !found.is_file() {
        bail!("not a regular file");
    }
    Ok(Content::File {
        digests: digest_file(place)?,
        mode: found.permissions().mode() & 0o777,
    })
}

/// A symlink that names its target by a path relative to its own place: any other leads out of a copied tree.
fn link(place: &Path) -> Result<Content> {
    let target: PathBuf = fs::read_link(place)?;
    let relative = target
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::ParentDir | Component::CurDir));
    match target.to_str() {
        Some(text) if relative => Ok(Content::Link { target: text.to_owned() }),
        _ => bail!("a symlink to {}: only one with a relative path can be kept", target.display()),
    }
}
