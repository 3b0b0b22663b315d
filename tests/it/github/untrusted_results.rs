//! `--untrusted` on results that a stranger's run read: scores of a model, and figures of another tool.

use gate::model::eval::evidence::{BaseKind, ScoreRun};
use gate::model::eval::{Aim, Group};
use gate::model::gate::waiver::Waiver;
use gate::model::judgement::{Outcome, Verdict};
use gate::model::metric::Tolerance;
use gate::model::record::Record;
use serde_json::json;

use super::untrusted::{FILE, Report};
use crate::declared::Project;
use crate::eval::command::{BASE, Made, TUNED, log};

const GATE: &str = "version = 1\nsource = \"ingest\"\n[ingest]\n";

/// Results with their logs, outside of the repository: so many right answers of `arc`, and 800 of `piqa`.
fn results(project: &Project, folder: &str, model: (&str, &str), right: usize) {
    let made = Made::of(model).task("arc", right as u64, 1000).task("piqa", 800, 1000);
    project.write(&format!("../{folder}/results.json"), made.text());
    project.write(
        &format!("../{folder}/samples_arc.jsonl"),
        log("arc", (0..1000).map(|at| at < right)),
    );
}

/// A repository whose base branch has a gate of scores, and an accepted run of the base model: 750 of 1000 answers of `arc` are right.
fn project() -> Project {
    let project = without_baseline(GATE);
    results(&project, "base", BASE, 750);
    let _done = project.sandbox.gate(&["eval", "../base"]).exits(3);
    let _done = project.sandbox.gate(&["baseline", "accept", "last"]).exits(0);
    project.commit("a baseline");
    project
}

fn without_baseline(gate: &str) -> Project {
    let project = Project::new();
    project.git(&["rm", "--quiet", "gates/perf.toml"]);
    project.write("gates/eval.toml", gate);
    project.commit("the rule of scores");
    project
}

/// A fork's change whose model answers so many questions of `arc` right, scored by its run.
fn scored(project: Project, right: usize, more: &[&str]) -> Report {
    let mut report = Report::in_project(project);
    let project = &report.project;
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.program(100 + right as u32);
    report.head = project.commit("another model");
    results(project, "tuned", TUNED, right);
    let words = ["eval", "../tuned", "--out", FILE];
    drop(project.sandbox.gate(&[&words[..], more].concat()));
    project.git(&["checkout", "--quiet", "main"]);
    report.opened();
    report
}

/// Everything that a record says of itself, changed to a pass.
fn passes(record: &mut Record) {
    for ruling in &mut record.judgement.verdicts {
        ruling.verdict = Verdict::NoRegression;
        ruling.outcome = Outcome::Pass;
    }
    record.judgement.outcome = Outcome::Pass;
}

fn scores_of(record: &mut Record) -> &mut gate::model::eval::evidence::Scores {
    record.evidence.scores.as_mut().unwrap()
}

fn page(report: &Report) -> String {
    report.hub.only()
}

#[test]
fn honest_scores_are_judged_again_by_the_base_branch() {
    let report = scored(project(), 680, &[]);
    report.told(0, "failure", "### gate: fail: regression");
    let body = page(&report);
    assert!(
        body.contains("measured by code from a fork") && body.contains("| 1 pp | - | 1000 | 70 | 0 |"),
        "{body}"
    );
    assert!(
        !body.contains("compared with other scores") && !body.contains("by other rules") && !body.contains("used another"),
        "{body}"
    );
    assert!(
        !body.contains("/tmp") && body.contains("the baseline baselines/eval/org--base.txt of the base tip"),
        "{body}"
    );
    let report = scored(project(), 745, &[]);
    report.told(0, "success", "### gate: pass");
    assert!(page(&report).contains("worth: measured"), "{}", page(&report));
}

#[test]
fn a_forged_verdict_rule_or_waiver_counts_for_nothing() {
    let report = scored(project(), 680, &[]);
    report.forges(|record| {
        passes(record);
        record.gate.rules[0].tolerance = Some(Tolerance::parse("50pp").unwrap());
        record.gate.rules[0].required = false;
        record.gate.name = "eval".to_owned();
        record.context.unaffected = Some("nothing to see".to_owned());
        record.context.waivers.push(Waiver {
            file: "gates/waivers/x.toml".to_owned(),
            gate: "eval".to_owned(),
            fixture: "arc".to_owned(),
            metric: "acc".to_owned(),
            limit: Tolerance::parse("50pp").unwrap(),
            reason: "trust me".to_owned(),
            author: "A".to_owned(),
            until: "2026-12-31".to_owned(),
            record: "0123456789ab".to_owned(),
            carried: false,
        });
    });
    report.told(0, "failure", "### gate: fail: regression");
    let body = page(&report);
    assert!(
        body.contains("its waivers are not honoured here") && !body.contains("trust me"),
        "{body}"
    );
    // Nor is a task hidden as the group of another.
    report.forges(|record| {
        let group = Group {
            name: "arc".to_owned(),
            members: vec!["piqa".to_owned()],
        };
        scores_of(record).candidate.results.groups.push(group);
    });
    report.told(0, "failure", "### gate: fail: regression");
}

#[test]
fn more_scores_than_a_run_can_have_are_refused() {
    let report = scored(project(), 745, &[]);
    report.forges(|record| {
        let scores = &mut scores_of(record).candidate.results.scores;
        let one = scores[0].clone();
        scores.resize(2_001, one);
    });
    report.told(2, "error", "2000 scores of a run");
}

#[test]
fn a_waiver_of_the_base_branch_stands_for_a_fork_too() {
    let project = project();
    results(&project, "tuned", TUNED, 680);
    let _done = project.sandbox.gate(&["eval", "../tuned"]).exits(1);
    let until = (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(48)).to_string();
    let words = [
        "waive",
        "last",
        "--because",
        "known and mended soon",
        "--until",
        &until[..10],
        "--author",
        "A",
    ];
    let _done = project.sandbox.gate(&words).exits(0);
    project.commit("accept it");
    let report = scored(project, 680, &[]);
    report.told(0, "success", "Accepted up to 7pp");
    assert!(!page(&report).contains("are not honoured"), "{}", page(&report));
    report.forges(|record| {
        for score in &mut scores_of(record).candidate.results.scores {
            if score.key.task == "arc" {
                score.value = Some(0.679);
            }
        }
        scores_of(record).candidate.results.outcomes.clear();
    });
    report.told(0, "failure", "and this is not shown to be within it");
}

#[test]
fn a_forged_base_is_not_the_base() {
    let report = scored(project(), 680, &[]);
    let lowered = |run: &mut ScoreRun| {
        run.results.outcomes.clear();
        for score in &mut run.results.scores {
            score.value = Some(0.5);
        }
    };
    for kind in [BaseKind::Baseline, BaseKind::Results, BaseKind::None] {
        report.forges(|record| {
            passes(record);
            let scores = scores_of(record);
            scores.base_kind = kind;
            scores.base.iter_mut().for_each(lowered);
        });
        report.told(0, "failure", "### gate: fail: regression");
        let body = page(&report);
        assert!(
            body.contains("the run compared with other scores of the base than the base tip"),
            "{kind:?}: {body}"
        );
    }
    // What is said of the candidate's score itself must fit the base's.
    report.forges(|record| {
        for score in &mut scores_of(record).candidate.results.scores {
            score.aim = Some(Aim::Lower);
        }
    });
    report.told(0, "failure", "which way is good differs");
    // Without a baseline in the base branch there is none, whatever the run says it had.
    let report = scored(without_baseline(GATE), 745, &[]);
    report.forges(|record| {
        passes(record);
        let scores = scores_of(record);
        scores.base_kind = BaseKind::Baseline;
        scores.base.push(scores.candidate.clone());
    });
    report.told(0, "failure", "there is no base to compare with");
}

#[test]
fn results_that_the_base_branch_has_are_the_base_and_others_are_the_run_s_claim() {
    let gate = format!("{GATE}baseline = \"scores/results.json\"\n");
    let committed = || {
        let project = without_baseline(&gate);
        results(&project, "work/scores", BASE, 750);
        project.commit("the base model's scores");
        project
    };
    assert!(committed().sandbox.path("scores/samples_arc.jsonl").exists());
    let report = scored(committed(), 680, &[]);
    report.told(0, "failure", "### gate: fail: regression");
    let body = page(&report);
    assert!(
        body.contains("| 1000 | 70 | 0 |") && !body.contains("compared with other scores"),
        "{body}"
    );
    report.forges(|record| {
        for score in &mut scores_of(record).base[0].results.scores {
            score.value = Some(0.5);
        }
    });
    report.told(0, "failure", "the run compared with other scores of the base");

    let project = without_baseline(GATE);
    results(&project, "base", BASE, 750);
    let report = scored(project, 680, &["--baseline", "../base"]);
    report.told(0, "failure", "### gate: fail: regression");
    let body = page(&report);
    assert!(body.contains("the base's scores are the run's claim too"), "{body}");
}

#[test]
fn what_cannot_be_chosen_without_an_option_is_refused_with_its_reason() {
    let project = project();
    results(&project, "second", ("org/second", "55aa55aa55aa"), 900);
    drop(project.sandbox.gate(&["eval", "../second"]));
    let _done = project.sandbox.gate(&["baseline", "accept", "last"]).exits(0);
    project.commit("a second baseline");
    let report = scored(project, 745, &["--base-model", "org/base"]);
    report.told(0, "error", "here no option is given, so the gate must say it");
    assert!(!page(&report).contains("/tmp"), "{}", page(&report));
}

#[test]
fn a_missing_record_of_scores_is_no_pass_where_the_run_failed() {
    let report = scored(project(), 745, &[]);
    report.project.write(FILE, "");
    std::fs::remove_file(report.project.sandbox.path(FILE)).unwrap();
    report.told(0, "error", "the run left no records");
    // Beside a measured gate that passes, in a run that failed all the same.
    let project = Project::new();
    project.write("gates/eval.toml", GATE);
    project.commit("and a rule of scores");
    let mut report = Report::in_project(project);
    report.pushes(100);
    report.told(0, "error", "the run ended as failure, and there is no record of gate eval");
    report.pushes(150);
    report.told(0, "failure", "### gate: fail: regression");
}

#[test]
fn a_rule_of_the_command_line_is_no_gate_of_the_base_branch() {
    let report = scored(project(), 745, &["--tolerance", "50pp"]);
    report.told(0, "error", "there is a record of command-line, which is no gate of the base branch");
}

/// A result of llama-bench.
fn bench(at: usize, value: f64) -> String {
    json!({
        "build_commit": "0a1b2c3d", "model_filename": "/srv/tiny.gguf", "n_prompt": 0, "n_gen": 128, "n_depth": 0,
        "test_time": format!("2026-02-01T10:{at:02}:00Z"), "avg_ns": 1, "stddev_ns": 0, "avg_ts": value, "stddev_ts": 0.1,
        "samples_ns": [1], "samples_ts": [value, value + 0.2, value - 0.2],
    })
    .to_string()
}

/// A fork's change whose results of another tool are at this level on arm B, and at 100 on A.
fn ingested(metric: &str, level: f64) -> Report {
    let project = Project::new();
    project.git(&["rm", "--quiet", "gates/perf.toml"]);
    project.write("gates/bench.toml", format!("{GATE}{metric}"));
    project.commit("the rule of results");
    let mut report = Report::in_project(project);
    let project = &report.project;
    project.git(&["checkout", "--quiet", "-b", "change"]);
    report.head = project.commit("another build");
    let mut words: Vec<String> = ["ingest", "--gate", "gates/bench.toml", "--out", FILE].map(str::to_owned).to_vec();
    for (at, letter) in "ABBABAABBAABABBA".chars().enumerate() {
        let file = format!("../run-{at:02}.json");
        project.write(
            &file,
            bench(at, if letter == 'B' { level } else { 100.0 } + 0.1 * ((at * 7) % 5) as f64),
        );
        words.extend(["--arm".to_owned(), letter.to_string(), file]);
    }
    drop(project.sandbox.gate(&words.iter().map(String::as_str).collect::<Vec<_>>()));
    project.git(&["checkout", "--quiet", "main"]);
    report.opened();
    report
}

const DECLARED: &str = "[[metric]]\nname = \"tg128\"\nunit = \"tok/s\"\nbetter = \"higher\"\n";

#[test]
fn results_of_another_tool_are_judged_again_where_the_gate_declares_their_figures() {
    let report = ingested(DECLARED, 90.0);
    report.told(0, "failure", "### gate: fail: regression");
    report.forges(|record| {
        passes(record);
        record.gate.metrics[0].better = gate::model::metric::Better::Lower;
        record.gate.metrics[0].tolerance = 90.0;
        record.plan.blocks.clear();
        record.plan.looks.clear();
        for sample in &mut record.evidence.samples {
            (sample.seq, sample.block, sample.position) = (0, 0, 0);
        }
    });
    report.told(0, "failure", "### gate: fail: regression");
    let report = ingested(DECLARED, 100.0);
    report.told(0, "success", "### gate: pass");
    // A date that nothing carries shows no turns.
    report.forges(|record| {
        record.evidence.samples[3].detail.insert("dated".to_owned(), json!(false));
    });
    report.told(0, "failure", "carries no date");
    let report = ingested("", 100.0);
    report.told(0, "error", "declare each metric by its name, with unit and better");
}
