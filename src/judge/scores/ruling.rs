//! One answer of the rule as a ruling of the record.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Judging, KIND};
use crate::judge::drop::{Answer, DEFAULT_TOLERANCE_PP, Demand, Open, Threshold};
use crate::model::eval::Key;
use crate::model::eval::evidence::BaseKind;
use crate::model::gate::Against;
use crate::model::judgement::{Range, Ruling, Verdict};
use crate::model::metric::Scale;
use crate::model::number::size;
use crate::model::sample::{Arm, Cell};

impl Judging<'_> {
    /// A ruling without figures.
    pub(super) fn bare(&self, name: &str, verdict: Verdict, because: String, next: &str) -> Ruling {
        let against = match self.scores.base_kind {
            BaseKind::Results => Against::Base,
            BaseKind::Baseline | BaseKind::None => Against::Baseline,
        };
        Ruling {
            rule: KIND.to_owned(),
            against,
            of: Arm::B,
            cell: Cell { fixture: name.to_owned() },
            metric: String::new(),
            verdict,
            outcome: verdict.outcome(),
            required: self.rule.required,
            scale: Scale::Pp,
            unit: "%".to_owned(),
            estimate: None,
            interval: None,
            tolerance: DEFAULT_TOLERANCE_PP,
            blocks: 0,
            base: None,
            candidate: None,
            looks: Vec::new(),
            smallest_detectable: None,
            because,
            next: next.to_owned(),
            warnings: Vec::new(),
            detail: BTreeMap::new(),
        }
    }

    /// The ruling that an answer is.
    pub(super) fn ruling(&self, demand: &Demand, answer: &Answer) -> Ruling {
        let (tolerance, scale) = match demand.threshold {
            Threshold::Points(points) => (points, Scale::Pp),
            Threshold::Percent(percent) if answer.open.is_none() => (percent * answer.base_pp.unwrap_or(0.0) / 100.0, Scale::Pp),
            Threshold::Percent(percent) => (percent, Scale::Pct),
            Threshold::Disabled => (100.0, Scale::Pp),
        };
        let one = |value: f64| Range {
            n: 1,
            min: value,
            median: value,
            max: value,
        };
        let mut ruling = Ruling {
            metric: answer.key.filtered_metric(),
            required: self.rule.required && answer.counted,
            scale,
            estimate: answer.gain_pp,
            interval: answer.paired.map(|paired| paired.interval_pp),
            tolerance,
            base: answer.base_pp.map(|value| self.range(&answer.key, value)),
            candidate: answer.candidate_pp.map(one),
            warnings: answer.notes.clone(),
            detail: detail(answer),
            ..self.bare(&answer.key.task, answer.verdict, answer.because.clone(), &answer.next)
        };
        if let Some(Open { base, candidate, gain_pct }) = answer.open {
            ruling.unit = "1".to_owned();
            if gain_pct.is_some() || matches!(demand.threshold, Threshold::Percent(_)) {
                (ruling.scale, ruling.estimate) = (Scale::Pct, gain_pct);
            }
            (ruling.base, ruling.candidate) = (Some(self.range(&answer.key, base)), Some(one(candidate)));
        }
        if let Some(spread) = self.reference.spread(&answer.key).filter(|spread| spread.runs > 1) {
            let ends = ruling
                .base
                .map(|Range { min, max, .. }| [min, max].map(|end| size(end, Scale::Abs, &ruling.unit)));
            let ends = ends.map_or_else(String::new, |[low, high]| format!(", from {low} to {high}"));
            ruling
                .warnings
                .push(format!("the base is the middle of {} accepted runs{ends}", spread.runs));
        }
        ruling.warnings.extend(self.suspicious(answer));
        ruling
    }

    /// The base's value with the ends of its runs, on the scale of the value.
    fn range(&self, key: &Key, value: f64) -> Range {
        let spread = self.reference.spread(key);
        let times = spread.map_or(1.0, |spread| value / spread.median);
        let times = if times.is_finite() { times } else { 1.0 };
        let end = |pick: fn(&super::reference::Spread) -> f64| spread.as_ref().map_or(value, |spread| times * pick(spread));
        Range {
            n: spread.map_or(1, |spread| spread.runs as u32),
            min: end(|spread| spread.min),
            median: value,
            max: end(|spread| spread.max),
        }
    }

    /// A gain that is too good: a broken filter raises scores too.
    fn suspicious(&self, answer: &Answer) -> Option<String> {
        let above = self.asked.review_above_pct(&answer.key)?;
        let gain_pct = match answer.open {
            Some(open) => open.gain_pct?,
            None => 100.0 * answer.gain_pp? / answer.base_pp?,
        };
        (gain_pct > above).then(|| {
            format!(
                "suspicious improvement: beyond {}; look at the answers before it is believed",
                size(above, Scale::Pct, "")
            )
        })
    }
}

fn detail(answer: &Answer) -> BTreeMap<String, Value> {
    let mut detail = BTreeMap::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            detail.insert(name.to_owned(), value);
        }
    };
    put("items", json!(answer.items));
    put("se_pp", json!(answer.se_pp));
    put("false_alarm", json!(answer.false_alarm));
    put("paired", json!(answer.paired));
    put("withheld", json!(answer.withheld));
    if !answer.counted {
        put("counted", json!(false));
    }
    detail
}
