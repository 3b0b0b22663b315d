//! The log of single answers that lm-evaluation-harness writes: one line an item and filter. It is read a line at a time, and of each only
//! whether the item was answered right is kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::adapter::foreign::json::{self, Json};
use crate::model::eval::{Key, Outcomes};
use crate::model::report::Refused;

/// Most items of one task.
const ITEMS_MAX: usize = 2_000_000;
/// Most metrics and filters of one task.
const SERIES_MAX: usize = 64;
/// Bytes of an item's digest that are kept.
const DIGEST_BYTES: usize = 6;

/// Whether the first bytes of a file are of such a log.
pub fn is_log(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let first = text.trim_start_matches('\u{feff}').trim_start();
    first.starts_with('{') && first.contains("\"doc_id\"")
}

/// The answers of one log.
#[derive(Debug, Default)]
pub struct Samples {
    /// By metric and filter: what each item was answered, by its number.
    series: BTreeMap<(String, String), BTreeMap<Item, Answer>>,
    /// Metrics whose values are not right or wrong.
    graded: BTreeMap<String, ()>,
    items: usize,
}

/// An item's number in the harness, or its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Item {
    Number(u64),
    Name(String),
}

#[derive(Debug)]
struct Answer {
    digest: u64,
    right: bool,
}

impl Samples {
    /// Takes one line in.
    ///
    /// # Errors
    /// When it is no line of such a log, or an item stands twice: a rerun was appended, and nothing says which one holds.
    pub fn line(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Refused("not UTF-8".to_owned()))?;
        let row = Row::read(text.trim_start_matches('\u{feff}'))?;
        let item = row
            .item
            .ok_or_else(|| Refused("no doc_id: not a log of single answers".to_owned()))?;
        let named = match (&row.hash, &item) {
            (Some(hash), _) => format!("hash {hash}"),
            (None, Item::Number(number)) => format!("id {number}"),
            (None, Item::Name(name)) => format!("id {name}"),
        };
        let digest = blake3::hash(named.as_bytes());
        let digest = digest.as_bytes().iter().take(DIGEST_BYTES);
        let digest = digest.fold(0, |number, byte| number << 8 | u64::from(*byte));
        for (metric, value) in row.values {
            if !row.metrics.is_empty() && !row.metrics.contains(&metric) {
                continue;
            }
            let right = match value {
                Some(1.0) => true,
                Some(0.0) => false,
                _ => {
                    self.graded.insert(metric, ());
                    continue;
                }
            };
            let answer = Answer { digest, right };
            let series = self.series.entry((metric, row.filter.clone())).or_default();
            if series.insert(item.clone(), answer).is_some() {
                return Err(Refused(format!(
                    "item {} stands twice under the filter {:?}: a rerun was appended, and nothing says which one holds",
                    item,
                    if row.filter.is_empty() { "none" } else { &row.filter }
                )));
            }
            self.items += 1;
        }
        if self.items > ITEMS_MAX || self.series.len() > SERIES_MAX {
            return Err(Refused(format!(
                "more than {ITEMS_MAX} answers or {SERIES_MAX} metrics: too many for one task"
            )));
        }
        Ok(())
    }

    /// The outcomes of every score of a task, items in their own order. A metric with an answer between right and wrong has none.
    ///
    /// # Errors
    /// When the log holds no answer.
    pub fn outcomes(self, task: &str) -> Result<Vec<Outcomes>, Refused> {
        let graded: Vec<&str> = self.graded.keys().map(String::as_str).collect();
        if !graded.is_empty() && self.series.keys().all(|(metric, _)| self.graded.contains_key(metric)) {
            return Err(Refused(format!("no answer is right or wrong: {} are graded", graded.join(", "))));
        }
        if self.series.is_empty() {
            return Err(Refused("the log holds no answer".to_owned()));
        }
        let binary = self.series.into_iter().filter(|((metric, _), _)| !self.graded.contains_key(metric));
        let outcomes = binary.map(|((metric, filter), answers)| Outcomes {
            key: Key {
                task: task.to_owned(),
                metric,
                filter,
            },
            right: answers.values().map(|answer| if answer.right { '1' } else { '0' }).collect(),
            items: answers.values().map(|answer| format!("{:012x}", answer.digest)).collect(),
        });
        Ok(outcomes.collect())
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

/// What one line says; the item itself, its prompt and its answer are passed over.
#[derive(Debug, Default)]
struct Row {
    item: Option<Item>,
    hash: Option<String>,
    filter: String,
    metrics: Vec<String>,
    values: Vec<(String, Option<f64>)>,
}

impl Row {
    fn read(text: &str) -> Result<Self, Refused> {
        // Python's NaN and Infinity are no JSON: a line with one takes the longer way.
        match serde_json::from_str::<Self>(text) {
            Ok(row) => Ok(row),
            Err(_) => json::whole(text).map_err(|broken| broken.refused(1)).map(|value| Self::of(&value)),
        }
    }

    fn of(value: &Json) -> Self {
        let mut row = Self::default();
        for (key, value) in value.members() {
            match key.as_str() {
                "doc_id" => {
                    row.item = value
                        .count()
                        .map(Item::Number)
                        .or_else(|| value.text().map(|name| Item::Name(name.to_owned())))
                }
                "doc_hash" => row.hash = value.text().map(str::to_owned),
                "filter" => row.filter = value.text().unwrap_or_default().to_owned(),
                "metrics" => row.metrics = value.items().iter().filter_map(Json::text).map(str::to_owned).collect(),
                _ => match value {
                    Json::Bool(right) => row.values.push((key.clone(), Some(f64::from(u8::from(*right))))),
                    other => row.values.extend(other.number().map(|number| (key.clone(), Some(number)))),
                },
            }
        }
        row
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
        let mut row = Row::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "doc_id" => {
                    row.item = match map.next_value()? {
                        Scalar::Whole(number) => Some(Item::Number(number)),
                        Scalar::Text(name) => Some(Item::Name(name)),
                        _ => None,
                    }
                }
                "doc_hash" => {
                    row.hash = match map.next_value()? {
                        Scalar::Text(hash) => Some(hash),
                        _ => None,
                    }
                }
                "filter" => {
                    if let Scalar::Text(filter) = map.next_value()? {
                        row.filter = filter;
                    }
                }
                "metrics" => row.metrics = map.next_value()?,
                "doc" | "arguments" | "resps" | "filtered_resps" | "target" => drop(map.next_value::<IgnoredAny>()?),
                _ => match map.next_value()? {
                    Scalar::Number(number) => row.values.push((key, Some(number))),
                    Scalar::Whole(number) => row.values.push((key, Some(number as f64))),
                    Scalar::Text(_) | Scalar::Other => {}
                },
            }
        }
        Ok(row)
    }
}

/// A value of a line; what is neither number nor text is passed over.
#[derive(Debug)]
enum Scalar {
    Whole(u64),
    Number(f64),
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Number(f64::from(u8::from(value))))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
