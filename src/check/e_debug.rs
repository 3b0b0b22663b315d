//! Variables that serialise, log or profile.

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Variables that serialise, log or profile.
pub const E_DEBUG: Check = Check {
    id: "E-DEBUG",
    source: "the environment",
    rule: "none / - / one",
    why: "A profiled or serialised run explains where time goes; it is no measurement of it.",
    hint: "Unset it for the measurement.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let on = |(name, value): &(&String, &String)| match name.as_str() {
        "AMD_LOG_LEVEL" | "HIP_LAUNCH_BLOCKING" | "AMD_SERIALIZE_KERNEL" | "AMD_SERIALIZE_COPY" => !value.is_empty() && *value != "0",
        "HSA_ENABLE_SDMA" => *value == "0",
        "LD_PRELOAD" => value.contains("rocprof"),
        name => (name.starts_with("ROCP") || name.starts_with("HIPFIRE_PROFILE")) && !value.is_empty() && *value != "0",
    };
    let look = match machine.env.iter().find(on) {
        None => (Level::Pass, "none is set".to_owned()),
        Some((name, value)) => (Level::Fail, format!("{name}={value}")),
    };
    sight("none of them", look)
}
