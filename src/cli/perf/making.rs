//! From one declared gate to two runnable arms: trees, builds, what each fixture runs, what is recorded of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::arms::{Arms, set};
use super::commands::Ground;
use super::inputs::Inputs;
use super::pair::OfArm;
use super::workspace::{Workspace, layered};
use crate::edge::arms::artifacts::Artifacts;
use crate::edge::arms::claim::Claim;
use crate::edge::arms::store::{Limits, Store};
use crate::edge::arms::{Identical, Made, Maker, identical};
use crate::edge::device::{Gpu, variables};
use crate::edge::digest::DigestCache;
use crate::edge::environment::{self, Scrubbed, Variables};
use crate::edge::measure::Command;
use crate::edge::process::Interrupts;
use crate::model::gate::declaration::{ArmKeys, Declaration, Run};
use crate::model::identity::{Artifact, Facts, Source, none};
use crate::model::pattern::Patterns;
use crate::model::sample::{Arm, Cell, PerArm};

/// What makes the arms of one gate.
pub struct Making<'a> {
    /// The repository.
    pub workspace: &'a Workspace,
    /// What the gate declares.
    pub declaration: &'a Declaration,
    /// The measured command.
    pub run: &'a Run,
    /// The revisions of both arms.
    pub revisions: PerArm<Option<String>>,
    /// The arms that run.
    pub sides: &'a [Arm],
    /// The gate's name.
    pub name: &'a str,
    /// The selected devices.
    pub devices: &'a [Gpu],
    /// Where builds are kept.
    pub cache: &'a Path,
    /// Where digests are kept.
    pub digests: &'a Path,
    /// Where logs of builds go.
    pub logs: &'a Path,
    /// What stops a build.
    pub interrupts: &'a Interrupts,
}

/// The runnable arms of a gate, and what making them showed.
pub struct Ready {
    /// The arms.
    pub arms: Arms,
    /// What a reviewer must see.
    pub banners: Vec<String>,
    /// Both arms have equal inputs and equal artifacts.
    pub identical: bool,
}

/// One arm's place.
pub enum Place {
    /// A tree of its own, made from a revision.
    Tree(Box<Made>),
    /// A prebuilt install.
    Install(PathBuf, Artifacts),
}

impl Place {
    /// What `{tree}` stands for.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Tree(made) => made.tree.path(),
            Self::Install(folder, _) => folder,
        }
    }

    fn artifacts(&self) -> &Artifacts {
        match self {
            Self::Tree(made) => &made.artifacts,
            Self::Install(_, artifacts) => artifacts,
        }
    }
}

impl Making<'_> {
    /// Makes the arms, one after the other.
    ///
    /// # Errors
    /// A revision that is not there, a build that fails (with the end of its log), a file that is missing: each names its arm.
    pub fn make(&self) -> Result<Ready> {
        let mut scrubbed = environment::of_children(&self.run.pass_env);
        if let Some(unset) = self.run.pass_env.iter().find(|name| !environment::is_set(name)) {
            bail!("run.pass_env: {unset} is not set");
        }
        if !self.devices.is_empty() {
            for (name, value) in variables(self.devices) {
                set(&mut scrubbed.kept, &name, &value);
            }
        }
        let store = Store::open(self.cache, Limits::DEFAULT)?;
        let mut places = BTreeMap::new();
        for &arm in self.sides {
            let place = self.place(arm, &scrubbed, &store).context(OfArm(arm))?;
            places.insert(arm, place);
        }
        // A build that writes outside its own tree can change what the other arm runs.
        for (arm, place) in &places {
            place
                .artifacts()
                .check(place.folder())
                .with_context(|| format!("arm {arm}: another arm's build changed it"))?;
        }
        let same = match (places.get(&Arm::A), places.get(&Arm::B)) {
            (Some(Place::Tree(a)), Some(Place::Tree(b))) => identical(a, b),
            _ => None,
        };
        let banners = same.and_then(Identical::warning).map(str::to_owned).into_iter().collect();
        let mut cache = DigestCache::open(self.digests);
        let models = self.models(&mut cache)?;
        let (prompts, prompt_folder) = self.prompts(&mut cache)?;
        let arms = self.arms(places, &scrubbed, &mut cache, models, prompts)?;
        // A cache that cannot be kept costs time on the next run and nothing else.
        let _kept = cache.save();
        let mut arms = arms;
        arms.folders.extend(prompt_folder);
        let equal_settings = self.keys(Arm::A).args == self.keys(Arm::B).args && self.keys(Arm::A).env == self.keys(Arm::B).env;
        Ok(Ready {
            arms,
            banners,
            identical: same == Some(Identical::Inputs) && equal_settings,
        })
    }

    /// What one arm has of its own.
    pub fn keys(&self, arm: Arm) -> &ArmKeys {
        match arm {
            Arm::A => &self.declaration.arms.a,
            Arm::B => &self.declaration.arms.b,
        }
    }

    fn place(&self, arm: Arm, scrubbed: &Scrubbed, store: &Store) -> Result<Place> {
        let arms = &self.declaration.arms;
        if let Some(path) = &self.keys(arm).path {
            let folder = self.workspace.repository.top().join(path);
            let folder = folder
                .canonicalize()
                .with_context(|| format!("path: cannot enter {}", folder.display()))?;
            let patterns = Patterns::new(&arms.artifacts).map_err(|why| anyhow!("artifacts: {why}"))?;
            let artifacts = Artifacts::find(&folder, &patterns)?;
            return Ok(Place::Install(folder, artifacts));
        }
        let revision = self.revisions.of(arm).as_deref().ok_or_else(|| anyhow!("no revision"))?;
        let env = layered([&arms.env, &self.keys(arm).env]);
        let maker = Maker {
            trees: &self.workspace.trees,
            store,
            scrubbed,
            steps: &arms.build,
            env: &env,
            artifacts: &arms.artifacts,
            submodules: arms.submodules,
            timeout: arms.build_timeout,
            interrupts: Some(self.interrupts),
        };
        if arms.submodules && revision == self.workspace.candidate {
            self.workspace.repository.refuse_changed_submodules(revision)?;
        }
        let log = self.logs.join(format!("build-{}-{}-{arm}.log", self.name, std::process::id()));
        Ok(Place::Tree(Box::new(maker.make(&self.workspace.repository, revision, &log)?)))
    }

    fn arms(
        &self,
        places: BTreeMap<Arm, Place>,
        scrubbed: &Scrubbed,
        cache: &mut DigestCache,
        models: Inputs,
        prompts: Inputs,
    ) -> Result<Arms> {
        let mut commands = BTreeMap::new();
        let mut artifacts = PerArm::<Vec<Artifact>>::default();
        let mut files = [models.stamps, prompts.stamps].concat();
        let mut folders = Vec::new();
        for (&arm, place) in &places {
            *artifacts.of_mut(arm) = place.artifacts().of_record();
            files.extend(place.artifacts().stamps(place.folder())?);
            let caches = self.caches(&mut folders)?;
            let ground = Ground {
                arm,
                place,
                scrubbed,
                caches: &caches,
            };
            for fixture in &self.declaration.fixtures {
                let inputs = [models.paths.get(&fixture.name).cloned(), prompts.paths.get(&fixture.name).cloned()];
                let (command, runs) = self.command(&ground, fixture, inputs, cache)?;
                let cell = Cell {
                    fixture: fixture.name.clone(),
                };
                commands.insert((cell, arm), command);
                files.extend(runs.stamps);
                let known = artifacts.of_mut(arm);
                let below = |artifact: &Artifact| Path::new(&artifact.path).strip_prefix(place.folder()).map(Path::to_owned);
                for mut artifact in runs.artifacts {
                    // What lies in the arm's tree is named as the record names artifacts: the tree's own name means nothing.
                    if let Ok(path) = below(&artifact) {
                        artifact.path = path.to_string_lossy().into_owned();
                    }
                    if !known.iter().any(|other| other.path == artifact.path) {
                        known.push(artifact);
                    }
                }
            }
        }
        self.equalise(&mut commands)?;
        let profiled = commands.values().find_map(|command: &Command| environment::profiler(&command.env));
        let declared_profiler = layered([&self.declaration.arms.env, &self.run.env]);
        let declared: Variables = declared_profiler
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        let unknown = |what: &str| Err(format!("{what} is an install, whose source is not known"));
        let source = |arm: Arm| match places.get(&arm) {
            Some(Place::Tree(made)) => self.source(arm, &made.source),
            Some(Place::Install(..)) => unknown("it"),
            // There is no base arm: nothing of it is unknown.
            None => places.get(&Arm::B).map_or_else(
                || unknown("it"),
                |place| match place {
                    Place::Tree(made) => self.source(Arm::B, &made.source),
                    Place::Install(..) => unknown("it"),
                },
            ),
        };
        let sources = PerArm {
            a: source(Arm::A),
            b: source(Arm::B),
        };
        if !places.contains_key(&Arm::A) {
            artifacts.a = artifacts.b.clone();
        }
        let facts = |facts: Facts| if facts.is_empty() { none() } else { facts };
        let trees = places.into_values().filter_map(|place| match place {
            Place::Tree(made) => Some(*made),
            Place::Install(..) => None,
        });
        Ok(Arms {
            commands,
            files,
            profiler: profiled.or_else(|| environment::profiler(&declared)),
            artifacts,
            sources,
            model: facts(models.facts),
            prompt: facts(prompts.facts),
            removed: scrubbed.removed.clone(),
            recorded: self.recorded(),
            trees: trees.collect(),
            folders,
        })
    }

    /// The private folders that this arm's caches point to; the warm-up fills them.
    fn caches(&self, folders: &mut Vec<Claim>) -> Result<Vec<(String, String)>> {
        let claim = |name: &String| -> Result<(String, String)> {
            let folder = self.workspace.trees.claim(None)?;
            let path = folder.path().to_string_lossy().into_owned();
            folders.push(folder);
            Ok((name.clone(), path))
        };
        self.run.caches.iter().map(claim).collect()
    }

    /// The version-control state behind an arm that was made of a tree.
    fn source(&self, arm: Arm, tree: &str) -> Result<Source, String> {
        let tree = Some(tree.to_owned());
        let revision = self.revisions.of(arm).clone().ok_or("no revision")?;
        if arm == Arm::B && revision == self.workspace.candidate {
            return self.workspace.head.clone().map(|head| Source { tree, ..head });
        }
        let commit = self.workspace.repository.commit(&revision).map_err(|error| format!("{error:#}"))?;
        let source = |commit| Source {
            branch: None,
            commit,
            dirty: false,
            tree,
        };
        commit.map(source).ok_or_else(|| format!("{revision} is no commit"))
    }

    /// Literal names are recorded set or unset; of a pattern, what is set. A secret is recorded as set, never its value.
    fn recorded(&self) -> Facts {
        let mut recorded = Facts::new();
        for name in &self.run.record_env {
            let matching: Vec<String> = match name.strip_suffix('*') {
                None => vec![name.clone()],
                Some(prefix) => environment::names().into_iter().filter(|name| name.starts_with(prefix)).collect(),
            };
            for name in matching {
                let value = match environment::value(&name) {
                    None => Value::Null,
                    Some(_) if crate::model::variable::is_held_back(&name) => "set (withheld)".into(),
                    Some(value) => value.into(),
                };
                recorded.insert(name, value);
            }
        }
        recorded
    }
}
