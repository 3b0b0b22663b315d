//! `gate ingest --gate`: what other tools' results carry, and what they do not.

use serde_json::{Value, json};

use crate::sandbox::{Done, Sandbox, verdict};
use crate::sources::root;

pub const HOLD: &str = "version = 1\nsource = \"ingest\"\n[ingest]\n";
const FLOOR: &str = "version = 1\nsource = \"ingest\"\n[ingest]\n[[rule]]\nkind = \"floor\"\nat_least = \"95% of base\"\n";

/// A floor on the candidate alone.
fn at_least(bound: &str) -> String {
    let metric = "[[metric]]\nname = \"tg128\"\nunit = \"tok/s\"\nbetter = \"higher\"\n";
    FLOOR
        .replace("[[rule]]", &format!("{metric}[[rule]]"))
        .replace("95% of base", bound)
}

/// A result of llama-bench: one test with its repetitions, and what differs from the usual configuration.
fn bench(date: &str, repetitions: &[f64], more: &[(&str, Value)]) -> Value {
    let mut row = json!({
        "build_commit": "0a1b2c3d", "model_filename": "/srv/tiny.gguf", "model_size": 700, "model_n_params": 1100, "n_ubatch": 512,
        "n_gpu_layers": 99, "flash_attn": 0, "n_prompt": 0, "n_gen": 128, "n_depth": 0, "test_time": date, "avg_ns": 1, "stddev_ns": 0,
        "avg_ts": repetitions[0], "stddev_ts": 0.1, "samples_ns": [1], "samples_ts": repetitions,
    });
    for (key, value) in more {
        row[*key] = value.clone();
    }
    row
}

/// One dated result a letter, at this level on arm B and 100 on A.
pub fn sequence(sandbox: &Sandbox, letters: &str, level: f64) -> Vec<String> {
    let mut words = Vec::new();
    for (at, letter) in letters.chars().enumerate() {
        let noise = 0.1 * ((at * 7) % 5) as f64;
        let value = if letter == 'B' { level } else { 100.0 } + noise;
        let name = format!("run-{at:02}.json");
        let date = format!("2026-02-01T10:{at:02}:00Z");
        sandbox.write(&name, bench(&date, &[value, value + 0.2, value - 0.2], &[]).to_string());
        words.extend(["--arm".to_owned(), letter.to_string(), name]);
    }
    words
}

/// Judges results by a gate file of this text.
pub fn judged(sandbox: &Sandbox, gate: &str, words: &[String]) -> Done {
    sandbox.write("gate.toml", gate);
    let mut all = vec!["ingest", "--gate", "gate.toml", "--format", "json"];
    all.extend(words.iter().map(String::as_str));
    sandbox.gate(&all)
}

/// Two results in the format of a simple tool, one an arm.
fn two(sandbox: &Sandbox, base: &Value, candidate: &Value) -> Vec<String> {
    sandbox.write("base.json", base.to_string());
    sandbox.write("candidate.json", candidate.to_string());
    ["--arm", "A", "base.json", "--arm", "B", "candidate.json"]
        .map(str::to_owned)
        .to_vec()
}

fn banners(record: &Value) -> String {
    record["context"]["banners"].to_string()
}

#[test]
fn dated_results_in_blocks_carry_a_verdict_and_the_ledger_judges_them_again() {
    for (level, code, word) in [(100.0, 0, "no_regression"), (90.0, 1, "regression")] {
        let sandbox = Sandbox::new();
        let words = sequence(&sandbox, "ABBABAABBAABABBA", level);
        let record = judged(&sandbox, HOLD, &words).exits(code).record();
        assert_eq!(verdict(&record), word);
        assert_eq!(
            (&record["kind"], &record["evidence"]["source"]),
            (&json!("ingest"), &json!("ingest"))
        );
        assert_eq!(record["plan"]["blocks"], json!(["ABBA", "BAAB", "BAAB", "ABBA"]));
        assert_eq!(record["judgement"]["disposition"], "exploratory");
        let why = record["judgement"]["disposition_because"].to_string();
        assert!(why.contains("another tool measured") && !why.contains("not paired"), "{why}");
        let verified = sandbox.gate(&["ledger", "verify"]).exits(0);
        assert!(verified.out.contains("1 record, 0 violations"), "{}", verified.out);
        sandbox.gate(&["ledger", "log"]).exits(0);
    }
}

#[test]
fn what_did_not_take_turns_is_never_a_regression() {
    for letters in ["AAAABBBB", "ABABABAB", "ABBA", "ABBABAA", "AB"] {
        let sandbox = Sandbox::new();
        let words = sequence(&sandbox, letters, 60.0);
        let record = judged(&sandbox, HOLD, &words).exits(3).record();
        assert_eq!(verdict(&record), "inconclusive", "{letters}");
        let because = record["judgement"]["verdicts"][0]["because"].as_str().unwrap();
        assert!(
            because.contains("gain of the medians is -4") || because.contains("gain of the medians is -3"),
            "{because}"
        );
        assert!(banners(&record).contains("nothing shows that the arms took turns"), "{record}");
        let why = record["judgement"]["disposition_because"].to_string();
        assert!(why.contains("not paired"), "{why}");
        assert_eq!(why.contains("a single sample on a side"), letters == "AB", "{why}");
        sandbox.gate(&["ledger", "verify"]).exits(0);
    }
}

#[test]
fn case_o_20_a_single_process_a_side_fails_a_declared_floor_with_its_differences_named() {
    let sandbox = Sandbox::new();
    let changed = [
        ("n_gpu_layers", json!(-1)),
        ("flash_attn", json!(-1)),
        ("build_commit", json!("ffff")),
    ];
    let words = two(
        &sandbox,
        &bench("2026-02-01", &[7.88], &[]),
        &bench("2026-02-02", &[2.93], &changed),
    );
    let record = judged(&sandbox, FLOOR, &words).exits(1).record();
    assert_eq!(verdict(&record), "regression");
    assert_eq!(record["judgement"]["disposition"], "exploratory");
    for words in ["n_gpu_layers 99 → -1", "flash_attn 0 → -1"] {
        assert!(banners(&record).contains(words), "{}", banners(&record));
    }
    let strict = HOLD.replace("[ingest]\n", "[ingest]\nstrict_config = true\n");
    let record = judged(&sandbox, &strict, &words).exits(3).record();
    assert_eq!(verdict(&record), "incomparable");
}

#[test]
fn case_o_21_failed_work_never_looks_fast() {
    let data = |name: &str| root().join("tests/data/adapter/vllm").join(name).display().to_string();
    let sandbox = Sandbox::new();
    let arms = |a: &str, b: &str| ["--arm", "A", &data(a), "--arm", "B", &data(b)].map(str::to_owned);
    let gate = |max_failed: &str| {
        format!(
            "version = 1\nsource = \"ingest\"\n[ingest]\nmax_failed = \"{max_failed}\"\n[[metric]]\nname = \"mean_ttft_ms\"\n\
             [[rule]]\nkind = \"floor\"\nat_most = \"105% of base\"\n"
        )
    };
    let record = judged(&sandbox, &gate("0%"), &arms("serve.json", "serve-all-failed.json"))
        .exits(1)
        .record();
    assert_eq!(verdict(&record), "candidate_failed");
    assert!(
        record["judgement"]["verdicts"][0]["because"]
            .to_string()
            .contains("0 of 8 requests completed")
    );
    let record = judged(&sandbox, &gate("0%"), &arms("serve-all-failed.json", "serve.json"))
        .exits(2)
        .record();
    assert_eq!(record["judgement"]["verdicts"][0]["verdict"], "not_measured");
    judged(&sandbox, &gate("0%"), &arms("serve-all-failed.json", "serve-some-failed.json")).exits(2);
    let some = arms("serve.json", "serve-some-failed.json");
    assert_eq!(
        verdict(&judged(&sandbox, &gate("37%"), &some).exits(1).record()),
        "candidate_failed"
    );
    let record = judged(&sandbox, &gate("38%"), &some).record();
    assert_ne!(verdict(&record), "candidate_failed");
    assert!(
        record.to_string().contains("3 of 8 requests failed, at most 38 % are allowed"),
        "{record}"
    );
    // Of none that completed no share is small enough.
    judged(&sandbox, &gate("100%"), &arms("serve.json", "serve-all-failed.json")).exits(1);
}

#[test]
fn case_o_13_a_command_that_dies_at_once_is_no_fast_one() {
    let run = |codes: Value| json!({"results": [{"command": "x", "mean": 1.0, "times": [0.001, 0.001], "exit_codes": codes}]});
    let gate = "version = 1\nsource = \"ingest\"\n[ingest]\n[[rule]]\nkind = \"floor\"\nat_most = \"105% of base\"\n";
    let good = json!({"results": [{"command": "x", "mean": 1.0, "times": [1.0, 1.0], "exit_codes": [0, 0]}]});
    for codes in [json!([0, 127]), json!([null, 0])] {
        let sandbox = Sandbox::new();
        let words = two(&sandbox, &good, &run(codes));
        assert_eq!(verdict(&judged(&sandbox, gate, &words).exits(1).record()), "candidate_failed");
    }
}

#[test]
fn case_o_27_what_one_side_lacks_is_no_pass() {
    let results = |names: &[(&str, f64)]| {
        let one =
            |(name, value): &(&str, f64)| json!({"command": name, "times": [value, value + 0.001], "exit_codes": [0, 0], "mean": value});
        json!({"results": names.iter().map(one).collect::<Vec<Value>>()})
    };
    let gate = "version = 1\nsource = \"ingest\"\n[ingest]\n[[rule]]\nkind = \"floor\"\nat_most = \"110% of base\"\n";
    let answers = |base: &[(&str, f64)], candidate: &[(&str, f64)], code: i32| {
        let sandbox = Sandbox::new();
        let words = two(&sandbox, &results(base), &results(candidate));
        let record = judged(&sandbox, gate, &words).exits(code).record();
        let rulings = record["judgement"]["verdicts"].as_array().unwrap().clone();
        let told: Vec<(String, String)> = rulings
            .iter()
            .map(|ruling| {
                (
                    ruling["verdict"].as_str().unwrap().to_owned(),
                    ruling["because"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        told
    };
    let told = answers(&[("a", 1.0), ("b", 2.0), ("c", 3.0)], &[("a", 1.0)], 3);
    let missing: Vec<&(String, String)> = told.iter().filter(|(verdict, _)| verdict == "not_measured").collect();
    assert_eq!(missing.len(), 2, "{told:?}");
    assert!(
        missing[0]
            .1
            .contains("Arm B did not report time[command=b]: no such series (in candidate.json)")
    );
    // O-37: what is new is noted, and changes nothing.
    let told = answers(&[("a", 1.0)], &[("a", 1.0), ("z", 9.0)], 0);
    assert!(
        told.iter()
            .any(|(verdict, because)| verdict == "new" && because.contains("time[command=z]")),
        "{told:?}"
    );
    // A rename is one that has gone and a new one with the same figures.
    let told = answers(&[("a", 1.0), ("b", 2.0)], &[("a", 1.0), ("c", 2.0)], 3);
    assert!(
        told.iter()
            .any(|(_, because)| because.contains("time[command=b] has gone, and its figures are alike: renamed?")),
        "{told:?}"
    );
    // O-18: without any overlap nothing was compared.
    answers(&[("a", 1.0)], &[("z", 9.0)], 3);
    let empty = Sandbox::new();
    let words = two(&empty, &results(&[("a", 1.0)]), &json!({"results": []}));
    judged(&empty, gate, &words).exits(2).says("candidate.json");
}

#[test]
fn case_o_37_only_new_metrics_are_no_comparison() {
    let sandbox = Sandbox::new();
    let one = |name: &str| json!([{"name": name, "unit": "s", "value": 1.0}]);
    let gate = "version = 1\nsource = \"ingest\"\n[ingest]\n[[metric]]\nname = \"z\"\nbetter = \"lower\"\n";
    let words = two(&sandbox, &one("a"), &one("z"));
    let record = judged(&sandbox, gate, &words).exits(3).record();
    assert_eq!((verdict(&record), &record["judgement"]["outcome"]), ("new", &json!("inconclusive")));
}

#[test]
fn case_o_08_a_change_from_zero_is_judged_without_a_ratio() {
    let one = |value: f64| json!([{"name": "a", "unit": "ms", "value": value}]);
    let gate = |better: &str, bound: &str| {
        format!(
            "version = 1\nsource = \"ingest\"\n[ingest]\n[[metric]]\nname = \"a\"\nunit = \"ms\"\nbetter = \"{better}\"\ntolerance = \"1 ms\"\n\
             [[rule]]\nkind = \"floor\"\n{bound} = \"100% of base\"\n"
        )
    };
    for (base, candidate, better, bound, code) in [
        (0.0, 0.0, "lower", "at_most", 0),
        (0.0, 5.0, "lower", "at_most", 1),
        (0.0, 5.0, "higher", "at_least", 0),
    ] {
        let sandbox = Sandbox::new();
        let words = two(&sandbox, &one(base), &one(candidate));
        let done = judged(&sandbox, &gate(better, bound), &words).exits(code);
        assert!(!done.out.contains("NaN") && !done.out.contains("inf,"), "{}", done.out);
    }
}

#[test]
fn case_o_10_units_are_converted_or_refused() {
    let one = |unit: &str, value: f64| json!([{"name": "a", "unit": unit, "value": value}]);
    let gate = "version = 1\nsource = \"ingest\"\n[ingest]\n[[metric]]\nname = \"a\"\nbetter = \"lower\"\n[[rule]]\nkind = \"floor\"\nat_most = \"110% of base\"\n";
    let sandbox = Sandbox::new();
    let words = two(&sandbox, &one("us", 900.0), &one("ms", 1.2));
    let record = judged(&sandbox, gate, &words).exits(1).record();
    assert_eq!(record["judgement"]["verdicts"][0]["candidate"]["median"], 1200.0);
    let words = two(&sandbox, &one("tok/s", 900.0), &one("req/s", 1.2));
    judged(&sandbox, gate, &words)
        .exits(2)
        .says("given in req/s, which does not convert to tok/s");
}

#[test]
fn case_o_17_series_are_matched_by_their_configuration_and_never_averaged() {
    let sandbox = Sandbox::new();
    let base = bench("2026-02-01", &[100.0], &[("defrag_thold", json!(0.1))]);
    let wide = bench("2026-02-02", &[140.0], &[("n_ubatch", json!(2048)), ("no_host", json!(false))]);
    let same = bench("2026-02-02", &[100.0], &[("no_host", json!(false))]);
    sandbox.write("base.json", base.to_string());
    sandbox.write("candidate.json", json!([same, wide]).to_string());
    let words = ["--arm", "A", "base.json", "--arm", "B", "candidate.json"].map(str::to_owned);
    let record = judged(&sandbox, FLOOR, &words).exits(0).record();
    let told: Vec<(&str, &str)> = record["judgement"]["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ruling| (ruling["metric"].as_str().unwrap(), ruling["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("tg128[n_ubatch=512]", "no_regression"), ("tg128[n_ubatch=2048]", "new")]);
    assert!(banners(&record).contains("defrag_thold 0.1 → (absent)"), "{}", banners(&record));
}

#[test]
fn case_o_19_the_median_decides_and_a_slow_first_repetition_is_named() {
    let sandbox = Sandbox::new();
    let slow = [5000.0, 43000.0, 42900.0, 43100.0, 42950.0];
    let words = two(&sandbox, &bench("2026-02-01", &[43000.0; 5], &[]), &bench("2026-02-02", &slow, &[]));
    let record = judged(&sandbox, FLOOR, &words).exits(0).record();
    let warnings = record["judgement"]["verdicts"][0]["warnings"].to_string();
    assert!(
        warnings.contains("arm B: noisy: the first repetition lies -88 % from the others"),
        "{warnings}"
    );
}

#[test]
fn deterministic_figures_need_no_turns_but_two_runs() {
    let gate = "version = 1\nsource = \"ingest\"\n[ingest]\n[[metric]]\nname = \"bytes\"\nunit = \"B\"\nbetter = \"lower\"\n[[rule]]\nkind = \"exact\"\n";
    let sandbox = Sandbox::new();
    let mut words = Vec::new();
    for (at, (arm, value)) in [("A", 100), ("A", 100), ("B", 110), ("B", 110)].into_iter().enumerate() {
        let name = format!("{at}.json");
        sandbox.write(&name, json!([{"name": "bytes", "unit": "B", "value": value}]).to_string());
        words.extend(["--arm".to_owned(), arm.to_owned(), name]);
    }
    let record = judged(&sandbox, gate, &words).exits(1).record();
    assert_eq!(verdict(&record), "regression");
    assert!(banners(&record).contains("1.json is 0.json byte for byte"), "{}", banners(&record));
    let one_each = [words[..3].to_vec(), words[6..9].to_vec()].concat();
    let record = judged(&sandbox, gate, &one_each).exits(3).record();
    assert!(
        record["judgement"]["verdicts"][0]["because"]
            .to_string()
            .contains("an arm has fewer"),
        "{record}"
    );
}

#[test]
fn the_candidate_alone_answers_what_asks_for_no_base() {
    let sandbox = Sandbox::new();
    sandbox.write("one.json", bench("2026-02-01", &[100.0, 101.0], &[]).to_string());
    let words = ["one.json".to_owned()];
    let floor = at_least("90 tok/s");
    judged(&sandbox, &floor, &words).exits(0);
    judged(&sandbox, &at_least("120 tok/s"), &words).exits(1);
    judged(&sandbox, HOLD, &words).exits(3).says("speaks of the candidate alone");
    let spread = FLOOR
        .replace("floor", "spread")
        .replace("at_least = \"95% of base\"", "max = \"5%\"");
    let record = judged(&sandbox, &spread, &words).exits(3).record();
    assert!(
        record["judgement"]["verdicts"][0]["because"]
            .to_string()
            .contains("a single run has no range")
    );
    // The gate may name the file itself.
    let named = floor.replace("[ingest]\n", "[ingest]\npath = \"one.json\"\nadapter = \"llama-bench\"\n");
    judged(&sandbox, &named, &[]).exits(0);
    judged(&sandbox, &floor, &[])
        .exits(2)
        .says("neither the command line nor ingest.path");
}

#[test]
fn what_cannot_be_judged_is_refused_before_anything_is_recorded() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", bench("2026-02-01", &[100.0], &[]).to_string());
    sandbox.write("b.json", bench("2026-02-02", &[100.0], &[]).to_string());
    let words = ["--arm", "A", "a.json", "--arm", "B", "b.json"].map(str::to_owned);
    let refused = |gate: &str, words: &[String], says: &str| {
        let done = judged(&sandbox, gate, words).exits(2).says(says);
        assert_eq!(done.out, "", "{says}");
    };
    refused(
        "version = 1\nsource = \"run\"\n[run]\ncommand = [\"true\"]\n",
        &words,
        "its source is run: `gate perf --gate gate.toml`",
    );
    refused(
        &format!("{HOLD}tasks = [\"x\"]\n"),
        &words,
        "ingest.tasks: `gate ingest` does not keep it",
    );
    refused(&format!("{HOLD}[require]\nguard = true\n"), &words, "require.guard");
    refused(&format!("{HOLD}[require]\nchecks = [\"Q-BUSY\"]\n"), &words, "require.checks");
    refused(&format!("{HOLD}baseline = \"b.txt\"\n"), &words, "ingest.baseline");
    for rule in [
        "kind = \"hold\"\nagainst = \"baseline\"",
        "kind = \"floor\"\nat_least = \"95% of historical\"",
        "kind = \"floor\"\nat_least = \"95% of baseline\"",
    ] {
        refused(
            &format!("{HOLD}[[rule]]\n{rule}\n"),
            &words,
            "gate.toml:4: this rule asks for a baseline",
        );
    }
    refused(
        &format!("{HOLD}[[metric]]\nname = \"x*\"\n"),
        &words,
        "no series of the results fits it: they hold tg128",
    );
    refused(
        &format!("{HOLD}[[metric]]\nname = \"tg128\"\nbetter = \"lower\"\n"),
        &words,
        "the format says that higher is better",
    );
    refused(HOLD, &["--arm", "A", "a.json"].map(str::to_owned), "every result is of arm A");
    refused(
        HOLD,
        &["--arm", "A", "a.json", "--arm", "B", "a.json"].map(str::to_owned),
        "byte for byte: a process counts once",
    );
    refused(
        HOLD,
        &["--arm", "C", "a.json"].map(str::to_owned),
        "want A (the base) or B (the candidate)",
    );
    let mut stale = words.to_vec();
    stale.extend(["--started-at", "2026-02-02T00:00:00Z"].map(str::to_owned));
    refused(HOLD, &stale, "a.json: a stale result: the date inside is 2026-02-01");
    // O-30: no direction is guessed from a name.
    sandbox.write("plain.json", "{\"x\": {\"rmsd\": {\"value\": 3.16}}}");
    refused(
        HOLD,
        &["plain.json".to_owned()],
        "the better direction is not declared, and bmf does not state it",
    );
    sandbox
        .gate(&["ingest", "--arm", "A", "a.json"])
        .exits(2)
        .says("name the gate with --gate");
    sandbox.gate(&["ledger", "log"]).exits(2).says("no ledger");
}

#[test]
fn a_result_in_a_folder_that_cannot_be_read_is_not_passed_over() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("out")).unwrap();
    sandbox.write("out/good.json", bench("2026-02-01", &[100.0], &[]).to_string());
    sandbox.write("out/readme.txt", "hello");
    let floor = at_least("90 tok/s");
    let words = ["out".to_owned()];
    judged(&sandbox, &floor, &words).exits(0).says("left out: out/readme.txt");
    sandbox.write("out/log.txt", "init\nterminate called after throwing 'DeviceLost'\n");
    judged(&sandbox, &floor, &words).exits(2).says("out/log.txt");
    sandbox.write("out/log.txt", "fine");
    sandbox.write("out/cut.json", &bench("2026-02-01", &[1.0], &[]).to_string()[..200]);
    judged(&sandbox, &floor, &words).exits(2).says("out/cut.json");
}

#[test]
fn the_newest_of_several_is_told_by_the_dates_inside() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("out")).unwrap();
    sandbox.write("out/z.json", bench("2026-02-01T10:00:00Z", &[50.0], &[]).to_string());
    sandbox.write("out/a.json", bench("2026-02-03T10:00:00Z", &[100.0], &[]).to_string());
    let floor = at_least("90 tok/s").replace("[ingest]\n", "[ingest]\nnewest = true\n");
    let record = judged(&sandbox, &floor, &["out".to_owned()]).exits(0).record();
    assert_eq!(record["evidence"]["samples"][0]["detail"]["file"], "out/a.json");
}

#[test]
fn the_job_around_it_is_told() {
    let sandbox = Sandbox::new();
    let words = sequence(&sandbox, "ABBABAAB", 80.0);
    let file = |name: &str| sandbox.path(name).display().to_string();
    let (output, summary) = (file("output"), file("summary.md"));
    let sandbox = sandbox
        .with_env("GITHUB_ACTIONS", "true")
        .with_env("GITHUB_OUTPUT", &output)
        .with_env("GITHUB_STEP_SUMMARY", &summary);
    let done = judged(&sandbox, HOLD, &words).exits(1);
    assert_eq!(verdict(&done.record()), "regression", "standard output holds the record alone");
    assert!(sandbox.text("output").contains("exit-code") && sandbox.text("output").contains("\nfail\n"));
    assert!(
        sandbox.text("summary.md").contains("### gate: fail: regression"),
        "{}",
        sandbox.text("summary.md")
    );
}

#[test]
fn case_o_29_nothing_is_rounded_before_it_meets_a_limit() {
    let sandbox = Sandbox::new();
    let time = |value: f64| json!([{"name": "step", "unit": "ms", "value": value}]);
    let gate = "version = 1\nsource = \"ingest\"\n[ingest]\n[[metric]]\nname = \"step\"\nbetter = \"lower\"\n\
                [[rule]]\nkind = \"floor\"\nat_most = \"103% of base\"\n";
    for (value, code) in [(102.8, 0), (103.0, 0), (103.004, 1), (103.4, 1)] {
        let record = judged(&sandbox, gate, &two(&sandbox, &time(100.0), &time(value)))
            .exits(code)
            .record();
        let because = record["judgement"]["verdicts"][0]["because"].to_string();
        assert!(because.contains(&format!("is {value} ms")), "{because}");
    }
}
