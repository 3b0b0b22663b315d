//! Pull requests as GitHub itself tells them: which one a run measured, and what it touches.

use serde::Deserialize;

use super::api::escaped;
use super::client::Client;
use super::refusal::Failure;
use crate::model::github::{Candidate, MeasuredRun, Repository};

/// Most pages of changed files: GitHub itself tells no more than 3,000 files.
const PAGES_MAX: u32 = 30;

#[derive(Deserialize)]
struct PullFile {
    number: u64,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Side {
    sha: String,
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    id: u64,
    full_name: String,
}

#[derive(Deserialize)]
struct ChangedFile {
    filename: String,
    previous_filename: Option<String>,
}

impl From<PullFile> for Candidate {
    fn from(file: PullFile) -> Self {
        Self {
            number: file.number,
            head: file.head.sha,
            head_repository: file.head.repo.map(|repo| repo.id),
            base_repository: file.base.repo.map(|repo| repo.full_name).unwrap_or_default(),
            base: file.base.sha,
        }
    }
}

impl Client {
    /// The open pull requests of the branch that a run measured.
    ///
    /// # Errors
    /// When GitHub does not tell.
    pub fn candidates(&self, own: &Repository, run: &MeasuredRun) -> Result<Vec<Candidate>, Failure> {
        let Some((_, repository)) = &run.repository else {
            return Ok(Vec::new());
        };
        let head = escaped(&format!("{}:{}", repository.owner, run.branch));
        let path = format!("/repos/{own}/pulls?state=open&head={head}&per_page=100");
        let files: Vec<PullFile> = self.read(&path, &format!("list the pull requests of a branch in {own}"))?;
        Ok(files.into_iter().map(Candidate::from).collect())
    }

    /// Every path that a pull request changes, renamed files under both names; none where there are more than GitHub tells.
    ///
    /// # Errors
    /// When GitHub does not tell.
    pub fn changed_paths(&self, own: &Repository, number: u64) -> Result<Option<Vec<String>>, Failure> {
        let doing = format!("list the files of {own}#{number}");
        let mut paths = Vec::new();
        for page in 1..=PAGES_MAX {
            let path = format!("/repos/{own}/pulls/{number}/files?per_page=100&page={page}");
            let answer = self.get(&path, &doing)?;
            let files: Vec<ChangedFile> = self.value(&answer, &doing)?;
            paths.extend(
                files
                    .into_iter()
                    .flat_map(|file| [Some(file.filename), file.previous_filename])
                    .flatten(),
            );
            if !answer.headers.more {
                return Ok(Some(paths));
            }
        }
        Ok(None)
    }
}
