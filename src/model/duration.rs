//! Durations as people write them: `45s`, `10m`, `1h 30m`.

use std::time::Duration;

use jiff::SignedDuration;

/// Longest accepted duration, in hours.
const HOURS_MAX: i64 = 24 * 7;

/// A duration above zero; the error says what to write instead.
pub fn parse(text: &str) -> Result<Duration, String> {
    let duration = parse_or_zero(text)?;
    if duration.is_zero() {
        Err("a limit of zero lets nothing run: write a duration such as 10m".to_owned())
    } else {
        Ok(duration)
    }
}

/// A duration, zero allowed.
pub fn parse_or_zero(text: &str) -> Result<Duration, String> {
    let wants = "write a duration such as 45s, 10m or 1h";
    let signed: SignedDuration = text.trim().parse().map_err(|_| format!("{text:?} is no duration: {wants}"))?;
    if signed > SignedDuration::from_hours(HOURS_MAX) {
        return Err(format!("{text:?} is longer than a week: {wants}"));
    }
    Duration::try_from(signed).map_err(|_| format!("{text:?} is negative: {wants}"))
}
