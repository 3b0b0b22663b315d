//! Builds: what goes wrong in them, what is kept of them, and what equal ones mean.

use std::time::Instant;

use super::{GATE, Project, banners, outcome, records, verdicts};
use crate::sandbox::samples;

/// The gate with other build steps, and a variable that names a folder outside of every tree.
fn built_by(steps: &str, shared: &str) -> String {
    GATE.replace(
        "build = [[\"cp\", \"tool.sh\", \"tool\"]]",
        &format!("build = {steps}\nenv = {{ SHARED = \"{shared}\" }}"),
    )
}

/// A project whose program is built by `build.sh`, with a slower working tree. `SHARED` is a folder outside of every tree.
fn project(build: &str) -> (Project, String) {
    let project = Project::new();
    let shared = project.sandbox.path("../tmp/shared");
    std::fs::create_dir_all(&shared).unwrap();
    let shared = shared.canonicalize().unwrap().to_str().unwrap().to_owned();
    project.write("gates/perf.toml", built_by("[[\"./build.sh\"]]", &shared));
    project.script("build.sh", build);
    project.commit("a build");
    project.program(120);
    (project, shared)
}

#[test]
fn a_build_into_a_shared_folder_is_caught() {
    // Both trees have a link to one and the same file, and the second build writes through it.
    let (with_links, _) = project("cat tool.sh > $SHARED/tool; chmod 755 $SHARED/tool; ln -f $SHARED/tool tool");
    let done = with_links.perf(&[]).exits(2).says("arm A: another arm's build changed it");
    let done = done
        .says("tool is not what this arm's build made")
        .says("a target folder that both arms share");
    assert_eq!((done.out.as_str(), with_links.sandbox.sessions().len()), ("", 0));

    let (with_symlinks, _) = project("cat tool.sh > $SHARED/tool; chmod 755 $SHARED/tool; ln -sf $SHARED/tool tool");
    let done = with_symlinks.perf(&[]).exits(2).says("arm A: artifacts: tool: a symlink to");
    assert!(done.err.contains("outside the arm's tree"), "{}", done.err);
    assert_eq!((with_symlinks.trees(), with_links.trees()), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn a_failing_build_tells_the_end_of_its_log_and_measures_nothing() {
    let (project, _) =
        project("grep -q 120 tool.sh || { cp tool.sh tool; exit 0; }\necho compiling\necho 'tool.sh:2: no such thing' >&2\nexit 7");
    let done = project.perf(&[]).exits(2).says("gate perf: arm B: build step `./build.sh`");
    assert!(done.err.contains("\n  tool.sh:2: no such thing\n"), "{}", done.err);
    assert_eq!(
        (done.out.as_str(), project.sandbox.sessions().len(), project.trees().len()),
        ("", 0, 0)
    );
    let log = done.err.split("all of its output is in ").nth(1).unwrap().lines().next().unwrap();
    assert!(log.contains("/.gate/logs/build-perf-") && log.ends_with("-B.log"), "{log}");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("compiling") && log.contains("no such thing"), "{log}");
    let _done = project.sandbox.gate(&["ledger", "log"]);
    assert!(project.sandbox.ledger().is_empty());
}

#[test]
fn a_build_has_a_limit_and_leaves_nothing_running() {
    let (project, shared) = project("echo $$ > $SHARED/pid; sleep 100");
    let gate = project
        .sandbox
        .text("gates/perf.toml")
        .replace("artifacts", "build_timeout = \"1s\"\nartifacts");
    project.write("gates/perf.toml", gate);
    let start = Instant::now();
    let _done = project.perf(&[]).exits(2).says("arm A: build step");
    assert!(start.elapsed().as_secs() < 60);
    let pid = std::fs::read_to_string(format!("{shared}/pid")).unwrap();
    assert!(!crate::sandbox::is_running(pid.trim()));
}

#[test]
fn the_second_run_builds_nothing_and_measures_at_once() {
    let (project, shared) = project("echo built >> $SHARED/log; cp tool.sh tool");
    let builds = || std::fs::read_to_string(format!("{shared}/log")).unwrap().lines().count();
    let record = project.perf(&[]).exits(1).record();
    assert_eq!((builds(), verdicts(&record)), (2, vec!["regression"]));
    let called = jiff::Timestamp::now();
    let again = project.perf(&[]).exits(1).record();
    let first: jiff::Timestamp = samples(&again)[0]["start"].as_str().unwrap().parse().unwrap();
    let waited_s = first.duration_since(called).as_secs_f64();
    println!("from the command to its first process with cached builds: {waited_s:.2} s");
    assert!(waited_s < 20.0, "{waited_s} s until the first process");
    assert_eq!(builds(), 2, "an equal build was kept");
    assert_eq!(again["identity"]["arms"], record["identity"]["arms"]);

    // Another tree, other steps and another cache are other builds.
    project.write("README", "words\n");
    let _done = project.perf(&[]).exits(1);
    assert_eq!(builds(), 3);
    let _done = project.perf(&["--cache-dir", ".gate/elsewhere"]).exits(1);
    assert_eq!(builds(), 5);
    let _done = project.sandbox.gate(&["clean"]).exits(0);
    let _done = project.perf(&[]).exits(1);
}

#[test]
fn equal_artifacts_of_different_sources_are_told_and_measured() {
    let project = Project::new();
    project.write("other.c", "what the build forgets\n");
    let record = project.perf(&[]).exits(0).record();
    assert!(
        banners(&record).contains("a stale build, or the change lives in a file that is not listed"),
        "{}",
        banners(&record)
    );
    assert!(samples(&record).len() >= 10);
    let gate = GATE.replace("artifacts", "skip_identical = true\nartifacts");
    project.write("gates/perf.toml", gate);
    project.commit("may skip");
    project.write("other.c", "what the build forgets, again\n");
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(verdicts(&record), ["no_regression"], "another source is measured");
}

#[test]
fn equal_inputs_are_skipped_on_request_only() {
    let skipping = GATE.replace("artifacts", "skip_identical = true\nartifacts");
    let project = Project::with(&skipping);
    project.commit("the same tree again");
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(
        (verdicts(&record), outcome(&record), samples(&record).len()),
        (vec!["identical_artifact"], "pass", 0)
    );
    assert_eq!(project.sandbox.sessions().len(), 0);
    let shown = project.sandbox.gate(&["perf"]).exits(0).out;
    assert!(shown.contains("identical"), "{shown}");
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);

    for (what, gate) in [
        ("not asked for", GATE.to_owned()),
        (
            "another argument",
            skipping
                .replace("[run]", "[arms.b]\nargs = [\"x\"]\n\n[run]")
                .replace("/tool\"", "/tool\", \"{args}\""),
        ),
        (
            "another variable",
            skipping.replace("[run]", "[arms.b]\nenv = { X = \"1\" }\n\n[run]"),
        ),
    ] {
        project.write("gates/perf.toml", &gate);
        project.commit(what);
        project.commit("the same tree again");
        let record = project.perf(&[]).exits(0).record();
        assert!(samples(&record).len() >= 10, "{what}: {:?}", verdicts(&record));
    }
}

#[test]
fn submodules_come_on_request_and_as_they_are_committed() {
    let project = Project::new();
    let library = project.sandbox.path("../tmp/library");
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("cost"), "100\n").unwrap();
    let library = library.canonicalize().unwrap();
    let place = library.to_str().unwrap();
    project.git_in(place, &["init", "--quiet"]);
    project.git_in(place, &["add", "cost"]);
    project.git_in(place, &["commit", "--quiet", "-m", "library"]);
    project.git(&["submodule", "--quiet", "add", place, "lib"]);
    project.script("tool.sh", "echo ms=$(cat lib/cost)");
    project.write("gates/perf.toml", GATE.replace("artifacts", "submodules = true\nartifacts"));
    project.commit("a submodule");
    project.write("README", "words\n");
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(verdicts(&record), ["no_regression"]);
    project.write("lib/cost", "150\n");
    let done = project
        .perf(&[])
        .exits(2)
        .says("lib: the submodule has changes that are not committed");
    assert_eq!(records(&done).len(), 0);
    project.git_in("lib", &["commit", "--quiet", "--all", "-m", "slower"]);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record), ["regression"]);
}
