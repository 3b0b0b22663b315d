//! From two command lines to two runnable arms: the files that run, their digests, the environment, the identity.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use super::declare::{Declared, env_facts};
use crate::edge::digest::DigestCache;
use crate::edge::environment::{self, Scrubbed};
use crate::edge::measure::{Command, Stamp};
use crate::edge::session::Header;
use crate::edge::{clock, files, git, host, process};
use crate::model::host::Host;
use crate::model::identity::{ArmIdentity, Artifact, Facts, Identity, Unknown, none};
use crate::model::plan::Plan;
use crate::model::record::{Base, Context, digest};
use crate::model::sample::{Arm, PerArm};

/// Variables that select a device: recorded set or unset.
const DEVICE_VARIABLES: [&str; 4] = [
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
];

/// Two runnable arms.
pub struct Arms {
    /// What runs.
    pub commands: PerArm<Command>,
    /// The profiler in the environment, if there is one.
    pub profiler: Option<String>,
    artifacts: PerArm<Vec<Artifact>>,
    removed: Vec<String>,
}

impl Arms {
    /// Finds both arms' programs and digests what runs.
    ///
    /// # Errors
    /// Names the arm whose program cannot be found or read.
    pub fn find(declared: &Declared, digests: &Path) -> Result<Self> {
        let environment = children_environment(&declared.env, &declared.pass_env);
        Self::with(&declared.plan, environment, digests)
    }

    /// Finds the arms of a session again, as long as nothing that runs has changed since; of a finished one nothing is looked at.
    ///
    /// # Errors
    /// Names what changed.
    pub fn again(header: &Header, digests: &Path, finished: bool) -> Result<Self> {
        if finished {
            let none = PerArm::default();
            return Ok(Self {
                commands: PerArm::default(),
                profiler: None,
                artifacts: none,
                removed: Vec::new(),
            });
        }
        let set = header.identity.config.get("env").and_then(Value::as_object).into_iter().flatten();
        let env: Vec<(String, String)> = set
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect();
        let passed = header
            .identity
            .config
            .get("pass_env")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let pass_env: Vec<String> = passed.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        if let Some(unset) = pass_env.iter().find(|name| !environment::is_set(name)) {
            bail!("--pass-env: {unset} is not set");
        }
        let before = header.identity.config.get("devices").cloned().unwrap_or_default();
        if let Some(name) = DEVICE_VARIABLES.iter().find(|name| before[**name] != device(name)) {
            bail!("{name} changed: was {}, is {}", before[*name], device(name));
        }
        let arms = Self::with(&header.plan, children_environment(&env, &pass_env), digests)?;
        for arm in Arm::BOTH {
            let (was, is) = (&header.identity.arms.of(arm).artifacts, arms.artifacts.of(arm));
            let changed = is
                .iter()
                .find(|artifact| !was.contains(artifact))
                .or_else(|| was.iter().find(|artifact| !is.contains(artifact)));
            if let Some(artifact) = changed {
                bail!("the {} of arm {arm} changed: {}", artifact.role, artifact.path);
            }
        }
        Ok(arms)
    }

    fn with(plan: &Plan, environment: Scrubbed, digests: &Path) -> Result<Self> {
        let cwd = Path::new(&plan.cwd);
        let mut cache = DigestCache::open(digests);
        let mut arm = |arm: Arm| {
            let option = if arm == Arm::A { "--a" } else { "--b" };
            found(plan.commands.of(arm), cwd, &environment, &mut cache).with_context(|| format!("{option}: arm {arm}"))
        };
        let (a, b) = (arm(Arm::A)?, arm(Arm::B)?);
        // A cache that cannot be kept costs time on the next run and nothing else.
        let _kept = cache.save();
        let profiler = environment::profiler(&environment.kept);
        let mut commands = PerArm { a: a.0, b: b.0 };
        let mut both = [std::mem::take(&mut commands.a.env), std::mem::take(&mut commands.b.env)];
        environment::equalise(&mut both);
        [commands.a.env, commands.b.env] = both;
        Ok(Self {
            commands,
            profiler,
            artifacts: PerArm { a: a.1, b: b.1 },
            removed: environment.removed,
        })
    }

    /// The session's first line: everything that is known before a process runs.
    ///
    /// # Errors
    /// When the declaration cannot be written as JSON.
    pub fn header(&self, declared: Declared, ledger: PathBuf) -> Result<Header> {
        let Declared {
            gate,
            plan,
            env,
            pass_env,
            command,
        } = declared;
        let at = clock::now();
        let identity = self.identity(&plan, &env, &pass_env);
        let context = Context {
            base: Base {
                commit: None,
                why: "the command of --a".to_owned(),
            },
            attempt: 1,
            band: Vec::new(),
            waivers: Vec::new(),
            banners: Vec::new(),
            baseline: None,
            unaffected: None,
            command,
        };
        // The name must be new: time to the microsecond, process number, and what is compared.
        let salt = format!("{at} {} {}", std::process::id(), gate.digest);
        let stamp: String = at.chars().filter(char::is_ascii_alphanumeric).take(15).collect();
        let id = format!(
            "{}-{}",
            stamp.to_lowercase(),
            digest(salt.as_bytes()).trim_start_matches("b3:").get(..6).unwrap_or_default()
        );
        let version = crate::edge::session::VERSION;
        Ok(Header {
            version,
            id,
            at,
            gate,
            plan,
            identity,
            host: Host::default(),
            context,
            ledger,
        })
    }

    fn identity(&self, plan: &Plan, env: &[(String, String)], pass_env: &[String]) -> Identity {
        let machine = host::read(Path::new("/"));
        let mut missing = machine.missing;
        let source = git::source(Path::new(&plan.cwd))
            .map_err(|why| {
                missing.push(Unknown {
                    field: "source".to_owned(),
                    why,
                })
            })
            .ok();
        let arm = |arm: Arm| ArmIdentity {
            source: source.clone(),
            artifacts: self.artifacts.of(arm).clone(),
        };
        let devices: Value = DEVICE_VARIABLES.iter().map(|name| ((*name).to_owned(), device(name))).collect();
        let config = [
            ("cwd", json!(plan.cwd)),
            ("env", env_facts(env)),
            ("pass_env", json!(pass_env)),
            ("removed_env", json!(self.removed)),
            ("devices", devices),
        ];
        let policy = [
            ("process", json!("fresh")),
            ("warmup_runs", json!(plan.warmup_runs)),
            ("order", json!(plan.order)),
            ("max_blocks", json!(plan.max_blocks)),
        ];
        let facts = |pairs: &[(&str, Value)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<Facts>()
        };
        Identity {
            arms: PerArm {
                a: arm(Arm::A),
                b: arm(Arm::B),
            },
            model: none(),
            prompt: none(),
            gpu: machine.gpu,
            config: facts(&config),
            policy: facts(&policy),
            machine: machine.machine,
            missing,
        }
    }
}

/// The value of a variable that selects a device; null where it is not set.
fn device(name: &str) -> Value {
    environment::value(name).map_or(Value::Null, Value::from)
}

/// What a measured process may see: this process's variables without what is withheld, and what was declared.
fn children_environment(env: &[(String, String)], pass_env: &[String]) -> Scrubbed {
    let mut scrubbed = environment::of_children(pass_env);
    for (name, value) in env {
        scrubbed.kept.retain(|(other, _)| other != name.as_str());
        scrubbed.kept.push((OsString::from(name), OsString::from(value)));
    }
    scrubbed
}

/// One arm's program with what else runs, and the digests of all of it.
fn found(words: &[String], cwd: &Path, environment: &Scrubbed, cache: &mut DigestCache) -> Result<(Command, Vec<Artifact>)> {
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
    let script = args.iter().find(|arg| !arg.starts_with('-') && files::is_regular(&cwd.join(arg)));
    runs.extend(script.map(|script| ("script", cwd.join(script))));
    let mut seen = BTreeSet::new();
    let mut artifacts = Vec::new();
    let mut stamps = Vec::new();
    for (role, path) in runs.into_iter().filter(|(_, path)| seen.insert(path.clone())) {
        artifacts.push(artifact(role, &path, cache)?);
        stamps.push(Stamp::of(path)?);
    }
    let args = args.iter().map(OsString::from).collect();
    Ok((
        Command {
            program,
            args,
            env: environment.kept.clone(),
            files: stamps,
        },
        artifacts,
    ))
}

fn artifact(role: &str, path: &Path, cache: &mut DigestCache) -> Result<Artifact> {
    let digests = cache.digests(path).with_context(|| format!("cannot digest {}", path.display()))?;
    let path = path.to_string_lossy().into_owned();
    Ok(Artifact {
        role: role.to_owned(),
        path,
        bytes: digests.bytes,
        md5: digests.md5,
        blake3: digests.blake3,
    })
}
