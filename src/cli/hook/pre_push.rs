//! `gate hook pre-push`: what is cheap to know before anything is sent. CI remains the gate.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::here;
use crate::cli::baseline::check::inspect;
use crate::cli::{gates, parse, say};
use crate::edge::clock::{self, Deadline};
use crate::edge::environment::{self, value};
use crate::edge::files::{self, Scratch};
use crate::edge::git::Repository;
use crate::edge::process::{self, Environment, Exit, Launch};
use crate::edge::{baselines, ledger};
use crate::exit;
use crate::model::gate::waiver::{self, DAYS_MAX, FOLDER, Standing};
use crate::model::judgement::Outcome;
use crate::model::push::{self, Update};
use crate::model::record::short;
use crate::model::text::{plain, plain_line};

/// The most that a push is held up, without and with measuring.
const BUDGET_MAX: Duration = Duration::from_secs(60);
const MEASURE_MAX: Duration = Duration::from_secs(600);
/// How much of a measuring gate's words is passed on, in bytes.
const SAID_MAX_BYTES: usize = 64 << 10;

/// Check what is about to be pushed; called by git, a manager of hooks, or by hand
///
/// References come on standard input as git sends them, else from PRE_COMMIT_TO_REF, else HEAD is checked. Only what fails, a
/// violation or a wrong file stops the push; what has no answer is told. GATE_SKIP=1 passes.
#[derive(Debug, Args)]
pub struct PrePush {
    /// Name and URL of the remote, as git passes them
    #[arg(value_name = "REMOTE", num_args = 0..=2)]
    remote: Vec<OsString>,
    /// How long the push may be held up: at most 60s, with --measure 10m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse::duration)]
    budget: Duration,
    /// Also run the gates that declare `pre_push = true`, where HEAD is what is pushed and nothing is changed
    #[arg(long)]
    measure: bool,
}

/// Something that was found, and how grave it is.
struct Finding {
    outcome: Outcome,
    text: String,
}

impl Finding {
    fn new(outcome: Outcome, text: impl Into<String>) -> Self {
        Self {
            outcome,
            text: text.into(),
        }
    }
}

/// What is pushed, as the checks see it.
struct Pushed {
    repository: Repository,
    commit: String,
    /// The folders `gates` and `baselines` of the commit, written out.
    folder: PathBuf,
    measure: bool,
    until: Deadline,
}

/// A check: what it looks at, and how.
type Check = (&'static str, fn(&Pushed) -> Result<Vec<Finding>>);

/// Every check, the cheapest first.
const CHECKS: [Check; 6] = [
    ("gate files", gate_files),
    ("waivers", waivers),
    ("baselines and their evidence", evidence),
    ("the last verdict here", last_verdict),
    ("the gates for a push", measured),
    ("the working tree", changes),
];

impl PrePush {
    /// Checks, and says what was found.
    ///
    /// # Errors
    /// Outside a repository, or when the input is not what git sends.
    pub fn run(&self) -> Result<u8> {
        match value("GATE_SKIP").as_deref() {
            Some("1") => {
                say("gate: GATE_SKIP=1: nothing was checked");
                return Ok(exit::PASS.code);
            }
            None | Some("") => {}
            Some(other) => say(&format!(
                "gate: GATE_SKIP={} passes nothing: only GATE_SKIP=1 does",
                plain_line(other, 40)
            )),
        }
        let most = if self.measure { MEASURE_MAX } else { BUDGET_MAX };
        if self.budget > most {
            bail!(
                "--budget: at most {} s: a push that is held up longer loses its connection",
                most.as_secs()
            );
        }
        let until = Deadline::after(self.budget);
        let repository = here()?;
        let commits = match self.asked(&repository)? {
            Ok(commits) => commits,
            Err(why) => {
                say(&format!("gate: {why}: nothing to check"));
                return Ok(exit::PASS.code);
            }
        };
        let scratch = Scratch::new()?;
        let pushed = commits.into_iter().enumerate().map(|(at, commit)| Pushed {
            repository: repository.clone(),
            commit,
            folder: scratch.path().join(at.to_string()),
            measure: self.measure,
            until,
        });
        Ok(checked(pushed.collect(), until))
    }

    /// The commits to check, or why there is none.
    fn asked(&self, repository: &Repository) -> Result<Result<Vec<String>, &'static str>> {
        let updates = read_updates()?;
        let named: Vec<String> = if !updates.is_empty() {
            updates
                .iter()
                .filter(|update| update.is_code())
                .filter_map(|update| update.local.clone())
                .collect()
        } else if let Some(revision) = value("PRE_COMMIT_TO_REF").filter(|revision| !revision.is_empty()) {
            vec![revision]
        } else if !self.remote.is_empty() && value("PRE_COMMIT").is_none() {
            return Ok(Err("git sends no reference"));
        } else {
            vec!["HEAD".to_owned()]
        };
        let mut commits = Vec::new();
        for revision in named {
            match repository.commit(&revision)? {
                Some(commit) if commits.contains(&commit) => {}
                Some(commit) => commits.push(commit),
                None => say(&format!("gate: {}: no commit, so not checked", plain_line(&revision, 100))),
            }
        }
        Ok(if commits.is_empty() {
            Err("only tags, deletions or what is no commit")
        } else {
            Ok(commits)
        })
    }
}

/// What git tells on standard input; nothing where a person sits there.
fn read_updates() -> Result<Vec<Update>> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(push::MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.context("cannot read the references from standard input")?;
    if bytes.len() > push::MAX_BYTES {
        bail!("standard input: more than {} bytes of references", push::MAX_BYTES);
    }
    let text = String::from_utf8_lossy(&bytes);
    push::parse(&text).map_err(|why| anyhow::anyhow!("standard input, {why}"))
}

/// Runs every check in time, says what is found as it comes, and gives the exit code of the gravest that stops a push.
fn checked(pushed: Vec<Pushed>, until: Deadline) -> u8 {
    let (sender, receiver) = mpsc::channel();
    // Not joined: what is not done in time is said, and ends with this process.
    let _worker = thread::spawn(move || {
        for one in &pushed {
            for (what, check) in CHECKS {
                let findings = prepared(one).and_then(|()| check(one));
                if sender.send((what, one.commit.clone(), findings)).is_err() {
                    return;
                }
            }
        }
    });
    let mut gravest = Outcome::Pass;
    let mut done = Vec::new();
    loop {
        match receiver.recv_timeout(until.left()) {
            Ok((what, commit, findings)) => {
                done.push(what);
                let of = commit.get(..9).unwrap_or(&commit);
                let findings = findings.unwrap_or_else(|error| vec![Finding::new(Outcome::Error, format!("{what}: {error:#}"))]);
                for finding in findings {
                    say(&format!("gate: {of}: {}", finding.text));
                    gravest = gravest.max(finding.outcome);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                if gravest == Outcome::Pass {
                    say("gate: nothing stops the push");
                }
                break;
            }
            Err(RecvTimeoutError::Timeout) => {
                let left: Vec<&str> = CHECKS.iter().map(|(what, _)| *what).filter(|what| !done.contains(what)).collect();
                let left = if left.is_empty() {
                    "a further commit".to_owned()
                } else {
                    left.join(", ")
                };
                say(&format!("gate: not done in time and left to CI: {left}; --budget gives more"));
                break;
            }
        }
    }
    match gravest {
        Outcome::Pass | Outcome::Inconclusive => exit::PASS.code,
        grave => {
            say("gate: the push is stopped; `GATE_SKIP=1 git push` or `git push --no-verify` pushes all the same");
            exit::of(grave).code
        }
    }
}

/// Writes the folders of a commit out, once.
fn prepared(pushed: &Pushed) -> Result<()> {
    if files::is_folder(&pushed.folder) {
        return Ok(());
    }
    files::make_folder(&pushed.folder)?;
    pushed.repository.export(&pushed.commit, &["gates", "baselines"], &pushed.folder)
}

/// The gate files of a commit: where they are written out, and what the commit calls them.
fn declared(pushed: &Pushed) -> Result<Vec<(PathBuf, String)>> {
    let paths = files::listing(&pushed.folder.join("gates"), ".toml")?;
    Ok(paths.into_iter().map(|path| (path.clone(), named(pushed, &path))).collect())
}

/// The name of a written-out file in its commit.
fn named(pushed: &Pushed, path: &Path) -> String {
    path.strip_prefix(&pushed.folder).unwrap_or(path).display().to_string()
}

fn gate_files(pushed: &Pushed) -> Result<Vec<Finding>> {
    let faults = declared(pushed)?
        .into_iter()
        .filter_map(|(path, name)| gates::load(&path, &name).err());
    Ok(faults.flatten().map(|fault| Finding::new(Outcome::Error, fault)).collect())
}

fn waivers(pushed: &Pushed) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let today = clock::now_seconds();
    for path in files::listing(&pushed.folder.join(FOLDER), ".toml")? {
        let name = named(pushed, &path);
        match waiver::parse(&files::read_declared(&path, waiver::FILE_MAX_BYTES)?, &name) {
            Err(faults) => findings.extend(faults.iter().map(|fault| Finding::new(Outcome::Error, fault.to_string()))),
            Ok(waiver) => match waiver.standing(today.get(..10).unwrap_or_default()) {
                Standing::Holds => {}
                Standing::Expired => findings.push(Finding::new(Outcome::Pass, format!("{name}: expired after {}", waiver.until))),
                Standing::TooLong => findings.push(Finding::new(
                    Outcome::Error,
                    format!("{name}: ends on {}, at most {DAYS_MAX} days ahead are allowed", waiver.until),
                )),
            },
        }
    }
    Ok(findings)
}

fn evidence(pushed: &Pushed) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in baselines::list(&pushed.folder.join("baselines"))? {
        let name = named(pushed, &path);
        let here = |text: String| text.replace(&format!("{}/", pushed.folder.display()), "");
        match inspect(&path) {
            Ok(found) => {
                let violations = found.violations.into_iter();
                findings.extend(violations.map(|why| Finding::new(Outcome::Violation, format!("{name}: {}", here(why)))));
            }
            Err(error) => findings.push(Finding::new(Outcome::Error, here(format!("{error:#}")))),
        }
    }
    Ok(findings)
}

/// What the ledger here says of this very tree; the newest record of each gate counts.
fn last_verdict(pushed: &Pushed) -> Result<Vec<Finding>> {
    let path = ledger::path(None, &pushed.repository.top().join(".gate"));
    let tree = pushed.repository.tree(&pushed.commit)?;
    let lines = if files::is_regular(&path) {
        ledger::read(&path)?
    } else {
        Vec::new()
    };
    let relabelled = ledger::relabels(&lines)?;
    let mut last = std::collections::BTreeMap::new();
    for line in lines.iter().filter(|line| !line.is_relabel()) {
        let record = line.record()?;
        let of_it = record.identity.arms.b.source.as_ref().is_some_and(|source| match &source.tree {
            Some(measured) => *measured == tree,
            None => !source.dirty && source.commit == pushed.commit,
        });
        if of_it && record.cancelled.is_none() && !relabelled.contains_key(&record.seal) {
            last.insert(record.gate.name.clone(), record);
        }
    }
    let findings = last.into_values().map(|record| {
        let (gate, outcome) = (plain_line(&record.gate.name, 80), record.judgement.outcome);
        let name = short(&record.seal);
        Finding::new(
            match outcome {
                Outcome::Fail | Outcome::Violation => outcome,
                Outcome::Pass | Outcome::Inconclusive | Outcome::Error => Outcome::Pass,
            },
            format!(
                "{gate}: {} when it was measured here, {}; `gate ledger show {name}`",
                exit::of(outcome).word,
                record.at
            ),
        )
    });
    Ok(findings.collect())
}

/// A word about changes that a user may think were pushed.
fn changes(pushed: &Pushed) -> Result<Vec<Finding>> {
    let head = pushed.repository.commit("HEAD")?;
    let left_behind = head.as_ref() == Some(&pushed.commit) && pushed.repository.is_dirty()?;
    let told = left_behind.then(|| Finding::new(Outcome::Pass, "the working tree has changes that are not in what is pushed"));
    Ok(told.into_iter().collect())
}

/// Runs the gates that may run before a push, one after the other, in what time is left.
fn measured(pushed: &Pushed) -> Result<Vec<Finding>> {
    if !pushed.measure {
        return Ok(Vec::new());
    }
    let gates = declared(pushed)?
        .into_iter()
        .filter(|(path, name)| gates::load(path, name).is_ok_and(|gate| gate.plan.pre_push));
    let gates: Vec<String> = gates.map(|(_, name)| name).collect();
    if gates.is_empty() {
        return Ok(vec![Finding::new(
            Outcome::Pass,
            "no gate declares `pre_push = true`, so none is measured",
        )]);
    }
    if pushed.repository.commit("HEAD")?.as_ref() != Some(&pushed.commit) || pushed.repository.is_dirty()? {
        return Ok(vec![Finding::new(
            Outcome::Pass,
            "not measured: HEAD is another commit, or something is changed, and only what is checked out can be measured",
        )]);
    }
    process::become_subreaper().context("cannot adopt the orphans of measured processes")?;
    gates.iter().map(|name| run(pushed, name)).collect()
}

/// Runs one gate; only what it answered within the time stops a push.
fn run(pushed: &Pushed, name: &str) -> Result<Finding> {
    let program = files::own_program()?;
    let args = ["perf", "--gate", name].map(OsString::from);
    let env = environment::of_another_gate();
    let launch = Launch {
        program: &program,
        args: &args,
        env: &Environment::of(&env),
        cwd: pushed.repository.top(),
        timeout: pushed.until.left(),
        keep_bytes: SAID_MAX_BYTES,
    };
    let ended = process::run(&launch, None).context("cannot run the gate")?;
    say(&plain(&ended.stdout.kept));
    let last = plain(&ended.stderr.kept)
        .lines()
        .next_back()
        .map(|line| plain_line(line, 500))
        .unwrap_or_default();
    Ok(match ended.exit {
        Exit::Code(code) if code == i32::from(exit::PASS.code) => Finding::new(Outcome::Pass, format!("{name}: pass")),
        Exit::Code(code) if code == i32::from(exit::FAIL.code) => Finding::new(Outcome::Fail, format!("{name}: fail")),
        Exit::Code(code) if code == i32::from(exit::VIOLATION.code) => {
            Finding::new(Outcome::Violation, format!("{name}: violation: {last}"))
        }
        Exit::Code(code) if code == i32::from(exit::INCONCLUSIVE.code) => {
            Finding::new(Outcome::Inconclusive, format!("{name}: inconclusive"))
        }
        // Such as a machine without the device: the file itself was found sound.
        Exit::Code(_) => Finding::new(Outcome::Inconclusive, format!("{name}: could not be measured here: {last}")),
        Exit::TimedOut => Finding::new(Outcome::Inconclusive, format!("{name}: no answer in time")),
        Exit::Signal(signal) | Exit::Interrupted(signal) => {
            Finding::new(Outcome::Inconclusive, format!("{name}: ended by signal {signal}"))
        }
    })
}
