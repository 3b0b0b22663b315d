//! Accepted scores of a base model, one line of text each.
//!
//! The text is kept as it was: comments, blank lines and the order of lines survive every change byte for byte, as in [`crate::model::baseline`], from
//! which the words of a line are read.

mod read;
mod write;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use read::{parse, parse_bytes};

use super::{Group, Key, Score};

/// The version of the text that this module reads and writes.
pub const VERSION: u32 = 1;
/// The first word of the file.
pub const HEAD: &str = "gate-eval-baseline";
/// Fewest and most hexadecimal digits of a model's digest.
const DIGEST_DIGITS: std::ops::RangeInclusive<usize> = 8..=64;

/// A baseline file: its lines as they stand, and what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalBaseline {
    /// Whose scores they are.
    pub model: Model,
    rows: Vec<Row>,
}

/// The base model that scores are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Its name: `Qwen/Qwen3-8B`.
    pub id: String,
    /// The digest of its files, 8 to 64 hexadecimal digits in lower case.
    pub digest: String,
}

/// One line: its text without the line's end, and what it says.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    text: String,
    says: Says,
}

#[derive(Debug, Clone, PartialEq)]
enum Says {
    /// First line, model, comment, blank line.
    Nothing,
    Group(Group),
    // Much larger than the others.
    Score(Box<ScoreLine>),
}

/// One score of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreLine {
    /// The score, with its value and its direction.
    pub score: Score,
    /// The day of the run, `YYYY-MM-DD`, UTC.
    pub date: String,
    /// The first 12 hex digits of the seal of the record that it was accepted from.
    pub record: String,
    /// What else is said of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extras: BTreeMap<String, String>,
}

impl EvalBaseline {
    /// Every score, in the order of the file.
    pub fn scores(&self) -> impl Iterator<Item = &ScoreLine> {
        self.rows.iter().filter_map(|row| match &row.says {
            Says::Score(line) => Some(line.as_ref()),
            Says::Group(_) | Says::Nothing => None,
        })
    }

    /// Every group, in the order of the file.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.rows.iter().filter_map(|row| match &row.says {
            Says::Group(group) => Some(group),
            Says::Score(_) | Says::Nothing => None,
        })
    }

    /// The runs of one score, in the order of the file.
    pub fn runs(&self, key: &Key) -> impl Iterator<Item = &ScoreLine> {
        self.scores().filter(move |line| line.score.key == *key)
    }

    /// Refuses scores of another base model.
    ///
    /// # Errors
    /// Names both.
    pub fn check_model(&self, model: &Model) -> Result<(), String> {
        if self.model == *model {
            return Ok(());
        }
        let [own, other] =
            [&self.model, model].map(|model| format!("{} ({})", super::plain_line(&model.id, super::NAME_SHOWN), model.digest));
        Err(format!(
            "the baseline is of the model {own}, and the run is of {other}: accept a baseline of that model"
        ))
    }
}

/// Whether a text is the digest of a model's files.
pub fn is_digest(text: &str) -> bool {
    DIGEST_DIGITS.contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
