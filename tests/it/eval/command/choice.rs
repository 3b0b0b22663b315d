//! Which results are meant, and what is none.

use std::fs;

use serde_json::json;

use super::{BASE, Made, TUNED, counted, last, log};
use crate::sandbox::Sandbox;

const OTHER: (&str, &str) = ("org/other", "55aa");

/// Three results in the folders that the harness makes: two of one model, one of another; the newer by name is the older by its date.
fn runs() -> Sandbox {
    let sandbox = Sandbox::new();
    for folder in ["out/org__tuned", "out/org__other", "empty"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    let made = |model, right, date: f64| Made::of(model).task("arc", right, 1000).set(&["date"], json!(date)).text();
    sandbox.write("out/org__tuned/results_2026-01-02T00-00-00.json", made(TUNED, 700, 1_700_000_000.0));
    sandbox.write("out/org__tuned/results_2026-01-01T00-00-00.json", made(TUNED, 750, 1_800_000_000.0));
    sandbox.write("out/org__other/results_2026-01-03T00-00-00.json", made(OTHER, 100, 1_750_000_000.0));
    sandbox.write("out/notes.txt", "what I saw");
    sandbox.write("base.json", Made::of(BASE).task("arc", 750, 1000).text());
    sandbox
}

#[test]
fn o03_several_results_need_a_choice_and_the_newest_is_so_by_the_date_inside() {
    let sandbox = runs();
    let eval = |more: &[&str]| sandbox.gate(&[&["eval", "out", "--baseline", "base.json"], more].concat());
    let done = eval(&[]).exits(2).says("3 results: name one, or choose with --newest or --model");
    for words in [
        "out/org__tuned/results_2026-01-01T00-00-00.json: org/tuned (77aa41aa001177aa41aa001177aa41aa001177aa), 2027-01-15T08:00:00Z",
        "out/org__other/results_2026-01-03T00-00-00.json: org/other, 2025-06-15T15:06:40Z",
    ] {
        assert!(done.err.contains(words), "{words}: {}", done.err);
    }
    eval(&["--model", "tuned"]).exits(2).says("2 results");
    eval(&["--model", "nobody"]).exits(2).says("no result of the model \"nobody\"");
    for more in [&["--newest"][..], &["--model", "org/tuned", "--newest"]] {
        eval(more).exits(0);
        let record = last(&sandbox);
        assert_eq!(counted(&record), [("arc acc".to_owned(), "no_regression".to_owned())]);
        assert_eq!(record["evidence"]["scores"]["candidate"]["at"], "2027-01-15T08:00:00Z");
    }
    eval(&["--model", "other"]).exits(1);
    let empty = sandbox.gate(&["eval", "empty", "--baseline", "base.json"]);
    empty.exits(2).says("empty: no result found");
}

#[test]
fn a_copy_is_no_second_result_and_an_undated_one_is_never_the_newest() {
    let sandbox = runs();
    fs::remove_dir_all(sandbox.path("out/org__other")).unwrap();
    let newest = sandbox.path("out/org__tuned/results_2026-01-01T00-00-00.json");
    fs::remove_file(sandbox.path("out/org__tuned/results_2026-01-02T00-00-00.json")).unwrap();
    // A run tree copies the results of the harness to a place of its own.
    fs::copy(newest, sandbox.path("out/eval.json")).unwrap();
    sandbox.gate(&["eval", "out", "--baseline", "base.json"]).exits(0);
    let undated = Made::of(TUNED).task("arc", 740, 1000).without(&["date"]);
    sandbox.write("out/eval.json", undated.text());
    let done = sandbox.gate(&["eval", "out", "--baseline", "base.json", "--newest"]);
    done.exits(2).says("out/eval.json: no date inside");
}

#[test]
fn what_is_no_result_is_refused_and_nothing_is_recorded() {
    let sandbox = runs();
    let whole = Made::of(TUNED).task("arc", 750, 1000).text();
    sandbox.write("cut.json", &whole[..whole.len() - 40]);
    sandbox.write("samples_arc.jsonl", log("arc", [true, false]));
    sandbox.write("page.html", "<!DOCTYPE html><html></html>");
    sandbox.write("empty.json", "");
    sandbox.write("bare.json", "{\"results\": {}, \"versions\": {}, \"config\": {}}");
    for (file, words) in [
        ("cut.json", "cut.json: the JSON ends in the middle"),
        ("samples_arc.jsonl", "a log of single answers holds no scores of tasks"),
        ("page.html", "page.html:"),
        ("empty.json", "empty.json:"),
        ("bare.json", "no task was evaluated"),
        ("absent.json", "absent.json: cannot be read"),
    ] {
        sandbox.gate(&["eval", file, "--baseline", "base.json"]).exits(2).says(words);
        sandbox.gate(&["eval", "base.json", "--baseline", file]).exits(2);
    }
    sandbox.gate(&["eval"]).exits(2).says("no results are named");
    assert!(sandbox.ledger().is_empty(), "nothing was judged");
}

#[test]
fn older_results_and_a_bare_map_are_read_as_they_are() {
    let sandbox = Sandbox::new();
    let old = |acc: f64| {
        json!({
            "results": { "piqa": { "acc": acc, "acc_stderr": 0.01 } }, "versions": { "piqa": 0 },
            "config": { "model": "hf-causal", "model_args": "pretrained=org/base", "num_fewshot": 0, "limit": null },
        })
        .to_string()
    };
    sandbox.write("base.json", old(0.75));
    sandbox.write("tuned.json", old(0.73).replace("org/base", "org/tuned"));
    let done = sandbox.gate(&["eval", "tuned.json", "--baseline", "base.json"]).exits(1);
    assert!(done.out.contains("n is not reported"), "{}", done.out);
    assert!(done.out.contains("not stated on either side, so it may differ"), "{}", done.out);
    let inner = |acc: f64| json!({ "piqa": { "acc,none": acc, "acc_stderr,none": 0.01 } }).to_string();
    sandbox.write("base.json", inner(0.75));
    sandbox.write("tuned.json", inner(0.745));
    let done = sandbox.gate(&["eval", "tuned.json", "--baseline", "base.json"]).exits(0);
    assert!(
        done.out.contains("model is unknown (the base's results do not name it)"),
        "{}",
        done.out
    );
    last(&sandbox);
}

#[test]
fn several_runs_of_the_base_are_judged_by_their_middle() {
    let sandbox = Sandbox::new();
    for (at, right) in [740, 760, 750].into_iter().enumerate() {
        let date = json!(1_790_000_000.0 + at as f64);
        sandbox.write(
            &format!("base{at}.json"),
            Made::of(BASE).task("arc", right, 1000).set(&["date"], date).text(),
        );
    }
    let bases = ["--baseline", "base0.json", "--baseline", "base1.json", "--baseline", "base2.json"];
    for (right, exit) in [(740, 0), (739, 1)] {
        sandbox.write("tuned.json", Made::of(TUNED).task("arc", right, 1000).text());
        let done = sandbox.gate(&[&["eval", "tuned.json"][..], &bases].concat()).exits(exit);
        assert!(done.out.contains("74.00 / 75.00 / 76.00 %, 3 runs"), "{}", done.out);
        assert!(
            done.out.contains("the middle of 3 accepted runs, from 74 % to 76 %"),
            "{}",
            done.out
        );
        let ruling = &last(&sandbox)["judgement"]["verdicts"][0];
        assert_eq!(ruling["base"], json!({ "n": 3, "min": 74.0, "median": 75.0, "max": 76.0 }));
    }
    // A run that was made otherwise is left out, and said.
    let other = Made::of(BASE)
        .task("arc", 990, 1000)
        .set(&["n-shot", "arc"], json!(0))
        .set(&["date"], json!(1.0));
    sandbox.write("base0.json", other.text());
    let done = sandbox.gate(&[&["eval", "tuned.json"][..], &bases].concat()).exits(1);
    assert!(
        done.out.contains("1 run of the base made otherwise than the newest, and left out"),
        "{}",
        done.out
    );
}
