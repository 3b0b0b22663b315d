//! One measurement at a time on a device, whoever runs it and however it ends.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gate::edge::device;
use gate::edge::lock::{DeviceLock, Holder, LockError, LockRequest};
use gate::edge::process::Interrupts;
use rustix::process::{Signal, geteuid, getpid, kill_process};

use crate::alone::{again, alone, is_alone, until, until_let_go};

fn lock(dir: &Path, wait: Duration) -> Result<DeviceLock, LockError> {
    let request = LockRequest {
        dir,
        device: "cpu",
        wait,
        command: "gate perf --a x --b y",
    };
    DeviceLock::acquire(&request, None, &mut |_| {})
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1777)).expect("the folder is ours");
    folder
}

#[test]
fn a_held_device_is_refused_with_the_holders_name_and_free_again_after() {
    let dir = folder();
    let first = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
    let Err(LockError::Held(path, Some(holder))) = lock(dir.path(), Duration::ZERO) else {
        panic!("locked twice")
    };
    assert_eq!((path.as_path(), holder.pid), (first.path(), std::process::id()));
    assert_eq!(holder.command, "gate perf --a x --b y");
    let said = LockError::Held(path, Some(holder)).to_string();
    assert!(said.contains("in use") && said.contains(&std::process::id().to_string()), "{said}");
    drop(first);
    lock(dir.path(), Duration::ZERO).expect("it was let go");
}

#[test]
fn devices_do_not_block_each_other() {
    let dir = folder();
    let _cpu = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
    let other = LockRequest {
        dir: dir.path(),
        device: "0000:03:00.0",
        wait: Duration::ZERO,
        command: "x",
    };
    let other = DeviceLock::acquire(&other, None, &mut |_| {}).expect("another device");
    assert!(other.path().ends_with("gate-0000:03:00.0.lock"));
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let dir = folder();
    for device in ["", "../x", "a/b", "a b", "é", "a\n", &"x".repeat(65)] {
        let request = LockRequest {
            dir: dir.path(),
            device,
            wait: Duration::ZERO,
            command: "x",
        };
        let error = DeviceLock::acquire(&request, None, &mut |_| {}).expect_err(device);
        assert!(matches!(error, LockError::Name(_)), "{error:?}");
    }
}

#[test]
fn waiting_tells_once_who_holds_it_and_ends_when_it_is_free() {
    let dir = folder();
    let held = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
    let mut told = Vec::new();
    let letting_go = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(held);
    });
    let request = LockRequest {
        dir: dir.path(),
        device: "cpu",
        wait: Duration::from_secs(60),
        command: "second",
    };
    let got = DeviceLock::acquire(&request, None, &mut |holder| told.push(holder.map(|h| h.pid)));
    letting_go.join().expect("it only sleeps");
    got.expect("it became free");
    assert_eq!(told, [Some(std::process::id())]);
}

#[test]
fn a_wait_is_bounded() {
    let dir = folder();
    let _held = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
    let start = Instant::now();
    assert!(matches!(lock(dir.path(), Duration::from_millis(200)), Err(LockError::Held(..))));
    assert!(start.elapsed() >= Duration::from_millis(200) && start.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_interrupt_ends_the_wait() {
    if !alone("lock::an_interrupt_ends_the_wait") {
        return;
    }
    let interrupts = Interrupts::register().expect("handlers can be installed");
    let dir = folder();
    let _held = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
    let request = LockRequest {
        dir: dir.path(),
        device: "cpu",
        wait: Duration::MAX,
        command: "x",
    };
    let mut interrupt = |_: Option<&Holder>| kill_process(getpid(), Signal::TERM).expect("we exist");
    let error = DeviceLock::acquire(&request, Some(&interrupts), &mut interrupt).expect_err("it stays held");
    assert!(matches!(error, LockError::Interrupted(15)), "{error:?}");
}

#[test]
fn a_killed_holder_lets_go() {
    const NAME: &str = "lock::a_killed_holder_lets_go";
    if is_alone(NAME) {
        let dir = std::env::var_os("GATE_TEST_DIR").expect("given by the process above");
        // The process above looks by trying, which holds it for a moment.
        let _held = lock(Path::new(&dir), Duration::from_secs(30)).expect("nobody keeps it");
        until_let_go();
        return;
    }
    let dir = folder();
    let mut holder = again(NAME, &[])
        .env("GATE_TEST_DIR", dir.path())
        .stdin(Stdio::piped())
        .spawn()
        .expect("the tests can start themselves");
    until(
        "it is held",
        || matches!(lock(dir.path(), Duration::ZERO), Err(LockError::Held(_, Some(h))) if h.pid == holder.id()),
    );
    holder.kill().expect("it runs");
    holder.wait().expect("it was killed");
    lock(dir.path(), Duration::ZERO).expect("the kernel let go of it");
}

#[test]
fn what_is_written_down_is_short_and_printable() {
    let dir = folder();
    let command = format!("gate \u{1b}[31mred\n\0{}", "ö".repeat(500));
    let request = LockRequest {
        dir: dir.path(),
        device: "cpu",
        wait: Duration::ZERO,
        command: &command,
    };
    let held = DeviceLock::acquire(&request, None, &mut |_| {}).expect("nobody holds it");
    let note: Holder = serde_json::from_slice(&std::fs::read(held.path()).expect("it is there")).expect("a note");
    assert!(note.command.starts_with("gate [31mredö") && note.command.len() <= 200, "{note:?}");
    assert!(note.started.parse::<jiff::Timestamp>().is_ok(), "{note:?}");
}

#[test]
fn a_note_that_is_none_is_no_obstacle() {
    let dir = folder();
    for junk in ["{", "\u{0}\u{0}", &"x".repeat(1 << 20)] {
        std::fs::write(dir.path().join("gate-cpu.lock"), junk).expect("the folder is ours");
        let held = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
        std::fs::write(held.path(), junk).expect("the file is ours");
        assert!(matches!(lock(dir.path(), Duration::ZERO), Err(LockError::Held(_, None))));
    }
}

#[test]
fn only_a_regular_file_of_one_name_is_written_to() {
    let dir = folder();
    let path = dir.path().join("gate-cpu.lock");
    let victim = dir.path().join("victim");
    std::fs::write(&victim, "precious").expect("the folder is ours");
    std::os::unix::fs::symlink(&victim, &path).expect("the folder is ours");
    assert!(
        matches!(lock(dir.path(), Duration::ZERO), Err(LockError::NotRegular(_))),
        "a link was followed"
    );
    std::fs::remove_file(&path).expect("it is ours");
    std::fs::create_dir(&path).expect("the folder is ours");
    assert!(matches!(lock(dir.path(), Duration::ZERO), Err(LockError::NotRegular(_))));
    std::fs::remove_dir(&path).expect("it is ours");
    assert!(Command::new("mkfifo").arg(&path).status().expect("coreutils").success());
    assert!(matches!(lock(dir.path(), Duration::ZERO), Err(LockError::NotRegular(_))));
    std::fs::remove_file(&path).expect("it is ours");
    std::fs::hard_link(&victim, &path).expect("the folder is ours");
    drop(lock(dir.path(), Duration::ZERO).expect("it can be locked all the same"));
    assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "precious");
    let missing = lock(&dir.path().join("absent"), Duration::ZERO).expect_err("there is no folder");
    assert!(matches!(missing, LockError::File(..)), "{missing:?}");
    assert!(missing.to_string().contains("GATE_LOCK_DIR"), "{missing}");
}

/// Takes the lock as another user and answers `held` or `got` in the note; with `got` it holds on.
fn as_nobody(test: &str, dir: &Path) -> std::process::Child {
    let own = std::env::current_exe().expect("the tests have a file");
    let copy = dir.join("tests");
    if !copy.exists() {
        std::fs::copy(own, &copy).expect("the folder is ours");
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    Command::new("setpriv")
        .args(nobody)
        .arg(copy)
        .args([test, "--exact", "--nocapture"])
        .env("GATE_TEST_ALONE", test)
        .env("GATE_TEST_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("setpriv is part of util-linux")
}

#[test]
fn two_users_share_a_lock_in_a_sticky_folder() {
    const NAME: &str = "lock::two_users_share_a_lock_in_a_sticky_folder";
    if is_alone(NAME) {
        let dir = std::env::var_os("GATE_TEST_DIR").expect("given by the process above");
        let dir = Path::new(&dir);
        match lock(dir, Duration::ZERO) {
            Ok(_held) => {
                std::fs::write(dir.join("got"), "").expect("the folder is open to all");
                until_let_go();
            }
            Err(LockError::Held(_, holder)) => {
                std::fs::write(dir.join("held"), holder.map_or(0, |h| h.pid).to_string()).expect("the folder is open to all");
            }
            Err(error) => panic!("{error}"),
        }
        return;
    }
    if !geteuid().is_root() {
        eprintln!("skipped: only root can act as another user");
        return;
    }
    let dir = folder();
    // Root makes the file, nobody meets it.
    let ours = lock(dir.path(), Duration::ZERO).expect("nobody holds it");
    assert!(as_nobody(NAME, dir.path()).wait().expect("it ran").success());
    let named = std::fs::read_to_string(dir.path().join("held")).expect("it was refused");
    assert_eq!(named, std::process::id().to_string());
    drop(ours);
    // Nobody makes the file, root meets it; that is the case which O_CREAT would spoil.
    std::fs::remove_file(dir.path().join("gate-cpu.lock")).expect("it is ours");
    let mut theirs = as_nobody(NAME, dir.path());
    until("nobody holds it", || dir.path().join("got").exists());
    let meta = std::fs::metadata(dir.path().join("gate-cpu.lock")).expect("it was made");
    assert_eq!((meta.uid(), meta.mode() & 0o777), (65534, 0o666));
    let refused = lock(dir.path(), Duration::ZERO);
    assert!(
        matches!(&refused, Err(LockError::Held(_, Some(h))) if h.pid == theirs.id()),
        "{refused:?}"
    );
    theirs.kill().expect("it runs");
    theirs.wait().expect("it was killed");
    lock(dir.path(), Duration::ZERO).expect("the other user's file serves us too");
}

#[test]
fn gates_on_different_devices_run_at_once() {
    let root = tempfile::tempdir().unwrap();
    for (node, location) in [(0, 0), (1, 9728), (2, 17920), (3, 17920)] {
        let folder = root.path().join(format!("sys/class/kfd/kfd/topology/nodes/{node}"));
        std::fs::create_dir_all(&folder).unwrap();
        let version = if node == 0 { 0 } else { 90_402 };
        let properties = format!("gfx_target_version {version}\nlocation_id {location}\ndomain 0\n");
        std::fs::write(folder.join("properties"), properties).unwrap();
    }
    let gpus = device::list(root.path());
    let locked = |wanted: &str, wait_s: u64| {
        let chosen = device::select(&gpus, wanted).unwrap();
        let take = |name: &String| {
            let request = LockRequest {
                dir: root.path(),
                device: name,
                wait: Duration::from_secs(wait_s),
                command: wanted,
            };
            DeviceLock::acquire(&request, None, &mut |_| {})
        };
        device::locks(&chosen).iter().map(take).collect::<Result<Vec<_>, _>>()
    };
    let first = locked("0", 0).expect("free");
    let second = locked("46:00.0", 0).expect("another card is free");
    let refused = locked("0,1", 0).map(|_| ()).expect_err("both are held");
    assert!(refused.to_string().contains("(0)"), "{refused}");
    // Two partitions of one card disturb each other.
    assert!(locked("2", 0).is_err());
    drop(second);
    assert_eq!(locked("1,2", 10).expect("free again").len(), 1);
    drop(first);
    assert_eq!(locked("0,1", 10).expect("free again").len(), 2);
    let shown = device::variables(&device::select(&gpus, "1,2").unwrap());
    assert_eq!(shown.map(|(_, value)| value), ["1,2", "0,1"]);
}
