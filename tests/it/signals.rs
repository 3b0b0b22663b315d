//! SIGINT and SIGTERM: everything of the session ends, what was measured is sealed, and it can go on.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::alone::until;
use crate::sandbox::{Running, Sandbox, is_running, samples};

/// Long until the file `go` is there; then it ends at once. It has a child, which it tells.
const LONG: &str = "
[ -e go ] && exit 0
sleep 60 & echo $$ $! >> pids
wait";
/// What must be over after a signal.
const LIMIT: Duration = Duration::from_secs(5);

fn started(script: &str) -> (Sandbox, Running) {
    let sandbox = Sandbox::new();
    sandbox.script("long.sh", script);
    let words = [
        "perf",
        "--a",
        "./long.sh",
        "--b",
        "./long.sh",
        "--fixed-blocks",
        "2",
        "--tolerance",
        "95%",
    ];
    let running = sandbox.start(sandbox.command(&words));
    until("the first process runs", || sandbox.lines("pids").len() == 1);
    (sandbox, running)
}

#[test]
fn a_signal_ends_everything_and_seals_what_there_is() {
    for (signal, name, code, script) in [
        (Signal::INT, "SIGINT", 130, LONG.to_owned()),
        (Signal::TERM, "SIGTERM", 143, LONG.to_owned()),
        (Signal::TERM, "SIGTERM", 143, format!("trap '' TERM INT\n{LONG}")),
    ] {
        let (sandbox, running) = started(&script);
        let sent = Instant::now();
        running.signal(signal);
        let done = running.wait().exits(code);
        assert!(sent.elapsed() < LIMIT, "{name}: took {:?}", sent.elapsed());
        for pid in sandbox.text("pids").split_whitespace() {
            assert!(!is_running(pid), "{name}: process {pid} still runs");
        }
        let ledger = sandbox.ledger();
        assert_eq!(ledger.len(), 1, "{name}");
        assert_eq!(ledger[0]["cancelled"], name);
        assert_eq!(ledger[0]["judgement"]["outcome"], "error");
        assert!(samples(&ledger[0]).is_empty(), "{name}: a process that was ended is no sample");
        assert!(done.out.contains(&format!("cancelled by {name}")), "{}", done.out);

        let id = sandbox.session();
        assert!(done.err.contains(&format!("`gate perf --resume {id}`")), "{}", done.err);
        sandbox.write("go", "");
        let after = sandbox.gate(&["perf", "--resume", &id, "--format", "json"]);
        let ledger = sandbox.ledger();
        assert_eq!(ledger.len(), 2, "{name}: the cancelled record and the whole one");
        assert_eq!(after.record(), ledger[1]);
        assert!(ledger[1].get("cancelled").is_none(), "{name}");
        assert_eq!(samples(&ledger[1]).len(), 10, "{name}");
        assert_eq!(ledger[1]["prev"], ledger[0]["seal"]);
        let _verified = sandbox.gate(&["ledger", "verify"]).exits(0);
    }
}

#[test]
fn a_cancelled_session_keeps_its_samples() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "some.sh",
        "echo $$ >> pids; [ $(wc -l < pids) -lt 6 ] || [ -e go ] || exec sleep 60",
    );
    let words = [
        "perf",
        "--a",
        "./some.sh",
        "--b",
        "./some.sh",
        "--fixed-blocks",
        "2",
        "--tolerance",
        "95%",
    ];
    let running = sandbox.start(sandbox.command(&words));
    until("the sixth process runs", || sandbox.lines("pids").len() == 6);
    running.signal(Signal::INT);
    let _done = running.wait().exits(130);
    sandbox.write("go", "");
    let _again = sandbox.gate(&["perf", "--resume", &sandbox.session()]);
    let ledger = sandbox.ledger();
    let (cancelled, whole) = (samples(&ledger[0]), samples(&ledger[1]));
    assert_eq!((cancelled.len(), whole.len()), (5, 10));
    assert_eq!(cancelled, &whole[..5], "the samples before the signal are the same ones");
    assert_eq!(sandbox.lines("pids").len(), 11, "one process was lost to the signal");
}

#[test]
fn a_signal_while_waiting_for_the_device_measures_nothing() {
    let (sandbox, holder) = started(LONG);
    let words = ["perf", "--a", "true", "--b", "true", "--lock-timeout", "60s"];
    let waiting = sandbox.start(sandbox.command(&words));
    until("it waits", || waiting.err().contains("waiting for the device"));
    waiting.signal(Signal::TERM);
    let done = waiting.wait().exits(143).says("nothing was measured");
    assert_eq!(done.out, "");
    let _only_session = sandbox.session();
    holder.signal(Signal::INT);
    let _done = holder.wait().exits(130);
    assert_eq!(sandbox.ledger().len(), 1);
}

#[test]
fn a_cancelled_self_test_ends_as_a_signal_does() {
    let sandbox = Sandbox::new();
    let running = sandbox.start(sandbox.command(&["selftest"]));
    until("it measures", || running.err().contains("plan: session"));
    running.signal(Signal::INT);
    let done = running.wait().exits(130).says("cancelled by signal 2 while measuring");
    assert_eq!(done.out, "");
    assert!(!done.err.contains("--resume"), "it cannot go on: {}", done.err);
    let left: Vec<_> = sandbox
        .everything()
        .into_iter()
        .filter(|(path, _)| path.ends_with("ledger.jsonl"))
        .collect();
    assert!(left.is_empty(), "its own folder is gone: {left:?}");
}
