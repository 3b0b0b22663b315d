//! `gate comment` and `gate status` as a step of a job calls them, with this GitHub at the other end.

use gate::edge::endpoint::free_port;
use gate::model::record::Record;
use serde_json::json;

use super::http::Response;
use super::hub::{BOT, Fault, Hub, PULL, REPOSITORY, TOKEN};
use crate::sandbox::{Done, Sandbox};
use crate::synthetic::{Session, noisy};

pub const COMMENT: &[&str] = &["comment", "--records", "records.jsonl", "--api-budget", "20s"];
const STATUS: &[&str] = &["status", "--as", "status", "--records", "records.jsonl", "--api-budget", "20s"];
const CHECK: &[&str] = &["status", "--as", "check-run", "--records", "records.jsonl", "--api-budget", "20s"];

/// The commit of the event's files.
fn head() -> String {
    "a".repeat(40)
}

/// A step of a job for one of the events, with three records of its commit.
pub fn step(hub: &Hub, event: &str) -> Sandbox {
    hub.world().pulls.insert(PULL, (head(), true, false));
    let sandbox = Sandbox::new();
    let file = format!("{}/tests/data/github/events/{event}.json", env!("CARGO_MANIFEST_DIR"));
    sandbox.write("event.json", std::fs::read(file).unwrap());
    let of_commit = |mut record: Record| {
        record.context.head = Some(head());
        record.sealed(None).unwrap().1 + "\n"
    };
    let records = [(8.0, 1), (0.0, 2), (-8.0, 3)].map(|(percent, seed)| Session::new().whole(noisy(percent, 0.4, seed)).record());
    sandbox.write("records.jsonl", records.map(of_commit).concat());
    let path = |name: &str| sandbox.path(name).display().to_string();
    let variables = [
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_EVENT_NAME", event.split('.').next().unwrap().to_owned()),
        ("GITHUB_EVENT_PATH", path("event.json")),
        ("GITHUB_REPOSITORY", REPOSITORY.to_owned()),
        ("GITHUB_RUN_ID", "9007".to_owned()),
        ("GITHUB_RUN_NUMBER", "7".to_owned()),
        ("GITHUB_RUN_ATTEMPT", "1".to_owned()),
        ("GITHUB_STEP_SUMMARY", path("summary.md")),
        ("GITHUB_OUTPUT", path("output")),
        ("GITHUB_API_URL", hub.address()),
        ("GITHUB_TOKEN", TOKEN.to_owned()),
    ];
    variables
        .into_iter()
        .fold(sandbox, |sandbox, (name, value)| sandbox.with_env(name, &value))
}

/// The token is in nothing that was printed, and in no file.
#[track_caller]
pub fn keeps_the_secret(sandbox: &Sandbox, done: &Done) {
    assert!(!done.out.contains(TOKEN) && !done.err.contains(TOKEN), "{done:?}");
    for (path, bytes) in sandbox.everything() {
        assert!(!String::from_utf8_lossy(&bytes).contains(TOKEN), "{}", path.display());
    }
}

#[test]
fn figure_of_requests_for_three_records_and_120_comments() {
    let hub = Hub::below("/api/v3");
    let sandbox = step(&hub, "pull_request");
    hub.world().chatter(120);
    let done = sandbox
        .gate(COMMENT)
        .exits(0)
        .says("gate: comment created: https://github.example/pull/12#issuecomment-");
    keeps_the_secret(&sandbox, &done);
    let created = hub.log().len();
    let _done = sandbox.gate(COMMENT).exits(0).says("gate: comment unchanged");
    let unchanged = hub.log().len() - created;
    assert!(created <= 7 && unchanged <= 5, "{:?}", hub.log());
    let body = hub.only();
    assert!(body.contains("### gate: fail: regression") && body.contains("3 records"), "{body}");
    let output = sandbox.text("output");
    assert!(
        output.contains("comment-action") && output.contains("\ncreated\n") && output.contains("\nunchanged\n"),
        "{output}"
    );
    println!("requests: {created} to create, {unchanged} where nothing changed");
}

#[test]
fn row_04_05_and_39_a_comment_that_is_refused_changes_no_exit_code() {
    for (event, says) in [
        (
            "pull_request.fork",
            "for a pull request from a fork (visitor/engine): its token is read-only",
        ),
        ("pull_request.fork-deleted", "from a fork that was deleted"),
        ("pull_request.dependabot", "for a pull request of Dependabot"),
        ("pull_request", "Any one of: issues: write, pull-requests: write."),
    ] {
        let hub = Hub::new();
        let sandbox = step(&hub, event);
        hub.world().actors.get_mut(TOKEN).unwrap().writes.clear();
        let done = sandbox.gate(COMMENT).exits(0).says(says);
        assert!(done.out.starts_with("::warning "), "{}", done.out);
        assert!(
            sandbox.text("summary.md").contains("### gate: fail: regression"),
            "the summary has it"
        );
        assert!(sandbox.text("output").contains("\nfailed\n"), "{}", sandbox.text("output"));
        assert_eq!(hub.count("POST"), 1);
        keeps_the_secret(&sandbox, &done);
    }
}

#[test]
fn row_06_a_rejected_token_fails_the_status_and_not_the_comment() {
    let hub = Hub::new();
    let sandbox = step(&hub, "pull_request");
    hub.world().actors.clear();
    let _said = sandbox.gate(COMMENT).exits(0).says("The token in GITHUB_TOKEN was rejected");
    for words in [STATUS, CHECK] {
        let _said = sandbox.gate(words).exits(2).says("The token in GITHUB_TOKEN was rejected");
    }
    let without = step(&hub, "pull_request").with_env("GITHUB_TOKEN", "");
    let _said = without.gate(COMMENT).exits(0).says("there is no token");
    let _said = without.gate(STATUS).exits(2).says("there is no token");
    let odd = step(&hub, "pull_request").with_env("GATE_TOKEN", &format!("{TOKEN} {TOKEN}"));
    let done = odd.gate(STATUS).exits(2).says("GATE_TOKEN holds no token");
    keeps_the_secret(&odd, &done);
}

#[test]
fn statuses_and_check_runs_stand_on_the_head_of_the_pull_request() {
    let hub = Hub::new();
    let sandbox = step(&hub, "pull_request");
    let _said = sandbox
        .gate(STATUS)
        .exits(0)
        .says("gate: status \"gate\" set: https://api.github.example/statuses/");
    let _said = sandbox
        .gate(CHECK)
        .exits(0)
        .says("gate: check run \"gate\" set: https://github.example/runs/");
    let world = hub.world();
    assert_eq!(
        (world.statuses[0].0.as_str(), &world.statuses[0].1["state"]),
        (head().as_str(), &json!("failure"))
    );
    let check = &world.checks[0].asked;
    assert_eq!((&check["head_sha"], &check["conclusion"]), (&json!(head()), &json!("failure")));
}

#[test]
fn row_40_a_merge_group_gets_its_status_and_no_comment() {
    let hub = Hub::new();
    let sandbox = step(&hub, "merge_group");
    let _said = sandbox.gate(COMMENT).exits(0).says("the event merge_group has no pull request");
    assert!(hub.log().is_empty());
    let _said = sandbox.gate(STATUS).exits(0);
    assert_eq!(hub.log(), [format!("POST /repos/{REPOSITORY}/statuses/{} 201", head())]);
}

#[test]
fn row_10_and_16_trouble_and_news_are_told_in_words() {
    let hub = Hub::new();
    let sandbox = step(&hub, "pull_request");
    hub.world()
        .fails("POST", "/comments", Fault::Done(Response::html(502, "<title>Bad Gateway</title>")));
    let _said = sandbox.gate(COMMENT).exits(0).says("gate: comment created");
    assert_eq!(hub.count("POST"), 1);
    let newer = hub.only().replace("run=9007 attempt=1 number=7", "run=9008 attempt=1 number=8");
    hub.world().comments.clear();
    hub.world().comments(BOT, &newer);
    let _said = sandbox
        .gate(COMMENT)
        .exits(0)
        .says("gate: comment skipped: a newer run has spoken: number 8, attempt 1");
    assert_eq!(hub.only(), newer);
}

#[test]
fn row_38_a_server_that_cannot_be_reached_is_said() {
    let hub = Hub::new();
    let nobody = format!("http://127.0.0.1:{}", free_port().unwrap());
    let sandbox = step(&hub, "pull_request").with_env("GITHUB_API_URL", &nobody);
    let status = ["status", "--as", "status", "--records", "records.jsonl", "--api-budget", "1s"];
    let done = sandbox.gate(&status).exits(2).says("GitHub could not be asked to set the status");
    assert!(done.err.contains(&nobody), "{}", done.err);
    let elsewhere = step(&hub, "pull_request").with_env("GITHUB_API_URL", "http://github.example/api/v3");
    let _said = elsewhere.gate(&status).exits(2).says("a token is sent over https:// only");
}

#[test]
fn row_44_a_server_that_gives_the_token_back_does_not_make_us_print_it() {
    let hub = Hub::new();
    let sandbox = step(&hub, "pull_request")
        .with_env("RUST_BACKTRACE", "full")
        .with_env("RUST_LOG", "trace");
    for status in [400, 401, 403, 404, 422] {
        let echo = || Fault::Answer(Response::json(status, json!({"message": format!("no {TOKEN}")})));
        hub.world().fails("GET", "/pulls/", echo());
        hub.world().fails("POST", "/statuses/", echo());
        for (words, code) in [(COMMENT, 0), (STATUS, 2)] {
            let done = sandbox.gate(words).exits(code).says(&format!("({status} no ***)"));
            keeps_the_secret(&sandbox, &done);
        }
    }
}
