use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Block, Design, Estimate, Noise, Pairs};
use crate::judge::{distribution::t_sf, ranks};
use crate::model::judgement::{Look, RankLook};

/// The two effects a gate tells apart, in response units (+ = worse), and the least noise it believes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Up to here a change counts as none; usually 0.
    pub m0: f64,
    /// From here on a change must not pass: the tolerance (see [`super::margin`]).
    pub m1: f64,
    /// The least standard deviation of a pair difference (see [`super::floor_log`]).
    pub floor: f64,
}

/// What a gate's replay ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Shown slower than `m0`, and not shown to be within the tolerance.
    Regression,
    /// Shown slower than `m0`, and shown to be within the tolerance.
    SmallSlowdown,
    /// Shown to be within the tolerance.
    NoRegression,
    /// The same, and shown faster than −`m0`.
    Improvement,
    /// Nothing shown up to the cap.
    Inconclusive,
}

/// What the replay of a claim ("it is faster by m1") ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// Shown faster than `m0`, and not shown to fall short of the claim.
    ImprovementShown,
    /// Shown faster than `m0`, but shown to be smaller than claimed.
    ImprovementShownSmaller,
    /// Shown to be less than claimed.
    ClaimRejected,
    /// Nothing shown up to the cap.
    Inconclusive,
}

/// Where a replay stopped, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stop<D> {
    /// The answer.
    pub decision: D,
    /// Complete blocks at the deciding look.
    pub k: usize,
    /// Whether only the rank look decided.
    pub by_rank: bool,
}

/// All looks up to the first decision, and that decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay<D> {
    /// The looks taken, in order; none after the deciding one.
    pub looks: Vec<Look>,
    /// The decision; none while the next look is not reached.
    pub stop: Option<Stop<D>>,
}

/// Replays every declared look over the growing prefix of `blocks` and freezes at the first decision: blocks after it
/// change nothing. With every number of blocks the answer is the one a session would have had that stopped there.
pub fn decide(design: &Design, bounds: Bounds, blocks: &[Block]) -> Replay<Decision> {
    let pairs = Pairs::of(blocks);
    let mut looks = Vec::new();
    let stop = walk(design, bounds, &pairs, |seen| looks.extend(look(design, bounds, &pairs, seen)));
    Replay { looks, stop }
}

/// The decision of [`decide`] alone, without the numbers of a report.
pub fn stop(design: &Design, bounds: Bounds, blocks: &[Block]) -> Option<Stop<Decision>> {
    walk(design, bounds, &Pairs::of(blocks), |_| ())
}

/// Judges the claim that the candidate is better: the same engine on the negated responses, so in these looks + = better.
///
/// `bounds.m1` is the claimed gain in response units: the [`super::margin`] of the gain for the opposite direction (a claimed
/// −2 % time is −ln(1 − 0.02), a claimed +2 % rate is ln(1 + 0.02)). A claim that does not hold is shown with at most α,
/// a gain of the claimed size or more is rejected with at most β.
pub fn promote(design: &Design, bounds: Bounds, blocks: &[Block]) -> Replay<Claim> {
    let negated: Vec<Block> = blocks
        .iter()
        .map(|block| Block {
            y: block.y.map(|y| -y),
            ..*block
        })
        .collect();
    let Replay { looks, stop } = decide(design, bounds, &negated);
    let claim = |decision| match decision {
        Decision::Regression => Claim::ImprovementShown,
        Decision::SmallSlowdown => Claim::ImprovementShownSmaller,
        Decision::NoRegression | Decision::Improvement => Claim::ClaimRejected,
        Decision::Inconclusive => Claim::Inconclusive,
    };
    Replay {
        looks,
        stop: stop.map(|stop| Stop {
            decision: claim(stop.decision),
            k: stop.k,
            by_rank: stop.by_rank,
        }),
    }
}

/// What one look found.
struct Seen {
    index: usize,
    estimate: Estimate,
    noise: Noise,
    shown: Shown,
    rank: Option<RankLook>,
}

#[derive(Clone, Copy)]
struct Shown {
    slower: bool,
    within: bool,
    faster: bool,
}

impl Shown {
    fn by_t(design: &Design, index: usize, bounds: Bounds, est: f64, se: f64) -> Self {
        let (c, f) = (design.c[index] * se, design.f[index] * se);
        Self {
            slower: est - bounds.m0 > c,
            within: bounds.m1 - est > f,
            faster: -est - bounds.m0 > c,
        }
    }

    fn decision(self) -> Option<Decision> {
        match (self.slower, self.within) {
            (true, true) => Some(Decision::SmallSlowdown),
            (true, false) => Some(Decision::Regression),
            (false, true) if self.faster => Some(Decision::Improvement),
            (false, true) => Some(Decision::NoRegression),
            (false, false) => None,
        }
    }
}

fn walk(design: &Design, bounds: Bounds, pairs: &Pairs, mut see: impl FnMut(&Seen)) -> Option<Stop<Decision>> {
    for (index, &k) in design.looks.iter().enumerate() {
        let (x, z) = (pairs.x.get(..k)?, pairs.z.get(..k)?);
        let estimate = Estimate::of(x, z, bounds.floor)?;
        let noise = estimate.noise?;
        let shown = Shown::by_t(design, index, bounds, estimate.est, noise.se);
        let by_t = shown.decision();
        let last = k == design.cap();
        let rank = match by_t {
            None if last => rank_look(design, bounds, x, z),
            _ => None,
        };
        see(&Seen {
            index,
            estimate,
            noise,
            shown,
            rank,
        });
        let by_rank = rank.and_then(|rank| {
            let RankLook { slower, within, .. } = rank;
            Shown { slower, within, ..shown }.decision()
        });
        let undecided = last.then_some(Decision::Inconclusive);
        if let Some(decision) = by_t.or(by_rank).or(undecided) {
            let by_rank = by_rank.is_some();
            return Some(Stop { decision, k, by_rank });
        }
    }
    None
}

fn rank_look(design: &Design, bounds: Bounds, x: &[f64], z: &[f64]) -> Option<RankLook> {
    let test = design.rank.as_ref()?;
    let survival = ranks::survival_of_equal(test.blocks)?;
    let p_r = *survival.get(ranks::wins(x, z, 2.0 * bounds.m0))?;
    let p_p = *survival.get(ranks::wins(z, x, -2.0 * bounds.m1))?;
    Some(RankLook {
        p_r,
        level_r: test.alpha,
        p_p,
        level_p: test.beta,
        slower: test.alpha.is_some_and(|level| p_r <= level),
        within: test.beta.is_some_and(|level| p_p <= level),
    })
}

fn look(design: &Design, bounds: Bounds, pairs: &Pairs, seen: &Seen) -> Option<Look> {
    let Seen {
        index,
        estimate,
        noise,
        shown,
        rank,
    } = seen;
    let Estimate { k, est, gamma, .. } = *estimate;
    let Noise {
        df,
        sp_raw,
        sp,
        floored,
        se,
    } = *noise;
    let (c, f, t95) = (design.c[*index], design.f[*index], design.t95[*index]);
    let (t_r, t_p) = ((est - bounds.m0) / se, (bounds.m1 - est) / se);
    Some(Look {
        k,
        est,
        hl: ranks::hodges_lehmann(&pairs.x[..k], &pairs.z[..k])?,
        gamma,
        sp_raw,
        sp,
        floored,
        se,
        df,
        c,
        f,
        t_r: finite(t_r),
        p_r: t_sf(t_r, df as f64),
        level_r: design.level_r,
        t_p: finite(t_p),
        p_p: t_sf(t_p, df as f64),
        level_p: design.level_p,
        rci: [est - c * se, est + f * se],
        ci95: [est - t95 * se, est + t95 * se],
        slower: shown.slower,
        within: shown.within,
        faster: shown.faster,
        rank: *rank,
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
