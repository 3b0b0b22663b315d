//! The record: everything that a judgement rests on, and the judgement, in one sealed line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::baseline::{BandLine, BaselineUse};
use super::canonical::Canonical;
use super::evidence::Evidence;
use super::gate::Gate;
use super::gate::waiver::Waiver;
use super::host::Host;
use super::identity::Identity;
use super::judgement::Judgement;
use super::plan::Plan;
use super::text::plain_line;

/// The record format's version.
pub const VERSION: u32 = 1;

/// Which program wrote the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `gate`.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Tool {
    /// This program.
    pub fn this() -> Self {
        Self {
            name: "gate".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Which commit is the base, and how it was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// Commit id in hex; null where the base is a command and not a commit.
    pub commit: Option<String>,
    /// How it was chosen.
    pub why: String,
}

/// What surrounds the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// The base arm's choice.
    pub base: Base,
    /// The commit that the result answers for; absent where no revision was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Which attempt at the same comparison this is, from 1.
    pub attempt: u32,
    /// Accepted noise bands of the measured buckets.
    pub band: Vec<BandLine>,
    /// Waivers of this gate that hold on the day of the record.
    pub waivers: Vec<Waiver>,
    /// What a reviewer must see: changed gates, changed harness.
    pub banners: Vec<String>,
    /// The baseline that it is judged with; null where none was named.
    pub baseline: Option<BaselineUse>,
    /// Set where the change touches nothing that the gate guards: why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaffected: Option<String>,
    /// Both arms were made of equal inputs and came out equal, and the gate declares that such a pair need not be measured.
    #[serde(default, skip_serializing_if = "is_false")]
    pub identical: bool,
    /// The base does not have the gate yet: it runs, and only advises.
    #[serde(default, skip_serializing_if = "is_false")]
    pub new_gate: bool,
    /// The other gates of the same run that owe a record of their own: without it these records are no whole answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Files of the measuring code itself that differ between the arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_harness: Vec<String>,
    /// The command that repeats the measurement.
    pub command: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Everything that a judgement rests on, and the judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The format's version.
    pub version: u32,
    /// Who wrote it.
    pub tool: Tool,
    /// `perf` or `eval`.
    pub kind: String,
    /// When the plan was written, RFC 3339, UTC.
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
    /// The signal that ended the run, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<String>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// Related records by relation.
    pub links: BTreeMap<String, String>,
    /// The seal of the ledger line before this one; set in ledgers.
    pub prev: Option<String>,
    /// `b3:` and the BLAKE3 of the canonical JSON without this field.
    pub seal: String,
}

/// `b3:` and the BLAKE3 of some bytes.
pub fn digest(bytes: &[u8]) -> String {
    format!("b3:{}", blake3::hash(bytes).to_hex())
}

/// The first twelve hex digits of a digest or seal, for people. Whatever else stands in its place is made safe to show.
pub fn short(digest: &str) -> String {
    let digits: String = digest.trim_start_matches("b3:").chars().take(12).collect();
    plain_line(&digits, 12)
}

/// The canonical form of a JSON value: compact, keys sorted, numbers in their shortest exact form.
///
/// `serde_json` keeps objects in sorted maps, so its compact form is canonical.
pub fn canonical(value: &Value) -> String {
    value.to_string()
}

/// The seal of a record's JSON: the digest of its canonical form without `seal`.
pub fn seal(record: &Value) -> String {
    let mut record = record.clone();
    if let Value::Object(fields) = &mut record {
        fields.remove("seal");
    }
    digest(canonical(&record).as_bytes())
}

/// The seal of what is sealed like a record, and its canonical line with that seal.
pub(super) fn seal_line(of: &impl Serialize) -> serde_json::Result<(String, String)> {
    let written = Canonical::of(of)?;
    let (before, after) = written.around("seal");
    let covered = blake3::Hasher::new().update(before.as_bytes()).update(after.as_bytes()).finalize();
    let seal = format!("b3:{}", covered.to_hex());
    let line = written
        .with("seal", &seal)
        .ok_or_else(|| serde_json::Error::custom("it has no seal"))?;
    Ok((seal, line))
}

/// The digest of a complete plan, from the JSON of its record.
///
/// It covers what must not change between the declaration and the verdict: the plan itself, the metrics with their tolerances, the
/// rules, the digests of everything that runs, and the declared environment. It is taken from the JSON as it stands and not from what
/// this version reads in it, so that a field which a later version adds does not change the digest of an older record.
pub fn plan_digest(record: &Value) -> String {
    let (gate, identity) = (&record["gate"], &record["identity"]);
    let mut plan = record["plan"].clone();
    plan["digest"] = "".into();
    let mut covered = serde_json::json!({
        "plan": plan,
        "metrics": gate["metrics"],
        "rules": gate["rules"],
        "complete": gate["complete"],
        "artifacts": [identity["arms"]["A"]["artifacts"], identity["arms"]["B"]["artifacts"]],
        "config": identity["config"],
    });
    for name in ["equal", "scores"] {
        if let Some(stated) = gate.get(name) {
            covered[name] = stated.clone();
        }
    }
    digest(canonical(&covered).as_bytes())
}

/// The digest of a plan that is about to be followed, as [`plan_digest`] will find it in the record.
///
/// # Errors
/// When a number in the plan is not finite.
pub fn digest_of_plan(plan: &Plan, gate: &Gate, identity: &Identity) -> serde_json::Result<String> {
    let record = serde_json::json!({
        "plan": serde_json::to_value(plan)?,
        "gate": serde_json::to_value(gate)?,
        "identity": serde_json::to_value(identity)?,
    });
    Ok(plan_digest(&record))
}

impl Record {
    /// The record with its place in a ledger and its seal set, and its [`Record::line`].
    ///
    /// # Errors
    /// When the record cannot be written as JSON.
    pub fn sealed(mut self, prev: Option<String>) -> serde_json::Result<(Self, String)> {
        self.prev = prev;
        let (seal, line) = seal_line(&self)?;
        self.seal = seal;
        Ok((self, line))
    }

    /// The record as one canonical line, without the line's end.
    ///
    /// # Errors
    /// When the record cannot be written as JSON.
    pub fn line(&self) -> serde_json::Result<String> {
        Ok(Canonical::of(self)?.into_text())
    }
}
