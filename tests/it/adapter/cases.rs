//! Public reports of tools that read results wrongly, each as a test of what must be read instead.

use std::fs;

use gate::adapter::find;
use gate::model::figure::Reading;
use gate::model::gate::declaration::Series;
use gate::model::report::{Process, Report};

use super::series;
use super::told::{read, told};
use crate::sources::root;

/// The bytes of a case: `NAME/FILE`.
fn bytes(case: &str) -> Vec<u8> {
    fs::read(root().join("tests/data/adapter").join(case)).unwrap()
}

fn report(case: &str) -> Report {
    let adapter = case.split('/').next().unwrap();
    read(find(adapter).unwrap(), &bytes(case), false).unwrap()
}

fn refusal(case: &str) -> String {
    let adapter = case.split('/').next().unwrap();
    read(find(adapter).unwrap(), &bytes(case), false).unwrap_err().0
}

/// What `gate perf` would read of a case: `FLAG` as `--metric`, from a series of the output.
fn figures(case: &str, flags: &[(&str, &str)]) -> Reading {
    let adapter = case.split('/').next().unwrap();
    let wanted: Vec<Series> = flags
        .iter()
        .map(|(flag, from)| Series {
            from: (*from).to_owned(),
            ..series(flag)
        })
        .collect();
    find(adapter).unwrap().reading(&bytes(case), &wanted)
}

#[test]
fn case_o_10_units_convert_or_are_refused() {
    let reading = figures(
        "google-benchmark/errors-and-skips.json",
        &[
            ("ok:lower:ms", "real_time[benchmark=BM_ok]"),
            ("bad:lower:req/s", "real_time[benchmark=BM_ok]"),
        ],
    );
    assert_eq!(reading.values["ok"], 0.005);
    assert_eq!(reading.missing["bad"].why, "given in us, which does not convert to req/s");
}

#[test]
fn case_o_13_a_command_that_dies_at_once_is_never_the_fastest() {
    let report = report("hyperfine/ignored-failures.json");
    let failed = |series: &&gate::model::report::Reported| series.processes.iter().any(|process| matches!(process, Process::Missing(_)));
    assert_eq!(
        report.series.iter().filter(failed).count(),
        9,
        "three commands, three series each: {}",
        told(&Ok(report.clone()))
    );
    let reading = figures("hyperfine/ignored-failures.json", &[("t:lower:ms", "time[command=./killed]")]);
    assert_eq!(
        reading.missing["t"].why, "ended by a signal",
        "one good run beside it does not count"
    );
}

#[test]
fn case_o_14_all_repetitions_of_a_name_are_one_series_and_aggregates_are_none() {
    let median = |case| figures(case, &[("t:lower:ns", "real_time")]).values["t"];
    assert_eq!(median("google-benchmark/repetitions-base.json"), 11.0);
    assert_eq!(median("google-benchmark/repetitions-new.json"), 11.0);
}

#[test]
fn case_o_15_nothing_is_rounded_before_it_is_compared() {
    let report = report("google-benchmark/old-without-run-type.json");
    assert_eq!(report.series[0].processes, [Process::of(vec![1.8, 2.2])]);
}

#[test]
fn case_o_16_lines_around_one_document_are_skipped_and_two_are_refused() {
    let report = report("llama-bench/log-around-array.txt");
    assert_eq!(report.notes, ["skipped 2 lines before, 1 after"]);
    assert!(refusal("llama-bench/two-arrays.json").starts_with("two JSON documents in one stream"));
}

#[test]
fn case_o_17_rows_that_differ_in_configuration_are_never_averaged() {
    let case = "llama-bench/two-ubatches.jsonl";
    let reading = figures(
        case,
        &[
            ("both:higher:tok/s", "pp512"),
            ("a:higher:tok/s", "pp512[n_ubatch=512]"),
            ("b:higher:tok/s", "pp512[n_ubatch=2048]"),
        ],
    );
    assert_eq!((reading.values["a"], reading.values["b"]), (1500.5, 1900.0));
    assert!(
        reading.missing["both"].why.contains("pp512[n_ubatch=2048], pp512[n_ubatch=512]"),
        "{reading:?}"
    );
    let newer = report("llama-bench/newer-fields.jsonl");
    assert_eq!(newer.config["moe_cache"], "on", "an unknown field is configuration");
}

#[test]
fn case_o_19_the_median_decides_and_a_slow_first_repetition_is_named() {
    let reading = figures("llama-bench/first-repetition-slow.jsonl", &[("t:higher:tok/s", "pp512")]);
    assert_eq!(reading.values["t"], 42950.0);
    assert_eq!(
        report("llama-bench/first-repetition-slow.jsonl").series[0].notes,
        ["noisy: the first repetition lies -88 % from the others"]
    );
}

#[test]
fn case_o_24_a_diverged_run_is_no_broken_runner() {
    let reading = figures("llama-bench/c-printf-not-finite.jsonl", &[("t:higher:tok/s", "tg128")]);
    assert_eq!(reading.missing["t"].why, "avg_ts is not a finite number (inf)");
}

#[test]
fn case_o_25_utf_16_from_a_shell_reads_as_the_plain_file() {
    let value = |case| figures(case, &[("t:higher:tok/s", "tg128")]).values["t"];
    assert_eq!(value("llama-bench/utf16-from-a-shell.jsonl"), value("llama-bench/lines.jsonl"));
    assert_eq!(value("llama-bench/marked.json"), 95.5);
}

#[test]
fn case_o_26_a_crash_after_the_results_is_quoted() {
    for case in ["llama-bench/table-then-crash.txt", "llama-bench/lines-then-crash.jsonl"] {
        let told = refusal(case);
        assert!(told.contains("looks like a crash: \"terminate called"), "{case}: {told}");
    }
    assert_eq!(refusal("llama-bench/only-init-lines.txt"), "no result rows of llama-bench");
}

#[test]
fn a_direction_against_the_format_is_a_failure() {
    let reading = figures("llama-bench/lines.jsonl", &[("t:lower:tok/s", "tg128")]);
    assert!(
        reading.missing["t"].why.starts_with("the format says that higher is better"),
        "{reading:?}"
    );
}
