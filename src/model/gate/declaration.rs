//! What a gate file declares, after every key was checked. See `docs/formats.md` for the file itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::scores::ModelName;
use super::{Against, Rule};
use crate::model::eval::Extent;
use crate::model::metric::{Better, Metric, Role, Tolerance};
pub use crate::model::plan::Warmup;
use crate::model::plan::{Objective, OnInconclusive, Order};
use crate::model::unit::Unit;

/// Where a gate's evidence comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `gate` runs the command itself.
    Run,
    /// Another tool's result files.
    Ingest,
}

/// A gate file.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// What it guards, in one sentence; empty where it does not say.
    pub about: String,
    /// Where its evidence comes from.
    pub source: Source,
    /// Paths that concern it, as patterns; none means every change.
    pub when: Vec<String>,
    /// How one arm becomes runnable.
    pub arms: Arms,
    /// A server under test.
    pub serve: Option<Serve>,
    /// The measured command; set where `source` is `run`.
    pub run: Option<Run>,
    /// Where results are read from; set where `source` is `ingest`.
    pub ingest: Option<Ingest>,
    /// Order, looks, limits.
    pub plan: PlanKeys,
    /// What is watched of the machine while a process runs.
    pub telemetry: TelemetryKeys,
    /// Inputs; a single nameless one where the file declares none.
    pub fixtures: Vec<Fixture>,
    /// What is measured; `wall_s` where a file of source `run` declares none, and empty where `source` is `ingest`.
    pub metrics: Vec<Series>,
    /// What is required of it; `hold` against the base where the file declares none.
    pub rules: Vec<DeclaredRule>,
    /// What else must be so.
    pub require: Require,
}

impl Declaration {
    /// The rules as they are judged beside a base arm, or without one: what the file does not call required or advisory is
    /// required against the base, and against the baseline where there is no base arm.
    pub fn rules_for(&self, base_arm: bool) -> Vec<Rule> {
        let settled = self.rules.iter().map(|declared| Rule {
            required: declared.required.unwrap_or(!base_arm || declared.rule.against == Against::Base),
            ..declared.rule.clone()
        });
        settled.collect()
    }
}

/// A rule, and whether the file itself says that it is required.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredRule {
    /// What the file says.
    pub required: Option<bool>,
    /// The rule, `required` as beside a base arm.
    pub rule: Rule,
}

/// How one arm becomes runnable.
#[derive(Debug, Clone, PartialEq)]
pub struct Arms {
    /// Argument vectors, run one after the other in the arm's tree.
    pub build: Vec<Vec<String>>,
    /// Limit of all of them together.
    pub build_timeout: Duration,
    /// Patterns of the files that are digested and kept.
    pub artifacts: Vec<String>,
    /// Variables of build and run, of both arms.
    pub env: BTreeMap<String, String>,
    /// Whether submodules are checked out.
    pub submodules: bool,
    /// Whether equal inputs and equal artifacts may be judged without measuring.
    pub skip_identical: bool,
    /// Patterns of the measuring code itself.
    pub harness: Vec<String>,
    /// The base's own settings.
    pub a: ArmKeys,
    /// The candidate's own settings.
    pub b: ArmKeys,
}

/// What one arm has of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArmKeys {
    /// The revision, instead of the chosen one.
    pub rev: Option<String>,
    /// A prebuilt install, instead of a tree that is built.
    pub path: Option<String>,
    /// Arguments added where the command says `{args}`, after the fixture's.
    pub args: Vec<String>,
    /// Variables of this arm.
    pub env: BTreeMap<String, String>,
}

/// A server that is started for each slot and ended with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Serve {
    /// Its argument vector.
    pub command: Vec<String>,
    /// The address that answers with success once it is ready.
    pub ready: String,
    /// How long that may take.
    pub timeout: Duration,
}

/// The measured command.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its argument vector.
    pub command: Vec<String>,
    /// The adapter that reads its output.
    pub extract: String,
    /// The file that is read; none means standard output.
    pub output: Option<String>,
    /// Limit of one process, server included.
    pub timeout: Duration,
    /// Variables of both arms.
    pub env: BTreeMap<String, String>,
    /// Variables handed on although they are withheld otherwise.
    pub pass_env: Vec<String>,
    /// Variables that are recorded: literal names set or unset, patterns (`HSA_*`) what is set.
    pub record_env: Vec<String>,
    /// Variables that each name a private folder of an arm, primed once.
    pub caches: Vec<String>,
    /// Failed requests that a tool may report, in percent.
    pub max_failed_pct: f64,
}

/// Where results of another tool are read from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ingest {
    /// The adapter; none means found by the file's contents.
    pub adapter: Option<String>,
    /// File or folder.
    pub path: Option<String>,
    /// Whether the newest of several results is taken.
    pub newest: bool,
    /// The model's name, where several are in one folder.
    pub model: Option<String>,
    /// The tasks that count; none means every one.
    pub tasks: Vec<String>,
    /// The groups that count.
    pub groups: Vec<String>,
    /// Whether a difference in configuration makes results incomparable.
    pub strict_config: bool,
    /// Failed requests that a tool may report, in percent.
    pub max_failed_pct: f64,
    /// Whether runs on a part of a task's items are judged.
    pub limited: bool,
    /// The base's scores: a baseline, results, or their folder.
    pub baseline: Option<String>,
    /// The model that they must be of.
    pub base_model: Option<ModelName>,
    /// The scale of the scores.
    pub scale: Option<Extent>,
    /// The scale of the base's scores.
    pub base_scale: Option<Extent>,
    /// What is judged; the pattern `*` where the file declares no metric.
    pub metrics: Vec<SeriesPattern>,
}

/// Metrics of another tool's file: what is not declared here comes from the file where its format carries it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPattern {
    /// The name, or a pattern of names such as `*`.
    pub name: String,
    /// The adapter's series, where it is not the name.
    pub from: Option<String>,
    /// How repetitions become one value.
    pub reduce: Reduce,
    /// The unit.
    pub unit: Option<Unit>,
    /// Which direction is better.
    pub better: Option<Better>,
    /// The slowdown to catch, where it is declared.
    pub tolerance: Option<Tolerance>,
    /// Whether they decide.
    pub role: Role,
    /// The smallest step that the instrument can show, in the unit.
    pub resolution: Option<f64>,
    /// A gain beyond this passes with the warning "suspicious improvement", in percent.
    pub review_above_pct: Option<f64>,
}

/// Order, looks, limits.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanKeys {
    /// What the comparison is for.
    pub objective: Objective,
    /// How blocks are oriented.
    pub order: Order,
    /// Cap in blocks.
    pub max_blocks: u32,
    /// Length limit of the session.
    pub max_session: Duration,
    /// False alarms where nothing got slower.
    pub alpha: f64,
    /// Missed slowdowns of the tolerance.
    pub beta: f64,
    /// The slowdown that counts as none, in percent.
    pub null_margin_pct: f64,
    /// Discarded processes per arm at the start.
    pub warmup_runs: u32,
    /// A helper that brings the clocks up once, before them.
    pub warmup: Option<Warmup>,
    /// How many blocks may be void.
    pub max_void_blocks: u32,
    /// How often the same comparison may be tried.
    pub max_attempts: u32,
    /// What an inconclusive answer does to the exit code.
    pub on_inconclusive: OnInconclusive,
    /// Processes where there is no base arm.
    pub runs: u32,
    /// Whether a pre-push hook may run it.
    pub pre_push: bool,
}

/// What is watched of the machine while a process runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryKeys {
    /// The section stands in the file: then a machine without a device is watched as far as it goes.
    pub declared: bool,
    /// The time between two readings; none where nothing is watched.
    pub every: Option<Duration>,
    /// Flags that void a block; none where the file does not say.
    pub void: Option<Vec<String>>,
    /// The command keeps the device busy.
    pub gpu_bound: bool,
    /// Limits that are not the usual ones.
    pub limits: BTreeMap<String, f64>,
}

/// One input that a measurement runs on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fixture {
    /// Its name; empty for the only, nameless one.
    pub name: String,
    /// The model file: in `GATE_MODELS`, else in the user's checkout.
    pub model: Option<String>,
    /// The prompt file: from the revision that the rules come from.
    pub prompt: Option<String>,
    /// Arguments put where the command says `{args}`.
    pub args: Vec<String>,
    /// Variables of both arms.
    pub env: BTreeMap<String, String>,
    /// The metrics that it measures; none means every one.
    pub metrics: Vec<String>,
}

/// How the repetitions inside one process become one value: one process, one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// The middle one.
    Median,
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The last one.
    Last,
}

/// One declared metric with where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The metric.
    pub metric: Metric,
    /// The adapter's series, by name.
    pub from: String,
    /// How repetitions become one value.
    pub reduce: Reduce,
}

impl Series {
    /// The series of the metric's own name, its repetitions reduced to the middle one.
    pub fn of(metric: Metric) -> Self {
        Self {
            from: metric.name.clone(),
            metric,
            reduce: Reduce::Median,
        }
    }
}

/// What else must be so.
#[derive(Debug, Clone, PartialEq)]
pub struct Require {
    /// Preflight checks that must pass, by id.
    pub checks: Vec<String>,
    /// Identity fields that must be known, or the evidence is exploratory.
    pub complete: Vec<String>,
    /// Identity fields that must equal the baseline's, or it is stale; none: those of [`crate::model::identity::equal_by_default`].
    pub equal: Vec<String>,
    /// Whether a capability guard must have passed.
    pub guard: bool,
}
