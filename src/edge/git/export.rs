//! Folders of a revision, written out as they are in it.

use std::path::Path;

use anyhow::{Result, bail};

use super::repository::Repository;
use crate::edge::files;
use crate::model::text::plain_line;

/// Most bytes that one call writes.
const EXPORT_MAX_BYTES: u64 = 256 << 20;

impl Repository {
    /// Writes the files of some folders of a revision below `into`, which is empty and ours. Folders that the revision does not have are left out.
    ///
    /// # Errors
    /// At a symlink or a submodule, beyond 10,000 files or 256 MiB, and when something cannot be read or written.
    pub fn export(&self, revision: &str, folders: &[&str], into: &Path) -> Result<()> {
        let mut bytes = 0;
        for (count, entry) in self.below(&self.tree(revision)?, folders)?.into_iter().enumerate() {
            let shown = plain_line(&entry.path, 200);
            if entry.is_link() || entry.kind != "blob" {
                bail!("{shown}: a symlink or a submodule; put the file itself there");
            }
            bytes += entry.bytes;
            if count >= files::ENTRIES_MAX || bytes > EXPORT_MAX_BYTES {
                bail!(
                    "{shown}: beyond {} files or {EXPORT_MAX_BYTES} bytes, which is the most that is looked at",
                    files::ENTRIES_MAX
                );
            }
            let to = into.join(&entry.path);
            files::make_folder(to.parent().unwrap_or(into))?;
            files::write(&to, &self.git.bytes(&["cat-file", "blob", &entry.id])?)?;
        }
        Ok(())
    }
}
