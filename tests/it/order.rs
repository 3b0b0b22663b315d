//! Which process runs when, and that none can tell which arm it is.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sandbox::{Sandbox, samples, verdict};

/// Thue-Morse over three blocks: ABBA BAAB BAAB; ABBA throughout. Before them a warm-up run of each arm.
const THUE_MORSE: &str = "AB ABBA BAAB BAAB";
const ABBA: &str = "AB ABBA ABBA ABBA";

fn letters(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn processes_run_in_the_order_of_the_plan() {
    for (order, plan) in [("thue-morse", THUE_MORSE), ("abba", ABBA)] {
        let sandbox = Sandbox::new();
        sandbox.script("log.sh", "echo $1 >> log");
        let more = ["--fixed-blocks", "3", "--order", order, "--tolerance", "90%", "--format", "json"];
        let done = sandbox.perf("./log.sh A", "./log.sh B", &more);
        let record = done.record();
        assert_eq!(sandbox.lines("log").concat(), letters(plan), "{order}: what ran");

        let measured: String = samples(&record).iter().filter_map(|sample| sample["arm"].as_str()).collect();
        assert_eq!(measured, letters(plan), "{order}: what is recorded");
        let warm: Vec<bool> = samples(&record).iter().filter_map(|sample| sample["warmup"].as_bool()).collect();
        assert_eq!(warm, [vec![true; 2], vec![false; 12]].concat(), "{order}: warm-ups come first");
        let places: Vec<(u64, u64)> = samples(&record)[2..]
            .iter()
            .map(|sample| (sample["block"].as_u64().unwrap(), sample["position"].as_u64().unwrap()))
            .collect();
        let planned: Vec<(u64, u64)> = (0..3).flat_map(|block| (0..4).map(move |position| (block, position))).collect();
        assert_eq!(places, planned, "{order}");
        let pids: BTreeSet<u64> = samples(&record).iter().filter_map(|sample| sample["pid"].as_u64()).collect();
        assert_eq!(pids.len(), 14, "{order}: each is a process of its own");
        let blocks: Vec<&str> = record["plan"]["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(blocks.concat(), letters(plan)[2..], "{order}: what was declared");
    }
}

#[test]
fn warm_ups_alternate_and_can_be_left_out() {
    for (count, start) in [("0", "ABBA"), ("3", "ABABAB ABBA")] {
        let sandbox = Sandbox::new();
        sandbox.script("log.sh", "echo $1 >> log");
        let done = sandbox.perf("./log.sh A", "./log.sh B", &["--fixed-blocks", "2", "--warmup-runs", count]);
        assert!(done.code.is_some());
        let log = sandbox.lines("log").concat();
        assert!(log.starts_with(&letters(start)), "{count} warm-up runs: {log}");
    }
}

#[test]
fn looks_stop_the_session_as_soon_as_they_decide() {
    let sandbox = Sandbox::new();
    sandbox.script("print.sh", "echo run >> log; echo ms=$1");
    let metric = ["--metric", "ms:lower:ms", "--format", "json"];
    let record = sandbox.perf("./print.sh 100", "./print.sh 110", &metric).exits(1).record();
    assert_eq!(verdict(&record), "regression");
    let ran = sandbox.lines("log").len();
    assert_eq!(ran, samples(&record).len());
    assert!(ran < 2 + 14 * 4, "10 % on a metric without noise needs no {ran} processes");
}

/// What a process can see of itself, one `name: value` a line; its one argument is how it was told apart.
const LOOK_AROUND: &str = "
view=$(
  echo \"environment bytes: $(wc -c < /proc/$$/environ)\"
  echo \"environment: $(tr '\\0' ' ' < /proc/$$/environ)\"
  echo \"cwd: $(readlink /proc/$$/cwd)\"
  echo \"parent: $PPID\"
  echo \"niceness: $(cut -d ' ' -f 18,19 /proc/$$/stat)\"
  echo \"leads its group: $(cut -d ' ' -f 5 /proc/$$/stat | sed s/^$$\\$/yes/)\"
  echo \"arguments: $(tr '\\0' ' ' < /proc/$$/cmdline)\"
  grep -E '^(Sig(Pnd|Blk|Ign|Cgt)|Umask|Cpus_allowed|Seccomp|NoNewPrivs)' /proc/$$/status
  for fd in /proc/$$/fd/*; do echo \"descriptor: ${fd##*/} $(readlink $fd | sed 's/[0-9][0-9]*/N/')\"; done
)
echo \"$view\" > seen.$1.$$";

#[test]
fn no_process_sees_its_arm() {
    let sandbox = Sandbox::new().with_env("SOME_VALUE", "of the caller");
    sandbox.script("look.sh", LOOK_AROUND);
    sandbox
        .perf("./look.sh 1", "./look.sh 2", &["--fixed-blocks", "2", "--tolerance", "90%"])
        .says("measured 10 processes");
    let mut seen = [BTreeSet::new(), BTreeSet::new()];
    let mut files = 0;
    for (path, bytes) in sandbox.everything() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(arm) = ["seen.1.", "seen.2."].iter().position(|start| name.starts_with(start)) else {
            continue;
        };
        files += 1;
        // The one difference that was declared.
        let text = String::from_utf8(bytes)
            .unwrap()
            .replace(&format!("look.sh {}", arm + 1), "look.sh");
        seen[arm].insert(text);
    }
    let [a, b] = &seen;
    assert_eq!(files, 10, "every process left its view");
    assert_eq!(a.len(), 1, "every process of one arm sees the same: {a:#?}");
    assert_eq!(a, b, "both arms see the same");
    let view = a.first().unwrap();
    for words in [
        "SOME_VALUE=of the caller",
        "descriptor: 0 /dev/null",
        "descriptor: 1 pipe:[N]",
        "descriptor: 2 pipe:[N]",
        "leads its group: yes",
        "arguments: /bin/sh ",
    ] {
        assert!(view.contains(words), "{words:?} in:\n{view}");
    }
    let descriptors: Vec<&str> = view.lines().filter(|line| line.starts_with("descriptor")).collect();
    assert!(
        descriptors.len() <= 5,
        "three streams, the script that the shell reads, and the pipe of its own: {descriptors:?}"
    );
}

/// O-36: every process is slower than the one before it. Blocks of A B B A favour neither arm; one arm after the other would show a slowdown.
#[test]
fn a_steady_drift_is_no_difference_in_blocks() {
    let sandbox = Sandbox::new();
    let body = "n=$(($(cat n 2>/dev/null || echo 0) + 1))\necho $n > n\necho t=$((1000 + 10 * n)) ms";
    sandbox.script("drift.sh", body);
    let more = [
        "--metric",
        "t:lower:ms",
        "--fixed-blocks",
        "2",
        "--order",
        "abba",
        "--warmup-runs",
        "0",
        "--tolerance",
        "3%",
        "--format",
        "json",
    ];
    let record = sandbox.perf("./drift.sh", "./drift.sh", &more).record();
    let values: Vec<f64> = samples(&record)
        .iter()
        .map(|sample| sample["values"]["t"].as_f64().unwrap())
        .collect();
    assert_eq!(values, [1010.0, 1020.0, 1030.0, 1040.0, 1050.0, 1060.0, 1070.0, 1080.0]);
    let gain_pct = record["judgement"]["verdicts"][0]["estimate"].as_f64().unwrap();
    assert!(gain_pct.abs() < 0.1, "{gain_pct} %");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let blocked_pct = 100.0 * (mean(&values[4..]) / mean(&values[..4]) - 1.0);
    assert!(blocked_pct > 3.0, "the same values in the order AAAABBBB: {blocked_pct} %");
}
