//! What a reader should know besides the answer. Nothing here changes it.

use super::{gain, sign};
use crate::judge::band;
use crate::judge::crossover::{self, Bounds};
use crate::judge::responses::Responses;
use crate::judge::rule::Bucket;
use crate::judge::summary;
use crate::model::judgement::Look;
use crate::model::number::{chance, count, difference, figure, size};
use crate::model::sample::Arm;

/// The warnings of one look.
pub fn of(bucket: &Bucket<'_>, look: &Look, bounds: Bounds) -> Vec<String> {
    let metric = &bucket.metric;
    let (scale, unit) = (metric.scale, metric.unit.canonical());
    let gain = |delta: f64| gain(sign(bucket.plan.objective) * delta, scale, metric.better);
    let mut warnings = Vec::new();
    if look.gamma.abs() > bounds.m1 / 2.0 {
        let drift = gain(look.gamma);
        let direction = if drift < 0.0 { "worse" } else { "better" };
        warnings.push(format!(
            "on average each run is {direction} than the one before by {}, more than half the tolerance: the order of the runs cancels a steady drift, but look \
             for its cause",
            size(drift.abs(), scale, unit)
        ));
    }
    if (look.est - look.hl).abs() > look.se {
        let [mean, hl] = [look.est, look.hl].map(|delta| difference(gain(delta), scale, unit));
        warnings.push(format!(
            "a few runs pull the estimate: the gain is {mean} by means and {hl} by the Hodges-Lehmann median"
        ));
    }
    if look.floored {
        warnings.push("the runs differ less than measurements are believed to: the least believable noise was used instead".to_owned());
    }
    warnings.extend(unequal(bucket, look, bounds));
    warnings.extend(noisier(bucket, look));
    warnings.extend(Arm::BOTH.into_iter().filter_map(|arm| outliers(bucket, arm, look.k)));
    warnings
}

/// Whether one arm's runs lie much wider than the other's.
fn unequal(bucket: &Bucket<'_>, look: &Look, bounds: Bounds) -> Option<String> {
    let metric = &bucket.metric;
    let respond = |value: f64| crossover::worse(bucket.points() * value, metric.scale, metric.better);
    let [a, b] = Arm::BOTH.map(|arm| bucket.values(arm, look.k).into_iter().filter_map(respond).collect::<Vec<f64>>());
    let differ = crossover::arms_differ(&a, &b, bounds.floor * std::f64::consts::FRAC_1_SQRT_2)?;
    let [base, candidate] = [differ.a_largest, differ.b_largest].map(|largest| {
        size(
            gain(largest, metric.scale, metric.better).abs(),
            metric.scale,
            metric.unit.canonical(),
        )
    });
    Some(format!(
        "the arms' noise differs: runs lie up to {base} from the median on A and up to {candidate} on B, so beta need not hold; a `spread` rule \
         judges noise itself"
    ))
}

/// Whether the runs vary more than was accepted for this fixture: an explanation, never a correction.
fn noisier(bucket: &Bucket<'_>, look: &Look) -> Option<String> {
    let accepted = bucket.band?;
    let blocks = bucket.blocks().get(..look.k)?;
    let session = band::relative(&Responses::of(blocks, &bucket.metric, band::SCALE)?)?;
    let (alarm, own_pct) = band::noisier(accepted, session, 100.0 * bucket.plan.min_run_cv)?;
    let [own, of_band] = [own_pct, accepted.sd_pct].map(|pct| size(pct, band::SCALE, ""));
    alarm.noisier.then(|| {
        format!(
            "noisier than characterised: runs vary by {own} here and by {of_band} in the accepted band ({}); chance alone makes fewer than {} of \
             sessions so noisy: something disturbs the machine, or the fixture has changed",
            count(accepted.sessions, "session"),
            chance(alarm.level)
        )
    })
}

/// Flags what lies far out in its arm; it is kept, whatever its value.
fn outliers(bucket: &Bucket<'_>, arm: Arm, blocks: usize) -> Option<String> {
    let spread = summary::summarise(&bucket.values(arm, blocks))?;
    let rows = bucket.blocks().iter().take(blocks).flat_map(|block| &block.samples);
    let of_arm = rows.filter(|sample| sample.arm == arm);
    let unit = bucket.metric.unit;
    let flagged: Vec<String> = of_arm
        .zip(&spread.flags)
        .filter(|(_, flagged)| **flagged)
        .filter_map(|(sample, _)| {
            let value = sample.value(&bucket.metric.name)?;
            Some(format!("sample {} ({} {unit})", sample.seq, figure(value)))
        })
        .collect();
    if flagged.is_empty() {
        return None;
    }
    let (lies, are) = if flagged.len() == 1 {
        ("lies", "it is")
    } else {
        ("lie", "they are")
    };
    Some(format!(
        "on {arm}, {} {lies} far from the median of {} {unit}; {are} kept",
        flagged.join(", "),
        figure(spread.median)
    ))
}
