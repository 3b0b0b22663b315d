//! What the evidence says: verdicts, outcome, disposition.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gate::Against;
use super::metric::Scale;
use super::sample::{Arm, Cell, Slot};

/// The engine's number: it rises whenever the same evidence could be judged differently.
pub const ENGINE: u32 = 1;

/// What a record comes to. The order is the gravity: the gravest of several outcomes is the outcome of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every required rule held.
    Pass,
    /// A required question has no answer.
    Inconclusive,
    /// The tool could not do its work.
    Error,
    /// A rule failed.
    Fail,
    /// Integrity or policy was violated.
    Violation,
}

/// The answer of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Slower beyond doubt, and not shown to stay under the tolerance.
    Regression,
    /// Slower beyond doubt, but shown to stay under the tolerance.
    SmallSlowdown,
    /// Shown to stay under the tolerance.
    NoRegression,
    /// Shown to stay under the tolerance, and faster beyond doubt.
    Improvement,
    /// The samples carry no answer.
    Inconclusive,
    /// The candidate fails where the base runs.
    CandidateFailed,
    /// The candidate's own runs tripped the host's limits.
    ThrottleAttributable,
    /// Both arms were made of equal inputs and came out equal.
    IdenticalArtifact,
    /// There is nothing to judge.
    NotMeasured,
    /// There may be figures, but they cannot be judged.
    Incomparable,
    /// The baseline was measured under another identity.
    StaleBaseline,
    /// The accepted build itself measures otherwise today.
    EnvironmentShift,
    /// The baseline has too few sessions to decide.
    Advisory,
    /// There is no counterpart to compare with yet.
    New,
    /// The rule is switched off.
    RuleDisabled,
    /// A regression that a reviewed file accepts, up to its limit and until its day.
    Waived,
    /// A claimed gain is shown.
    ImprovementShown,
    /// A claimed gain is shown not to be there.
    ClaimRejected,
}

impl Verdict {
    /// Every verdict, in the order in which it is explained.
    pub const ALL: [Self; 18] = [
        Self::Regression,
        Self::SmallSlowdown,
        Self::NoRegression,
        Self::Improvement,
        Self::Inconclusive,
        Self::CandidateFailed,
        Self::ThrottleAttributable,
        Self::IdenticalArtifact,
        Self::NotMeasured,
        Self::Incomparable,
        Self::StaleBaseline,
        Self::EnvironmentShift,
        Self::Advisory,
        Self::New,
        Self::RuleDisabled,
        Self::Waived,
        Self::ImprovementShown,
        Self::ClaimRejected,
    ];

    /// The word in records and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::SmallSlowdown => "small_slowdown",
            Self::NoRegression => "no_regression",
            Self::Improvement => "improvement",
            Self::Inconclusive => "inconclusive",
            Self::CandidateFailed => "candidate_failed",
            Self::ThrottleAttributable => "throttle_attributable",
            Self::IdenticalArtifact => "identical_artifact",
            Self::NotMeasured => "not_measured",
            Self::Incomparable => "incomparable",
            Self::StaleBaseline => "stale_baseline",
            Self::EnvironmentShift => "environment_shift",
            Self::Advisory => "advisory",
            Self::New => "new",
            Self::RuleDisabled => "rule_disabled",
            Self::Waived => "waived",
            Self::ImprovementShown => "improvement_shown",
            Self::ClaimRejected => "claim_rejected",
        }
    }

    /// What the verdict of a required rule makes of the record.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Regression | Self::CandidateFailed | Self::ThrottleAttributable | Self::ClaimRejected => Outcome::Fail,
            Self::Inconclusive
            | Self::NotMeasured
            | Self::Incomparable
            | Self::StaleBaseline
            | Self::EnvironmentShift
            | Self::Advisory
            | Self::RuleDisabled => Outcome::Inconclusive,
            Self::SmallSlowdown
            | Self::NoRegression
            | Self::IdenticalArtifact
            | Self::Improvement
            | Self::New
            | Self::Waived
            | Self::ImprovementShown => Outcome::Pass,
        }
    }

    /// What it means, in one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Regression => {
                "The candidate is slower beyond doubt (error at most alpha, where nothing got slower) and cannot be shown to stay under the \
                 tolerance; of a score: it fell by more than the tolerance."
            }
            Self::SmallSlowdown => {
                "The candidate is slower beyond doubt, but is shown to be slower by less than the tolerance; it passes, with this warning."
            }
            Self::NoRegression => {
                "A slowdown of the tolerance is ruled out (error at most beta); against a baseline, which sees less: the session lies within \
                 the tolerance and the limits of the accepted sessions; of a score: it fell by no more than the tolerance."
            }
            Self::Improvement => {
                "A slowdown of the tolerance is ruled out, and the candidate is faster beyond doubt; against a baseline: the session lies beyond \
                 the tolerance and the limits of the accepted sessions, on the good side; of a score: it rose by more than the tolerance."
            }
            Self::Inconclusive => "The samples up to the cap carry neither answer: too noisy, too few, or ended early. It is never a pass.",
            Self::CandidateFailed => {
                "The candidate failed twice in the same place while the base ran: it crashed, timed out or gave no usable number."
            }
            Self::ThrottleAttributable => {
                "Declared limits of the host were reached on at least three more runs of the candidate than of the base, so its runs are not \
                 excused as disturbed."
            }
            Self::IdenticalArtifact => {
                "Both arms were built from equal inputs and came out byte for byte equal, and the gate declares that such a pair need not be measured."
            }
            Self::NotMeasured => {
                "A figure that the rule needs was not measured, so the rule has no answer. It is never zero and never a pass."
            }
            Self::Incomparable => "There may be figures, but they cannot be judged: the samples, the plan or the rule do not fit together.",
            Self::StaleBaseline => {
                "The baseline's sessions were measured under another identity (model, prompt, device, configuration or policy), so no number is \
                 compared with them: measure again and accept."
            }
            Self::EnvironmentShift => {
                "The build that the baseline was accepted from measures otherwise today, so the machine changed and not the code; what was \
                 compared within this session stands."
            }
            Self::Advisory => {
                "The baseline has fewer than three sessions: the ratio is shown, and it can neither fail nor answer a required question."
            }
            Self::New => "There is no counterpart to compare with yet: noted, until a session of it is accepted.",
            Self::RuleDisabled => {
                "The rule is switched off (a threshold of -100 points, below which no score can fall), so it has no answer. It is never a pass."
            }
            Self::Waived => {
                "A regression, which a reviewed file in gates/waivers accepts: it is within that file's limit, and the file has not expired. It passes and moves no \
                 baseline."
            }
            Self::ImprovementShown => {
                "The claimed gain is shown: the candidate is faster beyond doubt and not short of the claim beyond doubt."
            }
            Self::ClaimRejected => "The gain is shown to be less than claimed (error at most beta).",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

impl Outcome {
    /// The word in records and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Error => "error",
            Self::Fail => "fail",
            Self::Violation => "violation",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// What the evidence is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// Local only: incomplete identity, or a single sample a side.
    Exploratory,
    /// Full identity, raw samples, a rule declared before.
    Measured,
    /// Superseded, imported or relabelled.
    Historical,
    /// A rule failed, a confounder, or no answer.
    RejectedNull,
    /// A gain shown in every required bucket, with everything a promotion needs.
    PromotionCandidate,
}

impl Disposition {
    /// The word in records and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Exploratory => "exploratory",
            Self::Measured => "measured",
            Self::Historical => "historical",
            Self::RejectedNull => "rejected_null",
            Self::PromotionCandidate => "promotion_candidate",
        }
    }
}

impl fmt::Display for Disposition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// Smallest, middle and largest value of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// How many samples, one a process.
    pub n: u32,
    /// Smallest value.
    pub min: f64,
    /// Median value.
    pub median: f64,
    /// Largest value.
    pub max: f64,
}

/// One look, in response units. An absent t or p is one that would not be a finite number (no noise at all and no floor).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// Complete blocks.
    pub k: usize,
    /// The effect of the candidate; + = worse.
    pub est: f64,
    /// The Hodges–Lehmann estimate of the same effect, which single wild runs do not move.
    pub hl: f64,
    /// The drift from one run to the next.
    pub gamma: f64,
    /// The standard deviation of the pair differences, as found.
    pub sp_raw: f64,
    /// The same as used: not below the floor.
    pub sp: f64,
    /// Whether the floor was needed.
    pub floored: bool,
    /// The standard error of the effect.
    pub se: f64,
    /// Degrees of freedom.
    pub df: usize,
    /// The critical value for "slower" and "faster", in standard errors.
    pub c: f64,
    /// The critical value for "within the tolerance", in standard errors.
    pub f: f64,
    /// (est − m0)/se.
    pub t_r: Option<f64>,
    /// The one-sided p-value of "slower than m0", to compare with `level_r`.
    pub p_r: Option<f64>,
    /// This look's level for "slower".
    pub level_r: f64,
    /// (m1 − est)/se.
    pub t_p: Option<f64>,
    /// The one-sided p-value of "less than m1 slower", to compare with `level_p`.
    pub p_p: Option<f64>,
    /// This look's level for "within the tolerance".
    pub level_p: f64,
    /// The repeated confidence interval \[est − c·se, est + f·se\]: exactly what the rule tests.
    pub rci: [f64; 2],
    /// A plain 95 % interval: descriptive, not adjusted for stopping.
    pub ci95: [f64; 2],
    /// Whether the t look shows "slower than m0".
    pub slower: bool,
    /// Whether the t look shows "less than m1 slower".
    pub within: bool,
    /// Whether the t look shows "faster than −m0".
    pub faster: bool,
    /// The rank look: at the cap only, and only where the t look decided nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<RankLook>,
}

/// The exact rank look. A side without a level has no share to spend and shows nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankLook {
    /// The exact p-value of "slower than m0".
    pub p_r: f64,
    /// The level it is compared with.
    pub level_r: Option<f64>,
    /// The exact p-value of "less than m1 slower".
    pub p_p: f64,
    /// The level it is compared with.
    pub level_p: Option<f64>,
    /// Whether it shows "slower than m0".
    pub slower: bool,
    /// Whether it shows "less than m1 slower".
    pub within: bool,
}

/// What one rule says of one metric of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ruling {
    /// The rule kind.
    pub rule: String,
    /// The reference.
    pub against: Against,
    /// The arm that is judged.
    pub of: Arm,
    /// What was measured.
    pub cell: Cell,
    /// Which figure.
    pub metric: String,
    /// The answer.
    pub verdict: Verdict,
    /// What the answer makes of the record where the rule is required.
    pub outcome: Outcome,
    /// Whether the outcome of the record depends on it.
    pub required: bool,
    /// How `estimate`, `interval`, `tolerance` and `smallest_detectable` are to be read.
    pub scale: Scale,
    /// The metric's unit.
    pub unit: String,
    /// The gain: positive is better, whatever the metric's direction; null where there is none.
    pub estimate: Option<f64>,
    /// The repeated interval of the gain: exactly what the rule tests.
    pub interval: Option<[f64; 2]>,
    /// The declared tolerance.
    pub tolerance: f64,
    /// Valid blocks that the answer rests on.
    pub blocks: u32,
    /// The base's values in those blocks.
    pub base: Option<Range>,
    /// The candidate's values in those blocks.
    pub candidate: Option<Range>,
    /// Every evaluation, none left out.
    pub looks: Vec<Look>,
    /// The smallest slowdown that this many blocks of this noise would have shown.
    pub smallest_detectable: Option<f64>,
    /// Why, in one sentence with the numbers.
    pub because: String,
    /// What to do next.
    pub next: String,
    /// What a reader should know besides.
    pub warnings: Vec<String>,
    /// Figures that only this kind of rule has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub detail: BTreeMap<String, Value>,
}

/// What the session does next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Step {
    /// Run this process.
    Run(Slot),
    /// Nothing more to run: decided, or no way on.
    #[default]
    Stop,
}

/// What the evidence says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// The engine that judged.
    pub engine: u32,
    /// The gravest outcome of the required rules.
    pub outcome: Outcome,
    /// What the evidence is worth.
    pub disposition: Disposition,
    /// The facts that decided the disposition.
    pub disposition_because: Vec<String>,
    /// One entry a rule, cell and metric.
    pub verdicts: Vec<Ruling>,
    /// What concerns the whole session.
    pub warnings: Vec<String>,
    /// What the session does next; not part of the record.
    #[serde(skip)]
    pub step: Step,
}
