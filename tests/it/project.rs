//! Where `gate perf` keeps what it writes, and what it knows of the project around it.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::alone::until;
use crate::sandbox::{Sandbox, program, samples};

const MS: [&str; 4] = ["--metric", "ms:lower:ms", "--fixed-blocks", "2"];

/// Runs git in a sandbox and gives what it prints.
fn git(sandbox: &Sandbox, words: &[&str]) -> String {
    let mut command = Command::new("git");
    sandbox.furnish(&mut command);
    command
        .args(["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"])
        .args(words);
    sandbox.start(command).wait().exits(0).out.trim().to_owned()
}

#[test]
fn in_a_repository_the_source_is_known_and_the_state_at_its_top() {
    let Some(_) = program("git") else { return };
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("sub")).unwrap();
    sandbox.script("sub/print.sh", "echo ms=100");
    git(&sandbox, &["init", "-q", "-b", "trunk"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-q", "-m", "first"]);
    let run = || {
        let words = [&["perf", "--a", "./print.sh", "--b", "./print.sh", "--format", "json"], &MS[..]].concat();
        let mut command = sandbox.command(&words);
        command.current_dir(sandbox.path("sub"));
        sandbox.start(command).wait().exits(0).record()
    };
    run();
    let clean = run();
    let source = &clean["identity"]["arms"]["A"]["source"];
    assert_eq!(source["commit"], git(&sandbox, &["rev-parse", "HEAD"]).as_str());
    assert_eq!(
        (&source["branch"], &source["dirty"]),
        (&"trunk".into(), &false.into()),
        "our own files are no change"
    );
    assert_eq!(source, &clean["identity"]["arms"]["B"]["source"]);
    assert_eq!(
        clean["judgement"]["disposition"], "measured",
        "{}",
        clean["judgement"]["disposition_because"]
    );
    assert_eq!(sandbox.ledger().len(), 2, "the ledger is at the top of the repository");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");

    sandbox.write("new.txt", "untracked");
    assert_eq!(run()["identity"]["arms"]["A"]["source"]["dirty"], true);
}

#[test]
fn outside_a_repository_the_source_is_unknown_with_its_reason() {
    let sandbox = Sandbox::new();
    sandbox.script("print.sh", "echo ms=100");
    let record = sandbox
        .perf("./print.sh", "./print.sh", &[&MS[..], &["--format", "json"]].concat())
        .exits(0)
        .record();
    assert_eq!(record["judgement"]["disposition"], "exploratory");
    let missing = record["identity"]["missing"].to_string();
    assert!(missing.contains("not in a git repository"), "{missing}");
}

#[test]
fn a_file_that_the_command_names_is_digested_as_what_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("data", "1 2 3\n");
    sandbox.write("run.sh", "true\n");
    sandbox.write("named", "#!/bin/sh\ntrue\n");
    for (command, role) in [("cat data", "argument"), ("sh run.sh", "script"), ("sh named", "script")] {
        let record = sandbox
            .perf(command, command, &["--fixed-blocks", "2", "--tolerance", "95%", "--format", "json"])
            .record();
        let artifacts = &record["identity"]["arms"]["A"]["artifacts"];
        assert_eq!(artifacts[0]["role"], "executable", "{command}");
        assert_eq!(artifacts[1]["role"], role, "{command}");
    }
}

#[test]
fn the_folder_of_the_commands_is_not_where_the_state_is() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("there")).unwrap();
    sandbox.script("there/where.sh", "pwd >> log; echo ms=100");
    sandbox
        .perf("./where.sh", "./where.sh", &[&MS[..], &["--cwd", "there"]].concat())
        .exits(0);
    let there = fs::canonicalize(sandbox.path("there")).unwrap();
    assert!(sandbox.lines("there/log").iter().all(|line| line == there.to_str().unwrap()));
    assert_eq!(sandbox.ledger().len(), 1);
    assert!(!there.join(".gate").exists());
    sandbox.gate(&["perf", "--resume", &sandbox.session()]).exits(0);
}

#[test]
fn a_resumed_session_keeps_to_its_ledger() {
    let sandbox = Sandbox::new();
    sandbox.script("short.sh", "echo $$ >> log; exec sleep 0.01");
    let words = [
        "perf",
        "--a",
        "./short.sh",
        "--b",
        "./short.sh",
        "--fixed-blocks",
        "6",
        "--tolerance",
        "95%",
    ];
    let running = sandbox.start(sandbox.command(&[&words[..], &["--ledger", "other.jsonl"]].concat()));
    until("a block is measured", || sandbox.lines("log").len() > 6);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    let record = sandbox
        .gate(&["perf", "--resume", &sandbox.session(), "--format", "json"])
        .says("other.jsonl");
    assert_eq!(samples(&record.record()).len(), 26);
    assert_eq!(sandbox.text("other.jsonl"), record.out);
    assert!(sandbox.ledger().is_empty(), "not into the usual one");
}

#[test]
fn a_variable_moves_the_ledger_and_a_flag_wins() {
    let sandbox = Sandbox::new().with_env("GATE_LEDGER", "moved.jsonl");
    sandbox.script("print.sh", "echo ms=100");
    sandbox.perf("./print.sh", "./print.sh", &MS).exits(0);
    sandbox
        .perf("./print.sh", "./print.sh", &[&MS[..], &["--ledger", "named.jsonl"]].concat())
        .exits(0);
    assert_eq!((sandbox.lines("moved.jsonl").len(), sandbox.lines("named.jsonl").len()), (1, 1));
    assert!(sandbox.ledger().is_empty());
    let log = sandbox.gate(&["ledger", "log"]).exits(0);
    assert_eq!(log.out.lines().count(), 1, "{}", log.out);
}
