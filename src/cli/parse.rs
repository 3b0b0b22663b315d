//! Values of options, each refused with one sentence that says what to write instead.

use std::time::Duration;

use jiff::SignedDuration;

/// Longest accepted duration, in hours.
const HOURS_MAX: i64 = 24 * 7;

/// A duration such as `10m`, `45s` or `1h 30m`, above zero.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = duration_or_zero(text)?;
    if duration.is_zero() {
        Err("a limit of zero lets nothing run: write a duration such as 10m".to_owned())
    } else {
        Ok(duration)
    }
}

/// A duration, zero allowed.
pub fn duration_or_zero(text: &str) -> Result<Duration, String> {
    let wants = "write a duration such as 45s, 10m or 1h";
    let signed: SignedDuration = text.trim().parse().map_err(|_| format!("{text:?} is no duration: {wants}"))?;
    if signed > SignedDuration::from_hours(HOURS_MAX) {
        return Err(format!("{text:?} is longer than a week: {wants}"));
    }
    Duration::try_from(signed).map_err(|_| format!("{text:?} is negative: {wants}"))
}

/// An error rate above 0 and below 0.5.
pub fn error_rate(text: &str) -> Result<f64, String> {
    let wants = "write a rate such as 0.01";
    let rate: f64 = text.trim().parse().map_err(|_| format!("{text:?} is no number: {wants}"))?;
    // Below 1e-6 the critical values leave the range in which they are verified.
    if (1e-6..0.5).contains(&rate) {
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
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(good) || name.as_bytes()[0].is_ascii_digit() {
        return Err(format!(
            "{name:?} is no variable's name: letters, digits and underscores, not a digit first"
        ));
    }
    Ok(name.to_owned())
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
