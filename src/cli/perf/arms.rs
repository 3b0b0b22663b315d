//! Two runnable arms: what runs, its digests, the environment. Here from two command lines; from trees in `making`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::declare::Declared;
use super::identity::device_variable;
use crate::edge::arms::Made;
use crate::edge::arms::claim::Claim;
use crate::edge::digest::DigestCache;
use crate::edge::environment::{self, Scrubbed, Variables};
use crate::edge::measure::{Command, Stamp};
use crate::edge::session::Header;
use crate::edge::{files, git, process};
use crate::model::gate::declaration::Series;
use crate::model::identity::{Artifact, Facts, Source, none};
use crate::model::sample::{Arm, Cell, PerArm};

/// Two runnable arms.
pub struct Arms {
    /// What each arm runs on each fixture.
    pub commands: BTreeMap<(Cell, Arm), Command>,
    /// What must not change while the session runs.
    pub files: Vec<Stamp>,
    /// The profiler in the environment, if there is one.
    pub profiler: Option<String>,
    /// What each arm runs, digested.
    pub artifacts: PerArm<Vec<Artifact>>,
    /// The version-control state behind each arm, or why it is not known.
    pub sources: PerArm<Result<Source, String>>,
    /// The model of each fixture.
    pub model: Facts,
    /// The prompt of each fixture.
    pub prompt: Facts,
    /// Names of variables that are withheld from the processes.
    pub removed: Vec<String>,
    /// Variables that are recorded set or unset.
    pub recorded: Facts,
    /// The trees that the arms run in; they go when this does.
    pub trees: Vec<Made>,
    /// Folders of caches and prompts; they go when this does.
    pub folders: Vec<Claim>,
}

impl Arms {
    /// Finds the programs of two command lines and digests what runs.
    ///
    /// # Errors
    /// Names the arm whose program cannot be found or read.
    pub fn find(declared: &Declared, digests: &Path) -> Result<Self> {
        let mut environment = environment::of_children(&declared.pass_env);
        for (name, value) in &declared.env {
            set(&mut environment.kept, name, value);
        }
        let cwd = Path::new(&declared.plan.cwd);
        let mut cache = DigestCache::open(digests);
        let series: Vec<Series> = declared.series.clone();
        let mut commands = BTreeMap::new();
        let mut stamps = Vec::new();
        let mut artifacts = PerArm::<Vec<Artifact>>::default();
        for arm in Arm::BOTH {
            let option = if arm == Arm::A { "--a" } else { "--b" };
            let runs = found(declared.plan.commands.of(arm), cwd, &environment, &mut cache);
            let runs = runs.with_context(|| format!("{option}: arm {arm}"))?;
            stamps.extend(runs.stamps);
            *artifacts.of_mut(arm) = runs.artifacts;
            let command = Command {
                program: runs.program,
                args: declared.plan.commands.of(arm).iter().skip(1).cloned().collect(),
                env: environment.kept.clone(),
                cwd: cwd.to_owned(),
                series: series.clone(),
                private: None,
            };
            commands.insert((Cell::default(), arm), command);
        }
        // A cache that cannot be kept costs time on the next run and nothing else.
        let _kept = cache.save();
        let source = git::source(cwd);
        Ok(Self {
            commands,
            files: stamps,
            profiler: environment::profiler(&environment.kept),
            artifacts,
            sources: PerArm {
                a: source.clone(),
                b: source,
            },
            model: none(),
            prompt: none(),
            removed: environment.removed,
            recorded: Facts::new(),
            trees: Vec::new(),
            folders: Vec::new(),
        })
    }

    /// Refuses to go on with a session where what runs is not what it was.
    ///
    /// # Errors
    /// Names what changed.
    pub fn check_same(&self, header: &Header) -> Result<()> {
        let before = header.identity.config.get("devices").cloned().unwrap_or_default();
        if let Value::Object(before) = &before
            && let Some((name, was)) = before.iter().find(|(name, was)| device_variable(name) != **was)
        {
            bail!("{name} changed: was {was}, is {}", device_variable(name));
        }
        let tree = |source: Option<&Source>| source.and_then(|source| source.tree.clone());
        for arm in Arm::BOTH {
            let was = tree(header.identity.arms.of(arm).source.as_ref());
            if was.is_some() && was != tree(self.sources.of(arm).as_ref().ok()) {
                bail!("the source of arm {arm} changed");
            }
            let (was, is) = (&header.identity.arms.of(arm).artifacts, self.artifacts.of(arm));
            let gone = || was.iter().find(|artifact| !is.contains(artifact));
            if let Some(artifact) = is.iter().find(|artifact| !was.contains(artifact)).or_else(gone) {
                bail!("the {} of arm {arm} changed: {}", artifact.role, artifact.path);
            }
        }
        Ok(())
    }
}

/// Sets a variable, whatever it was before.
pub fn set(variables: &mut Variables, name: &str, value: &str) {
    variables.retain(|(other, _)| other != name);
    variables.push((OsString::from(name), OsString::from(value)));
}

/// What one command line runs.
pub struct Runs {
    /// The executable file.
    pub program: PathBuf,
    /// It, its interpreter and the first argument that names a file, digested.
    pub artifacts: Vec<Artifact>,
    /// The same files as they are now.
    pub stamps: Vec<Stamp>,
}

/// One command's program with what else runs, and the digests of all of it.
///
/// # Errors
/// When the program cannot be found or read.
pub fn found(words: &[String], cwd: &Path, environment: &Scrubbed, cache: &mut DigestCache) -> Result<Runs> {
    let (program, args) = words.split_first().ok_or_else(|| anyhow!("the command is empty"))?;
    let path = environment
        .kept
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    let program = process::resolve(program, path, cwd).map_err(|why| anyhow!(why))?;
    let mut runs = vec![("executable", program.clone())];
    let interpreter = files::interpreter(&program)?;
    if let Some(interpreter) = interpreter {
        runs[0].0 = "script";
        runs.push(("interpreter", interpreter));
    }
    // `python3 bench.py`: what an interpreter is given to run belongs to the arm as much as the interpreter.
    let given = args.iter().find(|arg| !arg.starts_with('-') && files::is_regular(&cwd.join(arg)));
    runs.extend(given.map(|given| {
        let given = cwd.join(given);
        (if files::is_script(&given) { "script" } else { "argument" }, given)
    }));
    let mut seen = BTreeSet::new();
    let (mut artifacts, mut stamps) = (Vec::new(), Vec::new());
    for (role, path) in runs.into_iter().filter(|(_, path)| seen.insert(path.clone())) {
        let digests = cache.digests(&path).with_context(|| format!("cannot digest {}", path.display()))?;
        artifacts.push(Artifact {
            role: role.to_owned(),
            path: path.to_string_lossy().into_owned(),
            bytes: digests.bytes,
            md5: Some(digests.md5),
            blake3: digests.blake3,
        });
        stamps.push(Stamp::of(path)?);
    }
    Ok(Runs {
        program,
        artifacts,
        stamps,
    })
}
