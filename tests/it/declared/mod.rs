//! `gate perf` on declared gates, from the command line to the record, in real repositories with a small program.

mod alone;
mod arms;
mod bases;
mod builds;
mod examples;
mod fixtures;
mod rules;
mod selection;
mod serve;
mod traces;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::playground::everything;
use crate::sandbox::{Done, Sandbox, json};

/// A program that tells how long it took: the same figure each time, so that a verdict says what was compared and not how busy the machine was.
pub fn tool(ms: u32) -> String {
    format!("#!/bin/sh\necho ms={ms}\n")
}

/// A gate on that program, "built" by a copy.
pub const GATE: &str = r#"version = 1
about = "The tool takes no longer"
source = "run"

[arms]
build = [["cp", "tool.sh", "tool"]]
artifacts = ["tool"]

[run]
command = ["{tree}/tool"]
timeout = "20s"

[plan]
max_blocks = 4
max_attempts = 100

[[metric]]
name = "ms"
unit = "ms"
better = "lower"
tolerance = "5%"
"#;

/// A repository with a gate, and `gate` run in it.
pub struct Project {
    pub sandbox: Sandbox,
}

impl Project {
    /// A repository with one commit: the program at 100 ms, and the gate `perf`.
    pub fn new() -> Self {
        Self::with(GATE)
    }

    /// The same with another gate.
    pub fn with(gate: &str) -> Self {
        let project = Self { sandbox: Sandbox::new() };
        project.git(&["init", "--quiet", "--initial-branch", "main"]);
        project.write(".gitignore", "/.gate/\n");
        project.program(100);
        project.write("gates/perf.toml", gate);
        project.commit("first");
        project
    }

    /// The same place with a variable set.
    pub fn env(self, name: &str, value: &str) -> Self {
        Self {
            sandbox: self.sandbox.with_env(name, value),
        }
    }

    /// The same place with the program `gate` first on the `PATH`, for what calls it by its name.
    pub fn with_gate_on_path(self) -> Self {
        let gate = Path::new(env!("CARGO_BIN_EXE_gate"))
            .parent()
            .expect("it is in a folder")
            .to_owned();
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let all = std::env::join_paths([gate].into_iter().chain(std::env::split_paths(&paths))).expect("plain folders");
        self.env("PATH", all.to_str().expect("plain folders"))
    }

    pub fn git(&self, words: &[&str]) -> String {
        self.git_in("", words)
    }

    /// Runs git in a folder as a user does.
    pub fn git_in(&self, folder: &str, words: &[&str]) -> String {
        let mut command = Command::new("git");
        self.sandbox.furnish(&mut command);
        let who = [
            "user.name=A",
            "user.email=a@example.org",
            "protocol.file.allow=always",
            "core.autocrlf=false",
        ];
        command.args(who.iter().flat_map(|setting| ["-c", setting])).args(words);
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(self.sandbox.path(folder));
        let done = command.output().expect("git runs");
        assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    /// Writes a file, folders made.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let place = self.sandbox.path(path);
        std::fs::create_dir_all(place.parent().expect("it has a folder")).expect("own folder");
        self.sandbox.write(path, text)
    }

    /// Writes an executable script for `/bin/sh`.
    pub fn script(&self, path: &str, body: &str) {
        self.write(path, "");
        self.sandbox.script(path, body);
    }

    /// Writes the program.
    pub fn program(&self, ms: u32) {
        self.write("tool.sh", tool(ms));
        self.sandbox.script("tool.sh", &format!("echo ms={ms}"));
    }

    /// Commits everything; gives the commit's id.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs `gate perf` with some more words, as JSON.
    #[must_use = "look at how it ended"]
    pub fn perf(&self, more: &[&str]) -> Done {
        self.sandbox.gate(&[&["perf", "--format", "json"], more].concat())
    }

    /// Every file of the repository itself, with what is in it.
    pub fn inside(&self) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
        everything(&self.sandbox.path(".git"))
    }

    /// The names of the trees that are there.
    pub fn trees(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.sandbox.path(".gate/trees")) else {
            return Vec::new();
        };
        entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }
}

/// The verdicts of a record, as words.
pub fn verdicts(record: &Value) -> Vec<&str> {
    let verdicts = record["judgement"]["verdicts"].as_array().expect("verdicts");
    verdicts.iter().map(|ruling| ruling["verdict"].as_str().unwrap()).collect()
}

/// The record's outcome.
pub fn outcome(record: &Value) -> &str {
    record["judgement"]["outcome"].as_str().unwrap()
}

/// The banners of a record, one a line.
pub fn banners(record: &Value) -> String {
    let banners = record["context"]["banners"].as_array().expect("banners");
    banners.iter().map(|banner| format!("{}\n", banner.as_str().unwrap())).collect()
}

/// The records on standard output, one a line.
pub fn records(done: &Done) -> Vec<Value> {
    done.out.lines().map(json).collect()
}
