//! What `gate perf` leaves on its streams, in files and in the ledger.

use std::path::Path;
use std::process::Command;

use gate::model::record::Record;

use crate::sandbox::{Done, Sandbox, json, program};

const MS: [&str; 4] = ["--metric", "ms:lower:ms", "--fixed-blocks", "2"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.script("print.sh", "echo ms=$1");
    sandbox
}

/// Runs a line of bash in a sandbox, with this `gate` first in its `PATH`.
fn bash(sandbox: &Sandbox, line: &str) -> Done {
    let gate = Path::new(env!("CARGO_BIN_EXE_gate")).parent().unwrap();
    let path = format!("{}:{}", gate.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    sandbox.furnish(&mut command);
    command.env("PATH", path).args(["-c", line]);
    sandbox.start(command).wait()
}

#[test]
fn json_is_one_record_and_nothing_else() {
    let sandbox = sandbox();
    let more = [&MS[..], &["--format", "json", "--out", "record.json"]].concat();
    let done = sandbox.perf("./print.sh 100", "./print.sh 100", &more).exits(0);
    assert_eq!(done.out.matches('\n').count(), 1, "one line: {}", done.out);
    assert!(done.out.ends_with("}\n"));
    assert_eq!(sandbox.text("record.json"), done.out, "--out has the same bytes");
    assert_eq!(sandbox.text(".gate/ledger.jsonl"), done.out, "and so has the ledger");
    let record: Record = serde_json::from_str(&done.out).expect("the record's own type reads it");
    assert_eq!(record.line().unwrap() + "\n", done.out, "and writes it again");
    assert!(
        done.err.contains("plan: session") && done.err.contains("measured 10 processes"),
        "{}",
        done.err
    );

    let second = sandbox.perf("./print.sh 100", "./print.sh 100", &more).exits(0);
    assert_eq!(sandbox.text(".gate/ledger.jsonl"), done.out.clone() + &second.out);
    assert_eq!(second.record()["prev"], done.record()["seal"]);
    assert_eq!(sandbox.text("record.json"), second.out, "an older file is replaced");
    let shown = sandbox.gate(&["ledger", "show", "last", "--format", "json"]).exits(0);
    assert_eq!((shown.out, shown.err.as_str()), (second.out, ""));
}

#[test]
fn every_format_says_the_same() {
    let sandbox = sandbox();
    let terminal = sandbox.perf("./print.sh 100", "./print.sh 110", &MS).exits(1);
    let markdown = sandbox.gate(&["ledger", "show", "last", "--format", "markdown"]).exits(0);
    let direct = sandbox
        .perf("./print.sh 100", "./print.sh 110", &[&MS[..], &["--format", "markdown"]].concat())
        .exits(1);
    for words in ["regression", "100.0 / 100.0 / 100.0 ms", "110.0 / 110.0 / 110.0 ms", "2 %"] {
        for out in [&terminal.out, &markdown.out, &direct.out] {
            assert!(out.contains(words), "{words:?} in:\n{out}");
        }
    }
    assert!(direct.out.starts_with("**gate perf"), "{}", direct.out);
    let again = sandbox.gate(&["ledger", "show", "last", "--format", "terminal"]).exits(0);
    let same = |out: &str| {
        out.lines()
            .filter(|line| !line.starts_with("record:"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(same(&again.out), same(&terminal.out), "a stored record is shown as it was");
    assert!(!terminal.out.contains('\u{1b}'), "no colour where there is no terminal");
}

#[test]
fn the_last_line_is_the_command_that_repeats_the_measurement() {
    for more in [
        &[][..],
        &[
            "--order",
            "abba",
            "--alpha",
            "0.02",
            "--beta",
            "0.1",
            "--warmup-runs",
            "2",
            "--timeout",
            "90s",
            "--max-session",
            "1h",
        ],
        &[
            "--env",
            "WORDS=two words and 'quotes' \"both\" $HOME `x` \\",
            "--env",
            "TAB=a\tb",
            "--tolerance",
            "0.5 ms",
        ],
        &[
            "--cwd",
            "other",
            "--pass-env",
            "MY_TOKEN",
            "--on-inconclusive",
            "advisory",
            "--extract",
            "key-value",
        ],
        &[
            "--metric",
            "x::y:higher:tokens/s",
            "--metric",
            "cpu_s:lower:s",
            "--tolerance",
            "95%",
        ],
    ] {
        let sandbox = sandbox().with_env("MY_TOKEN", "secret");
        std::fs::create_dir(sandbox.path("other")).unwrap();
        let print = sandbox.path("print.sh");
        let a = format!("{} '100\nx::y=7'", print.display());
        let b = format!("{} '100\nx::y=7'  \"\\$'\"", print.display());
        let first = sandbox.perf(&a, &b, &[&MS[..], more].concat());
        let last = first.out.lines().next_back().unwrap_or_default();
        let command = last
            .strip_prefix("again: ")
            .unwrap_or_else(|| panic!("the last line is a command: {last}\n{}", first.err));
        let second = bash(&sandbox, &format!("{command} --format json"));
        let ledger = sandbox.ledger();
        assert_eq!(ledger.len(), 2, "{command}\n{}", second.err);
        assert_eq!(ledger[0]["plan"]["digest"], ledger[1]["plan"]["digest"], "the same plan: {command}");
        assert_eq!(ledger[0]["context"]["command"], ledger[1]["context"]["command"]);
        assert_eq!(second.code, first.code, "{command}");
    }
}

#[test]
fn a_reader_that_goes_away_leaves_the_exit_code_right() {
    let sandbox = sandbox();
    for (b, code) in [("100", 0), ("110", 1)] {
        for format in ["terminal", "json", "markdown"] {
            let line = format!(
                "gate perf --a './print.sh 100' --b './print.sh {b}' {} --format {format} | head -c 0; exit ${{PIPESTATUS[0]}}",
                MS.join(" ")
            );
            let _done = bash(&sandbox, &line).exits(code);
        }
    }
    let line = "gate perf --a true --b true --fixed-blocks 2 --tolerance 95% --out >(true); exit $?";
    assert_ne!(bash(&sandbox, line).code, Some(101), "no panic");
    assert_eq!(bash(&sandbox, "gate ledger log | head -c 0; exit ${PIPESTATUS[0]}").code, Some(0));
    assert_eq!(bash(&sandbox, "gate perf --help | head -c 0; exit ${PIPESTATUS[0]}").code, Some(0));
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let Some(_) = program("script") else { return };
    let line = format!("gate perf --a './print.sh 100' --b './print.sh 110' {}", MS.join(" "));
    let on_terminal = |sandbox: Sandbox| bash(&sandbox, &format!("script -qec \"{line}\" /dev/null")).exits(1).out;
    // Progress, which draws on a terminal, is off in continuous integration.
    let coloured = on_terminal(sandbox().with_env("CI", "1"));
    assert!(coloured.contains("\u{1b}[1;31mfail: regression\u{1b}[0m"), "{coloured:?}");
    let plain = on_terminal(sandbox().with_env("CI", "1").with_env("NO_COLOR", "1"));
    assert!(plain.contains("fail: regression") && !plain.contains('\u{1b}'), "{plain:?}");
    let quiet = on_terminal(sandbox().with_env("CI", "1"));
    assert!(!quiet.contains("block 1 of"), "no progress in continuous integration: {quiet:?}");
}

#[test]
fn progress_is_drawn_on_a_terminal_and_takes_itself_away() {
    let Some(_) = program("script") else { return };
    let line = "gate perf --a 'sleep 0.1' --b 'sleep 0.1' --fixed-blocks 2 --tolerance 95%";
    let drawn = bash(&sandbox().with_env("TERM", "xterm"), &format!("script -qec \"{line}\" /dev/null")).out;
    for words in [
        "warm-up 1",
        "block 1 of at most 2, next look after 2, at most ",
        "block 2 of at most 2",
    ] {
        assert!(drawn.contains(words), "{words:?} in {drawn:?}");
    }
    let before_the_look: Vec<&str> = drawn.split("measured 10 processes").take(1).collect();
    assert!(!before_the_look[0].contains("regression"), "no verdict before a look");
}

#[test]
fn control_sequences_of_commands_are_shown_harmless() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "evil.sh",
        "printf 'ms=100\\n\\033]0;title\\007\\033[2J'; printf '\\033[31mred\\033[0m' >&2; exit $1",
    );
    let done = sandbox.perf("./evil.sh 0", "./evil.sh 1 '\u{1b}[31m'", &MS).exits(1);
    for (name, text) in [("stdout", &done.out), ("stderr", &done.err)] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{name}: {text:?}");
    }
    let record = &sandbox.ledger()[0];
    let failed = record["evidence"]["samples"][1]["detail"]["stderr_tail"].as_str();
    assert_eq!(failed, Some("red"), "the sequences are gone, the words stay");
    let first = json(&sandbox.text(".gate/ledger.jsonl"));
    assert_eq!(&first, record);
}
