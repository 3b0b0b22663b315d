//! Commits and the line that they stand on.

use anyhow::{Context as _, Result, anyhow, bail};

use super::repository::Repository;
use crate::model::text::plain_line;

/// Most commits of a range.
const LINE_MAX_COMMITS: usize = 10_000;
/// Longest part of a revision's name in a message, in characters.
const NAME_MAX: usize = 100;

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id in hex.
    pub id: String,
    /// The first line of its message, as it stands there.
    pub subject: String,
}

impl Commit {
    /// The first digits of its id, for people.
    pub fn short(&self) -> &str {
        self.id.get(..9).unwrap_or(&self.id)
    }
}

impl Repository {
    /// The commit that a revision means.
    ///
    /// # Errors
    /// When there is none here; in a shallow clone with the remedy.
    pub fn described(&self, revision: &str) -> Result<Commit> {
        let id = self.commit(revision)?;
        let id = id.ok_or_else(|| anyhow!("{}: no such commit here{}", plain_line(revision, NAME_MAX), self.deepen()))?;
        let mut found = self.log(&["--max-count=1", &id])?;
        found.pop().context("git log tells nothing of a commit that is here")
    }

    /// The commits after `from` up to `to`, oldest first, following first parents only: what a merge brought in is the merge's own commit.
    ///
    /// # Errors
    /// When there is none, the ends are the wrong way round, `from` is not on that line, or there are more than 10,000.
    pub fn first_parent_line(&self, from: &Commit, to: &Commit) -> Result<Vec<Commit>> {
        let (good, bad) = (from.short(), to.short());
        if from == to {
            bail!("the range is empty: both ends are {good}");
        }
        let common = self.merge_base(&from.id, &to.id)?;
        if common.as_deref() == Some(to.id.as_str()) {
            bail!("the range is empty: {bad} is older than {good}; the older end comes first: {bad}..{good}");
        }
        if common.as_deref() != Some(from.id.as_str()) {
            bail!(
                "{good} is no ancestor of {bad}: a range needs commits of one history{}",
                self.deepen()
            );
        }
        let most = format!("--max-count={}", LINE_MAX_COMMITS + 1);
        let range = format!("{}..{}", from.id, to.id);
        let mut line = self.log(&["--first-parent", &most, &range])?;
        if line.len() > LINE_MAX_COMMITS {
            bail!("{good}..{bad}: more than {LINE_MAX_COMMITS} commits: narrow the range");
        }
        line.reverse();
        let oldest = line.first().with_context(|| format!("the range {good}..{bad} is empty"))?;
        let before = self.commit(&format!("{}^1", oldest.id))?;
        if before.as_deref() != Some(from.id.as_str()) {
            let instead = before.as_deref().and_then(|id| id.get(..9)).unwrap_or("an older one");
            bail!(
                "{good} came into {bad} by a merge and is not on its line of first parents: name a commit of that line, such as {instead}"
            );
        }
        Ok(line)
    }

    fn log(&self, selection: &[&str]) -> Result<Vec<Commit>> {
        let shown = [
            "log",
            "-z",
            "--no-show-signature",
            "--no-color",
            "--encoding=UTF-8",
            "--format=%H %s",
        ];
        let listed = self.git.bytes(&[&shown[..], selection, &["--"]].concat())?;
        let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let commit = |entry: &[u8]| {
            let text = String::from_utf8_lossy(entry);
            let (id, subject) = text.trim_end_matches('\n').split_once(' ')?;
            Some(Commit {
                id: id.to_owned(),
                subject: subject.to_owned(),
            })
        };
        entries
            .map(|entry| commit(entry).context("git log answers in an unknown form"))
            .collect()
    }
}
