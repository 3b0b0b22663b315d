//! The words of a line, each read as what is expected there.

use std::collections::BTreeMap;

use super::{is_date, is_hex, name};
use crate::model::quantity::{names_no_finite_number, split_number};
use crate::model::unit::{Dimension, Unit};

/// A byte of a line, and what is wrong there.
pub(in crate::model) type Wrong = (usize, String);

/// One finite number of a unit, in plain decimal notation.
pub(in crate::model) fn number(word: &str, unit: Unit) -> Result<f64, String> {
    if names_no_finite_number(word) {
        return Err(format!("{word:?}: not a finite number"));
    }
    if word.contains(',') {
        return Err(format!(
            "{word:?}: a comma is not read in numbers: write {:?}",
            word.replace(',', ".")
        ));
    }
    let value = match split_number(word) {
        Some((number, "")) => number.parse::<f64>().map_err(|error| format!("{word:?}: {error}"))?,
        _ => return Err(format!("{word:?}: not a decimal number")),
    };
    if !value.is_finite() {
        return Err(format!("{word:?}: too large for a number"));
    }
    // A rate or a duration of zero is a failed run.
    let (possible, wants) = match unit.dimension() {
        Dimension::Temperature | Dimension::Points | Dimension::Voltage => (true, ""),
        Dimension::Share | Dimension::Count | Dimension::Bytes | Dimension::Tokens => (value >= 0.0, "at least 0"),
        _ => (value > 0.0, "above 0"),
    };
    if possible {
        Ok(value)
    } else {
        Err(format!("{word:?}: a figure in {unit} is {wants}"))
    }
}

/// The words of a line with the byte at which each begins.
pub(in crate::model) struct Fields<'a> {
    pub(in crate::model) text: &'a str,
    at: usize,
}

impl<'a> Fields<'a> {
    pub(in crate::model) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(in crate::model) fn next(&mut self) -> Option<(usize, &'a str)> {
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let bytes = self.text.as_bytes().get(self.at..)?;
        let start = self.at + bytes.iter().position(|byte| !blank(byte))?;
        let word = self.text.get(start..)?;
        let length = word.bytes().position(|byte| blank(&byte)).unwrap_or(word.len());
        self.at = start + length;
        Some((start, word.get(..length)?))
    }

    pub(in crate::model) fn word(&mut self, what: &str) -> Result<(usize, &'a str), Wrong> {
        self.next()
            .ok_or_else(|| (self.text.len(), format!("the line ends where {what} is expected")))
    }

    pub(in crate::model) fn end(&mut self) -> Result<(), Wrong> {
        self.next()
            .map_or(Ok(()), |(at, word)| Err((at, format!("{word:?} is one field too many"))))
    }

    pub(in crate::model) fn name(&mut self, what: &str) -> Result<String, Wrong> {
        let (at, word) = self.word(what)?;
        name::decode(word).map_err(|(byte, why)| (at + byte, why))
    }

    pub(in crate::model) fn metric(&mut self) -> Result<String, Wrong> {
        let metric = self.name("the metric")?;
        if metric.is_empty() {
            // The word was a lone -.
            return Err((self.at - 1, "a metric needs a name".to_owned()));
        }
        Ok(metric)
    }

    pub(in crate::model) fn count(&mut self, what: &str) -> Result<u32, Wrong> {
        let (at, word) = self.word(what)?;
        let count = word.parse::<u32>().ok().filter(|count| *count > 0);
        count.ok_or_else(|| (at, format!("{word:?}: {what} must be a whole number from 1")))
    }

    pub(in crate::model) fn digest(&mut self, what: &str, digits: usize) -> Result<(usize, Option<String>), Wrong> {
        let (at, word) = self.word(what)?;
        if word == "-" {
            return Ok((at, None));
        }
        if !is_hex(word, digits) {
            return Err((at, format!("{word:?}: {what} is {digits} hexadecimal digits in lower case, or -")));
        }
        Ok((at, Some(word.to_owned())))
    }

    /// The next word, unless it is a `key=value` or the line ends.
    pub(in crate::model) fn next_unless_extra(&mut self) -> Option<(usize, &'a str)> {
        let before = self.at;
        let found = self.next()?;
        if found.1.contains('=') {
            self.at = before;
            return None;
        }
        Some(found)
    }

    pub(in crate::model) fn extras(&mut self) -> Result<BTreeMap<String, String>, Wrong> {
        let mut extras = BTreeMap::new();
        while let Some((at, word)) = self.next() {
            let Some((key, value)) = word.split_once('=') else {
                return Err((at, format!("{word:?}: only key=value follows the first key=value")));
            };
            let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            if !key.starts_with(|c: char| c.is_ascii_lowercase()) || !key.bytes().all(good) {
                return Err((
                    at,
                    format!("{key:?} is no key: a lower-case letter, then letters, digits and underscores"),
                ));
            }
            let value_at = at + key.len() + 1;
            let value = name::decode(value).map_err(|(byte, why)| (value_at + byte, why))?;
            check_extra(key, &value).map_err(|what| (value_at, what))?;
            if extras.insert(key.to_owned(), value).is_some() {
                return Err((at, format!("{key} is said twice")));
            }
        }
        Ok(extras)
    }
}

fn check_extra(key: &str, value: &str) -> Result<(), String> {
    match key {
        "status" if value != "historical" => Err(format!("status {value:?}: known is historical")),
        "arm" if !matches!(value, "A" | "B") => Err(format!("arm {value:?}: want A or B")),
        "anchor" => {
            let sound = value.split_once('@').is_some_and(|(date, median)| {
                is_date(date) && matches!(split_number(median), Some((number, "")) if number.parse().is_ok_and(f64::is_finite))
            });
            if sound {
                Ok(())
            } else {
                Err(format!("anchor {value:?}: want DATE@MEDIAN"))
            }
        }
        _ => Ok(()),
    }
}
