//! Public reports of tools that read results wrongly, each as a test of what must be read instead.

use std::fs;

use gate::adapter::find;
use gate::model::figure::Reading;
use gate::model::gate::declaration::Series;
use gate::model::metric::Better;
use gate::model::report::{Process, Report, Reported};

use super::series;
use super::told::{read, told};
use crate::sources::root;

/// The bytes of a case: `NAME/FILE`.
pub fn bytes(case: &str) -> Vec<u8> {
    fs::read(root().join("tests/data/adapter").join(case)).unwrap()
}

pub fn report(case: &str) -> Report {
    let adapter = case.split('/').next().unwrap();
    read(find(adapter).unwrap(), &bytes(case), false).unwrap()
}

pub fn refusal(case: &str) -> String {
    let adapter = case.split('/').next().unwrap();
    read(find(adapter).unwrap(), &bytes(case), false).unwrap_err().0
}

/// What `gate perf` would read of a case: `FLAG` as `--metric`, from a series of the output.
pub fn figures(case: &str, flags: &[(&str, &str)]) -> Reading {
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

/// The series of a label.
pub fn of(report: &Report, label: &str) -> Reported {
    let found = report.series.iter().find(|series| series.label() == label);
    found.unwrap_or_else(|| panic!("no {label}: {}", told(&Ok(report.clone())))).clone()
}

#[test]
fn case_o_01_a_standard_error_in_words_is_unknown_and_the_score_is_read() {
    let report = report("lm-eval/stderr-as-text.json");
    let acc = of(&report, "acc[filter=none,task=t]");
    assert_eq!((acc.processes, acc.stderr), (vec![Process::of(vec![0.5])], None));
    assert_eq!(acc.notes, ["no standard error reported"]);
}

#[test]
fn case_o_02_a_run_on_one_item_says_so() {
    let report = report("lm-eval/limit-1.json");
    let acc = of(&report, "acc[filter=none,task=quiz_a]");
    assert_eq!(acc.n, Some(1));
    assert!(
        acc.notes
            .contains(&"1 of 8 items: one answer moves a share by 100.00 points".to_owned()),
        "{:?}",
        acc.notes
    );
    assert_eq!(report.config["limit"], "1");
}

#[test]
fn case_o_05_a_group_is_told_from_its_members_and_stands_once() {
    let report = report("lm-eval/v0.4.13-results.json");
    let groups: Vec<&Reported> = report
        .series
        .iter()
        .filter(|series| series.detail.contains_key("group_of"))
        .collect();
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (groups[0].label().as_str(), groups[0].detail["group_of"].as_str()),
        ("acc[filter=none,task=quizzes]", "quiz_a,quiz_b")
    );
    assert_eq!(groups[0].n, Some(110));
}

#[test]
fn case_o_06_a_score_on_another_scale_has_no_unit_and_says_so() {
    let report = report("lm-eval/string-null-and-other-scale.json");
    let acc = of(&report, "acc[filter=none,task=percent]");
    assert_eq!(acc.unit, None);
    assert!(acc.notes[0].contains("another scale"), "{:?}", acc.notes);
}

#[test]
fn case_o_23_a_score_that_is_no_number_leaves_the_others() {
    let report = report("lm-eval/not-finite.json");
    let odd = of(&report, "odd[filter=none,task=odd]");
    assert_eq!(odd.processes, [Process::failed("not a finite number")]);
    assert_eq!(of(&report, "acc[filter=none,task=quizzes]").processes, [Process::of(vec![0.727])]);
    let strict = serde_json::to_string(&report).unwrap();
    assert!(!strict.contains("NaN") && !strict.contains("Infinity"), "{strict}");
}

#[test]
fn what_stands_beside_a_metric_is_none_and_every_filter_is_its_own_series() {
    let report = report("lm-eval/v0.4.13-results.json");
    let names: Vec<String> = report.series.iter().map(Reported::label).collect();
    assert!(
        !names
            .iter()
            .any(|name| ["alias", "sample", "stderr", "name"].iter().any(|word| name.starts_with(word))),
        "{names:?}"
    );
    let filters = names.iter().filter(|name| name.starts_with("exact_match["));
    assert_eq!(filters.count(), 2);
    assert_eq!(
        of(&report, "pass@1[filter=create_test,task=code]").better,
        Some(Better::Higher),
        "filed as pass_at_k"
    );
    assert_eq!(of(&report, "err[filter=none,task=judge]").better, Some(Better::Lower));
}

/// Until Go's own output is read: what tells two benchmarks of one name apart is a part of the series' label, whoever comes first or later.
#[test]
fn case_o_09_one_name_in_two_packages_is_two_series_in_any_order() {
    let label = |package: &str| format!("ns[benchmark=A-4,pkg={package}]");
    let flags = [("cache:lower:ns", &*label("x/cache")), ("csrf:lower:ns", &label("x/csrf"))];
    let values = |case: &str| figures(case, &flags).values;
    let both = values("csv/two-packages.csv");
    assert_eq!((both["cache"], both["csrf"]), (55.0, 0.37));
    assert_eq!(values("csv/two-packages-other-order.csv"), both);
    assert_eq!(values("csv/one-package.csv")["cache"], 55.0, "the second package renames nothing");
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
    let failed = |series: &&Reported| series.processes.iter().any(|process| matches!(process, Process::Missing(_)));
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

#[test]
fn case_o_21_failed_requests_fail_the_run() {
    for (case, why) in [
        ("vllm/serve-all-failed.json", "0 of 8 requests completed"),
        ("vllm/serve-some-failed.json", "5 of 8 requests completed"),
        ("vllm/serve-older-without-failed.json", "7 of 8 requests completed"),
        ("vllm/serve-failed.txt", "180 of 182 requests completed"),
    ] {
        let report = report(case);
        assert!(!report.series.is_empty());
        for series in &report.series {
            assert_eq!(series.processes, [Process::failed(why)], "{case}: {}", series.label());
        }
    }
}

#[test]
fn case_o_22_appended_runs_are_samples_of_one_series() {
    let appended = of(&report("vllm/serve-appended.jsonl"), "output_throughput");
    assert_eq!(appended.processes, [Process::of(vec![83.5]), Process::of(vec![61.5])]);
    let swept = of(&report("vllm/sweep.json"), "duration[max_concurrency=1]");
    assert_eq!(swept.processes, [Process::of(vec![1.4]), Process::of(vec![0.6])]);
}

#[test]
fn case_o_10_a_unit_that_changed_is_converted() {
    let value = |case| figures(case, &[("a:lower:us", "a")]).values["a"];
    assert_eq!(value("github-action-benchmark/unit-changed-base.json"), 900.0);
    assert_eq!(value("github-action-benchmark/unit-changed-new.json"), 1200.0);
}

#[test]
fn case_o_30_a_format_without_direction_states_none_whatever_the_name() {
    for case in ["bmf/two-measures.json", "github-action-benchmark/custom.json", "csv/columns.csv"] {
        assert!(report(case).series.iter().all(|series| series.better.is_none()), "{case}");
    }
    assert!(report("bmf/two-measures.json").series.iter().all(|series| series.unit.is_none()));
}

#[test]
fn what_was_exported_reads_back_the_same() {
    for case in ["bmf/exported.json", "bmf/two-measures.json", "github-action-benchmark/custom.json"] {
        let adapter = find(case.split('/').next().unwrap()).unwrap();
        let write = adapter.write.unwrap();
        let once = write(&report(case)).unwrap();
        let again = read(adapter, once.as_bytes(), false).unwrap();
        assert_eq!(write(&again).unwrap(), once, "{case}");
        let values = |report: &Report| {
            report
                .series
                .iter()
                .map(|series| (series.label(), series.processes.clone()))
                .collect::<Vec<_>>()
        };
        let sorted = |report: &Report| {
            let mut values = values(report);
            values.sort_by(|a, b| a.0.cmp(&b.0));
            values
        };
        assert_eq!(sorted(&again), sorted(&report(case)), "{case}");
    }
    let failed = report("vllm/serve-some-failed.json");
    let told = find("bmf").unwrap().write.unwrap()(&failed).unwrap_err().0;
    assert!(
        told.contains("5 of 8 requests completed: this format cannot say that a value is missing"),
        "{told}"
    );
}

#[test]
fn declared_columns_are_measured_and_the_others_tell_rows_apart() {
    let label = |column: &str| format!("{column}[batch=1,case=a, quoted]");
    let reading = figures(
        "csv/columns.csv",
        &[
            ("a:higher:tok/s", &label("tok_s")),
            ("m:lower:ms", &label("ms")),
            ("b:higher:tok/s", "tok_s"),
        ],
    );
    assert_eq!(reading.values["a"], 101.0, "the middle of two rows");
    assert!(reading.missing["b"].why.starts_with("2 series have this name"), "{reading:?}");
}

#[test]
fn a_cell_that_ran_out_of_memory_has_no_number() {
    let report = report("poros/results.jsonl");
    let cell = |name: &str, method: &str| of(&report, &format!("{name}[method={method},model=org/m-7b,precision=nf4]"));
    assert_eq!(
        cell("vram_peak_mb", "peft").processes,
        [Process::failed("oom: HIP out of memory")],
        "it holds 0.0"
    );
    assert_eq!(cell("s_per_step", "peft").processes, [Process::failed("oom: HIP out of memory")]);
    assert_eq!(cell("s_per_step", "poros").processes.len(), 3, "a pass is a process");
    let parity = cell("parity_loss_max_diff", "poros");
    assert_eq!(
        (parity.processes, parity.notes),
        (vec![Process::of(vec![0.0])], vec!["0.00e+00".to_owned()])
    );
}

/// What `scripts/refresh-inputs` let the tools write, by the end of its name: the version is in the middle.
fn fresh(adapter: &str, end: &str) -> String {
    let is_it = |name: &String| name.starts_with("fresh-") && name.ends_with(end);
    let names = fs::read_dir(root().join("tests/data/adapter").join(adapter)).unwrap();
    let mut found = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).filter(is_it);
    format!("{adapter}/{}", found.next().unwrap_or_else(|| panic!("no fresh output {end}")))
}

#[test]
fn fresh_output_of_the_tools_themselves_reads_as_it_should() {
    let failed = |case: &str| {
        let report = report(case);
        let missing = |series: &&Reported| matches!(series.processes.as_slice(), [Process::Missing(_), ..]);
        report.series.iter().filter(missing).map(Reported::label).collect::<Vec<String>>()
    };
    assert_eq!(failed(&fresh("hyperfine", "two-commands.json")), [""; 0]);
    let of_exit = |name: &str| format!("{name}[command=sh -c 'exit 3']");
    assert_eq!(
        failed(&fresh("hyperfine", "ignored-failure.json")),
        ["time", "user", "system"].map(of_exit)
    );
    for end in ["repetitions.json", "aggregates.json"] {
        let case = fresh("google-benchmark", end);
        let told = failed(&case);
        assert!(
            told.iter().all(|label| label.contains("benchmark=failing")) && !told.is_empty(),
            "{case}: {told:?}"
        );
        assert!(report(&case).series.len() > told.len());
    }
    let groups = report(&fresh("lm-eval", "groups.json"));
    let filters = groups.series.iter().filter(|series| series.of["task"] == "words");
    assert_eq!(filters.count(), 2, "a series a filter");
    assert_eq!(of(&groups, "acc[filter=none,task=everything]").detail["group_of"], "sums");
    assert_eq!(of(&groups, "acc[filter=none,task=sums]").n, Some(8));
    let limit = report(&fresh("lm-eval", "limit.json"));
    assert_eq!(of(&limit, "acc[filter=none,task=sums]").n, Some(1));
    assert_eq!(of(&limit, "acc[filter=none,task=sums]").stderr, None);
    assert!(refusal(&fresh("lm-eval", "samples.jsonl")).contains("per-sample log"));
}
