//! `gate clean`: what goes, and what never does.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::playground::everything;

#[test]
fn clean_removes_what_is_old_and_finished_and_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let state = folder.path().join(".gate");
    for name in ["sessions", "trees/0123abcd", "logs", "cache/parts"] {
        fs::create_dir_all(state.join(name)).expect("the folder is ours");
    }
    let entry = state.join("cache/builds").join("5".repeat(64));
    fs::create_dir_all(&entry).expect("the folder is ours");
    let write = |name: &str, text: &str, old: bool| {
        let path = state.join(name);
        fs::write(&path, text).expect("the folder is ours");
        if old {
            let file = fs::File::options().write(true).open(path).expect("it is there");
            file.set_modified(SystemTime::now() - Duration::from_secs(40 * 24 * 3600))
                .expect("it is ours");
        }
    };
    let (session, record) = ("{\"session\":{}}\n", "{\"record\":{}}\n");
    write("sessions/finished.jsonl", &format!("{session}{record}"), true);
    write("sessions/finished.out", "x", false);
    write("sessions/recent.jsonl", &format!("{session}{record}"), false);
    write("sessions/unfinished.jsonl", session, true);
    write("sessions/running.jsonl", &format!("{session}{record}"), true);
    write("sessions/notes.jsonl", record, true);
    write("ledger.jsonl", record, true);
    write("logs/old.log", "x", true);
    write("trees/0123abcd/x", "x", true);
    let running = fs::File::open(state.join("sessions/running.jsonl")).expect("it is there");
    running.lock().expect("it is free");
    let clean = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_gate"))
            .arg("clean")
            .args(arguments)
            .current_dir(folder.path())
            .output();
        let done = done.expect("gate runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    let left = || {
        let names = everything(&state)
            .into_keys()
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
        names.filter(|name| name != "lock").collect::<Vec<_>>()
    };
    let said = clean(&[]);
    for line in [
        "removed trees of killed runs: 1, ",
        "removed old sessions: 2, ",
        "removed old build logs: 1, ",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains("kept builds") && entry.is_dir(), "{said}");
    assert_eq!(
        left(),
        ["ledger.jsonl", "notes.jsonl", "recent.jsonl", "running.jsonl", "unfinished.jsonl"]
    );
    assert_eq!(clean(&[]), "nothing to remove\n");
    let said = clean(&["--all"]);
    assert!(
        said.contains("removed kept builds: 1, ") && said.contains("removed old sessions: 1, "),
        "{said}"
    );
    assert_eq!(left(), ["ledger.jsonl", "notes.jsonl", "recent.jsonl", "running.jsonl"]);
    clean(&["--days", "0"]);
    assert_eq!(left(), ["ledger.jsonl", "notes.jsonl", "running.jsonl"]);
}
