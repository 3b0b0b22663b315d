//! Values of options, each refused with one sentence that says what to write instead.

use std::time::Duration;

use crate::model::plan::ERROR_RATE;
use crate::model::relabel::BECAUSE_MAX;
use crate::model::telemetry::EVERY;
use crate::model::variable;

pub use crate::model::duration::{parse as duration, parse_or_zero as duration_or_zero};

/// An error rate above 0 and below 0.5.
pub fn error_rate(text: &str) -> Result<f64, String> {
    let wants = "write a rate such as 0.01";
    let rate: f64 = text.trim().parse().map_err(|_| format!("{text:?} is no number: {wants}"))?;
    if ERROR_RATE.contains(&rate) {
        Ok(rate)
    } else {
        Err(format!("{text:?} is not between 0.000001 and 0.5: {wants}"))
    }
}

/// `NAME=VALUE` of a variable.
pub fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?}: write NAME=VALUE"))?;
    variable_name(name)?;
    if value.contains('\0') {
        return Err(format!("{name}: a value cannot hold a NUL byte"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// The name of a variable.
pub fn variable_name(name: &str) -> Result<String, String> {
    variable::check_name(name)?;
    Ok(name.to_owned())
}

/// Why a person does something, on one line.
pub fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err("a reason is needed".to_owned()),
        1..=BECAUSE_MAX => Ok(text.to_owned()),
        _ => Err(format!("at most {BECAUSE_MAX} characters are kept")),
    }
}

/// The words of a command line, split as a shell splits them, without a shell.
pub fn words(text: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(text).map_err(|_| format!("{text:?}: a quote is not closed"))?;
    match words.first() {
        None => Err("is empty: give a command".to_owned()),
        Some(program) if program.is_empty() => Err(format!("{text:?}: the program's name is empty")),
        Some(_) if words.iter().any(|word| word.contains('\0')) => Err("holds a NUL byte".to_owned()),
        Some(_) => Ok(words),
    }
}

/// A day, `YYYY-MM-DD`.
pub fn day(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.parse::<jiff::civil::Date>() {
        Ok(_) if text.len() == 10 => Ok(text.to_owned()),
        _ => Err(format!("{text:?}: write a day, such as 2026-12-31")),
    }
}

/// The time between two readings; none where nothing is read.
#[derive(Debug, Clone, Copy)]
pub struct Every(pub Option<Duration>);

/// A time between two readings, or `off`.
pub fn every(text: &str) -> Result<Every, String> {
    if text.trim() == "off" {
        return Ok(Every(None));
    }
    let every = duration(text)?;
    if EVERY.contains(&every) {
        Ok(Every(Some(every)))
    } else {
        Err(format!("{text:?}: write a time from 10ms to 10s, or off"))
    }
}

/// A number of days, such as `30d`.
pub fn days(text: &str) -> Result<u32, String> {
    let number = text.trim().strip_suffix('d').unwrap_or_default();
    number.parse().map_err(|_| format!("{text:?}: write days, such as 30d"))
}
