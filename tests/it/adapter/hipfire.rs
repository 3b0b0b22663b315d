//! hipfire: its scripts end well whatever happened, so that the rows decide.

use gate::adapter::find;
use gate::model::report::{Process, Reported};

use super::cases::{bytes, figures, of, refusal, report};
use super::told::read;

#[test]
fn a_summary_tells_its_units_and_a_zero_is_no_speed() {
    let flags = [
        ("gen:higher:tok/s", "gen_tok_s"),
        ("bw:higher:GB/s", "bw_gib_s"),
        ("step:lower:us", "p50_ms"),
    ];
    let reading = figures("hipfire/summary.txt", &flags);
    assert_eq!((reading.values["gen"], reading.values["step"]), (164.0, 6050.0));
    assert!((reading.values["bw"] - 872.3).abs() < 0.1, "GiB are no GB: {reading:?}");
    let reading = figures("hipfire/summary-nothing-generated.txt", &flags);
    assert!(reading.values.is_empty());
    assert_eq!(reading.missing["gen"].why, "0 stands for nothing that ran");
    assert_eq!(report("hipfire/summary-newer-words.txt").config["ck_active"], "1");
}

#[test]
fn two_summaries_are_two_runs_and_never_the_last_alone() {
    let generated = of(&report("hipfire/summary-of-two-runs.txt"), "gen_tok_s");
    assert_eq!(generated.processes, [Process::of(vec![164.0]), Process::of(vec![150.0])]);
}

#[test]
fn a_run_that_crashed_spoils_its_bucket_and_no_other() {
    let flags = [
        ("a:higher:tok/s", "decode[pp=32]"),
        ("b:higher:tok/s", "decode[pp=128]"),
        ("c:higher:tok/s", "decode"),
    ];
    let reading = figures("hipfire/cold.txt", &flags);
    assert_eq!((reading.values["a"], reading.values["b"]), (164.0, 163.9));
    assert!(reading.missing["c"].why.contains("decode[pp=128], decode[pp=32]"), "{reading:?}");
    let reading = figures("hipfire/cold-with-crash.txt", &flags);
    assert_eq!(reading.missing["a"].why, "the run crashed");
    assert!(figures("hipfire/cold-every-run-crashed.txt", &flags).values.is_empty());
}

#[test]
fn a_bench_that_did_not_finish_needs_leave() {
    let case = "hipfire/cold-killed.txt";
    assert!(refusal(case).contains("--partial"));
    let partial = read(find("hipfire").unwrap(), &bytes(case), true).unwrap();
    let prefill = of(&partial, "prefill[pp=128]");
    assert_eq!(
        prefill.processes,
        [Process::of(vec![1306.3])],
        "not the 12 of the line that was cut"
    );
    assert!(refusal("hipfire/cold-row-missing.txt").contains("2 of 3 runs of pp32"));
    assert!(refusal("hipfire/summary-cut.txt").contains("no end"));
    assert!(refusal("hipfire/crashed.txt").contains("looks like a crash: \"thread 'main' panicked"));
}

#[test]
fn figures_of_unhealthy_turns_are_none_and_an_estimate_has_another_name() {
    let report = report("hipfire/serve-unhealthy.json");
    let values = |turn: &str| {
        let of_turn = |series: &&Reported| series.of.get("turn").is_some_and(|is| is == turn);
        let processes = report.series.iter().filter(of_turn).flat_map(|series| &series.processes);
        processes.filter(|process| matches!(process, Process::Repetitions(_))).count()
    };
    assert_eq!(["1", "2", "3", "5"].map(values), [0, 0, 5, 0]);
    let names: Vec<String> = report.series.iter().map(Reported::label).collect();
    assert!(names.contains(&"decode_tok_s[source=client,turn=4]".to_owned()), "{names:?}");
    assert!(!names.contains(&"decode_tok_s[turn=4]".to_owned()));
    assert_eq!(of(&report, "runaway_turns").processes, [Process::of(vec![1.0])]);
    assert!(report.notes[0].contains("no digest"));
}

#[test]
fn a_length_that_did_not_fit_is_missing_and_an_error_fails_all() {
    let flags = [
        ("a:higher:tok/s", "prefill_tok_s[pp=128]"),
        ("b:higher:tok/s", "prefill_tok_s[pp=8192]"),
    ];
    let reading = figures("hipfire/suite.json", &flags);
    assert_eq!(reading.values["a"], 1306.3);
    assert_eq!(reading.missing["b"].why, "hipErrorOutOfMemory");
    assert!(figures("hipfire/suite-failed.json", &flags).values.is_empty());
    let model = [("d:higher:tok/s", "decode_tokS[mode=off,model=m:27b]")];
    assert_eq!(figures("hipfire/models.json", &model).missing["d"].why, "exit code 137");
}

#[test]
fn a_baseline_is_told_as_one() {
    let report = report("hipfire/baseline.txt");
    assert_eq!(report.series.len(), 4, "what is commented out is none");
    assert!(
        report
            .series
            .iter()
            .all(|series| series.notes == ["written down, not measured here"])
    );
    assert!(refusal("hipfire/baseline-key-twice.txt").contains("duplicate"));
}
