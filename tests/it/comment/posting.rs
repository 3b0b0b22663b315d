//! `gate comment` and `gate status` against a GitHub on the loopback address, as the jobs of a pull request call them.

use gate::model::record::Record;
use serde_json::{Value, json};

use super::command::job;
use crate::github::hub::{BOT, Hub, PULL, REPOSITORY, TOKEN, head};
use crate::sandbox::{Done, Sandbox};
use crate::synthetic::{Session, noisy};

/// A run of a pull request whose head is this commit.
fn run(hub: &Hub, number: u64, head: &str, record: &Record) -> Sandbox {
    let repository = json!({"id": 1, "full_name": REPOSITORY});
    let event = json!({
        "action": "synchronize", "number": PULL, "repository": repository,
        "pull_request": {"user": {"login": "someone"}, "head": {"sha": head, "repo": repository}},
    });
    let mut record = record.clone();
    record.context.head = Some(head.to_owned());
    let (record, _) = record.sealed(None).unwrap();
    let sandbox = job("pull_request", &event)
        .with_env("GITHUB_REPOSITORY", REPOSITORY)
        .with_env("GITHUB_TOKEN", TOKEN)
        .with_env("GITHUB_API_URL", &hub.address())
        .with_env("GITHUB_RUN_NUMBER", &number.to_string());
    sandbox.write("records.jsonl", record.line().unwrap() + "\n");
    sandbox
}

fn comment(sandbox: &Sandbox, more: &[&str]) -> Done {
    let done = sandbox.gate(&[&["comment", "--records", "records.jsonl"], more].concat());
    assert!(!done.out.contains(TOKEN) && !done.err.contains(TOKEN), "{done:?}");
    done
}

fn status(sandbox: &Sandbox, kind: &str) -> Done {
    let done = sandbox.gate(&["status", "--records", "records.jsonl", "--as", kind]);
    assert!(!done.out.contains(TOKEN) && !done.err.contains(TOKEN), "{done:?}");
    done
}

fn regressed() -> Record {
    Session::new().whole(noisy(8.0, 0.5, 1)).record()
}

fn passed() -> Record {
    Session::new().whole(noisy(0.0, 0.3, 3)).record()
}

#[test]
fn a_regression_is_told_and_the_same_comment_turns_green_on_the_next_push() {
    let hub = Hub::new();
    let first = run(&hub, 7, &head(), &regressed());
    let done = comment(&first, &[]).exits(0).says("gate: comment created: ");
    assert_eq!(done.out, "");
    assert!(hub.only().contains("### gate: fail: regression (blocks)"), "{}", hub.only());
    assert!(first.text("output").contains("\ncreated\n"), "{}", first.text("output"));
    let _said = status(&first, "status").exits(0).says("gate: status \"gate\" set: ");

    let next = "f".repeat(40);
    hub.world().pulls.insert(PULL, (next.clone(), true, false));
    let second = run(&hub, 8, &next, &passed());
    let _said = comment(&second, &[]).exits(0).says("gate: comment updated: ");
    let body = hub.only();
    assert!(
        body.contains("### gate: pass (does not block)") && body.contains("this comment spoke of `1a2b3c4d1a2b` before"),
        "{body}"
    );
    let _said = comment(&second, &[]).exits(0).says("gate: comment unchanged: ");
    let _said = status(&second, "status").exits(0);
    let _said = status(&second, "check-run").exits(0);
    let states: Vec<(String, Value)> = hub
        .world()
        .statuses
        .iter()
        .map(|(sha, status)| (sha.clone(), status["state"].clone()))
        .collect();
    assert_eq!(states, [(head(), json!("failure")), (next.clone(), json!("success"))]);
    assert_eq!(hub.world().checks.len(), 1);

    // The first run is told again, too late.
    let _said = comment(&first, &[]).exits(0).says("gate: comment skipped: ");
    assert_eq!(hub.only(), body);
}

/// O-12: no comment without news.
#[test]
fn a_change_alone_makes_a_comment_and_one_that_stands_is_always_updated() {
    let hub = Hub::new();
    let quiet = run(&hub, 7, &head(), &passed());
    let _said = comment(&quiet, &["--on", "change"]).exits(0).says("gate: comment skipped: ");
    assert_eq!(hub.count("POST"), 0);
    let _said = comment(&run(&hub, 8, &head(), &regressed()), &["--on", "change"])
        .exits(0)
        .says("created");
    let _said = comment(&run(&hub, 9, &head(), &passed()), &["--on", "change"])
        .exits(0)
        .says("updated");
    assert!(hub.only().contains("### gate: pass"), "{}", hub.only());
}

#[test]
fn two_keys_are_two_comments() {
    let hub = Hub::new();
    let sandbox = run(&hub, 7, &head(), &regressed());
    for key in ["default", "nightly", "nightly"] {
        let _said = comment(&sandbox, &["--key", key]).exits(0);
    }
    let marked = hub.marked();
    assert_eq!(marked.len(), 2, "{marked:?}");
    assert!(marked.iter().all(|comment| comment.login == BOT));
}
