//! `gate perf` on declared gates: one session and one record each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::arms::Arms;
use super::declare::{self, cap_at};
use super::making::{Making, Ready};
use super::session::{self, Device};
use super::workspace::{Declared, Workspace, layered};
use super::{Perf, Places, identity, pair};
use crate::cli::{Cancelled, say};
use crate::edge::device::{self, Gpu};
use crate::edge::process::Interrupts;
use crate::edge::session::{Header, Session};
use crate::edge::{clock, environment, files, ledger};
use crate::judge::{Case, judge};
use crate::model::baseline::{self, BaselineUse, FILE_MAX_BYTES, parse_bytes};
use crate::model::evidence::Evidence;
use crate::model::gate::declaration::{Fixture, PlanKeys, Run};
use crate::model::gate::{Against, Gate, Rule};
use crate::model::judgement::{Judgement, Outcome};
use crate::model::metric::{Scale, Tolerance};
use crate::model::pattern::Patterns;
use crate::model::plan::{Orientation, Plan};
use crate::model::record::{Base, Context, Record, digest};
use crate::model::sample::{Arm, Cell, PerArm};

/// Most changed paths that a banner names.
const NAMED_MAX: usize = 5;

/// What comes of a run: the records, and the signal that ended it early, if one did.
pub type Finished = (Vec<Record>, Option<i32>);

/// Everything that several gates of one run share.
struct Runner<'a> {
    options: &'a Perf,
    places: &'a Places,
    workspace: Workspace,
    changed: Vec<String>,
    devices: Vec<Gpu>,
    interrupts: &'a Interrupts,
    cache: PathBuf,
    logs: PathBuf,
}

/// Runs every gate.
///
/// # Errors
/// Whatever keeps a gate from being measured; what was sealed before stays.
pub fn run(options: &Perf, places: &Places) -> Result<Finished> {
    let interrupts = session::listen()?;
    let runner = Runner::open(options, places, &interrupts)?;
    let mut gates = runner.workspace.gates(&options.gates)?;
    let resumed = options
        .resume
        .as_deref()
        .map(|id| Session::open(&places.sessions, id))
        .transpose()?;
    if let Some(session) = &resumed {
        gates.retain(|gate| gate.name == session.header.gate.name);
        if gates.is_empty() {
            bail!(
                "--resume {}: its gate {} is not declared any more; leave it out to measure anew",
                session.header.id,
                session.header.gate.name
            );
        }
    }
    let mut resumed = resumed;
    let mut records = Vec::new();
    for gate in &gates {
        let (record, signal) = runner.gate(gate, resumed.take()).with_context(|| format!("gate {}", gate.name))?;
        records.push(record);
        if signal.is_some() {
            return Ok((records, signal));
        }
    }
    Ok((records, None))
}

/// Runs one gate on the two revisions of the options.
///
/// # Errors
/// Whatever keeps it from being measured.
pub fn compare(options: &Perf, places: &Places, gate: &Declared, interrupts: &Interrupts) -> Result<super::Finished> {
    Runner::open(options, places, interrupts)?.gate(gate, None)
}

impl<'a> Runner<'a> {
    fn open(options: &'a Perf, places: &'a Places, interrupts: &'a Interrupts) -> Result<Self> {
        let devices = match &options.device {
            Some(wanted) => device::select(&device::list(Path::new("/")), wanted).map_err(|why| anyhow!("--device: {why}"))?,
            None => Vec::new(),
        };
        let workspace = Workspace::open(options, &places.state, &environment::of_children(&[]))?;
        let cache = options.cache_dir.clone().unwrap_or_else(|| places.state.join("cache"));
        let logs = places.state.join("logs");
        files::make_folder(&logs)?;
        let changed = workspace.changed()?;
        Ok(Self {
            options,
            places,
            workspace,
            changed,
            devices,
            interrupts,
            cache,
            logs,
        })
    }

    fn gate(&self, declared: &Declared, resumed: Option<Session>) -> Result<super::Finished> {
        let run = declared.declaration.run.as_ref().ok_or_else(|| anyhow!("it has no [run]"))?;
        let single = self.is_single(declared);
        let revisions = self.revisions(declared, single)?;
        let (gate, plan) = (self.record_gate(declared, single), plan(declared, run, single));
        let mut context = self.context(declared, &gate, &plan, single)?;
        if let Some(why) = self.unaffected(declared)? {
            context.unaffected = Some(why);
            return self.without_measuring(gate, plan, context);
        }
        let sides: &[Arm] = if single { &[Arm::B] } else { &Arm::BOTH };
        let making = Making {
            workspace: &self.workspace,
            declaration: &declared.declaration,
            run,
            revisions,
            sides,
            devices: &self.devices,
            cache: &self.cache,
            digests: &self.places.digests,
            logs: &self.logs,
            interrupts: self.interrupts,
        };
        let made = making.make();
        if let (Err(_), Some(signal)) = (&made, self.interrupts.pending()) {
            bail!(Cancelled {
                signal,
                doing: "building; nothing was measured"
            });
        }
        let Ready { arms, banners, identical } = made?;
        context.banners.extend(banners);
        context.identical = identical && declared.declaration.arms.skip_identical;
        context.attempt = self.attempt(&gate, &arms)?;
        let declared = declare::Declared {
            gate,
            plan,
            env: layered([&declared.declaration.arms.env, &run.env]),
            pass_env: run.pass_env.clone(),
            series: declared.declaration.metrics.clone(),
            devices: self.devices.clone(),
            context,
        };
        if declared.context.identical {
            let identity = identity::identity(&declared, &arms);
            return self.sealed(declared, identity);
        }
        for tree in &arms.trees {
            tree.check()?;
        }
        let device = Device::lock(
            self.interrupts,
            &device::locks(&self.devices),
            self.options.lock_timeout,
            &declared.context.command,
        )?;
        let session = match resumed {
            Some(session) => go_on(session, &declared, &arms)?,
            None => self.begin(declared, &arms)?,
        };
        device.run(session, arms, &self.places.ledger)
    }

    /// Without a base arm there is only the candidate.
    fn is_single(&self, declared: &Declared) -> bool {
        let keys = &declared.declaration.arms.a;
        self.options.no_base && keys.rev.is_none() && keys.path.is_none()
    }

    /// The revision of each arm: its own, else the chosen base and the candidate.
    fn revisions(&self, declared: &Declared, single: bool) -> Result<PerArm<Option<String>>> {
        let arms = &declared.declaration.arms;
        if let Some((a, b)) = &self.options.revisions {
            return Ok(PerArm {
                a: Some(a.clone()),
                b: Some(b.clone()),
            });
        }
        let a = match (&arms.a.path, &arms.a.rev) {
            (Some(_), _) => None,
            (None, Some(rev)) => Some(rev.clone()),
            (None, None) if single => None,
            (None, None) => Some(self.workspace.base.as_ref().map_err(|why| anyhow!("{why}"))?.commit.clone()),
        };
        let b = arms.b.rev.clone().unwrap_or_else(|| self.workspace.candidate.clone());
        Ok(PerArm { a, b: Some(b) })
    }

    fn record_gate(&self, declared: &Declared, single: bool) -> Gate {
        let declaration = &declared.declaration;
        let mut rules = declaration.rules_for(!single);
        if self.options.baseline.is_some() && rules.iter().all(|rule| rule.against != Against::Baseline) {
            rules.push(asked_for_by_option());
        }
        if declared.is_new {
            rules.iter_mut().for_each(|rule| rule.required = false);
        }
        let measured = declaration.fixtures.iter().filter(|fixture| !fixture.metrics.is_empty());
        Gate {
            name: declared.name.clone(),
            from: declared.from.clone(),
            digest: digest(declared.text.as_bytes()),
            text: declared.text.clone(),
            metrics: declaration.metrics.iter().map(|series| series.metric.clone()).collect(),
            rules,
            complete: declaration.require.complete.clone(),
            equal: declaration.require.equal.clone(),
            measured: measured
                .map(|fixture| (fixture.name.clone(), fixture.metrics.clone()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    fn context(&self, declared: &Declared, gate: &Gate, plan: &Plan, single: bool) -> Result<Context> {
        let base = match (&self.workspace.base, &declared.declaration.arms.a) {
            (_, keys) if keys.path.is_some() => Base {
                commit: None,
                why: format!("the install {}", keys.path.as_deref().unwrap_or_default()),
            },
            (_, keys) if keys.rev.is_some() => {
                let rev = keys.rev.clone().unwrap_or_default();
                Base {
                    commit: self.workspace.repository.commit(&rev)?,
                    why: format!("arms.a.rev {rev}"),
                }
            }
            _ if single => Base {
                commit: None,
                why: "no base arm (--no-base)".to_owned(),
            },
            (Ok(chosen), _) => Base {
                commit: Some(chosen.commit.clone()),
                why: chosen.why.clone(),
            },
            (Err(_), _) => Base {
                commit: None,
                why: "none".to_owned(),
            },
        };
        let harness = Patterns::new(&declared.declaration.arms.harness).map_err(|why| anyhow!("harness: {why}"))?;
        let changed_harness: Vec<String> = self.changed.iter().filter(|path| harness.matches(path)).cloned().collect();
        let mut banners = declared.banners.clone();
        if !changed_harness.is_empty() {
            banners.push(format!(
                "this change touches the measuring code itself: {}",
                named(&changed_harness)
            ));
        }
        let prompts: Vec<String> = declared
            .declaration
            .fixtures
            .iter()
            .filter_map(|fixture| fixture.prompt.clone())
            .collect();
        let watched = |path: &&String| path.starts_with("baselines/") || prompts.contains(path);
        let inputs: Vec<String> = self.changed.iter().filter(watched).cloned().collect();
        if !inputs.is_empty() && self.workspace.rules.is_some() {
            let tip = self.workspace.rules_in_words();
            banners.push(format!(
                "this change touches baselines or prompts, those of the {tip} are used: {}",
                named(&inputs)
            ));
        }
        Ok(Context {
            base,
            attempt: 1,
            band: Vec::new(),
            waivers: Vec::new(),
            banners,
            baseline: self.baseline(gate, plan)?,
            unaffected: None,
            identical: false,
            changed_harness,
            command: self.command(declared),
        })
    }

    /// What the gate needs of the baseline; none where no rule speaks of one and none was named.
    fn baseline(&self, gate: &Gate, plan: &Plan) -> Result<Option<BaselineUse>> {
        let asks = |rule: &Rule| rule.against == Against::Baseline || rule.at_least.is_some() || rule.at_most.is_some();
        if self.options.baseline.is_none() && !gate.rules.iter().any(asks) {
            return Ok(None);
        }
        let file = match &self.options.baseline {
            Some(path) => path.to_string_lossy().into_owned(),
            None => format!("baselines/{}.txt", self.arch()),
        };
        let bytes = match &self.workspace.rules {
            Some(revision) => self.workspace.repository.read_blob(revision, &file)?,
            None => {
                let folder = if self.options.baseline.is_some() {
                    files::working_folder()?
                } else {
                    self.workspace.repository.top().to_owned()
                };
                files::read_input(&folder.join(&file), FILE_MAX_BYTES as u64)?
            }
        };
        let parsed = bytes
            .as_deref()
            .map(|bytes| parse_bytes(bytes, &file))
            .transpose()
            .map_err(|fault| anyhow!("{fault}"))?;
        let source = baseline::Source {
            file,
            digest: bytes.as_deref().map(digest),
            from: self.workspace.rules.clone(),
            today: clock::now_seconds().chars().take(10).collect(),
            stale_after_days: self.options.stale_after_days(),
        };
        Ok(Some(BaselineUse::select(parsed.as_ref(), source, gate, &plan.cells)))
    }

    fn arch(&self) -> String {
        let of_device = self.devices.first().map(|gpu| gpu.arch.clone());
        let of_machine = || device::list(Path::new("/")).first().map(|gpu| gpu.arch.clone());
        of_device
            .or_else(of_machine)
            .unwrap_or_else(|| format!("cpu-{}", std::env::consts::ARCH))
    }

    /// Why nothing is measured, where the change touches nothing that the gate names in `[when]`.
    fn unaffected(&self, declared: &Declared) -> Result<Option<String>> {
        let when = &declared.declaration.when;
        if when.is_empty() || self.workspace.base.is_err() || self.options.revisions.is_some() {
            return Ok(None);
        }
        let paths: Vec<&str> = self.changed.iter().map(String::as_str).collect();
        let touched = crate::model::gate::matches(when, &paths).map_err(|why| anyhow!("when.paths: {why}"))?;
        let count = crate::model::number::count(paths.len() as u64, "changed file");
        Ok(touched.is_empty().then(|| format!("none of {count} matches {}", when.join(", "))))
    }

    /// Which attempt at the same comparison this is: finished runs of the same gate on the same artifacts that failed or gave no answer, and
    /// what the job says of its own attempts.
    fn attempt(&self, gate: &Gate, arms: &Arms) -> Result<u32> {
        // The comparisons of a search share its error rates, declared before the first of them: none of them is another's retry.
        if self.options.revisions.is_some() {
            return Ok(1);
        }
        let same = |record: &Record| {
            let builds = |arm: Arm| record.identity.arms.of(arm).artifacts == *arms.artifacts.of(arm);
            record.gate.digest == gate.digest
                && builds(Arm::A)
                && builds(Arm::B)
                && record.cancelled.is_none()
                && !record.labels.contains_key(pair::LABEL)
        };
        let open = |record: &Record| matches!(record.judgement.outcome, Outcome::Fail | Outcome::Inconclusive);
        let before = ledger::records_of_gate(&self.places.ledger, &gate.name)?;
        let counted = 1 + before.iter().filter(|record| same(record) && open(record)).count() as u32;
        let of_job = environment::value("GITHUB_RUN_ATTEMPT")
            .and_then(|attempt| attempt.parse().ok())
            .unwrap_or(1);
        Ok(counted.max(of_job))
    }

    fn begin(&self, declared: declare::Declared, arms: &Arms) -> Result<Session> {
        let mut header = identity::header(declared, arms, self.places.ledger.clone());
        header.labels = self.options.labels.clone();
        let same = |other: &Header| other.plan == header.plan && other.gate == header.gate && other.identity.arms == header.identity.arms;
        if header.labels.is_empty()
            && let Some(id) = crate::edge::session::unfinished(&self.places.sessions, same)
        {
            say(&format!(
                "an unfinished session of the same plan: `gate perf --resume {id}` goes on with it; this run starts anew"
            ));
        }
        let session = Session::create(&self.places.sessions, header)?;
        for line in session::plan_lines(&session.header) {
            say(&line);
        }
        Ok(session)
    }

    fn without_measuring(&self, gate: Gate, plan: Plan, context: Context) -> Result<super::Finished> {
        let declared = declare::Declared {
            gate,
            plan,
            env: Vec::new(),
            pass_env: Vec::new(),
            series: Vec::new(),
            devices: self.devices.clone(),
            context,
        };
        self.sealed(declared, crate::model::identity::Identity::default())
    }

    /// Seals a record for which nothing had to be measured.
    fn sealed(&self, declared: declare::Declared, identity: crate::model::identity::Identity) -> Result<super::Finished> {
        let declare::Declared { gate, plan, context, .. } = declared;
        let evidence = Evidence {
            source: "run".to_owned(),
            samples: Vec::new(),
            ended: None,
        };
        let host = crate::model::host::Host::default();
        let judgement: Judgement = judge(&Case {
            gate: &gate,
            plan: &plan,
            identity: &identity,
            host: &host,
            evidence: &evidence,
            context: &context,
        });
        let parts = session::Parts {
            at: clock::now(),
            gate,
            plan,
            identity,
            host,
            evidence,
            context,
            judgement,
        };
        Ok((
            ledger::append(&self.places.ledger, session::record(parts, None, self.options.labels.clone())?)?,
            None,
        ))
    }

    /// The command that repeats the measurement.
    fn command(&self, declared: &Declared) -> String {
        if let Some((a, b)) = &self.options.revisions {
            return declare::shell_line(&["gate", "bisect", a, b, "--gate", &declared.path].map(str::to_owned));
        }
        let mut words: Vec<String> = ["gate", "perf", "--gate"].map(str::to_owned).to_vec();
        words.push(format!("gates/{}.toml", declared.name));
        if let Some(named) = self
            .options
            .gates
            .iter()
            .find(|path| path.file_stem().is_some_and(|stem| stem.to_string_lossy() == declared.name))
        {
            words.pop();
            words.push(named.to_string_lossy().into_owned());
        }
        let options = self.options;
        if let Some(path) = &options.baseline {
            words.extend(["--baseline".to_owned(), path.to_string_lossy().into_owned()]);
        }
        match (&self.workspace.base, options.no_base) {
            (_, true) => words.push("--no-base".to_owned()),
            (Ok(chosen), false) => words.extend(["--base".to_owned(), chosen.commit.clone()]),
            (Err(_), false) => {}
        }
        if let Some(wanted) = &options.device {
            words.extend(["--device".to_owned(), wanted.clone()]);
        }
        declare::shell_line(&words)
    }
}

/// A session that was killed goes on only with the same gate on the same artifacts.
fn go_on(session: Session, declared: &declare::Declared, arms: &Arms) -> Result<Session> {
    let id = session.header.id.clone();
    let anew = || format!("--resume {id}: leave it out to measure anew");
    if session.header.gate.digest != declared.gate.digest || session.header.plan != declared.plan {
        return Err(anyhow!("the gate changed since the session began")).with_context(anew);
    }
    arms.check_same(&session.header).with_context(anew)?;
    Ok(session)
}

/// The rule that `--baseline FILE` asks for where the gate declares none against a baseline: it was asked for, so it is required.
fn asked_for_by_option() -> Rule {
    Rule {
        kind: "hold".to_owned(),
        against: Against::Baseline,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at: "--baseline".to_owned(),
        tolerance: Some(Tolerance {
            value: 5.0,
            scale: Scale::Pct,
            unit: None,
        }),
        max: None,
        at_least: None,
        at_most: None,
    }
}

fn plan(declared: &Declared, run: &Run, single: bool) -> Plan {
    let keys: &PlanKeys = &declared.declaration.plan;
    let cells = declared
        .declaration
        .fixtures
        .iter()
        .map(|Fixture { name, .. }| Cell { fixture: name.clone() })
        .collect();
    let cap = if single { keys.runs } else { keys.max_blocks };
    let mut plan = Plan {
        objective: keys.objective,
        order: keys.order,
        blocks: if single { vec![Orientation::B] } else { Vec::new() },
        looks: Vec::new(),
        cells,
        max_blocks: cap,
        fixed: false,
        alpha: keys.alpha,
        beta: keys.beta,
        null_margin: keys.null_margin_pct,
        rank_share: 0.25,
        min_run_cv: 0.0005,
        warmup_runs: keys.warmup_runs,
        max_void_blocks: keys.max_void_blocks,
        max_attempts: keys.max_attempts,
        timeout_s: run.timeout.as_secs_f64(),
        max_session_s: keys.max_session.as_secs_f64(),
        on_inconclusive: keys.on_inconclusive,
        extract: run.extract.clone(),
        commands: PerArm {
            a: run.command.clone(),
            b: run.command.clone(),
        },
        cwd: "{tree}".to_owned(),
        digest: String::new(),
    };
    cap_at(&mut plan, cap);
    plan
}

/// The first few paths of a list.
fn named(paths: &[String]) -> String {
    let shown: Vec<&str> = paths.iter().take(NAMED_MAX).map(String::as_str).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
