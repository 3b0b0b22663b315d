//! Results that a stranger's run read, as the gate of a revision sees them.

use anyhow::{Result, bail};
use serde_json::json;

use super::evidence::rearrange;
use super::judging::{gate, kept, plan, unshown_turns};
use super::metrics::wanted;
use crate::cli::perf::workspace::Declared;
use crate::cli::untrusted::Again;
use crate::model::record::Record;
use crate::model::sample::Arm;
use crate::model::text::plain_line;

/// The samples of a record under a gate that declares every figure by itself.
///
/// # Errors
/// When the gate does not judge results, or takes from the result files what a record does not hold.
pub(in crate::cli) fn again(declared: &Declared, record: &Record) -> Result<Again> {
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
        why: "as the run says".to_owned(),
        banners: unshown_turns(&arranged).into_iter().collect(),
        evidence: arranged.evidence,
    })
}
