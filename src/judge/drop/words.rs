//! The sentences of the rule. Figures have the digits that show on which side of the tolerance they lie.

use super::PairedResult;
use super::comparable::Shares;
use crate::judge::paired::{SCORE_TEST_FROM, Shown, Withheld, too_few_for_any_answer};
use crate::judge::unpaired::FromNoise;
use crate::model::eval::{Key, Score};
use crate::model::judgement::Verdict;
use crate::model::metric::Scale;
use crate::model::number::{chance, count, difference, figure, gain, size, size_beside};

/// All that the sentence about a comparison says.
pub(super) struct Told<'a> {
    pub(super) key: &'a Key,
    pub(super) shares: &'a Shares,
    pub(super) gain: f64,
    pub(super) tolerance: f64,
    pub(super) items: Option<u64>,
    /// Of each score, in points.
    pub(super) errors: Option<[f64; 2]>,
    /// Whether `se` is that of the paired items.
    pub(super) paired_error: bool,
    /// Of the gain, in points.
    pub(super) se: Option<f64>,
}

impl Told<'_> {
    pub(super) fn sentence(&self) -> String {
        let Self { key, shares, gain, .. } = self;
        // The scores have the digits of their difference, so that the reader can do the sum.
        let moved = points(gain.abs(), self.tolerance);
        let digits = moved
            .split_once('.')
            .map_or(2, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
        let [base, candidate] = [shares.base, shares.candidate].map(|share| format!("{:.digits$} %", 100.0 * share));
        let allowed = size(self.tolerance, Scale::Pp, "");
        let change = match (*gain, self.tolerance.is_finite()) {
            (0.0, _) => "no better and no worse".to_owned(),
            (gain, _) if gain > 0.0 => format!("a gain of {moved}{}", self.relative()),
            (_, false) => format!("a drop of {moved}{}", self.relative()),
            (gain, _) if gain < -self.tolerance => format!("a drop of {moved}{}, more than the {allowed} that is allowed", self.relative()),
            _ => format!("a drop of {moved}{}, of {allowed} that is allowed", self.relative()),
        };
        format!(
            "{key}: {base} in the base, {candidate} in the candidate: {change}; {}.",
            self.precision()
        )
    }

    /// The same change relative to the base.
    fn relative(&self) -> String {
        let Shares { base, candidate, .. } = *self.shares;
        let relative = 100.0 * (candidate - base) / base;
        if relative.is_finite() {
            format!(" ({} of the base)", difference(relative, Scale::Pct, ""))
        } else {
            " (relative to a base of 0 undefined)".to_owned()
        }
    }

    /// How finely the items tell anything.
    fn precision(&self) -> String {
        let items = match self.items {
            Some(items) => format!("n = {items}, one answer is {}", size(100.0 / items as f64, Scale::Pp, "")),
            None => "n is not reported".to_owned(),
        };
        let errors = match (self.errors, self.se) {
            (Some([one, other]), Some(se)) => {
                let kind = if self.paired_error {
                    "of the paired difference"
                } else {
                    "of the difference"
                };
                let [one, se] = [one, se].map(|error| size(error, Scale::Pp, ""));
                format!(
                    "standard error {one} in the base, {} in the candidate, {se} {kind}",
                    size(other, Scale::Pp, "")
                )
            }
            (None, Some(se)) => format!("standard error {} of the paired difference", size(se, Scale::Pp, "")),
            (_, None) => "the standard error is not known".to_owned(),
        };
        let inside = self.se.is_some_and(|se| self.gain != 0.0 && self.gain.abs() <= se);
        format!("{items}, {errors}{}", if inside { "; inside one standard error" } else { "" })
    }
}

fn points(points: f64, tolerance: f64) -> String {
    let bound = if tolerance.is_finite() { tolerance } else { 0.0 };
    size_beside(points, bound, Scale::Pp, "")
}

pub(super) fn next(verdict: Verdict, lacks_items: bool) -> &'static str {
    match verdict {
        Verdict::Regression => "Find what made the answers worse, or accept the drop by a reviewed change.",
        Verdict::Inconclusive if lacks_items => "Give the answers to the single items of both sides, or more items.",
        _ => "Nothing to do.",
    }
}

/// How notes begin that speak of the run as a whole, and so are often said of every score.
pub const OF_THE_RUN: [&str; 2] = ["other settings differ: ", "not stated on either side"];

pub(super) fn settings_differ(settings: &[String]) -> String {
    format!("{}{}", OF_THE_RUN[0], settings.join("; "))
}

pub(super) fn unstated(fields: &[&str]) -> String {
    format!("{}, so it may differ: {}", OF_THE_RUN[1], fields.join(", "))
}

pub(super) fn of_the_base(percent: f64, tolerance: f64) -> String {
    let [percent, tolerance] = [(percent, Scale::Pct), (tolerance, Scale::Pp)].map(|(value, scale)| size(value, scale, ""));
    format!("the {percent} of the base that may be lost are {tolerance}")
}

pub(super) fn limited(score: &Score) -> String {
    let items = match (score.items, score.of) {
        (Some(items), Some(of)) => format!("n={items} (of {of})"),
        (Some(items), None) => format!("n={items} (limited)"),
        _ => "a limited run".to_owned(),
    };
    let step = match score.items.filter(|items| *items > 0) {
        Some(items) => format!(": one answer moves the score {} points", figure(100.0 / items as f64)),
        None => String::new(),
    };
    format!("{}: {items}{step}; a part of the task does not speak for all of it.", score.key)
}

pub(super) fn paired(result: &PairedResult, tolerance: f64) -> String {
    let PairedResult { lost, gained, items, .. } = result;
    let net = 100.0 * (*gained as f64 - *lost as f64) / *items as f64;
    let (estimate, interval) = gain(net, Some(result.interval_pp), tolerance, Scale::Pp, "");
    let allowed = size(tolerance, Scale::Pp, "");
    let shown = match result.shown {
        Shown::NotWorse => format!("shown to be not worse than {allowed}"),
        Shown::BeyondMargin => format!("shown to be worse than {allowed}"),
        Shown::Worse => "shown to be worse, by how much is not".to_owned(),
        Shown::Open { more: Some(more) } => {
            format!("neither shown to be worse than {allowed} nor to be not; about {more} more items are needed")
        }
        Shown::Open { more: None } => format!("neither shown to be worse than {allowed} nor to be not; no practical number of items tells"),
    };
    format!(
        "paired over {}: {lost} lost, {gained} gained, {estimate} {} (95 %), exact one-sided p = {}: {shown}",
        count(*items, "item"),
        interval.unwrap_or_default(),
        figure(result.mcnemar.worse),
    )
}

pub(super) fn too_small(items: u64, alpha: f64) -> String {
    if too_few_for_any_answer(items, alpha) {
        format!(
            "{} can never show anything: even if every one of them were lost, it could be chance",
            count(items, "item")
        )
    } else {
        format!("{items} items are too few ever to show \"not worse\" (it takes {SCORE_TEST_FROM}): only that there is a loss at all")
    }
}

pub(super) fn withheld(withheld: &Withheld) -> String {
    match withheld {
        Withheld::Unmatched { base, candidate } => format!(
            "the paired result is withheld: {} of the base and {} of the candidate have no counterpart",
            count(*base, "item"),
            count(*candidate, "item")
        ),
        Withheld::Unusable { why } => format!("the paired result is withheld: {why}"),
    }
}

pub(super) fn not_shown(paired: &PairedResult, alpha: f64) -> String {
    let more = match paired.shown {
        _ if paired.items < SCORE_TEST_FROM && too_few_for_any_answer(paired.items, alpha) => "so few never can".to_owned(),
        Shown::Open { more: Some(more) } => format!("about {more} more are needed"),
        _ => "no practical number tells".to_owned(),
    };
    format!(
        "The rule wants the paired test too, and over {} it shows no such loss: {more}.",
        count(paired.items, "item")
    )
}

/// How many tasks fail from noise alone; nothing where no task's noise is known.
pub(super) fn noise(noise: &FromNoise, unknown: usize) -> Option<String> {
    let known = (noise.tasks > 0).then(|| {
        format!(
            "if nothing had changed, noise alone would fail {} of {} on average, and at least one with a chance of {}",
            if noise.expected < 0.1 {
                figure(noise.expected)
            } else {
                format!("{:.1}", noise.expected)
            },
            count(noise.tasks as u64, "task"),
            chance(noise.any)
        )
    })?;
    Some(match unknown {
        0 => known,
        unknown => format!("{known}; the noise of {} more is not known", count(unknown as u64, "task")),
    })
}
