//! Helpers that are absent, do not start, abort, hang or say something else: each is told apart, and nothing is left running.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gate::edge::gpu_helper::{Question, Silence, ask};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::alone::alone;

/// A folder with a stand-in for `gate-ocl`.
fn stand_in(body: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate-ocl");
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Asks the stand-in of this folder for `info`.
fn asked(folder: &Path, limit: Duration) -> Result<Map<String, Value>, Silence> {
    let variables = [("PATH".to_owned(), format!("{}:/usr/bin:/bin", folder.display()))];
    let question = Question {
        helper: "gate-ocl",
        words: &["info"],
        limit,
        variables: &variables,
    };
    ask(&question, None)
}

fn told(body: &str) -> Silence {
    asked(stand_in(body).path(), Duration::from_secs(60)).unwrap_err()
}

/// The document of a helper, as `printf` prints it.
fn says(state: &str, more: &str) -> String {
    format!(r#"printf '%s\n' '{{"kind": "gate-helper/1", "helper": "gate-ocl", "command": "info", "state": "{state}"{more}}}'"#)
}

#[test]
fn each_way_to_fail_has_its_own_reason() {
    if !alone("gpu_helper::each_way_to_fail_has_its_own_reason") {
        return;
    }
    let ok = says("ok", r#", "devices": 1"#);
    let found = asked(stand_in(&format!("echo chatter; {ok}")).path(), Duration::from_secs(60));
    assert_eq!(found, Ok(Map::from_iter([("devices".to_owned(), json!(1))])));

    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(asked(nothing.path(), Duration::from_secs(60)), Err(Silence::Absent));
    let file = nothing.path().join("gate-ocl");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = asked(nothing.path(), Duration::from_secs(60)).unwrap_err();
    assert!(
        matches!(&refused, Silence::NotStarted(why) if why.contains("not executable")),
        "{refused}"
    );

    for (state, more, wanted) in [
        ("no_platform", r#", "why": "none""#, Silence::NoPlatform("none".to_owned())),
        ("no_device", r#", "why": "none""#, Silence::NoDevice("none".to_owned())),
        ("wrong", r#", "why": "3 of 4""#, Silence::Wrong("3 of 4".to_owned())),
        ("failed", "", Silence::Failed(String::new())),
        ("hung", "", Silence::Hung(String::new())),
    ] {
        // The exit code of a helper says the same as its document, and is not needed.
        assert_eq!(told(&format!("{}; exit 3", says(state, more))), wanted);
    }
    assert_eq!(told("kill -ABRT $$"), Silence::Signal(6));
    assert_eq!(
        told("echo first >&2; echo last words >&2; exit 9"),
        Silence::Exited(9, "last words".to_owned())
    );
    assert_eq!(told("exit 127"), Silence::Exited(127, String::new()));
    for (body, why) in [
        ("echo hello".to_owned(), "no JSON object"),
        (says("fine", ""), "which is none"),
        (ok.replace("gate-ocl", "gate-hip"), "answers as gate-hip"),
        (ok.replace("\"info\"", "\"warmup\""), "to \"warmup\""),
        (ok.replace("helper/1", "helper/2"), "this version of gate reads"),
    ] {
        let silence = told(&body);
        assert!(
            matches!(&silence, Silence::Malformed(told) if told.contains(why)),
            "{body}: {silence}"
        );
    }
}

#[test]
fn a_helper_that_hangs_is_stopped_with_all_it_started() {
    if !alone("gpu_helper::a_helper_that_hangs_is_stopped_with_all_it_started") {
        return;
    }
    let folder = stand_in("trap '' TERM; sleep 600 & echo $! > \"$0.pid\"; wait");
    let start = Instant::now();
    let limit = Duration::from_millis(500);
    assert_eq!(asked(folder.path(), limit), Err(Silence::TimedOut(limit)));
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let pid = fs::read_to_string(folder.path().join("gate-ocl.pid")).unwrap();
    assert!(!crate::sandbox::is_running(pid.trim()), "process {pid} is left");
}

#[test]
fn a_library_that_is_gone_is_named() {
    if !alone("gpu_helper::a_library_that_is_gone_is_named") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::write(place("gone.c"), "int gone(void) { return 0; }").unwrap();
    fs::write(place("main.c"), "int gone(void); int main(void) { return gone(); }").unwrap();
    let cc = |words: &[&str]| {
        let done = Command::new("cc")
            .current_dir(folder.path())
            .args(words)
            .status()
            .expect("cc builds libgit2, too");
        assert!(done.success(), "cc {words:?}");
    };
    cc(&["-shared", "-fPIC", "-o", "libgone.so", "gone.c"]);
    cc(&["-o", "gate-ocl", "main.c", "-L.", "-lgone"]);
    fs::remove_file(place("libgone.so")).unwrap();
    let silence = asked(folder.path(), Duration::from_secs(60)).unwrap_err();
    assert_eq!(silence, Silence::LibraryMissing("libgone.so".to_owned()));
    assert!(silence.to_string().contains("libgone.so is not installed"), "{silence}");
}
