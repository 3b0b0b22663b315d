//! The writer: puts lines in and takes lines out, and touches no other. Its counterpart is [`super::read`].

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use super::{BandLine, Baseline, FILE_MAX_BYTES, LINE_MAX_BYTES, Row, SampleLine, Says, VERSION, name, read};
use crate::model::metric::Better;

/// What stands above the sessions and above the bands of a file that this module began.
const SAMPLE_HEAD: &str = "# sample  fixture  metric  unit  better  date  identity  record  samples";
const BAND_HEAD: &str = "# band  fixture  metric  sd_pct  low  high  df  sessions  identity  record";

/// Why a line was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// Whether a line, among others of so many bytes, is within the limits and reads back as what it says.
pub(in crate::model) fn keeps<S: PartialEq>(
    text: &str,
    says: &S,
    others: usize,
    row: impl Fn(&str) -> Result<S, String>,
) -> Result<(), Refused> {
    if text.len() > LINE_MAX_BYTES {
        let what = format!("a line of {} bytes would be written, at most {LINE_MAX_BYTES} are read", text.len());
        return Err(Refused(what));
    }
    if row(text).map_err(Refused)? != *says {
        return Err(Refused(format!("the line would not read back as it is: {text}")));
    }
    if others + text.len() >= FILE_MAX_BYTES {
        return Err(Refused(format!("the file would be over {FILE_MAX_BYTES} bytes")));
    }
    Ok(())
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Baseline {
    /// A baseline without a session.
    pub fn new(arch: &str) -> Self {
        let head = [format!("gate-baseline {VERSION}"), format!("arch {arch}"), SAMPLE_HEAD.to_owned()];
        let rows = head.map(|text| Row { text, says: Says::Nothing });
        Self {
            arch: arch.to_owned(),
            rows: rows.into(),
        }
    }

    /// The text of the file.
    pub fn write(&self) -> String {
        self.rows.iter().flat_map(|row| [row.text.as_str(), "\n"]).collect()
    }

    /// Puts a session in its place: by fixture and metric, the newest first.
    ///
    /// # Errors
    /// When the line would not read back as it is, or its session stands there already.
    pub fn insert(&mut self, line: SampleLine) -> Result<(), Refused> {
        let same = |other: &SampleLine| other.is_of(&line.fixture, &line.metric) && session(other) == session(&line);
        if self.samples().any(same) {
            let what = format!(
                "{} of {}: this session is in the baseline already",
                line.metric,
                shown(&line.fixture)
            );
            return Err(Refused(what));
        }
        self.put(line.to_string(), Says::Sample(line))
    }

    /// Puts a session in the place of all current ones of its bucket; historical ones stay.
    ///
    /// # Errors
    /// As [`Baseline::insert`].
    pub fn replace(&mut self, line: SampleLine) -> Result<(), Refused> {
        let mut changed = self.clone();
        changed.rows.retain(|row| match &row.says {
            Says::Sample(other) => other.is_historical() || !other.is_of(&line.fixture, &line.metric),
            Says::Band(_) | Says::Nothing => true,
        });
        changed.insert(line)?;
        *self = changed;
        Ok(())
    }

    /// Puts a band in the place of the one of its bucket and identity.
    ///
    /// # Errors
    /// When the line would not read back as it is.
    pub fn replace_band(&mut self, line: BandLine) -> Result<(), Refused> {
        let mut changed = self.clone();
        changed.rows.retain(|row| match &row.says {
            Says::Band(other) => (&other.fixture, &other.metric, &other.identity) != (&line.fixture, &line.metric, &line.identity),
            Says::Sample(_) | Says::Nothing => true,
        });
        if self.bands().next().is_none() && self.rows.iter().all(|row| row.text != BAND_HEAD) {
            let text = BAND_HEAD.to_owned();
            changed.rows.push(Row { text, says: Says::Nothing });
        }
        changed.put(line.to_string(), Says::Band(line))?;
        *self = changed;
        Ok(())
    }

    fn put(&mut self, text: String, says: Says) -> Result<(), Refused> {
        let others: usize = self.rows.iter().map(|row| row.text.len() + 1).sum();
        keeps(&text, &says, others, read::row)?;
        let at = self.place(&says);
        self.rows.insert(at, Row { text, says });
        Ok(())
    }

    /// After the last line of the same kind that sorts before it; else before the first of its kind; else at the end of its part.
    fn place(&self, says: &Says) -> usize {
        let alike = |row: &Row| {
            matches!(
                (&row.says, says),
                (Says::Sample(_), Says::Sample(_)) | (Says::Band(_), Says::Band(_))
            )
        };
        let before = |row: &Row| alike(row) && order(&row.says) <= order(says);
        if let Some(last) = self.rows.iter().rposition(before) {
            return last + 1;
        }
        if let Some(first) = self.rows.iter().position(alike) {
            return first;
        }
        let Some(bands) = self.rows.iter().position(|row| matches!(row.says, Says::Band(_))) else {
            return self.rows.len();
        };
        let of_samples = |row: &Row| !row.text.starts_with('#') || row.text == SAMPLE_HEAD;
        let head = self.rows.iter().take(bands).rposition(of_samples);
        head.map_or(bands, |row| row + 1)
    }
}

fn session(line: &SampleLine) -> [Option<&str>; 4] {
    match &line.record {
        Some(record) => [Some(record), None, None, None],
        None => [None, Some(&line.date), line.extra("stat"), line.extra("source")],
    }
}

fn order(says: &Says) -> (&str, &str, Reverse<&str>, &str) {
    match says {
        Says::Nothing => ("", "", Reverse(""), ""),
        Says::Sample(line) => (
            &line.fixture,
            &line.metric,
            Reverse(&line.date),
            line.record.as_deref().unwrap_or_default(),
        ),
        Says::Band(line) => (&line.fixture, &line.metric, Reverse(""), &line.identity),
    }
}

fn shown(fixture: &str) -> &str {
    if fixture.is_empty() { "the nameless fixture" } else { fixture }
}

impl fmt::Display for SampleLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let better = match self.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        let [fixture, metric] = [&self.fixture, &self.metric].map(|text| name::encode(text));
        let [identity, record] = [&self.identity, &self.record].map(|digest| digest.as_deref().unwrap_or("-"));
        let values: Vec<String> = self.values.iter().map(|value| number(*value)).collect();
        let (unit, date, values) = (self.unit, &self.date, values.join(" "));
        write!(
            f,
            "sample  {fixture}  {metric}  {unit}  {better}  {date}  {identity}  {record}  {values}"
        )?;
        extras(f, &self.extras)
    }
}

impl fmt::Display for BandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [fixture, metric] = [&self.fixture, &self.metric].map(|text| name::encode(text));
        let [sd, low, high] = [self.sd_pct, self.low, self.high].map(number);
        let Self {
            df,
            sessions,
            identity,
            record,
            ..
        } = self;
        write!(
            f,
            "band  {fixture}  {metric}  {sd}  {low}  {high}  {df}  {sessions}  {identity}  {record}"
        )?;
        extras(f, &self.extras)
    }
}

/// What a reader looks for first stands first.
const FIRST: [&str; 3] = ["status", "stat", "source"];

pub(in crate::model) fn extras(f: &mut fmt::Formatter<'_>, extras: &BTreeMap<String, String>) -> fmt::Result {
    let first = FIRST.iter().filter_map(|key| extras.get_key_value(*key));
    let others = extras.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    for (at, (key, value)) in first.chain(others).enumerate() {
        let gap = if at == 0 { "  " } else { " " };
        write!(f, "{gap}{key}={}", name::encode(value))?;
    }
    Ok(())
}

/// The shortest text that reads back as the same number.
pub(in crate::model) fn number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}
