//! Likelihoods of the same documents under both models: the ratio of the perplexities with its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ALPHA;
use crate::judge::distribution::{normal_quantile, t_sf, t_upper};

/// One document under both models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Document {
    /// Its negative log-likelihood under the candidate less that under the base, in nats; + = worse.
    pub difference: f64,
    /// What the difference is a sum over, such as its tokens; 1 where it is a mean already and every document counts alike.
    pub weight: f64,
}

/// A paired t test of the difference in mean negative log-likelihood, documents as its units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Likelihood {
    /// Documents.
    pub documents: usize,
    /// Σ difference / Σ weight, in nats; + = worse.
    pub mean: f64,
    /// Its standard error, documents as clusters: √(k/(k − 1) · Σ(difference − mean · weight)²)/Σ weight, which for equal weights is sd/√k (Cochran 1977, ratio estimator).
    pub se: f64,
    /// mean/se with `df` degrees of freedom; none where the documents do not vary.
    pub t: Option<f64>,
    /// k − 1.
    pub df: usize,
    /// The one-sided p-value of "the candidate is worse"; 1 where no document changed, none where all changed alike.
    pub p_worse: Option<f64>,
    /// PPL(candidate)/PPL(base) = e^mean.
    pub ppl_ratio: f64,
    /// Its 95 % interval, e^(mean ± t·se).
    pub ppl_ratio_ci95: [f64; 2],
}

impl Likelihood {
    /// Compares documents that count alike: `differences` per document, each a mean over its tokens.
    pub fn of(differences: &[f64]) -> Option<Self> {
        let alike = |&difference| Document { difference, weight: 1.0 };
        Self::weighted(&differences.iter().map(alike).collect::<Vec<_>>())
    }

    /// Compares documents by their length. `None` for fewer than two, for what is not finite and for a weight that is not above 0.
    pub fn weighted(documents: &[Document]) -> Option<Self> {
        let sound = |document: &Document| document.difference.is_finite() && document.weight.is_finite() && document.weight > 0.0;
        if documents.len() < 2 || !documents.iter().all(sound) {
            return None;
        }
        let (count, df) = (documents.len() as f64, documents.len() - 1);
        let weight: f64 = documents.iter().map(|document| document.weight).sum();
        let mean = documents.iter().map(|document| document.difference).sum::<f64>() / weight;
        let residual = |document: &Document| (document.difference - mean * document.weight).powi(2);
        let se = (count / df as f64 * documents.iter().map(residual).sum::<f64>()).sqrt() / weight;
        let t = Some(mean / se).filter(|t| t.is_finite());
        let p_worse = match t {
            Some(t) => t_sf(t, df as f64),
            None => (mean == 0.0).then_some(1.0),
        };
        let half = t_upper(0.025, df as f64)? * se;
        let [low, high] = [mean - half, mean + half].map(f64::exp);
        let finite = [mean.exp(), low, high].iter().all(|ratio| ratio.is_finite());
        finite.then_some(Self {
            documents: documents.len(),
            mean,
            se,
            t,
            df,
            p_worse,
            ppl_ratio: mean.exp(),
            ppl_ratio_ci95: [low, high],
        })
    }
}

/// Where an estimate with an error stands against a declared limit, above which it must not lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limited {
    /// Below the limit beyond doubt: estimate + z₁₋α · se < limit.
    Within,
    /// Above the limit beyond doubt: estimate − z₁₋α · se > limit.
    Beyond,
    /// Neither: no finer answer than the error allows.
    Open,
}

/// Compares an estimate that a tool prints as `x ± se` (mean KLD, ln of the PPL ratio) with a limit, each answer with an error of at most [`ALPHA`].
/// `None` where a number is not finite, or the error negative.
pub fn against_limit(estimate: f64, se: f64, limit: f64) -> Option<Limited> {
    let sound = estimate.is_finite() && se.is_finite() && se >= 0.0 && limit.is_finite();
    let half = normal_quantile(1.0 - ALPHA)? * se;
    sound.then_some(if estimate + half < limit {
        Limited::Within
    } else if estimate - half > limit {
        Limited::Beyond
    } else {
        Limited::Open
    })
}
