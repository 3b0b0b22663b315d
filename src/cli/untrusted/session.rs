//! What a stranger's run measured by itself: the samples of a session, by the base branch's plan and baseline.

use anyhow::{Result, anyhow};

use super::judging::Judges;
use crate::cli::perf::context::{asks_baseline, plan, record_gate};
use crate::cli::perf::workspace::Declared;
use crate::cli::record::Parts;
use crate::model::baseline::{self, BaselineUse, STALE_AFTER_DAYS, parse_bytes};
use crate::model::gate::Gate;
use crate::model::host::Host;
use crate::model::plan::Plan;
use crate::model::record::{Context, Record, digest};

impl Judges {
    /// Of the record only what was measured, on what, is taken.
    pub(super) fn of_session(&self, declared: &Declared, record: &Record, unaffected: Option<String>) -> Result<Parts> {
        let (mut identity, mut evidence) = (record.identity.clone(), record.evidence.clone());
        let keys = declared.declaration.run.as_ref();
        let keys = keys.ok_or_else(|| anyhow!("{}: it has no [run]", declared.path))?;
        let arch = identity
            .arch()
            .filter(|arch| is_plain(arch))
            .unwrap_or_else(|| "unknown".to_owned());
        let gate = record_gate(declared, false, &arch);
        let plan = plan(declared, keys, false);
        for sample in &mut evidence.samples {
            sample.void = None;
            sample.telemetry = None;
        }
        evidence.warmups.clear();
        // The gate measures: whatever the record says, its evidence is that of processes.
        "run".clone_into(&mut evidence.source);
        evidence.scores = None;
        identity.missing.truncate(100);
        let context = Context {
            unaffected,
            ..self.against_baseline(&gate, &plan, &arch, declared, record)?
        };
        Ok(Parts {
            kind: "perf",
            at: record.at.clone(),
            host: Host::default(),
            gate,
            plan,
            identity,
            evidence,
            context,
        })
    }

    /// What surrounds it, with the baseline and the band of the base branch.
    fn against_baseline(&self, gate: &Gate, plan: &Plan, arch: &str, declared: &Declared, record: &Record) -> Result<Context> {
        let file = format!("baselines/{arch}.txt");
        let bytes = self.repository.read_blob(&self.rules, &file)?;
        let parsed = bytes.as_deref().map(|bytes| parse_bytes(bytes, &file)).transpose();
        let parsed = parsed.map_err(|fault| anyhow!("{fault}"))?;
        let source = baseline::Source {
            file,
            digest: bytes.as_deref().map(digest),
            from: Some(self.rules.clone()),
            today: self.today.clone(),
            stale_after_days: STALE_AFTER_DAYS,
        };
        Ok(Context {
            band: parsed
                .as_ref()
                .map(|baseline| baseline.bands_of(gate, &plan.cells))
                .unwrap_or_default(),
            baseline: asks_baseline(gate).then(|| BaselineUse::select(parsed.as_ref(), source, gate, &plan.cells)),
            ..self.context(declared, record, "perf", "as the run says")?
        })
    }
}

/// A name that can be part of a path: of a stranger's machine.
fn is_plain(arch: &str) -> bool {
    (1..=40).contains(&arch.len()) && arch.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
