//! Which gate `gate ingest --gate` judges by: a change cannot loosen the rule that judges it.

use serde_json::json;

use crate::declared::{Project, banners};
use crate::ingest_judged::{HOLD, sequence};
use crate::sandbox::{Done, verdict};

/// A gate on a result in the format of Bencher.
fn gate(at_least: u32) -> String {
    format!(
        "version = 1\nsource = \"ingest\"\n[ingest]\nadapter = \"bmf\"\n[[metric]]\nname = \"rate\"\nunit = \"tok/s\"\nbetter = \"higher\"\n\
         [[rule]]\nkind = \"floor\"\nat_least = \"{at_least} tok/s\"\n"
    )
}

/// A pull request's job, in the checkout of a change whose base branch is `main`.
fn in_a_pull_request(project: Project) -> Project {
    let [base, head] = ["main", "HEAD"].map(|revision| project.git(&["rev-parse", revision]));
    let side = |name: &str, sha: &str| format!(r#"{{"ref":"{name}","sha":"{sha}","repo":{{"full_name":"o/r"}}}}"#);
    let (base, head) = (side("main", &base), side("change", &head));
    let event = format!(r#"{{"pull_request":{{"base":{base},"head":{head}}}}}"#);
    let path = project.write("../event.json", event);
    project
        .env("GITHUB_EVENT_NAME", "pull_request")
        .env("GITHUB_EVENT_PATH", path.to_str().unwrap())
}

fn judged(project: &Project, name: &str) -> Done {
    project.write("../result.json", "{\"decode\": {\"rate\": {\"value\": 90.0}}}");
    let gate = format!("gates/{name}.toml");
    project
        .sandbox
        .gate(&["ingest", "--gate", &gate, "--format", "json", "../result.json"])
}

#[test]
fn a_change_is_judged_by_the_base_branch_s_gate_and_a_new_one_only_advises() {
    let project = Project::new();
    project.write("gates/rate.toml", gate(100));
    project.commit("at least 100");
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.write("gates/rate.toml", gate(50));
    project.write("gates/new.toml", gate(100));
    let head = project.commit("at least 50, and a new gate");
    // By hand the files count as they stand.
    let record = judged(&project, "rate").exits(0).record();
    assert_eq!(record["gate"]["from"], "working tree");
    let project = in_a_pull_request(project);
    let record = judged(&project, "rate").exits(1).record();
    assert_eq!(record["context"]["head"], head.as_str());
    assert!(
        record["gate"]["from"].as_str().unwrap().starts_with("base tip "),
        "{}",
        record["gate"]["from"]
    );
    assert!(
        banners(&record).contains("this change edits gates/rate.toml: that of the base tip"),
        "{}",
        banners(&record)
    );
    let record = judged(&project, "new").exits(0).record();
    assert!(
        banners(&record).contains("gates/new.toml is new") && record["judgement"]["verdicts"][0]["required"] == false,
        "{record}"
    );
    let _done = judged(&project, "none").exits(2).says("--gate: no such file: gates/none.toml");
}

#[test]
fn a_regression_of_results_is_excused_by_a_reviewed_file_as_one_that_is_measured() {
    let project = Project::new();
    project.write("gates/bench.toml", HOLD);
    project.commit("the rule of results");
    let words = sequence(&project.sandbox, "ABBABAABBAABABBA", 90.0);
    let ingest = || {
        let mut all = vec!["ingest", "--gate", "gates/bench.toml", "--format", "json"];
        all.extend(words.iter().map(String::as_str));
        project.sandbox.gate(&all)
    };
    let record = ingest().exits(1).record();
    assert_eq!(record["context"]["head"], json!(project.git(&["rev-parse", "HEAD"])));
    let until = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(48)).to_string();
    let waive = ["waive", "last", "--because", "why", "--until", &until[..10], "--author", "A"];
    let done = project.sandbox.gate(&waive).exits(0);
    assert!(done.out.contains("`gate ingest` then passes on the same results"), "{}", done.out);
    let record = ingest().exits(0).record();
    assert_eq!((verdict(&record), &record["judgement"]["outcome"]), ("waived", &json!("pass")));
    let _done = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    // Once the base has it, it is no waiver of this change any more.
    project.commit("accept it");
    project.commit("something else");
    let record = ingest().exits(1).record();
    let warnings = record["judgement"]["verdicts"][0]["warnings"].to_string();
    assert!(warnings.contains("a waiver that this change does not bring"), "{warnings}");
}
