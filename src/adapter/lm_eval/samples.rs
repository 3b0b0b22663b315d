//! The log of single answers that lm-evaluation-harness writes: one line an item and filter. It is read a line at a time, and of each only
//! whether the item was answered right is kept.

use std::collections::BTreeSet;
use std::fmt;

use crate::adapter::foreign::{Json, Rows};
use crate::model::eval::{Key, Outcomes};
use crate::model::report::Refused;
use crate::model::text::plain_line;

/// Most answers of one task.
const ANSWERS_MAX: usize = 2_000_000;
/// Most metrics and filters of one task.
const SERIES_MAX: usize = 64;
/// Bytes of an item's digest that are kept.
const DIGEST_BYTES: usize = 6;
/// Longest name that a message quotes, in characters.
const QUOTE_MAX_CHARS: usize = 80;
/// Members that do not say whether an answer is right: the item itself, its prompt and what the model said.
const PASSED_OVER: [&str; 7] = [
    "doc",
    "arguments",
    "resps",
    "filtered_resps",
    "target",
    "prompt_hash",
    "target_hash",
];
/// Members that are read, and no metric.
const NO_METRIC: [&str; 4] = ["doc_id", "doc_hash", "filter", "metrics"];

/// Whether the first bytes of a file are of such a log.
pub fn is_log(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let first = text.trim_start_matches('\u{feff}').trim_start();
    first.starts_with('{') && first.contains("\"doc_id\"")
}

/// The answers of one log.
#[derive(Debug)]
pub struct Samples {
    rows: Rows,
    series: Vec<Series>,
    /// Metrics whose values are not right or wrong.
    graded: BTreeSet<String>,
    answers: usize,
}

/// The answers under one metric and filter, as they came.
#[derive(Debug)]
struct Series {
    metric: String,
    filter: String,
    answers: Vec<Answer>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Answer {
    item: Item,
    /// The digest above, and in the last bit whether it is right.
    told: u64,
}

/// An item's number in the harness, or its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Number(u64),
    Name(Box<str>),
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            rows: Rows::of(|key| !PASSED_OVER.contains(&key)),
            series: Vec::new(),
            graded: BTreeSet::new(),
            answers: 0,
        }
    }
}

impl Samples {
    /// Takes one line in.
    ///
    /// # Errors
    /// When it is no line of such a log, or there are too many.
    pub fn line(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        self.rows.read_bytes(bytes).map_err(|broken| broken.refused(1))?;
        if let Some(key) = self.rows.contradiction() {
            return Err(Refused(format!(
                "the key {:?} stands twice with different values; which one counts cannot be told",
                plain_line(&key, QUOTE_MAX_CHARS)
            )));
        }
        let row = self.rows.row();
        let item = Item::of(row).ok_or_else(|| Refused("no doc_id: not a log of single answers".to_owned()))?;
        let digest = digest(row.get("doc_hash").and_then(Json::text), &item);
        let filter = row.get("filter").and_then(Json::text).unwrap_or_default();
        let metrics = row.get("metrics").map_or(&[][..], Json::items);
        for (metric, value) in row.members() {
            let is_one = || metrics.is_empty() || metrics.iter().any(|name| name.text() == Some(metric));
            let Some(value) = figure(value).filter(|_| !NO_METRIC.contains(&metric.as_str()) && is_one()) else {
                continue;
            };
            let right = match value {
                1.0 => 1,
                0.0 => 0,
                _ => {
                    if !self.graded.contains(metric) {
                        self.graded.insert(metric.clone());
                    }
                    continue;
                }
            };
            let known = |series: &Series| series.metric == *metric && series.filter == filter;
            let at = self.series.iter().position(known).unwrap_or_else(|| {
                self.series.push(Series {
                    metric: metric.clone(),
                    filter: filter.to_owned(),
                    answers: Vec::new(),
                });
                self.series.len() - 1
            });
            if let Some(series) = self.series.get_mut(at) {
                series.answers.push(Answer {
                    item: item.clone(),
                    told: digest << 1 | right,
                });
            }
            self.answers += 1;
        }
        if self.answers > ANSWERS_MAX || self.series.len() > SERIES_MAX || self.graded.len() > SERIES_MAX {
            return Err(Refused(format!(
                "more than {ANSWERS_MAX} answers or {SERIES_MAX} metrics: too many for one task"
            )));
        }
        Ok(())
    }

    /// The outcomes of every score of a task, items in their own order. A metric with an answer between right and wrong has none.
    ///
    /// # Errors
    /// When the log holds no answer, or an item stands twice: a rerun was appended, and nothing says which one holds.
    pub fn outcomes(self, task: &str) -> Result<Vec<Outcomes>, Refused> {
        let Self { mut series, graded, .. } = self;
        series.iter_mut().try_for_each(Series::sort)?;
        if !graded.is_empty() && series.iter().all(|series| graded.contains(&series.metric)) {
            let graded: Vec<&str> = graded.iter().map(String::as_str).collect();
            return Err(Refused(format!("no answer is right or wrong: {} are graded", graded.join(", "))));
        }
        if series.is_empty() {
            return Err(Refused("the log holds no answer".to_owned()));
        }
        series.sort_by(|one, other| (&one.metric, &one.filter).cmp(&(&other.metric, &other.filter)));
        let binary = series.into_iter().filter(|series| !graded.contains(&series.metric));
        let outcomes = binary.map(|series| Outcomes {
            key: Key {
                task: task.to_owned(),
                metric: series.metric,
                filter: series.filter,
            },
            right: series
                .answers
                .iter()
                .map(|answer| if answer.told & 1 == 1 { '1' } else { '0' })
                .collect(),
            items: series.answers.iter().map(|answer| format!("{:012x}", answer.told >> 1)).collect(),
        });
        Ok(outcomes.collect())
    }
}

impl Series {
    fn sort(&mut self) -> Result<(), Refused> {
        self.answers.sort_unstable();
        let twice = self.answers.windows(2).find_map(|pair| match pair {
            [one, next] if one.item == next.item => Some(&one.item),
            _ => None,
        });
        match twice {
            None => Ok(()),
            Some(item) => Err(Refused(format!(
                "item {item} stands twice under the filter {:?}: a rerun was appended, and nothing says which one holds",
                if self.filter.is_empty() { "none" } else { &self.filter }
            ))),
        }
    }
}

impl Item {
    fn of(row: &Json) -> Option<Self> {
        let id = row.get("doc_id")?;
        let named = || id.text().map(|name| Self::Name(name.into()));
        id.count().map(Self::Number).or_else(named)
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// The first bytes of the digest of an item's hash, else of its number or name.
fn digest(hash: Option<&str>, item: &Item) -> u64 {
    let named = match (hash, item) {
        (Some(hash), _) => format!("hash {hash}"),
        (None, Item::Number(number)) => format!("id {number}"),
        (None, Item::Name(name)) => format!("id {name}"),
    };
    let digest = blake3::hash(named.as_bytes());
    let first = digest.as_bytes().iter().take(DIGEST_BYTES);
    first.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What an answer got: a number, or a truth.
fn figure(value: &Json) -> Option<f64> {
    match value {
        Json::Bool(right) => Some(f64::from(u8::from(*right))),
        other => other.number(),
    }
}
