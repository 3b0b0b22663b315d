//! Where the driver comes from.

use super::{Check, Sight, level, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::{Declared, Origin};

/// Where the driver comes from.
pub const D_DKMS: Check = Check {
    id: "D-DKMS",
    source: "the module's taint, /lib/modules, /var/lib/dkms",
    rule: "as declared / its signs disagree / otherwise",
    why: "A driver built outside of the kernel may shadow the one that was meant.",
    hint: "Remove or install `amdgpu-dkms`, then restart the machine.",
    explained_by: &[],
    look,
};

fn look(machine: &Machine, declared: &Declared) -> Option<Sight> {
    let wanted = declared.driver?;
    let is_dkms = machine.driver.is_dkms();
    let word = |dkms: bool| {
        if dkms {
            "built outside of the kernel"
        } else {
            "part of the kernel"
        }
    };
    let look = match (is_dkms, wanted) {
        (None, _) => (Level::Warn, "its signs disagree".to_owned()),
        (Some(dkms), Origin::Any) => (Level::Pass, word(dkms).to_owned()),
        (Some(dkms), _) => (level(dkms == (wanted == Origin::Dkms)), word(dkms).to_owned()),
    };
    sight(
        match wanted {
            Origin::Any => "signs that agree",
            Origin::Dkms => word(true),
            Origin::Inbox => word(false),
        },
        look,
    )
}
