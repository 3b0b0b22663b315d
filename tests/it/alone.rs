//! Tests that change or need a whole process run again, alone, in a process of their own.

use std::process::Command;
use std::time::{Duration, Instant};

/// Which test the present process is there for.
const ROLE: &str = "GATE_TEST_ALONE";

/// True in the process that runs only `test` (its full name). Elsewhere it runs that process, fails if it fails, and is false.
pub fn alone(test: &str) -> bool {
    alone_under(test, &[])
}

/// As [`alone`], the process started by a command in front of it.
pub fn alone_under(test: &str, before: &[&str]) -> bool {
    if is_alone(test) {
        return true;
    }
    let done = again(test, before).output().expect("the tests can start themselves");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(
        done.status.success() && out.contains("1 passed"),
        "{test} alone: {}\n{out}\n{err}",
        done.status
    );
    false
}

/// Whether the present process is there for this test only.
pub fn is_alone(test: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|role| role == test)
}

/// The command that runs one test alone.
pub fn again(test: &str, before: &[&str]) -> Command {
    let own = std::env::current_exe().expect("the tests have a file");
    let mut words = before.iter().map(Into::into).chain([own.into_os_string()]);
    let mut command = Command::new(words.next().expect("there is at least one word"));
    command
        .args(words)
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, test);
    command
}

/// Waits until something is so, which must be within half a minute.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}: not within 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Stands still until the process that started this one lets go of its standard input, be it by failing.
pub fn until_let_go() {
    let _ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}
