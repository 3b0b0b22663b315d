//! The version-control state around a folder.

mod base;
mod checkout;
mod command;
mod event;
mod export;
mod history;
mod hooks;
mod repository;
mod snapshot;
mod submodules;

use std::path::{Path, PathBuf};

use git2::{ErrorCode, StatusOptions};

use crate::model::identity::Source;

pub use base::{Candidate, Chosen, choose, rules};
pub use command::Git;
pub use event::Event;
pub use history::Commit;
pub use hooks::{Hook, Owner};
pub use repository::Repository;
pub use snapshot::Snapshot;

/// The top of the working tree that a folder is in; none outside a repository.
pub fn top(folder: &Path) -> Option<PathBuf> {
    git2::Repository::discover(folder).ok()?.workdir().map(Path::to_owned)
}

/// Where a remote of the repository around a folder is; none where there is none of that name.
pub fn remote_url(folder: &Path, name: &str) -> Option<String> {
    let repository = git2::Repository::discover(folder).ok()?;
    let remote = repository.find_remote(name).ok()?;
    remote.url().ok().map(str::to_owned)
}

/// Branch, commit and cleanness of the repository around a folder.
///
/// # Errors
/// Why they are not known, in a few words.
pub fn source(folder: &Path) -> Result<Source, String> {
    let repository = git2::Repository::discover(folder).map_err(|error| match error.code() {
        ErrorCode::NotFound => "not in a git repository".to_owned(),
        ErrorCode::Owner => {
            "the git repository belongs to another user: `git config --global --add safe.directory DIR` allows it".to_owned()
        }
        _ => error.message().to_owned(),
    })?;
    let head = repository.head().map_err(|error| match error.code() {
        ErrorCode::UnbornBranch => "the git repository has no commit yet".to_owned(),
        _ => error.message().to_owned(),
    })?;
    let commit = head.peel_to_commit().map_err(|error| error.message().to_owned())?.id().to_string();
    let branch = head.shorthand().ok().filter(|_| head.is_branch()).map(str::to_owned);
    let mut options = StatusOptions::new();
    options.include_untracked(true).include_ignored(false).exclude_submodules(true);
    let statuses = repository
        .statuses(Some(&mut options))
        .map_err(|error| error.message().to_owned())?;
    Ok(Source {
        branch,
        commit,
        dirty: !statuses.is_empty(),
        tree: None,
    })
}
