//! The event that a continuous-integration job runs for, from the file that GitHub hands it.

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::edge::{environment, files};
use crate::model::text::plain_line;

/// What happened, as far as the choice of the base needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A pull request, or a change of it.
    PullRequest {
        /// The branch that it is to be merged into.
        base_branch: String,
        /// That branch's tip when the event was sent.
        base_sha: String,
        /// The commit that it answers for.
        head_sha: String,
        /// It comes from another repository, or from one that is gone.
        from_fork: bool,
    },
    /// A group of a merge queue.
    MergeGroup {
        /// The commit that the group stands on.
        base_sha: String,
        /// The group's own commit.
        head_sha: String,
    },
    /// A push to a branch, or of a tag.
    Push {
        /// The tip before it; none where the push made the branch.
        before: Option<String>,
        /// The tip after it; none where the push removed the branch.
        after: Option<String>,
    },
}

#[derive(Deserialize)]
struct PullRequestFile {
    pull_request: PullRequest,
}

#[derive(Deserialize)]
struct PullRequest {
    base: Branch,
    head: Branch,
}

#[derive(Deserialize)]
struct Branch {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

#[derive(Deserialize)]
struct MergeGroupFile {
    merge_group: MergeGroup,
}

#[derive(Deserialize)]
struct MergeGroup {
    base_sha: String,
    head_sha: String,
}

#[derive(Deserialize)]
struct PushFile {
    before: String,
    after: String,
}

impl Event {
    /// Reads an event's file. Events that say nothing about a base (`schedule`, `workflow_dispatch`) are none.
    ///
    /// # Errors
    /// When the text is not such an event's, or the event would run a stranger's code with a token that can write.
    pub fn parse(name: &str, text: &str) -> Result<Option<Self>> {
        Ok(Some(match name {
            "pull_request" => {
                let PullRequest { base, head } = read::<PullRequestFile>(name, text)?.pull_request;
                let name = |branch: &Branch| branch.repo.as_ref().map(|repository| repository.full_name.to_lowercase());
                Self::PullRequest {
                    // A repository that is not named is taken for a stranger's.
                    from_fork: name(&head).is_none() || name(&head) != name(&base),
                    base_branch: branch(base.name)?,
                    base_sha: sha(base.sha)?,
                    head_sha: sha(head.sha)?,
                }
            }
            "merge_group" => {
                let MergeGroup { base_sha, head_sha } = read::<MergeGroupFile>(name, text)?.merge_group;
                Self::MergeGroup {
                    base_sha: sha(base_sha)?,
                    head_sha: sha(head_sha)?,
                }
            }
            "push" => {
                let PushFile { before, after } = read(name, text)?;
                let (before, after) = (sha(before)?, sha(after)?);
                let there = |id: String| id.bytes().any(|digit| digit != b'0').then_some(id);
                Self::Push {
                    before: there(before),
                    after: there(after),
                }
            }
            "pull_request_target" | "workflow_run" | "issue_comment" => bail!(
                "the event {name} runs with a token that can write, and building would run the change's code with it: measure in a workflow `on: pull_request`"
            ),
            _ => return Ok(None),
        }))
    }

    /// Whether it is a pull request of another repository, whose authors may write nothing here.
    pub const fn is_from_fork(&self) -> bool {
        matches!(self, Self::PullRequest { from_fork: true, .. })
    }

    /// The commit that a job answers for.
    pub fn answers_for(&self) -> Option<String> {
        match self {
            Self::PullRequest { head_sha, .. } | Self::MergeGroup { head_sha, .. } => Some(head_sha.clone()),
            Self::Push { after, .. } => after.clone(),
        }
    }

    /// The event of this process's job: `GITHUB_EVENT_NAME` and the file at `GITHUB_EVENT_PATH`; none outside such a job.
    ///
    /// # Errors
    /// When the file is not there or cannot be used.
    pub fn of_this_job() -> Result<Option<Self>> {
        let Some(name) = environment::value("GITHUB_EVENT_NAME").filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let path = environment::value("GITHUB_EVENT_PATH").filter(|path| !path.is_empty());
        let path =
            path.ok_or_else(|| anyhow!("GITHUB_EVENT_NAME is {name}, but GITHUB_EVENT_PATH is not set: hand both on, or name --base"))?;
        let text = files::read_text(path.as_ref())
            .with_context(|| "GITHUB_EVENT_PATH: in a container the file must be mounted too; --base does without it")?;
        Self::parse(&name, &text).with_context(|| path)
    }
}

fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).with_context(|| format!("not the file of a {name} event"))
}

/// A commit id and nothing that git could take for anything else.
fn sha(id: String) -> Result<String> {
    if matches!(id.len(), 40 | 64) && id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(id);
    }
    bail!("{:?} is no commit id", plain_line(&id, 100))
}

fn branch(name: String) -> Result<String> {
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    if name.is_empty() || name.starts_with('-') || name.contains(odd) || name.contains("..") || name.contains("@{") {
        bail!("{:?} is no branch name", plain_line(&name, 100));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";
    const ZERO: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn the_parts_that_count_are_read_among_everything_else() {
        let text = format!(
            r#"{{"number":7,"pull_request":{{"title":"x","base":{{"ref":"main","sha":"{ONE}","repo":{{"full_name":"o/r"}}}},"head":{{"ref":"f","sha":"{TWO}","repo":null}}}}}}"#
        );
        let event = Event::parse("pull_request", &text).expect("sound").expect("an event");
        let Event::PullRequest {
            base_branch,
            base_sha,
            head_sha,
            from_fork,
        } = event
        else {
            panic!("{event:?}")
        };
        assert_eq!((base_branch.as_str(), base_sha.as_str(), head_sha.as_str()), ("main", ONE, TWO));
        assert!(from_fork, "a repository that is gone is a stranger's");
        for (head, is_fork) in [("o/r", false), ("O/R", false), ("x/r", true)] {
            let text = text.replace(r#""repo":null"#, &format!(r#""repo":{{"full_name":"{head}"}}"#));
            let event = Event::parse("pull_request", &text).expect("sound").expect("an event");
            assert_eq!(event.is_from_fork(), is_fork, "{head}");
        }
        let text = format!(r#"{{"action":"checks_requested","merge_group":{{"base_sha":"{ONE}","head_sha":"{TWO}"}}}}"#);
        let event = Event::parse("merge_group", &text).expect("sound");
        assert_eq!(
            event,
            Some(Event::MergeGroup {
                base_sha: ONE.into(),
                head_sha: TWO.into()
            })
        );
    }

    #[test]
    fn a_zero_id_is_none() {
        for (before, after, ids) in [
            (ONE, TWO, (Some(ONE), Some(TWO))),
            (ZERO, TWO, (None, Some(TWO))),
            (ONE, ZERO, (Some(ONE), None)),
        ] {
            let text = format!(r#"{{"ref":"refs/heads/x","before":"{before}","after":"{after}","head_commit":null}}"#);
            let event = Event::parse("push", &text).expect("sound").expect("an event");
            let Event::Push { before, after } = &event else {
                panic!("{event:?}")
            };
            assert_eq!((before.as_deref(), after.as_deref()), ids);
        }
    }

    #[test]
    fn what_is_no_such_event_is_refused_or_none() {
        for name in ["schedule", "workflow_dispatch", "release"] {
            assert_eq!(Event::parse(name, "").expect("nothing is read"), None, "{name}");
        }
        for (name, text, says) in [
            ("push", "", "not the file of a push event"),
            ("push", r#"{"before":"--upload-pack=x","after":"y"}"#, "no commit id"),
            ("pull_request", "{}", "pull_request"),
            ("pull_request_target", "{}", "token that can write"),
        ] {
            let error = format!("{:#}", Event::parse(name, text).expect_err(name));
            assert!(error.contains(says), "{name}: {error}");
        }
        for bad in ["-x", "a..b", "a b", "x:y", "", "a@{1}"] {
            let text = format!(r#"{{"pull_request":{{"base":{{"ref":"{bad}","sha":"{ONE}"}},"head":{{"ref":"f","sha":"{TWO}"}}}}}}"#);
            assert!(Event::parse("pull_request", &text).is_err(), "{bad:?}");
        }
    }
}
