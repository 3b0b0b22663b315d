//! What goes wrong with the measured commands, and what `gate` says to it.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, is_running, samples, verdict};

const MS: [&str; 2] = ["--metric", "ms:lower:ms"];

/// A well-behaved program without noise.
const GOOD: &str = "echo $1 >> log; echo ms=100";

/// Runs two scripts against each other, judged on `ms`, and gives the record and the log.
fn compare(a: &str, b: &str, more: &[&str], code: i32) -> (Value, String) {
    let sandbox = Sandbox::new();
    sandbox.script("a.sh", a);
    sandbox.script("b.sh", b);
    let record = sandbox
        .perf("./a.sh A", "./b.sh B", &[&MS, more, &["--format", "json"]].concat())
        .exits(code)
        .record();
    assert_eq!(sandbox.ledger().len(), 1, "a session that was begun is sealed");
    let verified = sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
    (record, sandbox.lines("log").concat())
}

fn because(record: &Value) -> &str {
    record["judgement"]["verdicts"][0]["because"].as_str().unwrap()
}

/// A script that does something in its n-th run only, and is good else.
fn once(run: u32, what: &str) -> String {
    format!("{GOOD}; [ $(grep -c $1 log) -ne {run} ] || {{ {what}; }}")
}

#[test]
fn a_base_that_fails_is_an_error_after_one_retry() {
    let (record, log) = compare("echo $1 >> log; echo broken >&2; exit 3", GOOD, &[], 2);
    assert_eq!(log, "AA", "one retry, and nothing after it");
    assert_eq!(
        because(&record),
        "The base arm A failed twice in the warm-up: exit code 3. There is nothing to compare with."
    );
    assert_eq!(record["judgement"]["outcome"], "error");
    assert_eq!(samples(&record)[0]["detail"]["stderr_tail"], "broken");

    let (record, log) = compare(&once(2, "exit 3").replace("-ne 2", "-lt 2"), GOOD, &[], 2);
    assert_eq!(log, "ABAA", "warm-up, then the first block and its retry end at A's failure");
    assert!(
        because(&record).contains("failed twice in block 1: exit code 3"),
        "{}",
        because(&record)
    );
}

#[test]
fn a_single_failure_is_kept_and_its_block_run_again() {
    for (a, b, log_of_two_blocks) in [
        (once(3, "exit 3"), GOOD.to_owned(), "AB ABBA ABBA BAAB"),
        (GOOD.to_owned(), once(3, "exit 3"), "AB ABBA ABBA BAAB"),
        (once(2, "kill -SEGV $$"), GOOD.to_owned(), "AB A ABBA BAAB"),
    ] {
        let (record, log) = compare(&a, &b, &["--fixed-blocks", "2"], 0);
        assert_eq!(log, log_of_two_blocks.replace(' ', ""), "{a} against {b}");
        assert_eq!(verdict(&record), "no_regression");
        let failed: Vec<&Value> = samples(&record).iter().filter(|sample| sample.get("failed").is_some()).collect();
        assert_eq!(failed.len(), 1, "the failure stays in the record");
        assert_eq!(failed[0]["try"], 0);
        let retried = samples(&record).iter().filter(|sample| sample["try"] == 1).count();
        assert_eq!(retried, 4, "the whole block was run again");
    }
}

#[test]
fn a_candidate_that_fails_while_the_base_runs_fails_the_gate() {
    for (b, why) in [
        ("echo $1 >> log; exit 7", "exit code 7"),
        ("echo $1 >> log; kill -9 $$", "ended by signal 9"),
        ("echo $1 >> log; exec sleep 60", "ran longer than its limit of 0.7 s"),
        ("echo $1 >> log; echo ms=nan", "ms: "),
        ("echo $1 >> log; echo ms=0", "only a positive figure is a measurement"),
    ] {
        let (record, log) = compare(GOOD, b, &["--timeout", "700ms"], 1);
        assert_eq!(log, "ABB", "{b}: one retry");
        assert_eq!(
            (verdict(&record), &record["judgement"]["outcome"]),
            ("candidate_failed", &"fail".into())
        );
        assert!(because(&record).contains(why), "{b}: {}", because(&record));
    }
    let (record, _) = compare(GOOD, &once(2, "exit 3").replace("-ne 2", "-lt 2"), &[], 1);
    assert!(because(&record).contains("failed twice in block 1"), "{}", because(&record));
}

#[test]
fn files_that_change_or_vanish_during_the_session_end_it() {
    for (what, said) in [
        ("echo '#' >> b.sh", "b.sh changed while the session ran"),
        ("rm b.sh", "b.sh: No such file"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.script("a.sh", GOOD);
        sandbox.script("b.sh", &once(2, what));
        let done = sandbox.perf("./a.sh A", "./b.sh B", &MS).exits(2).says(said);
        assert!(done.out.contains("the run broke off"), "{}", done.out);
        assert_eq!(sandbox.lines("log").concat(), "ABAB", "{what}: nothing runs after it");
        let ledger = sandbox.ledger();
        assert_eq!(ledger[0]["judgement"]["outcome"], "error");
        assert_eq!(samples(&ledger[0]).len(), 4, "what was measured is kept");
        let again = sandbox.gate(&["perf", "--resume", &sandbox.session()]).exits(2);
        assert_eq!(again.out, done.out, "the session is over");
    }
}

#[test]
fn a_metric_that_is_not_there_is_not_measured() {
    for (a, b) in [("echo x=1", GOOD), (GOOD, "echo $1 >> log; echo x=1"), ("true", "true")] {
        let (record, _) = compare(a, b, &[], 3);
        assert_eq!(verdict(&record), "not_measured");
        assert!(because(&record).contains("did not report ms"), "{}", because(&record));
        assert!(samples(&record).len() <= 2, "there is no point in going on");
    }
    let (record, _) = compare("echo ms=inf", GOOD, &[], 2);
    assert_eq!(verdict(&record), "not_measured", "a base whose figure is no number");
}

#[test]
fn a_flood_of_output_is_counted() {
    let sandbox = Sandbox::new();
    sandbox.script("flood.sh", "head -c 17825792 /dev/zero; echo ms=5");
    let done = sandbox.perf(
        "./flood.sh",
        "./flood.sh",
        &["--fixed-blocks", "2", "--tolerance", "95%", "--format", "json"],
    );
    let record = done.record();
    for sample in samples(&record) {
        assert_eq!(sample["detail"]["stdout_bytes"], 17_825_797);
        assert!(
            sample["detail"]["stdout_blake3"]
                .as_str()
                .is_some_and(|digest| digest.starts_with("b3:")),
            "{sample}"
        );
    }
    assert!(done.out.len() < 100_000, "the output itself is not in the record");
}

#[test]
fn daemons_that_a_command_leaves_behind_are_ended_and_named() {
    let sandbox = Sandbox::new();
    sandbox.script("leave.sh", "setsid sleep 60 > /dev/null 2>&1 & echo $! >> pids; echo ms=100");
    let record = sandbox
        .perf(
            "./leave.sh",
            "./leave.sh",
            &[&MS[..], &["--fixed-blocks", "2", "--format", "json"]].concat(),
        )
        .exits(0)
        .record();
    for sample in samples(&record) {
        assert_eq!(sample["detail"]["left_over"], 1, "{sample}");
    }
    let warnings = record["judgement"]["warnings"].to_string();
    assert!(warnings.contains("10 processes outlived"), "{warnings}");
    for pid in sandbox.lines("pids") {
        assert!(!is_running(&pid), "daemon {pid} still runs");
    }
}

#[test]
fn under_a_profiler_nothing_is_judged() {
    for (name, value, shown) in [
        ("HIPFIRE_PROFILE", "1", "HIPFIRE_PROFILE"),
        ("ROCPROFILER_REGISTER_FORCE_LOAD", "1", "ROCPROFILER_REGISTER_FORCE_LOAD"),
    ] {
        let sandbox = Sandbox::new().with_env(name, value);
        sandbox.script("good.sh", GOOD);
        let record = sandbox
            .perf("./good.sh A", "./good.sh B", &[&MS[..], &["--format", "json"]].concat())
            .exits(3)
            .record();
        assert_eq!(verdict(&record), "not_measured");
        assert!(because(&record).contains(shown), "{}", because(&record));
        assert!(samples(&record).iter().all(|sample| sample["profiled"] == true));
        assert!(sandbox.lines("log").len() <= 2, "there is no point in going on");
    }
    let sandbox = Sandbox::new().with_env("HIPFIRE_PROFILE", "0");
    sandbox.script("good.sh", GOOD);
    let _off = sandbox.perf("./good.sh A", "./good.sh B", &MS).exits(0);
}

#[test]
fn a_session_that_is_too_short_says_what_would_fit() {
    let sandbox = Sandbox::new();
    sandbox.script("slow.sh", "echo run >> log; exec sleep 0.2");
    let done = sandbox
        .perf("./slow.sh", "./slow.sh", &["--fixed-blocks", "3", "--max-session", "1s"])
        .exits(3);
    assert!(
        done.out
            .contains("only 0 of at least 3 blocks fit into the session's limit of 1.0 s"),
        "{}",
        done.out
    );
    assert_eq!(sandbox.lines("log").len(), 2, "the warm-up alone ran");
    assert_eq!(sandbox.ledger()[0]["evidence"]["ended"]["reason"], "too_few_blocks");

    let sandbox = Sandbox::new();
    sandbox.script("slow.sh", "echo run >> log; exec sleep 0.2");
    let more = ["--warmup-runs", "0", "--max-session", "1s", "--max-blocks", "28"];
    let done = sandbox.perf("./slow.sh", "./slow.sh", &more).exits(3);
    assert!(done.out.contains("the session reached its limit of 1.0 s"), "{}", done.out);
    assert!(sandbox.lines("log").len() < 8, "{:?}", sandbox.lines("log"));
    let record = &sandbox.ledger()[0];
    assert_eq!(record["evidence"]["ended"]["reason"], "session_limit");
    assert!(
        samples(record).iter().all(|sample| sample.get("failed").is_none()),
        "no arm is blamed"
    );
}

#[test]
fn a_session_of_the_length_that_fits_says_so() {
    let sandbox = Sandbox::new();
    sandbox.script("slow.sh", "sleep 0.1; echo ms=100");
    let done = sandbox
        .perf("./slow.sh", "./slow.sh", &[&MS[..], &["--max-session", "4s"]].concat())
        .exits(0)
        .says(" of 14 blocks fit into 4.0 s by the warm-up's duration");
    let record = &sandbox.ledger()[0];
    let blocks = record["plan"]["blocks"].as_array().unwrap().len();
    assert!((2..14).contains(&blocks), "{}", done.err);
    assert_eq!(record["plan"]["max_blocks"], 14, "the declared cap stays");
}

#[test]
fn an_inconclusive_answer_can_be_declared_advisory() {
    let noisy = "echo $1 >> log; n=$(wc -l < log); echo ms=$((n * 7919 % 97 + 50))";
    let options = ["--max-blocks", "3", "--tolerance", "1%"];
    let (record, _) = compare(noisy, noisy, &options, 3);
    assert_eq!(verdict(&record), "inconclusive");
    let (record, _) = compare(noisy, noisy, &[&options[..], &["--on-inconclusive", "advisory"]].concat(), 0);
    assert_eq!(
        (verdict(&record), &record["judgement"]["outcome"]),
        ("inconclusive", &"inconclusive".into())
    );
}

#[test]
fn the_device_is_measured_on_by_one_at_a_time() {
    let sandbox = Sandbox::new();
    sandbox.script("hold.sh", "echo run >> log; while [ ! -e go ]; do sleep 0.02; done");
    let holder = sandbox.start(sandbox.command(&[
        "perf",
        "--a",
        "./hold.sh",
        "--b",
        "./hold.sh",
        "--fixed-blocks",
        "2",
        "--tolerance",
        "95%",
    ]));
    crate::alone::until("the holder measures", || !sandbox.lines("log").is_empty());
    let held = sandbox.perf("true", "true", &[]).exits(2).says("the device is in use: process ");
    assert!(
        held.err.contains("./hold.sh") && held.err.contains("--lock-timeout"),
        "{}",
        held.err
    );
    assert_eq!((held.err.lines().count(), held.out.as_str()), (1, ""), "one line");
    let _not_in_time = sandbox
        .perf("true", "true", &["--lock-timeout", "100ms"])
        .exits(2)
        .says("the device is in use");
    assert_eq!(sandbox.sessions().len(), 1, "who could not measure leaves no session behind");

    let words = [
        "perf",
        "--a",
        "true",
        "--b",
        "true",
        "--fixed-blocks",
        "2",
        "--tolerance",
        "95%",
        "--lock-timeout",
        "60s",
    ];
    let waiting = sandbox.start(sandbox.command(&words));
    crate::alone::until("it waits", || waiting.err().contains("waiting for the device: process "));
    sandbox.write("go", "");
    let _holder = holder.wait();
    assert!(waiting.wait().err.contains("measured 10 processes"));
    assert_eq!(sandbox.ledger().len(), 2);
}

#[test]
fn secrets_reach_neither_processes_nor_files() {
    const SECRET: &str = "hunter2-correct-horse";
    let names = [
        "HF_TOKEN",
        "GITHUB_SHA",
        "AWS_SECRET_ACCESS_KEY",
        "GIT_DIR",
        "SSH_AUTH_SOCK",
        "db_password",
    ];
    let tell = names.map(|name| format!("echo {name}=${{#{name}}} >> seen")).join("; ");
    let new = || {
        let sandbox = names.iter().fold(Sandbox::new(), |sandbox, name| sandbox.with_env(name, SECRET));
        let sandbox = sandbox.with_env("MAX_NUM_BATCHED_TOKENS", "4096");
        sandbox.script(
            "tell.sh",
            &format!("{tell}; echo kept=$MAX_NUM_BATCHED_TOKENS >> seen; echo ms=100; echo oops >&2; exit $1"),
        );
        sandbox
    };
    let holds_secret = |sandbox: &Sandbox| {
        let found = sandbox.everything().into_iter();
        let holds = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        found.filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path).collect::<Vec<_>>()
    };
    for (pass, seen) in [("", 0), ("HF_TOKEN", SECRET.len()), ("SSH_AUTH_SOCK", SECRET.len())] {
        let sandbox = new();
        let pass_env: &[&str] = if pass.is_empty() { &[] } else { &["--pass-env", pass] };
        let record = sandbox
            .perf(
                "./tell.sh 0",
                "./tell.sh 0",
                &[&MS[..], &["--fixed-blocks", "2", "--format", "json"], pass_env].concat(),
            )
            .exits(0)
            .record();
        let expected: Vec<String> = names
            .iter()
            .map(|name| format!("{name}={}", if *name == pass { seen } else { 0 }))
            .chain(["kept=4096".to_owned()])
            .collect();
        assert_eq!(sandbox.lines("seen")[..expected.len()], expected, "--pass-env {pass:?}");
        let removed: Vec<&str> = record["identity"]["config"]["removed_env"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let mut hidden: Vec<&str> = names.into_iter().filter(|name| *name != pass).collect();
        hidden.sort_unstable();
        assert_eq!(removed, hidden);
        assert_eq!(holds_secret(&sandbox), Vec::<std::path::PathBuf>::new());
        let _log = sandbox.gate(&["ledger", "show", "last"]).exits(0);
        assert!(holds_secret(&sandbox).is_empty());
    }
    let sandbox = new();
    let _failed = sandbox.perf("./tell.sh 0", "./tell.sh 3", &["--pass-env", "HF_TOKEN"]).exits(1);
    assert!(holds_secret(&sandbox).is_empty(), "not when the command fails, either");
    let refused = sandbox
        .perf("true", "true", &["--env", &format!("MY_API_KEY={SECRET}")])
        .exits(2)
        .says("--pass-env MY_API_KEY");
    assert!(!refused.err.contains(SECRET));
    let absent = sandbox.perf("true", "true", &["--pass-env", "NOT_SET_AT_ALL"]).exits(2);
    assert!(absent.err.contains("--pass-env: NOT_SET_AT_ALL is not set"), "{}", absent.err);
    let seen = fs::read_to_string(sandbox.path("seen")).unwrap();
    assert!(seen.contains(&format!("HF_TOKEN={}", SECRET.len())));
}
