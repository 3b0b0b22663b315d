//! Real little programs that flood, fork away, ignore signals and hang: each is run to its end, and nothing is left.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gate::edge::process::{Ended, Environment, Exit, Interrupts, Launch, RunError, become_subreaper, resolve, run};
use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::alone::{again, alone, alone_under, is_alone, until};

const KEEP: usize = 16 << 20;
const LONG: Duration = Duration::from_secs(120);

fn program(name: &str) -> PathBuf {
    resolve(name, std::env::var_os("PATH").as_deref(), Path::new("/")).expect("a program that scripts/test needs")
}

fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| name == "PATH" || name == "HOME" || name == "PYENV_VERSION")
        .collect()
}

/// Runs a program with one script as `-c`.
fn script(interpreter: &str, text: &str, timeout: Duration, interrupts: Option<&Interrupts>) -> Ended {
    become_subreaper().expect("Linux has subreapers");
    let (program, env) = (program(interpreter), environment());
    let args = ["-c".into(), text.into()];
    let launch = Launch {
        program: &program,
        args: &args,
        env: &Environment::of(&env),
        cwd: Path::new("/"),
        timeout,
        keep_bytes: KEEP,
    };
    run(&launch, interrupts).unwrap_or_else(|error| panic!("{interpreter} did not run: {error}"))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the script prints text")
}

fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn assert_no_child_is_left() {
    let any = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
    assert!(matches!(any, Err(rustix::io::Errno::CHILD)), "there are still children: {any:?}");
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    if !alone("process::exit_codes_and_signals_are_told_apart") {
        return;
    }
    for code in [0, 1, 7, 255] {
        assert_eq!(script("bash", &format!("exit {code}"), LONG, None).exit, Exit::Code(code));
    }
    for signal in [6, 9, 11, 15] {
        assert_eq!(script("bash", &format!("kill -{signal} $$"), LONG, None).exit, Exit::Signal(signal));
    }
}

#[test]
fn both_outputs_are_read_and_standard_input_is_empty() {
    if !alone("process::both_outputs_are_read_and_standard_input_is_empty") {
        return;
    }
    let ended = script("bash", "cat; read line; echo out$?; echo err >&2", LONG, None);
    assert_eq!((text(&ended.stdout.kept), text(&ended.stderr.kept)), ("out1\n", "err\n"));
    assert_eq!((ended.stdout.total_bytes, ended.stderr.total_bytes), (5, 4));
    assert_eq!((ended.stdout.blake3, ended.left_over), (None, 0));
}

#[test]
fn a_flood_on_both_outputs_is_counted_hashed_and_kept_in_part() {
    if !alone("process::a_flood_on_both_outputs_is_counted_hashed_and_kept_in_part") {
        return;
    }
    let flood = "
import os, threading
def pour(fd, byte):
    for _ in range(100):
        left = memoryview(byte * (1 << 20))
        while left: left = left[os.write(fd, left):]
pair = [threading.Thread(target=pour, args=a) for a in ((1, b'o'), (2, b'e'))]
[t.start() for t in pair]; [t.join() for t in pair]";
    let ended = script("python3", flood, LONG, None);
    assert_eq!(ended.exit, Exit::Code(0));
    for (stream, byte) in [(&ended.stdout, b'o'), (&ended.stderr, b'e')] {
        assert_eq!((stream.kept.len(), stream.total_bytes), (KEEP, 100 << 20));
        assert!(stream.kept.iter().all(|&b| b == byte));
        let mut expected = blake3::Hasher::new();
        for _ in 0..100 {
            expected.update(&vec![byte; 1 << 20]);
        }
        assert_eq!(stream.blake3.as_deref(), Some(&*expected.finalize().to_hex()));
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak_kib < 120 << 10, "200 MiB of output took {peak_kib} KiB of memory");
}

#[test]
fn a_daemon_that_forked_away_and_holds_the_pipe_is_found() {
    if !alone("process::a_daemon_that_forked_away_and_holds_the_pipe_is_found") {
        return;
    }
    let daemon = "
import os, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir('/')
        os.write(1, b'%d\\n' % os.getpid())
        os.write(w, b'x')
        time.sleep(600)
    os._exit(0)
os.read(r, 1)";
    let start = Instant::now();
    let ended = script("python3", daemon, LONG, None);
    assert_eq!((ended.exit, ended.left_over), (Exit::Code(0), 1));
    assert!(
        start.elapsed() < Duration::from_secs(100),
        "waited for the daemon to close the pipe"
    );
    let pid = text(&ended.stdout.kept).trim().parse().expect("the daemon's number");
    assert!(!is_running(pid), "the daemon {pid} lives");
    assert_no_child_is_left();
}

#[test]
fn forty_processes_in_and_out_of_the_group_are_swept() {
    if !alone("process::forty_processes_in_and_out_of_the_group_are_swept") {
        return;
    }
    let swarm = "
import os, signal, time
r, w = os.pipe()
for n in range(20):
    if os.fork() == 0:
        if n % 2: os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0 and n % 3 == 0: os.setpgid(0, 0)
        os.write(1, b'%d\\n' % os.getpid())
        os.write(w, b'x')
        time.sleep(600)
seen = 0
while seen < 40: seen += len(os.read(r, 40))";
    let ended = script("python3", swarm, LONG, None);
    assert_eq!((ended.exit, ended.left_over), (Exit::Code(0), 40));
    let pids: Vec<i32> = text(&ended.stdout.kept)
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(pids.len(), 40);
    assert!(!pids.iter().any(|&pid| is_running(pid)));
    assert_no_child_is_left();
}

#[test]
fn a_time_limit_ends_even_what_ignores_term_and_what_left_the_group() {
    if !alone("process::a_time_limit_ends_even_what_ignores_term_and_what_left_the_group") {
        return;
    }
    let stubborn = "trap '' TERM; setsid sleep 600 & echo $!; sleep 600 & echo $!; while :; do sleep 1; done";
    let limit = Duration::from_secs(1);
    let ended = script("bash", stubborn, limit, None);
    assert_eq!(ended.exit, Exit::TimedOut);
    assert!(
        ended.wall_s >= 3.0,
        "KILL came {} s after the start, before limit and grace",
        ended.wall_s
    );
    assert!(ended.wall_s < 60.0, "the limit of 1 s was kept after {} s", ended.wall_s);
    for pid in text(&ended.stdout.kept).lines() {
        assert!(!is_running(pid.parse().expect("a number")), "{pid} lives");
    }
    assert_eq!(text(&ended.stdout.kept).lines().count(), 2);
    assert_no_child_is_left();
}

#[test]
fn a_time_limit_lets_a_program_end_in_order() {
    if !alone("process::a_time_limit_lets_a_program_end_in_order") {
        return;
    }
    let orderly = "trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done";
    let ended = script("bash", orderly, Duration::from_secs(1), None);
    assert_eq!((ended.exit, text(&ended.stdout.kept)), (Exit::TimedOut, "bye\n"));
}

#[test]
fn only_three_descriptors_are_inherited() {
    if !alone("process::only_three_descriptors_are_inherited") {
        return;
    }
    let leaked = std::fs::File::open("/dev/null").expect("Linux");
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("an open file");
    // The listing itself is the fourth.
    let ended = script(
        "python3",
        "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))",
        LONG,
        None,
    );
    assert_eq!(text(&ended.stdout.kept).trim(), "[0, 1, 2, 3]");
}

#[test]
fn signals_are_at_their_defaults_in_the_child_whatever_they_are_here() {
    let ignoring = ["bash", "-c", "trap '' HUP INT QUIT USR1 CHLD TERM; exec \"$0\" \"$@\""];
    if !alone_under(
        "process::signals_are_at_their_defaults_in_the_child_whatever_they_are_here",
        &ignoring,
    ) {
        return;
    }
    let own = std::fs::read_to_string("/proc/self/status").expect("Linux");
    assert!(
        !own.contains("SigIgn:\t0000000000000000"),
        "nothing is ignored here, so nothing is shown"
    );
    let _interrupts = Interrupts::register().expect("handlers can be installed");
    become_subreaper().expect("Linux has subreapers");
    let (program, env) = (program("cat"), environment());
    let args = ["/proc/self/status".into()];
    let ended = run(
        &Launch {
            program: &program,
            args: &args,
            env: &Environment::of(&env),
            cwd: Path::new("/"),
            timeout: LONG,
            keep_bytes: KEEP,
        },
        None,
    )
    .expect("cat runs");
    assert_eq!(ended.exit, Exit::Code(0));
    let masks: Vec<&str> = text(&ended.stdout.kept)
        .lines()
        .filter(|line| line.starts_with("Sig"))
        .skip(1)
        .collect();
    let none = "0000000000000000";
    assert_eq!(masks, ["SigPnd", "SigBlk", "SigIgn", "SigCgt"].map(|set| format!("{set}:\t{none}")));
}

#[test]
fn the_child_leads_a_group_and_gets_exactly_its_environment_and_folder() {
    if !alone("process::the_child_leads_a_group_and_gets_exactly_its_environment_and_folder") {
        return;
    }
    let ended = script("python3", "import os; print(os.getpgrp() == os.getpid(), os.getpid())", LONG, None);
    assert_eq!(text(&ended.stdout.kept), format!("True {}\n", ended.pid));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, env) = (
        program("bash"),
        vec![("ONE".into(), "1 =x".into()), ("EMPTY".into(), OsString::new())],
    );
    let args = ["-c".into(), "pwd -P; tr '\\0' '\\n' < /proc/$$/environ".into()];
    let env = [env, vec![("PATH".into(), "/usr/bin:/bin".into())]].concat();
    let launch = Launch {
        program: &program,
        args: &args,
        env: &Environment::of(&env),
        cwd: folder.path(),
        timeout: LONG,
        keep_bytes: KEEP,
    };
    let ended = run(&launch, None).expect("bash runs");
    let real = folder.path().canonicalize().expect("it is there");
    assert_eq!(
        text(&ended.stdout.kept),
        format!("{}\nONE=1 =x\nEMPTY=\nPATH=/usr/bin:/bin\n", real.display())
    );
}

#[test]
fn memory_and_cpu_are_those_of_each_child() {
    if !alone("process::memory_and_cpu_are_those_of_each_child") {
        return;
    }
    let big = script("python3", "x = bytearray(b'x' * (200 << 20)); sum(range(10_000_000))", LONG, None);
    let small = script("bash", "sleep 0.3", LONG, None);
    assert!(big.peak_rss_bytes > 200 << 20, "{}", big.peak_rss_bytes);
    assert!(
        small.peak_rss_bytes < 100 << 20,
        "the small child shows the big one's {}",
        small.peak_rss_bytes
    );
    assert!(
        small.peak_rss_bytes + (1 << 20) >= small.peak_rss_floor_bytes,
        "{} < {}",
        small.peak_rss_bytes,
        small.peak_rss_floor_bytes
    );
    assert!(
        big.has_own_peak && !small.has_own_peak,
        "only the big one needs more than this test"
    );
    assert!(big.cpu_s > 0.05, "{}", big.cpu_s);
    assert!(
        small.wall_s >= 0.3 && small.cpu_s < small.wall_s,
        "{} of {}",
        small.cpu_s,
        small.wall_s
    );
}

#[test]
fn the_peak_that_a_small_child_is_handed_down_is_never_taken_for_its_own() {
    if !alone("process::the_peak_that_a_small_child_is_handed_down_is_never_taken_for_its_own") {
        return;
    }
    // Memory comes and goes here, on one processor and on another: the kernel's count of it is then off by what it has not added up yet.
    let mut kept = Vec::new();
    for round in 0..400_usize {
        let ended = script("bash", ":", LONG, None);
        assert!(!ended.has_own_peak, "in round {round}: {ended:?}");
        kept.push(vec![round as u8; 24 << 10]);
        if round % 5 == 4 {
            let going: Vec<_> = kept.drain(..4).collect();
            std::thread::spawn(move || drop(going)).join().expect("memory can be given back");
        }
    }
}

#[test]
fn an_interrupt_ends_the_child_and_its_tree() {
    if !alone("process::an_interrupt_ends_the_child_and_its_tree") {
        return;
    }
    let interrupts = Interrupts::register().expect("handlers can be installed");
    assert_eq!(interrupts.pending(), None);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ready = folder.path().join("ready");
    let stubborn = format!(
        "trap '' TERM INT; setsid sleep 600 & echo $!; : > '{}'; while :; do sleep 1; done",
        ready.display()
    );
    let sent = std::thread::spawn(move || {
        until("the child is up", || ready.exists());
        kill_process(rustix::process::getpid(), Signal::INT).expect("we exist");
        Instant::now()
    });
    let ended = script("bash", &stubborn, LONG, Some(&interrupts));
    let took = sent.join().expect("the signal was sent").elapsed();
    assert_eq!((ended.exit, interrupts.pending()), (Exit::Interrupted(2), Some(2)));
    // Two seconds of grace; the rest is room for a busy machine.
    assert!(took < Duration::from_secs(8), "gone after {took:?}");
    assert!(!is_running(text(&ended.stdout.kept).trim().parse().expect("a number")));
    assert_no_child_is_left();
    // An interrupt is final: nothing new gets going.
    let next = script("bash", "sleep 600", LONG, Some(&interrupts));
    assert_eq!(next.exit, Exit::Interrupted(2));
}

#[test]
fn a_killed_gate_leaves_no_running_child() {
    const NAME: &str = "process::a_killed_gate_leaves_no_running_child";
    let folder = tempfile::tempdir().expect("a temporary folder");
    if is_alone(NAME) {
        let note = std::env::var("GATE_TEST_NOTE").expect("given by the process above");
        script(
            "bash",
            &format!("echo $$ > '{note}.new'; mv '{note}.new' '{note}'; exec sleep 600"),
            LONG,
            None,
        );
        unreachable!("this process is killed");
    }
    let note = folder.path().join("note");
    let mut gate = again(NAME, &[])
        .env("GATE_TEST_NOTE", &note)
        .spawn()
        .expect("the tests can start themselves");
    until("the child is up", || note.exists());
    let pid: i32 = std::fs::read_to_string(&note)
        .expect("it is there")
        .trim()
        .parse()
        .expect("a number");
    assert!(is_running(pid));
    gate.kill().expect("it runs");
    gate.wait().expect("it was killed");
    until("the measured child is gone", || !is_running(pid));
}

#[test]
fn children_that_were_there_before_are_left_alone() {
    if !alone("process::children_that_were_there_before_are_left_alone") {
        return;
    }
    let mut before = std::process::Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let ended = script("bash", "setsid sleep 600 & exit 0", LONG, None);
    let untouched = before.try_wait().expect("it is ours").is_none();
    before.kill().expect("it runs");
    before.wait().expect("it was killed");
    assert_eq!(ended.left_over, 1);
    assert!(untouched, "a child of somebody else was killed");
}

#[test]
fn what_cannot_start_says_why_and_leaves_nothing() {
    if !alone("process::what_cannot_start_says_why_and_leaves_nothing") {
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, content: &str, mode| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("the folder is ours");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("the file is ours");
        path
    };
    let refused = |program: &Path, cwd: &Path, env: &[(OsString, OsString)]| {
        let launch = Launch {
            program,
            args: &[],
            env: &Environment::of(env),
            cwd,
            timeout: LONG,
            keep_bytes: KEEP,
        };
        run(&launch, None).expect_err("this cannot start")
    };
    let here = Path::new("/");
    let absent = folder.path().join("absent");
    for (program, says) in [
        (absent.clone(), "does not exist"),
        (file("orphan", "#!/no/such/interpreter\n", 0o755), "interpreter"),
        (file("plain", "echo hi\n", 0o644), "not an executable file"),
        (file("text", "just text\n", 0o755), "no program for this machine"),
        (folder.path().to_owned(), "not an executable file"),
    ] {
        let error = refused(&program, here, &[]);
        assert!(matches!(&error, RunError::Program(path, _) if *path == program), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let long = [("LONG".into(), "x".repeat(4 << 20).into())];
    assert!(
        refused(Path::new("/bin/true"), here, &long)
            .to_string()
            .contains("longer than the kernel takes")
    );
    assert!(matches!(refused(Path::new("/bin/true"), &absent, &[]), RunError::Folder(path, _) if path == absent));
    assert!(matches!(refused(Path::new("/bin/t\0rue"), here, &[]), RunError::Nul(_)));
    assert_no_child_is_left();
}

#[test]
fn a_program_is_found_as_execvp_finds_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path();
    for (name, mode) in [
        ("first/tool", 0o644),
        ("second/tool", 0o755),
        ("first/plain", 0o644),
        ("here", 0o755),
    ] {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("the folder is ours");
        std::fs::write(&path, "#!/bin/sh\n").expect("the folder is ours");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("the file is ours");
    }
    std::fs::create_dir(root.join("first/sub")).expect("the folder is ours");
    let path: OsString = format!("{}:second::/usr/bin", root.join("first").display()).into();
    let find = |name: &str| resolve(name, Some(&path), root);
    assert_eq!(find("tool"), Ok(root.join("second/tool")), "what is not executable is passed over");
    assert_eq!(find("here"), Ok(root.join("here")), "an empty folder of PATH is the present one");
    assert_eq!(find("./here"), Ok(root.join("./here")));
    assert_eq!(find("second/tool"), Ok(root.join("second/tool")));
    assert!(resolve("true", None, root).is_ok(), "without PATH the usual folders are searched");
    for (name, says) in [
        ("", "empty"),
        ("absent", "no such program in any folder of PATH"),
        ("./absent", "no such file"),
        ("plain", "not executable"),
        ("first/plain", "not executable"),
        ("first", "a folder"),
        ("./first/sub", "a folder"),
        ("sub", "a folder"),
        ("/dev/null", "not a regular file"),
    ] {
        let error = find(name).expect_err(name);
        assert!(error.contains(says), "{name:?}: {error}");
    }
}
