use anyhow::{Context, Result, ensure};

use crate::judge::{distribution::t_upper, ranks};

/// The numbers of blocks at which a sequential design may look.
const LOOKS: [usize; 9] = [2, 3, 4, 5, 7, 10, 14, 20, 28];

/// The largest cap of a sequential design, and the largest number of blocks with an exact rank look.
const LARGEST_CAP: usize = 28;

/// The largest fixed number of blocks: a bound on work, far beyond anything measurable.
const LARGEST_FIXED: usize = 1000;

/// The looks of a design with at most `max_blocks` blocks: those declared up to two blocks before the cap, and the cap.
pub fn looks(max_blocks: usize) -> Vec<usize> {
    LOOKS.into_iter().filter(|k| k + 2 <= max_blocks).chain([max_blocks]).collect()
}

/// When to look and how far the effect must stand out, fixed before the first run.
///
/// All quantiles are computed here once; judging is arithmetic only. `c`, `f` and `t95` run parallel to `looks`.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The numbers of complete blocks at which a look is taken, ascending; the last is the cap.
    pub looks: Vec<usize>,
    /// Standard errors by which the effect must exceed `m0` to be shown slower (or faster).
    pub c: Vec<f64>,
    /// Standard errors by which the effect must stay below `m1` to be shown within the tolerance.
    pub f: Vec<f64>,
    /// The t quantile of a plain two-sided 95 % interval, descriptive only.
    pub t95: Vec<f64>,
    /// The one-sided level of each t look for "slower".
    pub level_r: f64,
    /// The one-sided level of each t look for "within the tolerance".
    pub level_p: f64,
    /// The rank test of the last look, where its share can be spent on at least one side.
    pub rank: Option<RankTest>,
}

/// The exact rank test of the last look.
#[derive(Debug, Clone, PartialEq)]
pub struct RankTest {
    /// The level for "slower"; none where the smallest attainable p-value is above the share.
    pub alpha: Option<f64>,
    /// The level for "within the tolerance"; none likewise.
    pub beta: Option<f64>,
    /// The number of blocks at that look, k; the wins are compared with [`ranks::survival_of_equal`].
    pub blocks: usize,
}

impl Design {
    /// Looks at [`looks`]`(max_blocks)`, with 2 to 28 blocks at most.
    ///
    /// `alpha` bounds false alarms, `beta` missed regressions, `rank_share` (0 ≤ share < 1) is the part of each that is kept
    /// for the rank look. A side whose share no ranking could ever reach gives it back to its t looks.
    ///
    /// # Errors
    /// A number outside its range, named with the range.
    pub fn sequential(max_blocks: usize, alpha: f64, beta: f64, rank_share: f64) -> Result<Self> {
        ensure!(
            (2..=LARGEST_CAP).contains(&max_blocks),
            "a sequential design was asked for {max_blocks} blocks at most; choose 2 to {LARGEST_CAP}"
        );
        Self::new(looks(max_blocks), alpha, beta, rank_share)
    }

    /// Looks once, after exactly `blocks` blocks (2 to 1000); no rank look beyond 28.
    ///
    /// # Errors
    /// A number outside its range, named with the range.
    pub fn fixed(blocks: usize, alpha: f64, beta: f64, rank_share: f64) -> Result<Self> {
        ensure!(
            (2..=LARGEST_FIXED).contains(&blocks),
            "a fixed design was asked for {blocks} blocks; choose 2 to {LARGEST_FIXED}"
        );
        Self::new(vec![blocks], alpha, beta, rank_share)
    }

    /// The number of blocks after which an undecided comparison stays undecided.
    pub fn cap(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }

    fn new(looks: Vec<usize>, alpha: f64, beta: f64, rank_share: f64) -> Result<Self> {
        for (name, level) in [("alpha", alpha), ("beta", beta)] {
            ensure!(
                level > 0.0 && level < 0.5,
                "{name} is {level}; an error level must lie between 0 and 0.5"
            );
        }
        ensure!(
            (0.0..1.0).contains(&rank_share),
            "the rank share is {rank_share}; it must be at least 0 and below 1"
        );
        let cap = looks.last().copied().unwrap_or(0);
        let rank = RankTest::new(cap, rank_share * alpha, rank_share * beta);
        let kept = |side: fn(&RankTest) -> Option<f64>| rank.as_ref().and_then(side).unwrap_or(0.0);
        let count = looks.len() as f64;
        let level_r = (alpha - kept(|rank| rank.alpha)) / count;
        let level_p = (beta - kept(|rank| rank.beta)) / count;
        let quantiles = |level: f64| -> Result<Vec<f64>> {
            let quantile = |k: &usize| t_upper(level, (2 * k - 2) as f64);
            looks
                .iter()
                .map(quantile)
                .collect::<Option<Vec<_>>>()
                .with_context(|| format!("no Student t quantile at level {level}: choose larger error levels"))
        };
        Ok(Self {
            c: quantiles(level_r)?,
            f: quantiles(level_p)?,
            t95: quantiles(0.025)?,
            looks,
            level_r,
            level_p,
            rank,
        })
    }
}

impl RankTest {
    fn new(blocks: usize, alpha: f64, beta: f64) -> Option<Self> {
        let smallest_p = ranks::smallest_p(blocks)?;
        let attainable = |share: f64| (smallest_p <= share).then_some(share);
        let (alpha, beta) = (attainable(alpha), attainable(beta));
        (alpha.is_some() || beta.is_some()).then_some(Self { alpha, beta, blocks })
    }
}

/// The effect that a fixed design of `blocks` blocks finds with probability 1 − `beta` at level `alpha`, in response units:
/// (t₁₋α + t₁₋β) · σ/√k with 2k − 2 degrees of freedom. `None` below two blocks or outside 0 < level < 1.
pub fn mde(sigma_run: f64, blocks: usize, alpha: f64, beta: f64) -> Option<f64> {
    let df = (2 * blocks).checked_sub(2)? as f64;
    Some((t_upper(alpha, df)? + t_upper(beta, df)?) * sigma_run / (blocks as f64).sqrt())
}
