//! Units as data: one row a unit, and conversion within one dimension only.
//!
//! A unit says nothing about direction: whether higher is better is declared with the metric, never derived.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a unit measures. Two units convert into each other exactly when they share a dimension; a rate of tokens and a rate of
/// requests do not, though both are "per second".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Duration.
    Time,
    /// Amount of memory or data.
    Bytes,
    /// Data per second.
    Bandwidth,
    /// Tokens per second.
    TokenRate,
    /// Requests per second.
    RequestRate,
    /// Iterations per second.
    IterationRate,
    /// Training steps per second.
    StepRate,
    /// Samples per second.
    SampleRate,
    /// Operations per second.
    OperationRate,
    /// Images per second.
    ImageRate,
    /// Floating-point operations per second.
    FlopRate,
    /// Clock frequency.
    Frequency,
    /// Power.
    Power,
    /// Energy.
    Energy,
    /// Energy per token.
    TokenEnergy,
    /// Temperature in degrees Celsius.
    Temperature,
    /// Electric tension.
    Voltage,
    /// A number of things.
    Count,
    /// A part of a whole: 1 is 100 %.
    Share,
    /// Percentage points, the difference of two shares.
    Points,
    /// A number of tokens.
    Tokens,
    /// Duration of one training step.
    StepTime,
    /// Duration of one token.
    TokenTime,
}

impl Dimension {
    /// The plain name that messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Bytes => "bytes",
            Self::Bandwidth => "bytes per second",
            Self::TokenRate => "tokens per second",
            Self::RequestRate => "requests per second",
            Self::IterationRate => "iterations per second",
            Self::StepRate => "steps per second",
            Self::SampleRate => "samples per second",
            Self::OperationRate => "operations per second",
            Self::ImageRate => "images per second",
            Self::FlopRate => "floating-point operations per second",
            Self::Frequency => "frequency",
            Self::Power => "power",
            Self::Energy => "energy",
            Self::TokenEnergy => "energy per token",
            Self::Temperature => "temperature",
            Self::Voltage => "voltage",
            Self::Count => "count",
            Self::Share => "share",
            Self::Points => "percentage points",
            Self::Tokens => "tokens",
            Self::StepTime => "time per step",
            Self::TokenTime => "time per token",
        }
    }
}

/// One row of the table: `scale` counts the smallest unit of the dimension, so that it is an exact integer.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    dimension: Dimension,
    scale: u64,
    canonical: &'static str,
    other_spellings: &'static [&'static str],
}

const fn row(dimension: Dimension, scale: u64, canonical: &'static str, other_spellings: &'static [&'static str]) -> Row {
    Row {
        dimension,
        scale,
        canonical,
        other_spellings,
    }
}

use Dimension::*;

/// Every known unit. Case matters: `MB` is not `mB`. Rows of one dimension stand together, smallest first.
static ROWS: &[Row] = &[
    row(Time, 1, "ns", &["nsec", "nanoseconds"]),
    row(Time, 1_000, "us", &["\u{b5}s", "\u{3bc}s", "usec", "microseconds"]),
    row(Time, 1_000_000, "ms", &["msec", "millisecond", "milliseconds"]),
    row(Time, 1_000_000_000, "s", &["sec", "secs", "second", "seconds"]),
    row(Time, 60_000_000_000, "min", &["mins", "minute", "minutes"]),
    row(Time, 3_600_000_000_000, "h", &["hr", "hour", "hours"]),
    row(Bytes, 1, "B", &["byte", "bytes"]),
    row(Bytes, 1_000, "KB", &["kB"]),
    row(Bytes, 1 << 10, "KiB", &[]),
    row(Bytes, 1_000_000, "MB", &[]),
    row(Bytes, 1 << 20, "MiB", &[]),
    row(Bytes, 1_000_000_000, "GB", &[]),
    row(Bytes, 1 << 30, "GiB", &[]),
    row(Bytes, 1_000_000_000_000, "TB", &[]),
    row(Bytes, 1 << 40, "TiB", &[]),
    row(Bandwidth, 1, "B/s", &["bytes/s"]),
    row(Bandwidth, 1_000, "KB/s", &["kB/s"]),
    row(Bandwidth, 1 << 10, "KiB/s", &[]),
    row(Bandwidth, 1_000_000, "MB/s", &[]),
    row(Bandwidth, 1 << 20, "MiB/s", &[]),
    row(Bandwidth, 1_000_000_000, "GB/s", &[]),
    row(Bandwidth, 1 << 30, "GiB/s", &[]),
    row(Bandwidth, 1_000_000_000_000, "TB/s", &[]),
    row(Bandwidth, 1 << 40, "TiB/s", &[]),
    row(TokenRate, 1, "tok/s", &["tokens/s", "token/s", "t/s", "tok/sec", "tokens/sec"]),
    row(RequestRate, 1, "req/s", &["requests/s", "request/s", "req/sec", "requests/sec"]),
    row(IterationRate, 1, "it/s", &["iter/s", "iterations/s", "it/sec"]),
    row(StepRate, 1, "step/s", &["steps/s", "steps/sec"]),
    row(SampleRate, 1, "sample/s", &["samples/s", "samples/sec"]),
    row(OperationRate, 1, "ops/s", &["op/s", "ops/sec"]),
    row(ImageRate, 1, "img/s", &["image/s", "images/s", "images/sec"]),
    row(FlopRate, 1, "FLOP/s", &["FLOPS"]),
    row(FlopRate, 1_000_000, "MFLOP/s", &["MFLOPS"]),
    row(FlopRate, 1_000_000_000, "GFLOP/s", &["GFLOPS"]),
    row(FlopRate, 1_000_000_000_000, "TFLOP/s", &["TFLOPS"]),
    row(FlopRate, 1_000_000_000_000_000, "PFLOP/s", &["PFLOPS"]),
    row(Frequency, 1, "Hz", &[]),
    row(Frequency, 1_000, "kHz", &["KHz"]),
    row(Frequency, 1_000_000, "MHz", &[]),
    row(Frequency, 1_000_000_000, "GHz", &[]),
    row(Power, 1, "mW", &[]),
    row(Power, 1_000, "W", &["watt", "watts"]),
    row(Power, 1_000_000, "kW", &[]),
    row(Energy, 1, "mJ", &[]),
    row(Energy, 1_000, "J", &["joule", "joules"]),
    row(Energy, 1_000_000, "kJ", &[]),
    row(Energy, 3_600_000, "Wh", &[]),
    row(Energy, 1_000_000_000, "MJ", &[]),
    row(Energy, 3_600_000_000, "kWh", &[]),
    row(TokenEnergy, 1, "mJ/tok", &["mJ/token"]),
    row(TokenEnergy, 1_000, "J/tok", &["J/token"]),
    row(Temperature, 1, "C", &["\u{b0}C", "celsius"]),
    row(Voltage, 1, "mV", &[]),
    row(Voltage, 1_000, "V", &["volt", "volts"]),
    row(Count, 1, "count", &[]),
    row(Share, 1, "%", &["percent", "pct"]),
    row(Share, 100, "1", &["ratio"]),
    row(Points, 1, "pp", &[]),
    row(Tokens, 1, "tok", &["token", "tokens"]),
    row(StepTime, 1_000, "ms/step", &[]),
    row(StepTime, 1_000_000, "s/step", &["sec/step"]),
    row(TokenTime, 1, "us/tok", &["us/token"]),
    row(TokenTime, 1_000, "ms/tok", &["ms/token"]),
    row(TokenTime, 1_000_000, "s/tok", &["s/token"]),
];

/// A known unit. Its text form is the canonical spelling: `tokens/s` reads and `tok/s` is written.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Unit(&'static Row);

impl Unit {
    /// Reads any accepted spelling. The error names the unknown unit and the units that are known, by family.
    pub fn parse(text: &str) -> Result<Self, String> {
        let known = |row: &&Row| row.canonical == text || row.other_spellings.contains(&text);
        ROWS.iter()
            .find(known)
            .map(Unit)
            .ok_or_else(|| format!("unknown unit {text:?}: known are {}", families()))
    }

    /// The one spelling that records, reports and baselines carry.
    pub fn canonical(self) -> &'static str {
        self.0.canonical
    }

    /// What the unit measures.
    pub fn dimension(self) -> Dimension {
        self.0.dimension
    }
}

/// Converts `value` between two units of one dimension; `None` where the dimensions differ or the result is not finite.
///
/// Scales are integers, so that a conversion by a whole factor rounds once: 900 us is exactly the double nearest to 0.9 ms.
pub fn convert(value: f64, from: Unit, to: Unit) -> Option<f64> {
    let (from_scale, to_scale) = (from.0.scale, to.0.scale);
    let converted = if from.dimension() != to.dimension() {
        return None;
    } else if from_scale.is_multiple_of(to_scale) {
        value * (from_scale / to_scale) as f64
    } else if to_scale.is_multiple_of(from_scale) {
        value / (to_scale / from_scale) as f64
    } else {
        value * (from_scale as f64 / to_scale as f64)
    };
    converted.is_finite().then_some(converted)
}

/// `time (ns us ms s min h), bytes (B KB ...), ...`
fn families() -> String {
    let one = |rows: &[Row]| {
        let name = rows.first().map_or("", |row| row.dimension.name());
        let units: Vec<&str> = rows.iter().map(|row| row.canonical).collect();
        format!("{name} ({})", units.join(" "))
    };
    ROWS.chunk_by(|a, b| a.dimension == b.dimension)
        .map(one)
        .collect::<Vec<_>>()
        .join(", ")
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.canonical())
    }
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unit({})", self.canonical())
    }
}

impl TryFrom<String> for Unit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Unit> for String {
    fn from(unit: Unit) -> Self {
        unit.canonical().to_owned()
    }
}

impl schemars::JsonSchema for Unit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "a unit in its canonical spelling, such as `ms` or `tok/s`" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Unit {
        Unit::parse(text).unwrap()
    }

    #[test]
    fn conversion_stays_within_a_dimension() {
        assert_eq!(convert(900.0, unit("us"), unit("ms")), Some(0.9));
        assert_eq!(convert(900.0, unit("\u{b5}s"), unit("us")), Some(900.0));
        assert_eq!(convert(1.5, unit("GiB"), unit("MiB")), Some(1536.0));
        assert_eq!(convert(1024.0, unit("KB"), unit("KiB")), Some(1000.0));
        assert_eq!(convert(0.75, unit("ratio"), unit("%")), Some(75.0));
        assert_eq!(convert(1e306, unit("h"), unit("ns")), None, "beyond the range of a double");
        for (from, to) in [
            ("tok/s", "req/s"),
            ("it/s", "step/s"),
            ("s", "s/step"),
            ("B", "B/s"),
            ("%", "pp"),
            ("Hz", "ops/s"),
        ] {
            assert_eq!(convert(1.0, unit(from), unit(to)), None, "{from} must not become {to}");
        }
    }

    #[test]
    fn an_unknown_unit_is_named_beside_the_known_families() {
        let error = Unit::parse("parsec").unwrap_err();
        assert!(
            error.starts_with("unknown unit \"parsec\": known are time (ns us ms s min h), bytes (B KB"),
            "{error}"
        );
        assert!(Unit::parse("MS").is_err() && Unit::parse("").is_err() && Unit::parse(" ms").is_err());
    }

    #[test]
    fn spellings_are_unique_and_a_dimension_stands_in_one_run() {
        let mut spellings: Vec<&str> = ROWS
            .iter()
            .flat_map(|row| row.other_spellings.iter().copied().chain([row.canonical]))
            .collect();
        let count = spellings.len();
        spellings.sort_unstable();
        spellings.dedup();
        assert_eq!(spellings.len(), count, "a spelling stands in two rows");
        let mut dimensions: Vec<&str> = ROWS
            .chunk_by(|a, b| a.dimension == b.dimension)
            .map(|rows| rows[0].dimension.name())
            .collect();
        let runs = dimensions.len();
        dimensions.sort_unstable();
        dimensions.dedup();
        assert_eq!(dimensions.len(), runs, "the rows of a dimension are torn apart");
    }

    #[test]
    fn the_text_form_is_the_canonical_spelling() {
        assert_eq!(serde_json::to_string(&unit("t/s")).unwrap(), "\"tok/s\"");
        assert_eq!(serde_json::from_str::<Unit>("\"TFLOPS\"").unwrap().canonical(), "TFLOP/s");
        assert!(serde_json::from_str::<Unit>("\"furlong\"").is_err());
    }
}
