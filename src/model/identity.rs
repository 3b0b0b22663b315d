//! What was measured on what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sample::PerArm;

/// Named facts of one part of an identity.
///
/// `{"state": "none"}` is known and equal to itself; an empty map is unknown, and then `missing` says why.
pub type Facts = BTreeMap<String, serde_json::Value>;

/// A part that is known to be absent: no model declared, no GPU in the machine.
pub fn none() -> Facts {
    Facts::from([("state".to_owned(), "none".into())])
}

/// The version-control state behind an arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Branch name; absent with a detached HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit id in hex.
    pub commit: String,
    /// Whether tracked files differ from the commit, or untracked files that are not ignored exist.
    pub dirty: bool,
}

/// A file that ran, or that an interpreter ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// `executable`, `interpreter` or `script`.
    pub role: String,
    /// Where it was found.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// MD5 in hex: the field's convention for inputs.
    pub md5: String,
    /// BLAKE3 in hex.
    pub blake3: String,
}

/// One arm's part of the identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmIdentity {
    /// Version-control state; null where it is unknown.
    pub source: Option<Source>,
    /// What ran.
    pub artifacts: Vec<Artifact>,
}

/// An identity field without a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// The field, for example `source` or `gpu.product`.
    pub field: String,
    /// Why it is not known.
    pub why: String,
}

/// What was measured on what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// What differs between the arms.
    pub arms: PerArm<ArmIdentity>,
    /// The model file; none where the gate declares none.
    pub model: Facts,
    /// The prompt file; none where the gate declares none.
    pub prompt: Facts,
    /// The device; none on a machine without one.
    pub gpu: Facts,
    /// Declared environment, set or unset, what was withheld, and the working folder.
    pub config: Facts,
    /// Process policy: fresh processes, warm-up, order, cap.
    pub policy: Facts,
    /// Kernel, processor, governor, load.
    pub machine: Facts,
    /// What is not known, each with its reason.
    pub missing: Vec<Unknown>,
}

impl Identity {
    /// Why a field of a gate's `complete` list is not known, if it is not.
    pub fn unknown(&self, field: &str) -> Option<String> {
        let known = match field {
            "source" => self.arms.a.source.is_some() && self.arms.b.source.is_some(),
            "artifacts" => !self.arms.a.artifacts.is_empty() && !self.arms.b.artifacts.is_empty(),
            "model" => !self.model.is_empty(),
            "prompt" => !self.prompt.is_empty(),
            "gpu" => !self.gpu.is_empty(),
            "config" => !self.config.is_empty(),
            "policy" => !self.policy.is_empty(),
            _ => false,
        };
        if known && !self.missing.iter().any(|unknown| unknown.field == field) {
            return None;
        }
        let why = self
            .missing
            .iter()
            .find(|unknown| unknown.field == field)
            .map_or("not recorded", |unknown| &unknown.why);
        Some(why.to_owned())
    }
}
