//! From one declared gate to two runnable arms: trees, builds, what each fixture runs, what is recorded of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use super::arms::{Arms, found, set};
use super::pair::OfArm;
use super::workspace::{Workspace, layered};
use crate::edge::arms::artifacts::Artifacts;
use crate::edge::arms::claim::Claim;
use crate::edge::arms::store::{Limits, Store};
use crate::edge::arms::{Identical, Made, Maker, build, identical};
use crate::edge::device::{Gpu, variables};
use crate::edge::digest::DigestCache;
use crate::edge::environment::{self, Scrubbed, Variables};
use crate::edge::files;
use crate::edge::measure::{Command, PROCESS_METRICS, Private, Server, Stamp};
use crate::edge::process::Interrupts;
use crate::model::gate::declaration::{ArmKeys, Declaration, Fixture, Run, Series};
use crate::model::identity::{Artifact, Facts, Source, none};
use crate::model::pattern::Patterns;
use crate::model::placeholder::{Values, expand, expand_text};
use crate::model::sample::{Arm, Cell, PerArm};

/// Longest prompt file, in bytes.
const PROMPT_MAX_BYTES: u64 = 1 << 20;
/// Stand-ins for what each slot has of its own, as long as the real ones, to compare the size of the arms' environments.
const PORT: u16 = 65_535;

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
    /// Whether there is a base arm.
    pub sides: &'a [Arm],
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
enum Place {
    Tree(Box<Made>),
    Install(PathBuf, Artifacts),
}

impl Place {
    fn folder(&self) -> &Path {
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

/// A file that every process of a fixture reads.
#[derive(Default)]
struct Inputs {
    paths: BTreeMap<String, String>,
    facts: Facts,
    stamps: Vec<Stamp>,
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

    fn keys(&self, arm: Arm) -> &ArmKeys {
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
        let log = self.logs.join(format!("build-{}-{arm}.log", std::process::id()));
        Ok(Place::Tree(Box::new(maker.make(&self.workspace.repository, revision, &log)?)))
    }

    /// The model of each fixture: in the folder that `GATE_MODELS` names, else in the user's checkout; one file for both arms.
    fn models(&self, cache: &mut DigestCache) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        let top = self.workspace.repository.top();
        for fixture in &self.declaration.fixtures {
            let Some(model) = &fixture.model else { continue };
            let folders = environment::value("GATE_MODELS")
                .map(PathBuf::from)
                .into_iter()
                .chain([top.to_owned()]);
            let tried: Vec<PathBuf> = folders.map(|folder| folder.join(model)).collect();
            let path = tried.iter().find(|path| files::is_regular(path)).ok_or_else(|| {
                let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
                anyhow!(
                    "fixture {:?}: no model {model}: looked for {}; GATE_MODELS names their folder",
                    fixture.name,
                    tried.join(" and ")
                )
            })?;
            inputs.add(fixture, path, cache)?;
        }
        Ok(inputs)
    }

    /// The prompt of each fixture, from where the rules come from: a change cannot bring its own. They are put into a folder of their own.
    fn prompts(&self, cache: &mut DigestCache) -> Result<(Inputs, Option<Claim>)> {
        let mut inputs = Inputs::default();
        if self.declaration.fixtures.iter().all(|fixture| fixture.prompt.is_none()) {
            return Ok((inputs, None));
        }
        let folder = self.workspace.trees.claim(None)?;
        for (number, fixture) in self.declaration.fixtures.iter().enumerate() {
            let Some(prompt) = &fixture.prompt else { continue };
            let bytes = match &self.workspace.rules {
                Some(revision) => self.workspace.repository.read_blob(revision, prompt)?,
                None => files::read_input(&self.workspace.repository.top().join(prompt), PROMPT_MAX_BYTES)?,
            };
            let from = self.workspace.rules_in_words();
            let bytes = bytes.ok_or_else(|| anyhow!("fixture {:?}: no prompt {prompt} in the {from}", fixture.name))?;
            let path = folder.path().join(format!("{number:04}"));
            files::write(&path, &bytes)?;
            inputs.add(fixture, &path, cache)?;
            if let Some(Value::Object(facts)) = inputs.facts.get_mut(&fixture.name) {
                facts.insert("path".to_owned(), json!(prompt));
            }
        }
        Ok((inputs, Some(folder)))
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
            for fixture in &self.declaration.fixtures {
                let inputs = [models.paths.get(&fixture.name).cloned(), prompts.paths.get(&fixture.name).cloned()];
                let (command, runs) = self.command(arm, place, fixture, inputs, scrubbed, &caches, cache)?;
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
            Some(Place::Tree(_)) => self.source(arm),
            Some(Place::Install(..)) => unknown("it"),
            // There is no base arm: nothing of it is unknown.
            None => self.source(Arm::B),
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

    #[expect(clippy::too_many_arguments, reason = "everything that one command is made of")]
    fn command(
        &self,
        arm: Arm,
        place: &Place,
        fixture: &Fixture,
        [model, prompt]: [Option<String>; 2],
        scrubbed: &Scrubbed,
        caches: &[(String, String)],
        cache: &mut DigestCache,
    ) -> Result<(Command, super::arms::Runs)> {
        let keys = self.keys(arm);
        let tree = place.folder().to_str().context("the project's folder is no UTF-8 path")?.to_owned();
        let args = [fixture.args.clone(), keys.args.clone()].concat();
        let values = Values {
            tree: Some(tree),
            model,
            prompt,
            out: Some(String::new()),
            port: Some(PORT),
            args,
        };
        let mut environment = build::environment(scrubbed, &[], self.workspace.trees.path());
        let mut private = layered([&self.declaration.arms.env, &self.run.env, &fixture.env, &keys.env]);
        private.extend(caches.iter().cloned());
        environment.retain(|(name, _)| private.iter().all(|(other, _)| name != other.as_str()));
        let sees = Scrubbed {
            kept: with(&environment, &private, &values)?,
            removed: Vec::new(),
        };
        let words = expand(&self.run.command, &values).map_err(|why| anyhow!("run.command: {why}"))?;
        let runs = found(&words, place.folder(), &sees, cache)
            .context("run.command")
            .context(OfArm(arm))?;
        let server = self
            .server(place, &values, &sees, cache)
            .context("serve.command")
            .context(OfArm(arm))?;
        let command = Command {
            program: runs.program.clone(),
            args: self.run.command.iter().skip(1).cloned().collect(),
            env: environment,
            cwd: place.folder().to_owned(),
            series: self.series(fixture),
            private: Some(Private {
                folder: self.workspace.trees.path().to_owned(),
                env: private,
                output: self.run.output.clone(),
                server,
                values: Values {
                    out: None,
                    port: None,
                    ..values
                },
            }),
        };
        Ok((command, runs))
    }

    fn server(&self, place: &Place, values: &Values, sees: &Scrubbed, cache: &mut DigestCache) -> Result<Option<Server>> {
        let Some(serve) = &self.declaration.serve else { return Ok(None) };
        let words = expand(&serve.command, values).map_err(|why| anyhow!(why))?;
        let runs = found(&words, place.folder(), sees, cache)?;
        Ok(Some(Server {
            program: runs.program,
            args: serve.command.iter().skip(1).cloned().collect(),
            ready: serve.ready.clone(),
            timeout: serve.timeout,
        }))
    }

    fn series(&self, fixture: &Fixture) -> Vec<Series> {
        let wanted = |series: &&Series| {
            let name = &series.metric.name;
            fixture.metrics.is_empty() || fixture.metrics.contains(name) || PROCESS_METRICS.contains(&name.as_str())
        };
        self.declaration.metrics.iter().filter(wanted).cloned().collect()
    }

    /// Pads the environments of both arms to the same size: the size alone can move a program's memory and with it its speed.
    fn equalise(&self, commands: &mut BTreeMap<(Cell, Arm), Command>) -> Result<()> {
        for fixture in &self.declaration.fixtures {
            let cell = Cell {
                fixture: fixture.name.clone(),
            };
            let keys = [(cell.clone(), Arm::A), (cell, Arm::B)];
            let [Some(a), Some(b)] = keys.each_ref().map(|key| commands.get(key)) else {
                continue;
            };
            let mut both = [seen(a)?, seen(b)?];
            let before = both.each_ref().map(Vec::len);
            environment::equalise(&mut both);
            for ((key, padded), before) in keys.iter().zip(both).zip(before) {
                if let Some(command) = commands.get_mut(key) {
                    command.env.extend(padded.into_iter().skip(before));
                }
            }
        }
        Ok(())
    }

    fn source(&self, arm: Arm) -> Result<Source, String> {
        let revision = self.revisions.of(arm).clone().ok_or("no revision")?;
        if arm == Arm::B && revision == self.workspace.candidate {
            return self.workspace.head.clone();
        }
        let commit = self.workspace.repository.commit(&revision).map_err(|error| format!("{error:#}"))?;
        commit
            .map(|commit| Source {
                branch: None,
                commit,
                dirty: false,
            })
            .ok_or_else(|| format!("{revision} is no commit"))
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

impl Inputs {
    fn add(&mut self, fixture: &Fixture, path: &Path, cache: &mut DigestCache) -> Result<()> {
        let digests = cache.digests(path).with_context(|| format!("cannot digest {}", path.display()))?;
        let shown = path
            .to_str()
            .with_context(|| format!("{}: not a UTF-8 path", path.display()))?
            .to_owned();
        let facts = json!({ "path": shown, "bytes": digests.bytes, "md5": digests.md5, "blake3": digests.blake3 });
        self.facts.insert(fixture.name.clone(), facts);
        self.paths.insert(fixture.name.clone(), shown);
        self.stamps.push(Stamp::of(path.to_owned())?);
        Ok(())
    }
}

/// Variables with the declared ones, placeholders replaced.
fn with(environment: &Variables, declared: &[(String, String)], values: &Values) -> Result<Variables> {
    let mut all = environment.clone();
    for (name, value) in declared {
        let value = expand_text(value, values).map_err(|why| anyhow!("env: {name}: {why}"))?;
        all.push((name.into(), value.into()));
    }
    Ok(all)
}

/// The environment as a slot of this command sees it, with stand-ins for what the slot has of its own.
fn seen(command: &Command) -> Result<Variables> {
    let Some(private) = &command.private else {
        return Ok(command.env.clone());
    };
    let values = Values {
        out: Some(String::new()),
        port: Some(PORT),
        ..private.values.clone()
    };
    with(&command.env, &private.env, &values)
}
