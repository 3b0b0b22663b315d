//! A waiver: a regression that a change accepts by a reviewed file of its own, `gates/waivers/NAME.toml`.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Fault;
use super::fault::{instead, place};
use super::file::syntax;
use super::value;
use crate::model::metric::Tolerance;
use crate::model::relabel::BECAUSE_MAX;
use crate::model::text::plain_line;

/// The folder of waivers, as a repository names it.
pub const FOLDER: &str = "gates/waivers";
/// How far ahead a waiver may end, in days.
pub const DAYS_MAX: i32 = 90;
/// Longest file, in bytes.
pub const FILE_MAX_BYTES: u64 = 64 << 10;
/// Longest author, in characters.
const AUTHOR_MAX: usize = 200;
/// Every key of a file, in its order.
const KEYS: [&str; 9] = [
    "version", "gate", "fixture", "metric", "limit", "reason", "author", "until", "record",
];

/// One accepted regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waiver {
    /// Its file.
    pub file: String,
    /// The gate whose rule it speaks of.
    pub gate: String,
    /// The fixture; empty where the gate has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fixture: String,
    /// The metric.
    pub metric: String,
    /// How much worse the candidate may be: judged as the rule's own tolerance is.
    pub limit: Tolerance,
    /// Why it is accepted.
    pub reason: String,
    /// Who accepts it.
    pub author: String,
    /// The last day on which it holds, `YYYY-MM-DD`, UTC.
    pub until: String,
    /// The seal of the record that it was written for, or its first digits: a reference, not a proof.
    pub record: String,
    /// The base has it already: it was reviewed for an earlier change, and excuses nothing against the base arm.
    #[serde(default, skip_serializing_if = "is_false")]
    pub carried: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// How a waiver stands on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds.
    Holds,
    /// Its last day is over.
    Expired,
    /// It ends more than [`DAYS_MAX`] days ahead, which is no waiver but another rule.
    TooLong,
}

impl Waiver {
    /// How it stands on a day, `YYYY-MM-DD`; a day that is none leaves it expired.
    pub fn standing(&self, today: &str) -> Standing {
        let (Ok(until), Ok(today)) = (self.until.parse::<Date>(), today.parse::<Date>()) else {
            return Standing::Expired;
        };
        match until.since(today).map(|span| span.get_days()) {
            Ok(0..=DAYS_MAX) => Standing::Holds,
            Ok(..0) | Err(_) => Standing::Expired,
            Ok(_) => Standing::TooLong,
        }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let fixture = if self.fixture.is_empty() {
            String::new()
        } else {
            format!("fixture = {}\n", quoted(&self.fixture))
        };
        format!(
            "# A regression that is accepted until a day, up to a limit. It excuses this gate, fixture and metric, and nothing else.\n\
             version = 1\n\
             gate    = {}\n\
             {fixture}\
             metric  = {}\n\
             limit   = {}\n\
             reason  = {}\n\
             author  = {}\n\
             until   = {}\n\
             record  = {}\n",
            quoted(&self.gate),
            quoted(&self.metric),
            quoted(&self.limit.to_string()),
            quoted(&self.reason),
            quoted(&self.author),
            quoted(&self.until),
            quoted(&self.record),
        )
    }

    /// The reason with who gave it and until when, on one line.
    pub fn in_words(&self) -> String {
        format!(
            "{} ({}, until {}; {})",
            plain_line(&self.reason, BECAUSE_MAX),
            plain_line(&self.author, AUTHOR_MAX),
            plain_line(&self.until, 20),
            plain_line(&self.file, AUTHOR_MAX)
        )
    }
}

/// Reads a waiver. `file` is what messages call it.
///
/// # Errors
/// Every fault, in order of position.
pub fn parse(text: &str, file: &str) -> Result<Waiver, Vec<Fault>> {
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let noted = errors
            .iter()
            .map(|error| (error.span().map_or(text.len(), |span| span.start), syntax(error.message())));
        return Err(place(text, file, noted.collect()));
    }
    let mut reader = Reader {
        entries: root.get_ref(),
        faults: Vec::new(),
    };
    reader.refuse_unknown();
    reader.need("version", version);
    let waiver = Waiver {
        file: file.to_owned(),
        gate: reader.need("gate", value::name).unwrap_or_default(),
        fixture: reader.read("fixture", value::name).unwrap_or_default(),
        metric: reader.need("metric", value::name).unwrap_or_default(),
        limit: reader.need("limit", value::tolerance).unwrap_or(NO_LIMIT),
        reason: reader.need("reason", sentence(BECAUSE_MAX)).unwrap_or_default(),
        author: reader.need("author", sentence(AUTHOR_MAX)).unwrap_or_default(),
        until: reader.need("until", day).unwrap_or_default(),
        record: reader.need("record", seal).unwrap_or_default(),
        carried: false,
    };
    if reader.faults.is_empty() {
        Ok(waiver)
    } else {
        Err(place(text, file, reader.faults))
    }
}

/// Stands in for a limit that could not be read; such a file is refused.
const NO_LIMIT: Tolerance = Tolerance {
    value: 0.0,
    scale: crate::model::metric::Scale::Pct,
    unit: None,
};

struct Reader<'d> {
    entries: &'d DeTable<'d>,
    faults: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn refuse_unknown(&mut self) {
        for key in self.entries.keys() {
            let name = key.get_ref().as_ref();
            if !KEYS.contains(&name) {
                self.faults
                    .push((key.span().start, format!("unknown key {name:?}: {}", instead(name, &KEYS))));
            }
        }
    }

    fn need<T>(&mut self, key: &str, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Option<T> {
        if self.value(key).is_none() {
            self.faults.push((
                0,
                format!("{key}: is missing: a waiver without it excuses nothing; `gate waive` writes a whole one"),
            ));
        }
        self.read(key, read)
    }

    fn read<T>(&mut self, key: &str, read: impl Fn(&DeValue<'_>) -> Result<T, String>) -> Option<T> {
        let value = self.value(key)?;
        let (at, answer) = (value.span().start, read(value.get_ref()));
        answer.map_err(|why| self.faults.push((at, format!("{key}: {why}")))).ok()
    }

    fn value(&self, key: &str) -> Option<&Spanned<DeValue<'_>>> {
        self.entries.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }
}

fn version(value: &DeValue<'_>) -> Result<(), String> {
    value::whole(1..=1)(value).map(drop)
}

fn sentence(max: usize) -> impl Fn(&DeValue<'_>) -> Result<String, String> {
    move |value| {
        let text = value::filled(value)?;
        if text.chars().count() > max {
            return Err(format!("more than {max} characters"));
        }
        Ok(text.trim().to_owned())
    }
}

/// A day as a text, or as TOML's own date.
fn day(value: &DeValue<'_>) -> Result<String, String> {
    let text = match value {
        DeValue::Datetime(date) => date.to_string(),
        other => value::filled(other)?,
    };
    match text.parse::<Date>() {
        Ok(_) if text.len() == 10 => Ok(text),
        _ => Err(format!(
            "{:?} where a day such as \"2026-12-31\" is expected",
            plain_line(&text, 40)
        )),
    }
}

/// A seal, or at least its first twelve digits.
fn seal(value: &DeValue<'_>) -> Result<String, String> {
    let text = value::filled(value)?;
    let digits = text.trim_start_matches("b3:");
    if (12..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(digits.to_lowercase());
    }
    Err(format!(
        "{:?} where a record's seal is expected: 12 to 64 hex digits, as `gate ledger log` shows them",
        plain_line(&text, 80)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Waiver {
        Waiver {
            file: "gates/waivers/x.toml".to_owned(),
            gate: "perf".to_owned(),
            fixture: "a \"quoted\" one".to_owned(),
            metric: "tg128".to_owned(),
            limit: Tolerance::parse("9%").expect("a tolerance"),
            reason: "the new sampler is worth it".to_owned(),
            author: "A <a@example.org>".to_owned(),
            until: "2026-12-31".to_owned(),
            record: "0123456789ab".to_owned(),
            carried: false,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let waiver = one();
        assert_eq!(parse(&waiver.text(), &waiver.file), Ok(waiver.clone()));
        let plain = Waiver {
            fixture: String::new(),
            reason: "two\nlines".to_owned(),
            ..waiver
        };
        assert_eq!(parse(&plain.text(), &plain.file), Ok(plain));
    }

    #[test]
    fn a_waiver_ends_on_its_day_and_never_far_ahead() {
        let waiver = one();
        for (today, standing) in [
            ("2026-12-31", Standing::Holds),
            ("2027-01-01", Standing::Expired),
            ("2026-10-02", Standing::Holds),
            ("2026-10-01", Standing::TooLong),
            ("2020-01-01", Standing::TooLong),
            ("soon", Standing::Expired),
        ] {
            assert_eq!(waiver.standing(today), standing, "{today}");
        }
    }

    #[test]
    fn every_wrong_file_is_refused_at_its_place() {
        let whole = one().text();
        let lines: Vec<&str> = whole.lines().collect();
        for key in KEYS.iter().filter(|key| **key != "fixture") {
            let without: Vec<&str> = lines.iter().copied().filter(|line| !line.starts_with(key)).collect();
            let faults = parse(&without.join("\n"), "w.toml").expect_err(key);
            assert_eq!(faults.len(), 1, "{key}: {faults:?}");
            assert!(
                faults[0].to_string().starts_with(&format!("w.toml:1:1: {key}: is missing")),
                "{}",
                faults[0]
            );
        }
        for (from, to, says) in [
            ("reason  = \"the", "reason  = \"\" # the", "reason: is empty"),
            ("\"9%\"", "9", "limit: the number 9"),
            ("\"9%\"", "\"9\"", "limit: 9: say 9% (relative)"),
            ("2026-12-31", "2026-13-31", "until: \"2026-13-31\" where a day"),
            ("2026-12-31", "2026-12-31T10:00:00Z", "where a day"),
            ("0123456789ab", "01234", "a record's seal is expected"),
            ("author ", "auther ", "unknown key \"auther\": did you mean author?"),
            ("version = 1", "version = 2", "version: the number 2"),
            ("metric ", "metric =", "not TOML"),
        ] {
            assert!(whole.contains(from), "{from}");
            let faults = parse(&whole.replace(from, to), "w.toml").expect_err(says);
            assert!(faults.iter().any(|fault| fault.what.contains(says)), "{says}: {faults:?}");
        }
    }
}
