//! Whether the endpoint that is served here is well.

use super::{Check, Sight, level, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Whether the endpoint that is served here is well.
pub const S_ENDPOINT: Check = Check {
    id: "S-ENDPOINT",
    source: "one request to the declared endpoint, within 5 s",
    rule: "it answers with success (2xx) / - / another status, or no answer",
    why: "What is measured of a server that still loads, or that another program stands in for, is not the server.",
    hint: "Wait until the server has loaded its model, or name the address of its health, with `--endpoint` or in the profile.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    declared.endpoint.as_ref()?;
    let look = match &machine.programs.endpoint {
        Some(Ok(status)) => (level((200..300).contains(status)), format!("it answers with status {status}")),
        Some(Err(why)) => (Level::Fail, why.clone()),
        None => (Level::Unknown, "nobody asked it: a replayed machine has none".to_owned()),
    };
    sight("success", look)
}
