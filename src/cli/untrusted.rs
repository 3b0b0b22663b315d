//! `--untrusted`: records that a stranger's code made, taken as data and judged again by the base branch's own rules.
//!
//! Which pull request they belong to comes from the event and the API; what the records say of it chooses among several that those two name,
//! and then there is no verdict. Nothing that excuses is taken over: no void, no
//! finding, no waiver, no attempt's count below the run's own.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};

use super::gates::{self, GATE_MAX_BYTES};
use super::perf::context::{asks_baseline, plan, record_gate};
use super::perf::workspace::Declared;
use crate::edge::environment::of_children;
use crate::edge::git::Repository;
use crate::edge::github::Client;
use crate::edge::{artifact, clock, files, job};
use crate::judge::{Case, judge};
use crate::model::baseline::{self, BaselineUse, STALE_AFTER_DAYS, parse_bytes};
use crate::model::gate::declaration::Source;
use crate::model::gate::{Gate, matches};
use crate::model::github::{Job, Meant, MeasuredRun, Origin, PULL_LABEL, Pull, meant};
use crate::model::host::Host;
use crate::model::judgement::{Disposition, Outcome};
use crate::model::number::count;
use crate::model::pattern::Patterns;
use crate::model::plan::Plan;
use crate::model::record::{Base, Context, Record, digest, digest_of_plan, short};
use crate::model::strict;
use crate::model::text::plain_line;

/// What a change may not touch without a maintainer's own run: what measures, and what it is judged by.
const RULES: [&str; 3] = [".github/", "gates/", "baselines/"];
/// Most names in a message.
const NAMED_MAX: usize = 5;

/// What there is to say of a run.
pub(super) struct Told {
    /// For whom: the pull request and the commit are the measured run's.
    pub job: Job,
    /// The records, judged again.
    pub records: Vec<Record>,
    /// Why there is no verdict, whatever the records say, where there is none.
    pub refused: Option<String>,
    /// Whether the records themselves had to be refused.
    pub is_bad_input: bool,
}

/// Refuses to speak for a run that triggered this job as if it were this job: its commit is another one.
///
/// # Errors
/// In a job that another run triggered.
pub(super) fn refuse_without(job: &Job) -> Result<()> {
    if job.event == "workflow_run" {
        bail!("this job was triggered by the end of another run, whose records are not this job's: --untrusted reports them");
    }
    Ok(())
}

/// Reads the records of the run that triggered this job; why there is nothing to say of it, where there is not.
///
/// # Errors
/// When the event, GitHub or the base branch's own rules cannot be read.
pub(super) fn read(paths: &[PathBuf], client: &Client) -> Result<Result<Told, String>> {
    let [path] = paths else {
        bail!("--untrusted: name one file of records")
    };
    let run = job::measured_run()?;
    if let Some(why) = run.objection() {
        return Ok(Err(why));
    }
    let own = job::of_this_process()?.ok_or_else(|| anyhow!("--untrusted: GITHUB_ACTIONS is not true, so there is no run to report on"))?;
    let explain = |failure: crate::edge::github::Failure| anyhow!(failure.explain(&own, client.token_name()));
    let repository = Repository::open(&files::working_folder()?, &of_children(&[]).kept)?;
    let mut told = Told {
        job: of_run(&own, &run),
        records: Vec::new(),
        refused: None,
        is_bad_input: false,
    };
    let read = artifact::read(path).map(|text| text.map(|text| strict::records(&text)));
    let (rules, changed) = if run.event == "pull_request" {
        let candidates = client.candidates(&own.repository, &run).map_err(explain)?;
        let claimed = match &read {
            Ok(Some(Ok(records))) => claimed(records),
            _ => None,
        };
        let pull = match meant(&run, &own.repository, &candidates, claimed) {
            Meant::Nobody => {
                let why = "no open pull request has this commit at its head: it was superseded or closed";
                return Ok(Err(why.to_owned()));
            }
            Meant::One(pull) => pull,
            Meant::Several { numbers, named } => {
                told.refused = Some(several(&numbers));
                match named {
                    Some(pull) => pull,
                    None => return Ok(Ok(told)),
                }
            }
        };
        told.job.pull = Some(Pull {
            number: pull.number,
            // It is this job's token that speaks, and it may write.
            origin: Origin::Same,
            dependabot: false,
        });
        let changed = client.changed_paths(&own.repository, pull.number).map_err(explain)?;
        told.refused = joined(told.refused, refused_change(changed.as_deref()));
        (pull.base.clone(), changed)
    } else {
        (
            repository.commit("HEAD")?.ok_or_else(|| anyhow!("the checkout has no commit"))?,
            None,
        )
    };
    if repository.commit(&rules)?.is_none() {
        bail!(
            "the base branch's tip {} is not here: check the default branch out with `fetch-depth: 0`",
            short(&rules)
        );
    }
    let measured = match read {
        Ok(None) => {
            told.refused = Some(format!(
                "the run left no records: it ended as {} before it measured",
                plain_line(&run.conclusion, 40)
            ));
            return Ok(Ok(told));
        }
        Ok(Some(Ok(records)))
            if records
                .iter()
                .all(|record| record.context.head.as_deref() == Some(run.head.as_str())) =>
        {
            records
        }
        Ok(Some(Ok(_))) => {
            return Ok(Ok(
                told.bad("the records speak of another commit than the run's: they do not belong to it")
            ));
        }
        Ok(Some(Err(why))) => return Ok(Ok(told.bad(&format!("the records are refused: {why}")))),
        Err(error) => return Ok(Ok(told.bad(&format!("the records are refused: {error:#}")))),
    };
    let judges = Judges {
        repository,
        rules,
        changed,
        run,
    };
    judges.judge(measured, &mut told)?;
    Ok(Ok(told))
}

impl Told {
    fn bad(mut self, why: &str) -> Self {
        self.refused = Some(why.to_owned());
        self.is_bad_input = true;
        self
    }
}

/// The job that speaks for a run: its commit, its number.
fn of_run(own: &Job, run: &MeasuredRun) -> Job {
    Job {
        pull: None,
        head: run.head.clone(),
        run: run.run,
        ..own.clone()
    }
}

/// Several reasons as one; none where there is none.
fn joined(one: Option<String>, more: impl IntoIterator<Item = String>) -> Option<String> {
    let all: Vec<String> = one.into_iter().chain(more).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The pull request that records say they are of; none where they do not agree.
fn claimed(records: &[Record]) -> Option<u64> {
    let mut numbers = records
        .iter()
        .map(|record| record.labels.get(PULL_LABEL).and_then(|number| number.parse().ok()));
    let first = numbers.next().flatten()?;
    numbers.all(|number| number == Some(first)).then_some(first)
}

/// Why one run answers for none of several pull requests.
fn several(numbers: &[u64]) -> String {
    let named: Vec<String> = numbers.iter().take(NAMED_MAX).map(|number| format!("number {number}")).collect();
    let more = match numbers.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} open pull requests have this commit at their head ({}{more}), and one status would count for all of them: close all but one, then run \
         its measuring job again",
        numbers.len(),
        named.join(", ")
    )
}

/// Why a change cannot be answered for by its own run, if so.
fn refused_change(changed: Option<&[String]>) -> Option<String> {
    let Some(changed) = changed else {
        return Some("the pull request changes more files than GitHub tells: needs a maintainer's run".to_owned());
    };
    let touched: Vec<&str> = changed
        .iter()
        .map(String::as_str)
        .filter(|path| RULES.iter().any(|rule| path.starts_with(rule)))
        .collect();
    (!touched.is_empty()).then(|| needs_a_maintainer(&touched))
}

fn needs_a_maintainer(touched: &[&str]) -> String {
    let named: Vec<String> = touched.iter().take(NAMED_MAX).map(|path| plain_line(path, 100)).collect();
    let more = match touched.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "the change touches what measures or what it is judged by ({}{more}): needs a maintainer's run",
        named.join(", ")
    )
}

/// The base branch's rules.
struct Judges {
    repository: Repository,
    /// The commit that they are read from.
    rules: String,
    /// What the pull request changes; not known of a merge group.
    changed: Option<Vec<String>>,
    run: MeasuredRun,
}

impl Judges {
    /// Judges every gate of the base branch that the change touches by the one record of it.
    fn judge(&self, measured: Vec<Record>, told: &mut Told) -> Result<()> {
        let mut refusals = Vec::new();
        let mut left = measured;
        for declared in self.gates()? {
            let harness = Patterns::new(&declared.declaration.arms.harness).map_err(|why| anyhow!("{}: harness: {why}", declared.path))?;
            let touched: Vec<&str> = self
                .changed
                .iter()
                .flatten()
                .map(String::as_str)
                .filter(|path| harness.matches(path))
                .collect();
            if !touched.is_empty() {
                refusals.push(needs_a_maintainer(&touched));
            }
            let (mut of_gate, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|record| record.gate.name == declared.name);
            left = others;
            let unaffected = self.unaffected(&declared)?;
            match (of_gate.pop(), of_gate.is_empty()) {
                (Some(_), false) => refusals.push(format!("gate {} has several records, and one is its answer", declared.name)),
                (Some(record), true) => told.records.push(self.again(&declared, record, unaffected)?),
                (None, _) if unaffected.is_none() => {
                    refusals.push(format!("there is no record of gate {}, which this change touches", declared.name))
                }
                _ => {}
            }
        }
        if let Some(record) = left.first() {
            refusals.push(format!(
                "there is a record of {}, which is no measuring gate of the base branch",
                plain_line(&record.gate.name, 80)
            ));
        }
        if told.records.is_empty() && refusals.is_empty() && told.refused.is_none() {
            refusals.push("the base branch has no gate that says anything of this change".to_owned());
        }
        told.refused = joined(told.refused.take(), refusals);
        Ok(())
    }

    /// The gates that measure, as the base branch has them.
    fn gates(&self) -> Result<Vec<Declared>> {
        let mut all = Vec::new();
        for file in self
            .repository
            .list(&self.rules, "gates")?
            .iter()
            .filter(|file| file.ends_with(".toml"))
        {
            let path = format!("gates/{file}");
            let Some(bytes) = self.repository.read_blob(&self.rules, &path)? else {
                continue;
            };
            let text = String::from_utf8(bytes).map_err(|_| anyhow!("{path}: not UTF-8"))?;
            if text.len() as u64 > GATE_MAX_BYTES {
                bail!("{path}: more than {GATE_MAX_BYTES} bytes");
            }
            let declaration = gates::read(&text, &path).map_err(|faults| {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                anyhow!("the base branch's gates have faults:\n{}", lines.join("\n"))
            })?;
            if declaration.source == Source::Run {
                all.push(Declared {
                    name: file.trim_end_matches(".toml").to_owned(),
                    from: format!("base tip {}", short(&self.rules)),
                    path,
                    text,
                    declaration,
                    banners: Vec::new(),
                    is_new: false,
                });
            }
        }
        Ok(all)
    }

    /// Why a gate has nothing to say of the change, by GitHub's own list of what it touches; none where it has.
    fn unaffected(&self, declared: &Declared) -> Result<Option<String>> {
        let when = &declared.declaration.when;
        let Some(changed) = self.changed.as_ref().filter(|_| !when.is_empty()) else {
            return Ok(None);
        };
        let paths: Vec<&str> = changed.iter().map(String::as_str).collect();
        let touched = matches(when, &paths).map_err(|why| anyhow!("{}: when.paths: {why}", declared.path))?;
        let count = count(paths.len() as u64, "changed file");
        Ok(touched.is_empty().then(|| format!("none of {count} matches {}", when.join(", "))))
    }

    /// A record judged by the base branch's gate, plan and baseline: of the record only what was measured, on what, is taken.
    fn again(&self, declared: &Declared, record: Record, unaffected: Option<String>) -> Result<Record> {
        let Record {
            at,
            mut identity,
            mut evidence,
            context: claimed,
            ..
        } = record.clone();
        let keys = declared
            .declaration
            .run
            .as_ref()
            .ok_or_else(|| anyhow!("{}: it has no [run]", declared.path))?;
        let arch = identity
            .arch()
            .filter(|arch| is_plain(arch))
            .unwrap_or_else(|| "unknown".to_owned());
        let gate = record_gate(declared, false, &arch);
        let mut plan = plan(declared, keys, false);
        plan.digest = digest_of_plan(&plan, &gate, &identity)?;
        for sample in &mut evidence.samples {
            sample.void = None;
            sample.telemetry = None;
        }
        evidence.warmups.clear();
        identity.missing.truncate(100);
        let host = Host::default();
        let context = Context {
            unaffected,
            ..self.context(&claimed, &gate, &plan, &arch, declared, &record)?
        };
        let mut judgement = judge(&Case {
            gate: &gate,
            plan: &plan,
            identity: &identity,
            host: &host,
            evidence: &evidence,
            context: &context,
        });
        if judgement.disposition == Disposition::PromotionCandidate {
            judgement.disposition = Disposition::Measured;
            judgement.disposition_because = vec!["measured by code that nobody here has run: at most measured".to_owned()];
        }
        if record.cancelled.is_some() {
            judgement.outcome = judgement.outcome.max(Outcome::Error);
        }
        let mut labels = std::collections::BTreeMap::new();
        labels.insert("untrusted".to_owned(), self.origin().to_owned());
        Ok(Record {
            at,
            gate,
            plan,
            identity,
            host,
            evidence,
            context,
            judgement,
            labels,
            ..record
        })
    }

    fn context(&self, claimed: &Context, gate: &Gate, plan: &Plan, arch: &str, declared: &Declared, record: &Record) -> Result<Context> {
        let file = format!("baselines/{arch}.txt");
        let bytes = self.repository.read_blob(&self.rules, &file)?;
        let parsed = bytes.as_deref().map(|bytes| parse_bytes(bytes, &file)).transpose();
        let parsed = parsed.map_err(|fault| anyhow!("{fault}"))?;
        let source = baseline::Source {
            file,
            digest: bytes.as_deref().map(digest),
            from: Some(self.rules.clone()),
            today: clock::now_seconds().chars().take(10).collect(),
            stale_after_days: STALE_AFTER_DAYS,
        };
        let mut banners = vec![format!("measured by code from {}: these numbers are its claim", self.origin())];
        if record.gate.digest != gate.digest {
            banners.push(format!("the run used another {} than the base branch has", declared.path));
        }
        if !claimed.waivers.is_empty() {
            banners.push("its waivers are not honoured here".to_owned());
        }
        Ok(Context {
            base: Base {
                commit: claimed.base.commit.clone(),
                why: "as the run says".to_owned(),
            },
            head: Some(self.run.head.clone()),
            attempt: claimed.attempt.max(self.run.run.attempt),
            band: parsed
                .as_ref()
                .map(|baseline| baseline.bands_of(gate, &plan.cells))
                .unwrap_or_default(),
            waivers: Vec::new(),
            banners,
            baseline: asks_baseline(gate).then(|| BaselineUse::select(parsed.as_ref(), source, gate, &plan.cells)),
            unaffected: None,
            identical: false,
            new_gate: false,
            changed_harness: Vec::new(),
            command: format!("gate perf --gate {}", declared.path),
        })
    }

    fn origin(&self) -> &'static str {
        let is_own = self.run.repository.as_ref().is_some_and(|(id, _)| *id == self.run.own_id);
        if is_own { "a branch of this repository" } else { "a fork" }
    }
}

/// A name that can be part of a path: of a stranger's machine.
fn is_plain(arch: &str) -> bool {
    (1..=40).contains(&arch.len()) && arch.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
