//! JSON as programs really write it: with `NaN` and `inf` where numbers stand, and with keys that stand twice.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::model::quantity::names_no_finite_number;
use crate::model::report::Refused;

/// Stands before a number that is not finite while it goes through the parser as a string; no text contains this noncharacter.
const NOT_FINITE: char = '\u{fdd0}';
/// Most duplicate keys that are reported.
const DUPLICATES_MAX: usize = 20;

/// A JSON value. Objects keep the order and every occurrence of their keys.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number, exact.
    Whole(i128),
    /// Any other finite number.
    Number(f64),
    /// `NaN`, `inf`, `1e400`: what stood there.
    NotFinite(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// The member of an object; of two with the same key the later one.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(members) = self else { return None };
        members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether this is an object with that key.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The items of an array; empty for anything else.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The items of an array, or the value itself.
    pub fn unlisted(&self) -> Vec<&Self> {
        match self {
            Self::List(items) => items.iter().collect(),
            other => vec![other],
        }
    }

    /// The members of an object; empty for anything else.
    pub fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Map(members) => members,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a number: NaN where one stands that is not finite, none where there is no number at all.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::NotFinite(_) => Some(f64::NAN),
            _ => None,
        }
    }

    /// The value as a count.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Whole(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The value on one line, as a configuration field is compared and shown.
    pub fn shown(&self) -> String {
        let list = |items: Vec<String>| items.join(",");
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Whole(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::NotFinite(text) | Self::Text(text) => text.clone(),
            Self::List(items) => format!("[{}]", list(items.iter().map(Self::shown).collect())),
            Self::Map(members) => {
                let members = members.iter().map(|(key, value)| format!("{key}={}", value.shown()));
                format!("{{{}}}", list(members.collect()))
            }
        }
    }

    /// What kind of value it is, with its article.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Whole(_) | Self::Number(_) => "a number",
            Self::NotFinite(_) => "not a finite number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Map(_) => "an object",
        }
    }

    /// Whether it is an object, or a list with one in it.
    pub fn holds_object(&self) -> bool {
        matches!(self, Self::Map(_)) || self.items().iter().any(Self::holds_object)
    }

    /// The keys that stand twice in one object, each with its place: equal values in the first list, differing ones in the second.
    pub fn duplicates(&self) -> (Vec<String>, Vec<String>) {
        let mut found = (Vec::new(), Vec::new());
        self.collect_duplicates("", &mut found);
        found
    }

    fn collect_duplicates(&self, at: &str, found: &mut (Vec<String>, Vec<String>)) {
        let mut seen: HashMap<&str, &Self> = HashMap::new();
        for (key, value) in self.members() {
            let list = match seen.insert(key, value) {
                Some(earlier) if earlier == value => &mut found.0,
                Some(_) => &mut found.1,
                None => continue,
            };
            if list.len() < DUPLICATES_MAX {
                list.push(format!("{at}{key}"));
            }
        }
        for (key, value) in self.members() {
            if matches!(value, Self::Map(_) | Self::List(_)) {
                value.collect_duplicates(&format!("{at}{key}."), found);
            }
        }
        for item in self.items() {
            item.collect_duplicates(at, found);
        }
    }
}

/// How a text fails to be JSON.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    /// It ends in the middle of a value.
    Cut,
    /// It is something else: the line, from 1, and what the parser expected.
    Wrong(usize, String),
}

impl Broken {
    /// The sentence for a document of one line, whose number is told besides.
    pub fn refused_line(self) -> Refused {
        match self {
            Self::Wrong(_, what) => Refused(format!("not JSON: {what}")),
            Self::Cut => self.refused(1),
        }
    }

    /// The sentence for a document that begins at a line, from 1.
    pub fn refused(self, first_line: usize) -> Refused {
        Refused(match self {
            Self::Cut => "the JSON ends in the middle of a value: the file is truncated; write it again".to_owned(),
            Self::Wrong(line, what) => format!("not JSON at line {}: {what}", first_line + line - 1),
        })
    }
}

/// Reads the one value at the front of a text, and how many bytes it took.
///
/// # Errors
/// When the text ends too early or is no JSON.
pub fn first(text: &str) -> Result<(Json, usize), Broken> {
    let (readable, moved) = readable(text);
    let mut values = serde_json::Deserializer::from_str(&readable).into_iter::<Json>();
    match values.next() {
        None => Err(Broken::Cut),
        Some(Err(error)) => Err(broken(&error)),
        Some(Ok(value)) => {
            let end = values.byte_offset();
            // What was written longer stands before the end or after it.
            let longer: usize = moved.iter().take_while(|(at, _)| *at < end).map(|(_, by)| by).sum();
            Ok((value, end - longer))
        }
    }
}

/// What the parser's error means.
pub(super) fn broken(error: &serde_json::Error) -> Broken {
    if error.is_eof() {
        return Broken::Cut;
    }
    let told = error.to_string();
    let what = told.rsplit_once(" at line ").map_or(told.as_str(), |(what, _)| what);
    Broken::Wrong(error.line().max(1), what.to_owned())
}

/// Reads a text that is one value and nothing else.
///
/// # Errors
/// When the text ends too early, is no JSON, or goes on after the value.
pub fn whole(text: &str) -> Result<Json, Broken> {
    let (value, end) = first(text)?;
    match text.get(end..).map(str::trim) {
        Some("") => Ok(value),
        _ => {
            let line = text.get(..end).unwrap_or(text).matches('\n').count() + 1;
            Err(Broken::Wrong(line, "something follows the value".to_owned()))
        }
    }
}

/// The text with every bare word for a number that is not finite, and every number beyond the range of a double, as a marked string; and
/// where, in the new text, how many bytes came in. A text without one is not copied.
pub(super) fn readable(text: &str) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    let (mut out, mut moved) = (String::new(), Vec::new());
    let (mut copied, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at = after_string(bytes, at);
        } else if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+') {
            let end = at + bytes[at..].iter().take_while(|byte| in_word(**byte)).count();
            let word = text.get(at..end).unwrap_or_default();
            let infinite = || word.contains(['e', 'E']) && word.parse::<f64>().is_ok_and(f64::is_infinite);
            if names_no_finite_number(word) || infinite() {
                out.push_str(text.get(copied..at).unwrap_or_default());
                out.push('"');
                out.push(NOT_FINITE);
                out.push_str(word);
                out.push('"');
                moved.push((out.len() - 1, 2 + NOT_FINITE.len_utf8()));
                copied = end;
            }
            at = end;
        } else {
            at += 1;
        }
    }
    if moved.is_empty() {
        return (Cow::Borrowed(text), moved);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    (Cow::Owned(out), moved)
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'(' | b')')
}

/// The place after the string that begins at `at`.
fn after_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            // No string goes over a line's end; a stray quote in a log must not swallow the rest.
            b'\n' => return at,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Whole(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Whole(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(match text.strip_prefix(NOT_FINITE) {
            Some(word) => Json::NotFinite(word.to_owned()),
            None => Json::Text(text.to_owned()),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = entries.next_entry()? {
            members.push(member);
        }
        Ok(Json::Map(members))
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_are_kept_as_such() {
        let text = r#"{"a": NaN, "b": [-Infinity, -nan, inf, nan(ind), 1e400], "c": "NaN is text", "d": 18446744073709551615, "e": 1.50}"#;
        let value = whole(text).unwrap();
        assert_eq!(value.get("a"), Some(&Json::NotFinite("NaN".to_owned())));
        assert!(
            value
                .get("b")
                .unwrap()
                .items()
                .iter()
                .all(|item| matches!(item, Json::NotFinite(_))),
            "{value:?}"
        );
        assert_eq!(value.get("c").and_then(Json::text), Some("NaN is text"));
        assert_eq!(value.get("d").and_then(Json::count), Some(u64::MAX));
        assert_eq!(value.get("e").and_then(Json::number), Some(1.5));
    }

    #[test]
    fn the_end_of_a_value_is_told_in_the_text_as_it_was() {
        for (text, rest) in [
            ("[nan, 1] tail", " tail"),
            ("[1] inf", " inf"),
            ("{\"a\":inf}\n{}", "\n{}"),
            ("[]", ""),
        ] {
            let (_, end) = first(text).unwrap();
            assert_eq!(&text[end..], rest, "{text}");
        }
    }

    #[test]
    fn what_is_cut_differs_from_what_is_wrong() {
        for text in ["[1, 2", "{\"a\": \"x", "{\"a\"", "", "[na"] {
            assert!(matches!(whole(text), Err(Broken::Cut | Broken::Wrong(..))), "{text}");
        }
        assert_eq!(whole("[1, 2"), Err(Broken::Cut));
        assert_eq!(
            whole("[1,\n 2 3]").unwrap_err().refused(5).0,
            "not JSON at line 6: expected `,` or `]`"
        );
        assert_eq!(
            whole("[1]\n[2]").unwrap_err().refused(1).0,
            "not JSON at line 1: something follows the value"
        );
        assert!(matches!(whole(&"[".repeat(100_000)), Err(Broken::Wrong(..))), "depth is limited");
    }

    #[test]
    fn duplicate_keys_are_told_apart_by_their_values() {
        let value = whole(r#"{"a": {"x": 1, "x": 1}, "b": [{"y": 1, "y": 2}], "a2": 0}"#).unwrap();
        assert_eq!(value.duplicates(), (vec!["a.x".to_owned()], vec!["b.y".to_owned()]));
        assert_eq!(value.get("b").unwrap().items()[0].get("y"), Some(&Json::Whole(2)));
    }
}
