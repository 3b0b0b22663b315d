//! Baselines: sessions that were accepted, one line of text each, with their raw samples.
//!
//! The text is kept as it was: what a person wrote into a file (comments, blank lines, the order of lines) survives every change that is
//! made through this module byte for byte. See `docs/formats.md` for the text itself.

pub mod field;
pub mod import;
pub(in crate::model) mod name;
pub(in crate::model) mod read;
mod usage;
pub(in crate::model) mod write;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::fault::Fault;
pub use read::{parse, parse_bytes};
pub use usage::{BaselineUse, STALE_AFTER_DAYS, Source};
pub use write::Refused;

use super::metric::Better;
use super::unit::Unit;

/// The version of the text that this module reads and writes.
pub const VERSION: u32 = 1;
/// Largest file, in bytes.
pub const FILE_MAX_BYTES: usize = 64 << 20;
/// Longest line, in bytes.
pub const LINE_MAX_BYTES: usize = 64 << 10;

/// A baseline file: its lines as they stand, and what they say.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The architecture that it speaks of.
    pub arch: String,
    rows: Vec<Row>,
}

/// One line: its text without the line's end, and what it says.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    text: String,
    says: Says,
}

#[derive(Debug, Clone, PartialEq)]
enum Says {
    /// First line, architecture, comment, blank line.
    Nothing,
    Sample(SampleLine),
    Band(BandLine),
}

/// One session of one fixture and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleLine {
    /// The fixture; empty for the nameless one.
    pub fixture: String,
    /// The metric.
    pub metric: String,
    /// The unit of `values`.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The day of the session, `YYYY-MM-DD`, UTC.
    pub date: String,
    /// 8 hex digits of the identity that it was measured with; none on a historical line.
    pub identity: Option<String>,
    /// The first 12 hex digits of the seal of the record that it was accepted from; none where there is no record.
    pub record: Option<String>,
    /// One value a process, in the order of measuring.
    pub values: Vec<f64>,
    /// What else is said of it: `status=historical`, `stat`, `source`, `binary`, `arm`, `note`, `anchor`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extras: BTreeMap<String, String>,
}

/// The accepted noise of one fixture and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BandLine {
    /// The fixture; empty for the nameless one.
    pub fixture: String,
    /// The metric.
    pub metric: String,
    /// The standard deviation of one run, in percent.
    pub sd_pct: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end of its 95 % interval.
    pub high: f64,
    /// Degrees of freedom in all.
    pub df: u32,
    /// Sessions that were pooled.
    pub sessions: u32,
    /// 8 hex digits of the identity that it was measured with.
    pub identity: String,
    /// The first 12 hex digits of the seal of the record that it was accepted from.
    pub record: String,
    /// What else is said of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extras: BTreeMap<String, String>,
}

/// Where slow creep is counted from: a session that newer ones have replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// Its day.
    pub date: String,
    /// Its median, in the line's unit.
    pub median: f64,
}

impl SampleLine {
    /// Whether it is shown and may feed a floor, but is never a reference for a claim.
    pub fn is_historical(&self) -> bool {
        self.extra("status") == Some("historical")
    }

    /// What a key after the samples says.
    pub fn extra(&self, key: &str) -> Option<&str> {
        self.extras.get(key).map(String::as_str)
    }

    /// Which statistic the values are, where it is not plain samples: `best-of-2`.
    pub fn stat(&self) -> Option<&str> {
        self.extra("stat").filter(|stat| !matches!(*stat, "median" | "raw"))
    }

    /// The anchor that the line carries for sessions that it replaced.
    pub fn anchor(&self) -> Option<Anchor> {
        let (date, median) = self.extra("anchor")?.split_once('@')?;
        let median: f64 = median.parse().ok()?;
        (is_date(date) && median.is_finite()).then(|| Anchor {
            date: date.to_owned(),
            median,
        })
    }

    /// Whether it speaks of this fixture and metric.
    pub fn is_of(&self, fixture: &str, metric: &str) -> bool {
        self.fixture == fixture && self.metric == metric
    }
}

impl Baseline {
    /// Every session, in the order of the file.
    pub fn samples(&self) -> impl Iterator<Item = &SampleLine> {
        self.rows.iter().filter_map(|row| match &row.says {
            Says::Sample(line) => Some(line),
            Says::Band(_) | Says::Nothing => None,
        })
    }

    /// Every band, in the order of the file.
    pub fn bands(&self) -> impl Iterator<Item = &BandLine> {
        self.rows.iter().filter_map(|row| match &row.says {
            Says::Band(line) => Some(line),
            Says::Sample(_) | Says::Nothing => None,
        })
    }

    /// The sessions of a bucket that can be a reference, in the order of the file.
    pub fn current(&self, fixture: &str, metric: &str) -> impl Iterator<Item = &SampleLine> {
        self.samples()
            .filter(move |line| line.is_of(fixture, metric) && !line.is_historical())
    }
}

/// Whether a text is a day as baselines write it: `YYYY-MM-DD`, and one that exists.
pub fn is_date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok_and(|date| date.to_string() == text)
}

/// Days from one day to another; none where one of them is no date.
pub fn days_between(from: &str, to: &str) -> Option<i64> {
    let [from, to]: [jiff::civil::Date; 2] = [from.parse().ok()?, to.parse().ok()?];
    Some((to - from).get_days().into())
}

/// Whether a text may be an architecture: it names files and folders.
pub fn is_arch(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.len() <= 64 && text.bytes().all(good)
}

/// Whether a text is this many hexadecimal digits, in lower case.
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The file's name without folder and `.txt`.
pub fn arch_of_file(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".txt").unwrap_or(name)
}
