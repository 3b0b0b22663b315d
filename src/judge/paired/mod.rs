//! The same items under both models: what pairing them shows, and what it cannot show.
//!
//! Answers of the same item under two models are alike far more often than answers of two items, so that only the items whose answer changed carry
//! noise. [`Flips`] counts those; [`shown`] says what they prove about a margin.

mod join;
mod likelihood;
mod tango;

pub use join::{Withheld, join};
pub use likelihood::{Document, Likelihood, Limited, against_limit};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{fair_coin_tail, normal_quantile, normal_sf};

/// Below so many items the score test is too liberal (6.4 % errors for 5 % at 164 items, measured): only the exact test is used, and "not worse" is never said.
pub const SCORE_TEST_FROM: u64 = 200;
/// Error of each one-sided statement.
pub const ALPHA: f64 = 0.05;
/// Share of the cases in which so many items as [`items_needed`] says would show "not worse", where nothing changed.
pub const POWER: f64 = 0.8;
/// More items than this are not asked of anybody.
const ITEMS_MAX: f64 = 1e9;

/// How many items changed their answer from the base to the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flips {
    /// b: right before, wrong now.
    pub lost: u64,
    /// c: wrong before, right now.
    pub gained: u64,
    /// All items that both models answered.
    pub items: u64,
}

/// Exact tests of "the flips go either way alike": given b + c flips, b is a count of fair coins (McNemar 1947, its exact form).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McNemar {
    /// One-sided p-value of "the candidate is worse": P(Bin(b + c, ½) ≥ b).
    pub worse: f64,
    /// Two-sided p-value of "the candidate is different": twice the smaller tail, at most 1.
    pub different: f64,
}

/// What the flips show about a loss of the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "shown")]
pub enum Shown {
    /// The loss is smaller than the margin (score test; never from fewer than [`SCORE_TEST_FROM`] items).
    NotWorse,
    /// The loss is greater than the margin (score test).
    BeyondMargin,
    /// There is a loss; too few items to tell its size (exact test, fewer than [`SCORE_TEST_FROM`] items).
    Worse,
    /// Neither.
    Open {
        /// Items that are needed beside these, as [`items_needed`] counts; none where no practical number tells.
        more: Option<u64>,
    },
}

impl Flips {
    /// Counts of flips among `items`; `None` for no item or more flips than items.
    pub fn new(lost: u64, gained: u64, items: u64) -> Option<Self> {
        let flips = lost.checked_add(gained)?;
        (items > 0 && flips <= items).then_some(Self { lost, gained, items })
    }

    /// b + c.
    pub fn flips(self) -> u64 {
        self.lost + self.gained
    }

    /// (c − b)/n, a share: positive is better.
    pub fn gain(self) -> f64 {
        (self.gained as f64 - self.lost as f64) / self.items as f64
    }

    /// (b + c)/n, the share of items that changed.
    pub fn discordance(self) -> f64 {
        self.flips() as f64 / self.items as f64
    }

    /// The standard error of the gain as estimated: √(b + c − (c − b)²/n)/n (Wald).
    pub fn standard_error(self) -> f64 {
        let difference = self.gained as f64 - self.lost as f64;
        (self.flips() as f64 - difference * self.gain()).max(0.0).sqrt() / self.items as f64
    }

    /// The standard error that the gain would have if nothing had changed but the noise: √(b + c)/n.
    pub fn noise(self) -> f64 {
        (self.flips() as f64).sqrt() / self.items as f64
    }

    /// The exact tests.
    pub fn mcnemar(self) -> Option<McNemar> {
        let tail = |count| fair_coin_tail(count, self.flips());
        let larger = tail(self.lost.max(self.gained))?;
        Some(McNemar {
            worse: tail(self.lost)?,
            different: (2.0 * larger).min(1.0),
        })
    }

    /// The score statistic of "the gain is `hypothesis`", a share in (−1, 1): see the module `tango`. Positive where the candidate is better than that.
    pub fn score(self, hypothesis: f64) -> Option<f64> {
        tango::score(self, hypothesis)
    }

    /// The interval of all gains that the two-sided score test does not reject at 1 − `confidence`.
    pub fn interval(self, confidence: f64) -> Option<[f64; 2]> {
        tango::interval(self, confidence)
    }
}

/// One-sided p-values of both sides of a margin from a z statistic of "the gain is −margin".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Margin {
    /// The statistic; positive is better.
    pub z: f64,
    /// The p-value of "the loss is smaller than the margin": P(Z ≥ z).
    pub not_worse: f64,
    /// The p-value of "the loss is greater than the margin": P(Z ≤ z).
    pub beyond: f64,
}

impl Margin {
    pub(super) fn of(z: f64) -> Option<Self> {
        Some(Self {
            z,
            not_worse: normal_sf(z)?,
            beyond: normal_sf(-z)?,
        })
    }

    /// The score test of a loss of `margin`, a share.
    pub fn paired(flips: Flips, margin: f64) -> Option<Self> {
        flips.score(-margin).and_then(Self::of)
    }
}

/// What `flips` show about a loss of `margin` (a share, 0 < margin < 1), each statement with an error of at most `alpha`.
///
/// From [`SCORE_TEST_FROM`] items on the score test decides, however few flips there are; below, the exact test alone.
pub fn shown(flips: Flips, margin: f64, alpha: f64) -> Option<Shown> {
    let usable = margin > 0.0 && margin < 1.0 && alpha > 0.0 && alpha < 0.5;
    if !usable {
        return None;
    }
    if flips.items < SCORE_TEST_FROM {
        let worse = flips.mcnemar()?.worse <= alpha;
        return Some(if worse {
            Shown::Worse
        } else {
            Shown::Open { more: more(flips, margin) }
        });
    }
    let test = Margin::paired(flips, margin)?;
    Some(if test.not_worse <= alpha {
        Shown::NotWorse
    } else if test.beyond <= alpha {
        Shown::BeyondMargin
    } else {
        Shown::Open { more: more(flips, margin) }
    })
}

/// Whether so few items can show nothing at all: if all of them were lost, the exact p-value ½ⁿ would still exceed `alpha`.
pub fn too_few_for_any_answer(items: u64, alpha: f64) -> bool {
    fair_coin_tail(items, items).is_none_or(|smallest| smallest > alpha)
}

/// Items at which [`POWER`] of all runs show a loss of `margin` to be ruled out at [`ALPHA`], if a share `discordance` of the items flips and the true
/// difference is none: discordance · ((z₁₋α + z₁₋β)/margin)², about discordance · (2.49/margin)² (the variance of a paired difference of proportions is its
/// discordance). Never below [`SCORE_TEST_FROM`], nor below what the score test needs without a single flip, z²(1 − margin)/margin.
pub fn items_needed(discordance: f64, margin: f64) -> Option<u64> {
    needed(discordance, margin, margin)
}

/// As [`items_needed`], where the true difference lies `gap` from the margin.
fn needed(discordance: f64, margin: f64, gap: f64) -> Option<u64> {
    let usable = (0.0..=1.0).contains(&discordance) && margin > 0.0 && margin < 1.0 && gap > 0.0;
    if !usable {
        return None;
    }
    let (alpha, power) = (normal_quantile(1.0 - ALPHA)?, normal_quantile(POWER)?);
    let items = discordance * ((alpha + power) / gap).powi(2);
    let without_a_flip = alpha.powi(2) * (1.0 - margin) / margin;
    let items = items.max(without_a_flip).max(SCORE_TEST_FROM as f64).ceil();
    (items <= ITEMS_MAX).then_some(items as u64)
}

/// Items beside those that are there. Where these would suffice if nothing had changed, the difference found is taken as the true one.
fn more(flips: Flips, margin: f64) -> Option<u64> {
    let beside = |items: u64| items.checked_sub(flips.items).filter(|more| *more > 0);
    let planned = items_needed(flips.discordance(), margin).and_then(beside);
    planned.or_else(|| needed(flips.discordance(), margin, (flips.gain() + margin).abs()).and_then(beside))
}
