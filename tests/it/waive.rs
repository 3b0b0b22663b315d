//! `gate waive`, and what a waiver excuses: the regression it was written for, and nothing else.

use crate::declared::{Project, banners, outcome, verdicts};
use crate::sandbox::Done;

/// A change that makes the program half as slow again, measured and failed; gives its record's first digits.
fn regressed() -> (Project, String) {
    let project = Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.program(150);
    project.commit("slower");
    let record = project.perf(&["--base", &first]).exits(1).record();
    assert_eq!(verdicts(&record), ["regression"]);
    (project, record["seal"].as_str().unwrap()[3..15].to_owned())
}

fn in_days(days: i64) -> String {
    let then = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
    then.to_string()[..10].to_owned()
}

fn waive(project: &Project, more: &[&str]) -> Done {
    let until = in_days(30);
    let words = [
        "waive",
        "last",
        "--because",
        "the new sampler is worth it",
        "--until",
        &until,
        "--author",
        "A",
    ];
    project.sandbox.gate(&[&words, more].concat())
}

fn again(project: &Project) -> Done {
    project.perf(&["--base", "main"])
}

#[test]
fn a_waived_regression_passes_is_shown_and_moves_no_baseline() {
    let (project, seal) = regressed();
    let done = waive(&project, &[]).exits(0);
    assert!(
        done.out.contains("gates/waivers/perf-ms.toml: up to 51% on ms of perf"),
        "{}",
        done.out
    );
    let _done = project.sandbox.gate(&["gates", "check"]).exits(0);
    project.commit("accept it");

    // Nothing but the waiver is new: the record is judged again, and nothing runs.
    let record = again(&project).exits(0).record();
    assert_eq!((verdicts(&record), outcome(&record)), (vec!["waived"], "pass"));
    let ruling = &record["judgement"]["verdicts"][0];
    let because = ruling["because"].as_str().unwrap();
    assert!(
        because.contains("Accepted up to 51%: the new sampler is worth it (A, until "),
        "{because}"
    );
    assert_eq!(
        ruling["estimate"],
        project.sandbox.ledger()[0]["judgement"]["verdicts"][0]["estimate"]
    );
    assert_eq!(record["links"]["judged_again"], project.sandbox.ledger()[0]["seal"]);
    assert_eq!(record["evidence"], project.sandbox.ledger()[0]["evidence"]);
    assert!(banners(&record).contains(&format!("as record {seal}; nothing but gates/waivers changed since")));
    let _done = project.sandbox.gate(&["ledger", "verify"]).exits(0);

    for format in ["terminal", "markdown"] {
        let shown = project.sandbox.gate(&["ledger", "show", "last", "--format", format]).exits(0).out;
        let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("waived") && flat.contains("the new sampler is worth it"),
            "{format}: {shown}"
        );
    }
    let refused = project.sandbox.gate(&["baseline", "accept", "last"]).exits(2);
    assert!(
        refused.err.contains("a waived regression, which moves no baseline"),
        "{}",
        refused.err
    );
}

#[test]
fn what_else_changes_is_measured_anew() {
    let (project, _) = regressed();
    let _done = waive(&project, &["--limit", "60%"]).exits(0);
    project.commit("accept it");
    project.program(155);
    project.commit("and a little slower");
    let record = again(&project).exits(0).record();
    assert_eq!(verdicts(&record), ["waived"]);
    assert!(record["links"].as_object().unwrap().is_empty(), "it was measured");
    // Worse than the limit it fails, and says that there is a waiver.
    project.program(170);
    project.commit("much slower");
    let record = again(&project).exits(1).record();
    assert_eq!(verdicts(&record), ["regression"]);
    let warnings = record["judgement"]["verdicts"][0]["warnings"].to_string();
    assert!(
        warnings.contains("a waiver accepts up to 60%, and this is not shown to be within it"),
        "{warnings}"
    );
}

#[test]
fn it_excuses_no_other_gate_metric_or_fixture() {
    let (project, _) = regressed();
    let _done = waive(&project, &[]).exits(0);
    let file = "gates/waivers/perf-ms.toml";
    let text = project.sandbox.text(file);
    for (from, to) in [
        ("gate    = \"perf\"", "gate = \"other\""),
        ("metric  = \"ms\"", "metric = \"wall_s\""),
        ("metric  = \"ms\"", "fixture = \"small\"\nmetric = \"ms\""),
    ] {
        assert!(text.contains(from), "{text}");
        project.write(file, text.replace(from, to));
        project.commit(to);
        assert_eq!(verdicts(&again(&project).exits(1).record()), ["regression"], "{to}");
    }
}

#[test]
fn it_ends_on_its_day_and_needs_every_word() {
    let (project, _) = regressed();
    let _done = waive(&project, &[]).exits(0);
    let file = "gates/waivers/perf-ms.toml";
    let text = project.sandbox.text(file);
    let (until, day_of) = (in_days(30), |days| format!("until   = \"{}\"", in_days(days)));
    let with = |days: i64| text.replace(&format!("until   = \"{until}\""), &day_of(days));
    for (days, code, says) in [(0, 0, ""), (-1, 1, "expired after"), (200, 1, "more than 90 days ahead")] {
        project.write(file, with(days));
        project.commit("another day");
        let record = again(&project).exits(code).record();
        assert!(banners(&record).contains(says), "{days}: {}", banners(&record));
    }
    for key in ["reason", "author", "until"] {
        let without: Vec<&str> = text.lines().filter(|line| !line.starts_with(key)).collect();
        project.write(file, without.join("\n"));
        project.commit(key);
        let done = again(&project).exits(2);
        assert!(done.err.contains(&format!("{file}:1:1: {key}: is missing")), "{}", done.err);
        let _done = project.sandbox.gate(&["gates", "check"]).exits(2);
        let _done = project.sandbox.gate(&["hook", "pre-push"]).exits(2);
    }
}

#[test]
fn against_the_base_arm_only_a_waiver_of_this_change_counts() {
    let (project, _) = regressed();
    let _done = waive(&project, &["--limit", "70%"]).exits(0);
    project.commit("accept it");
    project.git(&["checkout", "--quiet", "main"]);
    project.git(&["merge", "--quiet", "--ff-only", "change"]);
    project.git(&["checkout", "--quiet", "-b", "next"]);
    project.program(220);
    project.commit("slower once more");
    let record = again(&project).exits(1).record();
    assert_eq!(
        verdicts(&record),
        ["regression"],
        "what was reviewed for another change excuses nothing here"
    );
}

#[test]
fn a_fork_excuses_nothing() {
    let (project, _) = regressed();
    let _done = waive(&project, &[]).exits(0);
    let head = project.commit("accept it");
    let base = project.git(&["rev-parse", "main"]);
    let event = |repo: &str| {
        format!(
            r#"{{"pull_request":{{"base":{{"ref":"main","sha":"{base}","repo":{{"full_name":"o/r"}}}},"head":{{"ref":"f","sha":"{head}","repo":{repo}}}}}}}"#
        )
    };
    let path = project.write("../event.json", event("{\"full_name\":\"x/r\"}"));
    let project = project
        .env("GITHUB_EVENT_NAME", "pull_request")
        .env("GITHUB_EVENT_PATH", path.to_str().unwrap());
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record), ["regression"]);
    assert!(
        banners(&record).contains("a waiver of a fork excuses nothing"),
        "{}",
        banners(&record)
    );
    project.write("../event.json", event("{\"full_name\":\"o/r\"}"));
    assert_eq!(verdicts(&project.perf(&[]).exits(0).record()), ["waived"]);
}

#[test]
fn what_cannot_be_waived_says_why() {
    let (project, _) = regressed();
    for (more, says) in [
        (&["--metric", "wall_s"][..], "no such regression: record"),
        (&["--fixture", "x"], "no such regression"),
        (&["--limit", "20%"], "a limit of 20% does not cover record"),
        (&["--limit", "20"], "say 20% (relative)"),
        (&["--until", "2020-01-01"], "that day is over"),
        (&["--until", "2099-01-01"], "more than 90 days ahead"),
        (&["--until", "soon"], "write a day, such as"),
        (&["--because", " "], "a reason is needed"),
    ] {
        let until = in_days(30);
        let mut words = vec!["waive", "last", "--author", "A"];
        for (option, value) in [("--because", "why"), ("--until", until.as_str())] {
            if !more.contains(&option) {
                words.extend([option, value]);
            }
        }
        let _done = project.sandbox.gate(&[&words, more].concat()).exits(2).says(says);
    }
    assert!(!project.sandbox.path("gates/waivers").exists(), "nothing was written");
    // Without an author git's own user is named; without one it is asked for.
    let until = in_days(1);
    let words = ["waive", "last", "--because", "why", "--until", &until];
    let _done = project.sandbox.gate(&words).exits(2).says("--author");
    project.git(&["config", "user.name", "A"]);
    project.git(&["config", "user.email", "a@example.org"]);
    let _done = project.sandbox.gate(&words).exits(0);
    assert!(
        project
            .sandbox
            .text("gates/waivers/perf-ms.toml")
            .contains("author  = \"A <a@example.org>\"")
    );
    let _done = project.sandbox.gate(&words).exits(2).says("is there already");
    project.program(100);
    project.commit("mended");
    let _done = again(&project).exits(0);
    let _done = project.sandbox.gate(&words).exits(2).says("holds no regression");
}
