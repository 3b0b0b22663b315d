//! A plan: the order of the processes and the rule of stopping, written before the first of them runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sample::{Arm, Cell, PerArm};
use super::telemetry::Watching;

/// Smallest and largest cap of a plan with looks, in blocks.
pub const MAX_BLOCKS: std::ops::RangeInclusive<u32> = 2..=28;
/// Error rates that a plan may ask for. Below 1e-6 the critical values leave the range in which they are verified.
pub const ERROR_RATE: std::ops::Range<f64> = 1e-6..0.5;

/// What the comparison is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Catch slowdowns of the tolerance.
    Gate,
    /// Show a claimed gain.
    Promote,
}

/// How blocks are oriented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// ABBA, or BAAB where the block number has an odd number of one bits: 2^p blocks cancel every drift of degree up to p + 1 (Prouhet).
    ThueMorse,
    /// ABBA throughout: cancels linear drift, keeps a curved one and a slow first run of a block for ever.
    Abba,
}

impl Order {
    /// The orientation of a block, counted from 0.
    pub const fn orientation(self, block: u32) -> Orientation {
        match self {
            Self::ThueMorse if block.count_ones() % 2 == 1 => Orientation::Baab,
            Self::ThueMorse | Self::Abba => Orientation::Abba,
        }
    }
}

/// The order of the arms within one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Orientation {
    /// Base outside, candidate inside.
    Abba,
    /// Candidate outside, base inside.
    Baab,
    /// A single run of the candidate: there is no base arm, or nothing shows that the arms took turns.
    B,
    /// A single run of the base, where nothing shows that the arms took turns.
    A,
}

impl Orientation {
    /// The arms in slot order.
    pub const fn arms(self) -> &'static [Arm] {
        match self {
            Self::Abba => &[Arm::A, Arm::B, Arm::B, Arm::A],
            Self::Baab => &[Arm::B, Arm::A, Arm::A, Arm::B],
            Self::B => &[Arm::B],
            Self::A => &[Arm::A],
        }
    }
}

/// What an inconclusive answer does to the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// Exit 3.
    Fail,
    /// Exit 0; the outcome stays inconclusive.
    Advisory,
}

/// A helper that brings the clocks up, once, before the first process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warmup {
    /// Its program: `gate-ocl` or `gate-hip`.
    pub helper: String,
    /// For how long it works at a time.
    pub seconds: u32,
}

/// The declared order of processes and rule of stopping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// What the comparison is for.
    pub objective: Objective,
    /// How blocks are oriented.
    pub order: Order,
    /// The orientation of every block up to the cap; each cell runs them in this order.
    pub blocks: Vec<Orientation>,
    /// After how many valid blocks the rule is evaluated; they follow from the cap, and others are refused.
    pub looks: Vec<u32>,
    /// What is measured: one cell a fixture.
    pub cells: Vec<Cell>,
    /// The declared cap in blocks, before the session's length cut it.
    pub max_blocks: u32,
    /// Exactly `max_blocks` blocks and a single look after the last.
    pub fixed: bool,
    /// False alarms where nothing got slower, over all buckets of the session.
    pub alpha: f64,
    /// Missed slowdowns of the tolerance, for each bucket.
    pub beta: f64,
    /// The slowdown that counts as none, in the tolerance's scale.
    pub null_margin: f64,
    /// Share of alpha and beta that the exact rank look at the cap keeps back.
    pub rank_share: f64,
    /// Smallest run-to-run noise that the engine believes, relative.
    pub min_run_cv: f64,
    /// Discarded processes per arm and cell before the first block.
    pub warmup_runs: u32,
    /// The helper that brings the clocks up before them, where one is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Warmup>,
    /// How many blocks may be voided before the answer is inconclusive.
    pub max_void_blocks: u32,
    /// How often the same comparison may be tried before the answer is inconclusive; 0 for no limit.
    #[serde(default)]
    pub max_attempts: u32,
    /// Failed requests that a tool may report without failing its run, in percent.
    #[serde(default, skip_serializing_if = "is_none_allowed")]
    pub max_failed_pct: f64,
    /// Time limit of one process, in seconds.
    pub timeout_s: f64,
    /// Length limit of the session, in seconds.
    pub max_session_s: f64,
    /// What an inconclusive answer does to the exit code.
    pub on_inconclusive: OnInconclusive,
    /// The adapter that reads each process's output.
    pub extract: String,
    /// The argument vector of each arm, as given.
    pub commands: PerArm<Vec<String>>,
    /// The folder in which every process runs.
    pub cwd: String,
    /// What is watched of the machine while a process runs; absent where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Watching>,
    /// `b3:` and the BLAKE3 of what [`super::record::plan_digest`] covers; empty until the plan is complete.
    pub digest: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none_allowed(pct: &f64) -> bool {
    *pct == 0.0
}

impl Plan {
    /// The plan of evidence that another tool measured: nothing is run, so there is no order and no look.
    pub fn of_results(extract: String, cwd: String) -> Self {
        Self {
            objective: Objective::Gate,
            order: Order::ThueMorse,
            blocks: Vec::new(),
            looks: Vec::new(),
            cells: Vec::new(),
            max_blocks: 0,
            fixed: false,
            alpha: 0.05,
            beta: 0.05,
            null_margin: 0.0,
            rank_share: 0.25,
            min_run_cv: 0.0005,
            warmup_runs: 0,
            warmup: None,
            telemetry: None,
            max_void_blocks: 0,
            max_attempts: 0,
            timeout_s: 0.0,
            max_session_s: 0.0,
            max_failed_pct: 0.0,
            on_inconclusive: OnInconclusive::Fail,
            extract,
            commands: PerArm::default(),
            cwd,
            digest: String::new(),
        }
    }

    /// The arms that run: both, or the candidate alone.
    pub fn sides(&self) -> &'static [Arm] {
        let alone = |block: &Orientation| *block == Orientation::B;
        if !self.blocks.is_empty() && self.blocks.iter().all(alone) {
            &[Arm::B]
        } else {
            &Arm::BOTH
        }
    }

    /// Whether there are runs of both arms, but nothing shows that they took turns: the candidate's first, then the base's.
    pub fn is_apart(&self) -> bool {
        self.blocks.contains(&Orientation::A)
    }
}
