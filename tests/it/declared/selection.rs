//! Which gates run, and what several of them answer together.

use super::{GATE, Project, outcome, records, verdicts};
use crate::sandbox::{json, samples};

#[test]
fn a_gate_that_the_change_does_not_touch_says_so_and_starts_nothing() {
    let log = "/../tmp/log";
    let project = Project::new();
    let log = format!("{}{log}", project.sandbox.path("").display());
    let gate = GATE
        .replace("[arms]", "[when]\npaths = [\"src/**\", \"*.sh\"]\n\n[arms]")
        .replace("[\"cp\"", &format!("[\"touch\", \"{log}\"], [\"cp\""));
    project.write("gates/perf.toml", gate);
    project.commit("when");
    project.write("README", "words\n");
    let done = project.perf(&[]).exits(0);
    let record = done.record();
    assert_eq!((outcome(&record), samples(&record).len()), ("pass", 0));
    assert_eq!(record["context"]["unaffected"], "none of 1 changed file matches src/**, *.sh");
    assert!(!project.sandbox.path("../tmp/log").exists(), "something was built");
    assert!(project.sandbox.sessions().is_empty());
    for format in ["terminal", "markdown"] {
        let shown = project.sandbox.gate(&["perf", "--format", format]).exits(0).out;
        assert!(shown.contains("not affected by this change"), "{shown}");
    }
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);

    project.program(120);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record), ["regression"]);
    // By itself the candidate is no change.
    let _done = project.perf(&["--no-base"]);
    assert!(project.sandbox.path("../tmp/log").exists());
}

#[test]
fn several_gates_are_several_records_with_one_answer() {
    let project = Project::new();
    let lax = GATE.replace("5%", "50%");
    project.write("gates/lax.toml", &lax);
    project.write(
        "gates/other.toml",
        "version = 1\nsource = \"ingest\"\n\n[ingest]\npath = \"results\"\n",
    );
    project.commit("gates");
    project.program(120);
    let done = project.perf(&["--out", "records.json"]).exits(1);
    let seen: Vec<_> = records(&done)
        .iter()
        .map(|record| (record["gate"]["name"].clone(), outcome(record).to_owned()))
        .collect();
    assert_eq!(seen, [("lax".into(), "pass".to_owned()), ("perf".into(), "fail".to_owned())]);
    assert_eq!(project.sandbox.text("records.json"), done.out);
    assert_eq!(project.sandbox.ledger().len(), 2);

    let only = project.perf(&["--gate", "gates/lax.toml"]).exits(0);
    assert_eq!(records(&only).len(), 1);
    let both = project.perf(&["--gate", "gates/perf.toml", "--gate", "gates/lax.toml"]).exits(1);
    let names: Vec<_> = records(&both).iter().map(|record| record["gate"]["name"].clone()).collect();
    assert_eq!(names, ["perf", "lax"], "in the order that was asked for");
    let shown = project.sandbox.gate(&["perf"]).exits(1).out;
    assert!(
        shown.contains("gate: lax, from the working tree") && shown.contains("gate: perf, from the working tree"),
        "{shown}"
    );

    let _done = project
        .perf(&["--gate", "gates/other.toml"])
        .exits(2)
        .says("runs gates of source run");
    let _done = project
        .perf(&["--gate", "gates/absent.toml"])
        .exits(2)
        .says("no such gate: gates/absent.toml");
    let _done = project
        .perf(&["--gate", "/etc/passwd"])
        .exits(2)
        .says("lies outside the repository");
}

#[test]
fn a_gate_that_cannot_be_measured_keeps_no_other_from_it() {
    let project = Project::new();
    project.write("gates/broken.toml", GATE.replace("\"cp\", \"tool.sh\"", "\"cp\", \"absent\""));
    project.write("gates/perf.toml", GATE.replace("5%", "50%"));
    project.commit("gates");
    project.program(120);
    let done = project
        .perf(&["--out", "records.json"])
        .exits(2)
        .says("gate: error: gate broken: arm A: build step");
    assert_eq!(records(&done).len(), 1);
    assert_eq!(outcome(&json(&project.sandbox.text("records.json"))), "pass");
    project.write("gates/perf.toml", GATE);
    let _done = project.perf(&[]).exits(1).says("gate: error: gate broken");
}

#[test]
fn a_wrong_gate_file_is_refused_before_anything_runs() {
    let project = Project::new();
    project.write("gates/wrong.toml", GATE.replace("tolerance = \"5%\"", "tolerance = 5"));
    project.write("gates/worse.toml", "version = 1\nsource = \"run\"\n");
    let done = project
        .perf(&[])
        .exits(2)
        .says("gates/wrong.toml:21:13")
        .says("gates/worse.toml:2:");
    assert!(done.out.is_empty() && project.sandbox.sessions().is_empty());
    let outside = Project::new();
    std::fs::remove_dir_all(outside.sandbox.path(".git")).unwrap();
    let _done = outside.perf(&[]).exits(2).says("declared gates need a git repository");
}
