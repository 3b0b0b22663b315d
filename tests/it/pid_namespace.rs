//! Trees of processes in a namespace of process numbers, as containers have one.

use std::process::Command;

use crate::alone::again;

/// A test that leaves processes behind, which all must be found.
const SWEPT: &str = "process::forty_processes_in_and_out_of_the_group_are_swept";

/// Runs a test in a namespace of process numbers of its own; skipped where the system forbids it.
fn in_own_numbers(test: &str, options: &[&str]) -> Option<Result<(), String>> {
    let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["-U", "-r"] };
    let command = [&["unshare"], user, &["--pid", "--fork"], options].concat();
    let tried = Command::new(command[0]).args(&command[1..]).arg("true").output();
    if !tried.is_ok_and(|done| done.status.success()) {
        println!("skipped: this system lets nobody have a namespace of process numbers");
        return None;
    }
    let done = again(test, &command).output().expect("the tests can start themselves");
    let said = [done.stdout, done.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    Some(if done.status.success() && said.contains("1 passed") {
        Ok(())
    } else {
        Err(said)
    })
}

/// A container that is entered from outside: the leader of the session has no number in it.
#[test]
fn a_tree_is_swept_where_the_session_began_outside() {
    if let Some(done) = in_own_numbers(SWEPT, &["--mount-proc"]) {
        assert_eq!(done, Ok(()));
    }
}

#[test]
fn a_proc_of_other_numbers_is_refused() {
    if let Some(done) = in_own_numbers(SWEPT, &[]) {
        let said = done.expect_err("what was left running cannot have been found");
        assert!(said.contains("mount a /proc of this PID namespace"), "{said}");
    }
}
