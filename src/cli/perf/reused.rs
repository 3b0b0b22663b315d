//! The record that a waiver was written for: judged again with it, and not measured again.

use anyhow::Result;

use super::arms::Arms;
use super::declare::Declared;
use super::gates::Runner;
use crate::cli::ledger::again;
use crate::cli::record::Parts;
use crate::edge::ledger::Line;
use crate::edge::{files, ledger};
use crate::model::gate::waiver::FOLDER;
use crate::model::plan::Plan;
use crate::model::record::{Record, short};
use crate::model::sample::Arm;
use crate::model::text::plain_line;

impl Runner<'_> {
    /// The sealed record that a waiver was written for, judged again with that waiver, where nothing but waivers changed since it was measured:
    /// the same gate, plan and artifacts. To measure the same again would only be another chance to pass.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub fn reused(&self, declared: &Declared, arms: &Arms) -> Result<Option<Record>> {
        let fresh = declared.context.waivers.iter().filter(|waiver| !waiver.carried);
        let named: Vec<&str> = fresh.map(|waiver| waiver.record.as_str()).collect();
        if named.is_empty() || !files::is_regular(&self.places.ledger) {
            return Ok(None);
        }
        let lines = ledger::read(&self.places.ledger)?;
        let relabelled = ledger::relabels(&lines)?;
        let meant = |line: &&Line| {
            let seal = line.seal().unwrap_or_default();
            !line.is_relabel()
                && !relabelled.contains_key(seal)
                && named.iter().any(|digits| seal.trim_start_matches("b3:").starts_with(digits))
        };
        let Some(line) = lines.iter().rev().find(meant) else {
            return Ok(None);
        };
        let before = line.record()?;
        if again(&line.value, &before).is_err() || !self.only_waivers_changed(&before, declared, arms) {
            return Ok(None);
        }
        Ok(Some(self.judged_again(before, declared, arms)?))
    }

    fn only_waivers_changed(&self, before: &Record, declared: &Declared, arms: &Arms) -> bool {
        // A cap that the first block set says how long was measured, not what was asked.
        let asked = |plan: &Plan| Plan {
            blocks: Vec::new(),
            looks: Vec::new(),
            max_blocks: 0,
            digest: String::new(),
            ..plan.clone()
        };
        let tree = |arm: Arm| before.identity.arms.of(arm).source.as_ref().and_then(|source| source.tree.clone());
        let is_now = |arm: Arm| arms.sources.of(arm).as_ref().ok().and_then(|source| source.tree.clone());
        let changed = tree(Arm::B)
            .zip(is_now(Arm::B))
            .and_then(|(was, is)| self.workspace.repository.changed_paths(&was, &is).ok());
        before.evidence.ended.is_none()
            && before.cancelled.is_none()
            && before.gate.digest == declared.gate.digest
            && asked(&before.plan) == asked(&declared.plan)
            && Arm::BOTH
                .iter()
                .all(|&arm| before.identity.arms.of(arm).artifacts == *arms.artifacts.of(arm))
            && tree(Arm::A) == is_now(Arm::A)
            && changed.is_some_and(|paths| paths.iter().all(|path| path.starts_with(FOLDER)))
    }

    fn judged_again(&self, before: Record, declared: &Declared, arms: &Arms) -> Result<Record> {
        let mut context = declared.context.clone();
        context.attempt = before.context.attempt;
        context.banners.push(format!(
            "measured {} as record {}; nothing but {FOLDER} changed since, so it is judged again and not measured again",
            plain_line(&before.at, 40),
            short(&before.seal)
        ));
        let mut identity = before.identity.clone();
        identity.arms.b.source = arms.sources.b.clone().ok();
        let Record {
            at, plan, host, evidence, ..
        } = before;
        let parts = Parts {
            kind: "perf",
            at,
            gate: declared.gate.clone(),
            plan: Plan {
                digest: String::new(),
                ..plan
            },
            identity,
            host,
            evidence,
            context,
        };
        let mut record = parts.judged(None, self.options.labels.clone())?;
        record.links.insert("judged_again".to_owned(), before.seal);
        ledger::append(&self.places.ledger, record)
    }
}
