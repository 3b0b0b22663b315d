//! How figures are written for people: enough digits to tell what the verdict tells, never more than were measured.

use super::metric::Scale;

/// How many more digits than usual are written to keep a figure on its own side of a bound; what lies nearer is called equal.
const MORE_DIGITS: usize = 8;
/// A number whose exact text is at most this long was declared, or might as well have been, and is written exactly.
const EXACT_MAX_BYTES: usize = 8;

/// A value with four significant digits, in full where it is large: `152.1`, `0.003142`, `218208`.
pub fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    let magnitude = value.abs().log10().floor();
    if !plain(magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (3.0 - magnitude).clamp(0.0, 9.0);
    format!("{value:.*}", decimals as usize)
}

/// Whether a number of this decimal magnitude is written without an exponent.
fn plain(magnitude: f64) -> bool {
    (-5.0..15.0).contains(&magnitude)
}

/// The unit in which a difference on a scale is shown.
pub fn scale_unit(scale: Scale, unit: &str) -> &str {
    match scale {
        Scale::Pct => "%",
        Scale::Pp => "pp",
        Scale::Abs => unit,
    }
}

/// A gain and its interval on a scale, such as `-1.24 %` and `[-2.10, -0.40] %`.
///
/// They share the fewest digits with which none of them seems to lie on another side of 0 or of the tolerance than it does, so that a text
/// never contradicts its verdict. An estimate inside an interval around 0 may be shown as 0: no verdict rests on its sign.
pub fn gain(estimate: f64, ends: Option<[f64; 2]>, tolerance: f64, scale: Scale, unit: &str) -> (String, Option<String>) {
    let signed = Style::signed(scale, ends.iter().flatten().copied().chain([estimate, tolerance]));
    let unit = scale_unit(scale, unit);
    let bounds = [tolerance, -tolerance];
    let Some(ends) = ends else {
        let digits = signed.digits(&[estimate], &[0.0, tolerance, -tolerance]);
        return (format!("{} {unit}", signed.write(estimate, digits)), None);
    };
    let digits = signed
        .digits(&[estimate], &bounds)
        .max(signed.digits(&ends, &[0.0, tolerance, -tolerance]));
    let [low, high] = ends.map(|end| signed.write(end, digits));
    (
        format!("{} {unit}", signed.write(estimate, digits)),
        Some(format!("[{low}, {high}] {unit}")),
    )
}

/// A signed difference on a scale: `-1.24 %`, `+0.500 ms`.
pub fn difference(value: f64, scale: Scale, unit: &str) -> String {
    gain(value, None, 0.0, scale, unit).0
}

/// A size on a scale, unsigned: `2 %`.
pub fn size(value: f64, scale: Scale, unit: &str) -> String {
    let exact = value.to_string();
    let digits = match scale {
        _ if exact.len() <= EXACT_MAX_BYTES => exact,
        Scale::Abs => figure(value),
        Scale::Pct | Scale::Pp => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    // A small size must not be shown as none.
    let digits = if digits == "0" && value > 0.0 { figure(value) } else { digits };
    format!("{digits} {}", scale_unit(scale, unit))
}

/// A size beside the bound that it is compared with, with the digits that show on which side of it it lies: `5.003 %`.
pub fn size_beside(value: f64, bound: f64, scale: Scale, unit: &str) -> String {
    let style = Style {
        signed: false,
        ..Style::signed(scale, [value, bound].into_iter())
    };
    format!(
        "{} {}",
        style.write(value, style.digits(&[value], &[bound])),
        scale_unit(scale, unit)
    )
}

/// A probability in percent: `1 %`, `0.25 %`.
pub fn chance(probability: f64) -> String {
    size(100.0 * probability, Scale::Pct, "")
}

/// A number of things: `1 block`, `3 blocks`.
pub fn count(number: impl TryInto<u64>, thing: &str) -> String {
    match number.try_into() {
        Ok(1) => format!("1 {thing}"),
        Ok(number) => format!("{number} {thing}s"),
        Err(_) => format!("very many {thing}s"),
    }
}

/// A duration in words: `40 ms`, `0.8 s`, `42 s`, `3 min 20 s`, `45 min`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds > 0.0 && seconds < 0.000_95 => format!("{} ms", figure(1e3 * seconds)),
        _ if seconds > 0.0 && seconds < 0.095 => format!("{:.0} ms", 1e3 * seconds),
        _ if seconds < 10.0 => format!("{seconds:.1} s"),
        0..=99 => format!("{whole} s"),
        100..=5999 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        100..=5999 => format!("{} min {} s", whole / 60, whole % 60),
        _ if whole % 3600 < 60 => format!("{} h", whole / 3600),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// How numbers that stand together are written: all with the same digits after the point.
#[derive(Clone, Copy)]
struct Style {
    signed: bool,
    exponent: bool,
    fewest: usize,
}

impl Style {
    /// Two digits after the point on the relative scales; on the absolute one, three significant digits of the largest of `together`.
    fn signed(scale: Scale, together: impl Iterator<Item = f64>) -> Self {
        let largest = together.map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let magnitude = if largest == 0.0 { 0.0 } else { largest.log10().floor() };
        let (exponent, fewest) = match scale {
            Scale::Pct | Scale::Pp => (false, 2),
            Scale::Abs if plain(magnitude) => (false, (2.0 - magnitude).max(0.0) as usize),
            Scale::Abs => (true, 2),
        };
        Self {
            signed: true,
            exponent,
            fewest,
        }
    }

    fn write(self, value: f64, digits: usize) -> String {
        let text = match (self.signed, self.exponent) {
            (true, true) => format!("{value:+.digits$e}"),
            (true, false) => format!("{value:+.digits$}"),
            (false, true) => format!("{value:.digits$e}"),
            (false, false) => format!("{value:.digits$}"),
        };
        // What is shown as zero has no side.
        if text.contains(|c: char| matches!(c, '1'..='9')) {
            text
        } else {
            text.replace('-', "+")
        }
    }

    /// The fewest digits with which every value is shown on its own side of every bound.
    fn digits(self, values: &[f64], bounds: &[f64]) -> usize {
        let told = |digits: usize| {
            values.iter().all(|&value| {
                let shown = self.write(value, digits).parse::<f64>().unwrap_or(value);
                bounds.iter().all(|bound| shown.partial_cmp(bound) == value.partial_cmp(bound))
            })
        };
        let mut enough = self.fewest..=self.fewest + MORE_DIGITS;
        enough.find(|&digits| told(digits)).unwrap_or(self.fewest)
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

    #[test]
    fn a_gain_is_never_shown_on_the_wrong_side() {
        for (estimate, ends, tolerance, scale, shown, interval) in [
            (-1.24, [-2.1, -0.4], 2.0, Scale::Pct, "-1.24 %", "[-2.10, -0.40] %"),
            (-3.004, [-4.0, -2.0], 3.0, Scale::Pct, "-3.004 %", "[-4.000, -2.000] %"),
            (-1.0, [-1.999_96, 0.5], 2.0, Scale::Pct, "-1.00000 %", "[-1.99996, +0.50000] %"),
            (-0.002, [-0.003, -0.001], 2.0, Scale::Pct, "-0.002 %", "[-0.003, -0.001] %"),
            (-0.0, [-0.5, 0.5], 2.0, Scale::Pct, "+0.00 %", "[-0.50, +0.50] %"),
            (1e-9, [-0.5, 0.5], 2.0, Scale::Pp, "+0.00 pp", "[-0.50, +0.50] pp"),
            (-2.0, [-2.0, -2.0], 2.0, Scale::Pct, "-2.00 %", "[-2.00, -2.00] %"),
            (
                -0.000_5,
                [-0.000_9, 0.000_1],
                0.000_5,
                Scale::Abs,
                "-0.000500 s",
                "[-0.000900, +0.000100] s",
            ),
            (-4096.0, [-4096.5, 0.0], 8192.0, Scale::Abs, "-4096 s", "[-4096, +0] s"),
            (-3e-9, [-4e-9, -2e-9], 3e-9, Scale::Abs, "-3.00e-9 s", "[-4.00e-9, -2.00e-9] s"),
        ] {
            let texts = gain(estimate, Some(ends), tolerance, scale, "s");
            assert_eq!(texts, (shown.to_owned(), Some(interval.to_owned())));
        }
        assert_eq!(gain(-3.000_1, None, 3.0, Scale::Pct, "s").0, "-3.0001 %");
        assert_eq!(difference(-0.001, Scale::Pct, "s"), "-0.001 %");
        assert_eq!(size_beside(5.000_3, 5.0, Scale::Pct, "s"), "5.0003 %");
        assert_eq!(size_beside(4.2, 5.0, Scale::Abs, "ms"), "4.20 ms");
    }

    #[test]
    fn a_declared_size_is_written_exactly_and_a_computed_one_rounded() {
        for (value, scale, text) in [
            (2.0, Scale::Pct, "2 %"),
            (0.125, Scale::Pct, "0.125 %"),
            (0.718_281_828, Scale::Pct, "0.72 %"),
            (0.000_123_456_7, Scale::Pct, "0.0001235 %"),
            (0.000_25, Scale::Abs, "0.00025 s"),
            (1.0 / 3.0, Scale::Abs, "0.3333 s"),
        ] {
            assert_eq!(size(value, scale, "s"), text);
        }
        assert_eq!((chance(0.01), chance(0.07)), ("1 %".to_owned(), "7 %".to_owned()));
        assert_eq!(
            (count(1_u32, "block"), count(0_u32, "block")),
            ("1 block".to_owned(), "0 blocks".to_owned())
        );
    }

    #[test]
    fn durations_read_as_words() {
        for (seconds, text) in [
            (0.0, "0.0 s"),
            (0.000_25, "0.2500 ms"),
            (0.001, "1 ms"),
            (0.094, "94 ms"),
            (0.096, "0.1 s"),
            (0.84, "0.8 s"),
            (42.4, "42 s"),
            (200.0, "3 min 20 s"),
            (2700.0, "45 min"),
            (7500.0, "2 h 5 min"),
            (7230.0, "2 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
