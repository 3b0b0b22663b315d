//! The first line of a session: everything that is known before a process runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::arms::Arms;
use super::declare::{Declared, env_facts};
use crate::edge::device::Gpu;
use crate::edge::session::{Header, VERSION};
use crate::edge::{clock, environment, host};
use crate::model::host::Host;
use crate::model::identity::{ArmIdentity, Facts, Identity, Unknown};
use crate::model::record::digest;
use crate::model::sample::{Arm, PerArm};

/// Variables that select a device: recorded set or unset.
const DEVICE_VARIABLES: [&str; 4] = [
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
];

/// The session's first line.
pub fn header(declared: Declared, arms: &Arms, ledger: PathBuf, labels: BTreeMap<String, String>, root: &Path) -> Header {
    let at = clock::now();
    let identity = identity(&declared, arms, root);
    let Declared { gate, plan, context, .. } = declared;
    // The name must be new: time to the microsecond, process number, and what is compared.
    let salt = format!("{at} {} {}", std::process::id(), gate.digest);
    let stamp: String = at.chars().filter(char::is_ascii_alphanumeric).take(15).collect();
    let id = format!(
        "{}-{}",
        stamp.to_lowercase(),
        digest(salt.as_bytes()).trim_start_matches("b3:").get(..6).unwrap_or_default()
    );
    Header {
        version: VERSION,
        id,
        at,
        gate,
        plan,
        identity,
        host: Host::default(),
        context,
        labels,
        ledger,
    }
}

/// What is measured on what; the machine's files stand under `root`.
pub fn identity(declared: &Declared, arms: &Arms, root: &Path) -> Identity {
    let plan = &declared.plan;
    let mut machine = host::read(root);
    if !declared.devices.is_empty() {
        let of = |fact: fn(&Gpu) -> &String| declared.devices.iter().map(fact).cloned().collect::<Vec<String>>();
        machine.gpu.insert("archs".to_owned(), json!(of(|gpu| &gpu.arch)));
        machine.gpu.insert("pci".to_owned(), json!(of(|gpu| &gpu.bdf)));
    }
    let mut missing = machine.missing;
    let unknown = Arm::BOTH.into_iter().find_map(|arm| arms.sources.of(arm).as_ref().err().cloned());
    missing.extend(unknown.map(|why| Unknown {
        field: "source".to_owned(),
        why,
    }));
    let arm = |arm: Arm| ArmIdentity {
        source: arms.sources.of(arm).clone().ok(),
        artifacts: arms.artifacts.of(arm).clone(),
    };
    let devices: Value = DEVICE_VARIABLES
        .iter()
        .map(|name| ((*name).to_owned(), device_variable(name)))
        .collect();
    let mut config = vec![
        ("cwd", json!(plan.cwd)),
        ("env", env_facts(&declared.env)),
        ("pass_env", json!(declared.pass_env)),
        ("removed_env", json!(arms.removed)),
        ("devices", devices),
    ];
    config.extend(declared.settings.iter().map(|(name, value)| (name.as_str(), value.clone())));
    if !arms.recorded.is_empty() {
        config.push(("record_env", json!(arms.recorded)));
    }
    let mut policy = vec![
        ("process", json!("fresh")),
        ("warmup_runs", json!(plan.warmup_runs)),
        ("order", json!(plan.order)),
        ("max_blocks", json!(plan.max_blocks)),
    ];
    // Only where one is declared: without it nothing is said that older records do not say.
    policy.extend(plan.warmup.as_ref().map(|warmup| ("warmup", json!(warmup))));
    let facts = |pairs: &[(&str, Value)]| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect::<Facts>()
    };
    Identity {
        arms: PerArm {
            a: arm(Arm::A),
            b: arm(Arm::B),
        },
        model: arms.model.clone(),
        prompt: arms.prompt.clone(),
        gpu: machine.gpu,
        config: facts(&config),
        policy: facts(&policy),
        machine: machine.machine,
        missing,
    }
}

/// The value of a variable that selects a device; null where it is not set.
pub fn device_variable(name: &str) -> Value {
    environment::value(name).map_or(Value::Null, Value::from)
}
