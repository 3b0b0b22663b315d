//! What is compared with what: pull request, push, merge queue, dirty tree, shallow clone, detached HEAD, linked worktree.

use super::{Project, outcome, verdicts};
use serde_json::Value;

/// A variable and file as a job of this event has them.
fn event(project: Project, name: &str, text: &str) -> Project {
    let file = project.write(".gate/event.json", text);
    let file = file.to_str().unwrap().to_owned();
    project.env("GITHUB_EVENT_NAME", name).env("GITHUB_EVENT_PATH", &file)
}

/// A job of a pull request of `head` into `main`, whose tip the event names.
pub fn pull_request(project: Project, tip: &str, head: &str) -> Project {
    let text = format!(r#"{{"pull_request":{{"base":{{"ref":"main","sha":"{tip}"}},"head":{{"ref":"feature","sha":"{head}"}}}}}}"#);
    event(project, "pull_request", &text)
}

/// The base commit of a record with the reason.
fn base(record: &Value) -> (&str, &str) {
    let base = &record["context"]["base"];
    (base["commit"].as_str().unwrap_or("none"), base["why"].as_str().unwrap())
}

fn source(record: &Value, arm: &str) -> (String, bool) {
    let source = &record["identity"]["arms"][arm]["source"];
    (source["commit"].as_str().unwrap().to_owned(), source["dirty"].as_bool().unwrap())
}

#[test]
fn a_slow_pull_request_is_caught_against_its_merge_base_although_main_has_moved() {
    let project = Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "--quiet", "-b", "feature"]);
    project.program(120);
    let head = project.commit("slower");
    project.git(&["checkout", "--quiet", "main"]);
    // Main became much slower meanwhile: against its tip the change would look like a gain.
    project.program(300);
    let tip = project.commit("main is slower");
    project.git(&["checkout", "--quiet", "feature"]);
    let project = pull_request(project, &tip, &head);
    let done = project.perf(&[]).exits(1);
    let record = done.record();
    assert_eq!(verdicts(&record), ["regression"]);
    assert_eq!(base(&record), (first.as_str(), "the merge base of the pull request and main"));
    assert_eq!(record["context"]["head"], head.as_str());
    assert_eq!(
        (source(&record, "A"), source(&record, "B")),
        ((first.clone(), false), (head.clone(), false))
    );
    assert_eq!(record["gate"]["from"], format!("base tip {}", &tip[..7]));
    let estimate = record["judgement"]["verdicts"][0]["estimate"].as_f64().unwrap();
    assert!((estimate + 20.0).abs() < 0.5, "{estimate}");
    let trees = ["A", "B"].map(|arm| record["identity"]["arms"][arm]["source"]["tree"].as_str().unwrap().to_owned());
    assert_eq!(trees[1], project.git(&["rev-parse", "HEAD^{tree}"]));
    assert_ne!(trees[0], trees[1]);
    let plan = format!(
        "gate perf, from the base tip {}; base: {}, the merge base of the pull request and main",
        &tip[..7],
        &first[..12]
    );
    let done = done.says(&plan);
    assert!(done.err.contains("plan: session"), "{}", done.err);

    // What others do to main is not blamed on a change that does nothing.
    project.git(&["checkout", "--quiet", "-B", "feature", "main^"]);
    project.write("README", "words\n");
    let head = project.commit("words");
    let project = pull_request(project, &tip, &head);
    let record = project.perf(&[]).exits(0).record();
    assert_eq!((verdicts(&record), base(&record).0), (vec!["no_regression"], first.as_str()));

    // The reports say the same, and the ledger judges it again.
    let shown = project.sandbox.gate(&["perf"]).exits(0).out;
    for words in [
        format!("gate: perf, from the base tip {}", &tip[..7]),
        format!("base: {}, the merge base of the pull request and main", &first[..12]),
        format!("answers for: {}", &head[..12]),
    ] {
        assert!(shown.contains(&words), "{words:?} is missing:\n{shown}");
    }
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}

#[test]
fn the_merge_commit_that_a_job_checks_out_answers_for_the_head() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "-b", "feature"]);
    project.program(120);
    let head = project.commit("slower");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("README", "words\n");
    let tip = project.commit("words");
    project.git(&["checkout", "--quiet", "--detach"]);
    project.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "feature"]);
    let merge = project.git(&["rev-parse", "HEAD"]);
    let project = pull_request(project, &tip, &head);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(base(&record).0, tip);
    assert_eq!((&record["context"]["head"], source(&record, "B").0), (&Value::from(head), merge));
}

#[test]
fn a_push_a_merge_group_and_a_detached_head_have_their_bases() {
    let project = Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.program(100);
    project.write("README", "words\n");
    let second = project.commit("words");
    project.program(130);
    let third = project.commit("slower");

    let text = format!(r#"{{"before":"{first}","after":"{third}"}}"#);
    let project = event(project, "push", &text);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(base(&record), (first.as_str(), "the commit before the push"));
    assert_eq!(record["context"]["head"], third.as_str());

    let text = format!(r#"{{"before":"{}","after":"{third}"}}"#, "0".repeat(40));
    let project = event(project, "push", &text);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(
        base(&record),
        (second.as_str(), "the first parent of HEAD, as the push made the branch")
    );

    let text = format!(r#"{{"merge_group":{{"base_sha":"{first}","head_sha":"{third}"}}}}"#);
    let project = event(project, "merge_group", &text);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(base(&record), (first.as_str(), "the merge group's base"));
    assert_eq!(record["gate"]["from"], format!("base tip {}", &first[..7]));

    let project = event(project, "schedule", "{}");
    project.git(&["checkout", "--quiet", "--detach"]);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(base(&record).0, second);
    let words = project.sandbox.gate(&["perf", "--base", &first]).exits(1).out;
    assert!(words.contains(&format!("base: {}, --base {first}", &first[..12])), "{words}");
}

#[test]
fn a_dirty_tree_is_compared_with_head_and_a_clean_one_with_something_else() {
    let project = Project::new();
    let head = project.git(&["rev-parse", "HEAD"]);
    let done = project
        .perf(&[])
        .exits(2)
        .says("nothing to compare: HEAD is the first commit; name --base");
    assert_eq!((done.out.as_str(), project.sandbox.sessions().len()), ("", 0));
    let done = project.perf(&["--base", "HEAD"]).exits(2);
    assert!(
        done.says("nothing to compare: --base HEAD is HEAD and the working tree is clean")
            .out
            .is_empty()
    );

    project.program(125);
    project.write("new", "not in the index\n");
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(base(&record), (head.as_str(), "HEAD, as the working tree has changes"));
    assert_eq!(
        (source(&record, "A"), source(&record, "B")),
        ((head.clone(), false), (head.clone(), true))
    );
    assert_eq!(project.git(&["status", "--porcelain"]), " M tool.sh\n?? new");

    // A branch of a clone: against the remote's default branch.
    project.git(&["commit", "--quiet", "--all", "-m", "slower"]);
    project.git(&["checkout", "--quiet", "-b", "feature"]);
    project.git(&["update-ref", "refs/remotes/origin/main", &head]);
    project.git(&["config", "remote.origin.url", "nowhere"]);
    std::fs::remove_file(project.sandbox.path("new")).unwrap();
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(base(&record), (head.as_str(), "the merge base of HEAD and origin/main"));
}

#[test]
fn a_linked_worktree_is_measured_as_itself() {
    let project = Project::new();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.git(&["worktree", "add", "--quiet", "-b", "side", "linked"]);
    project.sandbox.script("linked/tool.sh", "echo ms=140");
    let before = project.inside();
    let mut command = project.sandbox.command(&["perf", "--format", "json"]);
    command.current_dir(project.sandbox.path("linked"));
    let done = project.sandbox.start(command).wait().exits(1);
    let record = done.record();
    assert_eq!((base(&record).0, verdicts(&record)), (first.as_str(), vec!["regression"]));
    assert_eq!(source(&record, "B"), (first, true));
    assert!(project.inside() == before, "the repository was touched");
    assert!(project.sandbox.path("linked/.gate/ledger.jsonl").is_file());
}

#[test]
fn a_shallow_clone_says_how_it_must_be_checked_out() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "-b", "feature"]);
    project.program(120);
    let head = project.commit("slower");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("README", "words\n");
    let tip = project.commit("words");
    let origin = format!("file://{}", project.sandbox.path("").display());
    project.git(&["clone", "--quiet", "--depth", "1", "--branch", "feature", &origin, "shallow"]);
    let perf = |project: &Project, more: &[&str]| {
        let mut command = project.sandbox.command(&[&["perf", "--format", "json"], more].concat());
        command.current_dir(project.sandbox.path("shallow"));
        project.sandbox.start(command).wait()
    };
    let done = perf(&project, &[]).exits(2).says("fetch-depth: 0");
    assert!(done.out.is_empty());
    let project = pull_request(project, &tip, &head);
    let done = perf(&project, &[]).exits(2).says("fetch-depth: 0");
    assert!(done.out.is_empty());
    // Nothing that a change brings may stand for the rule that cannot be read.
    let _done = perf(&project, &["--no-base"]).exits(2).says("fetch-depth: 0");
    let _done = perf(&project, &["--base", "HEAD"]).exits(2).says("fetch-depth: 0");

    project.git_in(
        "shallow",
        &[
            "fetch",
            "--quiet",
            "--unshallow",
            "origin",
            "main:refs/remotes/origin/main",
            "feature",
        ],
    );
    let record = perf(&project, &[]).exits(1).record();
    assert_eq!(outcome(&record), "fail");
    assert_eq!(base(&record).1, "the merge base of the pull request and origin/main");
}

#[test]
fn a_forks_code_is_not_built_beside_a_token() {
    let project = Project::new();
    let tip = project.git(&["rev-parse", "HEAD"]);
    project.git(&["update-ref", "refs/remotes/origin/main", &tip]);
    let head = project.commit("a change");
    let project = pull_request(project, &tip, &head);
    let _done = project.perf(&[]).exits(0);
    for name in ["GATE_TOKEN", "GITHUB_TOKEN"] {
        let mut command = project.sandbox.command(&["perf"]);
        command.env(name, "ghs_NotARealToken");
        let done = project.sandbox.start(command).wait().exits(2);
        let done = done.says(&format!("{name} is set, and this run builds and measures the code of a fork"));
        assert!(!done.err.contains("NotARealToken"), "{}", done.err);
    }
}
