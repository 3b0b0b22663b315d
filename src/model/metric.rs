//! What is measured: name, unit, direction and the slowdown that the gate promises to catch. All of it declared, none guessed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{names_no_finite_number, split_number};
use super::unit::{Dimension, Unit, convert};

/// Longest metric name, in bytes.
const NAME_MAX_BYTES: usize = 100;
/// Longest tolerance text, in bytes.
const TOLERANCE_MAX_BYTES: usize = 64;
/// Figures that `gate` takes of every process itself, each with its unit; less is better.
pub const OF_EVERY_PROCESS: [(&str, &str); 3] = [("wall_s", "s"), ("cpu_s", "s"), ("peak_rss_bytes", "B")];
/// Tolerance where none is declared, in percent.
pub const DEFAULT_TOLERANCE_PCT: f64 = 2.0;

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better, as of throughput.
    Higher,
    /// Less is better, as of time.
    Lower,
}

/// How a tolerance and an estimate are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Relative, in percent of the base.
    Pct,
    /// Percentage points of a share.
    Pp,
    /// Absolute, in the metric's own unit.
    Abs,
}

/// Whether a metric decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Judged.
    #[default]
    Gate,
    /// Recorded, never judged.
    Info,
}

/// A declared difference with its scale: `2%` relative, `1pp` points, `0.5 ms` absolute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tolerance {
    /// Finite, never negative; in percent, in points, or in `unit`.
    pub value: f64,
    /// How `value` is counted.
    pub scale: Scale,
    /// The unit of an absolute value; absent for the other scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
}

impl Tolerance {
    /// Reads a tolerance, which must be greater than zero. Every error is one sentence that says what to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tolerance = Self::parse_margin(text)?;
        if tolerance.value > 0.0 {
            Ok(tolerance)
        } else {
            Err(format!(
                "{text:?}: a tolerance of zero asks for a proof that nothing changed at all: give a value above 0"
            ))
        }
    }

    /// Reads a margin: as [`Tolerance::parse`], but zero is allowed.
    pub fn parse_margin(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err("empty where a tolerance should stand: say 2% (relative) or 2ms (absolute)".to_owned());
        }
        if trimmed.len() > TOLERANCE_MAX_BYTES {
            return Err(format!(
                "a tolerance of {} bytes: at most {TOLERANCE_MAX_BYTES} are read",
                trimmed.len()
            ));
        }
        if trimmed.contains(',') {
            return Err(format!(
                "{trimmed:?}: a comma is not read in numbers: write {:?}",
                trimmed.replace(',', ".")
            ));
        }
        if names_no_finite_number(trimmed) {
            return Err(format!("{trimmed:?}: not a finite number: say 2% (relative) or 2ms (absolute)"));
        }
        let (number, rest) =
            split_number(trimmed).ok_or_else(|| format!("{trimmed:?}: does not begin with a decimal number: say 2% or 2ms"))?;
        let value = number.parse::<f64>().map_err(|error| format!("{number:?}: {error}"))?;
        if !value.is_finite() {
            return Err(format!("{trimmed:?}: too large for a number"));
        }
        if rest.is_empty() {
            return Err(format!("{number}: say {number}% (relative) or {number}ms (absolute)"));
        }
        if value < 0.0 {
            return Err(format!(
                "{trimmed:?}: negative: a tolerance is the size of a slowdown, without a sign"
            ));
        }
        let unit = Unit::parse(rest.trim_start()).map_err(|error| format!("{trimmed:?}: {error}"))?;
        Ok(match unit.canonical() {
            "%" => Self {
                value,
                scale: Scale::Pct,
                unit: None,
            },
            "pp" => Self {
                value,
                scale: Scale::Pp,
                unit: None,
            },
            _ => Self {
                value,
                scale: Scale::Abs,
                unit: Some(unit),
            },
        })
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.scale, self.unit) {
            (Scale::Pct, _) => write!(f, "{}%", self.value),
            (Scale::Pp, _) => write!(f, "{}pp", self.value),
            (Scale::Abs, Some(unit)) => write!(f, "{} {unit}", self.value),
            (Scale::Abs, None) => write!(f, "{}", self.value),
        }
    }
}

/// One declared metric, as the record carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// The series' name in the program's output.
    pub name: String,
    /// The unit in which values are recorded and judged.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The slowdown to catch: percent, points, or the metric's unit, as `scale` says.
    pub tolerance: f64,
    /// How the tolerance and the estimate are counted.
    pub scale: Scale,
    /// Whether the metric decides.
    #[serde(default)]
    pub role: Role,
    /// The smallest step that the instrument can show, in the metric's unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
    /// A gain beyond this passes with the warning "suspicious improvement", in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_above_pct: Option<f64>,
}

impl Metric {
    /// Reads `NAME:higher|lower:UNIT`; the name may contain colons. The tolerance is [`DEFAULT_TOLERANCE_PCT`].
    pub fn parse_flag(text: &str) -> Result<Self, String> {
        let mut parts = text.rsplitn(3, ':');
        let (Some(unit), Some(better), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("{text:?}: want NAME:higher|lower:UNIT, such as tg128:higher:tok/s"));
        };
        check_name(name)?;
        let better = match better {
            "higher" => Better::Higher,
            "lower" => Better::Lower,
            other => {
                return Err(format!(
                    "metric {name}: direction {other:?}: want higher or lower (which is better)"
                ));
            }
        };
        let unit = Unit::parse(unit).map_err(|error| format!("metric {name}: {error}"))?;
        let (tolerance, scale) = (DEFAULT_TOLERANCE_PCT, Scale::Pct);
        Ok(Self {
            name: name.to_owned(),
            unit,
            better,
            tolerance,
            scale,
            role: Role::Gate,
            resolution: None,
            review_above_pct: None,
        })
    }

    /// The text that [`Metric::parse_flag`] reads.
    pub fn flag(&self) -> String {
        let better = match self.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        format!("{}:{better}:{}", self.name, self.unit)
    }

    /// The same metric with a declared tolerance: an absolute one is converted to the metric's unit, and one that could never
    /// fail or has no meaning for the unit is refused.
    pub fn with_tolerance(self, declared: &Tolerance) -> Result<Self, String> {
        let refuse = |why: String| Err(format!("metric {}: tolerance {declared}: {why}", self.name));
        let tolerance = match (declared.scale, declared.unit) {
            (Scale::Pct, _) if self.better == Better::Higher && declared.value >= 100.0 => {
                return refuse("where higher is better nothing falls by 100% or more, so nothing could fail: give less".to_owned());
            }
            (Scale::Pp, _) if !matches!(self.unit.dimension(), Dimension::Share | Dimension::Points) => {
                return refuse(format!(
                    "points are differences of shares, and the unit is {}: say 2% or 2 {}",
                    self.unit, self.unit
                ));
            }
            (Scale::Abs, Some(unit)) => match convert(declared.value, unit, self.unit) {
                Some(value) => value,
                None => return refuse(format!("{unit} does not convert to {}", self.unit)),
            },
            _ => declared.value,
        };
        Ok(Self {
            tolerance,
            scale: declared.scale,
            ..self
        })
    }
}

/// Whether a metric may carry this name; the error says why not.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        Err("a metric needs a name: NAME:higher|lower:UNIT".to_owned())
    } else if name.len() > NAME_MAX_BYTES {
        Err(format!(
            "a metric name of {} bytes: at most {NAME_MAX_BYTES} are allowed",
            name.len()
        ))
    } else if name.chars().any(char::is_control) {
        Err(format!("metric name {name:?}: control characters are not allowed"))
    } else if name.trim() != name {
        Err(format!("metric name {name:?}: begins or ends with a space"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_read_and_write() {
        for (text, value, scale, written) in [
            ("2%", 2.0, Scale::Pct, "2%"),
            (" 0.5 % ", 0.5, Scale::Pct, "0.5%"),
            ("1pp", 1.0, Scale::Pp, "1pp"),
            ("0.5 ms", 0.5, Scale::Abs, "0.5 ms"),
            ("0.5ms", 0.5, Scale::Abs, "0.5 ms"),
            ("3e2 tokens/s", 300.0, Scale::Abs, "300 tok/s"),
            ("2 percent", 2.0, Scale::Pct, "2%"),
        ] {
            let tolerance = Tolerance::parse(text).unwrap();
            assert_eq!(
                (tolerance.value, tolerance.scale, tolerance.to_string().as_str()),
                (value, scale, written),
                "{text}"
            );
        }
        assert_eq!(Tolerance::parse_margin("0%").unwrap().value, 0.0);
    }

    #[test]
    fn each_bad_tolerance_has_its_own_sentence() {
        let mut sentences = Vec::new();
        for (text, word) in [
            ("2", "say 2% (relative) or 2ms (absolute)"),
            ("nan%", "not a finite number"),
            ("-1%", "negative"),
            ("1,0%", "write \"1.0%\""),
            ("1e400%", "too large"),
            ("", "empty"),
            ("0%", "zero"),
            ("2 parsec", "unknown unit \"parsec\""),
            ("two%", "does not begin with a decimal number"),
        ] {
            let error = Tolerance::parse(text).unwrap_err();
            assert!(error.contains(word) && !error.contains('\n'), "{text}: {error}");
            sentences.push(error);
        }
        let all = sentences.len();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), all);
        assert!(Tolerance::parse("-inf%").unwrap_err().contains("not a finite number"));
        assert!(Tolerance::parse("-0%").is_err() && Tolerance::parse(&"9".repeat(100)).is_err());
    }

    #[test]
    fn a_metric_serialises_as_the_record_shows() {
        let metric = Metric::parse_flag("tg128:higher:tokens/s").unwrap();
        let text = r#"{"name":"tg128","unit":"tok/s","better":"higher","tolerance":2.0,"scale":"pct","role":"gate"}"#;
        assert_eq!(serde_json::to_string(&metric).unwrap(), text);
        assert_eq!(serde_json::from_str::<Metric>(text).unwrap(), metric);
        let resolved = Metric {
            resolution: Some(0.01),
            ..metric
        };
        assert!(
            serde_json::to_string(&resolved)
                .unwrap()
                .ends_with(r#""role":"gate","resolution":0.01}"#)
        );
    }

    #[test]
    fn flags_split_from_the_right_and_say_what_is_wrong() {
        assert_eq!(Metric::parse_flag("bench::decode:lower:ms").unwrap().name, "bench::decode");
        let long = format!("{}:lower:ms", "x".repeat(101));
        for (text, word) in [
            ("tg128", "NAME:higher|lower:UNIT"),
            ("lower:ms", "NAME:higher|lower:UNIT"),
            ("tg128:up:tok/s", "direction \"up\""),
            ("tg128:higher:furlong", "unknown unit \"furlong\""),
            (":lower:ms", "needs a name"),
            ("a\u{1b}[31m:lower:ms", "control characters"),
            (" a:lower:ms", "space"),
            (long.as_str(), "101 bytes"),
        ] {
            let error = Metric::parse_flag(text).unwrap_err();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_tolerance_must_suit_its_metric() {
        let higher = Metric::parse_flag("x:higher:tok/s").unwrap();
        let lower = Metric::parse_flag("x:lower:s").unwrap();
        let tolerance = |text: &str| Tolerance::parse(text).unwrap();
        assert!(
            higher
                .clone()
                .with_tolerance(&tolerance("100%"))
                .unwrap_err()
                .contains("100% or more")
        );
        assert_eq!(lower.clone().with_tolerance(&tolerance("150%")).unwrap().tolerance, 150.0);
        let absolute = lower.clone().with_tolerance(&tolerance("0.5ms")).unwrap();
        assert_eq!((absolute.tolerance, absolute.scale), (0.0005, Scale::Abs));
        assert!(
            higher
                .with_tolerance(&tolerance("0.5ms"))
                .unwrap_err()
                .contains("ms does not convert to tok/s")
        );
        assert!(lower.with_tolerance(&tolerance("1pp")).unwrap_err().contains("points"));
    }
}
