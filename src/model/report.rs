//! What another tool's output says, in one shape for every format: series with the values of each process, and nothing judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::figure::{Figure, Missing, Reading};
use super::gate::declaration::{Reduce, Series};
use super::metric::Better;
use super::unit::{Unit, convert};

/// Repetitions that lie further apart than this, in percent of the middle one, are noisy.
const SCATTER_PCT: f64 = 3.0;
/// A first repetition that lies this many times the range of the others away from them stands apart: a warm-up that was counted.
const APART: f64 = 3.0;
/// How many series a message names.
const NAMED_MAX: usize = 6;

/// Bytes that cannot be read as results, with one sentence that says why and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// What one process gave for one series: its repetitions in order, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// Finite numbers in the series' unit; never empty.
    Repetitions(Vec<f64>),
    /// No number, and why.
    Missing(Missing),
}

impl Process {
    /// The repetitions, where there are some and each is a finite number.
    pub fn of(repetitions: Vec<f64>) -> Self {
        if repetitions.is_empty() {
            Self::not_measured("no repetition")
        } else if repetitions.iter().all(|value| value.is_finite()) {
            Self::Repetitions(repetitions)
        } else {
            Self::failed("not a finite number")
        }
    }

    /// Nobody gave a value, because of `why`.
    pub fn not_measured(why: impl Into<String>) -> Self {
        Self::Missing(Missing::not_measured(why))
    }

    /// What was given cannot be used, because of `why`.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Missing(Missing::failed(why))
    }
}

/// One series of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Reported {
    /// What the tool calls it.
    pub name: String,
    /// What else tells it from other series, and is never averaged over: task, filter, depth.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub of: BTreeMap<String, String>,
    /// The unit, where the format states one.
    pub unit: Option<Unit>,
    /// Which direction is better, where the format states it.
    pub better: Option<Better>,
    /// One entry a process; a process is a sample.
    pub processes: Vec<Process>,
    /// How many items the value rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// The standard error that the tool gives, in the series' unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<f64>,
    /// What must be equal before two values of this series are compared: the version of the task, the number of shots.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub detail: BTreeMap<String, String>,
    /// What a reader should know of the values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Reported {
    /// The text that names exactly this series: `acc[filter=none,task=piqa]`, or the bare name where nothing else distinguishes it.
    pub fn label(&self) -> String {
        if self.of.is_empty() {
            return self.name.clone();
        }
        let parts: Vec<String> = self.of.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{}[{}]", self.name, parts.join(","))
    }

    /// Notes what the repetitions themselves say: that they disagree, that the first one stands apart, or that one alone says nothing of
    /// the spread.
    pub fn note_scatter(&mut self) {
        let Ok(values) = self.together() else { return };
        // A value that stands for several has its own note, items or standard error.
        let stands_for_several = !self.notes.is_empty() || self.n.is_some() || self.stderr.is_some();
        if values.len() > 1 || !stands_for_several {
            self.notes.extend(scatter(&values));
        }
    }

    /// The value that stands for the series in a format that knows only one: the middle repetition.
    ///
    /// # Errors
    /// When the series has no value.
    pub fn exported(&self) -> Result<f64, Refused> {
        let missing = |why: &str| Refused(format!("{}: {why}: this format cannot say that a value is missing", self.label()));
        let values = self.together().map_err(|found| missing(&found.why))?;
        reduce(values, Reduce::Median).ok_or_else(|| missing("no repetition"))
    }

    /// The repetitions of every process together. One missing process makes the figure missing: what is left would be a choice.
    fn together(&self) -> Result<Vec<f64>, Missing> {
        let mut all = Vec::new();
        for process in &self.processes {
            match process {
                Process::Repetitions(values) => all.extend(values),
                Process::Missing(missing) => return Err(missing.clone()),
            }
        }
        Ok(all)
    }

    /// The standard error that the tool states of the one value that it gives, in the declared unit.
    fn standard_error(&self, wanted: &Series) -> Option<f64> {
        let one = matches!(self.processes.as_slice(), [Process::Repetitions(values)] if values.len() == 1);
        let error = self.stderr.filter(|error| one && error.is_finite() && *error >= 0.0)?;
        convert(error, self.unit.unwrap_or(wanted.metric.unit), wanted.metric.unit)
    }

    /// The figure of one declared series: reduced, in the declared unit, never against the direction that the tool states.
    fn figure(&self, wanted: &Series) -> Figure {
        let metric = &wanted.metric;
        if let Some(better) = self.better.filter(|better| *better != metric.better) {
            let word = if better == Better::Higher { "higher" } else { "lower" };
            return Figure::failed(format!("the format says that {word} is better, and the gate declares the opposite"));
        }
        let value = match self.together().map(|values| reduce(values, wanted.reduce)) {
            Ok(Some(value)) => value,
            Ok(None) => return Figure::not_measured("no repetition"),
            Err(missing) => return Figure::Missing(missing),
        };
        let given = self.unit.unwrap_or(metric.unit);
        match convert(value, given, metric.unit) {
            Some(converted) => Figure::Value(converted),
            None if given.dimension() == metric.unit.dimension() => Figure::failed(format!("too large for a number of {}", metric.unit)),
            None => Figure::failed(format!("given in {given}, which does not convert to {}", metric.unit)),
        }
    }
}

/// What repetitions say about their own spread; nothing where they agree within [`SCATTER_PCT`].
fn scatter(values: &[f64]) -> Option<String> {
    let (first, others) = values.split_first()?;
    if others.is_empty() {
        return Some("one repetition: its spread is not known".to_owned());
    }
    let ends = |values: &[f64]| [Reduce::Min, Reduce::Median, Reduce::Max].map(|how| reduce(values.to_vec(), how).unwrap_or(0.0));
    let [low, middle, high] = ends(values);
    let spread_pct = 100.0 * (high - low) / middle.abs();
    if spread_pct <= SCATTER_PCT || middle == 0.0 {
        return None;
    }
    let [low, middle, high] = ends(others);
    let off_pct = 100.0 * (first - middle) / middle.abs();
    let apart = (first - middle).abs() > APART * (high - low) && off_pct.abs() > SCATTER_PCT;
    Some(if apart && others.len() > 1 {
        format!("noisy: the first repetition lies {off_pct:+.0} % from the others")
    } else {
        format!("noisy: the repetitions lie {spread_pct:.1} % apart")
    })
}

/// The repetitions of a process as one value; none where there are none.
pub fn reduce(mut values: Vec<f64>, how: Reduce) -> Option<f64> {
    let last = *values.last()?;
    let count = values.len();
    let by_mean = |values: &[f64]| values.iter().sum::<f64>() / count as f64;
    Some(match how {
        Reduce::Last => last,
        Reduce::Mean => by_mean(&values),
        Reduce::Min => values.into_iter().fold(f64::INFINITY, f64::min),
        Reduce::Max => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        Reduce::Median => {
            values.sort_by(f64::total_cmp);
            let (low, high) = (*values.get((count - 1) / 2)?, *values.get(count / 2)?);
            // The halves first: the sum of two large numbers can leave the range.
            low / 2.0 + high / 2.0
        }
    })
}

/// What one output says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The tool, with its version where the output tells it.
    pub tool: String,
    /// The date that the output itself carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The series in the order of the output.
    pub series: Vec<Reported>,
    /// What the tool says about how it ran; fields that are the same for every series.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// What a reader should know: lines skipped, rows left out, duplicates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// The figures of one process for declared series: each gets exactly one, under its metric's name.
    pub fn reading(&self, wanted: &[Series]) -> Reading {
        let mut reading = Reading::default();
        for series in wanted {
            let name = &series.metric.name;
            match self.find(series) {
                Err(figure) => reading.set(name, figure),
                Ok(found) => {
                    reading.set(name, found.figure(series));
                    let error = found.standard_error(series).filter(|_| reading.values.contains_key(name));
                    reading.standard_errors.extend(error.map(|error| (name.clone(), error)));
                }
            }
        }
        reading
    }

    /// The one series that is wanted; or why there is no figure of it.
    fn find(&self, wanted: &Series) -> Result<&Reported, Figure> {
        let named: Vec<&Reported> = self.series.iter().filter(|series| series.name == wanted.from).collect();
        let labelled = self.series.iter().filter(|series| series.label() == wanted.from);
        let found = if named.is_empty() { labelled.collect() } else { named };
        match found.as_slice() {
            [] => Err(Figure::not_measured("no such series")),
            [one] => Ok(one),
            several => {
                let labels: BTreeSet<String> = several.iter().map(|series| series.label()).collect();
                if labels.len() == 1 {
                    let why = format!("stands {} times in the output, which cannot be told apart", several.len());
                    return Err(Figure::failed(why));
                }
                let shown: Vec<String> = labels.iter().take(NAMED_MAX).cloned().collect();
                Err(Figure::failed(format!(
                    "{} series have this name ({}{}): give one of these as `from`",
                    several.len(),
                    shown.join(", "),
                    if labels.len() > NAMED_MAX { ", ..." } else { "" }
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::figure::State;
    use crate::model::metric::Metric;

    fn wanted(flag: &str, from: &str) -> Series {
        Series {
            from: from.to_owned(),
            ..Series::of(Metric::parse_flag(flag).unwrap())
        }
    }

    fn reported(name: &str, depth: &str, values: &[f64]) -> Reported {
        Reported {
            name: name.to_owned(),
            of: BTreeMap::from([("depth".to_owned(), depth.to_owned())]),
            unit: Some(Unit::parse("ms").unwrap()),
            better: Some(Better::Lower),
            processes: vec![Process::of(values.to_vec())],
            ..Reported::default()
        }
    }

    #[test]
    fn a_series_is_found_by_its_name_or_by_its_whole_label() {
        let report = Report {
            series: vec![
                reported("a", "0", &[1.0, 9.0, 2.0]),
                reported("a", "4096", &[3.0]),
                reported("b", "0", &[4.0]),
            ],
            ..Report::default()
        };
        let series = [
            wanted("x:lower:s", "a[depth=0]"),
            wanted("b:lower:ms", "b"),
            wanted("y:lower:ms", "a"),
            wanted("z:lower:ms", "c"),
            wanted("w:higher:ms", "b"),
            wanted("v:lower:tok/s", "b"),
        ];
        let reading = report.reading(&series);
        assert_eq!(reading.values, BTreeMap::from([("x".to_owned(), 0.002), ("b".to_owned(), 4.0)]));
        let why = |name: &str| reading.missing[name].why.as_str();
        assert_eq!(
            why("y"),
            "2 series have this name (a[depth=0], a[depth=4096]): give one of these as `from`"
        );
        assert_eq!(why("z"), "no such series");
        assert_eq!(why("w"), "the format says that lower is better, and the gate declares the opposite");
        assert_eq!(why("v"), "given in ms, which does not convert to tok/s");
    }

    #[test]
    fn one_bad_process_spoils_its_series() {
        let mut series = reported("a", "0", &[1.0]);
        series.processes.push(Process::of(vec![2.0, f64::NAN]));
        let report = Report {
            series: vec![series],
            ..Report::default()
        };
        let reading = report.reading(&[wanted("a:lower:ms", "a")]);
        assert_eq!(reading.missing["a"].why, "not a finite number");
        assert_eq!(reading.missing["a"].state, State::Failed);
    }

    #[test]
    fn scatter_is_told() {
        let says = |values: &[f64]| scatter(values).unwrap_or_default();
        assert_eq!(
            says(&[5000.0, 43000.0, 42900.0, 43100.0, 42950.0]),
            "noisy: the first repetition lies -88 % from the others"
        );
        assert_eq!(says(&[100.0, 104.0, 101.0]), "noisy: the repetitions lie 4.0 % apart");
        assert_eq!(says(&[100.0, 103.0, 101.0]), "");
        assert_eq!(says(&[100.0]), "one repetition: its spread is not known");
        assert_eq!((says(&[]), says(&[0.0, 0.0])), (String::new(), String::new()));
    }

    #[test]
    fn repetitions_reduce_as_declared() {
        let values = vec![3.0, 1.0, 2.0, 10.0];
        for (how, value) in [
            (Reduce::Median, 2.5),
            (Reduce::Mean, 4.0),
            (Reduce::Min, 1.0),
            (Reduce::Max, 10.0),
            (Reduce::Last, 10.0),
        ] {
            assert_eq!(reduce(values.clone(), how), Some(value), "{how:?}");
        }
        assert_eq!(reduce(Vec::new(), Reduce::Median), None);
        assert_eq!(reduce(vec![f64::MAX, f64::MAX], Reduce::Median), Some(f64::MAX));
    }
}
