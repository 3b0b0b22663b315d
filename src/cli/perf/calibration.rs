//! One of several A/A sessions: equal arms, a fixed number of blocks, and a record that says what it was for.

use std::collections::BTreeMap;

use anyhow::Result;

use super::declare::cap_at;
pub use super::declare::shell_line;
use super::workspace::Declared;
use super::{Perf, gates};
use crate::model::plan::Plan;

/// The label of a record that was measured for the noise of its fixture.
pub const LABEL: &str = "noise";

/// What sets such a session apart.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Exactly this many blocks.
    pub blocks: u32,
    /// Which session of how many: `2 of 4`.
    pub label: String,
    /// The command that repeats all of them.
    pub command: String,
    /// The commit that both arms of a declared gate run.
    pub commit: Option<String>,
}

impl Perf {
    /// Measures one such session of every named gate, or of the commands.
    ///
    /// # Errors
    /// As [`Perf::run`].
    pub fn calibrate(&mut self, calibration: Calibration) -> Result<gates::Finished> {
        self.revisions = calibration.commit.clone().map(|commit| (commit.clone(), commit));
        self.calibration = Some(calibration);
        let declared = self.declared(&self.folder()?)?;
        self.records(&self.places()?, declared)
    }

    /// The plan with a fixed number of blocks. The declared cap stays in it: it is part of the identity that the noise is of.
    pub(super) fn fix(&self, plan: &mut Plan) {
        if let Some(calibration) = &self.calibration {
            plan.fixed = true;
            cap_at(plan, calibration.blocks);
        }
    }

    /// The gates with both arms set up as the base is, and measured although nothing tells them apart.
    pub(super) fn equal_arms(&self, gates: &mut [Declared]) {
        if self.calibration.is_some() {
            for gate in gates {
                gate.declaration.arms.b = gate.declaration.arms.a.clone();
                gate.declaration.arms.skip_identical = false;
            }
        }
    }

    /// What the record says that it was for.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.labels.clone();
        labels.extend(
            self.calibration
                .iter()
                .map(|calibration| (LABEL.to_owned(), calibration.label.clone())),
        );
        labels
    }
}
