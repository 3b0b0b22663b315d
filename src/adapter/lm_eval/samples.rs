//! The log of single answers that lm-evaluation-harness writes: one line an item and filter. It is read a line at a time, and of each only
//! whether the item was answered right is kept.

use std::collections::BTreeSet;
use std::fmt;

use crate::adapter::foreign::{Json, Rows};
use crate::model::eval::{Item, Key, Outcomes};
use crate::model::report::Refused;
use crate::model::text::plain_line;

/// Most answers of one task.
const ANSWERS_MAX: usize = 2_000_000;
/// Most metrics and filters of one task.
const SERIES_MAX: usize = 64;
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
    id: Id,
    item: Item,
    right: bool,
}

/// An item's number in the harness, or its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
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
        self.rows.read_bytes(bytes).map_err(|broken| broken.refused_line())?;
        if let Some(key) = self.rows.contradiction() {
            return Err(Refused(format!(
                "the key {:?} stands twice with different values; which one counts cannot be told",
                plain_line(&key, QUOTE_MAX_CHARS)
            )));
        }
        let row = self.rows.row();
        let id = Id::of(row).ok_or_else(|| Refused("no doc_id: not a log of single answers".to_owned()))?;
        let item = item(row.get("doc_hash").and_then(Json::text), &id);
        let filter = row.get("filter").and_then(Json::text).unwrap_or_default();
        let metrics = row.get("metrics").map_or(&[][..], Json::items);
        for (metric, value) in row.members() {
            let is_one = || metrics.is_empty() || metrics.iter().any(|name| name.text() == Some(metric));
            let Some(value) = figure(value).filter(|_| !NO_METRIC.contains(&metric.as_str()) && is_one()) else {
                continue;
            };
            let right = match value {
                1.0 => true,
                0.0 => false,
                _ => {
                    if !self.graded.contains(metric) {
                        self.graded.insert(metric.clone());
                    }
                    continue;
                }
            };
            Series::among(&mut self.series, metric, filter).answers.push(Answer {
                id: id.clone(),
                item,
                right,
            });
            self.answers += 1;
        }
        self.check_size()
    }

    fn check_size(&self) -> Result<(), Refused> {
        if self.answers > ANSWERS_MAX || self.series.len() > SERIES_MAX || self.graded.len() > SERIES_MAX {
            return Err(Refused(format!(
                "more than {ANSWERS_MAX} answers or {SERIES_MAX} metrics: too many for one task"
            )));
        }
        Ok(())
    }

    /// The answers of one log whose lines were shared out.
    ///
    /// # Errors
    /// When together they are too many.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Result<Self, Refused> {
        let mut whole = Self::default();
        for part in parts {
            for series in part.series {
                Series::among(&mut whole.series, &series.metric, &series.filter)
                    .answers
                    .extend(series.answers);
            }
            whole.graded.extend(part.graded);
            whole.answers += part.answers;
            whole.check_size()?;
        }
        Ok(whole)
    }

    /// The outcomes of every score of a task, items in their own order. A metric with an answer between right and wrong has none.
    ///
    /// # Errors
    /// When the log holds no answer, or an item stands twice: a rerun was appended, and nothing says which one holds.
    pub fn outcomes(self, task: &str) -> Result<Vec<Outcomes>, Refused> {
        let Self { mut series, graded, .. } = self;
        series.sort_by(|one, other| (&one.metric, &one.filter).cmp(&(&other.metric, &other.filter)));
        series.iter_mut().try_for_each(Series::sort)?;
        if !graded.is_empty() && series.iter().all(|series| graded.contains(&series.metric)) {
            let graded: Vec<&str> = graded.iter().map(String::as_str).collect();
            return Err(Refused(format!("no answer is right or wrong: {} are graded", graded.join(", "))));
        }
        if series.is_empty() {
            return Err(Refused("the log holds no answer".to_owned()));
        }
        let binary = series.into_iter().filter(|series| !graded.contains(&series.metric));
        let outcomes = binary.map(|series| Outcomes {
            key: Key {
                task: task.to_owned(),
                metric: series.metric,
                filter: series.filter,
            },
            right: series.answers.iter().map(|answer| if answer.right { '1' } else { '0' }).collect(),
            items: series.answers.iter().map(|answer| answer.item).collect(),
        });
        Ok(outcomes.collect())
    }
}

impl Series {
    /// The one of a metric and a filter, new where there is none yet.
    fn among<'a>(all: &'a mut Vec<Self>, metric: &str, filter: &str) -> &'a mut Self {
        let known = all.iter().position(|series| series.metric == metric && series.filter == filter);
        let at = known.unwrap_or(all.len());
        if known.is_none() {
            all.push(Self {
                metric: metric.to_owned(),
                filter: filter.to_owned(),
                answers: Vec::new(),
            });
        }
        &mut all[at]
    }

    fn sort(&mut self) -> Result<(), Refused> {
        self.answers.sort_unstable();
        let twice = self.answers.windows(2).find_map(|pair| match pair {
            [one, next] if one.id == next.id => Some(&one.id),
            _ => None,
        });
        match twice {
            None => Ok(()),
            Some(id) => Err(Refused(format!(
                "item {id} stands twice under the filter {:?}: a rerun was appended, and nothing says which one holds",
                if self.filter.is_empty() { "none" } else { &self.filter }
            ))),
        }
    }
}

impl Id {
    fn of(row: &Json) -> Option<Self> {
        let id = row.get("doc_id")?;
        let named = || id.text().map(|name| Self::Name(name.into()));
        id.count().map(Self::Number).or_else(named)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

/// An item by its hash, else by its number or name. A hash is digested again: nothing says that its first digits tell items apart.
fn item(hash: Option<&str>, id: &Id) -> Item {
    let named = match (hash, id) {
        (Some(hash), _) => format!("hash {hash}"),
        (None, Id::Number(number)) => format!("id {number}"),
        (None, Id::Name(name)) => format!("id {name}"),
    };
    Item::of(blake3::hash(named.as_bytes()).as_bytes())
}

/// What an answer got: a number, or a truth.
fn figure(value: &Json) -> Option<f64> {
    match value {
        Json::Bool(right) => Some(f64::from(u8::from(*right))),
        other => other.number(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[String]) -> Samples {
        let mut samples = Samples::default();
        for line in lines {
            samples.line(line.as_bytes()).unwrap();
        }
        samples
    }

    fn answer(id: u64, filter: &str, hash: &str, right: u8) -> String {
        format!(r#"{{"doc_id": {id}, "filter": "{filter}", "metrics": ["em"], "doc_hash": "{hash}", "em": {right}}}"#)
    }

    #[test]
    fn hashes_that_differ_anywhere_are_of_other_items() {
        let hashes: Vec<String> = (0..64).map(|at| format!("{}1{}", "0".repeat(at), "0".repeat(63 - at))).collect();
        let lines: Vec<String> = hashes.iter().zip(0..).map(|(hash, id)| answer(id, "none", hash, 0)).collect();
        let items = read(&lines).outcomes("t").unwrap().remove(0).items;
        assert_eq!(BTreeSet::from_iter(items).len(), 64);
    }

    #[test]
    fn a_broken_line_is_told_without_a_number_of_its_own() {
        for (line, told) in [
            (b"\xff\xfe{}".as_slice(), "not JSON: it is not UTF-8"),
            (b"{\"doc_id\": x}", "not JSON: expected value"),
            (
                b"{\"doc_id\": 1",
                "the JSON ends in the middle of a value: the file is truncated; write it again",
            ),
        ] {
            assert_eq!(Samples::default().line(line).unwrap_err().0, told);
        }
    }

    #[test]
    fn lines_that_are_shared_out_are_one_log() {
        let lines: Vec<String> = (0..40)
            .map(|number: u64| {
                answer(
                    number / 2,
                    ["strict", "flexible"][number as usize % 2],
                    "x",
                    u8::from(number.is_multiple_of(3)),
                )
            })
            .collect();
        let whole = read(&lines).outcomes("t").unwrap();
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[0].key.filter, "flexible");
        for cut in [0, 1, 20, 39, 40] {
            let (one, other) = lines.split_at(cut);
            let parts = [read(other), Samples::default(), read(one)];
            assert_eq!(Samples::joined(parts).unwrap().outcomes("t").unwrap(), whole, "cut at {cut}");
        }
        let again = [read(&lines), read(&lines[7..8])];
        let refused = Samples::joined(again).unwrap().outcomes("t").unwrap_err();
        assert!(
            refused.0.contains("item 3 stands twice under the filter \"flexible\""),
            "{}",
            refused.0
        );
        let graded = read(&[r#"{"doc_id": 99, "filter": "strict", "em": 0.5}"#.to_owned()]);
        let refused = Samples::joined([read(&lines), graded]).unwrap().outcomes("t").unwrap_err();
        assert!(refused.0.contains("em are graded"), "{}", refused.0);
    }
}
