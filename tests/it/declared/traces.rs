//! Nothing of the user's is touched, nothing of ours stays, and what a kill left is cleared up or gone on with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{GATE, Project, verdicts};
use crate::playground::everything;
use crate::sandbox::{Running, samples};

/// Every file of the checkout but those of `.gate`.
fn checkout(project: &Project) -> BTreeMap<PathBuf, Vec<u8>> {
    let own = project.sandbox.path(".gate");
    let mut all = everything(&project.sandbox.path(""));
    all.retain(|path, _| !path.starts_with(&own));
    all
}

/// A project with everything that a user may have lying about: a stash, branches, staged, changed, removed and new files.
fn lived_in() -> Project {
    let project = Project::new();
    project.git(&["branch", "side"]);
    project.write("a", "one\n");
    project.write("gone", "one\n");
    project.commit("files");
    project.write("a", "stashed\n");
    project.git(&["stash", "--quiet"]);
    project.write("a", "staged\n");
    project.git(&["add", "a"]);
    project.write("a", "staged and changed\n");
    std::fs::remove_file(project.sandbox.path("gone")).unwrap();
    project.write("new", "new\n");
    project.write("ignored.o", "ignored\n");
    project.write(".git/info/exclude", "*.o\n");
    project
}

#[test]
fn the_checkout_index_stash_and_branches_stay_as_they_are() {
    let project = lived_in();
    project.program(120);
    let before = checkout(&project);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record), ["regression"]);
    assert!(checkout(&project) == before, "something was touched");
    assert_eq!(project.trees(), Vec::<String>::new());
    let _done = project.perf(&["--base", "side"]).exits(1);
    let _done = project.perf(&["--no-base"]);
    assert!(checkout(&project) == before, "something was touched");

    project.write("gates/perf.toml", GATE.replace("\"cp\", \"tool.sh\"", "\"cp\", \"absent\""));
    let before = checkout(&project);
    let _done = project.perf(&[]).exits(2);
    assert!(checkout(&project) == before, "something was touched by a failing build");
    assert_eq!(project.trees(), Vec::<String>::new());
}

/// A slow enough session to be caught in the middle.
fn slow() -> Project {
    let project = Project::with(&GATE.replace("max_blocks = 4", "max_blocks = 8").replace("5%", "2%"));
    // So noisy that it runs to the cap.
    project.script("tool.sh", "sleep 0.1\necho ms=$((100 + $$ % 60))");
    project.commit("slow");
    project.script("tool.sh", "sleep 0.1\necho ms=$((101 + $$ % 60))");
    project
}

fn start(project: &Project, more: &[&str]) -> Running {
    project
        .sandbox
        .start(project.sandbox.command(&[&["perf", "--format", "json"], more].concat()))
}

/// Waits until the only session has some samples.
fn with_samples(project: &Project, count: usize) -> String {
    let start = Instant::now();
    loop {
        if let [id] = &project.sandbox.sessions()[..]
            && project.sandbox.lines(&project.sandbox.session_file(id)).len() > count
        {
            return id.clone();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no session came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interrupt_leaves_no_tree_and_a_session_to_go_on_with() {
    let project = slow();
    let running = start(&project, &[]);
    let id = with_samples(&project, 5);
    assert!(!project.trees().is_empty());
    running.signal(Signal::INT);
    let done = running.wait().exits(130).says(&format!("gate perf --resume {id}"));
    assert_eq!(done.record()["cancelled"], "SIGINT");
    assert_eq!(project.trees(), Vec::<String>::new());
}

#[test]
fn an_interrupted_build_measures_nothing_and_leaves_no_tree() {
    let project = Project::with(&GATE.replace("[\"cp\"", "[\"sleep\", \"100\"], [\"cp\""));
    project.program(120);
    let running = start(&project, &[]);
    let begun = Instant::now();
    while project.trees().len() < 2 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    running.signal(Signal::INT);
    let done = running
        .wait()
        .exits(130)
        .says("cancelled by signal 2 while building; nothing was measured");
    assert!(done.out.is_empty());
    assert_eq!(project.trees(), Vec::<String>::new());
}

#[test]
fn a_killed_session_goes_on_and_its_leftovers_go() {
    let project = slow();
    let running = start(&project, &[]);
    let id = with_samples(&project, 6);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    let left = project.trees();
    assert!(!left.is_empty(), "a kill leaves something");
    let before = project.sandbox.lines(&project.sandbox.session_file(&id));

    // Another gate or tree is not what was begun.
    project.script("tool.sh", "sleep 0.1\necho ms=200");
    let done = start(&project, &["--resume", &id])
        .wait()
        .exits(2)
        .says(&format!("--resume {id}: leave it out to measure anew"));
    let _done = done.says("the source of arm B changed");
    project.script("tool.sh", "sleep 0.1\necho ms=$((101 + $$ % 60))");
    let gate = project.sandbox.text("gates/perf.toml");
    project.write("gates/perf.toml", gate.replace("2%", "3%"));
    let _done = start(&project, &["--resume", &id])
        .wait()
        .exits(2)
        .says("the gate changed since the session began");
    project.write("gates/perf.toml", &gate);
    assert_eq!(
        project.sandbox.lines(&project.sandbox.session_file(&id))[..before.len() - 1],
        before[..before.len() - 1]
    );

    let done = start(&project, &["--resume", &id]).wait();
    assert!(matches!(done.code, Some(0 | 1 | 3)), "{done:?}");
    let record = done.record();
    assert_eq!(record["labels"]["session"], id.as_str());
    let seqs: Vec<u64> = samples(&record).iter().map(|sample| sample["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>(), "whole, and in order");
    assert!(seqs.len() > before.len());
    assert!(project.trees().is_empty(), "{left:?} are still there: {:?}", project.trees());
    // A finished session is told again, and nothing runs.
    let again = start(&project, &["--resume", &id]).wait();
    assert_eq!(again.record()["seal"], record["seal"]);
    assert_eq!(project.sandbox.ledger().len(), 1);
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}

#[test]
fn the_state_folder_of_a_change_is_not_trusted() {
    let project = Project::new();
    project.write(".gate/cache/x", "forged\n");
    project.git(&["add", "--force", ".gate/cache/x"]);
    project.git(&["commit", "--quiet", "-m", "forged"]);
    let _done = project.perf(&["--base", "HEAD^"]).exits(2).says("is under version control");
}
