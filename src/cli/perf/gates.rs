//! `gate perf` on declared gates: one session and one record each.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};

use super::arms::Arms;
use super::calibration::LABEL;
use super::context::{plan, settings};
use super::making::{Making, Ready};
use super::session::{self, Device};
use super::watching::{self, Watched};
use super::workspace::{Declared, Workspace, layered};
use super::{Perf, Places, announce, declare, identity, pair};
use crate::cli::{Cancelled, say};
use crate::edge::device::{self, Gpu};
use crate::edge::process::Interrupts;
use crate::edge::session::{Header, Session};
use crate::edge::{environment, files, ledger};
use crate::model::gate::Gate;
use crate::model::gate::declaration::Declaration;
use crate::model::host::Host;
use crate::model::identity::{Facts, Identity, Source};
use crate::model::judgement::{Outcome, Verdict};
use crate::model::plan::Plan;
use crate::model::record::{Context, Record};
use crate::model::sample::{Arm, PerArm};

/// What comes of a run.
#[derive(Default)]
pub struct Finished {
    /// What was sealed, in the order of the gates.
    pub records: Vec<Record>,
    /// What kept other gates from being measured.
    pub errors: Vec<anyhow::Error>,
    /// The signal that ended the run early, if one did.
    pub signal: Option<i32>,
}

/// Everything that several gates of one run share.
pub struct Runner<'a> {
    pub options: &'a Perf,
    pub workspace: Workspace,
    pub devices: Vec<Gpu>,
    pub places: &'a Places,
    /// The gates of this run that owe a record: new ones only advise.
    pub owing: Vec<String>,
    interrupts: &'a Interrupts,
    cache: PathBuf,
    logs: PathBuf,
}

/// Runs every gate. One that cannot be measured keeps no other from it.
///
/// # Errors
/// Whatever keeps every gate from being measured.
pub fn run(options: &Perf, places: &Places) -> Result<Finished> {
    let interrupts = session::listen()?;
    let mut runner = Runner::open(options, places, &interrupts)?;
    let mut gates = runner.workspace.gates(&options.gates)?;
    options.equal_arms(&mut gates);
    let mut resumed = match &options.resume {
        Some(id) => Some(runner.resumed(id, &mut gates)?),
        None => None,
    };
    if let Err(why) = &runner.workspace.base
        && gates.iter().all(|gate| runner.needs_base(gate))
    {
        bail!("{why}");
    }
    let owing = gates.iter().filter(|gate| !gate.is_new).map(|gate| gate.name.clone());
    runner.owing = owing.collect();
    let mut finished = Finished::default();
    for gate in &gates {
        match runner.gate(gate, resumed.take()) {
            Ok((record, signal)) => {
                finished.records.push(record);
                finished.signal = signal;
            }
            Err(error) => runner.failed(gate, error, &mut finished),
        }
        if finished.signal.is_some() {
            break;
        }
    }
    Ok(finished)
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
            Some(wanted) => device::select(&device::list(options.root()), wanted).map_err(|why| anyhow!("--device: {why}"))?,
            None => Vec::new(),
        };
        let workspace = Workspace::open(options, &places.state, &environment::of_children(&[]))?;
        let logs = places.state.join("logs");
        files::make_folder(&logs)?;
        Ok(Self {
            options,
            workspace,
            devices,
            places,
            owing: Vec::new(),
            interrupts,
            cache: options.cache_dir.clone().unwrap_or_else(|| places.state.join("cache")),
            logs,
        })
    }

    /// The session to go on with; of the gates only its own is left.
    fn resumed(&self, id: &str, gates: &mut Vec<Declared>) -> Result<Session> {
        let session = Session::open(&self.places.sessions, id)?;
        let name = &session.header.gate.name;
        gates.retain(|gate| gate.name == *name);
        if gates.is_empty() {
            bail!("--resume {id}: its gate {name} is not declared any more; leave it out to measure anew");
        }
        Ok(session)
    }

    /// Notes why a gate was not measured. A new gate only advises, also where the base cannot run it yet.
    fn failed(&self, gate: &Declared, error: anyhow::Error, finished: &mut Finished) {
        if let Some(cancelled) = error.downcast_ref::<Cancelled>() {
            say(&format!("gate: {cancelled}"));
            finished.signal = Some(cancelled.signal);
        } else if gate.is_new {
            say(&format!("gate {} is new, and could not be measured: {error:#}", gate.name));
        } else {
            finished.errors.push(error.context(format!("gate {}", gate.name)));
        }
    }

    fn gate(&self, declared: &Declared, resumed: Option<Session>) -> Result<super::Finished> {
        if let Some(record) = resumed.as_ref().and_then(|session| session.record.clone()) {
            return Ok((record, None));
        }
        let run = declared.declaration.run.as_ref().ok_or_else(|| anyhow!("it has no [run]"))?;
        refuse_what_is_not_kept(&declared.declaration)?;
        let single = self.is_single(declared);
        let revisions = self.revisions(declared, single)?;
        let (gate, mut plan) = (self.record_gate(declared, single), plan(declared, run, single));
        plan.telemetry = watching::of_keys(&declared.declaration.telemetry, self.options.root());
        self.options.fix(&mut plan);
        let mut context = self.context(declared, &gate, &plan, single)?;
        let settings = settings(declared, run);
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
            name: &declared.name,
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
        let caches = &run.caches;
        let checks = &declared.declaration.require.checks;
        let declared = declare::Declared {
            gate,
            plan,
            env: layered([&declared.declaration.arms.env, &run.env]),
            settings,
            pass_env: run.pass_env.clone(),
            series: declared.declaration.metrics.clone(),
            devices: self.devices.clone(),
            context,
        };
        if declared.context.identical {
            let identity = identity::identity(&declared, &arms, self.options.root());
            return self.sealed(declared, identity);
        }
        if let Some(record) = self.reused(&declared, &arms)? {
            return Ok((record, None));
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
        let watched = Watched::of_gate(self.options, checks, &declared)?;
        if let Some(why) = watched.unfit {
            if resumed.is_some() {
                bail!("{why}");
            }
            let identity = identity::identity(&declared, &arms, self.options.root());
            return watching::unfit(self.options, declared, (identity, watched.host), &why, &self.places.ledger);
        }
        let (session, ledger) = match resumed {
            Some(session) => {
                let ledger = self
                    .options
                    .ledger
                    .as_ref()
                    .map_or_else(|| session.header.ledger.clone(), |_| self.places.ledger.clone());
                ledger::check(&ledger)?;
                (go_on(session, &declared, &arms, caches)?, ledger)
            }
            None => (self.begin(declared, &arms, watched.host)?, self.places.ledger.clone()),
        };
        device.run(session, arms, watched.watcher, &ledger)
    }

    /// Without a base arm there is only the candidate.
    fn is_single(&self, declared: &Declared) -> bool {
        let keys = &declared.declaration.arms.a;
        self.options.no_base && keys.rev.is_none() && keys.path.is_none()
    }

    /// Whether arm A is the chosen base.
    fn needs_base(&self, declared: &Declared) -> bool {
        let keys = &declared.declaration.arms.a;
        !self.options.no_base && self.options.revisions.is_none() && keys.rev.is_none() && keys.path.is_none()
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

    /// Which attempt at the same comparison this is: finished runs of the same gate on the same artifacts that failed or gave no answer, and
    /// what the job says of its own attempts.
    fn attempt(&self, gate: &Gate, arms: &Arms) -> Result<u32> {
        // The comparisons of a search share its error rates, declared before the first of them: none of them is another's retry.
        if self.options.revisions.is_some() || self.options.calibration.is_some() {
            return Ok(1);
        }
        let same = |record: &Record| {
            let tree = |source: Option<&Source>| source.and_then(|source| source.tree.clone());
            let builds = |arm: Arm| {
                let was = record.identity.arms.of(arm);
                was.artifacts == *arms.artifacts.of(arm) && tree(was.source.as_ref()) == tree(arms.sources.of(arm).as_ref().ok())
            };
            let attempted = record.cancelled.is_none()
                && !record.evidence.samples.is_empty()
                && [LABEL, pair::LABEL].iter().all(|label| !record.labels.contains_key(*label));
            attempted && record.gate.digest == gate.digest && builds(Arm::A) && builds(Arm::B)
        };
        // Where only a baseline was lacking, the samples were not what gave no answer.
        let open = |record: &Record| {
            let mut required = record.judgement.verdicts.iter().filter(|ruling| ruling.required);
            record.judgement.outcome == Outcome::Fail || required.any(|ruling| ruling.verdict == Verdict::Inconclusive)
        };
        let before = ledger::records_of_gate(&self.places.ledger, &gate.name)?;
        let counted = 1 + before.iter().filter(|record| same(record) && open(record)).count() as u32;
        let of_job = environment::value("GITHUB_RUN_ATTEMPT")
            .and_then(|attempt| attempt.parse().ok())
            .unwrap_or(1);
        Ok(counted.max(of_job))
    }

    fn begin(&self, declared: declare::Declared, arms: &Arms, host: Host) -> Result<Session> {
        let mut header = identity::header(
            declared,
            arms,
            self.places.ledger.clone(),
            self.options.labels(),
            self.options.root(),
        );
        header.host = host;
        let same = |other: &Header| other.plan == header.plan && other.gate == header.gate && other.identity.arms == header.identity.arms;
        if header.labels.is_empty()
            && let Some(id) = crate::edge::session::unfinished(&self.places.sessions, same)
        {
            say(&format!(
                "an unfinished session of the same plan: `gate perf --resume {id}` goes on with it; this run starts anew"
            ));
        }
        let session = Session::create(&self.places.sessions, header)?;
        for line in announce::plan_lines(&session.header) {
            say(&line);
        }
        Ok(session)
    }

    fn without_measuring(&self, gate: Gate, plan: Plan, context: Context) -> Result<super::Finished> {
        let declared = declare::Declared {
            gate,
            plan,
            env: Vec::new(),
            settings: Facts::new(),
            pass_env: Vec::new(),
            series: Vec::new(),
            devices: self.devices.clone(),
            context,
        };
        self.sealed(declared, Identity::default())
    }

    /// Seals a record for which nothing had to be measured.
    fn sealed(&self, declared: declare::Declared, identity: Identity) -> Result<super::Finished> {
        let of = session::Unmeasured {
            identity,
            labels: self.options.labels.clone(),
            ..session::Unmeasured::default()
        };
        session::unmeasured(declared, of, &self.places.ledger)
    }
}

/// What a declaration asks for is kept or refused, never passed over.
fn refuse_what_is_not_kept(declaration: &Declaration) -> Result<()> {
    if declaration.require.guard {
        bail!(
            "require.guard: this version reads no guard's answer, so nothing was measured; leave the key out where the gate holds without one"
        );
    }
    Ok(())
}

/// A session that was killed goes on only with the same gate on the same artifacts.
fn go_on(session: Session, declared: &declare::Declared, arms: &Arms, caches: &[String]) -> Result<Session> {
    let id = session.header.id.clone();
    let anew = || format!("--resume {id}: leave it out to measure anew");
    if session.header.gate.digest != declared.gate.digest || session.header.plan != declared.plan {
        return Err(anyhow!("the gate changed since the session began")).with_context(anew);
    }
    if !caches.is_empty() {
        return Err(anyhow!(
            "the arms' caches ({}) are gone with the run that filled them",
            caches.join(", ")
        ))
        .with_context(anew);
    }
    arms.check_same(&session.header).with_context(anew)?;
    Ok(session)
}
