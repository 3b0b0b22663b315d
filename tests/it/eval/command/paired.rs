//! The answers to single items beside the scores.

use std::fs;

use serde_json::json;

use super::{BASE, Made, TUNED, last, log};
use crate::sandbox::{Done, Sandbox};

/// Both sides in folders of their own, with their logs: which items are right on each side.
fn sides(items: usize, base: impl Fn(usize) -> bool, tuned: impl Fn(usize) -> bool) -> Sandbox {
    let sandbox = Sandbox::new();
    for (folder, model, right) in [("a", BASE, &base as &dyn Fn(usize) -> bool), ("b", TUNED, &tuned)] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
        let count = (0..items).filter(|at| right(*at)).count() as u64;
        sandbox.write(
            &format!("{folder}/results_2026-01-01T00-00-00.json"),
            Made::of(model).task("arc", count, items as u64).text(),
        );
        sandbox.write(
            &format!("{folder}/samples_arc_2026-01-01T00-00-00.jsonl"),
            log("arc", (0..items).map(right)),
        );
    }
    sandbox
}

fn judged(sandbox: &Sandbox, more: &[&str]) -> Done {
    sandbox.gate(&[&["eval", "b", "--baseline", "a"], more].concat())
}

#[test]
fn the_default_is_the_rule_and_the_paired_result_stands_beside_it() {
    // 12 lost and 0 gained of 1000: a drop of 1.2 points, which is not shown to exceed one point.
    let sandbox = sides(1000, |at| at < 750, |at| (12..750).contains(&at));
    let done = judged(&sandbox, &[]).exits(1);
    assert!(done.out.contains("paired over 1000 items: 12 lost, 0 gained"), "{}", done.out);
    let ruling = &last(&sandbox)["judgement"]["verdicts"][0];
    let paired = &ruling["detail"]["paired"];
    assert_eq!(
        (&paired["lost"], &paired["gained"], &paired["items"]),
        (&json!(12), &json!(0), &json!(1000))
    );
    assert!(
        (paired["mcnemar"]["worse"].as_f64().unwrap() - 0.5_f64.powi(12)).abs() < 1e-12,
        "{paired}"
    );
    assert_eq!(paired["shown"]["shown"], "open");
    assert_eq!(ruling["interval"], paired["interval_pp"]);
    // Where a failure needs both, this is no failure, and no pass either.
    let done = judged(&sandbox, &["--test", "paired"]).exits(3);
    assert!(done.out.contains("The rule wants the paired test too"), "{}", done.out);
    // 60 lost are beyond doubt.
    let sandbox = sides(1000, |at| at < 750, |at| (60..750).contains(&at));
    let done = judged(&sandbox, &["--test", "paired"]).exits(1);
    assert!(done.out.contains("shown to be worse than 1 pp"), "{}", done.out);
    let sandbox = sides(1000, |at| at < 750, |at| at < 750);
    let done = judged(&sandbox, &[]).exits(0);
    assert!(done.out.contains("shown to be not worse than 1 pp"), "{}", done.out);
}

#[test]
fn a_set_that_is_too_small_ever_to_answer_says_so() {
    let sandbox = sides(4, |_| true, |at| at > 0);
    let done = judged(&sandbox, &["--test", "paired"]).exits(3);
    assert!(done.out.contains("with 4 items a single answer fails the rule"), "{}", done.out);
    assert!(
        done.out.to_lowercase().contains("too few") || done.out.contains("never"),
        "{}",
        done.out
    );
}

#[test]
fn unmatched_items_withhold_the_result_and_are_counted() {
    let sandbox = sides(300, |at| at < 200, |at| at < 200);
    let text = sandbox.text("b/samples_arc_2026-01-01T00-00-00.jsonl");
    sandbox.write(
        "b/samples_arc_2026-01-01T00-00-00.jsonl",
        text.replace("\"doc_hash\":\"arc-0", "\"doc_hash\":\"x-0")
            .replacen("x-0", "arc-0", 293),
    );
    let done = judged(&sandbox, &[]).exits(0);
    assert!(!done.out.contains("paired over"), "{}", done.out);
    let ruling = &last(&sandbox)["judgement"]["verdicts"][0];
    assert_eq!(
        ruling["detail"]["withheld"],
        json!({ "because": "unmatched", "base": 7, "candidate": 7 })
    );
}

#[test]
fn items_are_joined_by_what_they_are_and_not_by_their_place() {
    let sandbox = sides(300, |at| at < 200, |at| at < 200);
    let file = "b/samples_arc_2026-01-01T00-00-00.jsonl";
    let mut lines = sandbox.lines(file);
    lines.reverse();
    sandbox.write(file, lines.join("\n"));
    let done = judged(&sandbox, &[]).exits(0);
    assert!(done.out.contains("paired over 300 items: 0 lost, 0 gained"), "{}", done.out);
}

#[test]
fn filters_are_never_merged() {
    let sandbox = sides(300, |at| at < 200, |at| at < 200);
    for folder in ["a", "b"] {
        let file = format!("{folder}/samples_arc_2026-01-01T00-00-00.jsonl");
        let one = sandbox.text(&file);
        let other = one
            .replace("\"filter\":\"none\"", "\"filter\":\"strict-match\"")
            .replace("\"acc\":1.0", "\"acc\":0.0");
        sandbox.write(&file, one + &other);
        let model = if folder == "a" { BASE } else { TUNED };
        let made = Made::of(model).task("arc", 200, 300).metric("arc", "acc,strict-match", 0.0, 300);
        sandbox.write(&format!("{folder}/results_2026-01-01T00-00-00.json"), made.text());
    }
    let done = judged(&sandbox, &[]).exits(0);
    assert_eq!(
        done.out.matches("paired over 300 items: 0 lost, 0 gained").count(),
        2,
        "{}",
        done.out
    );
    let outcomes = &last(&sandbox)["evidence"]["scores"]["base"][0]["results"]["outcomes"];
    assert_eq!(outcomes.as_array().unwrap().len(), 2);
}

#[test]
fn a_log_that_does_not_make_the_score_pairs_nothing() {
    let right = |at: usize| at < 200;
    for (name, spoil, words) in [
        (
            "of another run",
            (|text: &str| text.replace("\"acc\":0.0", "\"acc\":1.0")) as fn(&str) -> String,
            "which is not that of the results: no paired result",
        ),
        (
            "appended by a rerun",
            |text| format!("{text}{text}"),
            "stands twice under the filter \"none\": a rerun was appended",
        ),
        ("cut", |text| text[..text.len() - 30].to_owned(), "line 300"),
        (
            "graded",
            |text| text.replacen("\"acc\":1.0", "\"acc\":0.5", 1),
            "no answer is right or wrong: acc are graded",
        ),
        (
            "not a number",
            |text| text.replacen("\"acc\":1.0", "\"acc\":NaN", 1),
            "no answer is right or wrong: acc are graded",
        ),
        ("of nothing", |_| String::new(), "the log holds no answer"),
    ] {
        let sandbox = sides(300, right, right);
        let file = "b/samples_arc_2026-01-01T00-00-00.jsonl";
        sandbox.write(file, spoil(&sandbox.text(file)));
        let done = judged(&sandbox, &[]).exits(0);
        assert!(
            done.out.contains(words) && !done.out.contains("paired over"),
            "{name}: {}",
            done.out
        );
        last(&sandbox);
        // Named, a log that cannot be read is an error; one of another run is not used all the same.
        let named = judged(&sandbox, &["--samples-b", "b"]);
        let exit = if name == "of another run" { 0 } else { 2 };
        named.exits(exit);
    }
}

#[test]
fn logs_are_named_or_stand_beside_their_own_results() {
    let sandbox = sides(300, |at| at < 200, |at| at < 200);
    fs::create_dir_all(sandbox.path("logs")).unwrap();
    let own = "b/samples_arc_2026-01-01T00-00-00.jsonl";
    fs::rename(sandbox.path(own), sandbox.path("logs/samples_arc_2026-05-05T00-00-00.jsonl")).unwrap();
    let done = judged(&sandbox, &[]).exits(0);
    assert!(!done.out.contains("paired over"), "{}", done.out);
    let done = judged(&sandbox, &["--samples-b", "logs", "--samples-a", "a"]).exits(0);
    assert!(done.out.contains("paired over 300 items"), "{}", done.out);
    // A log with the date of another run does not belong to these results, though it stands beside them.
    fs::rename(
        sandbox.path("logs/samples_arc_2026-05-05T00-00-00.jsonl"),
        sandbox.path("b/samples_arc_2026-05-05T00-00-00.jsonl"),
    )
    .unwrap();
    let done = judged(&sandbox, &[]).exits(0);
    assert!(!done.out.contains("paired over"), "{}", done.out);
    judged(&sandbox, &["--samples-b", "logs"])
        .exits(2)
        .says("no log of single answers of arc");
    judged(&sandbox, &["--samples-a", "absent"]).exits(2).says("--samples-a");
}

#[test]
fn a_task_whose_name_begins_like_another_keeps_its_own_log() {
    let sandbox = sides(300, |at| at < 200, |at| at < 200);
    for (folder, model) in [("a", BASE), ("b", TUNED)] {
        let made = Made::of(model).task("arc", 200, 300).task("arc_easy", 100, 300);
        sandbox.write(&format!("{folder}/results_2026-01-01T00-00-00.json"), made.text());
        sandbox.write(
            &format!("{folder}/samples_arc_easy_2026-01-01T00-00-00.jsonl"),
            log("arc_easy", (0..300).map(|at| at < 100)),
        );
    }
    let done = judged(&sandbox, &[]).exits(0);
    assert_eq!(
        done.out.matches("paired over 300 items: 0 lost, 0 gained").count(),
        2,
        "{}",
        done.out
    );
}
