//! A record, from its parts: the same for everything that judges.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::edge::clock;
use crate::model::evidence::Evidence;
use crate::model::gate::Gate;
use crate::model::host::Host;
use crate::model::identity::Identity;
use crate::model::judgement::Judgement;
use crate::model::plan::Plan;
use crate::model::record::{Context, Record, Tool, VERSION, digest_of_plan};

/// What a record is made of.
pub struct Parts {
    /// The kind of record.
    pub kind: &'static str,
    /// When the plan was written.
    pub at: String,
    /// What was declared.
    pub gate: Gate,
    /// In which order, and when to stop.
    pub plan: Plan,
    /// What was measured on what.
    pub identity: Identity,
    /// How fit the machine was.
    pub host: Host,
    /// What was measured.
    pub evidence: Evidence,
    /// What surrounds it.
    pub context: Context,
    /// What it says.
    pub judgement: Judgement,
}

/// A record that is not sealed yet. The plan's digest is set where the session never came to complete it.
///
/// # Errors
/// When a number is not finite.
pub fn record(parts: Parts, cancelled: Option<String>, mut labels: BTreeMap<String, String>) -> Result<Record> {
    let Parts {
        kind,
        at,
        gate,
        mut plan,
        identity,
        host,
        evidence,
        context,
        judgement,
    } = parts;
    if plan.digest.is_empty() {
        plan.digest = digest_of_plan(&plan, &gate, &identity)?;
    }
    labels.insert("sealed_at".to_owned(), clock::now_seconds());
    Ok(Record {
        version: VERSION,
        tool: Tool::this(),
        kind: kind.to_owned(),
        at,
        gate,
        plan,
        identity,
        host,
        evidence,
        context,
        judgement,
        cancelled,
        labels,
        links: BTreeMap::new(),
        prev: None,
        seal: String::new(),
    })
}
