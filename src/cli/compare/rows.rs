//! Two sides aligned by key.

use std::collections::BTreeMap;

use serde::Serialize;

use super::side::Side;
use crate::cli::results::keys;
use crate::model::figure::{Missing, State};
use crate::model::gate::declaration::Reduce;
use crate::model::metric::Better;
use crate::model::number::count;
use crate::model::report::{Process, Reported, reduce};
use crate::model::unit::{Unit, convert};

/// Version of the JSON that is printed.
const VERSION: u32 = 1;
/// How far two middle values may lie apart, in percent, for a series to be another renamed.
const ALIKE_PCT: f64 = 5.0;

/// Two sides, side by side.
#[derive(Debug, Serialize)]
pub struct Comparison {
    version: u32,
    /// The base.
    pub base: Told,
    /// The candidate.
    pub candidate: Told,
    /// The series of both, in the order of the base.
    pub rows: Vec<Row>,
    /// Series of the base alone.
    pub only_base: Vec<Alone>,
    /// Series of the candidate alone.
    pub only_candidate: Vec<Alone>,
    /// Identity and configuration fields that differ, with what each side has.
    pub differs: BTreeMap<String, [String; 2]>,
    /// The field that is meant to differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lever: Option<String>,
    /// What the numbers are worth.
    pub worth: String,
}

/// A side in words.
#[derive(Debug, Serialize)]
pub struct Told {
    /// As it was named.
    pub file: String,
    /// What it is.
    pub is: String,
}

/// One series of both sides.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What it is called.
    pub series: String,
    /// The unit of every value; none where neither side states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Which direction is better, where either side states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// The base's values.
    pub base: Values,
    /// The candidate's.
    pub candidate: Values,
    /// The relative difference of the middle values in percent, positive is better; only where the direction is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_pct: Option<f64>,
    /// Candidate minus base, in the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// What a reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One side's values of a series: a value a process.
#[derive(Debug, Default, Serialize)]
pub struct Values {
    /// How many processes gave one.
    pub n: usize,
    /// The smallest, the middle and the largest; none where there are none, or one is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_median_max: Option<[f64; 3]>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A series of one side.
#[derive(Debug, Serialize)]
pub struct Alone {
    /// What it is called.
    pub series: String,
    /// Its values.
    pub values: Values,
    /// A series of the other side alone whose values and number agree: it was probably renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
}

impl Comparison {
    /// Aligns two sides.
    pub fn of(a: &Side, b: &Side, lever: Option<&str>) -> Self {
        let find = |side: &'_ Side, label: &str| side.report.series.iter().position(|series| series.label() == label);
        let mut rows = Vec::new();
        for base in &a.report.series {
            if let Some(candidate) = find(b, &base.label()).and_then(|at| b.report.series.get(at)) {
                rows.push(Row::of(base, candidate));
            }
        }
        let only = |side: &'_ Side, other: &'_ Side| -> Vec<Reported> {
            let lone = side.report.series.iter().filter(|series| find(other, &series.label()).is_none());
            lone.cloned().collect()
        };
        let (only_base, only_candidate) = (only(a, b), only(b, a));
        let told = |side: &Side| Told {
            file: side.name.clone(),
            is: side.is.clone(),
        };
        Self {
            version: VERSION,
            base: told(a),
            candidate: told(b),
            worth: worth(&rows),
            only_base: only_base.iter().map(|series| alone(series, &only_candidate)).collect(),
            only_candidate: only_candidate.iter().map(|series| alone(series, &only_base)).collect(),
            rows,
            differs: keys::differences([&a.report].into_iter(), [&b.report].into_iter()),
            lever: lever.map(str::to_owned),
        }
    }

    /// Whether nothing stands on both sides.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The fields that differ beside the declared lever.
    pub fn beside_lever(&self) -> Vec<&str> {
        let is_lever = |field: &str| {
            let lever = self.lever.as_deref().unwrap_or_default();
            field == lever || field.strip_prefix(lever).is_some_and(|rest| rest.starts_with('.'))
        };
        self.differs.keys().map(String::as_str).filter(|field| !is_lever(field)).collect()
    }

    /// What differs, in one sentence.
    pub fn levers_in_words(&self) -> String {
        let words = keys::in_words(&self.differs);
        match (self.differs.len(), self.lever.as_deref()) {
            (0, None) => "no field of identity or configuration differs".to_owned(),
            (0, Some(lever)) => format!("no field differs, {lever} neither"),
            (1, None) => format!("exactly one lever: {words}"),
            (1, Some(lever)) if self.beside_lever().is_empty() => format!("exactly the declared lever {lever}: {words}"),
            (_, Some(lever)) => format!("more than the declared lever {lever}: {words}"),
            (many, None) => format!("{} differ: {words}", count(many as u64, "field")),
        }
    }
}

fn worth(rows: &[Row]) -> String {
    let single = rows.iter().any(|row| row.base.n == 1 || row.candidate.n == 1);
    if single {
        "exploratory: a single process a side says nothing of the noise between processes".to_owned()
    } else {
        "differences of medians, and no verdict: no rule was declared, and the order of the processes is not looked at".to_owned()
    }
}

impl Row {
    fn of(base: &Reported, candidate: &Reported) -> Self {
        let unit = base.unit.or(candidate.unit);
        let mut notes: Vec<String> = Vec::new();
        for (side, series) in [("A", base), ("B", candidate)] {
            notes.extend(series.notes.iter().map(|note| format!("{side}: {note}")));
        }
        let details = keys::in_words(&keys::pairs(&base.detail, &candidate.detail));
        if !details.is_empty() {
            notes.push(format!("not the same question: {details}"));
        }
        let (base_values, candidate_values) = (Values::of(base, unit), Values::of(candidate, unit));
        let mut row = Self {
            series: base.label(),
            unit,
            better: base.better.or(candidate.better),
            gain_pct: None,
            difference: None,
            base: base_values,
            candidate: candidate_values,
            notes,
        };
        if base.better.zip(candidate.better).is_some_and(|(a, b)| a != b) {
            row.better = None;
            row.notes.push("the sides state opposite directions".to_owned());
        }
        row.compare(details.is_empty());
        row
    }

    /// The difference of the middle values, where there are two that mean the same.
    fn compare(&mut self, comparable: bool) {
        let middle = |values: &Values| values.min_median_max.map(|[_, middle, _]| middle);
        let Some((a, b)) = middle(&self.base).zip(middle(&self.candidate)).filter(|_| comparable) else {
            return;
        };
        self.difference = Some(b - a);
        let Some(better) = self.better else {
            self.notes
                .push("the better direction is not stated, so there is no gain".to_owned());
            return;
        };
        let rise = 100.0 * (b - a) / a.abs();
        let gain = if better == Better::Higher { rise } else { -rise };
        self.gain_pct = match (a == b, gain.is_finite()) {
            (true, _) => Some(0.0),
            (false, finite) => finite.then_some(gain),
        };
        if self.gain_pct.is_none() {
            self.notes.push("a relative change from zero is undefined".to_owned());
        }
    }
}

impl Values {
    /// A series' processes, each as the middle of its repetitions, in a unit. One that is missing leaves no choice among the others.
    fn of(series: &Reported, unit: Option<Unit>) -> Self {
        let mut values = Vec::new();
        for process in &series.processes {
            match process {
                Process::Repetitions(repetitions) => values.extend(reduce(repetitions.clone(), Reduce::Median)),
                Process::Missing(missing) => return Self::missing(in_words(missing)),
            }
        }
        let given = series.unit.or(unit);
        let converted = |value: f64| match given.zip(unit) {
            Some((given, unit)) => convert(value, given, unit),
            None => Some(value),
        };
        let Some(values) = values.into_iter().map(converted).collect::<Option<Vec<f64>>>() else {
            let shown = |unit: Option<Unit>| unit.map_or_else(String::new, |unit| unit.to_string());
            return Self::missing(format!("given in {}, which does not convert to {}", shown(given), shown(unit)));
        };
        let ends = [Reduce::Min, Reduce::Median, Reduce::Max].map(|how| reduce(values.clone(), how));
        match ends {
            [Some(min), Some(median), Some(max)] => Self {
                n: values.len(),
                min_median_max: Some([min, median, max]),
                missing: None,
            },
            _ => Self::missing("not measured: no process".to_owned()),
        }
    }

    fn missing(why: String) -> Self {
        Self {
            missing: Some(why),
            ..Self::default()
        }
    }
}

fn in_words(missing: &Missing) -> String {
    let word = match missing.state {
        State::NotMeasured => "not measured",
        State::Failed => "failed",
    };
    format!("{word}: {}", missing.why)
}

fn alone(series: &Reported, others: &[Reported]) -> Alone {
    let values = Values::of(series, series.unit);
    let alike = |other: &&Reported| {
        let theirs = Values::of(other, series.unit.or(other.unit));
        let near = |([_, a, _], [_, b, _]): ([f64; 3], [f64; 3])| (a - b).abs() <= ALIKE_PCT / 100.0 * a.abs();
        theirs.n == values.n && series.n == other.n && values.min_median_max.zip(theirs.min_median_max).is_some_and(near)
    };
    Alone {
        series: series.label(),
        renamed: others.iter().find(alike).map(Reported::label),
        values,
    }
}
