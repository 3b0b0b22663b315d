//! What was measured on what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{canonical, digest};
use super::sample::PerArm;

/// Named facts of one part of an identity.
///
/// `{"state": "none"}` is known and equal to itself; an empty map is unknown, and then `missing` says why.
pub type Facts = BTreeMap<String, Value>;

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
    /// Id of the measured tree in hex, changed and new files included; absent where the arm is no tree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// A file that ran, or that was read for its results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// `executable`, `interpreter`, `script`, `argument` (another file that the command names) or `artifact` (what a build left);
    /// `results`, `baseline` or `samples` of scores.
    pub role: String,
    /// Where it was found.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// MD5 in hex: the field's convention for inputs. Absent of `samples`, which may be large and are read once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub md5: Option<String>,
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

    /// The architecture that a baseline of this machine is named after: the device's gfx name, else `cpu-x86_64` and the like; none where
    /// several devices differ, or neither is known.
    pub fn arch(&self) -> Option<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(arch) = self.gpu.get("arch").and_then(text) {
            return Some(arch);
        }
        if let Some(archs) = self.gpu.get("archs").and_then(Value::as_array) {
            let first = archs.first()?;
            return archs.iter().all(|arch| arch == first).then(|| text(first)).flatten();
        }
        self.machine.get("arch").and_then(text)
    }

    /// One part, or one field of a part (`gpu.product`), of what may have to equal a baseline's; none where it is not recorded.
    fn part(&self, name: &str) -> Option<Value> {
        let (part, field) = name.split_once('.').map_or((name, None), |(part, field)| (part, Some(field)));
        let mut facts = match part {
            "model" => &self.model,
            "prompt" => &self.prompt,
            "gpu" => &self.gpu,
            "config" => &self.config,
            "policy" => &self.policy,
            "machine" => &self.machine,
            _ => return None,
        }
        .clone();
        if let Some(field) = field {
            // Where a part is known to be absent, so is every field of it.
            return if facts == none() {
                serde_json::to_value(facts).ok()
            } else {
                facts.remove(field)
            };
        }
        if part == "config" {
            PLACES.iter().for_each(|place| drop(facts.remove(*place)));
        }
        (!facts.is_empty()).then(|| serde_json::to_value(facts).ok()).flatten()
    }
}

/// What a gate may want to equal a baseline's: parts of an identity, and fields of parts.
pub const COMPARABLE: &[&str] = &[
    "model",
    "prompt",
    "gpu",
    "config",
    "policy",
    "gpu.archs",
    "gpu.driver",
    "gpu.firmware",
    "gpu.pci",
    "gpu.product",
    "gpu.rocm",
    "machine.cpu",
    "machine.governor",
    "machine.kernel",
];

/// What has to equal a baseline's where the gate does not say: on a GPU its product, driver and firmware tell machines apart, without one the
/// processor does.
pub fn equal_by_default(arch: &str) -> Vec<String> {
    let parts = ["model", "prompt", "gpu", "config", "policy"];
    let processor = arch.starts_with("cpu-").then_some("machine.cpu");
    parts.into_iter().chain(processor).map(str::to_owned).collect()
}

/// Configuration that says where a process ran and what it was not given: it changes from checkout to checkout and explains no figure.
const PLACES: [&str; 2] = ["cwd", "removed_env"];

/// The digest of the fields that must equal a baseline's: 8 hex digits. What runs, the build, is not among them.
///
/// # Errors
/// The fields that are not known: they equal nothing.
pub fn identity_digest(identity: &Identity, equal: &[String]) -> Result<String, Vec<Unknown>> {
    let mut parts = BTreeMap::new();
    let mut unknown = Vec::new();
    for name in equal {
        let below = format!("{name}.");
        let missing = identity
            .missing
            .iter()
            .filter(|missing| missing.field == *name || missing.field.starts_with(&below));
        unknown.extend(missing.cloned());
        match identity.part(name) {
            Some(value) => drop(parts.insert(name, value)),
            None if unknown.iter().any(|known| known.field == *name) => {}
            None => unknown.push(Unknown {
                field: name.clone(),
                why: "not recorded".to_owned(),
            }),
        }
    }
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let text = canonical(&serde_json::json!(parts));
    Ok(hex_of(text.as_bytes(), 8))
}

/// The digest of what one arm runs: 12 hex digits over role and contents of every file, wherever the files stand; none where none is known.
pub fn build_digest(arm: &ArmIdentity) -> Option<String> {
    let mut files: Vec<String> = arm
        .artifacts
        .iter()
        .map(|artifact| format!("{} {}", artifact.role, artifact.blake3))
        .collect();
    files.sort_unstable();
    (!files.is_empty()).then(|| hex_of(files.join("\n").as_bytes(), 12))
}

fn hex_of(bytes: &[u8], digits: usize) -> String {
    digest(bytes).chars().skip("b3:".len()).take(digits).collect()
}
