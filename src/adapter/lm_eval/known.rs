//! What is known of metrics by their whole names, where the file does not tell it. Never by a part of a name.

use crate::model::metric::Better;
use crate::model::unit::Unit;

/// Shares between 0 and 1 in every task that has them.
const SHARES: [&str; 16] = [
    "acc",
    "acc_norm",
    "acc_bytes",
    "acc_mutual_info",
    "acc_all",
    "acc_greedy",
    "exact_match",
    "em",
    "mc1",
    "mc2",
    "mcc_acc",
    "pct_stereotype",
    "prompt_level_strict_acc",
    "prompt_level_loose_acc",
    "inst_level_strict_acc",
    "inst_level_loose_acc",
];
/// Lower is better.
const LOWER: [&str; 10] = [
    "perplexity",
    "word_perplexity",
    "byte_perplexity",
    "bits_per_byte",
    "ppl",
    "brier_score",
    "ter",
    "wer",
    "cer",
    "err",
];
/// Higher is better, beside the shares.
const HIGHER: [&str; 9] = ["f1", "mcc", "bleu", "chrf", "rouge1", "rouge2", "rougeL", "exact", "best_exact"];

fn is_share(metric: &str) -> bool {
    let is_pass_at = metric.strip_prefix("pass@").is_some_and(|k| k.parse::<u32>().is_ok());
    is_pass_at || SHARES.contains(&metric)
}

/// The unit: `1` for a share whose score is one; none for anything else, because the format states no unit.
pub(in crate::adapter) fn unit(metric: &str, score: Option<f64>) -> Option<Unit> {
    let fits = score.is_none_or(|score| !score.is_finite() || (0.0..=1.0).contains(&score));
    if is_share(metric) && fits { Unit::parse("1").ok() } else { None }
}

/// The direction of a metric that is known by name. A share whose ideal is in the middle has none.
pub(in crate::adapter) fn better(metric: &str) -> Option<Better> {
    if metric == "pct_stereotype" {
        None
    } else if LOWER.contains(&metric) {
        Some(Better::Lower)
    } else if is_share(metric) || HIGHER.contains(&metric) {
        Some(Better::Higher)
    } else {
        None
    }
}

/// The direction that a flag tells.
pub(super) const fn direction(higher: bool) -> Better {
    if higher { Better::Higher } else { Better::Lower }
}
