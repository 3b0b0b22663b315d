//! Everything that a build depends on, as one key: where it is equal, the build is taken to be.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use super::build::CEILING;
use crate::edge::digest::digest_file;
use crate::edge::process::{self, Environment, Exit, Launch};

/// The version of the key's own contents: a higher one finds no older entry.
const VERSION: &str = "gate build 1";
/// Compilers and builders, each with how it tells its version. All that are on the `PATH` are asked: a script may call any of them.
const TOOLS: [(&str, &str); 12] = [
    ("rustc", "-vV"),
    ("cargo", "-vV"),
    ("cc", "--version"),
    ("c++", "--version"),
    ("gcc", "--version"),
    ("g++", "--version"),
    ("clang", "--version"),
    ("hipcc", "--version"),
    ("nvcc", "--version"),
    ("cmake", "--version"),
    ("make", "--version"),
    ("ninja", "--version"),
];
/// How long a tool may take to tell its version.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How much of its answer counts, in bytes.
const KEEP_BYTES: usize = 64 << 10;

/// What a build depends on.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// The id of the tree that is built.
    pub tree: &'a str,
    /// Whether submodules are in it.
    pub submodules: bool,
    /// The steps as they are declared: the place of a tree is no part of the key.
    pub steps: &'a [Vec<String>],
    /// The declared variables as they are declared.
    pub declared: &'a [(String, String)],
    /// The environment that the steps inherit.
    pub inherited: &'a [(OsString, OsString)],
    /// The patterns of what is kept.
    pub artifacts: &'a [String],
}

/// What the tools of a build say of themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toolchain(Vec<(String, Vec<u8>)>);

impl Toolchain {
    /// Asks every tool that is on the `PATH`; a tool that does not answer counts as one that says so. `folder` is where they are asked: a
    /// tree, since a file in it may choose the version.
    ///
    /// # Errors
    /// When a tool could not be run at all.
    pub fn ask(inherited: &[(OsString, OsString)], folder: &Path) -> Result<Self> {
        let mut said = Vec::new();
        for (tool, question) in TOOLS {
            let Ok(program) = process::resolve(tool, path(inherited), folder) else {
                continue;
            };
            let launch = Launch {
                program: &program,
                args: &[question.into()],
                env: &Environment::of(inherited),
                cwd: folder,
                timeout: TIMEOUT,
                keep_bytes: KEEP_BYTES,
            };
            let ended = process::run(&launch, None)?;
            if let Exit::Interrupted(signal) = ended.exit {
                bail!("{tool} {question}: interrupted by signal {signal}");
            }
            let mut answer = format!("{} {:?}\n", program.display(), ended.exit).into_bytes();
            answer.extend(ended.stdout.kept);
            said.push((tool.to_owned(), answer));
        }
        Ok(Self(said))
    }
}

impl Recipe<'_> {
    /// The key: BLAKE3 of everything that the build depends on, 64 hexadecimal digits. A step's own program counts with its bytes.
    pub fn key(&self, toolchain: &Toolchain) -> String {
        let mut key = Key(blake3::Hasher::new());
        key.add(VERSION.as_bytes());
        key.add(std::env::consts::ARCH.as_bytes());
        key.add(self.tree.as_bytes());
        key.add(&[u8::from(self.submodules)]);
        key.count(self.steps.len());
        for step in self.steps {
            key.count(step.len());
            step.iter().for_each(|word| key.add(word.as_bytes()));
            let program = step
                .first()
                .and_then(|word| process::resolve(word, path(self.inherited), Path::new("/")).ok());
            let digests = program.and_then(|program| digest_file(&program).ok());
            key.add(digests.map(|digests| digests.blake3).unwrap_or_default().as_bytes());
        }
        // Where the trees are is no part of what is built.
        let mut inherited: Vec<_> = self.inherited.iter().filter(|(name, _)| name != CEILING).collect();
        inherited.sort_unstable();
        key.count(inherited.len());
        for (name, value) in inherited {
            key.add(name.as_encoded_bytes());
            key.add(value.as_encoded_bytes());
        }
        key.count(self.declared.len());
        for (name, value) in self.declared {
            key.add(name.as_bytes());
            key.add(value.as_bytes());
        }
        key.count(self.artifacts.len());
        self.artifacts.iter().for_each(|pattern| key.add(pattern.as_bytes()));
        key.count(toolchain.0.len());
        for (tool, said) in &toolchain.0 {
            key.add(tool.as_bytes());
            key.add(said);
        }
        key.0.finalize().to_hex().to_string()
    }
}

/// A hash over parts, each with its length in front, so that no two lists of parts give the same bytes.
struct Key(blake3::Hasher);

impl Key {
    fn add(&mut self, part: &[u8]) {
        self.count(part.len());
        self.0.update(part);
    }

    fn count(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }
}

fn path(variables: &[(OsString, OsString)]) -> Option<&OsStr> {
    variables
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let (one, other) = ([words(&["nope", "x"])], [words(&["nope"]), words(&["x"])]);
        let env = [("A".into(), "bc".into())];
        let env_other = [("Ab".into(), "c".into())];
        let declared = [("A".to_owned(), "{tree}".to_owned())];
        let patterns = words(&["build/*"]);
        let recipe = Recipe {
            tree: "t",
            submodules: false,
            steps: &one,
            declared: &[],
            inherited: &env,
            artifacts: &[],
        };
        let recipes = [
            recipe,
            Recipe { tree: "u", ..recipe },
            Recipe {
                submodules: true,
                ..recipe
            },
            Recipe { steps: &other, ..recipe },
            Recipe {
                inherited: &env_other,
                ..recipe
            },
            Recipe {
                declared: &declared,
                ..recipe
            },
            Recipe {
                artifacts: &patterns,
                ..recipe
            },
        ];
        let tools = |said: &str| Toolchain(vec![("cc".to_owned(), said.as_bytes().to_vec())]);
        let mut keys: Vec<String> = recipes.iter().map(|recipe| recipe.key(&tools("1"))).collect();
        keys.push(recipe.key(&tools("2")));
        assert_eq!(keys[0], recipe.key(&tools("1")), "the same gives the same");
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 8, "two recipes have one key");
    }
}
