//! What came back from one process.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figure::Missing;
use super::telemetry::Telemetry;

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Arm {
    /// The base: what the candidate is compared with.
    A,
    /// The candidate: what is judged.
    B,
}

impl Arm {
    /// The two arms, base first.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];
}

impl fmt::Display for Arm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// One value for each arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerArm<T> {
    /// The base's.
    #[serde(rename = "A")]
    pub a: T,
    /// The candidate's.
    #[serde(rename = "B")]
    pub b: T,
}

impl<T> PerArm<T> {
    /// The value of one arm.
    pub fn of(&self, arm: Arm) -> &T {
        match arm {
            Arm::A => &self.a,
            Arm::B => &self.b,
        }
    }

    /// The value of one arm, to change it.
    pub fn of_mut(&mut self, arm: Arm) -> &mut T {
        match arm {
            Arm::A => &mut self.a,
            Arm::B => &mut self.b,
        }
    }
}

/// What a sample belongs to besides its arm.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The fixture's name; empty where the gate declares none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fixture: String,
}

/// One planned process: where it stands in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// What it measures.
    pub cell: Cell,
    /// Block number within the cell, from 0.
    pub block: u32,
    /// Place in the block, 0 to 3; of a warm-up, its place in the warm-up.
    pub position: u32,
    /// 0, or how often the block was run before.
    pub attempt: u32,
    /// Which arm runs.
    pub arm: Arm,
    /// A discarded run before the first block.
    pub warmup: bool,
}

/// A declared, value-blind reason to leave a block out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Void {
    /// The id of the declared check that fired on this sample.
    pub check: String,
    /// What was seen.
    pub why: String,
    /// Whether the candidate's own load can have caused it (throttling, clocks), so that it counts in the balance over arms.
    pub attributable: bool,
}

/// What came back from one process; one process is one sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Place in the session, from 0, warm-ups included.
    pub seq: u32,
    /// What it measured.
    pub cell: Cell,
    /// Block number within the cell, from 0.
    pub block: u32,
    /// Place in the block, 0 to 3; of a warm-up, its place in the warm-up.
    pub position: u32,
    /// 0, or how often the block was run before.
    #[serde(rename = "try")]
    pub attempt: u32,
    /// Which arm ran.
    pub arm: Arm,
    /// Process id.
    pub pid: u32,
    /// When the process was started, RFC 3339 with microseconds, UTC.
    pub start: String,
    /// Exit code; null where a signal or the time limit ended the process.
    pub exit: Option<i32>,
    /// Why the process itself counts as failed; absent where it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Measured figures by metric name, in the metric's unit; `wall_s`, `cpu_s` and `peak_rss_bytes` are always there.
    pub values: BTreeMap<String, f64>,
    /// The standard errors of figures whose tool states one, in the metric's unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub standard_errors: BTreeMap<String, f64>,
    /// Declared metrics without a figure, each with its reason.
    pub missing: BTreeMap<String, Missing>,
    /// Facts about the process that are not figures.
    pub detail: BTreeMap<String, serde_json::Value>,
    /// Set on the sample that voids its block.
    pub void: Option<Void>,
    /// A discarded run before the first block.
    pub warmup: bool,
    /// Ran under a profiler: explains, never judges.
    pub profiled: bool,
    /// What the host was doing meanwhile; null where nothing was sampled.
    pub telemetry: Option<Box<Telemetry>>,
}

impl Sample {
    /// The figure of a metric, if it has one.
    pub fn value(&self, metric: &str) -> Option<f64> {
        find(&self.values, metric).copied()
    }

    /// Why a metric has no figure, if a reason is given.
    pub fn missing(&self, metric: &str) -> Option<&Missing> {
        find(&self.missing, metric)
    }
}

/// A search for equality and not for order: names of another length are passed over without being read, and every sample of a session is
/// asked after every process.
fn find<'a, T>(map: &'a BTreeMap<String, T>, name: &str) -> Option<&'a T> {
    map.iter().find_map(|(key, value)| (key == name).then_some(value))
}
