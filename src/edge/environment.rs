//! The environment of every measured child: what it inherits, what is held back, and that both arms get equally much.
//!
//! Everything here is a pure function of a list of variables; nothing reads or changes the environment of `gate` itself.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use crate::model::variable::is_held_back;

/// A list of variables, names first.
pub type Variables = Vec<(OsString, OsString)>;

/// Variables whose value names libraries that are loaded into a process from outside.
const INJECTORS: [&str; 4] = ["LD_PRELOAD", "LD_AUDIT", "ROCP_TOOL_LIB", "HSA_TOOLS_LIB"];
/// Parts of the file names of libraries that profile, trace or instrument.
const PROFILER_LIBRARIES: [&str; 16] = [
    "rocprof",
    "roctracer",
    "roctx",
    "omnitrace",
    "rocsys",
    "vtune",
    "ittnotify",
    "nsys",
    "nsight",
    "toolsinjection",
    "libprofiler",
    "gperftools",
    "tcmalloc_and_profiler",
    "valgrind",
    "vgpreload",
    "heaptrack",
];
/// The first name of a variable that only takes up room.
const PAD: &str = "GATE_PAD";

/// The variables a child may see, and the names of those held back.
///
/// Its `Debug` form shows names only: a value may be a secret that no rule knows.
#[derive(Clone, PartialEq, Eq)]
pub struct Scrubbed {
    /// What the child gets, in the order given.
    pub kept: Variables,
    /// The names that were held back, sorted, each once.
    pub removed: Vec<String>,
}

impl fmt::Debug for Scrubbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsStr> = self.kept.iter().map(|(name, _)| name.as_os_str()).collect();
        f.debug_struct("Scrubbed")
            .field("kept", &names)
            .field("removed", &self.removed)
            .finish()
    }
}

/// Whether a variable of this process is set and not empty.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The value of a variable of this process, where it is set.
pub fn value(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The words after the name of this program.
pub fn arguments() -> Vec<String> {
    std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The names of this process's variables, sorted; one that is not text is left out.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// What another `gate` may see of this process's variables: all but git's own, which in a hook would mislead it.
pub fn of_another_gate() -> Variables {
    std::env::vars_os()
        .filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"))
        .collect()
}

/// What a measured process may see of this process's variables.
pub fn of_children(pass: &[String]) -> Scrubbed {
    scrub(std::env::vars_os(), pass)
}

/// Splits variables into those a measured child may see and the names of those it may not.
///
/// Held back is what belongs to the CI system, to git or to the SSH agent, and every name that ends like a secret; upper and
/// lower case count the same. A name in `pass` (exactly as the variable is spelled) is kept whatever it is.
pub fn scrub(vars: impl Iterator<Item = (OsString, OsString)>, pass: &[String]) -> Scrubbed {
    let mut kept = Vec::new();
    let mut removed = BTreeSet::new();
    for (name, value) in vars {
        let spelled = name.to_string_lossy().into_owned();
        if pass.contains(&spelled) || !is_held_back(&spelled) {
            kept.push((name, value));
        } else {
            removed.insert(spelled);
        }
    }
    Scrubbed {
        kept,
        removed: removed.into_iter().collect(),
    }
}

/// Names the first sign of a profiler among the variables: a run under one explains, and never judges.
///
/// Signs are `HIPFIRE_PROFILE*` (neither empty nor `0`), any `ROCPROF*` that is not empty, and a variable such as `LD_PRELOAD`
/// that loads a profiler's library; then the library's file name is given too.
pub fn profiler(vars: &[(OsString, OsString)]) -> Option<String> {
    vars.iter().find_map(|(name, value)| {
        let name = name.to_str()?;
        if name.starts_with("HIPFIRE_PROFILE") {
            return (!value.is_empty() && value != "0").then(|| name.to_owned());
        }
        if name.starts_with("ROCPROF") {
            return (!value.is_empty()).then(|| name.to_owned());
        }
        let library = INJECTORS.contains(&name).then(|| profiler_library(value)).flatten()?;
        Some(format!("{name} ({library})"))
    })
}

/// The file name of the first profiler's library in a list separated by colons or spaces, as the loader reads it.
fn profiler_library(list: &OsStr) -> Option<String> {
    let list = list.to_string_lossy();
    list.split([':', ' ']).find_map(|entry| {
        let file = Path::new(entry).file_name()?.to_string_lossy().into_owned();
        let lower = file.to_ascii_lowercase();
        PROFILER_LIBRARIES.iter().any(|part| lower.contains(part)).then_some(file)
    })
}

/// How many bytes of environment block the variables take: name, `=`, value and the closing NUL of each.
pub fn block_bytes(vars: &[(OsString, OsString)]) -> usize {
    vars.iter().map(|(name, value)| name.len() + value.len() + 2).sum()
}

/// Makes the environment blocks of both arms equal in number of variables and in bytes.
///
/// The size of the block moves the stack of a process and so, at times, its speed; a difference between the arms would be
/// measured as theirs. Where they differ, both get one variable `GATE_PAD` with values of the needed lengths, and the arm with
/// fewer variables gets further, empty ones. Equal arms stay as they are.
pub fn equalise(envs: &mut [Variables; 2]) {
    for env in envs.iter_mut() {
        env.retain(|(name, _)| !name.to_string_lossy().starts_with(PAD));
    }
    let [a, b] = envs;
    if a.len() == b.len() && block_bytes(a) == block_bytes(b) {
        return;
    }
    let most = a.len().max(b.len());
    for env in [&mut *a, &mut *b] {
        for n in 1..=(most - env.len()) {
            env.push((format!("{PAD}_{n}").into(), OsString::new()));
        }
    }
    let room = block_bytes(a).max(block_bytes(b));
    for env in [a, b] {
        let filler = ".".repeat(room - block_bytes(env));
        env.push((PAD.into(), filler.into()));
    }
}
