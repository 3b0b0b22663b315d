//! How figures are written for people: enough digits to tell what the verdict tells, never more than were measured.

use super::metric::Scale;

/// A value with four significant digits, in full where it is large: `152.1`, `0.003142`, `218208`.
pub fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude).clamp(0.0, 9.0);
    format!("{value:.*}", decimals as usize)
}

/// The unit in which a difference on a scale is shown.
pub fn scale_unit(scale: Scale, unit: &str) -> &str {
    match scale {
        Scale::Pct => "%",
        Scale::Pp => "pp",
        Scale::Abs => unit,
    }
}

/// A signed difference on a scale: `-1.24 %`, `+0.5 ms`.
pub fn difference(value: f64, scale: Scale, unit: &str) -> String {
    format!("{} {}", signed(value, scale), scale_unit(scale, unit))
}

/// An interval on a scale: `[-0.90, +0.70] %`.
pub fn interval([low, high]: [f64; 2], scale: Scale, unit: &str) -> String {
    format!("[{}, {}] {}", signed(low, scale), signed(high, scale), scale_unit(scale, unit))
}

/// A size on a scale, unsigned: `2 %`.
pub fn size(value: f64, scale: Scale, unit: &str) -> String {
    let digits = match scale {
        Scale::Abs => figure(value),
        Scale::Pct | Scale::Pp => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    // A small size must not be shown as none.
    let digits = if digits == "0" && value > 0.0 { figure(value) } else { digits };
    format!("{digits} {}", scale_unit(scale, unit))
}

/// A probability in percent: `1 %`, `0.25 %`.
pub fn chance(probability: f64) -> String {
    size(100.0 * probability, Scale::Pct, "")
}

/// A duration in words: `0.8 s`, `42 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 10.0 => format!("{seconds:.1} s"),
        0..=99 => format!("{whole} s"),
        100..=5999 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

fn signed(value: f64, scale: Scale) -> String {
    match scale {
        Scale::Abs if value > 0.0 => format!("+{}", figure(value)),
        Scale::Abs => figure(value),
        Scale::Pct | Scale::Pp => format!("{value:+.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_four_significant_digits() {
        for (value, text) in [
            (152.13, "152.1"),
            (0.003_141_59, "0.003142"),
            (218_208.4, "218208"),
            (0.0, "0"),
            (9.999_96, "10.000"),
        ] {
            assert_eq!(figure(value), text);
        }
    }
}
