//! Single values of a gate file, each refused with what was seen, what was expected and what to write.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::DeValue;

use super::fault::instead;
use crate::model::metric::{Scale, Tolerance};
use crate::model::plan::ERROR_RATE;
use crate::model::text::plain_line;
use crate::model::{duration as durations, metric};

/// Longest text, in bytes.
const TEXT_MAX_BYTES: usize = 64 << 10;

/// `the number 45 where a text is expected`
pub(super) fn mismatch(value: &DeValue<'_>, wants: &str) -> String {
    format!("{} where {wants} is expected", seen(value))
}

fn seen(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {:?}", plain_line(text, 60)),
        DeValue::Integer(number) => format!("the number {}", plain_line(&number.to_string(), 60)),
        DeValue::Float(number) => format!("the number {}", plain_line(number.as_str(), 60)),
        DeValue::Boolean(switch) => switch.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// A text without NUL bytes; empty is allowed.
pub(super) fn text(value: &DeValue<'_>) -> Result<String, String> {
    text_of(value, "a text in quotes")
}

fn text_of(value: &DeValue<'_>, wants: &str) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| mismatch(value, wants))?;
    if text.contains('\0') {
        Err("a NUL byte cannot stand in a text: take it out".to_owned())
    } else if text.len() > TEXT_MAX_BYTES {
        Err(format!("a text of {} bytes: at most {TEXT_MAX_BYTES} are read", text.len()))
    } else {
        Ok(text.to_owned())
    }
}

/// A text that is not empty.
pub(super) fn filled(value: &DeValue<'_>) -> Result<String, String> {
    let text = text(value)?;
    if text.trim().is_empty() {
        Err("is empty: give a text, or leave the key out".to_owned())
    } else {
        Ok(text)
    }
}

/// The name of a metric or fixture.
pub(super) fn name(value: &DeValue<'_>) -> Result<String, String> {
    let name = text(value)?;
    if name.is_empty() {
        return Err("is empty: give a name".to_owned());
    }
    metric::check_name(&name).map_err(|why| why.replace("metric name", "the name"))?;
    Ok(name)
}

/// `true` or `false`.
pub(super) fn switch(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| mismatch(value, "true or false (without quotes)"))
}

/// A whole number within a range.
pub(super) fn whole(range: RangeInclusive<u32>) -> impl Fn(&DeValue<'_>) -> Result<u32, String> {
    move |value| {
        let wants = format!("a whole number from {} to {}", range.start(), range.end());
        let number = value.as_integer().ok_or_else(|| mismatch(value, &wants))?;
        let read = u32::from_str_radix(number.as_str(), number.radix()).ok();
        read.filter(|read| range.contains(read)).ok_or_else(|| mismatch(value, &wants))
    }
}

/// A finite number.
fn number(value: &DeValue<'_>, wants: &str) -> Result<f64, String> {
    let number = match value {
        DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse::<f64>().ok(),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
        _ => None,
    };
    let number = number.ok_or_else(|| mismatch(value, wants))?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err(format!("{} is not finite: give {wants}", seen(value)))
    }
}

/// A number above zero.
pub(super) fn positive(value: &DeValue<'_>) -> Result<f64, String> {
    let wants = "a number above 0";
    let number = number(value, wants)?;
    if number > 0.0 { Ok(number) } else { Err(mismatch(value, wants)) }
}

/// A number of at least zero.
pub(super) fn not_negative(value: &DeValue<'_>) -> Result<f64, String> {
    let wants = "a number of at least 0";
    let number = number(value, wants)?;
    if number >= 0.0 { Ok(number) } else { Err(mismatch(value, wants)) }
}

/// An error rate.
pub(super) fn rate(value: &DeValue<'_>) -> Result<f64, String> {
    let wants = "a rate from 0.000001 to below 0.5, such as 0.01,";
    let rate = number(value, wants)?;
    if ERROR_RATE.contains(&rate) {
        Ok(rate)
    } else {
        Err(mismatch(value, wants))
    }
}

/// A duration above zero.
pub(super) fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    let bare = value.as_integer().is_some() || value.as_float().is_some();
    let wants = "a duration in quotes, such as \"45s\", \"10m\" or \"1h 30m\",";
    if bare {
        return Err(format!("{}, without a unit", mismatch(value, wants)));
    }
    durations::parse(&text_of(value, wants)?)
}

/// A text with a number and a unit, before it is read further.
fn quantity(value: &DeValue<'_>, wants: &str) -> Result<String, String> {
    let text = text_of(value, wants)?;
    if text.len() > 200 {
        return Err(format!("a text of {} bytes where {wants} is expected", text.len()));
    }
    Ok(text)
}

/// A percentage from 0 up to a maximum.
pub(super) fn percent(max: f64) -> impl Fn(&DeValue<'_>) -> Result<f64, String> {
    move |value| {
        let wants = format!("a percentage from \"0%\" to \"{max}%\" in quotes");
        let margin = Tolerance::parse_margin(&quantity(value, &wants)?)?;
        match margin.scale {
            Scale::Pct if margin.value <= max => Ok(margin.value),
            _ => Err(mismatch(value, &wants)),
        }
    }
}

/// A tolerance above zero.
pub(super) fn tolerance(value: &DeValue<'_>) -> Result<Tolerance, String> {
    Tolerance::parse(&quantity(value, TOLERANCE)?)
}

/// A tolerance, zero allowed.
pub(super) fn margin(value: &DeValue<'_>) -> Result<Tolerance, String> {
    Tolerance::parse_margin(&quantity(value, TOLERANCE)?)
}

const TOLERANCE: &str = "a size with its unit in quotes, such as \"2%\" or \"0.5 ms\",";

/// A bound of a floor, as text.
pub(super) fn bound(value: &DeValue<'_>) -> Result<String, String> {
    quantity(
        value,
        "a bound with its unit in quotes, such as \"140 tok/s\" or \"95% of historical\",",
    )
}

/// One of several words, each with what it stands for.
pub(super) fn choice<T: Copy>(words: &[(&str, T)]) -> impl Fn(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let text = text_of(value, &format!("one of {} in quotes", known.join(", ")))?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        found.ok_or_else(|| format!("unknown word {:?}: want {}", plain_line(&text, 60), known.join(" or ")))
    }
}

/// One of several words that are handed in.
pub(super) fn known(what: &str, words: &[&str]) -> impl Fn(&DeValue<'_>) -> Result<String, String> {
    move |value| {
        let text = filled(value)?;
        if words.contains(&text.as_str()) {
            return Ok(text);
        }
        Err(format!("unknown {what} {:?}: {}", plain_line(&text, 60), instead(&text, words)))
    }
}
