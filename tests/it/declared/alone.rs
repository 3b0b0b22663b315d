//! Without a base arm, and against a baseline: floors, sessions accepted, foreign identities, and how often one may try.

use serde_json::Value;

use super::{GATE, Project, outcome, verdicts};
use crate::sandbox::{json, samples};

const ARCH: &str = concat!("baselines/cpu-", "x86_64", ".txt");

/// The gate with rules, and a number of runs where there is no base.
fn gate(rules: &str) -> String {
    GATE.replace("[plan]", "[plan]\nruns = 4") + rules
}

fn floor(at_most: &str) -> String {
    gate(&format!("\n[[rule]]\nkind = \"floor\"\nmetric = \"ms\"\nat_most = \"{at_most}\"\n"))
}

const AGAINST: &str = "\n[[rule]]\nkind = \"hold\"\n\n[[rule]]\nkind = \"hold\"\nagainst = \"baseline\"\n";

fn of(record: &Value, rule: &str, against: &str) -> Value {
    let all = record["judgement"]["verdicts"].as_array().unwrap();
    all.iter()
        .find(|ruling| ruling["rule"] == rule && ruling["against"] == against)
        .unwrap_or(&Value::Null)
        .clone()
}

#[test]
fn a_single_arm_is_held_to_its_floor() {
    let project = Project::with(&floor("110 ms"));
    let done = project.perf(&["--no-base"]).exits(0);
    let told = "  4 runs of the candidate alone, each in a fresh process";
    assert!(done.err.contains(told) && !done.err.contains("A (base)"), "{}", done.err);
    let record = done.record();
    assert_eq!((outcome(&record), samples(&record).len()), ("pass", 1 + 4));
    assert!(samples(&record).iter().all(|sample| sample["arm"] == "B"));
    assert_eq!(
        record["context"]["base"],
        json(r#"{"commit": null, "why": "no base arm (--no-base)"}"#)
    );
    assert!(record["context"]["command"].as_str().unwrap().ends_with("--no-base"));
    project.program(130);
    assert_eq!(outcome(&project.perf(&["--no-base"]).exits(1).record()), "fail");
    // Scattered around the floor there is no answer.
    project.script("tool.sh", "echo ms=$((80 + $$ % 60))");
    let record = project.perf(&["--no-base"]).record();
    assert_ne!(outcome(&record), "error", "{}", record["judgement"]);
    project.script("tool.sh", "echo other=1");
    let record = project.perf(&["--no-base"]).exits(3).record();
    assert_eq!(verdicts(&record), ["not_measured"]);
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}

#[test]
fn a_session_too_short_for_its_runs_has_no_answer() {
    let gate = floor("110 ms").replace("runs = 4", "runs = 1000\nmax_session = \"3s\"");
    let project = Project::with(&gate);
    project.script("tool.sh", "sleep 0.1\necho ms=100");
    let record = project.perf(&["--no-base"]).exits(3).record();
    assert_eq!((outcome(&record), samples(&record).len()), ("inconclusive", 1));
}

#[test]
fn a_baseline_that_is_not_there_is_measured_and_told_how_to_make_it() {
    let project = Project::with(&gate(AGAINST));
    project.write("baselines/gfx942.txt", "gate-baseline 1\narch gfx942\n");
    project.commit("another arch");
    for file in ["baselines/absent.txt", "baselines/gfx942.txt"] {
        let done = project.perf(&["--no-base", "--baseline", file]).exits(3);
        let record = done.record();
        let ruling = of(&record, "hold", "baseline");
        assert_eq!((&ruling["verdict"], samples(&record).len()), (&"not_measured".into(), 5), "{file}");
        let shown = project.sandbox.gate(&["perf", "--no-base", "--baseline", file]).exits(3).out;
        assert!(shown.contains("gate baseline accept"), "{file}: {shown}");
    }
    let shown = project
        .sandbox
        .gate(&["perf", "--no-base", "--baseline", "baselines/gfx942.txt"])
        .exits(3)
        .out;
    assert!(shown.contains("No current line for cpu-") && !shown.contains("A/A"), "{shown}");
    assert!(shown.contains("gate perf") && shown.contains("--no-base"), "{shown}");
    let _done = project.perf(&["--no-base", "--baseline", "../outside.txt"]).exits(3);
    project.write("baselines/bad.txt", "gate-baseline 1\narch bad\nsample\n");
    let _done = project
        .perf(&["--no-base", "--baseline", "baselines/bad.txt"])
        .exits(2)
        .says("baselines/bad.txt:3:");
}

/// Three sessions that were accepted, on days before today.
fn with_baseline() -> Project {
    let project = Project::with(&gate(AGAINST));
    for ms in [100, 101, 99] {
        project.program(ms);
        let done = project.perf(&["--no-base", "--out", "record.json"]);
        assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
        let _done = project.sandbox.gate(&["baseline", "accept", "record.json", "--append"]).exits(0);
    }
    let lines = project.sandbox.lines(ARCH);
    assert_eq!(lines.iter().filter(|line| line.starts_with("sample")).count(), 3, "{lines:?}");
    std::fs::remove_file(project.sandbox.path("record.json")).unwrap();
    project.program(100);
    project.commit("a baseline");
    project
}

#[test]
fn accepted_sessions_judge_and_refuse_a_foreign_identity() {
    let project = with_baseline();
    let record = project.perf(&["--no-base"]).exits(0).record();
    assert_eq!(
        of(&record, "hold", "baseline")["verdict"],
        "no_regression",
        "{}",
        record["judgement"]
    );
    assert_eq!(record["context"]["baseline"]["file"], ARCH);
    project.program(110);
    let record = project.perf(&["--no-base"]).exits(1).record();
    let ruling = of(&record, "hold", "baseline");
    assert_eq!((&ruling["verdict"], &ruling["required"]), (&"regression".into(), &true.into()));

    // Other arguments are another measurement.
    let text = project.sandbox.text("gates/perf.toml");
    project.write(
        "gates/perf.toml",
        text.replace("[\"{tree}/tool\"]", "[\"{tree}/tool\", \"--twice\"]"),
    );
    let record = project.perf(&["--no-base"]).exits(3).record();
    assert_eq!(of(&record, "hold", "baseline")["verdict"], "stale_baseline");
    project.write("gates/perf.toml", text);

    // On a pull request the base branch's own baseline counts.
    let tip = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "--quiet", "-b", "feature"]);
    let loosened = project.sandbox.text(ARCH).replace("99.0", "150.0").replace("  99  ", "  150  ");
    project.write(ARCH, loosened + "# changed\n");
    let head = project.commit("another baseline");
    let project = super::bases::pull_request(project, &tip, &head);
    let record = project.perf(&["--no-base"]).exits(1).record();
    assert_eq!(record["context"]["baseline"]["from"], tip.as_str());
    assert!(
        super::banners(&record).contains("touches baselines or prompts"),
        "{}",
        super::banners(&record)
    );
}

#[test]
fn beside_a_base_arm_the_baseline_advises_and_sees_the_environment() {
    let project = Project::with(&gate(AGAINST));
    for ms in [100, 101, 99] {
        project.program(ms);
        let _done = project.perf(&["--base", "HEAD", "--out", "record.json"]);
        let _done = project.sandbox.gate(&["baseline", "accept", "record.json", "--append"]);
    }
    let _removed = std::fs::remove_file(project.sandbox.path("record.json"));
    // The accepted build is in the tree, and the machine has become slow: the tool reads its speed from outside.
    let tmp = project.sandbox.path("../tmp").canonicalize().unwrap();
    let body = format!("echo ms=$(cat {}/speed)", tmp.display());
    project.write("../tmp/speed", "100");
    project.script("tool.sh", &body);
    project.commit("reads its speed");
    std::fs::remove_file(project.sandbox.path(ARCH)).unwrap_or(());
    for day in 0..3 {
        project.write("README", format!("{day}\n"));
        let done = project.perf(&["--out", "record.json"]);
        assert!(matches!(done.code, Some(0)), "{done:?}");
        let _done = project.sandbox.gate(&["baseline", "accept", "record.json", "--append"]).exits(0);
        std::fs::remove_file(project.sandbox.path("record.json")).unwrap();
    }
    project.commit("a baseline");
    project.write("README", "again\n");
    let record = project.perf(&[]).exits(0).record();
    let ruling = of(&record, "hold", "baseline");
    assert_eq!(
        (&ruling["verdict"], &ruling["required"]),
        (&"no_regression".into(), &false.into()),
        "{ruling}"
    );
    project.write("../tmp/speed", "130");
    let record = project.perf(&[]).exits(0).record();
    let shift = of(&record, "hold", "baseline");
    assert_eq!(
        (&shift["verdict"], &shift["required"]),
        (&"environment_shift".into(), &false.into()),
        "{shift}"
    );
    assert_eq!(of(&record, "hold", "base")["verdict"], "no_regression");
    assert_eq!(record["judgement"]["disposition"], "rejected_null");
}

#[test]
fn attempts_are_counted_shown_and_capped() {
    let project = Project::with(&GATE.replace("max_attempts = 100", "max_attempts = 2"));
    project.program(120);
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(record["context"]["attempt"], 1);
    let done = project.sandbox.gate(&["perf"]).exits(1);
    assert!(done.out.contains("\nattempt: 2\n"), "{}", done.out);
    let record = project.perf(&[]).exits(3).record();
    assert_eq!((verdicts(&record), samples(&record).len()), (vec!["inconclusive"], 0));
    assert_eq!(record["context"]["attempt"], 3);
    // Another change is another comparison, and so is a change in a file that is not listed.
    project.write("README", "words\n");
    assert_eq!(project.perf(&[]).exits(1).record()["context"]["attempt"], 1);
    project.program(119);
    assert_eq!(project.perf(&[]).exits(1).record()["context"]["attempt"], 1);
    // What the job says of its own attempts counts where the ledger is new each time.
    let project = project.env("GITHUB_RUN_ATTEMPT", "3");
    project.program(118);
    let record = project.perf(&[]).exits(3).record();
    assert_eq!((&record["context"]["attempt"], samples(&record).len()), (&3.into(), 0));
    let verified = project.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}
