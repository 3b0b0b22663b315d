//! The waivers of a change: read from its own tree, because a reviewer accepts them with it.

use anyhow::{Result, bail};

use super::arms::Arms;
use super::declare::Declared;
use super::gates::Runner;
use super::workspace::Workspace;
use crate::cli::ledger::again;
use crate::cli::record::Parts;
use crate::edge::git::Repository;
use crate::edge::ledger::Line;
use crate::edge::{clock, files, ledger};
use crate::model::fault::{Fault, Faults};
use crate::model::gate::waiver::{self, DAYS_MAX, FOLDER, Standing, Waiver};
use crate::model::plan::Plan;
use crate::model::record::{Record, short};
use crate::model::sample::Arm;
use crate::model::text::plain_line;

/// The waivers of a gate, and what a reviewer must see about them.
pub struct Waivers {
    /// Those that hold today.
    pub hold: Vec<Waiver>,
    /// Those that do not, and why; and that a code owner has to look.
    pub banners: Vec<String>,
}

impl Runner<'_> {
    /// The waivers of one gate. A change of a fork brings none that count: nobody has agreed to them.
    ///
    /// # Errors
    /// Every fault of every file, of whatever gate.
    pub fn waivers(&self, gate: &str) -> Result<Waivers> {
        let Workspace {
            repository,
            candidate,
            base,
            from_fork,
            ..
        } = &self.workspace;
        let mut all = read(repository, candidate)?;
        all.retain(|waiver| waiver.gate == gate);
        if let Ok(chosen) = base {
            for waiver in &mut all {
                let [before, now] = [&chosen.commit, candidate].map(|revision| repository.read_blob(revision, &waiver.file));
                waiver.carried = before? == now?;
            }
        }
        let today = clock::now_seconds();
        let mut found = Waivers {
            hold: Vec::new(),
            banners: Vec::new(),
        };
        for waiver in all {
            let name = plain_line(&waiver.file, 200);
            match waiver.standing(today.get(..10).unwrap_or_default()) {
                _ if *from_fork => found.banners.push(format!("{name}: a waiver of a fork excuses nothing")),
                Standing::Expired => found
                    .banners
                    .push(format!("{name}: expired after {}, so it excuses nothing", waiver.until)),
                Standing::TooLong => found.banners.push(format!(
                    "{name}: ends on {}, more than {DAYS_MAX} days ahead, so it excuses nothing yet",
                    waiver.until
                )),
                Standing::Holds => found.hold.push(waiver),
            }
        }
        Ok(found)
    }
}

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

/// Every waiver of a revision, sorted by file.
///
/// # Errors
/// Every fault of every file; a link, or a file that is too large.
pub fn read(repository: &Repository, revision: &str) -> Result<Vec<Waiver>> {
    let (mut waivers, mut faults) = (Vec::new(), Vec::new());
    for name in repository.list(revision, FOLDER)?.iter().filter(|name| name.ends_with(".toml")) {
        let file = format!("{FOLDER}/{name}");
        let Some(bytes) = repository.read_blob(revision, &file)? else {
            continue;
        };
        let read = String::from_utf8(bytes)
            .map_err(|_| vec![Fault::new(&file, 1, "", 0, "not UTF-8 text".to_owned())])
            .and_then(|text| waiver::parse(&text, &file));
        match read {
            Ok(waiver) => waivers.push(waiver),
            Err(more) => faults.extend(more),
        }
    }
    if faults.is_empty() {
        return Ok(waivers);
    }
    bail!(Faults {
        whose: "the waivers have faults",
        all: faults
    })
}
