//! Which commit the candidate is compared with, and what the candidate is.

use anyhow::{Result, anyhow, bail};

use super::event::Event;
use super::repository::Repository;
use crate::model::text::plain_line;

/// What arm B is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// The files in the working tree: tracked, changed, and untracked where they are not ignored.
    WorkingTree,
    /// A commit, equal to the working tree.
    Commit(String),
}

/// The chosen base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The commit of arm A.
    pub commit: String,
    /// Why it is this one, in a few words.
    pub why: String,
    /// The commit that the result answers for.
    pub head_sha: String,
    /// What arm B is.
    pub candidate: Candidate,
    /// The tip of the base branch, from which rules and prompts are read so that a change cannot loosen the rule that judges
    /// it; none outside pull requests and merge queues.
    pub rules: Option<String>,
}

impl Chosen {
    /// Two commits that somebody named.
    pub fn of_two(base: &str, candidate: &str) -> Self {
        Self {
            commit: base.to_owned(),
            why: "one of two named commits".to_owned(),
            head_sha: candidate.to_owned(),
            candidate: Candidate::Commit(candidate.to_owned()),
            rules: None,
        }
    }
}

/// A base before anything else is known about it.
struct Base {
    commit: String,
    why: String,
    head_sha: Option<String>,
    rules: Option<String>,
}

/// Chooses the base. The first that applies: the wanted revision; what the event says; HEAD where the working tree has changes;
/// the merge base with the remote's default branch where that is not HEAD; the commit before HEAD.
///
/// # Errors
/// When there is no commit, the base is not here, or the same clean commit would stand on both sides; each with what to do.
pub fn choose(repository: &Repository, event: Option<&Event>, wanted: Option<&str>) -> Result<Chosen> {
    let head = repository.commit("HEAD")?;
    let head = head.ok_or_else(|| anyhow!("the repository has no commit yet: commit something to compare with"))?;
    let dirty = repository.is_dirty()?;
    let base = match (wanted, event) {
        (Some(wanted), _) => of_option(repository, event, wanted)?,
        (None, Some(event)) => of_event(repository, event, &head)?,
        (None, None) if dirty => Base::new(head.clone(), "HEAD, as the working tree has changes"),
        (None, None) => of_history(repository, &head)?,
    };
    if base.commit == head && !dirty {
        bail!(
            "nothing to compare: {} is HEAD and the working tree is clean; name --base",
            base.why
        );
    }
    Ok(Chosen {
        commit: base.commit,
        why: base.why,
        candidate: if dirty {
            Candidate::WorkingTree
        } else {
            Candidate::Commit(head.clone())
        },
        head_sha: base.head_sha.unwrap_or(head),
        rules: base.rules,
    })
}

impl Base {
    fn new(commit: String, why: impl Into<String>) -> Self {
        Self {
            commit,
            why: why.into(),
            head_sha: None,
            rules: None,
        }
    }
}

/// The commit that a job's rules and prompts are read from, whatever its arms are: the tip of the base branch in a pull request or merge
/// queue, none elsewhere.
///
/// # Errors
/// When it is not here.
pub fn rules(repository: &Repository, event: Option<&Event>) -> Result<Option<String>> {
    match event {
        Some(Event::PullRequest { base_branch, base_sha, .. }) => Ok(Some(fetched_tip(repository, base_branch, base_sha)?.0)),
        Some(Event::MergeGroup { base_sha, .. }) => here(repository, base_sha, "the merge group's base").map(Some),
        Some(Event::Push { .. }) | None => Ok(None),
    }
}

/// A named base replaces the one that would be measured, and nothing else that the event says.
fn of_option(repository: &Repository, event: Option<&Event>, wanted: &str) -> Result<Base> {
    let shown = plain_line(wanted, 100);
    let commit = repository.commit(wanted)?;
    let commit = commit.ok_or_else(|| anyhow!("--base {shown}: no such commit here{}", repository.deepen()))?;
    Ok(Base {
        head_sha: event.and_then(Event::answers_for),
        rules: rules(repository, event)?,
        ..Base::new(commit, format!("--base {shown}"))
    })
}

fn of_event(repository: &Repository, event: &Event, head: &str) -> Result<Base> {
    match event {
        Event::PullRequest { base_branch, base_sha, .. } => {
            let (tip, name) = fetched_tip(repository, base_branch, base_sha)?;
            let commit = common(repository, head, &tip, &name)?;
            Ok(Base {
                commit,
                why: format!("the merge base of the pull request and {name}"),
                head_sha: event.answers_for(),
                rules: Some(tip),
            })
        }
        Event::MergeGroup { base_sha, .. } => Ok(Base {
            commit: here(repository, base_sha, "the merge group's base")?,
            why: "the merge group's base".to_owned(),
            head_sha: event.answers_for(),
            rules: Some(base_sha.clone()),
        }),
        Event::Push { after: None, .. } => bail!("nothing to compare: the push removed the branch"),
        Event::Push { before, .. } => {
            let base = match before {
                Some(before) => Base::new(
                    here(repository, before, "the commit before the push")?,
                    "the commit before the push",
                ),
                None => Base::new(parent(repository, head)?, "the first parent of HEAD, as the push made the branch"),
            };
            Ok(Base {
                head_sha: event.answers_for(),
                ..base
            })
        }
    }
}

fn of_history(repository: &Repository, head: &str) -> Result<Base> {
    if let Some(name) = default_branch(repository)?
        && let Some(tip) = repository.commit(&format!("refs/remotes/{name}"))?
    {
        let commit = common(repository, head, &tip, &name)?;
        if commit != head {
            return Ok(Base::new(commit, format!("the merge base of HEAD and {name}")));
        }
    }
    Ok(Base::new(
        parent(repository, head)?,
        "HEAD^, as HEAD is in the remote's default branch, or there is none",
    ))
}

/// The tip of the base branch with its name: as it was fetched, else as the event gives it.
fn fetched_tip(repository: &Repository, branch: &str, sha: &str) -> Result<(String, String)> {
    if let Some(remote) = remote(repository)? {
        let name = format!("{remote}/{branch}");
        if let Some(tip) = repository.commit(&format!("refs/remotes/{name}"))? {
            return Ok((tip, name));
        }
    }
    let tip = here(repository, sha, &format!("the tip of the base branch {}", plain_line(branch, 100)))?;
    Ok((tip, plain_line(branch, 100)))
}

/// The remote that others push to: `origin`, else the only one.
fn remote(repository: &Repository) -> Result<Option<String>> {
    let mut remotes = repository.remotes()?;
    Ok(match remotes.iter().position(|name| name == "origin") {
        Some(at) => Some(remotes.swap_remove(at)),
        None if remotes.len() == 1 => remotes.pop(),
        None => None,
    })
}

/// The remote's default branch, as `origin/main`; where the clone does not know it, `main` or `master` if there is just one.
fn default_branch(repository: &Repository) -> Result<Option<String>> {
    let Some(remote) = remote(repository)? else { return Ok(None) };
    if let Some(target) = repository.symbolic(&format!("refs/remotes/{remote}/HEAD"))? {
        return Ok(target.strip_prefix("refs/remotes/").map(str::to_owned));
    }
    let mut found = Vec::new();
    for branch in ["main", "master"] {
        let name = format!("{remote}/{branch}");
        if repository.commit(&format!("refs/remotes/{name}"))?.is_some() {
            found.push(name);
        }
    }
    Ok(found.pop().filter(|_| found.is_empty()))
}

fn common(repository: &Repository, head: &str, tip: &str, name: &str) -> Result<String> {
    let found = repository.merge_base(head, tip)?;
    found.ok_or_else(|| match repository.deepen() {
        "" => anyhow!("HEAD and {name} have no commit in common (unrelated histories): name --base"),
        deepen => anyhow!("HEAD and {name} have no commit in common here{deepen}, or name --base"),
    })
}

fn here(repository: &Repository, sha: &str, what: &str) -> Result<String> {
    repository.commit(sha)?.ok_or_else(|| {
        anyhow!("{what}, {sha}, is not in this clone: check out with `fetch-depth: 0`; where a forced push dropped it, name --base")
    })
}

fn parent(repository: &Repository, head: &str) -> Result<String> {
    repository.commit(&format!("{head}^"))?.ok_or_else(|| match repository.deepen() {
        "" => anyhow!("nothing to compare: HEAD is the first commit; name --base"),
        deepen => anyhow!("the commit before HEAD is not here{deepen}, or name --base"),
    })
}
