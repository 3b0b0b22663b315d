//! One figure of a run, over however many records, in a few numbers.

use crate::adapter::foreign::Json;
use crate::model::metric::Better;
use crate::model::number::{count, figure};
use crate::model::report::Process;

/// Which of the records' values stands for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// Their mean.
    Mean,
    /// The largest.
    Peak,
    /// The last.
    Last,
}

/// A field that is measured.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) unit: Option<&'static str>,
    pub(super) better: Option<Better>,
    pub(super) stands: Stands,
    /// What a 0 stands for, where it is no value.
    pub(super) zero: Option<&'static str>,
}

const fn field(key: &'static str, unit: Option<&'static str>, better: Option<Better>, stands: Stands, zero: Option<&'static str>) -> Field {
    Field {
        key,
        unit,
        better,
        stands,
        zero,
    }
}

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

/// Every measured field of a record or an event.
pub(super) const FIELDS: [Field; 7] = [
    field("tok_per_s", Some("tok/s"), HIGHER, Stands::Mean, None),
    field("tokens_per_s", Some("tok/s"), HIGHER, Stands::Mean, None),
    field("mfu", Some("1"), HIGHER, Stands::Mean, Some("0 stands for not measured")),
    field("hbm_gb", Some("GB"), LOWER, Stands::Peak, Some("0 stands for not measured")),
    field(
        "watts",
        Some("W"),
        None,
        Stands::Mean,
        Some("0 W stands for a sensor that is not there"),
    ),
    field("loss", None, LOWER, Stands::Last, None),
    field("eval_loss", None, LOWER, Stands::Last, None),
];

/// A utilisation above this is told in percent.
const SHARE_MAX: f64 = 1.5;

/// The values of one field so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) values: u64,
    sum: f64,
    low: f64,
    high: f64,
    last: f64,
    /// Records in which the field is there without a value.
    absent: u64,
    zeros: u64,
    failed: Option<String>,
}

impl Tally {
    /// Whether the field was there at all.
    pub(super) fn was_told(&self) -> bool {
        self.values + self.absent + self.zeros > 0 || self.failed.is_some()
    }

    pub(super) fn take(&mut self, field: &Field, value: &Json, line: usize) {
        match value.number() {
            Some(number) if number.is_nan() => self.fail(format!("not a finite number at line {line}")),
            Some(number) if number < 0.0 && field.unit.is_some() => self.fail(format!("a negative value at line {line}: {number}")),
            Some(0.0) if field.zero.is_some() => self.zeros += 1,
            Some(number) => self.add(number),
            None if *value == Json::Null => self.absent += 1,
            None => self.fail(format!("{} at line {line}, where a number should stand", value.kind())),
        }
    }

    fn fail(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    fn add(&mut self, number: f64) {
        let first = self.values == 0;
        self.low = if first { number } else { self.low.min(number) };
        self.high = if first { number } else { self.high.max(number) };
        self.sum += number;
        self.last = number;
        self.values += 1;
    }

    /// What stands for the run, and what must be known of it.
    pub(super) fn concluded(&self, field: &Field) -> (Process, Vec<String>) {
        if let Some(why) = &self.failed {
            return (Process::failed(why.clone()), Vec::new());
        }
        if self.values == 0 {
            let why = field.zero.filter(|_| self.zeros > 0).unwrap_or("no record has a value");
            return (Process::not_measured(why), Vec::new());
        }
        let mut scale = 1.0;
        let mut notes = Vec::new();
        if field.key == "mfu" && self.high > SHARE_MAX {
            if self.low <= SHARE_MAX || self.high > 100.0 {
                let why = format!(
                    "between {} and {}: neither a share nor percent",
                    figure(self.low),
                    figure(self.high)
                );
                return (Process::failed(why), notes);
            }
            scale = 100.0;
            notes.push("told in percent".to_owned());
        }
        let (value, word) = match field.stands {
            Stands::Mean => (self.sum / self.values as f64, "the mean"),
            Stands::Peak => (self.high, "the largest"),
            Stands::Last => (self.last, "the last"),
        };
        if self.values > 1 {
            let [low, high] = [self.low, self.high].map(figure);
            notes.insert(0, format!("{word} of {} values between {low} and {high}", self.values));
        }
        let without = self.absent + self.zeros;
        if without > 0 {
            notes.push(format!("not measured in {}", count(without, "more record")));
        }
        (Process::of(vec![value / scale]), notes)
    }
}
