//! `gate compare`: two results side by side, and nothing judged.

use serde_json::{Value, json};

use crate::sandbox::{Done, Sandbox, json as parsed};
use crate::sources::root;

fn data(name: &str) -> String {
    root().join("tests/data/adapter").join(name).display().to_string()
}

/// A result of hyperfine: commands with their times in seconds.
fn hyperfine(commands: &[(&str, &[f64])]) -> Value {
    let one = |(command, times): &(&str, &[f64])| {
        let codes: Vec<u8> = times.iter().map(|_| 0).collect();
        json!({"command": command, "mean": times[0], "times": times, "exit_codes": codes})
    };
    json!({"results": commands.iter().map(one).collect::<Vec<Value>>()})
}

fn row(done: &Done, series: &str) -> Value {
    let rows = parsed(&done.out)["rows"].as_array().unwrap().clone();
    rows.into_iter()
        .find(|row| row["series"] == series)
        .unwrap_or_else(|| panic!("no {series}: {}", done.out))
}

fn compared(a: &Value, b: &Value, more: &[&str], code: i32) -> Done {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", a.to_string());
    sandbox.write("b.json", b.to_string());
    let mut words = vec!["compare", "a.json", "b.json"];
    words.extend(more);
    sandbox.gate(&words).exits(code)
}

#[test]
fn a_gain_has_the_right_direction_and_a_single_process_is_exploratory() {
    let a = hyperfine(&[("x", &[1.0])]);
    let b = hyperfine(&[("x", &[2.0])]);
    let done = compared(&a, &b, &["--to", "json"], 0);
    let told = row(&done, "time[command=x]");
    assert_eq!((&told["gain_pct"], &told["difference"]), (&json!(-100.0), &json!(1.0)));
    let done = compared(&a, &b, &[], 0);
    for words in ["-100.00 %", "lower is better", "exploratory: a single process a side"] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    assert!(!done.out.contains("regression"), "{}", done.out);
    let faster = compared(&b, &a, &["--to", "json"], 0);
    assert_eq!(row(&faster, "time[command=x]")["gain_pct"], 50.0);
}

#[test]
fn case_o_14_medians_are_compared_whatever_their_order() {
    let sandbox = Sandbox::new();
    let (a, b) = (
        data("google-benchmark/repetitions-base.json"),
        data("google-benchmark/repetitions-new.json"),
    );
    let done = sandbox.gate(&["compare", &a, &b, "--to", "json"]).exits(0);
    let rows = parsed(&done.out)["rows"].as_array().unwrap().clone();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["gain_pct"], 0.0, "{row}");
    }
}

#[test]
fn case_o_15_and_o_10_nothing_is_rounded_and_units_are_converted() {
    let one = |unit: &str, value: f64| json!([{"name": "a", "unit": unit, "value": value}]);
    let differs = |a: &Value, b: &Value| parsed(&compared(a, b, &["--to", "json"], 0).out)["rows"][0].clone();
    let small = differs(&one("ns", 1.8), &one("ns", 2.2));
    assert!((small["difference"].as_f64().unwrap() - 0.4).abs() < 1e-12, "{small}");
    let converted = differs(&one("us", 900.0), &one("ms", 1.2));
    assert!((converted["difference"].as_f64().unwrap() - 300.0).abs() < 1e-9, "{converted}");
    assert!(
        converted["gain_pct"].is_null() && converted["notes"].to_string().contains("direction is not stated"),
        "{converted}"
    );
    let foreign = differs(&one("tok/s", 900.0), &one("req/s", 1.2));
    assert!(foreign["difference"].is_null());
    assert_eq!(foreign["candidate"]["missing"], "given in req/s, which does not convert to tok/s");
}

#[test]
fn case_o_08_a_change_from_zero_has_no_ratio() {
    let zero = |value: f64| hyperfine(&[("x", &[value, value])]);
    let done = compared(&zero(0.0), &zero(0.5), &["--to", "json"], 0);
    let told = row(&done, "time[command=x]");
    assert!(told["gain_pct"].is_null() && told["difference"] == 0.5, "{told}");
    assert!(told["notes"].to_string().contains("a relative change from zero is undefined"));
    assert_eq!(
        row(&compared(&zero(0.0), &zero(0.0), &["--to", "json"], 0), "time[command=x]")["gain_pct"],
        0.0
    );
}

#[test]
fn failed_work_has_no_gain() {
    let sandbox = Sandbox::new();
    let (good, failed) = (data("vllm/serve.json"), data("vllm/serve-all-failed.json"));
    let done = sandbox.gate(&["compare", &good, &failed, "--to", "json"]).exits(0);
    let told = row(&done, "mean_ttft_ms");
    assert!(told["gain_pct"].is_null(), "{told}");
    assert_eq!(told["candidate"]["missing"], "failed: 0 of 8 requests completed");
}

#[test]
fn case_o_37_what_one_side_lacks_is_named_and_a_rename_is_asked_about() {
    let a = hyperfine(&[("a", &[1.0, 1.0]), ("b", &[2.0, 2.0]), ("c", &[7.0, 7.0])]);
    let b = hyperfine(&[("a", &[1.0, 1.0]), ("d", &[2.0, 2.0])]);
    let done = compared(&a, &b, &[], 0);
    for words in [
        "only in the base; time[command=d] has like values: renamed?: time[command=b]",
        "only in the base: time[command=c]",
        "only in the candidate; time[command=b] has like values: renamed?: time[command=d]",
    ] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    // O-18: an empty overlap is no comparison.
    compared(&hyperfine(&[("a", &[1.0])]), &hyperfine(&[("z", &[9.0])]), &[], 3).says("nothing was compared");
}

#[test]
fn more_levers_than_declared_fail() {
    let sandbox = Sandbox::new();
    let bench = |more: &[(&str, Value)]| {
        let text = std::fs::read_to_string(data("llama-bench/lines.jsonl")).unwrap();
        let mut row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        for (key, value) in more {
            row[*key] = value.clone();
        }
        row.to_string()
    };
    sandbox.write("a.json", bench(&[]));
    sandbox.write("one.json", bench(&[("n_ubatch", json!(1024))]));
    sandbox.write("two.json", bench(&[("n_ubatch", json!(1024)), ("flash_attn", json!(0))]));
    let done = sandbox.gate(&["compare", "a.json", "one.json"]).exits(0);
    assert!(done.out.contains("exactly one lever: n_ubatch 512 → 1024"), "{}", done.out);
    sandbox.gate(&["compare", "a.json", "one.json", "--one-lever", "n_ubatch"]).exits(0);
    let done = sandbox.gate(&["compare", "a.json", "two.json"]).exits(0);
    assert!(
        done.out.contains("2 fields differ: flash_attn 1 → 0; n_ubatch 512 → 1024"),
        "{}",
        done.out
    );
    sandbox
        .gate(&["compare", "a.json", "two.json", "--one-lever", "n_ubatch"])
        .exits(1)
        .says("more differs than the declared lever: flash_attn");
    sandbox
        .gate(&["compare", "a.json", "one.json", "--one-lever", "flash_attn"])
        .exits(1);
    let done = sandbox.gate(&["compare", "a.json", "a.json", "--one-lever", "n_ubatch"]).exits(0);
    assert!(done.out.contains("no field differs, n_ubatch neither"), "{}", done.out);
}

#[test]
fn folders_are_processes_and_records_and_baselines_are_sides() {
    let sandbox = Sandbox::new();
    for (side, level) in [("a", 1.0), ("b", 1.1)] {
        std::fs::create_dir_all(sandbox.path(side)).unwrap();
        for at in 0..3 {
            let time = level + 0.01 * f64::from(at);
            sandbox.write(&format!("{side}/{at}.json"), hyperfine(&[("x", &[time])]).to_string());
        }
    }
    let done = sandbox.gate(&["compare", "a", "b"]).exits(0);
    assert!(
        done.out.contains("1.000 / 1.010 / 1.020 s (n=3)") && done.out.contains("no verdict"),
        "{}",
        done.out
    );
    assert!(!done.out.contains("exploratory"), "{}", done.out);

    drop(sandbox.perf(
        "sh -c 'echo x=1ms'",
        "sh -c 'echo x=2ms'",
        &["--metric", "x:lower:ms", "--max-blocks", "2", "--out", "r.json"],
    ));
    let done = sandbox.gate(&["compare", "r.json", "r.json", "--to", "json"]).exits(0);
    let told = row(&done, "x");
    assert_eq!((&told["base"]["n"], &told["base"]["min_median_max"][1]), (&json!(4), &json!(2.0)));
    let broken = sandbox.text("r.json").replacen("2.0", "3.0", 1);
    sandbox.write("broken.json", broken);
    sandbox
        .gate(&["compare", "r.json", "broken.json"])
        .exits(2)
        .says("the record's seal is broken");

    let baseline = "gate-baseline 1\narch cpu-x86_64\nsample  -  x  ms  lower  2026-01-01  9f2c41aa  71e03c9d5b20  1 1 1\n\
                    sample  -  x  ms  lower  2026-02-01  9f2c41aa  71e03c9d5b21  4 4 4\n";
    sandbox.write("cpu-x86_64.txt", baseline);
    let done = sandbox.gate(&["compare", "cpu-x86_64.txt", "r.json", "--to", "json"]).exits(0);
    let told = row(&done, "x");
    assert_eq!((&told["gain_pct"], &told["base"]["n"]), (&json!(50.0), &json!(3)));
}

#[test]
fn export_to_bmf_and_back_is_the_same() {
    let sandbox = Sandbox::new();
    let bench = data("llama-bench/lines.jsonl");
    for to in ["bmf", "github-action-benchmark"] {
        let out = sandbox.gate(&["compare", &bench, &bench, "--to", to]).exits(0).out;
        sandbox.write("exported.json", &out);
        let again = sandbox
            .gate(&["compare", "exported.json", "exported.json", "--to", to])
            .exits(0)
            .out;
        assert_eq!(out, again, "{to}");
    }
    let (good, failed) = (data("vllm/serve.json"), data("vllm/serve-all-failed.json"));
    let done = sandbox.gate(&["compare", &good, &failed, "--to", "bmf"]).exits(2);
    assert!(done.err.contains("cannot say that a value is missing"), "{}", done.err);
}

#[test]
fn tables_for_other_programs_hold_hostile_names() {
    let name = "=cmd|' /C calc'!A0, \"q\" @user <b>";
    let a = hyperfine(&[(name, &[1.0, 1.0])]);
    let csv = compared(&a, &a, &["--to", "csv"], 0).out;
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.contains("\"time[command==cmd|' /C calc'!A0, \"\"q\"\" @user <b>]\""), "{csv}");
    let markdown = compared(&a, &a, &["--to", "markdown"], 0).out;
    assert!(!markdown.contains("<b>") && !markdown.contains("@user"), "{markdown}");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", hyperfine(&[("a", &[1.0])]).to_string());
    sandbox.write("cut.json", "{\"results\": [");
    sandbox
        .gate(&["compare", "a.json", "cut.json"])
        .exits(2)
        .says("cut.json: the JSON ends in the middle");
    sandbox.gate(&["compare", "a.json", "absent.json"]).exits(2).says("absent.json");
    sandbox.gate(&["compare", "a.json"]).exits(2).says("<B>");
    sandbox
        .gate(&["compare", "a.json", "a.json", "--to", "xml"])
        .exits(2)
        .says("github-action-benchmark");
}

#[test]
fn accepted_scores_stand_beside_results_and_records_of_scores() {
    let sandbox = Sandbox::new();
    let results = data("lm-eval/v0.4.13-results.json");
    sandbox.write("base.json", std::fs::read_to_string(&results).unwrap() + "\n");
    let judged = sandbox.gate(&[
        "eval",
        &results,
        "--baseline",
        "base.json",
        "--format",
        "json",
        "--out",
        "record.json",
    ]);
    assert_ne!(judged.code, Some(2), "{}", judged.err);
    let label = "acc[filter=none,task=arc_easy]";
    let accepted = |score: &str, version: &str| {
        format!(
            "score  arc_easy  acc  none  2026-11-30  71e03c9d5b20  0-1  higher  {score}  2376  2376  0.008  0  {version}  lm_eval-0.4.9"
        )
    };
    let head = "gate-eval-baseline 1\nmodel  Qwen/Qwen3-8B  3f9a01c7be55\n";
    let other = accepted("0.7", "1")
        .replace("71e03c9d5b20", "81e03c9d5b20")
        .replace("11-30", "12-01");
    sandbox.write("base.txt", format!("{head}{}\n{other}\n", accepted("0.8", "1")));
    let candidate = json!({
        "results": {"arc_easy": {"alias": "arc_easy", "acc,none": 0.81, "acc_stderr,none": 0.008}},
        "versions": {"arc_easy": 1.0}, "n-shot": {"arc_easy": 0}, "higher_is_better": {"arc_easy": {"acc": true}},
        "n-samples": {"arc_easy": {"original": 2376, "effective": 2376}}, "model_name": "tuned",
    });
    sandbox.write("candidate.json", candidate.to_string().replace("1.0}", "1}"));
    let done = sandbox.gate(&["compare", "base.txt", "candidate.json", "--to", "json"]).exits(0);
    let told = row(&done, label);
    assert_eq!(told["base"]["min_median_max"], json!([0.7, 0.75, 0.8]), "{told}");
    assert!((told["gain_pct"].as_f64().unwrap() - 8.0).abs() < 1e-9, "{told}");
    assert_eq!(parsed(&done.out)["differs"]["model_name"], json!(["Qwen/Qwen3-8B", "tuned"]));
    // Another version of the task is another question: no gain.
    sandbox.write("base.txt", format!("{head}{}\n", accepted("0.8", "2")));
    let done = sandbox.gate(&["compare", "base.txt", "candidate.json", "--to", "json"]).exits(0);
    let told = row(&done, label);
    assert!(
        told["gain_pct"].is_null() && told["notes"].to_string().contains("task_version 2 → 1"),
        "{told}"
    );
    // A record of scores holds the same series as the file that it judged.
    let done = sandbox.gate(&["compare", "record.json", &results, "--to", "json"]).exits(0);
    let comparison = parsed(&done.out);
    assert_eq!(
        (&comparison["only_base"], &comparison["only_candidate"]),
        (&json!([]), &json!([])),
        "{comparison}"
    );
    for told in comparison["rows"].as_array().unwrap() {
        assert_eq!(told["base"]["min_median_max"], told["candidate"]["min_median_max"], "{told}");
    }
    sandbox.write("base.txt", "gate-eval-baseline 1\nmodel x\n");
    sandbox.gate(&["compare", "base.txt", "candidate.json"]).exits(2).says("base.txt:2");
}
