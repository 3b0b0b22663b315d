//! The repository's own text files, for the tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// One file: its path below the root, with `/`, and its text.
pub struct Source {
    /// `src/model/unit.rs`
    pub path: String,
    /// Everything in it; empty where it is not UTF-8.
    pub text: String,
}

/// Every file below the given folders or files of the repository, sorted; what does not exist is left out.
pub fn sources(places: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    for place in places {
        collect(&root().join(place), &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(path: &Path, found: &mut Vec<Source>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    } else if path.is_file() {
        let relative = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        found.push(Source {
            path: relative,
            text: String::from_utf8(fs::read(path).unwrap()).unwrap_or_default(),
        });
    }
}

/// `path:line: what` for every line that `wrong` objects to.
pub fn objections(source: &Source, wrong: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(number, line)| wrong(line).map(|what| format!("{}:{}: {what}", source.path, number + 1)))
        .collect()
}
