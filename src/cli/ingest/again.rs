//! Results that a stranger's run read, as the gate of a revision sees them.

use anyhow::{Result, bail};
use serde_json::json;

use super::evidence::rearrange;
use super::judging::{gate, kept, plan, unshown_turns};
use super::metrics::wanted;
use crate::cli::perf::workspace::Declared;
use crate::model::evidence::Evidence;
use crate::model::gate::Gate;
use crate::model::identity::Identity;
use crate::model::plan::Plan;
use crate::model::record::Record;
use crate::model::sample::Arm;
use crate::model::text::plain_line;

/// What the judge needs besides what surrounds it.
pub struct Again {
    /// The gate as the revision has it.
    pub gate: Gate,
    /// The order that the samples' own dates carry.
    pub plan: Plan,
    /// What the record tells of the results, by the gate's policy.
    pub identity: Identity,
    /// The samples in that order.
    pub evidence: Evidence,
    /// What a reader must see about them.
    pub banners: Vec<String>,
}

/// The samples of a record under a gate that declares every figure by itself.
///
/// # Errors
/// When the gate does not judge results, or takes from the result files what a record does not hold.
pub fn again(declared: &Declared, record: &Record) -> Result<Again> {
    let keys = kept(&declared.declaration, &declared.path)?;
    if let Some(open) = keys.metrics.iter().find(|pattern| pattern.name.contains('*')) {
        bail!(
            "metric {:?} of {} is a pattern: which series it meets, and their unit and direction, stand in the result files, and the record does \
             not hold those; declare each metric by its name, with unit and better",
            plain_line(&open.name, 80),
            declared.path
        );
    }
    let metrics = wanted(&keys.metrics, &[])?.into_iter().map(|series| series.metric).collect();
    let mut samples = record.evidence.samples.clone();
    for sample in &mut samples {
        sample.void = None;
        sample.telemetry = None;
        (sample.warmup, sample.profiled) = (false, false);
    }
    let has_base = samples.iter().any(|sample| sample.arm == Arm::A);
    let arranged = rearrange(samples);
    let mut identity = record.identity.clone();
    identity.missing.truncate(100);
    identity.policy.insert("strict_config".to_owned(), json!(keys.strict_config));
    Ok(Again {
        gate: gate(declared, metrics, has_base),
        plan: plan(&declared.declaration, keys, &arranged, &plain_line(&record.plan.extract, 40)),
        identity,
        banners: unshown_turns(&arranged).into_iter().collect(),
        evidence: arranged.evidence,
    })
}
