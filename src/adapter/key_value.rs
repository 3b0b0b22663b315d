//! `name=value`, `name: value` and flat JSON on standard output, the format of a program that was written to be measured.
//!
//! A wanted name is searched as it stands and matches whole. What looks like the series but cannot be read is a failure with its
//! reason, never a nearby number.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Adapter;
use super::foreign::Input;
use crate::model::gate::declaration::Series;
use crate::model::quantity::{names_no_finite_number, split_number};
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::unit::Unit;

/// Reads key-value lines and flat JSON objects.
pub const KEY_VALUE: Adapter = Adapter {
    name: "key-value",
    about: "name=value or name: value with an optional unit, several on a line, or a flat JSON object; the last one wins",
    source: "docs/formats.md of this repository",
    signs: None,
    read,
    stream: None,
    write: None,
};

/// Longest line that is read; a longer one is skipped whole, because a cut number is a wrong number.
const LINE_MAX_BYTES: usize = 64 * 1024;
/// Longest piece of foreign text that a reason quotes, in characters.
const QUOTE_MAX_CHARS: usize = 40;

/// A number with the unit that stood beside it, or why there is none.
type Given = Result<(f64, Option<Unit>), String>;

/// What was found of each wanted name so far.
struct Found<'w> {
    names: BTreeMap<&'w str, Option<Given>>,
}

impl<'w> Found<'w> {
    fn missing(&self) -> Vec<&'w str> {
        let open = self.names.iter().filter(|(_, given)| given.is_none());
        open.map(|(name, _)| *name).collect()
    }

    fn set(&mut self, name: &'w str, given: Given) {
        self.names.insert(name, Some(given));
    }
}

/// The names are the gate's: this format has no list of its own series.
fn read(input: &Input, wanted: &[Series]) -> Result<Report, Refused> {
    if wanted.is_empty() {
        return Err(Refused(
            "key-value output is searched for declared names, and none is declared: name the metrics in a gate file".to_owned(),
        ));
    }
    let names = wanted.iter().map(|series| (series.from.as_str(), None));
    let mut found = Found { names: names.collect() };
    let skipped = search(input.text(), &mut found);
    let series = found.names.into_iter().map(|(name, given)| {
        let (unit, process) = match given {
            Some(Ok((value, unit))) => (unit, Process::of(vec![value])),
            Some(Err(why)) => (None, Process::failed(why)),
            None => (None, Process::not_measured(absent(skipped))),
        };
        Reported {
            name: name.to_owned(),
            unit,
            processes: vec![process],
            ..Reported::default()
        }
    });
    Ok(Report {
        tool: "key-value output".to_owned(),
        series: series.collect(),
        ..Report::default()
    })
}

/// Fills in what the text says; gives how many lines were too long to read.
fn search(text: &str, found: &mut Found<'_>) -> usize {
    let mut skipped = 0;
    if let Some(object) = json_object(text) {
        take_json(&object, found);
        return skipped;
    }
    // From the end, because the last one wins: a chatty program costs no more than its last lines.
    for line in text.rsplit(['\n', '\r']) {
        if found.missing().is_empty() {
            break;
        } else if line.len() > LINE_MAX_BYTES {
            skipped += 1;
        } else if let Some(object) = json_object(line).or_else(|| json_object(after_leading_word(line))) {
            take_json(&object, found);
        } else {
            take_pairs(line, found);
        }
    }
    skipped
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

fn take_json(object: &HashMap<String, Top>, found: &mut Found<'_>) {
    for name in found.missing() {
        match object.get(name) {
            Some(Top::Number(value)) => found.set(name, Ok((*value, None))),
            Some(Top::Other(kind)) => found.set(name, Err(format!("{kind}, where a JSON number should stand"))),
            None => {}
        }
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

fn take_pairs(line: &str, found: &mut Found<'_>) {
    for name in found.missing() {
        let at_occurrence = |(at, name): (usize, &str)| pair(&line[..at], &line[at + name.len()..]);
        if let Some(given) = line.rmatch_indices(name).find_map(at_occurrence) {
            found.set(name, given);
        }
    }
}

/// What is given at one occurrence of a name, or `None` where the name is only a part of a longer one, or no pair at all.
fn pair(before: &str, after: &str) -> Option<Given> {
    if let (Some(_), Some(after)) = (before.strip_suffix('"'), after.strip_prefix('"')) {
        let value = after.trim_start().strip_prefix(':')?;
        return Some(Err(unreadable_json(value.trim_start())));
    }
    let spaced = after.trim_start_matches([' ', '\t']);
    let value = spaced.strip_prefix(['=', ':'])?;
    if value.starts_with(['=', ':']) || !starts_a_name(before, after.starts_with('=')) {
        return None;
    }
    Some(given(value.trim_start_matches([' ', '\t'])))
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

/// Why a quoted key outside a JSON object that could be read is never a value.
fn unreadable_json(value: &str) -> String {
    let number = split_number(value).and_then(|(number, _)| number.parse::<f64>().ok());
    let why = if names_no_finite_number(value) || number.is_some_and(|number| !number.is_finite()) {
        "not a finite number"
    } else {
        "stands in JSON that is no object of its own: print the object on one line, or as the whole output"
    };
    why.to_owned()
}

/// Reads a number and its optional unit at the front of `value`.
fn given(value: &str) -> Given {
    if names_no_finite_number(value) {
        return Err("not a finite number".to_owned());
    }
    let Some((number, rest)) = split_number(value) else {
        return Err(match word(value) {
            "" => "no value after the name".to_owned(),
            other => format!("not a number: {}", quote(other)),
        });
    };
    let parsed = number.parse::<f64>().map_err(|_| format!("not a number: {}", quote(word(value))))?;
    let unit = unit_after(rest).map_err(|why| format!("{}: {why}", quote(word(value))))?;
    Ok((parsed, unit))
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
