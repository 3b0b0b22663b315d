//! The session: ask the judge, run the slot it names, write the sample down, ask again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use super::Finished;
use super::arms::Arms;
use super::declare::{Declared, cap_at};
use super::warmup;
use super::watching::Watcher;
use crate::adapter;
use crate::adapter::foreign::Input;
use crate::cli::progress::Progress;
use crate::cli::record::Parts;
use crate::cli::{Cancelled, say};
use crate::edge::arms::Made;
use crate::edge::arms::claim::Claim;
use crate::edge::clock::Stopwatch;
use crate::edge::lock::{DeviceLock, LockError, LockRequest, lock_dir};
use crate::edge::measure::{Bench, Run};
use crate::edge::process::{Interrupts, become_subreaper};
use crate::edge::session::{Header, Session};
use crate::edge::{clock, ledger};
use crate::judge::{Case, Steps};
use crate::model::evidence::{Ended, Evidence};
use crate::model::host::Host;
use crate::model::identity::Identity;
use crate::model::judgement::Step;
use crate::model::number::duration;
use crate::model::plan::{MAX_BLOCKS, Plan};
use crate::model::record::{Record, digest_of_plan};

/// Whether a session compares two command lines, and not a declared gate; one that cannot be read is told by whoever opens it.
pub fn is_of_commands(folder: &Path, id: &str) -> bool {
    crate::edge::session::gate_of(folder, id).is_none_or(|gate| gate == super::declare::COMMAND_LINE)
}

/// Listens for the signals that end a run early, and adopts the orphans of what is run.
///
/// # Errors
/// When the system forbids either.
pub fn listen() -> Result<Interrupts> {
    let interrupts = Interrupts::register().context("cannot listen for signals")?;
    become_subreaper().context("cannot adopt the orphans of measured processes")?;
    Ok(interrupts)
}

/// The devices, ours as long as this lives, and the signals that end a run early.
pub struct Device<'a> {
    interrupts: &'a Interrupts,
    _locks: Vec<DeviceLock>,
}

impl<'a> Device<'a> {
    /// Locks devices for a command, in the order given, waiting as long as allowed.
    ///
    /// # Errors
    /// When another process holds one all the while, or a signal comes ([`Cancelled`]).
    pub fn lock(interrupts: &'a Interrupts, devices: &[String], wait: Duration, command: &str) -> Result<Self> {
        let directory = lock_dir();
        let mut locks = Vec::new();
        for device in devices {
            let request = LockRequest {
                dir: &directory,
                device,
                wait,
                command,
            };
            let lock = DeviceLock::acquire(&request, Some(interrupts), &mut |holder| {
                let holder = holder.map_or_else(|| "another process".to_owned(), ToString::to_string);
                say(&format!("waiting for the device: {holder} holds it"));
            });
            locks.push(match lock {
                Ok(lock) => lock,
                Err(LockError::Interrupted(signal)) => bail!(Cancelled {
                    signal,
                    doing: "waiting for the device; nothing was measured"
                }),
                Err(error) => bail!(error),
            });
        }
        Ok(Self { interrupts, _locks: locks })
    }

    /// Runs a session to its end and seals its record.
    ///
    /// # Errors
    /// When the record cannot be sealed.
    pub fn run(&self, session: Session, arms: Arms, watcher: Option<Watcher>, ledger: &Path) -> Result<Finished> {
        Runner::new(session, arms, watcher, self.interrupts)?.run(ledger)
    }
}

/// Judges and seals a record for which no process ran.
///
/// # Errors
/// When it cannot be sealed.
pub fn unmeasured(declared: Declared, of: Unmeasured, ledger: &Path) -> Result<Finished> {
    let Declared { gate, plan, context, .. } = declared;
    let Unmeasured {
        identity,
        host,
        ended,
        labels,
    } = of;
    let parts = Parts {
        kind: "perf",
        at: clock::now(),
        gate,
        plan,
        identity,
        host,
        evidence: Evidence {
            source: "run".to_owned(),
            ended,
            ..Evidence::default()
        },
        context,
    };
    Ok((ledger::append(ledger, parts.judged(None, labels)?)?, None))
}

/// What there is to say where no process ran.
#[derive(Default)]
pub struct Unmeasured {
    /// What would have been measured on what.
    pub identity: Identity,
    /// How fit the machine was.
    pub host: Host,
    /// Why nothing was measured, where that was no answer.
    pub ended: Option<Ended>,
    /// What the record is marked with.
    pub labels: BTreeMap<String, String>,
}

struct Runner<'a> {
    header: Header,
    session: Session,
    bench: Bench<'a>,
    /// What looks at the machine meanwhile.
    watcher: Option<Watcher>,
    /// What the bench runs stays until the session is over.
    _trees: (Vec<Made>, Vec<Claim>),
    interrupts: &'a Interrupts,
    evidence: Evidence,
    plan: Plan,
    /// What comes next, by the samples so far.
    steps: Steps,
    /// Seconds that earlier runs of this session took.
    before_s: f64,
    watch: Stopwatch,
}

impl<'a> Runner<'a> {
    fn new(session: Session, arms: Arms, watcher: Option<Watcher>, interrupts: &'a Interrupts) -> Result<Self> {
        let header = session.header.clone();
        let plan = session.plan.clone().unwrap_or_else(|| header.plan.clone());
        let adapter = adapter::find(&plan.extract).map_err(|why| anyhow!(why))?;
        let max_failed_pct = plan.max_failed_pct;
        let mut files = arms.files;
        // What both arms run is looked at once.
        files.sort_unstable();
        files.dedup();
        let bench = Bench {
            commands: arms.commands.into_iter().map(|(of, command)| (of, command.into())).collect(),
            files,
            timeout: Duration::try_from_secs_f64(plan.timeout_s).context("the plan's time limit")?,
            read: Box::new(move |output, wanted| adapter.reading_of(&Input::of(output).max_failed(max_failed_pct), wanted)),
            profiler: arms.profiler,
            interrupts,
        };
        let samples = session.samples.clone();
        let before_s = samples.iter().filter_map(|sample| sample.values.get("wall_s")).sum();
        let evidence = Evidence {
            source: "run".to_owned(),
            warmups: session.warmups.clone(),
            samples,
            ended: None,
            scores: None,
        };
        Ok(Self {
            steps: Steps::of(&header.gate, &plan),
            header,
            session,
            bench,
            watcher,
            _trees: (arms.trees, arms.folders),
            interrupts,
            evidence,
            plan,
            before_s,
            watch: Stopwatch::start(),
        })
    }

    fn run(mut self, ledger: &Path) -> Result<Finished> {
        let mut progress = Progress::new();
        if let Err(error) = self.measure(&mut progress) {
            self.evidence.ended = Some(Ended::Error {
                what: format!("{error:#}"),
            });
        }
        progress.done();
        let signal = match &self.evidence.ended {
            Some(Ended::Cancelled { .. }) => self.interrupts.pending(),
            _ => None,
        };
        let record = self.seal(ledger)?;
        let (processes, seconds) = (record.evidence.samples.len(), self.watch.elapsed_s());
        say(&format!(
            "measured {processes} processes in {} and judged them; {:.3} s of it went into syncing samples; record {} in {}",
            duration(self.before_s + seconds),
            self.session.sync_s,
            record.seal.get(..15).unwrap_or_default(),
            ledger.display()
        ));
        if let Some(Ended::Error { what }) = &record.evidence.ended {
            say(&format!("gate: error: {what}"));
        }
        Ok((record, signal))
    }

    /// The loop of the whole program. Every gap between two processes makes the same calls, and never waits; what decides is asked only
    /// after a block.
    fn measure(&mut self, progress: &mut Progress) -> Result<()> {
        let mut cold = true;
        loop {
            let Step::Run(slot) = self.steps.next(&case(&self.header, &self.plan, &self.evidence)) else {
                return Ok(());
            };
            if std::mem::take(&mut cold) {
                self.warm_up()?;
            }
            if !slot.warmup && self.plan.digest.is_empty() && !self.complete()? {
                return Ok(());
            }
            if let Some(signal) = self.interrupts.pending() {
                return self.end(cancelled(signal));
            }
            let left_s = self.plan.max_session_s - self.before_s - self.watch.elapsed_s();
            progress.tell(&self.plan, &self.evidence, &slot, left_s);
            let Ok(left) = Duration::try_from_secs_f64(left_s) else {
                return self.end(self.session_limit());
            };
            self.bench.check_files()?;
            let seq = self.evidence.samples.len() as u32;
            let run = match &mut self.watcher {
                Some(watcher) => watcher.run(&self.bench, &slot, seq, left)?,
                None => self.bench.run(&slot, seq, left)?,
            };
            match run {
                Run::Sample(sample) => {
                    self.session.add_sample(&sample)?;
                    self.evidence.samples.push(*sample);
                    self.note_changes(seq)?;
                }
                Run::Interrupted => return self.end(cancelled(self.interrupts.pending().unwrap_or(libc::SIGTERM))),
                Run::SessionOver => return self.end(self.session_limit()),
            }
        }
    }

    /// Brings the clocks up by the declared helper.
    fn warm_up(&mut self) -> Result<()> {
        let Some(warmup) = self.plan.warmup.clone() else { return Ok(()) };
        say(&format!("{} brings the clocks up, {} s at a time", warmup.helper, warmup.seconds));
        let variables = warmup::variables(&self.bench);
        let done = warmup::run(&warmup, &variables, self.watcher.as_mut(), self.interrupts);
        self.session.add_warmup(&done)?;
        self.evidence.warmups.push(done);
        Ok(())
    }

    /// Writes down what the cheap checks find otherwise than before.
    fn note_changes(&mut self, seq: u32) -> Result<()> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        for finding in watcher.changes(seq)? {
            self.session.add_finding(&finding)?;
            self.header.host.findings.push(finding);
        }
        Ok(())
    }

    fn end(&mut self, ended: Ended) -> Result<()> {
        self.evidence.ended = Some(ended);
        Ok(())
    }

    fn session_limit(&self) -> Ended {
        Ended::SessionLimit {
            limit_s: self.plan.max_session_s,
        }
    }

    /// Completes the plan with its cap, by the duration of the warm-up, and writes it down before slot 0. False where too few blocks fit.
    fn complete(&mut self) -> Result<bool> {
        let mut plan = self.plan.clone();
        if let Some(fit) = self.blocks_that_fit() {
            let all = plan.fixed || plan.sides().len() == 1;
            let most = plan.blocks.len() as u32;
            let needed = if all { most } else { *MAX_BLOCKS.start() };
            if fit < needed {
                self.evidence.ended = Some(Ended::TooFewBlocks {
                    fit,
                    needed,
                    limit_s: plan.max_session_s,
                });
                return Ok(false);
            }
            let cap = fit.min(most);
            if cap < most {
                say(&format!(
                    "{cap} of {most} blocks fit into {} by the warm-up's duration",
                    duration(plan.max_session_s)
                ));
            }
            cap_at(&mut plan, cap);
        }
        plan.digest = digest_of_plan(&plan, &self.header.gate, &self.header.identity)?;
        self.session.complete(plan.clone())?;
        self.steps = Steps::of(&self.header.gate, &plan);
        self.plan = plan;
        Ok(true)
    }

    /// How many whole blocks fit into what is left of the session; unknown without a warm-up.
    fn blocks_that_fit(&self) -> Option<u32> {
        let warmups = self
            .evidence
            .samples
            .iter()
            .filter(|sample| sample.warmup && sample.failed.is_none());
        let walls: Vec<f64> = warmups.filter_map(|sample| sample.values.get("wall_s").copied()).collect();
        if walls.is_empty() {
            return None;
        }
        // Every fixture takes its turn with a block.
        let runs = self.plan.blocks.first().map_or(4, |block| block.arms().len()) * self.plan.cells.len().max(1);
        let block_s = runs as f64 * walls.iter().sum::<f64>() / walls.len() as f64;
        let left_s = self.plan.max_session_s - self.before_s - self.watch.elapsed_s();
        Some((left_s.max(0.0) / block_s.max(1e-6)).floor().min(1e6) as u32)
    }

    /// Seals the record into the ledger, once: a session that was killed between the ledger and its own last line finds it there.
    fn seal(&mut self, path: &Path) -> Result<Record> {
        let cancelled = match &self.evidence.ended {
            Some(Ended::Cancelled { signal }) => Some(signal.clone()),
            _ => None,
        };
        if self.session.resumed
            && cancelled.is_none()
            && let Some(record) = ledger::of_session(path, &self.header.id)?
        {
            self.session.finish(&record)?;
            return Ok(record);
        }
        let Header {
            id,
            at,
            gate,
            identity,
            host,
            context,
            mut labels,
            ..
        } = self.header.clone();
        labels.insert("session".to_owned(), id);
        let parts = Parts {
            kind: "perf",
            at,
            gate,
            plan: self.plan.clone(),
            identity,
            host,
            evidence: std::mem::take(&mut self.evidence),
            context,
        };
        let record = ledger::append(path, parts.judged(cancelled, labels)?)?;
        if record.cancelled.is_none() {
            self.session.finish(&record)?;
        }
        Ok(record)
    }
}

fn case<'a>(header: &'a Header, plan: &'a Plan, evidence: &'a Evidence) -> Case<'a> {
    let Header {
        gate,
        identity,
        host,
        context,
        ..
    } = header;
    Case {
        gate,
        plan,
        identity,
        host,
        evidence,
        context,
    }
}

fn cancelled(signal: i32) -> Ended {
    let name = if signal == libc::SIGINT { "SIGINT" } else { "SIGTERM" };
    Ended::Cancelled { signal: name.to_owned() }
}
