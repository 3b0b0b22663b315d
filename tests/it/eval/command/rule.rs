//! The rule at the door: what passes, what fails, which of several tasks, which spelling.

use serde_json::json;

use super::{BASE, Made, TUNED, counted, judged, last, sides};
use crate::sandbox::Sandbox;

fn of(base: f64, tuned: f64, items: u64) -> Sandbox {
    let made = |model, value| Made::of(model).metric("arc", "acc,none", value, items);
    sides(&made(BASE, base), &made(TUNED, tuned))
}

#[test]
fn one_point_passes_and_a_little_more_fails() {
    for (base, tuned, items, exit, words) in [
        // Python prints 0.7399999999999999 for such a score, and 100·(0.75 − 0.74) is 1.0000000000000009.
        (
            0.75,
            0.74,
            10_000,
            0,
            "a drop of 1.00 pp (-1.33 % of the base), of 1 pp that is allowed",
        ),
        (0.75, 0.739_999_999_999_999_9, 10_000, 0, "a drop of 1.00 pp"),
        (
            0.75,
            0.739_9,
            10_000,
            1,
            "a drop of 1.01 pp (-1.35 % of the base), more than the 1 pp that is allowed",
        ),
        (0.85, 0.85, 1319, 0, "no better and no worse"),
        // Seed: mmlu 0.7512 to 0.7412 is exactly 1.00 points.
        (0.7512, 0.7412, 10_000, 0, "a drop of 1.00 pp"),
        (0.7512, 0.7411, 10_000, 1, "a drop of 1.01 pp"),
    ] {
        let sandbox = of(base, tuned, items);
        let done = judged(&sandbox, &[]).exits(exit);
        assert!(done.out.contains(words), "{base} to {tuned}: {}", done.out);
        let word = if exit == 0 { "no_regression" } else { "regression" };
        assert_eq!(counted(&last(&sandbox)), [("arc acc".to_owned(), word.to_owned())]);
    }
}

#[test]
fn any_task_fails_it_and_every_failing_task_is_named_the_worst_first() {
    let tasks = |model, right: [u64; 4]| {
        let names = ["a", "b", "c", "d"].into_iter().zip(right);
        names.fold(Made::of(model), |made, (name, right)| made.task(name, right, 1000))
    };
    // The mean rises: the gain of a outweighs what the others lost.
    let sandbox = sides(&tasks(BASE, [500; 4]), &tasks(TUNED, [900, 485, 500, 450]));
    let done = judged(&sandbox, &[]).exits(1);
    let record = last(&sandbox);
    let failing: Vec<String> = counted(&record)
        .into_iter()
        .filter(|(_, verdict)| verdict == "regression")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(failing, ["d acc", "b acc"]);
    let (d, b) = (done.out.find("\nd acc:").unwrap(), done.out.find("\nb acc:").unwrap());
    assert!(d < b, "{}", done.out);
    assert!(done.out.contains("noise alone would fail"), "{}", done.out);
}

#[test]
fn o07_points_and_percent_are_two_spellings_and_a_bare_number_is_none() {
    let sandbox = of(0.88, 0.85, 1319);
    let done = judged(&sandbox, &["--tolerance", "1pp"]).exits(1);
    for words in ["a drop of 3.00 pp (-3.41 % of the base)", "standard error 0.9 pp in the base"] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    // 1 % of 0.88 is 0.88 points.
    for (tuned, exit) in [(0.8715, 0), (0.8709, 1)] {
        let sandbox = of(0.88, tuned, 10_000);
        let done = judged(&sandbox, &["--tolerance", "1%"]).exits(exit);
        assert!(
            done.out.contains("the 1 % of the base that may be lost are 0.88 pp"),
            "{}",
            done.out
        );
    }
    for (text, words) in [
        ("1", "say 1pp (percentage points) or 1% (of the base's score)"),
        ("-1.0", "say -1.0pp"),
        ("-1pp", "negative"),
        ("nan%", "not a finite number"),
        ("inf", "not a finite number"),
        ("1e400pp", "too large"),
        ("", "empty"),
        ("1,0pp", "write \"1.0pp\""),
        ("1 ms", "a score has no ms"),
    ] {
        judged(&sandbox, &["--tolerance", text]).exits(2).says(words);
    }
    assert!(sandbox.ledger().len() == 1, "a refused rule judges nothing");
}

#[test]
fn o08_a_score_of_zero_is_a_score_and_has_no_relative_change() {
    for (base, tuned, exit, words) in [
        (0.0, 0.0, 0, "no better and no worse"),
        (0.0, 0.5, 0, "(relative to a base of 0 undefined)"),
        (0.5, 0.0, 1, "a drop of 50.00 pp (-100.00 % of the base)"),
    ] {
        let done = judged(&of(base, tuned, 100), &[]).exits(exit);
        assert!(done.out.contains(words), "{base} to {tuned}: {}", done.out);
        let json = judged(&of(base, tuned, 100), &["--format", "json"]);
        assert!(!json.out.contains("NaN") && !json.out.contains("inf"), "{}", json.out);
    }
}

#[test]
fn what_is_worth_knowing_stands_beside_the_verdict() {
    // Two changed answers of HumanEval fail the rule, far inside the noise.
    let made = |model, right: u64| Made::of(model).metric("humaneval", "pass@1,create_test", right as f64 / 164.0, 164);
    let direction = |made: Made| made.set(&["higher_is_better", "humaneval"], json!({ "pass_at_k": true }));
    let sandbox = sides(&direction(made(BASE, 82)), &direction(made(TUNED, 80)));
    let done = judged(&sandbox, &[]).exits(1);
    for words in [
        "n = 164, one answer is 0.61 pp",
        "inside one standard error",
        "noise alone would fail 0.4 of 1 task on average",
    ] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    let ruling = &last(&sandbox)["judgement"]["verdicts"][0];
    assert_eq!((&ruling["detail"]["items"], &ruling["scale"]), (&json!(164), &json!("pp")));
    assert!((ruling["estimate"].as_f64().unwrap() + 200.0 / 164.0).abs() < 1e-9, "{ruling}");
    assert!(ruling["detail"]["false_alarm"].as_f64().unwrap() > 0.4, "{ruling}");
}

#[test]
fn every_view_tells_the_same_and_foreign_names_stay_inert() {
    let name = "a|b <b>@user</b> `x`";
    let made = |model, right| Made::of(model).task(name, right, 1000);
    let sandbox = sides(&made(BASE, 800), &made(TUNED, 700));
    for (format, words) in [
        ("terminal", "a drop of 10.00 pp"),
        ("markdown", "a drop of 10.00 pp"),
        ("json", "\"verdict\":\"regression\""),
    ] {
        let done = judged(&sandbox, &["--format", format, "--out", "record.json"]).exits(1);
        assert!(done.out.contains(words), "{format}: {}", done.out);
        if format == "markdown" {
            assert!(!done.out.contains("@user") && !done.out.contains("<b>"), "{}", done.out);
            let rows = done.out.lines().filter(|line| line.starts_with("| a\\|b"));
            assert_eq!(rows.count(), 1, "{}", done.out);
        }
    }
    // What --out writes is the line of the ledger.
    assert_eq!(sandbox.text("record.json"), format!("{}\n", sandbox.lines(".gate/ledger.jsonl")[2]));
    sandbox.gate(&["ledger", "show", "last"]).exits(0);
    last(&sandbox);
}

#[test]
fn a_ledger_that_says_otherwise_is_a_violation() {
    let sandbox = of(0.75, 0.70, 1000);
    judged(&sandbox, &[]).exits(1);
    let line = sandbox.text(".gate/ledger.jsonl");
    for (was, is) in [
        ("\"verdict\":\"regression\"", "\"verdict\":\"no_regression\""),
        ("\"value\":0.7}", "\"value\":0.9}"),
    ] {
        assert!(line.contains(was), "{was}: {line}");
        sandbox.write(".gate/ledger.jsonl", line.replace(was, is));
        let done = sandbox.gate(&["ledger", "verify"]).exits(4);
        assert!(done.out.contains("the seal is broken"), "{}", done.out);
        assert!(done.out.contains("its own evidence does not give its judgement"), "{}", done.out);
    }
}
