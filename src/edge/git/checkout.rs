//! A tree object as files in a folder that belongs to no repository: no administration of work trees is left behind anywhere.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::repository::{Repository, paths};
use super::submodules::{self, DEPTH_MAX};

/// The first words of a file that stands for one that Git LFS keeps elsewhere.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

impl Repository {
    /// Writes the files of a tree, or of a revision, into an empty folder. `index` is a file beside it that is used meanwhile. Neither hooks
    /// nor filters run; the folders of submodules stay empty unless they are asked for.
    ///
    /// # Errors
    /// When an object or a submodule is not here, a file is an LFS pointer, or the folder cannot be written.
    pub fn check_out(&self, tree: &str, folder: &Path, index: &Path, with_submodules: bool) -> Result<()> {
        let tree = self.tree(tree)?;
        let done = self.check_out_at(&tree, folder, index, with_submodules, DEPTH_MAX);
        match fs::remove_file(index) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                done.and(Err(error).with_context(|| format!("cannot remove {}", index.display())))
            }
            _ => done,
        }
    }

    fn check_out_at(&self, tree: &str, folder: &Path, index: &Path, with_submodules: bool, depth: u32) -> Result<()> {
        let git = self.git.at(folder).with("GIT_WORK_TREE", folder).with("GIT_INDEX_FILE", index);
        git.bytes(&["read-tree", "--reset", "-u", tree])?;
        let tracked_elsewhere = git.bytes(&["ls-files", "-z", "--", ":(top,attr:filter=lfs)"])?;
        for path in paths(&tracked_elsewhere) {
            if is_pointer(&folder.join(&path)) {
                bail!(
                    "{}: an LFS pointer, not the file itself; filters do not run in an arm's tree, so keep what is measured outside LFS, or name a prebuilt install",
                    path.display()
                );
            }
        }
        if !with_submodules {
            return Ok(());
        }
        for submodule in submodules::list(self, tree)? {
            if depth == 0 {
                bail!("{}: submodules are nested more than {DEPTH_MAX} deep", submodule.path.display());
            }
            let below = folder.join(&submodule.path);
            fs::create_dir_all(&below).with_context(|| format!("cannot make the folder {}", below.display()))?;
            let repository = submodules::open(self, &submodule, &below)?;
            let tree = repository.tree(&submodule.commit)?;
            fs::remove_file(index).with_context(|| format!("cannot remove {}", index.display()))?;
            repository
                .check_out_at(&tree, &below, index, true, depth - 1)
                .with_context(|| format!("submodule {}", submodule.path.display()))?;
        }
        Ok(())
    }
}

/// Whether a file stands for one that is kept elsewhere.
fn is_pointer(path: &Path) -> bool {
    let mut first = [0_u8; POINTER.len()];
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *POINTER
}
