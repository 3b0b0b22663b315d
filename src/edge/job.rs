//! The job of GitHub Actions that this process runs in: its environment, and the file of its event.

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{environment, files};
use crate::model::github::{Job, MeasuredRun, Origin, Pull, Repository, Run, is_commit};
use crate::model::text::plain_line;

/// Largest event file that is read, in bytes; GitHub's own limit for payloads is 25 MB.
const EVENT_MAX_BYTES: u64 = 25 << 20;
/// Who opens pull requests for Dependabot: its runs have the token of a fork's.
const DEPENDABOT: &str = "dependabot[bot]";

#[derive(Deserialize)]
struct PullRequestFile {
    number: u64,
    pull_request: PullRequest,
    repository: Id,
}

#[derive(Deserialize)]
struct PullRequest {
    head: Head,
    user: Option<User>,
}

#[derive(Deserialize)]
struct Head {
    sha: String,
    /// Null where the fork was deleted.
    repo: Option<Fork>,
}

#[derive(Deserialize)]
struct Fork {
    id: u64,
    full_name: String,
}

#[derive(Deserialize)]
struct Id {
    id: u64,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct MergeGroupFile {
    merge_group: MergeGroup,
}

#[derive(Deserialize)]
struct MergeGroup {
    head_sha: String,
}

#[derive(Deserialize)]
struct WorkflowRunFile {
    workflow_run: WorkflowRun,
    repository: Id,
}

#[derive(Deserialize)]
struct WorkflowRun {
    id: u64,
    run_number: u64,
    run_attempt: u32,
    event: String,
    path: Option<String>,
    conclusion: Option<String>,
    head_sha: String,
    head_branch: Option<String>,
    head_repository: Option<Fork>,
}

#[derive(Deserialize)]
struct PushFile {
    after: String,
}

/// The job of this process; none outside GitHub Actions.
///
/// # Errors
/// When the environment of a job is not whole, or the file of its event cannot be used.
pub fn of_this_process() -> Result<Option<Job>> {
    if environment::value("GITHUB_ACTIONS").as_deref() != Some("true") {
        return Ok(None);
    }
    let path = variable(&environment::value, "GITHUB_EVENT_PATH")?;
    let text = event_text(&path)?;
    of(&environment::value, &text)
        .with_context(|| format!("GITHUB_EVENT_PATH: {path}"))
        .map(Some)
}

fn event_text(path: &str) -> Result<String> {
    files::read_input(path.as_ref(), EVENT_MAX_BYTES)
        .and_then(|bytes| bytes.ok_or_else(|| anyhow!("there is no such file")))
        .and_then(|bytes| String::from_utf8(bytes).context("it is not UTF-8 text"))
        .with_context(|| format!("GITHUB_EVENT_PATH: {path}: in a container the file must be mounted too"))
}

/// The run that this process's job reports on.
///
/// # Errors
/// When the job was not triggered by the end of another run, or its event cannot be used.
pub fn measured_run() -> Result<MeasuredRun> {
    let event = variable(&environment::value, "GITHUB_EVENT_NAME")?;
    if event != "workflow_run" {
        bail!(
            "--untrusted reports on a finished run: start it in a workflow `on: workflow_run`, not on {}",
            plain_line(&event, 60)
        );
    }
    let path = variable(&environment::value, "GITHUB_EVENT_PATH")?;
    measured_run_of(&event_text(&path)?).with_context(|| format!("GITHUB_EVENT_PATH: {path}"))
}

/// The run that the text of an event tells of.
///
/// # Errors
/// When it is no such text.
pub fn measured_run_of(event_text: &str) -> Result<MeasuredRun> {
    let WorkflowRunFile { workflow_run, repository } = read("workflow_run", event_text)?;
    let WorkflowRun {
        id,
        run_number,
        run_attempt,
        event,
        path,
        conclusion,
        head_sha,
        head_branch,
        head_repository,
    } = workflow_run;
    if !is_commit(&head_sha) {
        bail!("{:?} is no commit id", plain_line(&head_sha, 100));
    }
    let fork = head_repository.and_then(|fork| Some((fork.id, Repository::parse(&fork.full_name).ok()?)));
    Ok(MeasuredRun {
        event,
        path: path.unwrap_or_default(),
        conclusion: conclusion.unwrap_or_default(),
        head: head_sha,
        branch: head_branch.unwrap_or_default(),
        repository: fork,
        own_id: repository.id,
        run: Run {
            number: run_number,
            attempt: run_attempt,
            id,
        },
    })
}

/// The job that an environment and the text of an event describe.
///
/// # Errors
/// When a variable is missing or the text is not such an event's.
pub fn of(value: &dyn Fn(&str) -> Option<String>, event_text: &str) -> Result<Job> {
    let event = variable(value, "GITHUB_EVENT_NAME")?;
    let repository = Repository::parse(&variable(value, "GITHUB_REPOSITORY")?).map_err(|why| anyhow!("GITHUB_REPOSITORY: {why}"))?;
    let (pull, head) = match event.as_str() {
        "pull_request" | "pull_request_target" => {
            let file: PullRequestFile = read(&event, event_text)?;
            let head = file.pull_request.head.sha.clone();
            (Some(pull(file)), head)
        }
        "merge_group" => (None, read::<MergeGroupFile>(&event, event_text)?.merge_group.head_sha),
        "push" => (None, read::<PushFile>(&event, event_text)?.after),
        _ => {
            read::<serde_json::Value>(&event, event_text)?;
            (None, variable(value, "GITHUB_SHA")?)
        }
    };
    if !is_commit(&head) {
        bail!("{:?} is no commit id", plain_line(&head, 100));
    }
    Ok(Job {
        repository,
        event,
        pull,
        head,
        run: Run {
            number: number(value, "GITHUB_RUN_NUMBER")?,
            attempt: number(value, "GITHUB_RUN_ATTEMPT")?,
            id: number(value, "GITHUB_RUN_ID")?,
        },
        server: server(value("GITHUB_SERVER_URL").as_deref().unwrap_or("https://github.com"))?,
    })
}

fn pull(file: PullRequestFile) -> Pull {
    let PullRequest { head, user } = file.pull_request;
    let origin = match head.repo {
        Some(repo) if repo.id == file.repository.id => Origin::Same,
        Some(repo) => Origin::Fork(Repository::parse(&repo.full_name).ok()),
        None => Origin::Fork(None),
    };
    Pull {
        number: file.number,
        origin,
        dependabot: user.is_some_and(|user| user.login == DEPENDABOT),
    }
}

/// The page of GitHub itself; it becomes part of links.
fn server(text: &str) -> Result<String> {
    let trimmed = text.trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:/".contains(&byte);
    match host {
        Some(host) if !host.is_empty() && host.bytes().all(plain) => Ok(trimmed.to_owned()),
        _ => bail!("GITHUB_SERVER_URL: {:?} is no address of a server", plain_line(text, 100)),
    }
}

fn variable(value: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<String> {
    value(name)
        .filter(|text| !text.is_empty())
        .ok_or_else(|| anyhow!("GITHUB_ACTIONS is true, but {name} is not set: hand the job's variables on"))
}

fn number<T: std::str::FromStr>(value: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<T> {
    let text = variable(value, name)?;
    text.parse()
        .map_err(|_| anyhow!("{name}: {:?} is no whole number", plain_line(&text, 100)))
}

fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    if text.trim().is_empty() {
        bail!("the file is empty, where a {} event should stand", plain_line(name, 60));
    }
    serde_json::from_str(text).with_context(|| format!("not the file of a {} event", plain_line(name, 60)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SHA: &str = "1111111111111111111111111111111111111111";

    fn variables(event: &str) -> impl Fn(&str) -> Option<String> {
        let event = event.to_owned();
        move |name| {
            Some(
                match name {
                    "GITHUB_EVENT_NAME" => event.as_str(),
                    "GITHUB_REPOSITORY" => "o/r",
                    "GITHUB_SHA" => SHA,
                    "GITHUB_RUN_ID" => "70",
                    "GITHUB_RUN_NUMBER" => "7",
                    "GITHUB_RUN_ATTEMPT" => "2",
                    "GITHUB_SERVER_URL" => "https://github.example/",
                    _ => return None,
                }
                .to_owned(),
            )
        }
    }

    fn pull_request(head_repo: serde_json::Value, login: &str) -> String {
        let two = "2".repeat(40);
        json!({
            "action": "synchronize", "number": 12, "repository": {"id": 1, "full_name": "o/r"},
            "pull_request": {"title": "x", "user": {"login": login}, "head": {"sha": two, "repo": head_repo}, "base": {}},
        })
        .to_string()
    }

    #[test]
    fn a_pull_request_is_answered_for_its_head() {
        let job = of(
            &variables("pull_request"),
            &pull_request(json!({"id": 1, "full_name": "o/r"}), "someone"),
        )
        .unwrap();
        assert_eq!((job.head, job.event), ("2".repeat(40), "pull_request".to_owned()));
        let pull = job.pull.unwrap();
        assert_eq!((pull.number, &pull.origin, pull.reads_only()), (12, &Origin::Same, false));
        assert_eq!(
            job.run,
            Run {
                number: 7,
                attempt: 2,
                id: 70
            }
        );
        assert_eq!(job.server, "https://github.example");
    }

    #[test]
    fn row_36_and_39_a_fork_a_deleted_fork_and_dependabot_only_read() {
        for (repo, login, origin) in [
            (
                json!({"id": 9, "full_name": "fork/r"}),
                "someone",
                Origin::Fork(Repository::parse("fork/r").ok()),
            ),
            (json!({"id": 9, "full_name": "</b>@x"}), "someone", Origin::Fork(None)),
            (json!(null), "someone", Origin::Fork(None)),
            (json!({"id": 1, "full_name": "o/r"}), DEPENDABOT, Origin::Same),
        ] {
            let pull = of(&variables("pull_request"), &pull_request(repo, login)).unwrap().pull.unwrap();
            assert_eq!((&pull.origin, pull.reads_only()), (&origin, true));
        }
    }

    #[test]
    fn other_events_have_a_commit_and_no_pull_request() {
        let two = "2".repeat(40);
        for (event, text, head) in [
            ("merge_group", json!({"merge_group": {"head_sha": two}}).to_string(), two.as_str()),
            ("push", json!({"before": "x", "after": two}).to_string(), two.as_str()),
            ("schedule", "{}".to_owned(), SHA),
            ("workflow_dispatch", r#"{"inputs":null}"#.to_owned(), SHA),
        ] {
            let job = of(&variables(event), &text).unwrap();
            assert_eq!((job.pull.is_none(), job.head.as_str()), (true, head), "{event}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_reason() {
        let without = |left_out: &'static str| move |name: &str| variables("schedule")(name).filter(|_| name != left_out);
        for (result, says) in [
            (of(&variables("pull_request"), ""), "the file is empty"),
            (of(&variables("pull_request"), "{"), "not the file of a pull_request event"),
            (of(&variables("schedule"), "no"), "not the file of a schedule event"),
            (of(&variables("push"), r#"{"after":"--x"}"#), "no commit id"),
            (of(&without("GITHUB_REPOSITORY"), "{}"), "GITHUB_REPOSITORY is not set"),
            (of(&without("GITHUB_RUN_ID"), "{}"), "GITHUB_RUN_ID is not set"),
        ] {
            let error = format!("{:#}", result.unwrap_err());
            assert!(error.contains(says), "{error}");
        }
        assert!(server("javascript:alert(1)").is_err() && server("https://a b").is_err() && server("https://").is_err());
    }
}
