//! Bad input: exit 2, one clear line, no process started, nothing sealed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::sandbox::{Done, Sandbox};

/// A sandbox with a program that would leave a trace if it ran.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.script("mark.sh", "echo ran >> log");
    sandbox.write("plain.txt", "#!/bin/sh\necho ran >> log\n");
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox
}

/// Asserts that a run was refused: one line on standard error that holds every word, nothing else anywhere.
#[track_caller]
fn refused(sandbox: &Sandbox, done: &Done, words: &[&str]) {
    assert_eq!(done.code, Some(2), "{done:?}");
    assert_eq!(done.out, "", "{done:?}");
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(lines.len(), 1, "one line: {done:?}");
    assert!(lines[0].starts_with("gate: error: "), "{}", lines[0]);
    for word in words {
        assert!(lines[0].contains(word), "{word:?} in {:?}", lines[0]);
    }
    assert!(sandbox.lines("log").is_empty(), "a process ran: {done:?}");
    assert!(sandbox.ledger().is_empty(), "a record was sealed: {done:?}");
    assert!(sandbox.sessions().is_empty(), "a session was begun: {done:?}");
}

/// Runs `gate perf` with two good commands and one more option in each of the cases.
fn each_option_is_refused(cases: &[(&[&str], &[&str])]) {
    let sandbox = sandbox();
    for (more, words) in cases {
        let done = sandbox.perf("./mark.sh", "./mark.sh", more);
        refused(&sandbox, &done, words);
    }
}

/// O-31: no limit disarms the gate.
#[test]
fn tolerances() {
    for (tolerance, words) in [
        ("2", "say 2% (relative) or 2ms (absolute)"),
        ("nan%", "not a finite number"),
        ("inf%", "not a finite number"),
        ("-inf%", "not a finite number"),
        ("-1%", "negative"),
        ("1,0%", "write \"1.0%\""),
        ("", "empty"),
        ("0%", "zero"),
        ("1e400%", "too large"),
        ("0.5kg", "unknown unit \"kg\""),
        ("%", "does not begin with a decimal number"),
        ("2%%", "unknown unit"),
        ("5B", "B does not convert to s"),
        ("1pp", "points are differences of shares"),
    ] {
        each_option_is_refused(&[(&["--tolerance", tolerance], &["--tolerance", words])]);
    }
    each_option_is_refused(&[(&["--metric", "x:higher:tok/s", "--tolerance", "100%"], &["metric x", "100%"])]);
    each_option_is_refused(&[(
        &["--metric", "x:lower:s", "--metric", "y:lower:B", "--tolerance", "1ms"],
        &["metric y", "ms does not convert to B"],
    )]);
}

#[test]
fn metrics() {
    each_option_is_refused(&[
        (&["--metric", "x:lower:parsec"], &["metric x", "unknown unit \"parsec\""]),
        (&["--metric", "x:up:s"], &["metric x", "direction \"up\"", "higher or lower"]),
        (&["--metric", "x:lower"], &["NAME:higher|lower:UNIT"]),
        (&["--metric", "x"], &["NAME:higher|lower:UNIT"]),
        (&["--metric", ":lower:s"], &["a metric needs a name"]),
        (&["--metric", ""], &["--metric"]),
        (
            &["--metric", "x:lower:s", "--metric", "x:higher:ms"],
            &["--metric: x is named twice"],
        ),
        (&["--metric", "wall_s:lower:ms"], &["write wall_s:lower:s"]),
        (&["--metric", "cpu_s:higher:s"], &["write cpu_s:lower:s"]),
        (&["--metric", "peak_rss_bytes:lower:KB"], &["write peak_rss_bytes:lower:B"]),
    ]);
}

#[test]
fn commands() {
    let sandbox = sandbox();
    for (command, words) in [
        ("", "is empty"),
        ("  ", "is empty"),
        ("''", "the program's name is empty"),
        ("'./mark.sh", "a quote is not closed"),
        ("./mark.sh \"", "a quote is not closed"),
        ("no-such-program-anywhere", "no such program in any folder of PATH"),
        ("./no-such-file x", "./no-such-file: no such file"),
        ("./folder", "./folder: a folder, not a program"),
        ("./plain.txt", "./plain.txt: not executable"),
        ("/dev/null", "/dev/null: not a regular file"),
    ] {
        refused(&sandbox, &sandbox.perf(command, "./mark.sh", &[]), &["--a", words]);
        refused(&sandbox, &sandbox.perf("./mark.sh", command, &[]), &["--b", words]);
    }
    refused(&sandbox, &sandbox.gate(&["perf", "--a", "./mark.sh"]), &["--b <CMD>"]);
    refused(&sandbox, &sandbox.gate(&["perf", "--b", "./mark.sh"]), &["--a <CMD>"]);
    refused(
        &sandbox,
        &sandbox.gate(&["perf"]),
        &["declared gates need a git repository", "--a and --b"],
    );
}

#[test]
fn numbers_and_durations() {
    each_option_is_refused(&[
        (&["--max-blocks", "1"], &["--max-blocks", "1 is not in 2..=28"]),
        (&["--max-blocks", "29"], &["--max-blocks", "29 is not in 2..=28"]),
        (&["--max-blocks", "0"], &["--max-blocks", "0 is not in 2..=28"]),
        (&["--max-blocks", "-3"], &["--max-blocks", "-3 is not in 2..=28"]),
        (&["--max-blocks", "x"], &["--max-blocks", "invalid digit"]),
        (&["--max-blocks", "99999999999999999999"], &["--max-blocks"]),
        (&["--fixed-blocks", "1"], &["--fixed-blocks", "1 is not in 2..=1000"]),
        (&["--fixed-blocks", "1001"], &["--fixed-blocks", "1001 is not in 2..=1000"]),
        (
            &["--fixed-blocks", "5", "--max-blocks", "5"],
            &["'--fixed-blocks <N>' cannot be used with '--max-blocks <N>'"],
        ),
        (&["--warmup-runs", "-1"], &["--warmup-runs", "-1 is not in 0..=100"]),
        (&["--timeout", "0s"], &["--timeout", "a limit of zero lets nothing run"]),
        (&["--timeout", "-1m"], &["--timeout", "negative"]),
        (
            &["--timeout", "abc"],
            &["--timeout", "is no duration: write a duration such as 45s, 10m or 1h"],
        ),
        (&["--timeout", "10"], &["--timeout", "is no duration"]),
        (&["--max-session", "0s"], &["--max-session", "a limit of zero lets nothing run"]),
        (&["--max-session", "-1m"], &["--max-session", "negative"]),
        (&["--max-session", "9000h"], &["--max-session", "longer than a week"]),
        (&["--lock-timeout", "-1s"], &["--lock-timeout", "negative"]),
        (&["--lock-timeout", "soon"], &["--lock-timeout", "is no duration"]),
    ]);
    for rate in ["0", "0.5", "nan", "1", "-0.1", "1e-9", "one"] {
        each_option_is_refused(&[
            (&["--alpha", rate], &["--alpha", "write a rate such as 0.01"]),
            (&["--beta", rate], &["--beta", "write a rate such as 0.01"]),
        ]);
    }
}

#[test]
fn names_and_variables() {
    each_option_is_refused(&[
        (
            &["--format", "yaml"],
            &["unknown format \"yaml\": known are terminal, markdown, json"],
        ),
        (
            &["--extract", "guess"],
            &["--extract", "unknown adapter \"guess\": known are key-value"],
        ),
        (&["--order", "random"], &["--order", "thue-morse, abba"]),
        (&["--on-inconclusive", "pass"], &["--on-inconclusive", "fail, advisory"]),
        (&["--env", "X"], &["--env", "NAME=VALUE"]),
        (&["--env", "=x"], &["--env", "is no variable's name"]),
        (&["--env", "1X=y"], &["--env", "is no variable's name"]),
        (&["--env", "X=1", "--env", "X=2"], &["--env: X is set twice"]),
        (&["--env", "GH_TOKEN=x"], &["--pass-env GH_TOKEN"]),
        (&["--env", "X=1", "--pass-env", "X"], &["--env and --pass-env both name X"]),
        (&["--pass-env", "NOT_SET"], &["--pass-env: NOT_SET is not set"]),
        (&["--pass-env", "NOT SET"], &["--pass-env", "is no variable's name"]),
        (&["--tolernce", "2%"], &["unexpected argument '--tolernce'", "'--tolerance'"]),
        (&["./mark.sh"], &["unexpected argument './mark.sh'"]),
    ]);
    let sandbox = sandbox();
    refused(&sandbox, &sandbox.gate(&["pref"]), &["unrecognized subcommand 'pref'", "'perf'"]);
    for (id, words) in [
        ("../x", "no session's name"),
        ("nothing", "no session nothing"),
        ("", "no session's name"),
    ] {
        refused(&sandbox, &sandbox.gate(&["perf", "--resume", id]), &[words]);
    }
    refused(
        &sandbox,
        &sandbox.gate(&["perf", "--resume", "x", "--alpha", "0.02"]),
        &["--a <CMD>"],
    );
    refused(
        &sandbox,
        &sandbox.gate(&["perf", "--resume", "x", "--a", "./mark.sh"]),
        &["--b <CMD>"],
    );
    assert_eq!(sandbox.gate(&[]).code, Some(2), "no subcommand: help, on standard error");
}

#[test]
fn places() {
    each_option_is_refused(&[
        (&["--cwd", "absent"], &["--cwd", "absent"]),
        (&["--cwd", "plain.txt"], &["--cwd", "plain.txt is not a folder"]),
        (&["--out", "absent/record.json"], &["--out", "absent/record.json"]),
        (&["--out", "folder"], &["--out", "folder: is a folder; name a file"]),
        (
            &["--out", ".gate/../.gate/ledger.jsonl"],
            &["--out", "is the ledger, which would be overwritten"],
        ),
        (&["--out", "./same", "--ledger", "same"], &["--out", "is the ledger"]),
        (&["--ledger", "absent/ledger.jsonl"], &["absent/ledger.jsonl"]),
        (&["--ledger", "folder"], &["ledger", "folder"]),
    ]);
    let sandbox = sandbox();
    for (ledger, words) in [
        (
            "{\"version\":2,\"seal\":\"b3:00\"}\n",
            "written in record format 2, this gate knows 1",
        ),
        ("{\"version\":1,\"seal\":\"b3:00\"}\n{\"vers", "the last line is cut short"),
        ("rubbish\n", "the last line is not JSON"),
        ("{}\n", "not a ledger of gate"),
        ("\n", "not JSON"),
        ("5\n", "the last line is not a record"),
        ("[1,\"b3:00\"]\n", "the last line is not a record"),
    ] {
        sandbox.write("some.jsonl", ledger);
        let done = sandbox.perf("./mark.sh", "./mark.sh", &["--ledger", "some.jsonl"]);
        refused(&sandbox, &done, &["some.jsonl", words]);
        assert_eq!(sandbox.text("some.jsonl"), ledger, "it is left as it was");
    }
    let absent = sandbox.perf("./mark.sh", "./mark.sh", &["--ledger", "absent/some.jsonl"]);
    refused(&sandbox, &absent, &["the ledger", "--ledger names another", "absent/some.jsonl"]);
    fs::write(sandbox.path(".gate/sessions"), "").unwrap_err();
    fs::remove_dir_all(sandbox.path(".gate")).unwrap();
    sandbox.write(".gate", "a file in the folder's place");
    refused(
        &sandbox,
        &sandbox.perf("./mark.sh", "./mark.sh", &[]),
        &["cannot write the folder", ".gate"],
    );
}

/// Runs a line of `sh` in a mount namespace of its own with a small file system on `folder`; none where the system forbids it.
fn on_small_disk(sandbox: &Sandbox, options: &str, line: &str) -> Option<Done> {
    let root = rustix::process::geteuid().is_root();
    let unshare: &[&str] = if root { &["-m"] } else { &["-U", "-r", "-m"] };
    let run = |line: &str| {
        let mut command = Command::new("unshare");
        sandbox.furnish(&mut command);
        command
            .args(unshare)
            .args(["sh", "-c", line])
            .env("GATE", env!("CARGO_BIN_EXE_gate"));
        sandbox.start(command).wait()
    };
    let mount = format!("mount -t tmpfs -o {options} none folder && cd folder");
    if run(&mount).code != Some(0) {
        println!("skipped: this system lets nobody mount a file system of his own");
        return None;
    }
    Some(run(&format!("{mount} && {line}")))
}

#[test]
fn a_read_only_folder() {
    let sandbox = sandbox();
    let perf = "exec \"$GATE\" perf --a ../mark.sh --b ../mark.sh";
    if let Some(done) = on_small_disk(&sandbox, "ro,size=64k", perf) {
        refused(&sandbox, &done, &["cannot write the folder", ".gate", "Read-only file system"]);
    }
    if !rustix::process::geteuid().is_root() {
        fs::set_permissions(sandbox.path("folder"), fs::Permissions::from_mode(0o555)).unwrap();
        let mut command = sandbox.command(&["perf", "--a", "../mark.sh", "--b", "../mark.sh"]);
        command.current_dir(sandbox.path("folder"));
        refused(
            &sandbox,
            &sandbox.start(command).wait(),
            &["cannot write the folder", "Permission denied"],
        );
    }
}

#[test]
fn a_full_disk_at_the_start() {
    let sandbox = sandbox();
    let fill = "cat /dev/zero > filler 2> /dev/null";
    let perf = "exec \"$GATE\" perf --a ../mark.sh --b ../mark.sh";
    if let Some(done) = on_small_disk(&sandbox, "size=64k", &format!("{fill}; {perf}")) {
        refused(&sandbox, &done, &["cannot write the folder", "No space left on device"]);
    }
    // The folder is there from an earlier run, so that the session's file is the first that finds no room.
    let prepare = "mkdir -p .gate/sessions && echo '*' > .gate/.gitignore";
    if let Some(done) = on_small_disk(
        &sandbox,
        "size=64k",
        &format!("{prepare}; {fill}; ({perf}); code=$?; ls .gate/sessions; exit $code"),
    ) {
        refused(&sandbox, &done, &["cannot write", "No space left on device"]);
    }
}

#[test]
fn a_disk_that_fills_up_during_the_session_leaves_it_resumable() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.script("mark.sh", "echo $$ >> ../log");
    let line = "head -c 237568 /dev/zero > filler
        \"$GATE\" perf --a ../mark.sh --b ../mark.sh --fixed-blocks 12 --tolerance 95% 2> ../first; echo $? >> ../first
        wc -l < ../log > ../before; rm filler
        id=$(basename .gate/sessions/*.jsonl .jsonl)
        \"$GATE\" perf --resume $id --format json > ../record; \"$GATE\" ledger verify";
    let Some(done) = on_small_disk(&sandbox, "size=256k", line) else {
        return;
    };
    let done = done.exits(0);
    let first = sandbox.lines("first");
    assert_eq!(first.last().map(String::as_str), Some("2"), "{first:?}");
    assert!(first[first.len() - 2].contains("No space left on device"), "{first:?}");
    let before: usize = sandbox.text("before").trim().parse().unwrap();
    assert!((2..50).contains(&before), "it filled up in the middle: after {before} processes");
    assert!(done.out.contains("1 record, 0 violations"), "{}", done.out);
    let record = crate::sandbox::json(&sandbox.text("record"));
    assert_eq!(crate::sandbox::samples(&record).len(), 50);
    assert_eq!(
        sandbox.lines("log").len(),
        51,
        "the one process that could not be written down was run again"
    );
}
