//! The working tree as a tree object, made without a trace in the repository: index and new objects are in a folder of their own.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::command::alternate;
use super::repository::{Repository, paths};
use super::submodules;

/// How much new and changed content is taken into a snapshot, in bytes; more is a file that was meant to be ignored.
const NEW_MAX_BYTES: u64 = 2 << 30;

/// A snapshot of the working tree.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The tree's id: equal working trees have equal ids.
    pub tree: String,
    /// The repository, able to see the snapshot's objects as long as its folder is there.
    pub repository: Repository,
}

impl Repository {
    /// Takes a snapshot of every tracked file as it is, and of every untracked one that is not ignored. `scratch` is an empty folder that
    /// must outlive the snapshot; index, references, objects and stash of the repository stay as they are.
    ///
    /// # Errors
    /// When a file cannot be read, too much is new, or, where submodules are to be taken, one of them has changes that are not committed.
    pub fn snapshot(&self, scratch: &Path, with_submodules: bool) -> Result<Snapshot> {
        let (index, objects) = (scratch.join("index"), scratch.join("objects"));
        fs::create_dir_all(&objects).with_context(|| format!("cannot make the folder {}", objects.display()))?;
        copy_index(&self.git_dir.join("index"), &index)?;
        let own = self.git.text(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let git = self.git.clone().with("GIT_INDEX_FILE", &index);
        let git = git
            .with("GIT_OBJECT_DIRECTORY", &objects)
            .with("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternate(Path::new(&own)));
        let everything = [":(top)", ":(top,exclude,literal).gate"];
        let new = [
            &["ls-files", "-z", "--others", "--modified", "--exclude-standard", "--"][..],
            &everything,
        ]
        .concat();
        self.refuse_too_much(&git.bytes(&new)?)?;
        // Git refuses to add where an excluded path is ignored as well, so that our own folder is taken out afterwards.
        git.bytes(&["add", "--all", "--", ":(top)"])?;
        git.bytes(&["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", ":(top,literal).gate"])?;
        let tree = git.text(&["write-tree"])?;
        let repository = self.seeing(&objects);
        if with_submodules {
            repository.refuse_changed_submodules(&tree)?;
        }
        Ok(Snapshot { tree, repository })
    }

    /// Refuses a tree of the working files where a submodule has changes that are not committed: only its commit would be measured.
    ///
    /// # Errors
    /// Names the submodule, or tells that it is not here.
    pub fn refuse_changed_submodules(&self, tree: &str) -> Result<()> {
        submodules::refuse_changed(self, tree, submodules::DEPTH_MAX)
    }

    fn refuse_too_much(&self, listed: &[u8]) -> Result<()> {
        let sized = paths(listed).into_iter().filter_map(|path| {
            let size = fs::symlink_metadata(self.top.join(&path)).ok()?.size();
            Some((size, path))
        });
        let sized: Vec<_> = sized.collect();
        let total_bytes: u64 = sized.iter().map(|(size, _)| size).sum();
        match sized.iter().max() {
            Some((size, path)) if total_bytes > NEW_MAX_BYTES => bail!(
                "the working tree has {total_bytes} bytes of new or changed files, at most {NEW_MAX_BYTES} are compared; the largest is {} with {size}: ignore what is no source",
                path.display()
            ),
            _ => Ok(()),
        }
    }
}

/// Copies the index with its time: git takes a file whose time is not older than the index's for possibly changed, and looks into it.
fn copy_index(from: &Path, to: &Path) -> Result<()> {
    let failed = || format!("cannot copy the index {}", from.display());
    let Ok(found) = fs::metadata(from) else {
        // A checkout without an index has no tracked files.
        return Ok(());
    };
    fs::copy(from, to).with_context(failed)?;
    let modified = found.modified().with_context(failed)?;
    File::options()
        .write(true)
        .open(to)
        .and_then(|file| file.set_modified(modified))
        .with_context(failed)
}
