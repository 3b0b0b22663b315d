//! How an arm becomes runnable: a tree of its own, built there or put there from an earlier build, its files digested.

pub mod artifacts;
pub mod build;
pub mod claim;
pub mod recipe;
mod scan;
pub mod store;
pub mod trees;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use super::environment::Scrubbed;
use super::git::Repository;
use super::measure::Stamp;
use super::process::Interrupts;
use crate::model::pattern::Patterns;
use crate::model::placeholder::{Values, expand, expand_text};
use artifacts::Artifacts;
use claim::Claim;
use recipe::{Recipe, Toolchain};
use store::Store;
use trees::Trees;

/// What makes both arms.
#[derive(Debug, Clone, Copy)]
pub struct Maker<'a> {
    /// Where the trees are.
    pub trees: &'a Trees,
    /// Where builds are kept.
    pub store: &'a Store,
    /// What a measured process may see.
    pub scrubbed: &'a Scrubbed,
    /// The declared steps, placeholders not yet replaced.
    pub steps: &'a [Vec<String>],
    /// The declared variables, placeholders not yet replaced.
    pub env: &'a [(String, String)],
    /// The declared patterns of what is kept.
    pub artifacts: &'a [String],
    /// Whether submodules are checked out.
    pub submodules: bool,
    /// Limit of all steps together.
    pub timeout: Duration,
    /// What stops a build.
    pub interrupts: Option<&'a Interrupts>,
}

/// How an arm's artifacts came to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Built {
    /// There are no steps: the tree runs as it is.
    Not,
    /// They were kept from an earlier build.
    Kept,
    /// By the steps, which took this long, in seconds.
    Now(f64),
}

/// A runnable arm. Its tree is removed when this is dropped.
#[derive(Debug)]
pub struct Made {
    /// Its folder: what `{tree}` stands for.
    pub tree: Claim,
    /// The id of its source.
    pub source: String,
    /// What it runs.
    pub artifacts: Artifacts,
    /// How that came to be.
    pub built: Built,
    /// The key of everything that they depend on.
    pub key: String,
}

impl Maker<'_> {
    /// Checks a revision or tree out, and builds it unless an equal build is kept.
    ///
    /// # Errors
    /// When it cannot be checked out, a step fails (a [`build::BuildFailed`]), or a pattern matches nothing.
    pub fn make(&self, repository: &Repository, revision: &str, log: &Path) -> Result<Made> {
        let patterns = Patterns::new(self.artifacts).map_err(|why| anyhow!("artifacts: {why}"))?;
        let source = repository.tree(revision)?;
        let inherited = build::environment(self.scrubbed, &[], self.trees.path());
        let recipe = Recipe {
            tree: &source,
            submodules: self.submodules,
            steps: self.steps,
            declared: self.env,
            inherited: &inherited,
            artifacts: self.artifacts,
        };
        let tree = self.trees.claim(Some(&recipe.key(&Toolchain::default())))?;
        repository.check_out(&source, tree.path(), &tree.beside("index"), self.submodules)?;
        let key = if self.steps.is_empty() {
            recipe.key(&Toolchain::default())
        } else {
            recipe.key(&Toolchain::ask(&inherited, tree.path())?)
        };
        let (artifacts, built) = self.fill(&tree, &key, &patterns, log)?;
        Ok(Made {
            tree,
            source,
            artifacts,
            built,
            key,
        })
    }

    fn fill(&self, tree: &Claim, key: &str, patterns: &Patterns, log: &Path) -> Result<(Artifacts, Built)> {
        if self.steps.is_empty() {
            return Ok((Artifacts::find(tree.path(), patterns)?, Built::Not));
        }
        if let Some(artifacts) = self.store.put_into(tree.path(), key)? {
            return Ok((artifacts, Built::Kept));
        }
        let values = Values {
            tree: Some(tree.path().to_str().context("the folder of the trees is no UTF-8 path")?.to_owned()),
            ..Values::default()
        };
        let steps = self.steps.iter().map(|step| expand(step, &values));
        let steps: Vec<Vec<String>> = steps.collect::<Result<_, _>>().map_err(|why| anyhow!("build: {why}"))?;
        let env = self
            .env
            .iter()
            .map(|(name, value)| Ok((name.clone(), expand_text(value, &values)?)));
        let env: Vec<(String, String)> = env.collect::<Result<_, String>>().map_err(|why| anyhow!("env: {why}"))?;
        let job = build::Build {
            tree: tree.path(),
            steps: &steps,
            env: &build::environment(self.scrubbed, &env, self.trees.path()),
            timeout: self.timeout,
            log,
        };
        let seconds = build::build(&job, self.interrupts)?;
        let artifacts = Artifacts::find(tree.path(), patterns)?;
        // A build that cannot be kept costs time on the next run and nothing else.
        let _kept = self.store.keep(tree.path(), key, &artifacts);
        Ok((artifacts, Built::Now(seconds)))
    }
}

impl Made {
    /// Digests what the arm runs again: after the other arm was built, and once more before the first slot.
    ///
    /// # Errors
    /// Names the file that is not what the build made.
    pub fn check(&self) -> Result<()> {
        self.artifacts.check(self.tree.path())
    }

    /// The stamps of what the arm runs, for the looks between slots.
    ///
    /// # Errors
    /// When a file is gone.
    pub fn stamps(&self) -> Result<Vec<Stamp>> {
        self.artifacts.stamps(self.tree.path())
    }
}

/// What equal artifacts mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identical {
    /// Every input of the build is equal too: nothing differs that could be measured.
    Inputs,
    /// The sources differ, and what they made does not.
    Stale,
}

impl Identical {
    /// A warning for a report; none where there is nothing to warn of.
    pub const fn warning(self) -> Option<&'static str> {
        match self {
            Self::Inputs => None,
            Self::Stale => Some(
                "the artifacts of both arms are equal although their sources differ: a stale build, or the change lives in a file that is not listed",
            ),
        }
    }
}

/// Whether two arms run equal files, and what that means; none where they differ, nothing is listed, or only settings were to differ.
pub fn identical(a: &Made, b: &Made) -> Option<Identical> {
    if a.artifacts.is_empty() || a.artifacts != b.artifacts {
        return None;
    }
    if a.key == b.key {
        return Some(Identical::Inputs);
    }
    // One source that was built with two settings is no stale build.
    (a.source != b.source).then_some(Identical::Stale)
}
