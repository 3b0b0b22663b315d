//! The device was reset, or its memory failed.

use super::{Effect, Flag, Look};
use crate::model::host::machine::RESET_MESSAGES;
use crate::model::telemetry::{Trace, Watching};

/// The device was reset, or its memory failed.
pub const FLAG: Flag = Flag {
    name: "gpu_reset",
    about: "the kernel told of a reset, a hang or an uncorrectable error while the process ran, the count of such errors rose, or the device \
            refused to be read as it does in a reset",
    effect: Effect::Voids,
    attributable: true,
    limits: &[],
    look: Look::Process(look),
};

fn look(trace: &Trace, _: &Watching) -> Option<String> {
    let told = |message: &&String| RESET_MESSAGES.iter().any(|word| message.contains(word));
    if let Some(message) = trace.messages.iter().flatten().find(told) {
        return Some(format!("the kernel told {message:?}"));
    }
    trace.of_devices(|device| match device.uncorrectable {
        0 => device.missed.in_reset.then(|| "it refused to be read, as in a reset".to_owned()),
        errors => Some(format!("its memory had {errors} more uncorrectable errors")),
    })
}
