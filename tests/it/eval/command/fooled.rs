//! What is no drop and no pass: each has its own words, and a place in a table.

use serde_json::json;

use super::{BASE, Made, TUNED, counted, judged, last, sides, verdicts};

/// What is done to results.
type Change = fn(Made) -> Made;

struct Case {
    name: &'static str,
    base: Change,
    tuned: Change,
    more: &'static [&'static str],
    exit: i32,
    verdict: &'static str,
    says: &'static str,
}

const AS_IT_IS: Change = |made| made;

/// Two tasks, 1000 items each; the second is as it was on both sides unless a case says otherwise.
fn plain(model: (&str, &str)) -> Made {
    Made::of(model).task("arc", 750, 1000).task("piqa", 800, 1000)
}

const CASES: &[Case] = &[
    Case {
        name: "a task that is missing is no pass",
        base: AS_IT_IS,
        tuned: |made| made.without(&["results", "arc"]),
        more: &[],
        exit: 3,
        verdict: "not_measured",
        says: "the base has it and the candidate does not: not measured, which is no pass",
    },
    Case {
        name: "o18 nothing in common",
        base: AS_IT_IS,
        tuned: |_| Made::of(TUNED).task("other", 900, 1000),
        more: &[],
        exit: 3,
        verdict: "not_measured",
        says: "not measured, which is no pass",
    },
    Case {
        name: "o02 a part of the items",
        base: |made| {
            made.set(&["config", "limit"], json!(10))
                .set(&["n-samples", "arc"], json!({"original": 1000, "effective": 10}))
        },
        tuned: |made| {
            made.set(&["config", "limit"], json!(10))
                .set(&["n-samples", "arc"], json!({"original": 1000, "effective": 10}))
        },
        more: &[],
        exit: 3,
        verdict: "inconclusive",
        says: "n=10 (of 1000): one answer moves the score 10.00 points",
    },
    Case {
        name: "o02 a part of the items of one side",
        base: AS_IT_IS,
        tuned: |made| {
            made.set(&["config", "limit"], json!(10))
                .set(&["n-samples", "arc"], json!({"original": 1000, "effective": 10}))
        },
        more: &["--limited"],
        exit: 3,
        verdict: "incomparable",
        says: "limit: none in the base, 10 in the candidate; items: 1000 in the base, 10 in the candidate",
    },
    Case {
        name: "another number of items",
        base: AS_IT_IS,
        tuned: |made| made.set(&["n-samples", "arc"], json!({"original": 999, "effective": 999})),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "items: 1000 in the base, 999 in the candidate",
    },
    Case {
        name: "other items",
        base: |made| made.set(&["task_hashes", "arc"], json!("aa11")),
        tuned: |made| made.set(&["task_hashes", "arc"], json!("bb22")),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "digest of the items: aa11 in the base, bb22 in the candidate",
    },
    Case {
        name: "another few-shot count",
        base: AS_IT_IS,
        tuned: |made| made.set(&["n-shot", "arc"], json!(0)),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "few-shot examples: 5 in the base, 0 in the candidate",
    },
    Case {
        name: "another chat template",
        base: AS_IT_IS,
        tuned: |made| made.set(&["chat_template_sha"], json!("c0ffee")),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "chat template: none in the base, c0ffee in the candidate",
    },
    Case {
        name: "another system instruction",
        base: AS_IT_IS,
        tuned: |made| made.set(&["system_instruction_sha"], json!("5ade")),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "chat template: none in the base, none system:5ade in the candidate",
    },
    Case {
        name: "another task version",
        base: AS_IT_IS,
        tuned: |made| made.set(&["versions", "arc"], json!(2.0)),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "task version: 1 in the base, 2 in the candidate",
    },
    Case {
        name: "another harness version",
        base: AS_IT_IS,
        tuned: |made| made.set(&["lm_eval_version"], json!("0.4.11")),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "harness: lm_eval-0.4.9 in the base, lm_eval-0.4.11 in the candidate",
    },
    Case {
        name: "o06 another scale",
        base: AS_IT_IS,
        tuned: |made| made.set(&["results", "arc", "acc,none"], json!(74.9)),
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "the scale differs: 0.75 in the base, 74.9 in the candidate",
    },
    Case {
        name: "o06 another scale that is declared",
        base: AS_IT_IS,
        tuned: |made| {
            made.set(&["results", "arc", "acc,none"], json!(74.9))
                .set(&["results", "piqa", "acc,none"], json!(80.0))
        },
        more: &["--scale", "0-100"],
        exit: 0,
        verdict: "no_regression",
        says: "a drop of 0.10 pp",
    },
    Case {
        name: "another filter",
        base: |made| {
            made.without(&["results", "arc", "acc,none"])
                .metric("arc", "acc,strict-match", 0.75, 1000)
        },
        tuned: |made| {
            made.without(&["results", "arc", "acc,none"])
                .metric("arc", "acc,flexible-extract", 0.75, 1000)
        },
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "filter: strict-match in the base, flexible-extract in the candidate",
    },
    Case {
        name: "o01 an error that is not told",
        base: |made| made.set(&["results", "arc", "acc_stderr,none"], json!("N/A")),
        tuned: |made| made.set(&["results", "arc", "acc_stderr,none"], json!("N/A")),
        more: &[],
        exit: 0,
        verdict: "no_regression",
        says: "the standard error of the base is not reported",
    },
    Case {
        name: "an error of zero is no certainty",
        base: |made| made.metric("arc", "acc,none", 1.0, 1000),
        tuned: |made| made.metric("arc", "acc,none", 1.0, 1000),
        more: &[],
        exit: 0,
        verdict: "no_regression",
        says: "the standard error of the base is 0: all its answers were alike, which does not make the score exact",
    },
    Case {
        name: "a text where a score should stand",
        base: AS_IT_IS,
        tuned: |made| made.set(&["results", "arc", "acc,none"], json!("N/A")),
        more: &[],
        exit: 3,
        verdict: "not_measured",
        says: "the candidate has no score",
    },
    Case {
        name: "a null where a score should stand",
        base: AS_IT_IS,
        tuned: |made| made.set(&["results", "arc", "acc,none"], json!(null)),
        more: &[],
        exit: 3,
        verdict: "not_measured",
        says: "the candidate has no score: null",
    },
    Case {
        name: "lower is better",
        base: |made| {
            made.metric("arc", "err,none", 0.10, 1000)
                .set(&["higher_is_better", "arc", "err"], json!(false))
        },
        tuned: |made| {
            made.metric("arc", "err,none", 0.12, 1000)
                .set(&["higher_is_better", "arc", "err"], json!(false))
        },
        more: &[],
        exit: 1,
        verdict: "regression",
        says: "10.00 % in the base, 12.00 % in the candidate: a drop of 2.00 pp",
    },
    Case {
        name: "the nearer to one half the better",
        base: |made| {
            made.metric("arc", "pct_stereotype,none", 0.50, 1000)
                .set(&["higher_is_better", "arc"], json!({"acc": true}))
        },
        tuned: |made| {
            made.metric("arc", "pct_stereotype,none", 0.45, 1000)
                .set(&["higher_is_better", "arc"], json!({"acc": true}))
        },
        more: &[],
        exit: 1,
        verdict: "regression",
        says: "50.00 % in the base, 45.00 % in the candidate: a drop of 5.00 pp",
    },
    Case {
        name: "a direction that nobody states",
        base: |made| {
            made.metric("arc", "zeal,none", 0.5, 1000)
                .set(&["higher_is_better", "arc"], json!({"acc": true}))
        },
        tuned: |made| {
            made.metric("arc", "zeal,none", 0.9, 1000)
                .set(&["higher_is_better", "arc"], json!({"acc": true}))
        },
        more: &[],
        exit: 3,
        verdict: "incomparable",
        says: "neither side states whether more or less is better, and it is not guessed from a name",
    },
    Case {
        name: "o37 a task that is new",
        base: AS_IT_IS,
        tuned: |made| made.task("zeta", 10, 1000),
        more: &[],
        exit: 0,
        verdict: "new",
        says: "zeta acc: only the candidate has it",
    },
    Case {
        name: "o37 a task under another name",
        base: |made| made.task("old", 333, 1000),
        tuned: |made| made.task("renamed", 333, 1000),
        more: &[],
        exit: 3,
        verdict: "not_measured",
        says: "renamed? value and items agree: old acc is renamed acc",
    },
    Case {
        name: "o04 another batch size is told",
        base: |made| made.set(&["config", "batch_size"], json!("1")).task("arc", 100, 311),
        tuned: |made| made.set(&["config", "batch_size"], json!("32")).task("arc", 94, 311),
        more: &[],
        exit: 1,
        verdict: "regression",
        says: "other settings differ: batch_size: 1 in the base, 32 in the candidate",
    },
    Case {
        name: "o04 another batch size where settings are strict",
        base: |made| made.set(&["config", "batch_size"], json!("1")).task("arc", 100, 311),
        tuned: |made| made.set(&["config", "batch_size"], json!("32")).task("arc", 94, 311),
        more: &["--strict-config"],
        exit: 3,
        verdict: "incomparable",
        says: "the two were not made alike: batch_size: 1 in the base, 32 in the candidate",
    },
    Case {
        name: "another backend is told",
        base: AS_IT_IS,
        tuned: |made| made.set(&["config", "model"], json!("vllm")),
        more: &[],
        exit: 0,
        verdict: "no_regression",
        says: "other settings differ: model: hf in the base, vllm in the candidate",
    },
];

#[test]
fn each_trap_has_its_verdict_its_words_and_its_exit_code() {
    for case in CASES {
        let sandbox = sides(&(case.base)(plain(BASE)), &(case.tuned)(plain(TUNED)));
        let done = judged(&sandbox, case.more).exits(case.exit);
        assert!(done.out.contains(case.says), "{}: {}", case.name, done.out);
        let found = counted(&last(&sandbox));
        assert!(found.iter().any(|(_, verdict)| verdict == case.verdict), "{}: {found:?}", case.name);
    }
}

#[test]
fn o05_a_group_is_shown_and_its_members_count() {
    let made = |model, b: u64, group: f64, shots: u32| {
        Made::of(model)
            .task("a", 72, 90)
            .task("b", b, 10)
            .metric("g", "acc,none", group, 100)
            .without(&["n-samples", "g"])
            .set(&["results", "g", "sample_count"], json!({ "acc,none": 100 }))
            .set(&["group_subtasks", "g"], json!(["a", "b"]))
            .set(&["n-shot", "g"], json!(shots))
    };
    let sandbox = sides(&made(BASE, 5, 0.77, 0), &made(TUNED, 3, 0.75, 5));
    let done = judged(&sandbox, &[]).exits(1);
    let record = last(&sandbox);
    let words = |name: &str, verdict: &str| (name.to_owned(), verdict.to_owned());
    assert_eq!(counted(&record), [words("b acc", "regression"), words("a acc", "no_regression")]);
    assert_eq!(
        verdicts(&record, |ruling| ruling["required"] == false),
        [words("g acc", "regression")],
        "shown, and not counted"
    );
    assert!(
        done.out.contains("its tasks count, and its own score is only shown"),
        "{}",
        done.out
    );
    // A group that the candidate lacks is told.
    let sandbox = sides(&made(BASE, 5, 0.77, 0), &made(TUNED, 5, 0.77, 0).without(&["results", "g"]));
    let done = judged(&sandbox, &[]).exits(0);
    assert!(
        done.out.contains("g acc: the base has it and the candidate does not"),
        "{}",
        done.out
    );
}

#[test]
fn what_stands_beside_the_metrics_is_none() {
    let beside = |made: Made| {
        made.set(&["results", "arc", "sample_count"], json!({ "acc,none": 1000 }))
            .set(&["results", "arc", "name"], json!("arc"))
    };
    let sandbox = sides(&beside(plain(BASE)), &beside(plain(TUNED)));
    judged(&sandbox, &[]).exits(0);
    let names: Vec<String> = verdicts(&last(&sandbox), |_| true).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["arc acc", "piqa acc"]);
}

#[test]
fn o23_what_is_not_a_number_is_not_less_than_anything() {
    let text = plain(TUNED).text().replacen("\"acc,none\": 0.75", "\"acc,none\": NaN", 1);
    assert!(text.contains("NaN"));
    let sandbox = sides(&plain(BASE), &plain(TUNED));
    sandbox.write("tuned.json", text);
    let done = judged(&sandbox, &[]).exits(3);
    assert!(done.out.contains("the candidate has no score: not a finite number"), "{}", done.out);
    let record = last(&sandbox);
    assert_eq!(
        counted(&record)[1],
        ("piqa acc".to_owned(), "no_regression".to_owned()),
        "others are judged"
    );
}

#[test]
fn a_task_that_stands_twice_has_no_score() {
    let text = plain(TUNED).text();
    let twice = text.replacen("\"results\": {", "\"results\": { \"arc\": { \"acc,none\": 0.99 },", 1);
    let sandbox = sides(&plain(BASE), &plain(TUNED));
    sandbox.write("tuned.json", twice);
    let done = judged(&sandbox, &[]);
    assert_ne!(done.code, Some(0), "{}", done.out);
}

#[test]
fn a_perplexity_has_no_points_and_is_judged_where_percent_are_declared() {
    let made = |model, value: f64| {
        Made::of(model)
            .set(
                &["results", "wikitext"],
                json!({ "word_perplexity,none": value, "word_perplexity_stderr,none": "N/A" }),
            )
            .set(&["higher_is_better", "wikitext"], json!({ "word_perplexity": false }))
    };
    let sandbox = sides(&made(BASE, 10.0), &made(TUNED, 10.3));
    let done = judged(&sandbox, &[]).exits(3);
    assert!(
        done.out.contains("has no percentage points, so the rule says nothing of it"),
        "{}",
        done.out
    );
    for (tolerance, tuned, exit, words) in [
        (
            "2%",
            10.3,
            1,
            "10.00 in the base, 10.30 in the candidate: worse by 3.00 %, more than the 2 % that is allowed",
        ),
        ("3%", 10.3, 0, "worse by 3.00 %, of 3 % that is allowed"),
        ("2%", 9.0, 0, "better by 10.00 %"),
    ] {
        let sandbox = sides(&made(BASE, 10.0), &made(TUNED, tuned));
        let done = judged(&sandbox, &["--tolerance", tolerance]).exits(exit);
        assert!(done.out.contains(words), "{tolerance}: {}", done.out);
        last(&sandbox);
    }
    // Beside scores with points it neither fails nor keeps from an answer.
    let both = |model, value| {
        let mut made = plain(model);
        made.0["results"]["wikitext"] = perplexity(value);
        made.set(&["higher_is_better", "wikitext"], json!({ "word_perplexity": false }))
    };
    judged(&sides(&both(BASE, 10.0), &both(TUNED, 99.0)), &[]).exits(0);
}

fn perplexity(value: f64) -> serde_json::Value {
    json!({ "word_perplexity,none": value, "word_perplexity_stderr,none": "N/A" })
}

#[test]
fn what_is_compared_with_itself_is_refused() {
    let sandbox = sides(&plain(BASE), &plain(BASE));
    sandbox
        .gate(&["eval", "base.json", "--baseline", "base.json"])
        .exits(2)
        .says("the same results, byte for byte");
    judged(&sandbox, &[]).exits(2).says("nothing to compare");
    assert!(sandbox.ledger().is_empty());
}
