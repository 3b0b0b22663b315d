//! `name=value`, `name: value` and flat JSON on standard output, the format of a program that was written to be measured.
//!
//! A wanted name is searched as it stands and matches whole. What looks like the series but cannot be read is a failure with its
//! reason, never a nearby number.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Adapter;
use crate::model::figure::{Figure, Reading};
use crate::model::metric::Metric;
use crate::model::quantity::{names_no_finite_number, split_number};
use crate::model::text::plain;
use crate::model::unit::{Unit, convert};

/// Reads key-value lines and flat JSON objects.
pub const KEY_VALUE: Adapter = Adapter {
    name: "key-value",
    about: "name=value or name: value with an optional unit, several on a line, or a flat JSON object; the last one wins",
    read,
};

/// Longest line that is read; a longer one is skipped whole, because a cut number is a wrong number.
const LINE_MAX_BYTES: usize = 64 * 1024;
/// Longest piece of foreign text that a reason quotes, in characters.
const QUOTE_MAX_CHARS: usize = 40;

fn read(output: &[u8], wanted: &[Metric]) -> Reading {
    let text = plain(output);
    let mut reading = Reading::default();
    let mut skipped = 0;
    if let Some(object) = json_object(&text) {
        take_json(&object, wanted, &mut reading);
    } else {
        // From the end, because the last one wins: a chatty program costs no more than its last lines.
        for line in text.rsplit(['\n', '\r']) {
            if wanted.iter().all(|metric| reading.has(&metric.name)) {
                break;
            } else if line.len() > LINE_MAX_BYTES {
                skipped += 1;
            } else if let Some(object) = json_object(line).or_else(|| json_object(after_leading_word(line))) {
                take_json(&object, wanted, &mut reading);
            } else {
                take_pairs(line, wanted, &mut reading);
            }
        }
    }
    for metric in wanted {
        if reading.has(&metric.name) {
            continue;
        }
        reading.set(&metric.name, Figure::not_measured(absent(skipped)));
    }
    reading
}

fn absent(skipped_lines: usize) -> String {
    match skipped_lines {
        0 => "no such series".to_owned(),
        n => format!("no such series ({n} line(s) over {LINE_MAX_BYTES} bytes were skipped)"),
    }
}

// --- JSON ---

/// What a top-level JSON value is worth here.
enum Top {
    Number(f64),
    Other(&'static str),
}

/// The text as one JSON object, its duplicate keys resolved to the last; `None` where it is anything else.
fn json_object(text: &str) -> Option<HashMap<String, Top>> {
    let text = text.trim();
    if text.starts_with('{') && text.ends_with('}') {
        serde_json::from_str(text).ok()
    } else {
        None
    }
}

fn take_json(object: &HashMap<String, Top>, wanted: &[Metric], reading: &mut Reading) {
    for metric in wanted {
        if reading.has(&metric.name) {
            continue;
        }
        let figure = match object.get(&metric.name) {
            Some(Top::Number(value)) => Figure::Value(*value),
            Some(Top::Other(kind)) => Figure::failed(format!("{kind}, where a JSON number should stand")),
            None => continue,
        };
        reading.set(&metric.name, figure);
    }
}

/// Keeps numbers and drops everything else while reading, so that a large document costs no memory.
struct TopVisitor;

impl<'de> Visitor<'de> for TopVisitor {
    type Value = Top;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Top, E> {
        Ok(Top::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Top, E> {
        Ok(Top::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Top, E> {
        Ok(Top::Number(value as f64))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Top, E> {
        Ok(Top::Other("a boolean"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Top, E> {
        Ok(Top::Other(if names_no_finite_number(text) {
            "not a finite number"
        } else {
            "a string"
        }))
    }

    fn visit_unit<E>(self) -> Result<Top, E> {
        Ok(Top::Other("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Top, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Top::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Top, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Top::Other("an object"))
    }
}

impl<'de> Deserialize<'de> for Top {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TopVisitor)
    }
}

// --- pairs ---

fn take_pairs(line: &str, wanted: &[Metric], reading: &mut Reading) {
    for metric in wanted {
        if reading.has(&metric.name) {
            continue;
        }
        let at_occurrence = |(at, name): (usize, &str)| pair(&line[..at], &line[at + name.len()..], metric.unit);
        if let Some(figure) = line.rmatch_indices(metric.name.as_str()).find_map(at_occurrence) {
            reading.set(&metric.name, figure);
        }
    }
}

/// The figure at one occurrence of a name, or `None` where the name is only a part of a longer one, or no pair at all.
fn pair(before: &str, after: &str, unit: Unit) -> Option<Figure> {
    if let (Some(_), Some(after)) = (before.strip_suffix('"'), after.strip_prefix('"')) {
        return after
            .trim_start()
            .strip_prefix(':')
            .map(|value| unreadable_json(value.trim_start()));
    }
    let spaced = after.trim_start_matches([' ', '\t']);
    let value = spaced.strip_prefix(['=', ':'])?;
    if value.starts_with(['=', ':']) || !starts_a_name(before, after.starts_with('=')) {
        return None;
    }
    Some(figure(value.trim_start_matches([' ', '\t']), unit))
}

/// Whether a name may begin after `before`. A tight `name=value` stands alone as a word; a spaced pair also needs that nothing
/// before it belongs to the same label: `P99 decode: 3` is not the series `decode`.
fn starts_a_name(before: &str, tight: bool) -> bool {
    let label_free = after_leading_word(before).trim_end();
    let ends_a_pair = || {
        label_free
            .rfind(['=', ':'])
            .is_some_and(|at| is_quantity(label_free[at + 1..].trim_start()))
    };
    let separated = before.is_empty() || before.ends_with([' ', '\t', ',', ';', '|']);
    separated && (tight || label_free.is_empty() || label_free.ends_with([',', ';', '|']) || ends_a_pair())
}

/// The line without one leading word in capitals (`SUMMARY`, `RESULT:`) or brackets (`[info]`).
fn after_leading_word(line: &str) -> &str {
    let line = line.trim_start();
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let bare = word.strip_suffix(':').unwrap_or(word);
    let capitals = bare.len() > 1 && bare.bytes().all(|byte| byte.is_ascii_uppercase());
    let bracketed = word.starts_with('[') && word.ends_with(']');
    if capitals || bracketed { rest.trim_start() } else { line }
}

/// A quoted key outside a JSON object that could be read: never a value.
fn unreadable_json(value: &str) -> Figure {
    let number = split_number(value).and_then(|(number, _)| number.parse::<f64>().ok());
    if names_no_finite_number(value) || number.is_some_and(|number| !number.is_finite()) {
        Figure::failed("not a finite number")
    } else {
        Figure::failed("stands in JSON that is no object of its own: print the object on one line, or as the whole output")
    }
}

/// Reads a number and its optional unit at the front of `value`, in the metric's unit.
fn figure(value: &str, unit: Unit) -> Figure {
    if names_no_finite_number(value) {
        return Figure::failed("not a finite number");
    }
    let Some((number, rest)) = split_number(value) else {
        return Figure::failed(match word(value) {
            "" => "no value after the name".to_owned(),
            other => format!("not a number: {}", quote(other)),
        });
    };
    let Ok(number) = number.parse::<f64>() else {
        return Figure::failed(format!("not a number: {}", quote(word(value))));
    };
    let given = match unit_after(rest) {
        Ok(given) => given.unwrap_or(unit),
        Err(why) => return Figure::failed(format!("{}: {why}", quote(word(value)))),
    };
    match (number.is_finite(), convert(number, given, unit)) {
        (false, _) => Figure::failed("not a finite number"),
        (true, Some(converted)) => Figure::Value(converted),
        (true, None) if given.dimension() == unit.dimension() => Figure::failed(format!("too large for a number of {unit}")),
        (true, None) => Figure::failed(format!("given in {given}, which does not convert to {unit}")),
    }
}

/// The unit written after a number, directly or after spaces. A word of prose is no unit; what is glued to the number, or has a
/// slash, must be one.
fn unit_after(rest: &str) -> Result<Option<Unit>, String> {
    let glued = word(rest);
    if rest.starts_with(',') && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Err("a comma inside a number is not read".to_owned());
    }
    if !glued.is_empty() {
        return match Unit::parse(glued) {
            Ok(unit) if !starts_numeric(glued) => Ok(Some(unit)),
            _ => Err("want a decimal number and a known unit".to_owned()),
        };
    }
    let spaced = word(rest.trim_start_matches([' ', '\t']));
    match Unit::parse(spaced) {
        Ok(unit) if !starts_numeric(spaced) => Ok(Some(unit)),
        Err(_) if spaced.contains('/') && !starts_numeric(spaced) && !spaced.contains(['=', ':']) => {
            Err(format!("unknown unit {}", quote(spaced)))
        }
        _ => Ok(None),
    }
}

fn starts_numeric(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether the whole text is a number with at most a unit.
fn is_quantity(text: &str) -> bool {
    split_number(text).is_some_and(|(_, rest)| {
        let rest = rest.trim();
        rest.is_empty() || Unit::parse(rest).is_ok()
    })
}

/// The text up to the next space or separator.
fn word(text: &str) -> &str {
    text.split([' ', '\t', ',', ';', '|', ')', ']', '}']).next().unwrap_or_default()
}

fn quote(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTE_MAX_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('\u{2026}');
    }
    format!("{shown:?}")
}
