//! More queues than the device has.

use super::{Effect, Flag, Look};
use crate::model::host::machine::OVERSUBSCRIBED_MESSAGE;
use crate::model::telemetry::{Trace, Watching};

/// More queues than the device has.
pub const FLAG: Flag = Flag {
    name: "oversubscribed",
    about: "the kernel told while the process ran that queues take turns on the device",
    effect: Effect::Voids,
    attributable: true,
    limits: &[],
    look: Look::Process(look),
};

fn look(trace: &Trace, _: &Watching) -> Option<String> {
    let message = trace
        .messages
        .iter()
        .flatten()
        .find(|message| message.contains(OVERSUBSCRIBED_MESSAGE))?;
    Some(format!("the kernel told {message:?}"))
}
