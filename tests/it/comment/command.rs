//! `gate comment` and `gate status` as a job calls them, without sending anything.

use gate::model::github::Marker;
use gate::model::record::Record;
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, json};
use crate::synthetic::{Session, noisy};

pub const HEAD: &str = "9e8d7c6b9e8d7c6b9e8d7c6b9e8d7c6b9e8d7c6b";

/// A job of GitHub Actions for an event, with the files of its step.
pub fn job(event: &str, file: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let path = |name: &str| sandbox.path(name).display().to_string();
    let [event_path, summary, output] = ["event.json", "summary.md", "output"].map(path);
    sandbox.write("event.json", file.to_string());
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", event),
        ("GITHUB_EVENT_PATH", &event_path),
        ("GITHUB_REPOSITORY", "o/r"),
        ("GITHUB_SHA", "1111111111111111111111111111111111111111"),
        ("GITHUB_RUN_ID", "70"),
        ("GITHUB_RUN_NUMBER", "7"),
        ("GITHUB_RUN_ATTEMPT", "2"),
        ("GITHUB_SERVER_URL", "https://github.example"),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_OUTPUT", &output),
        ("GITHUB_TOKEN", "ghs_SECRET0123456789"),
        ("GITHUB_API_URL", "http://127.0.0.1:9/api/v3"),
    ];
    variables
        .into_iter()
        .fold(sandbox, |sandbox, (name, value)| sandbox.with_env(name, value))
}

pub fn pull_request() -> Value {
    json!({
        "action": "synchronize", "number": 12, "repository": {"id": 1, "full_name": "o/r"},
        "pull_request": {"user": {"login": "someone"}, "head": {"sha": HEAD, "repo": {"id": 1, "full_name": "o/r"}}},
    })
}

fn regression() -> Record {
    Session::new().whole(noisy(8.0, 0.5, 1)).record()
}

/// A regression that speaks of a commit.
fn of_commit(head: &str) -> Record {
    let mut record = regression();
    record.context.head = Some(head.to_owned());
    record.sealed(None).unwrap().0
}

fn write(sandbox: &Sandbox, name: &str, records: &[Record]) {
    let lines: Vec<String> = records.iter().map(|record| record.line().unwrap() + "\n").collect();
    sandbox.write(name, lines.concat());
}

#[test]
fn a_dry_run_prints_method_path_and_body() {
    let sandbox = job("pull_request", &pull_request());
    write(&sandbox, "records.jsonl", &[of_commit(HEAD)]);
    let done = sandbox.gate(&["comment", "--records", "records.jsonl", "--dry-run"]).exits(0);
    let (request, text) = done.out.split_once("\n\n").unwrap();
    assert_eq!(request, "POST /repos/o/r/issues/12/comments");
    let marker = Marker::at_start(text).expect("a marker at the first byte");
    assert_eq!(
        (marker.key.as_str(), marker.run.id, marker.run.attempt, marker.head.as_str()),
        ("default", 70, 2, HEAD)
    );
    assert!(text.contains("### gate: fail: regression (blocks)"), "{text}");
    assert!(
        text.contains("[run](https://github.example/o/r/actions/runs/70/attempts/2)"),
        "{text}"
    );
    // Another key is another comment, and says so.
    let done = sandbox
        .gate(&["comment", "--records", "records.jsonl", "--dry-run", "--key", "nightly"])
        .exits(0);
    assert!(
        done.out.contains("<!-- gate:v1 key=nightly ") && done.out.contains("### gate nightly: fail"),
        "{}",
        done.out
    );

    let status = sandbox
        .gate(&["status", "--records", "records.jsonl", "--as", "status", "--dry-run"])
        .exits(0);
    let (request, body) = status.out.split_once("\n\n").unwrap();
    assert_eq!(request, format!("POST /repos/o/r/statuses/{HEAD}"));
    assert_eq!(
        json(body),
        json!({
            "state": "failure", "context": "gate", "description": "fail: regression",
            "target_url": "https://github.example/o/r/actions/runs/70/attempts/2",
        })
    );
    let check = sandbox
        .gate(&[
            "status",
            "--records",
            "records.jsonl",
            "--as",
            "check-run",
            "--name",
            "bench",
            "--dry-run",
        ])
        .exits(0);
    let (request, body) = check.out.split_once("\n\n").unwrap();
    let body = json(body);
    assert_eq!(request, "POST /repos/o/r/check-runs");
    assert_eq!(
        (&body["name"], &body["head_sha"], &body["conclusion"]),
        (&json!("bench"), &json!(HEAD), &json!("failure"))
    );
}

#[test]
fn row_44_no_token_is_printed() {
    let sandbox = job("pull_request", &pull_request()).with_env("RUST_BACKTRACE", "1");
    write(&sandbox, "records.jsonl", &[of_commit(HEAD)]);
    for words in [
        &["comment", "--records", "records.jsonl", "--dry-run"][..],
        &["status", "--records", "records.jsonl", "--as", "status", "--dry-run"],
        &["comment", "--records", "absent.jsonl"],
    ] {
        let done = sandbox.gate(words);
        assert!(!done.out.contains("SECRET") && !done.err.contains("SECRET"), "{done:?}");
    }
    for (path, bytes) in sandbox.everything() {
        assert!(!String::from_utf8_lossy(&bytes).contains("SECRET"), "{}", path.display());
    }
}

#[test]
fn row_01_outside_a_job_the_body_is_printed_with_the_reason() {
    let sandbox = Sandbox::new();
    write(&sandbox, "records.jsonl", &[of_commit(HEAD)]);
    for words in [&["comment"][..], &["comment", "--dry-run"]] {
        let done = sandbox
            .gate(&[words, &["--records", "records.jsonl"]].concat())
            .exits(0)
            .says("GITHUB_ACTIONS is not true");
        assert!(done.out.starts_with("### gate: fail: regression (blocks)"), "{}", done.out);
        assert!(done.out.contains("commit `9e8d7c6b9e8d`"), "{}", done.out);
    }
    let done = sandbox
        .gate(&["status", "--records", "records.jsonl", "--as", "status"])
        .exits(0)
        .says("GITHUB_ACTIONS is not true");
    assert_eq!(json(&done.out)["state"], "failure");
}

#[test]
fn row_02_an_event_that_cannot_be_read_is_an_error_that_names_it() {
    for (text, says) in [
        (Some(""), "the file is empty"),
        (Some("{"), "not the file of a pull_request event"),
        (Some("{}"), "missing field `number`"),
        (None, "there is no such file"),
    ] {
        let sandbox = job("pull_request", &Value::Null);
        match text {
            Some(text) => drop(sandbox.write("event.json", text)),
            None => std::fs::remove_file(sandbox.path("event.json")).unwrap(),
        }
        write(&sandbox, "records.jsonl", &[regression()]);
        for words in [&["comment"][..], &["status", "--as", "status"]] {
            let done = sandbox.gate(&[words, &["--records", "records.jsonl"]].concat()).exits(2).says(says);
            assert!(
                done.err.contains("GITHUB_EVENT_PATH: ") && done.err.contains("event.json"),
                "{}",
                done.err
            );
        }
    }
}

#[test]
fn row_03_an_event_without_a_pull_request_has_a_summary_and_no_comment() {
    let two = "2".repeat(40);
    for (event, file) in [
        ("push", json!({"before": HEAD, "after": two})),
        ("schedule", json!({})),
        ("workflow_dispatch", json!({"inputs": null})),
    ] {
        let sandbox = job(event, &file);
        sandbox.write("summary.md", "from before\n");
        write(&sandbox, "records.jsonl", &[regression()]);
        sandbox
            .gate(&["comment", "--records", "records.jsonl"])
            .exits(0)
            .says("has no pull request");
        let summary = sandbox.text("summary.md");
        assert!(summary.starts_with("from before\n### gate: fail: regression"), "{event}: {summary}");
        assert!(sandbox.text("output").contains("comment-action<<"), "{event}");
    }
}

#[test]
fn never_sends_nothing_and_a_dry_run_says_where_none_is_made() {
    let sandbox = job("pull_request", &pull_request());
    write(&sandbox, "records.jsonl", &[regression()]);
    write(&sandbox, "passed.jsonl", &[Session::new().whole(noisy(0.0, 0.3, 3)).record()]);
    let comment = |more: &[&str]| sandbox.gate(&[&["comment"][..], more].concat()).exits(0);
    let done = comment(&["--records", "records.jsonl", "--on", "never"]).says("gate: comment skipped: --on never");
    assert_eq!(done.out, "");
    let none = "where there is no comment yet, none is made";
    let _said = comment(&["--records", "passed.jsonl", "--on", "change", "--dry-run"]).says(none);
    for words in [["records.jsonl", "change"], ["passed.jsonl", "always"]] {
        let done = comment(&["--records", words[0], "--on", words[1], "--dry-run"]);
        assert!(!done.err.contains(none), "{words:?}: {}", done.err);
    }
}

#[test]
fn row_40_a_merge_group_has_a_status_on_its_own_commit_and_no_comment() {
    let two = "2".repeat(40);
    let sandbox = job(
        "merge_group",
        &json!({"action": "checks_requested", "merge_group": {"head_sha": two}}),
    );
    write(&sandbox, "records.jsonl", &[of_commit(&two)]);
    sandbox
        .gate(&["comment", "--records", "records.jsonl"])
        .exits(0)
        .says("the event merge_group has no pull request");
    let done = sandbox
        .gate(&["status", "--records", "records.jsonl", "--as", "status", "--dry-run"])
        .exits(0);
    assert!(done.out.starts_with(&format!("POST /repos/o/r/statuses/{two}\n")), "{}", done.out);
}

#[test]
fn records_of_another_commit_are_not_told_of_this_one() {
    let sandbox = job("pull_request", &pull_request());
    write(&sandbox, "other.jsonl", &[of_commit(&"3".repeat(40))]);
    write(&sandbox, "two.jsonl", &[of_commit(HEAD), of_commit(&"3".repeat(40))]);
    for words in [&["comment", "--dry-run"][..], &["status", "--as", "status", "--dry-run"]] {
        let of = |file: &str| sandbox.gate(&[words, &["--records", file]].concat()).exits(2);
        let _said = of("other.jsonl").says("they speak of commit 333333333333, and this job answers for 9e8d7c6b9e8d");
        let _said = of("two.jsonl").says("they speak of two commits");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_and_a_broken_seal_a_violation() {
    let sandbox = Sandbox::new();
    let record = regression();
    write(&sandbox, "sound.jsonl", std::slice::from_ref(&record));
    sandbox.write("none.jsonl", "");
    sandbox.write("text.jsonl", "no\n");
    sandbox.write("newer.jsonl", "{\"version\":99}\n");
    sandbox.write("empty.jsonl", "{\"version\":1}\n");
    sandbox.write("cut.jsonl", record.line().unwrap());
    sandbox.write(
        "broken.jsonl",
        record.line().unwrap().replace("\"regression\"", "\"no_regression\"") + "\n",
    );
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for (file, code, says) in [
        ("absent.jsonl", 2, "absent.jsonl"),
        ("none.jsonl", 2, "no record in none.jsonl"),
        ("folder", 2, "no record in folder"),
        ("text.jsonl", 2, "text.jsonl:1:2: not JSON"),
        ("newer.jsonl", 2, "record format 99, this gate knows 1"),
        ("empty.jsonl", 4, "empty.jsonl:1: the seal is broken"),
        ("cut.jsonl", 2, "the last line is cut short"),
        ("broken.jsonl", 4, "broken.jsonl:1: the seal is broken"),
    ] {
        for words in [&["comment"][..], &["status", "--as", "status"]] {
            let words = [words, &["--dry-run", "--records", "sound.jsonl", file]].concat();
            let only = words
                .iter()
                .filter(|word| **word != "sound.jsonl" || code == 4)
                .copied()
                .collect::<Vec<_>>();
            let done = sandbox.gate(&only).exits(code).says(says);
            assert_eq!(done.out, "", "{file}");
        }
    }
}

#[test]
fn several_files_and_folders_are_one_comment_and_each_record_counts_once() {
    let sandbox = Sandbox::new();
    let (one, other) = (regression(), Session::new().whole(noisy(0.0, 0.3, 3)).record());
    std::fs::create_dir_all(sandbox.path("shards/a")).unwrap();
    write(&sandbox, "shards/a/records.jsonl", std::slice::from_ref(&one));
    write(&sandbox, "shards/more.json", &[other, one.clone()]);
    sandbox.write("shards/notes.txt", "no record\n");
    write(&sandbox, "again.jsonl", &[one]);
    let done = sandbox.gate(&["comment", "--records", "shards", "again.jsonl"]).exits(0);
    assert!(done.out.contains(" · 2 records"), "{}", done.out);
    assert!(done.out.contains("1 failed · 1 within band"), "{}", done.out);
}

#[test]
fn a_bad_key_or_name_is_refused() {
    let sandbox = Sandbox::new();
    write(&sandbox, "records.jsonl", &[regression()]);
    let _said = sandbox
        .gate(&["comment", "--records", "records.jsonl", "--key=-->"])
        .exits(2)
        .says("a key is 1 to 40 of a-z, 0-9 and -");
    let _said = sandbox
        .gate(&["status", "--records", "records.jsonl", "--as", "status", "--name", " "])
        .exits(2)
        .says("a name is 1 to 100 letters");
}

#[test]
fn what_holds_no_records_is_named_once() {
    let sandbox = job("pull_request", &pull_request());
    sandbox.write("text.toml", "version = 1\n");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for (path, says) in [
        (
            "absent",
            "gate: error: --records: absent: there is no such file or folder: a run writes its records with `--out FILE`\n",
        ),
        ("text.toml", "gate: error: --records: text.toml:1:1: not JSON: "),
        (
            "empty",
            "gate: error: --records: no record in empty: a run writes them with `--out FILE`\n",
        ),
    ] {
        for words in [
            &["comment", "--records", path][..],
            &["status", "--as", "status", "--records", path],
        ] {
            let done = sandbox.gate(words).exits(2);
            assert!(done.err.starts_with(says), "{}", done.err);
        }
    }
}
