//! Commands that end before they have a record: the job around them is told all the same.

use super::step::{obeyed, outputs, value};
use crate::declared::Project;
use crate::sandbox::Done;

/// A repository, and a job of this event in it.
fn job(event: &str) -> Project {
    let project = Project::new();
    let path = |name: &str| project.sandbox.path(name).display().to_string();
    let [file, summary, output] = ["../event.json", "../summary.md", "../output"].map(path);
    project.write("../event.json", "{}");
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", event),
        ("GITHUB_EVENT_PATH", &file),
        ("GITHUB_STEP_SUMMARY", &summary),
        ("GITHUB_OUTPUT", &output),
    ];
    variables
        .into_iter()
        .fold(project, |project, (name, value)| project.env(name, value))
}

/// What the job was told: the commands that its runner obeys, and the paragraph of its summary; the outputs are those of an error.
#[track_caller]
fn told(project: &Project, done: &Done) -> (Vec<String>, String) {
    let found = outputs(&project.sandbox.text("../output"));
    for (name, wanted) in [
        ("outcome", "error"),
        ("disposition", ""),
        ("record", ""),
        ("records", ""),
        ("exit-code", "2"),
    ] {
        assert_eq!(value(&found, name), wanted, "{name}: {done:?}");
    }
    let summary = project.sandbox.text("../summary.md");
    assert!(summary.starts_with("### gate: error (blocks)\n\n**No verdict:** "), "{summary}");
    (obeyed(&format!("{}{}", done.out, done.err)), summary)
}

#[test]
fn the_job_is_told_why_there_is_no_record() {
    let results = ["eval", "results.json", "--baseline", "results.json"];
    let ingest = ["ingest", "--gate", "gates/none.toml", "results.json"];
    for (event, words, says) in [
        (
            "schedule",
            &["perf", "--gate", "gates/none.toml"][..],
            "no such gate: gates/none.toml",
        ),
        (
            "schedule",
            &["perf", "--alpha", "7", "--a", "true", "--b", "true"],
            "invalid value '7' for '--alpha",
        ),
        ("schedule", &["perf", "--a", "./nothing", "--b", "true"], "nothing"),
        ("schedule", &["perf", "--device", "9"], "--device"),
        ("schedule", &["perf", "--out", "/proc/no/such.jsonl"], "--out"),
        (
            "pull_request_target",
            &["perf"],
            "the event pull_request_target runs with a token that can write",
        ),
        (
            "pull_request_target",
            &results,
            "the event pull_request_target runs with a token that can write",
        ),
        ("schedule", &results, "results.json"),
        ("schedule", &["eval"], "no results are named"),
        ("schedule", &["eval", "--tolerance", "1"], "say 1pp"),
        ("schedule", &ingest, "--gate"),
        (
            "schedule",
            &["ingest", "--gate", "gates/perf.toml", "x", "--adapter", "none"],
            "none",
        ),
    ] {
        let project = job(event);
        let done = project.sandbox.gate(words).exits(2).says(says);
        let (commands, summary) = told(&project, &done);
        assert_eq!(commands.len(), 1, "{words:?}: {commands:?}");
        let (head, message) = commands[0].split_once("gate::").unwrap();
        assert_eq!(head, "::error title=", "{words:?}");
        assert!(message.contains(&says.replace('%', "%25")), "{words:?}: {message}");
        // The words are escaped there; the longest word of letters in them is not.
        let plain = says
            .split(|c: char| !c.is_ascii_alphanumeric())
            .max_by_key(|word| word.len())
            .unwrap();
        assert!(summary.contains(plain), "{words:?}: {summary}");
    }
}

#[test]
fn faults_of_a_gate_stand_on_their_lines() {
    let faulty = "version = 1\nsource = \"run\"\nabouts = \"x\"\n\n[rum]\n";
    for (words, lines) in [
        (&["perf"][..], &[3, 5][..]),
        (&["perf", "--format", "json"], &[3, 5]),
        (&["eval", "--gate", "gates/perf.toml", "x"], &[3, 5]),
        (&["ingest", "--gate", "gates/perf.toml", "x"], &[3, 5]),
    ] {
        let project = job("schedule");
        project.write("gates/perf.toml", faulty);
        let done = project.sandbox.gate(words).exits(2);
        let (commands, summary) = told(&project, &done);
        for line in lines {
            let at = format!("::error file=gates/perf.toml,line={line},title=gate::gates/perf.toml:{line}:");
            assert!(
                commands.iter().any(|command| command.starts_with(&at)),
                "{words:?}: {at}: {commands:?}"
            );
            assert!(done.err.contains(&format!("\ngates/perf.toml:{line}:")), "{}", done.err);
        }
        assert!(summary.contains("<br>\n") && summary.contains("abouts"), "{summary}");
        assert_eq!(done.out, "");
    }
}

#[test]
fn a_gate_that_could_not_be_measured_is_told_beside_one_that_was() {
    let project = job("schedule");
    let gate = project.sandbox.text("gates/perf.toml");
    project.write("gates/other.toml", gate.replace("[\"cp\", ", "[\"./absent\", "));
    let base = project.commit("another gate");
    project.program(101);
    let words = ["perf", "--base", &base, "--out", "records.jsonl"];
    let done = project.sandbox.gate(&words).exits(2).says("gate: error: gate other");
    let found = outputs(&project.sandbox.text("../output"));
    assert_eq!(
        (value(&found, "outcome"), value(&found, "records")),
        ("error".to_owned(), "records.jsonl".to_owned())
    );
    let summary = project.sandbox.text("../summary.md");
    assert!(
        summary.starts_with("### gate: error (blocks)\n\n**No verdict:** gate other"),
        "{summary}"
    );
    assert!(summary.contains("### gate: pass"), "{summary}");
    assert!(obeyed(&done.out)[0].starts_with("::error title=gate::gate other"), "{}", done.out);
    // Whoever reads the records later learns that one is owed: what there is passes, and is no whole answer.
    let later = Project {
        sandbox: project.sandbox.with_env("GITHUB_ACTIONS", ""),
    };
    let why = "1 gate of the same run left no record";
    let page = later.sandbox.gate(&["comment", "--records", "records.jsonl"]).exits(0).out;
    assert!(
        page.starts_with("### gate: error (blocks)\n\n**No verdict:** 1 gate of the same run"),
        "{page}"
    );
    for kind in ["status", "check-run"] {
        let said = later
            .sandbox
            .gate(&["status", "--as", kind, "--records", "records.jsonl"])
            .exits(0)
            .out;
        assert!(said.contains(why) && !said.contains("success"), "{kind}: {said}");
    }
    later.write("gates/other.toml", later.sandbox.text("gates/perf.toml"));
    later.sandbox.gate(&["perf", "--base", &base, "--out", "records.jsonl"]).exits(0);
    let page = later.sandbox.gate(&["comment", "--records", "records.jsonl"]).exits(0).out;
    assert!(page.starts_with("### gate: pass"), "{page}");
    // Alone it leaves no record, and no file of records is named.
    let alone = job("schedule");
    alone.write("gates/perf.toml", gate.replace("[\"cp\", ", "[\"./absent\", "));
    let base = alone.commit("it is not built");
    alone.program(101);
    let done = alone.sandbox.gate(&["perf", "--base", &base, "--out", "records.jsonl"]).exits(2);
    let (commands, summary) = told(&alone, &done);
    assert!(
        commands.len() == 1 && !summary.contains("### gate: no report"),
        "{commands:?} {summary}"
    );
}

#[test]
fn names_in_the_reason_are_not_obeyed() {
    for name in [
        "x##[error]y",
        "::error::x",
        "x%0A::error::y",
        "</summary><img src=x>@org/team\n::add-mask::z",
    ] {
        for words in [
            ["perf", "--gate", name],
            ["ingest", "--gate", name],
            ["eval", "--recipe", name],
            ["perf", "--alpha", name],
        ] {
            let project = job("schedule");
            let done = project.sandbox.gate(&words).exits(2);
            let (commands, summary) = told(&project, &done);
            assert_eq!(commands.len(), 1, "{commands:?}");
            assert!(commands[0].starts_with("::error title=gate::"), "{commands:?}");
            assert!(!summary.contains("<img") && !summary.contains("@org"), "{summary}");
        }
    }
}

#[test]
fn who_did_not_ask_is_not_told_and_what_cannot_be_written_changes_nothing() {
    for words in [
        &["perf", "--github=false", "--gate", "none"][..],
        &["perf", "--alpha", "7", "--github=false"],
        &["ingest", "none"],
    ] {
        let project = job("schedule");
        let done = project.sandbox.gate(words).exits(2);
        assert_eq!(obeyed(&done.err), Vec::<String>::new(), "{words:?}");
        assert_eq!(project.sandbox.text("../output"), "", "{words:?}");
    }
    let outside = Project::new();
    let output = outside.sandbox.path("../output").display().to_string();
    let outside = outside.env("GITHUB_OUTPUT", &output);
    let done = outside.sandbox.gate(&["perf", "--gate", "none"]).exits(2);
    assert_eq!((obeyed(&done.err), outside.sandbox.text("../output")), (Vec::new(), String::new()));
    let _done = outside.sandbox.gate(&["perf", "--github", "--gate", "none"]).exits(2);
    assert_eq!(value(&outputs(&outside.sandbox.text("../output")), "exit-code"), "2");
    let unwritable = job("schedule").env("GITHUB_OUTPUT", "/proc/no/such").env("GITHUB_STEP_SUMMARY", "");
    let done = unwritable
        .sandbox
        .gate(&["perf", "--gate", "none"])
        .exits(2)
        .says("the outputs of the step");
    assert_eq!(obeyed(&done.err).len(), 1, "{}", done.err);
}
