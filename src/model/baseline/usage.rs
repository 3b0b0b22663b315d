//! What a record keeps of the baseline that it was judged with, so that it can be judged again without the file.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BandLine, Baseline, SampleLine};
use crate::model::gate::Gate;
use crate::model::sample::Cell;

/// After how many days a session is called old, where nothing else is said.
pub const STALE_AFTER_DAYS: u32 = 30;

/// Where a baseline was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Its path as a person would name it: `baselines/gfx942.txt`.
    pub file: String,
    /// `b3:` and the BLAKE3 of its bytes; none where there is no such file.
    pub digest: Option<String>,
    /// The revision that it was read from; none for the working tree.
    pub from: Option<String>,
    /// The day of the judgement, `YYYY-MM-DD`, UTC.
    pub today: String,
    /// From which age on a session is called old, in days.
    pub stale_after_days: u32,
}

/// The baseline that a session is judged with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineUse {
    /// Its path as a person would name it.
    pub file: String,
    /// `b3:` and the BLAKE3 of its bytes; null where there is no such file.
    pub digest: Option<String>,
    /// The architecture that it speaks of.
    pub arch: String,
    /// The revision that it was read from; null for the working tree.
    pub from: Option<String>,
    /// The sessions of the measured fixtures and metrics, in the order of the file.
    pub lines: Vec<SampleLine>,
    /// The day of the judgement, `YYYY-MM-DD`, UTC.
    pub today: String,
    /// From which age on a session is called old, in days.
    pub stale_after_days: u32,
}

impl BaselineUse {
    /// What a session of this gate and these cells needs of a baseline; `baseline` is none where there is no file.
    ///
    /// Lines of a measured fixture or a measured metric are kept, so that a renamed one is recognised; all others are foreign.
    pub fn select(baseline: Option<&Baseline>, source: Source, gate: &Gate, cells: &[Cell]) -> Self {
        let fixtures: HashSet<&str> = cells.iter().map(|cell| cell.fixture.as_str()).collect();
        let metrics: HashSet<&str> = gate.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let fixture = |name: &str| fixtures.contains(name);
        let metric = |name: &str| metrics.contains(name);
        let lines = baseline
            .into_iter()
            .flat_map(Baseline::samples)
            .filter(|line| fixture(&line.fixture) || metric(&line.metric));
        let Source {
            file,
            digest,
            from,
            today,
            stale_after_days,
        } = source;
        Self {
            arch: baseline.map_or_else(|| super::arch_of_file(&file).to_owned(), |baseline| baseline.arch.clone()),
            file,
            digest,
            from,
            lines: lines.cloned().collect(),
            today,
            stale_after_days,
        }
    }
}

impl Baseline {
    /// The accepted noise of what a session of this gate and these cells measures.
    pub fn bands_of(&self, gate: &Gate, cells: &[Cell]) -> Vec<BandLine> {
        let measured = |band: &&BandLine| {
            let named = gate.metrics.iter().any(|metric| metric.name == band.metric);
            named && gate.measures(&band.fixture, &band.metric) && cells.iter().any(|cell| cell.fixture == band.fixture)
        };
        self.bands().filter(measured).cloned().collect()
    }
}
