//! Baselines of scores: accepting, and judging against what was accepted.

use std::fs;

use serde_json::{Value, json};

use super::declared::git;
use super::{BASE, Made, TUNED, counted, last, log};
use crate::declared::Project;
use crate::sandbox::Sandbox;

const FILE: &str = "baselines/eval/org--base.txt";

/// A place where one run of the base was accepted: 750 of 1000 right.
fn accepted() -> Sandbox {
    let sandbox = Sandbox::new();
    accept(&sandbox, 750, &[]);
    sandbox
}

fn made(model: (&str, &str), right: u64) -> Made {
    Made::of(model).task("arc", right, 1000)
}

/// Records a run of the base with its log, and accepts it.
fn accept(sandbox: &Sandbox, right: usize, more: &[&str]) {
    record(sandbox, right);
    let done = sandbox.gate(&[&["baseline", "accept", "last"], more].concat()).exits(0);
    assert!(done.out.contains(&format!("accepted arc acc: 0.{right}")), "{}", done.out);
}

fn record(sandbox: &Sandbox, right: usize) {
    fs::create_dir_all(sandbox.path("base")).unwrap();
    sandbox.write("base/results_2026-01-01T00-00-00.json", made(BASE, right as u64).text());
    sandbox.write(
        "base/samples_arc_2026-01-01T00-00-00.jsonl",
        log("arc", (0..1000).map(|at| at < right)),
    );
    // Nothing to compare with, so no pass; or whatever the accepted runs say.
    drop(sandbox.gate(&["eval", "base"]));
}

#[test]
fn a_record_becomes_a_baseline_with_its_evidence() {
    let sandbox = accepted();
    let record = last(&sandbox);
    assert_eq!(
        (&record["judgement"]["outcome"], &record["kind"]),
        (&json!("inconclusive"), &json!("eval"))
    );
    let text = sandbox.text(FILE);
    let seal = &record["seal"].as_str().unwrap()[3..15];
    assert!(
        text.starts_with("gate-eval-baseline 1\nmodel  org/base  9f2c41aa00119f2c41aa00119f2c41aa00119f2c\n"),
        "{text}"
    );
    assert!(text.contains(&format!("  {seal}  0-1  higher  0.75  1000  1000  0.0136")), "{text}");
    assert!(sandbox.gate(&["baseline", "show"]).exits(0).out.contains("lm_eval-0.4.9"));
    let check = sandbox.gate(&["baseline", "check"]).exits(0);
    assert!(check.out.contains("1 lines with sound evidence"), "{}", check.out);
    // A line that its evidence does not carry is a violation.
    for (was, is) in [("  0.75  ", "  0.70  "), ("  higher  ", "  lower  "), (seal, "0123456789ab")] {
        sandbox.write(FILE, text.replace(was, is));
        sandbox.gate(&["baseline", "check", FILE]).exits(4);
    }
}

#[test]
fn an_accepted_run_is_the_base_and_brings_its_answers() {
    let sandbox = accepted();
    fs::create_dir_all(sandbox.path("out")).unwrap();
    for (right, exit, words) in [
        (745, 0, "paired over 1000 items: 5 lost, 0 gained"),
        (700, 1, "paired over 1000 items: 50 lost, 0 gained"),
    ] {
        sandbox.write("out/results_2026-02-01T00-00-00.json", made(TUNED, right as u64).text());
        sandbox.write(
            "out/samples_arc_2026-02-01T00-00-00.jsonl",
            log("arc", (0..1000).map(|at| at < right)),
        );
        let done = sandbox.gate(&["eval", "out", "--base-model", "org/base@9f2c41aa"]).exits(exit);
        assert!(done.out.contains(words), "{}", done.out);
        assert!(
            done.out
                .contains("base: the baseline baselines/eval/org--base.txt of the working tree"),
            "{}",
            done.out
        );
        let record = last(&sandbox);
        assert_eq!(record["judgement"]["verdicts"][0]["against"], "baseline");
    }
    // Without its evidence the rule still has an answer, and says what is missing.
    fs::remove_dir_all(sandbox.path("baselines/eval/evidence")).unwrap();
    let done = sandbox.gate(&["eval", "out"]).exits(1);
    assert!(done.out.contains("no paired result: its evidence is not there"), "{}", done.out);
}

#[test]
fn evidence_that_was_changed_pairs_nothing() {
    let sandbox = accepted();
    let folder = sandbox.path("baselines/eval/evidence/org--base");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let right = &mut value["evidence"]["scores"]["candidate"]["results"]["outcomes"][0]["right"];
    *right = json!("1".repeat(1000));
    fs::write(&file, value.to_string()).unwrap();
    sandbox.write("tuned.json", made(TUNED, 750).text());
    sandbox.write("samples_arc.jsonl", log("arc", (0..1000).map(|at| at < 750)));
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(0);
    assert!(
        done.out.contains("its seal is broken") && !done.out.contains("paired over"),
        "{}",
        done.out
    );
    sandbox.gate(&["baseline", "check"]).exits(4);
}

#[test]
fn a_baseline_of_another_model_is_refused_by_name_and_by_digest() {
    let sandbox = accepted();
    sandbox.write("tuned.json", made(TUNED, 750).text());
    for (model, exit) in [
        ("org/base", 0),
        ("org/base@9f2c41aa0011", 0),
        ("org/base@ffffffff", 3),
        ("org/elsewhere", 3),
    ] {
        let done = sandbox.gate(&["eval", "tuned.json", "--base-model", model]).exits(exit);
        if exit == 3 {
            assert!(
                done.out.contains("the base's scores are of the model org/base (9f2c41aa"),
                "{}",
                done.out
            );
            assert_eq!(counted(&last(&sandbox)), [("arc acc".to_owned(), "stale_baseline".to_owned())]);
        }
    }
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(0);
    assert!(
        done.out.contains("nothing says of which model the base's scores must be"),
        "{}",
        done.out
    );
    // Nor does a run of another model become a line of it.
    let done = sandbox.gate(&["baseline", "accept", "last", "--baseline", FILE]);
    done.exits(2).says("the baseline is of the model org/base");
}

#[test]
fn accepted_runs_gather_and_a_worse_one_needs_a_reason() {
    let sandbox = accepted();
    accept(&sandbox, 755, &[]);
    record(&sandbox, 730);
    let done = sandbox.gate(&["baseline", "accept", "last"]).exits(2);
    assert!(
        done.err.contains("Say why it is accepted all the same, with --because"),
        "{}",
        done.err
    );
    let done = sandbox
        .gate(&["baseline", "accept", "last", "--because", "the cache was stale"])
        .exits(0);
    assert!(done.out.contains("3 runs"), "{}", done.out);
    assert!(
        sandbox.text(FILE).contains("note=the%20cache%20was%20stale"),
        "{}",
        sandbox.text(FILE)
    );
    sandbox.write("tuned.json", made(TUNED, 745).text());
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(0);
    assert!(done.out.contains("73.00 / 75.00 / 75.50 %, 3 runs"), "{}", done.out);
    accept(&sandbox, 760, &["--replace"]);
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(1);
    assert!(done.out.contains("76.00 %"), "{}", done.out);
}

#[test]
fn age_and_a_level_that_moved_are_warned_of() {
    let sandbox = accepted();
    let text = sandbox.text(FILE);
    let line = text.lines().find(|line| line.starts_with("score")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let (date, record) = (words[4], words[5]);
    let older = |day: &str, seal: &str, score: &str| {
        line.replace(date, day)
            .replace(record, seal)
            .replace("  0.75  ", &format!("  {score}  "))
    };
    sandbox.write("tuned.json", made(TUNED, 745).text());
    sandbox.write(FILE, text.replace(date, "2020-01-02"));
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(0);
    assert!(done.out.contains("warning: the newest run of the baseline is "), "{}", done.out);
    assert!(
        done.out.contains(" days old (2020-01-02): run the base model again"),
        "{}",
        done.out
    );
    let level = |scores: [&str; 2]| {
        let [one, two] = scores;
        let lines = [older("2026-01-01", "aaaaaaaaaaaa", one), older("2026-01-02", "bbbbbbbbbbbb", two)];
        sandbox.write(FILE, text.replace(line, &format!("{line}\n{}", lines.join("\n"))));
        sandbox.gate(&["eval", "tuned.json"]).out
    };
    let lower = level(["0.79", "0.8"]);
    assert!(
        lower.contains("is worse than the middle of 3 runs (0.7900), so a lower level was accepted lately"),
        "{lower}"
    );
    let higher = level(["0.7", "0.71"]);
    assert!(
        higher.contains("is better than the middle of 3 runs (0.7100), so the base lags behind"),
        "{higher}"
    );
}

#[test]
fn what_may_not_be_a_baseline_is_refused() {
    let sandbox = Sandbox::new();
    let accept = |made: Made, more: &[&str]| {
        sandbox.write("run.json", made.text());
        drop(sandbox.gate(&["eval", "run.json"]).exits(3));
        sandbox.gate(&[&["baseline", "accept", "last"], more].concat())
    };
    let nameless = made(BASE, 750).set(&["config", "model_args"], json!("dtype=float16"));
    accept(nameless.clone(), &[]).exits(2).says("the results do not name the model");
    let no_digest = made(BASE, 750).without(&["config", "model_sha"]);
    accept(no_digest.clone(), &[]).exits(2).says("say it with --model org/base@DIGEST");
    let part = made(BASE, 750).set(&["n-samples", "arc"], json!({ "original": 5000, "effective": 1000 }));
    accept(part, &[]).exits(2).says("a part of the task does not speak for all of it");
    let missing = made(BASE, 750).set(&["results", "arc", "acc,none"], json!("N/A"));
    accept(missing, &[]).exits(2).says("no score of it can be a baseline");
    accept(made(BASE, 750), &["--model", "org/base@ffffffff"])
        .exits(2)
        .says("org/base (ffffffff) is named");
    accept(made(BASE, 750), &["--arm", "A"]).exits(2).says("--arm A");
    assert!(!sandbox.path("baselines/eval").join("org--base.txt").exists());
    accept(no_digest, &["--model", "org/base@0123456789ab"]).exits(0);
    assert!(sandbox.text(FILE).contains("model  org/base  0123456789ab"));
    // A record that a person made historical stands for nothing.
    drop(sandbox.gate(&["ledger", "relabel", "last", "--because", "the wrong weights"]));
    sandbox.gate(&["baseline", "accept", "last"]).exits(2);
}

#[test]
fn several_baselines_need_the_model() {
    let sandbox = accepted();
    sandbox.write("other.json", made(("org/second", "55aa55aa"), 900).text());
    drop(sandbox.gate(&["eval", "other.json"]));
    sandbox.gate(&["baseline", "accept", "last"]).exits(0);
    sandbox.write("tuned.json", made(TUNED, 750).text());
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(2);
    assert!(
        done.err.contains("2 baselines, and nothing says which") && done.err.contains("org/second (55aa55aa)"),
        "{}",
        done.err
    );
    sandbox.gate(&["eval", "tuned.json", "--base-model", "org/base"]).exits(0);
    sandbox.gate(&["eval", "tuned.json", "--base-model", "org/second"]).exits(1);
    sandbox
        .gate(&["eval", "tuned.json", "--baseline", "baselines/eval", "--base-model", "org/base"])
        .exits(0);
    sandbox
        .gate(&["eval", "tuned.json", "--base-model", "org/third"])
        .exits(2)
        .says("none is of the wanted model");
}

#[test]
fn what_moved_in_a_baseline_of_scores_is_told() {
    let sandbox = accepted();
    git(&sandbox, &["init", "--quiet", "--initial-branch", "main"]);
    git(&sandbox, &["add", "baselines"]);
    git(&sandbox, &["commit", "--quiet", "-m", "a base"]);
    assert_eq!(sandbox.gate(&["baseline", "diff", "HEAD"]).exits(0).out.matches("\n+ ").count(), 0);
    accept(&sandbox, 760, &[]);
    let out = sandbox.gate(&["baseline", "diff", "HEAD"]).exits(0).out;
    let signs = |sign: &str| {
        out.lines()
            .filter(|line| line.starts_with(sign))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(matches!(signs("+ ").as_slice(), [one] if one.contains("0.76")), "{out}");
    assert_eq!(signs("- "), [""; 0], "{out}");
    accept(&sandbox, 770, &["--replace"]);
    let out = sandbox.gate(&["baseline", "diff", "HEAD"]).exits(0).out;
    assert!(
        out.contains("- ") && out.contains("0.75") && out.contains("0.77") && !out.contains("0.76"),
        "{out}"
    );
}

#[test]
fn evidence_of_more_than_a_mebibyte_is_read_from_a_revision_too() {
    let project = Project::new();
    let side = |folder: &str, model, right: usize| {
        let made = Made::of(model).task("arc", right as u64, 70_000);
        project.write(&format!("../{folder}/results.json"), made.text());
        let answers = (0..70_000).map(|at| at < right);
        project.write(&format!("../{folder}/samples_arc.jsonl"), log("arc", answers));
    };
    side("base", BASE, 52_500);
    let _done = project.sandbox.gate(&["eval", "../base"]).exits(3);
    let _done = project.sandbox.gate(&["baseline", "accept", "last"]).exits(0);
    project.commit("a baseline");
    let folder = project.sandbox.path("baselines/eval/evidence/org--base");
    let evidence = fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    assert!(
        evidence.metadata().unwrap().len() > 1 << 20,
        "{}",
        evidence.metadata().unwrap().len()
    );
    side("tuned", TUNED, 52_400);
    let done = project.sandbox.gate(&["eval", "../tuned", "--rules-from", "HEAD"]).exits(0);
    assert!(done.out.contains("paired over 70000 items: 100 lost, 0 gained"), "{}", done.out);
}
