//! The variables that GPU runtimes and their libraries read.

use std::collections::BTreeMap;

use super::snapshot::Entry;
use super::source::Source;
use crate::model::variable::is_held_back;

/// Where snapshots keep them.
const KEPT: &str = "env.json";
/// What stands in the place of a value that may be a secret.
const WITHHELD: &str = "set (withheld)";
/// How the names begin.
const FAMILIES: [&str; 18] = [
    "AITER_",
    "AMD_",
    "GPU_",
    "HIPBLASLT_",
    "HIP_",
    "HSA_",
    "MIOPEN_",
    "NCCL_",
    "PYTORCH_",
    "RCCL_",
    "ROCBLAS_",
    "ROCP",
    "ROCR_",
    "TENSILE_",
    "TORCH",
    "TRITON_",
    "VLLM_",
    "HIPFIRE_PROFILE",
];
/// Whole names.
const NAMES: [&str; 3] = ["CUDA_VISIBLE_DEVICES", "LD_PRELOAD", "OMP_NUM_THREADS"];

/// Those that are set: of this process, or as a snapshot keeps them.
pub fn read(source: &Source) -> BTreeMap<String, String> {
    if !source.is_here() {
        return source.parse(KEPT, |text| serde_json::from_str(text).ok()).unwrap_or_default();
    }
    let set: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| is_read(name))?;
            let value = if is_held_back(&name) {
                WITHHELD.to_owned()
            } else {
                value.to_string_lossy().into_owned()
            };
            Some((name, value))
        })
        .collect();
    source.remember(KEPT, Entry::Text(serde_json::json!(set).to_string()));
    set
}

fn is_read(name: &str) -> bool {
    NAMES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}
