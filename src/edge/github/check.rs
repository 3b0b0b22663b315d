//! Commit statuses and check runs.

use serde::Deserialize;

use super::api::{CheckFile, ask};
use super::client::Client;
use super::refusal::Failure;
use crate::model::github::{ANNOTATIONS_MAX, Check, Repository, Request, Status};

#[derive(Deserialize)]
struct StatusFile {
    url: String,
}

/// Sets a commit status; gives its address. Setting it twice is setting it once, so hiccups are sat out.
///
/// # Errors
/// When GitHub does not take it.
pub fn status(client: &Client, repository: &Repository, status: &Status) -> Result<String, Failure> {
    let request = status.create(repository);
    let doing = format!("set the status {:?} on {}", status.context, status.head);
    let answer = client.repeat(ask(&request, &doing))?;
    Ok(client.value::<StatusFile>(&answer, &doing)?.url)
}

/// Makes a check run with all its annotations; gives its page.
///
/// # Errors
/// When GitHub does not take it. What it took so far stands.
pub fn check_run(client: &Client, repository: &Repository, check: &Check) -> Result<String, Failure> {
    let made = create(client, repository, check)?;
    let mut goal = check.annotations.len().min(ANNOTATIONS_MAX);
    for request in check.append(repository, made.id) {
        goal = (goal + ANNOTATIONS_MAX).min(check.annotations.len());
        if made.output.annotations_count < goal {
            append(client, repository, &request, made.id, goal)?;
        }
    }
    Ok(made.html_url.unwrap_or_default())
}

/// Makes the check run. Making it twice would show two, so before another try it is looked whether it is there.
fn create(client: &Client, repository: &Repository, check: &Check) -> Result<CheckFile, Failure> {
    let request = check.create(repository);
    let doing = format!("create the check run {:?} on {}", check.name, check.head);
    let mut tries = 1;
    loop {
        match client.once(ask(&request, &doing), tries) {
            Ok(answer) => return client.value(&answer, &doing),
            Err(Failure { again: Some(wait), .. }) => client.wait(wait),
            Err(failure) => return Err(failure),
        }
        let standing = client.check_runs(repository, &check.head, &check.name)?;
        if let Some(made) = standing.into_iter().find(|one| is_made(one, check)) {
            return Ok(made);
        }
        tries += 1;
    }
}

/// Whether a check run is the one that was to be made: the page of its run and attempt tells it from earlier ones.
fn is_made(standing: &CheckFile, check: &Check) -> bool {
    let conclusion = standing.conclusion.as_deref();
    standing.details_url == check.details_url
        && standing.output.title.as_deref() == Some(&check.title)
        && conclusion.is_some_and(|word| serde_json::json!(check.conclusion) == word)
}

/// Adds one batch of annotations. Each request adds, so before another try they are counted.
fn append(client: &Client, repository: &Repository, request: &Request, id: u64, goal: usize) -> Result<(), Failure> {
    let doing = format!("add annotations to the check run {id} in {repository}");
    let mut tries = 1;
    loop {
        match client.once(ask(request, &doing), tries) {
            Ok(_) => return Ok(()),
            Err(Failure { again: Some(wait), .. }) => client.wait(wait),
            Err(failure) => return Err(failure),
        }
        if client.check(repository, id)?.output.annotations_count >= goal {
            return Ok(());
        }
        tries += 1;
    }
}
