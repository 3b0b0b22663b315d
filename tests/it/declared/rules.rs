//! Where the rule comes from: no change loosens, removes or prejudices the gate that judges it.

use super::bases::pull_request;
use super::{GATE, Project, banners, outcome, records, verdicts};
use crate::sandbox::samples;

/// A branch `feature` off `main`, made by some changes; checked out, in the job of its pull request.
fn proposed(project: Project, change: impl Fn(&Project)) -> Project {
    let tip = project.git(&["rev-parse", "main"]);
    project.git(&["checkout", "--quiet", "-b", "feature"]);
    change(&project);
    let head = project.commit("a change");
    pull_request(project, &tip, &head)
}

#[test]
fn a_loosened_gate_does_not_judge_its_own_change() {
    let project = proposed(Project::new(), |project| {
        project.program(120);
        project.write("gates/perf.toml", GATE.replace("5%", "50%"));
    });
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(
        (verdicts(&record), record["gate"]["metrics"][0]["tolerance"].as_f64()),
        (vec!["regression"], Some(5.0))
    );
    let tip = project.git(&["rev-parse", "main"]);
    let banner = format!(
        "this change edits gates/perf.toml: it is judged by the rule of the base tip {}\n",
        &tip[..7]
    );
    assert_eq!(banners(&record), banner);
    let shown = project.sandbox.gate(&["perf"]).exits(1).out;
    assert!(shown.contains(&format!("banner: {banner}")), "{shown}");
    let shown = project.sandbox.gate(&["perf", "--format", "markdown"]).exits(1).out;
    assert!(shown.contains("- banner: this change edits gates/perf"), "{shown}");
    // Also with a base or without one that the job names itself.
    let record = project.perf(&["--base", "main"]).exits(1).record();
    assert_eq!(
        (verdicts(&record), record["gate"]["metrics"][0]["tolerance"].as_f64()),
        (vec!["regression"], Some(5.0))
    );

    // Outside of a pull request the working tree's own rule counts, and it is said.
    let project = project.env("GITHUB_EVENT_NAME", "");
    let record = project.perf(&[]).exits(0).record();
    assert!(
        banners(&record).contains("touches gates/perf.toml, and is judged by it as changed"),
        "{}",
        banners(&record)
    );
    // By the rule of a revision, on request.
    let record = project.perf(&["--rules-from", "main"]).exits(1).record();
    assert_eq!(record["gate"]["from"], format!("revision {}", &tip[..7]));
}

#[test]
fn a_removed_gate_is_run_all_the_same() {
    let project = proposed(Project::new(), |project| {
        project.program(120);
        project.git(&["rm", "--quiet", "gates/perf.toml"]);
    });
    let record = project.perf(&[]).exits(1).record();
    assert!(banners(&record).starts_with("this change removes gates/perf.toml: it is judged by the rule of the base tip"));
}

#[test]
fn what_main_did_to_its_gates_is_not_this_change() {
    let project = Project::new();
    project.write("gates/old.toml", GATE);
    project.commit("an old gate");
    project.git(&["branch", "feature"]);
    project.write("gates/perf.toml", GATE.replace("5%", "4%"));
    project.write("gates/young.toml", GATE.replace("5%", "3%"));
    project.git(&["rm", "--quiet", "gates/old.toml"]);
    let tip = project.commit("main changes its gates");
    project.git(&["checkout", "--quiet", "feature"]);
    project.sandbox.script("tool.sh", "echo ms=100 # words");
    let head = project.commit("words");
    let project = pull_request(project, &tip, &head);
    let done = project.perf(&[]).exits(0);
    let records = records(&done);
    let seen: Vec<_> = records
        .iter()
        .map(|record| {
            (
                record["gate"]["name"].as_str().unwrap(),
                record["gate"]["metrics"][0]["tolerance"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(seen, [("perf", 4.0), ("young", 3.0)]);
    assert!(records.iter().all(|record| banners(record).is_empty()), "{}", done.out);
    let _done = project
        .perf(&["--gate", "gates/old.toml"])
        .exits(2)
        .says("gates/old.toml: the base tip");
}

#[test]
fn a_new_gate_runs_and_only_advises() {
    let project = proposed(Project::new(), |project| {
        project.program(120);
        project.write("gates/strict.toml", GATE.replace("5%", "1%"));
        project.git(&["rm", "--quiet", "gates/perf.toml"]);
        project.write("README", "words\n");
    });
    let record = project.perf(&["--gate", "gates/strict.toml"]).exits(0).record();
    assert_eq!((outcome(&record), verdicts(&record)), ("pass", vec!["regression"]));
    assert_eq!(record["judgement"]["disposition"], "exploratory");
    assert!(
        banners(&record).contains("gates/strict.toml is new: the base tip"),
        "{}",
        banners(&record)
    );
    assert_eq!(record["context"]["new_gate"], true);
    let shown = project.sandbox.gate(&["perf", "--gate", "gates/strict.toml"]).exits(0).out;
    assert!(shown.contains("regression (advisory)") && shown.contains("is new"), "{shown}");
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}

#[test]
fn a_new_gate_that_the_base_cannot_run_keeps_nobody_waiting() {
    let project = proposed(Project::new(), |project| {
        project.script("bench.sh", "echo ms=1");
        project.write("gates/bench.toml", GATE.replace("tool.sh", "bench.sh"));
    });
    let done = project
        .perf(&[])
        .exits(0)
        .says("gate bench is new, and could not be measured: arm A");
    assert_eq!(records(&done).len(), 1);
}

#[test]
fn changed_baselines_prompts_and_measuring_code_are_told() {
    let gate = GATE.replace("artifacts = [\"tool\"]", "artifacts = [\"tool\"]\nharness = [\"bench/**\"]")
        + "\n[[fixture]]\nname = \"p\"\nprompt = \"prompts/p.txt\"\n";
    let project = Project::with(&gate.replace("{tree}/tool\"", "{tree}/tool\", \"{prompt}\""));
    // The program counts its prompt's bytes.
    project.write("prompts/p.txt", "0123456789");
    project.script("tool.sh", "echo ms=$(wc -c < $1)");
    project.write("bench/run.sh", "one\n");
    project.commit("a prompt");
    let project = proposed(project, |project| {
        project.write("prompts/p.txt", "01234567890123456789");
        project.write("baselines/x.txt", "gate-baseline 1\narch x\n");
        project.write("bench/run.sh", "two\n");
    });
    let record = project.perf(&[]).exits(0).record();
    let told = banners(&record);
    assert!(told.contains("touches the measuring code itself: bench/run.sh"), "{told}");
    assert!(told.contains("touches baselines or prompts, and those of the base tip"), "{told}");
    assert!(told.contains("baselines/x.txt, prompts/p.txt"), "{told}");
    assert_eq!(record["judgement"]["disposition"], "exploratory");
    let because = record["judgement"]["disposition_because"][0].as_str().unwrap();
    assert!(because.contains("measuring code itself differs"), "{because}");
    // Both arms read the prompt of the base branch's tip.
    let ruling = &record["judgement"]["verdicts"][0];
    assert_eq!(
        (ruling["base"]["median"].as_f64(), ruling["candidate"]["median"].as_f64()),
        (Some(10.0), Some(10.0))
    );
    assert_eq!(
        (
            &record["identity"]["prompt"]["p"]["path"],
            &record["identity"]["prompt"]["p"]["bytes"]
        ),
        (&"prompts/p.txt".into(), &10.into())
    );
}

/// A gate on two commits whose program takes as long.
fn second(gate: &str) -> Project {
    let project = Project::with(gate);
    project.sandbox.script("tool.sh", "echo ms=100 # no slower");
    project.commit("second");
    project
}

#[test]
fn a_machine_without_what_the_gate_requires_measures_nothing() {
    let project = second(&format!("{GATE}\n[require]\nchecks = [\"G-ARCH\"]\n"));
    if std::path::Path::new("/dev/kfd").exists() {
        eprintln!("skipped: this machine has a GPU");
        return;
    }
    let done = project.perf(&[]).exits(2);
    for part in [
        "this machine cannot be told fit",
        "G-ARCH, which the gate requires, has nothing to look at here",
        "Nothing was measured",
    ] {
        assert!(done.err.contains(part), "{part}: {}", done.err);
    }
    let record = done.record();
    assert_eq!((outcome(&record), samples(&record).len()), ("error", 0));
    assert_eq!(record["evidence"]["ended"]["reason"], "unfit");
    assert_eq!(project.sandbox.ledger().len(), 1, "it is recorded");
    assert!(project.sandbox.gate(&["ledger", "verify"]).exits(0).out.contains("0 violations"));
    let again = project.perf(&[]).exits(2).record();
    assert_eq!(again["context"]["attempt"], 1, "where nothing was measured, nothing was tried");
}

#[test]
fn a_check_that_holds_lets_measure_and_is_recorded() {
    let project = second(&format!("{GATE}\n[require]\nchecks = [\"E-CACHE\"]\n"));
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(record["host"]["findings"][0]["check"], "E-CACHE");
}

#[test]
fn what_this_version_cannot_keep_is_refused() {
    let guard = format!("{GATE}\n[require]\nguard = true\n");
    let failed = GATE.replace("[run]\n", "[run]\nmax_failed = \"5%\"\n");
    for (gate, says) in [
        (
            guard,
            "require.guard: this version reads no guard's answer, so nothing was measured",
        ),
        (
            failed,
            "run.max_failed: this version fails a run for any request that failed, so nothing was measured",
        ),
    ] {
        let done = second(&gate).perf(&[]).exits(2).says(says);
        assert_eq!(done.out, "");
    }
}
