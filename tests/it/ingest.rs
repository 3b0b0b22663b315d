//! `gate ingest`: what other tools' files say, shown and not judged.

use std::fs;

use crate::sandbox::{Sandbox, json};
use crate::sources::root;

fn data(name: &str) -> String {
    root().join("tests/data/adapter").join(name).display().to_string()
}

#[test]
fn evidence_is_shown_and_nothing_is_judged() {
    let sandbox = Sandbox::new();
    let done = sandbox.gate(&["ingest", &data("hyperfine/ignored-failures.json")]).exits(0);
    for words in ["hyperfine", "time[command=./good]", "exit code 3", "ended by a signal", "0.205"] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    let done = sandbox
        .gate(&["ingest", "--format", "json", &data("google-benchmark/not-finite.json")])
        .exits(0);
    let told = json(&done.out);
    assert_eq!(told["version"], 1);
    assert_eq!(told["results"][0]["adapter"], "google-benchmark");
    assert_eq!(
        told["results"][0]["series"][0]["processes"][0]["missing"]["why"],
        "not a finite number"
    );
    let list = sandbox.gate(&["ingest", "--list"]).exits(0).out;
    let named: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let all: Vec<&str> = gate::adapter::ALL.iter().map(|adapter| adapter.name).collect();
    assert_eq!(named, all);
}

#[test]
fn a_refused_file_is_named_with_its_reason_and_the_others_are_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("cut.json", "{\"results\": [{\"command\": ");
    let good = data("hyperfine/one-run.json");
    let done = sandbox.gate(&["ingest", "cut.json", &good, "absent.json"]).exits(2);
    assert!(done.out.contains("time[command=./a]"), "{}", done.out);
    assert!(done.err.contains("cut.json: the JSON ends in the middle"), "{}", done.err);
    assert!(done.err.contains("absent.json: cannot be read"), "{}", done.err);
    sandbox.gate(&["ingest"]).exits(2).says("FILE|DIR");
    sandbox
        .gate(&["ingest", "--adapter", "key-value", &good])
        .exits(2)
        .says("none is declared");
    sandbox
        .gate(&["ingest", "--adapter", "google-benchmark", &good])
        .exits(2)
        .says("no measurement");
}

#[test]
fn folders_are_searched_and_what_nobody_knows_is_named() {
    let sandbox = Sandbox::new();
    let bytes = fs::read(data("hyperfine/one-run.json")).unwrap();
    for folder in ["out/deep/down", "none"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("out/deep/down/results", &bytes);
    sandbox.write("out/readme.txt", "hello");
    let done = sandbox.gate(&["ingest", "out"]).exits(0);
    assert!(done.out.starts_with("out/deep/down/results (hyperfine"), "{}", done.out);
    assert!(done.err.contains("left out: out/readme.txt"), "{}", done.err);
    sandbox.write("none/a.txt", "hello");
    sandbox.gate(&["ingest", "none"]).exits(2).says("no result found in 1 file");
}

#[test]
fn an_older_result_is_a_leftover() {
    let sandbox = Sandbox::new();
    let old = data("google-benchmark/repetitions-base.json");
    sandbox
        .gate(&["ingest", "--started-at", "2026-03-01T12:00:00Z", &old])
        .exits(2)
        .says("a stale result: the date inside is 2026-03-01T10:00:00Z");
    sandbox.gate(&["ingest", "--started-at", "2026-03-01T09:00:00Z", &old]).exits(0);
    sandbox
        .gate(&["ingest", "--started-at", "2999-01-01T00:00:00Z", &data("hyperfine/one-run.json")])
        .exits(2)
        .says("when the file was written");
    sandbox
        .gate(&["ingest", "--started-at", "yesterday", &old])
        .exits(2)
        .says("--started-at");
}

#[test]
fn a_cut_last_line_needs_leave() {
    let sandbox = Sandbox::new();
    let cut = data("llama-bench/last-line-cut.jsonl");
    sandbox.gate(&["ingest", &cut]).exits(2).says("--partial");
    let done = sandbox.gate(&["ingest", "--partial", &cut]).exits(0);
    for words in ["pp512", "note: the last line ends in the middle and was left out"] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
}

#[test]
fn evidence_is_written_in_the_formats_that_adapters_write() {
    let sandbox = Sandbox::new();
    let bench = data("llama-bench/lines.jsonl");
    let done = sandbox.gate(&["ingest", "--format", "bmf", &bench]).exits(0);
    assert_eq!(json(&done.out)["pp512"]["value"]["value"], 1500.5);
    let done = sandbox.gate(&["ingest", "--format", "github-action-benchmark", &bench]).exits(0);
    assert_eq!(
        json(&done.out)[1],
        serde_json::json!({"name": "tg128", "unit": "tok/s", "value": 95.5})
    );
    sandbox
        .gate(&["ingest", "--format", "bmf", &data("hyperfine/ignored-failures.json")])
        .exits(2)
        .says("cannot say that a value is missing");
    sandbox
        .gate(&["ingest", "--format", "yaml", &bench])
        .exits(2)
        .says("terminal, json, bmf");
    sandbox
        .gate(&["ingest", "--format", "bmf", &bench, &bench])
        .exits(2)
        .says("give one file");
}

#[test]
fn a_format_that_cannot_be_told_is_refused_with_the_candidates() {
    let sandbox = Sandbox::new();
    let two_things = data("mindxtrain/scores-beside-results.json");
    sandbox
        .gate(&["ingest", &two_things])
        .exits(2)
        .says("could be lm-eval or mindxtrain: choose with --adapter");
    let chosen = sandbox.gate(&["ingest", "--adapter", "mindxtrain", &two_things]).exits(0);
    assert!(chosen.out.contains("regression_score[task=persona]"), "{}", chosen.out);
}

#[test]
fn a_parity_that_was_not_measured_is_no_zero_and_a_zero_is_shown_as_one() {
    let sandbox = Sandbox::new();
    let done = sandbox.gate(&["ingest", &data("poros/results.jsonl")]).exits(0);
    let row = |method: &str| {
        let label = format!("parity_loss_max_diff[method={method},");
        done.out
            .lines()
            .find(|line| line.contains(&label))
            .unwrap_or_else(|| panic!("{method}: {}", done.out))
    };
    assert!(row("poros").contains("0.00e+00"), "{}", row("poros"));
    let twice = sandbox.gate(&["ingest", &data("poros/same-cell-twice.jsonl")]).exits(0);
    let unmeasured = twice
        .out
        .lines()
        .find(|line| line.contains("parity_") && line.contains("not measured"));
    assert!(unmeasured.is_some_and(|line| line.contains("  --  ")), "{}", done.out);
    let memory = done.out.lines().find(|line| line.contains("vram_peak_mb[method=poros,"));
    assert!(
        memory.is_some_and(|line| line.contains("controlled by the protocol")),
        "{}",
        done.out
    );
}
