//! `kill -9` at many moments: what was measured stays, what was not is measured, and nothing twice.

use std::fs;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustix::process::Signal;
use serde_json::Value;

use crate::alone::until;
use crate::sandbox::{Sandbox, is_running, json, samples};

const BLOCKS: usize = 6;
const PROCESSES: usize = 2 + 4 * BLOCKS;
/// Sessions, each killed until it is done or has been killed this often.
const SESSIONS: u64 = 5;
const KILLS: usize = 5;

/// A sandbox with two short programs that log their starts, and the words that compare them.
fn logging() -> (Sandbox, Vec<&'static str>) {
    let sandbox = Sandbox::new();
    sandbox.script("one.sh", "echo $$ >> log; exec sleep 0.01");
    sandbox.script("two.sh", "echo $$ >> log; exec sleep 0.01");
    let words = [
        "perf",
        "--a",
        "./one.sh",
        "--b",
        "./two.sh",
        "--fixed-blocks",
        "6",
        "--tolerance",
        "90%",
    ];
    (sandbox, words.to_vec())
}

/// The whole lines of the session's file, if it has begun. A kill before its first line leaves a file that is no session yet.
fn whole_lines(sandbox: &Sandbox) -> Option<(String, Vec<u8>)> {
    let whole = |id: String| {
        let mut bytes = fs::read(sandbox.path(&sandbox.session_file(&id))).ok()?;
        let end = bytes.iter().rposition(|&byte| byte == b'\n')? + 1;
        bytes.truncate(end);
        Some((id, bytes))
    };
    let mut begun: Vec<(String, Vec<u8>)> = sandbox.sessions().into_iter().filter_map(whole).collect();
    assert!(
        begun.len() <= 1,
        "a session that has begun is gone on with, and no other is started"
    );
    begun.pop()
}

/// Starts or resumes the session, and kills it after a while. The moment may come before the session exists, or after its end.
fn run_and_kill(sandbox: &Sandbox, words: &[&str], after: Duration) {
    let id = whole_lines(sandbox).map(|(id, _)| id);
    let running = match &id {
        Some(id) => sandbox.start(sandbox.command(&["perf", "--resume", id])),
        None => sandbox.start(sandbox.command(words)),
    };
    std::thread::sleep(after);
    running.signal(Signal::KILL);
    let done = running.wait();
    assert!(
        done.code.is_none() || whole_lines(sandbox).is_some_and(|(_, bytes)| is_finished(&bytes)),
        "killed, or finished before: {done:?}"
    );
}

fn is_finished(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().next_back().is_some_and(|line| line.starts_with("{\"record\""))
}

#[test]
fn a_killed_session_loses_nothing_and_repeats_nothing() {
    let (mut kills, mut interrupted) = (0, 0);
    for seed in 0..SESSIONS {
        let (sandbox, words) = logging();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut before = Vec::new();
        for _ in 0..KILLS {
            let after = Duration::from_millis(u64::from(random.next_u32() % 160));
            run_and_kill(&sandbox, &words, after);
            kills += 1;
            let Some((_, bytes)) = whole_lines(&sandbox) else { continue };
            assert!(
                bytes.starts_with(&before),
                "seed {seed}: what stood in the session's file still stands there"
            );
            interrupted += usize::from(!is_finished(&bytes));
            before = bytes;
            for pid in sandbox.lines("log") {
                until(&format!("seed {seed}: process {pid} of the dead session ends"), || {
                    !is_running(&pid)
                });
            }
        }
        finish_and_check(&sandbox, &words, &before, &format!("seed {seed}"));
    }
    assert_eq!(kills, 25);
    assert!(interrupted >= 10, "only {interrupted} of {kills} kills met a running session");
}

/// Runs a session to its end and looks at all that it left.
fn finish_and_check(sandbox: &Sandbox, words: &[&str], before: &[u8], at: &str) {
    let begun = whole_lines(sandbox);
    let done = match &begun {
        Some((id, _)) => sandbox.gate(&["perf", "--resume", id, "--format", "json"]),
        None => sandbox.gate(&[words, &["--format", "json"]].concat()),
    };
    let record = done.record();
    let (id, bytes) = whole_lines(sandbox).unwrap();
    assert!(bytes.starts_with(before), "{at}: the samples before the kill are untouched");
    assert!(is_finished(&bytes), "{at}");

    let taken: Vec<Value> = String::from_utf8(bytes).unwrap().lines().map(json).collect();
    let taken: Vec<&Value> = taken.iter().filter_map(|line| line.get("sample")).collect();
    assert_eq!(
        taken,
        samples(&record).iter().collect::<Vec<_>>(),
        "{at}: the record holds what the session's file holds"
    );
    let slots: Vec<String> = taken.iter().map(|sample| slot(sample)).collect();
    assert_eq!(slots, planned(), "{at}: each slot once, in the plan's order");

    let started = sandbox.lines("log");
    let measured: Vec<String> = taken.iter().map(|sample| sample["pid"].to_string()).collect();
    let mut lost = started.iter().filter(|pid| !measured.contains(pid)).count();
    assert!(lost <= KILLS, "{at}: {lost} processes were started and lost in {KILLS} kills");
    lost += measured.len();
    assert_eq!(started.len(), lost, "{at}: no measured process was started twice");

    let ledger = sandbox.ledger();
    assert_eq!(ledger.len(), 1, "{at}: one record of the session");
    assert_eq!(ledger[0], record, "{at}");
    assert_eq!(record["labels"]["session"], id.as_str(), "{at}");
    let verified = sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("1 record, 0 violations"), "{at}: {}", verified.out);

    let code = done.code.unwrap();
    let again = sandbox.gate(&["perf", "--resume", &id, "--format", "json"]).exits(code);
    assert_eq!(again.out, done.out, "{at}: a finished session prints its record");
    assert_eq!(sandbox.lines("log").len(), started.len(), "{at}: and runs nothing");
    assert_eq!(sandbox.ledger().len(), 1, "{at}: and seals nothing");
}

fn slot(sample: &Value) -> String {
    let number = |name: &str| sample[name].as_u64().unwrap();
    let kind = if sample["warmup"] == true { "w" } else { "b" };
    format!(
        "{} {kind}{}.{} {} {}",
        number("seq"),
        number("block"),
        number("position"),
        number("try"),
        sample["arm"].as_str().unwrap()
    )
}

fn planned() -> Vec<String> {
    let order = "ABBA BAAB BAAB ABBA BAAB ABBA".replace(' ', "");
    let warm = ["0 w0.0 0 A".to_owned(), "1 w0.1 0 B".to_owned()];
    let slots = order
        .chars()
        .enumerate()
        .map(|(at, arm)| format!("{} b{}.{} 0 {arm}", at + 2, at / 4, at % 4));
    let all: Vec<String> = warm.into_iter().chain(slots).collect();
    assert_eq!(all.len(), PROCESSES);
    all
}

/// A session that was killed in its middle: at least a block is measured, and not all of it.
fn killed_in_the_middle() -> (Sandbox, Vec<&'static str>, String) {
    let (sandbox, words) = logging();
    let running = sandbox.start(sandbox.command(&words));
    until("a block is measured", || sandbox.lines("log").len() >= 8);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None, "it was killed before its end");
    let id = sandbox.session();
    (sandbox, words, id)
}

#[test]
fn a_kill_between_ledger_and_session_leaves_one_record() {
    let (sandbox, words) = logging();
    let done = sandbox.gate(&[&words[..], &["--format", "json"]].concat());
    let id = sandbox.session();
    let file = sandbox.session_file(&id);
    let lines = sandbox.lines(&file);
    assert!(lines.last().unwrap().starts_with("{\"record\""));
    sandbox.write(&file, lines[..lines.len() - 1].join("\n") + "\n");
    let again = sandbox.gate(&["perf", "--resume", &id, "--format", "json"]);
    assert_eq!((again.code, &again.out), (done.code, &done.out));
    assert_eq!(sandbox.ledger().len(), 1);
    assert_eq!(sandbox.lines(&file), lines, "the session is finished again");
    assert_eq!(sandbox.lines("log").len(), PROCESSES);
}

#[test]
fn a_torn_last_line_is_taken_off_and_its_process_run_again() {
    let (sandbox, words, id) = killed_in_the_middle();
    let file = sandbox.session_file(&id);
    let (_, whole) = whole_lines(&sandbox).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    let (before, torn) = (&whole[..last], &whole[last..]);
    for cut in [1, torn.len() / 2, torn.len() - 1] {
        sandbox.write(&file, [before, &torn[..cut]].concat());
        let refused = sandbox
            .gate(&["perf", "--resume", &id, "--a", "./one.sh", "--b", "./two.sh"])
            .exits(2);
        assert!(
            refused.err.contains("plan changed"),
            "the file is read before the plans are compared: {}",
            refused.err
        );
    }
    sandbox.write(&file, [before, &torn[..torn.len() / 2]].concat());
    finish_and_check(&sandbox, &words, before, "torn");
}

#[test]
fn an_unfinished_session_is_named_on_the_next_start() {
    let (sandbox, words, id) = killed_in_the_middle();
    let next = sandbox.start(sandbox.command(&words)).wait();
    assert!(next.err.contains(&format!("`gate perf --resume {id}`")), "{}", next.err);
    let other = sandbox.perf("./two.sh", "./one.sh", &["--fixed-blocks", "2", "--tolerance", "90%"]);
    assert!(!other.err.contains("--resume"), "another plan is another session: {}", other.err);
    sandbox.gate(&["perf", "--resume", &id]).says("measured 26 processes");
    let after = sandbox.start(sandbox.command(&words)).wait();
    assert!(!after.err.contains("--resume"), "a finished session is not named: {}", after.err);
    assert_eq!(sandbox.gate(&["ledger", "verify"]).exits(0).out.lines().count(), 1);
}

#[test]
fn what_changed_refuses_to_be_resumed() {
    let (sandbox, words, id) = killed_in_the_middle();
    let ran = sandbox.lines("log").len();
    let refused = |words: &[&str], saying: &str| {
        let done = sandbox.gate(&[&["perf", "--resume", &id], words].concat()).exits(2);
        let lines: Vec<&str> = done.err.lines().collect();
        assert!(
            lines.len() == 1 && lines[0].contains(saying),
            "{words:?}: want {saying:?} in one line:\n{}",
            done.err
        );
        assert_eq!(done.out, "");
    };
    let same = &words[1..];
    for (more, saying) in [
        (&["--alpha", "0.02"][..], "--alpha differs"),
        (&["--beta", "0.02"], "--beta differs"),
        (&["--order", "abba"], "--order differs"),
        (&["--warmup-runs", "2"], "--warmup-runs differs"),
        (&["--timeout", "9m"], "--timeout differs"),
        (&["--max-session", "9m"], "--max-session differs"),
        (&["--on-inconclusive", "advisory"], "--on-inconclusive differs"),
        (&["--env", "X=1"], "--env differs"),
        (&["--pass-env", "HOME"], "--pass-env differs"),
        (&["--cwd", "/"], "--cwd differs"),
        (&["--metric", "x:lower:s"], "--metric or --tolerance differs"),
    ] {
        refused(&[same, more].concat(), saying);
    }
    refused(
        &["--a", "./one.sh", "--b", "./two.sh x", "--fixed-blocks", "6", "--tolerance", "90%"],
        "--b differs",
    );
    refused(
        &["--a", "./one.sh", "--b", "./two.sh", "--fixed-blocks", "5", "--tolerance", "90%"],
        "--fixed-blocks differs",
    );
    refused(
        &["--a", "./one.sh", "--b", "./two.sh", "--fixed-blocks", "6", "--tolerance", "80%"],
        "--tolerance differs",
    );
    refused(&["--tolerance", "80%"], "--a");
    refused(&["--a", "./one.sh"], "--b");

    let mut elsewhere = sandbox.command(&["perf", "--resume", &id]);
    elsewhere.env("HIP_VISIBLE_DEVICES", "1");
    let done = sandbox.start(elsewhere).wait().exits(2);
    assert!(done.err.contains("HIP_VISIBLE_DEVICES changed: was null, is \"1\""), "{}", done.err);

    let script = sandbox.text("two.sh");
    sandbox.script("two.sh", "echo $$ >> log; exec sleep 0.02");
    refused(&[], "the script of arm B changed");
    fs::remove_file(sandbox.path("two.sh")).unwrap();
    refused(&[], "arm B: ./two.sh: no such file");
    sandbox.script("two.sh", script.strip_prefix("#!/bin/sh\n").unwrap().trim_end());

    assert_eq!(sandbox.lines("log").len(), ran, "nothing ran meanwhile");
    assert!(sandbox.ledger().is_empty(), "nothing was sealed meanwhile");
    let done = sandbox.gate(&[&["perf", "--resume", &id][..], same].concat());
    assert!(
        done.err.contains("measured 26 processes"),
        "the same plan, spelled out, goes on: {}",
        done.err
    );
}

#[test]
fn a_changed_executable_refuses_to_be_resumed() {
    let sandbox = Sandbox::new();
    fs::copy("/bin/sleep", sandbox.path("own-sleep")).unwrap();
    let running = sandbox.start(sandbox.command(&["perf", "--a", "./own-sleep 0.01", "--b", "sleep 0.01", "--fixed-blocks", "20"]));
    until("a block is measured", || {
        sandbox
            .sessions()
            .iter()
            .any(|id| sandbox.lines(&sandbox.session_file(id)).len() > 6)
    });
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    let mut bytes = fs::read(sandbox.path("own-sleep")).unwrap();
    bytes.push(0);
    // The killed process may still be about to go, and nobody writes to a program that runs.
    fs::remove_file(sandbox.path("own-sleep")).unwrap();
    fs::copy("/bin/sleep", sandbox.path("own-sleep")).unwrap();
    sandbox.write("own-sleep", bytes);
    sandbox
        .gate(&["perf", "--resume", &sandbox.session()])
        .exits(2)
        .says("the executable of arm A changed: ");
}

#[test]
fn what_cannot_be_read_refuses_to_be_resumed() {
    let (sandbox, words, id) = killed_in_the_middle();
    let file = sandbox.session_file(&id);
    let lines = sandbox.lines(&file);
    let refused = |id: &str, saying: &str| {
        let done = sandbox.gate(&["perf", "--resume", id]).exits(2);
        assert!(
            done.err.lines().count() == 1 && done.err.contains(saying),
            "{id:?}: want {saying:?} in one line:\n{}",
            done.err
        );
    };
    for (rubbish, saying) in [
        ("20000101t000000-abcdef", "no session 20000101t000000-abcdef"),
        ("../x", "no session's name"),
        ("a/b", "no session's name"),
        ("", "no session's name"),
        ("x.jsonl", "no session's name"),
    ] {
        refused(rubbish, saying);
    }
    let with = |at: usize, line: &str| {
        let mut changed = lines.clone();
        changed[at] = line.to_owned();
        sandbox.write(&file, changed.join("\n") + "\n");
    };
    assert!(
        lines[3].starts_with("{\"plan\""),
        "header, two warm-up samples, the complete plan, samples"
    );
    with(5, &lines[5].replace("\"sample\"", "\"sam"));
    refused(&id, ".jsonl:6:");
    with(5, "");
    refused(&id, ".jsonl:6:");
    with(5, &lines[4]);
    refused(&id, ".jsonl:6:");
    with(3, &lines[4].replace("\"seq\":3", "\"seq\":2"));
    refused(&id, ".jsonl:4:");
    with(0, &lines[1]);
    refused(&id, ".jsonl:1:");
    with(0, &lines[0].replacen("\"version\":1", "\"version\":2", 1));
    refused(&id, "session format 2, this gate reads 1");
    sandbox.write(&file, "");
    refused(&id, "the file is damaged");

    sandbox.write(&file, lines.join("\n") + "\n");
    let ran = sandbox.lines("log").len();
    let running = sandbox.start(sandbox.command(&["perf", "--resume", &id]));
    until("it goes on", || sandbox.lines("log").len() > ran);
    refused(&id, "the session is still running");
    let done = running.wait();
    assert!(done.err.contains("measured 26 processes"), "{}", done.err);
    assert_eq!(sandbox.ledger().len(), 1, "{words:?}");
}
