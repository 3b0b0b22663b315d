//! A place of its own for `gate`: folder, home, locks and environment, so that no test sees another or the machine's user.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A run of `gate` that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// A private place in which `gate` runs. Everything in it is gone when it is dropped.
pub struct Sandbox {
    root: TempDir,
    env: Vec<(String, String)>,
}

impl Sandbox {
    pub fn new() -> Self {
        let root = tempfile::Builder::new().prefix("gate-test-").tempdir().expect("a temporary folder");
        for folder in ["work", "home", "lock", "tmp", "streams"] {
            fs::create_dir(root.path().join(folder)).expect("a folder in it");
        }
        Self { root, env: Vec::new() }
    }

    /// One more variable for every later run.
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A path in the working folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        path
    }

    /// An executable script for `/bin/sh`.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.write(name, format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("own file");
        path
    }

    /// A file's text; empty where there is no file.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A file's lines; none where there is no file.
    pub fn lines(&self, name: &str) -> Vec<String> {
        self.text(name).lines().map(str::to_owned).collect()
    }

    /// The command `gate` with these words, in this place, with nothing of the caller's environment but `PATH`.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gate"));
        self.furnish(&mut command);
        command.args(words);
        command
    }

    /// Gives any command this place's folder and environment.
    pub fn furnish(&self, command: &mut Command) {
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.root.path().join("home"))
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("GATE_LOCK_DIR", self.root.path().join("lock"))
            .env("LC_ALL", "C")
            .env("COLUMNS", "200")
            .stdin(Stdio::null())
            .envs(self.env.iter().map(|(name, value)| (name, value)));
    }

    /// Starts a command; its streams go to files, so that nothing waits for a reader.
    pub fn start(&self, mut command: Command) -> Running {
        let stream = |name: &str| {
            let path = self.root.path().join("streams").join(format!("{name}-{}", unique()));
            (File::create(&path).expect("a file for a stream"), path)
        };
        let ((out, out_path), (err, err_path)) = (stream("out"), stream("err"));
        let command = command.stdout(out).stderr(err);
        let begun = Instant::now();
        let child = loop {
            match command.spawn() {
                // A process that another test starts just now holds a file that was written a moment ago.
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && begun.elapsed() < Duration::from_secs(10) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                child => break child.expect("the command starts"),
            }
        };
        Running {
            child,
            out_path,
            err_path,
            said: format!("{command:?}"),
        }
    }

    /// Runs `gate` to its end.
    #[must_use = "look at how it ended"]
    pub fn gate(&self, words: &[&str]) -> Done {
        self.start(self.command(words)).wait()
    }

    /// Runs `gate perf` on two commands to its end.
    #[must_use = "look at how it ended"]
    pub fn perf(&self, a: &str, b: &str, more: &[&str]) -> Done {
        self.gate(&[&["perf", "--a", a, "--b", b], more].concat())
    }

    /// The records in the ledger, oldest first.
    pub fn ledger(&self) -> Vec<Value> {
        self.lines(".gate/ledger.jsonl").iter().map(|line| json(line)).collect()
    }

    /// The names of all sessions, oldest first.
    pub fn sessions(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(".gate/sessions")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".jsonl")?.to_owned()))
            .collect();
        names.sort();
        names
    }

    /// The only session's name.
    pub fn session(&self) -> String {
        let names = self.sessions();
        assert_eq!(names.len(), 1, "one session: {names:?}");
        names[0].clone()
    }

    /// The file of a session, seen from the working folder.
    pub fn session_file(&self, id: &str) -> String {
        format!(".gate/sessions/{id}.jsonl")
    }

    /// Every file below this place with its contents, for a search.
    pub fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("own folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(bytes) = fs::read(&path) {
                    found.push((path, bytes));
                }
            }
        }
        found
    }
}

/// A number that no other call in this process gets.
fn unique() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// Reads one JSON value.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
}

/// A started command.
#[must_use = "wait for it"]
pub struct Running {
    child: Child,
    out_path: PathBuf,
    err_path: PathBuf,
    said: String,
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is not collected yet");
    }

    /// What it has said on standard error so far.
    pub fn err(&self) -> String {
        lossy(&self.err_path)
    }

    /// Waits for its end, which must come.
    #[must_use = "look at how it ended"]
    pub fn wait(mut self) -> Done {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("own child") {
                break status;
            }
            if start.elapsed() > LIMIT {
                self.child.kill().expect("own child");
                panic!("{} hangs; it said:\n{}", self.said, self.err());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Done {
            code: status.code(),
            out: lossy(&self.out_path),
            err: lossy(&self.err_path),
            said: self.said,
        }
    }
}

fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).expect("a stream's file")).into_owned()
}

/// A command that has ended.
#[derive(Debug)]
pub struct Done {
    /// Exit code; none after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    said: String,
}

impl Done {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "{}\n-- stdout:\n{}\n-- stderr:\n{}",
            self.said,
            self.out,
            self.err
        );
        self
    }

    /// Asserts that standard error holds some words.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.err.contains(words), "{}\nsaid nothing of {words:?}:\n{}", self.said, self.err);
        self
    }

    /// The record on standard output.
    #[track_caller]
    pub fn record(&self) -> Value {
        json(&self.out)
    }
}

/// The verdict on the first metric of a record.
pub fn verdict(record: &Value) -> &str {
    record["judgement"]["verdicts"][0]["verdict"].as_str().unwrap_or("none")
}

/// The samples of a record, in order.
pub fn samples(record: &Value) -> &[Value] {
    record["evidence"]["samples"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether a process with this number runs, and is no zombie.
pub fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// The file of a program that a test needs. Without it the test is skipped, which is a failure where nothing may be.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        let strict = std::env::var("GATE_TEST_STRICT").is_ok_and(|set| set == "1");
        assert!(!strict, "{name} is absent");
        println!("skipped: {name} is absent");
    }
    found
}
