//! mindXtrain: a run of any length in a few numbers, and what its zeros stand for.

use gate::adapter::find;
use gate::model::report::Process;

use super::cases::{bytes, figures, of, refusal, report};
use super::told::read;
use crate::sandbox::{Sandbox, json};

#[test]
fn a_run_is_told_by_its_mean_its_peak_and_its_last_value() {
    let flags = [
        ("rate:higher:tok/s", "tok_per_s"),
        ("mfu:higher:%", "mfu"),
        ("memory:lower:GB", "hbm_gb"),
        ("power:lower:W", "watts"),
        ("loss:lower:1", "eval_loss"),
    ];
    let reading = figures("mindxtrain/metrics.jsonl", &flags);
    assert_eq!(reading.values["rate"], (9120.5 + 15210.0 + 15188.5) / 3.0, "null is skipped, not 0");
    assert!((reading.values["mfu"] - 35.3).abs() < 1e-9);
    assert_eq!(reading.values["memory"], 79.5);
    assert_eq!(reading.values["power"], (612.0 + 748.0 + 750.0) / 3.0, "0 W is no power");
    assert_eq!(reading.values["loss"], 1.48);
    let rate = of(&report("mindxtrain/metrics.jsonl"), "tok_per_s");
    assert_eq!(rate.n, Some(3));
    assert_eq!(
        rate.notes,
        ["the mean of 3 values between 9120 and 15210", "not measured in 1 more record"]
    );
}

#[test]
fn zeros_and_percent_are_told_from_values() {
    let power = [("w:lower:W", "watts")];
    let reading = figures("mindxtrain/metrics-no-sensor.jsonl", &power);
    assert_eq!(reading.missing["w"].why, "0 W stands for a sensor that is not there");
    let mfu = [("m:higher:1", "mfu")];
    assert_eq!(figures("mindxtrain/metrics-in-percent.jsonl", &mfu).values["m"], 0.41);
    let mixed = figures("mindxtrain/metrics-share-and-percent.jsonl", &mfu);
    assert!(mixed.missing["m"].why.contains("neither a share nor percent"), "{mixed:?}");
}

#[test]
fn a_run_that_diverged_or_failed_is_no_measurement() {
    let reading = figures(
        "mindxtrain/metrics-diverged.jsonl",
        &[("l:lower:1", "loss"), ("r:higher:tok/s", "tok_per_s")],
    );
    assert_eq!(reading.missing["l"].why, "not a finite number at line 2");
    assert_eq!(reading.values["r"], 100.5);
    let failed = figures("mindxtrain/events-failed.jsonl", &[("l:lower:1", "loss")]);
    assert!(failed.missing["l"].why.contains("HIP out of memory"), "{failed:?}");
    assert!(refusal("mindxtrain/events-unfinished.jsonl").contains("did not finish"));
}

#[test]
fn steps_that_go_back_begin_another_process() {
    let rate = of(&report("mindxtrain/metrics-of-two-runs.jsonl"), "tok_per_s");
    assert_eq!(rate.processes, [Process::of(vec![101.0]), Process::of(vec![91.0])]);
}

#[test]
fn a_cut_line_needs_leave_and_a_broken_one_is_named() {
    let case = "mindxtrain/metrics-last-line-cut.jsonl";
    assert!(refusal(case).contains("--partial"));
    let partial = read(find("mindxtrain").unwrap(), &bytes(case), true).unwrap();
    assert_eq!(of(&partial, "tok_per_s").n, Some(3), "not the 151 of the line that was cut");
    assert!(refusal("mindxtrain/metrics-line-broken.jsonl").starts_with("not JSON at line 4"));
}

#[test]
fn persona_and_agenda_are_tasks_of_their_own() {
    for case in [
        "scores.json",
        "events.jsonl",
        "events.sse.txt",
        "manifest.json",
        "scores-beside-results.json",
    ] {
        let report = report(&format!("mindxtrain/{case}"));
        let persona = of(&report, "regression_score[task=persona]");
        assert!(matches!(persona.processes.as_slice(), [Process::Repetitions(_)]), "{case}");
        assert_eq!(persona.unit.map(|unit| unit.canonical()), Some("1"));
    }
    let zero = of(&report("mindxtrain/scores-without-samples.json"), "regression_score[task=persona]");
    assert!(
        matches!(zero.processes.as_slice(), [Process::Missing(_)]),
        "0 stands for no samples"
    );
    let names: Vec<String> = report("mindxtrain/manifest.json")
        .series
        .iter()
        .map(|series| series.label())
        .collect();
    assert_eq!(
        names,
        ["acc[filter=none,task=mmlu]", "regression_score[task=persona]"],
        "no standard error, no count"
    );
}

#[test]
fn a_large_file_reads_as_a_small_one() {
    let sandbox = Sandbox::new();
    let row = |step: u64| {
        format!(
            "{{\"step\": {step}, \"tok_per_s\": {}, \"mfu\": 0.4, \"hbm_gb\": 70.5, \"note\": \"\u{fc}\"}}\n",
            15_000 + step % 3
        )
    };
    let rows: String = (1..=90_000).map(row).collect();
    assert!(rows.len() > 5 << 20, "large enough to be read line by line");
    sandbox.write("metrics.jsonl", &rows);
    let done = sandbox.gate(&["ingest", "--format", "json", "metrics.jsonl"]).exits(0);
    let series = &json(&done.out)["results"][0]["series"];
    assert_eq!((&series[0]["name"], &series[0]["n"]), (&"tok_per_s".into(), &90_000.into()));
    assert_eq!(series[0]["processes"][0]["repetitions"][0], 15_001.0);
    sandbox.write("cut.jsonl", format!("{rows}{{\"step\": "));
    sandbox.gate(&["ingest", "cut.jsonl"]).exits(2).says("--partial");
    sandbox.gate(&["ingest", "--partial", "cut.jsonl"]).exits(0);
    sandbox.write("broken.jsonl", format!("{rows}{{\"step\" 1}}\n{}", row(1)));
    sandbox.gate(&["ingest", "broken.jsonl"]).exits(2).says("not JSON at line 90001");
    sandbox.write("long.jsonl", format!("{rows}{{\"step\": \"{}\"}}\n", "x".repeat(5 << 20)));
    sandbox.gate(&["ingest", "long.jsonl"]).exits(2).says("line 90001: over ");
    sandbox.write("binary.jsonl", format!("{rows}\0\n"));
    sandbox.gate(&["ingest", "binary.jsonl"]).exits(2).says("NUL");
}
