//! Records of a stranger judged again: by which gate of the base branch, from what in them, and what that is worth.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{Again, Told, joined, needs_a_maintainer};
use crate::cli::eval::again;
use crate::cli::eval::base::FOLDER;
use crate::cli::gates::{self, GATE_MAX_BYTES};
use crate::cli::ingest;
use crate::cli::perf::workspace::Declared;
use crate::cli::record::Parts;
use crate::cli::waivers::Change;
use crate::edge::files::Scratch;
use crate::edge::git::Repository;
use crate::model::eval::evidence::Scores;
use crate::model::gate::declaration::Source;
use crate::model::gate::matches;
use crate::model::github::MeasuredRun;
use crate::model::host::Host;
use crate::model::judgement::{Disposition, Outcome};
use crate::model::number::count;
use crate::model::pattern::Patterns;
use crate::model::record::{Base, Context, Record, short};
use crate::model::summary::Summary;
use crate::model::text::plain_line;

/// The base branch's rules.
pub(super) struct Judges {
    pub(super) repository: Repository,
    /// The commit that they are read from.
    pub(super) rules: String,
    /// What the pull request changes; not known of a merge group.
    pub(super) changed: Option<Vec<String>>,
    pub(super) run: MeasuredRun,
    /// The day, `YYYY-MM-DD`, UTC.
    pub(super) today: String,
}

impl Judges {
    /// Judges every gate of the base branch that the change touches by the one record of it. Whether another tool's results are judged at all is
    /// for the workflow to say; where the run failed, a gate of such results without a record is no pass.
    pub(super) fn judge(&self, measured: Vec<Record>, told: &mut Told) -> Result<()> {
        let (mut refusals, mut unasked) = (Vec::new(), Vec::new());
        let mut left = measured;
        for declared in self.gates()? {
            let touched = self.touched_harness(&declared)?;
            if !touched.is_empty() {
                refusals.push(needs_a_maintainer(&touched));
            }
            let (mut of_gate, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|record| record.gate.name == declared.name);
            left = others;
            let unaffected = self.unaffected(&declared)?;
            match (of_gate.pop(), of_gate.is_empty()) {
                (Some(_), false) => refusals.push(format!("gate {} has several records, and one is its answer", declared.name)),
                (Some(record), true) => match self.again(&declared, record, unaffected)? {
                    Ok(record) => told.records.push(record),
                    Err(why) => refusals.push(format!("the record of gate {} cannot be judged again: {why}", declared.name)),
                },
                (None, _) if declared.declaration.source == Source::Ingest => unasked.push(declared.name),
                (None, _) if unaffected.is_none() => {
                    refusals.push(format!("there is no record of gate {}, which this change touches", declared.name))
                }
                _ => {}
            }
        }
        if let Some(record) = left.first() {
            refusals.push(format!(
                "there is a record of {}, which is no gate of the base branch",
                plain_line(&record.gate.name, 80)
            ));
        }
        let passes = told.records.is_empty() || Summary::of(&told.records).outcome == Outcome::Pass;
        if passes && self.run.conclusion != "success" && !unasked.is_empty() {
            refusals.push(format!(
                "the run ended as {}, and there is no record of gate {}",
                plain_line(&self.run.conclusion, 40),
                unasked.join(", ")
            ));
        }
        if told.records.is_empty() && refusals.is_empty() && told.refused.is_none() {
            refusals.push("the base branch has no gate that says anything of this change".to_owned());
        }
        told.refused = joined(told.refused.take(), refusals);
        Ok(())
    }

    /// What the change touches of a gate's measuring code.
    fn touched_harness(&self, declared: &Declared) -> Result<Vec<&str>> {
        let harness = Patterns::new(&declared.declaration.arms.harness).map_err(|why| anyhow!("{}: harness: {why}", declared.path))?;
        let changed = self.changed.iter().flatten().map(String::as_str);
        Ok(changed.filter(|path| harness.matches(path)).collect())
    }

    /// The gates as the base branch has them.
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

    /// A record judged by the base branch's gate and baselines; or why it does not hold what that takes.
    fn again(&self, declared: &Declared, record: Record, unaffected: Option<String>) -> Result<Result<Record, String>> {
        let parts = match (declared.declaration.source, &record.evidence.scores) {
            (Source::Run, _) => self.of_session(declared, &record, unaffected)?,
            (Source::Ingest, scores) => {
                let parts = match scores {
                    Some(scores) => self.of_scores(declared, &record, scores),
                    None => self.of_results(declared, &record),
                };
                match parts {
                    Ok(parts) => parts,
                    Err(why) => return Ok(Err(format!("{why:#}"))),
                }
            }
        };
        self.judged(record, parts).map(Ok)
    }

    /// Scores: the candidate's of the record, the base's as the base branch has them.
    fn of_scores(&self, declared: &Declared, record: &Record, scores: &Scores) -> Result<Parts> {
        let named = declared.declaration.ingest.as_ref().and_then(|keys| keys.baseline.as_deref());
        let base = self.written_out(named)?;
        let again = again::again(declared, base.path(), record, scores, &self.today)?;
        self.of_again("eval", declared, record, again)
    }

    /// The base branch's eval baselines, and the scores that a gate names, in a folder of our own. Logs of single answers stand beside their results.
    fn written_out(&self, named: Option<&str>) -> Result<Scratch> {
        let mut paths = vec![FOLDER.to_owned()];
        if let Some((folder, _)) = named.and_then(|path| path.rsplit_once('/')) {
            let logs = self.repository.list(&self.rules, folder)?.into_iter();
            let logs = logs.filter(|name| name.starts_with("samples_") && name.ends_with(".jsonl"));
            paths.extend(logs.map(|name| format!("{folder}/{name}")));
        }
        paths.extend(named.map(str::to_owned));
        paths.sort_unstable();
        paths.dedup();
        let scratch = Scratch::new()?;
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let written = self.repository.export(&self.rules, &paths, scratch.path());
        written.context("the base branch's scores")?;
        Ok(scratch)
    }

    /// Another tool's results: their figures and dates as the record has them, by metrics that the gate itself declares.
    fn of_results(&self, declared: &Declared, record: &Record) -> Result<Parts> {
        self.of_again("ingest", declared, record, ingest::again(declared, record)?)
    }

    fn of_again(&self, kind: &'static str, declared: &Declared, record: &Record, again: Again) -> Result<Parts> {
        let mut context = self.context(declared, record, kind, &again.why)?;
        context.banners.extend(again.banners);
        Ok(Parts {
            kind,
            at: record.at.clone(),
            host: Host::default(),
            gate: again.gate,
            plan: again.plan,
            identity: again.identity,
            evidence: again.evidence,
            context,
        })
    }

    /// What surrounds it: the run's own commit and attempt, and the waivers that the base branch has.
    ///
    /// # Errors
    /// Every fault of every waiver.
    pub(super) fn context(&self, declared: &Declared, record: &Record, command: &str, base: &str) -> Result<Context> {
        let claimed = &record.context;
        let mut banners = vec![format!("measured by code from {}: these numbers are its claim", self.origin())];
        if record.gate.text != declared.text {
            banners.push(format!("the run used another {} than the base branch has", declared.path));
        }
        let of_base = Change {
            repository: &self.repository,
            candidate: Some(&self.rules),
            base: Some(&self.rules),
            from_fork: false,
        };
        let waivers = of_base.waivers(&declared.name)?;
        banners.extend(waivers.banners);
        if claimed.waivers.iter().any(|waiver| !waivers.hold.contains(waiver)) {
            banners.push("its waivers are not honoured here".to_owned());
        }
        Ok(Context {
            base: Base {
                commit: claimed.base.commit.clone(),
                why: base.to_owned(),
            },
            head: Some(self.run.head.clone()),
            attempt: claimed.attempt.max(self.run.run.attempt),
            band: Vec::new(),
            waivers: waivers.hold,
            banners,
            baseline: None,
            unaffected: None,
            identical: false,
            new_gate: false,
            beside: Vec::new(),
            changed_harness: Vec::new(),
            command: format!("gate {command} --gate {}", declared.path),
        })
    }

    /// The record with its new judgement, which is worth `measured` at most.
    fn judged(&self, record: Record, parts: Parts) -> Result<Record> {
        let labels = BTreeMap::from([("untrusted".to_owned(), self.origin().to_owned())]);
        let mut again = parts.judged(record.cancelled.clone(), labels)?;
        let judgement = &mut again.judgement;
        if judgement.disposition == Disposition::PromotionCandidate {
            judgement.disposition = Disposition::Measured;
            judgement.disposition_because = vec!["measured by code that nobody here has run: at most measured".to_owned()];
        }
        if record.cancelled.is_some() {
            judgement.outcome = judgement.outcome.max(Outcome::Error);
        }
        // It is shown as what it was judged from.
        Ok(Record {
            tool: record.tool,
            seal: record.seal,
            ..again
        })
    }

    fn origin(&self) -> &'static str {
        let is_own = self.run.repository.as_ref().is_some_and(|(id, _)| *id == self.run.own_id);
        if is_own { "a branch of this repository" } else { "a fork" }
    }
}
