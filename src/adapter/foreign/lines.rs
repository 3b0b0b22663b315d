//! JSON lines of any number, read one at a time: memory does not grow with the file.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, Read as _};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::input;
use super::json::{self, Broken, Json};
use super::log::looks_like_a_row;
use crate::model::number::count;
use crate::model::report::Refused;
use crate::model::text::plain_line;

/// Longest line that is read, in bytes.
pub const LINE_MAX_BYTES: usize = 8 << 20;
/// Most names of repeated keys that are kept.
const REPEATED_MAX: usize = 20;
/// Longest key that a message shows, in characters.
const KEY_MAX_CHARS: usize = 80;

/// How rows are read.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// Which members of a row are read; the others are checked to be JSON and passed over.
    pub wants: fn(key: &str) -> bool,
    /// Whether a last line that ends in the middle is left out, instead of refused.
    pub partial: bool,
}

/// What there was, beside the rows themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// How many rows.
    pub rows: u64,
    /// How many lines are no JSON.
    pub skipped: u64,
    /// Whether the last line ends in the middle of a value and was left out.
    pub cut: bool,
    /// Keys that stand twice in a row with equal values.
    pub repeated: BTreeSet<String>,
}

impl Told {
    /// What a reader should know about how the rows were found.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.skipped > 0 {
            notes.push(format!("skipped {}", count(self.skipped, "line")));
        }
        if self.cut {
            notes.push("the last line ends in the middle and was left out".to_owned());
        }
        if !self.repeated.is_empty() {
            let keys: Vec<&str> = self.repeated.iter().map(String::as_str).collect();
            notes.push(format!("keys that stand twice: {}", keys.join(", ")));
        }
        notes
    }
}

/// Hands every row to `each`: its line, from 1, and an object of its wanted members. Lines that begin no object are skipped and counted.
///
/// # Errors
/// When it is no document, a line is too long, broken, cut (the last one: unless `partial`) or contradicts itself, the log goes on to a
/// crash, reading fails, or `each` refuses a row.
pub fn rows(source: &mut dyn BufRead, how: How, each: &mut dyn FnMut(u64, &Json) -> Result<(), Refused>) -> Result<Told, Refused> {
    check_start(source)?;
    let mut told = Told::default();
    let mut crash = None;
    let (mut line, mut number) = (Vec::new(), 0);
    let mut row = Json::Map(Vec::new());
    while next_line(source, &mut line)? {
        number += 1;
        let text = line.trim_ascii();
        let text = text.strip_prefix(b"\xef\xbb\xbf").filter(|_| number == 1).unwrap_or(text);
        if text.is_empty() {
            continue;
        }
        match read_row(text, how.wants, &mut row) {
            Ok(()) => {
                check_keys(&row, number, &mut told.repeated)?;
                each(number, &row)?;
                (told.rows, crash) = (told.rows + 1, None);
            }
            Err(Broken::Cut) if told.rows > 0 && at_end(source)? => told.cut = true,
            Err(Broken::Wrong(..)) if !looks_like_a_row(&String::from_utf8_lossy(text)) => {
                told.skipped += 1;
                crash = crash.or_else(|| input::crash_line(&String::from_utf8_lossy(text)));
            }
            Err(broken) => return Err(broken.refused(number as usize)),
        }
    }
    match crash {
        _ if told.cut && !how.partial => Err(input::cut_last_line()),
        Some(crash) if told.rows > 0 && !how.partial => Err(input::crashed_after(&crash)),
        _ => Ok(told),
    }
}

/// Whether a stream's first bytes are those of a text.
fn check_start(source: &mut dyn BufRead) -> Result<(), Refused> {
    let head = source.fill_buf().map_err(|error| unreadable(&error))?;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(Refused("is UTF-16, and is read line by line: convert it to UTF-8 first".to_owned()));
    }
    input::trouble(head, head).map_or(Ok(()), |why| Err(Refused(why)))
}

/// Reads the next line, its end included; false at the end of the stream.
fn next_line(source: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool, Refused> {
    line.clear();
    let read = source.take(LINE_MAX_BYTES as u64 + 1).read_until(b'\n', line);
    match read.map_err(|error| unreadable(&error))? {
        length if length > LINE_MAX_BYTES => Err(Refused(format!(
            "a line of more than {LINE_MAX_BYTES} bytes, which is the most that is read"
        ))),
        length => Ok(length > 0),
    }
}

fn at_end(source: &mut dyn BufRead) -> Result<bool, Refused> {
    source.fill_buf().map(<[u8]>::is_empty).map_err(|error| unreadable(&error))
}

fn unreadable(error: &std::io::Error) -> Refused {
    Refused(format!("cannot be read: {error}"))
}

/// Reads one line as a row. What is no JSON only because it holds `NaN` or the like is read again with that told as such.
fn read_row(text: &[u8], wants: fn(&str) -> bool, row: &mut Json) -> Result<(), Broken> {
    if !text.starts_with(b"{") {
        return Err(Broken::Wrong(1, "no object".to_owned()));
    }
    let Err(broken) = parse(text, wants, row) else { return Ok(()) };
    let Ok(text) = std::str::from_utf8(text) else {
        return Err(Broken::Wrong(1, "not UTF-8".to_owned()));
    };
    match json::readable(text) {
        (_, moved) if moved.is_empty() => Err(broken),
        (readable, _) => parse(readable.as_bytes(), wants, row),
    }
}

fn parse(text: &[u8], wants: fn(&str) -> bool, row: &mut Json) -> Result<(), Broken> {
    if !matches!(row, Json::Map(_)) {
        *row = Json::Map(Vec::new());
    }
    let Json::Map(into) = row else { return Ok(()) };
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let read = Members { wants, into }.deserialize(&mut deserializer);
    read.and_then(|()| deserializer.end()).map_err(|error| json::broken(&error))
}

/// Refuses a row in which a wanted key stands twice with different values; notes those with equal ones.
fn check_keys(row: &Json, number: u64, repeated: &mut BTreeSet<String>) -> Result<(), Refused> {
    let members = row.members();
    let is_plain = |(at, (key, value)): (usize, &(String, Json))| {
        let again = members.iter().skip(at + 1).any(|(other, _)| other == key);
        !again && !matches!(value, Json::Map(_) | Json::List(_))
    };
    if members.iter().enumerate().all(is_plain) {
        return Ok(());
    }
    let (equal, differing) = row.duplicates();
    if !differing.is_empty() {
        return Err(Refused(format!(
            "line {number}: keys that stand twice with different values: {}; which one counts cannot be told",
            plain_line(&differing.join(", "), KEY_MAX_CHARS)
        )));
    }
    for key in equal {
        if repeated.len() < REPEATED_MAX {
            repeated.insert(plain_line(&key, KEY_MAX_CHARS));
        }
    }
    Ok(())
}

/// The wanted members of an object, written over those of the row before: rows mostly have the same keys.
struct Members<'a> {
    wants: fn(&str) -> bool,
    into: &'a mut Vec<(String, Json)>,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { wants, into } = self;
        let mut filled = 0;
        loop {
            if filled == into.len() {
                into.push((String::new(), Json::Null));
            }
            let Some((name, value)) = into.get_mut(filled) else { break };
            match entries.next_key_seed(Key { wants, name })? {
                None => break,
                Some(true) => {
                    *value = entries.next_value()?;
                    filled += 1;
                }
                Some(false) => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        into.truncate(filled);
        Ok(())
    }
}

/// A key: whether it is wanted, and if so its name.
struct Key<'a> {
    wants: fn(&str) -> bool,
    name: &'a mut String,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        let wanted = (self.wants)(key);
        if wanted && self.name != key {
            key.clone_into(self.name);
        }
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: How = How {
        wants: |_| true,
        partial: false,
    };

    fn read(text: &[u8], how: How) -> Result<(Vec<(u64, String)>, Told), Refused> {
        let mut seen = Vec::new();
        let told = rows(&mut &text[..], how, &mut |line, row| {
            seen.push((line, row.shown()));
            Ok(())
        })?;
        Ok((seen, told))
    }

    fn why(text: &[u8], how: How) -> String {
        read(text, how).unwrap_err().0
    }

    #[test]
    fn rows_stand_between_other_lines_and_only_wanted_members_are_read() {
        let text = "\u{feff}{\"a\": 1, \"b\": {\"c\": [1]}, \"d\": \"x\"}\r\n\n[info] a {\n{\"b\": 2, \"a\": -nan}\n{}\n";
        let how = How {
            wants: |key| key != "b",
            ..ALL
        };
        let (seen, told) = read(text.as_bytes(), how).unwrap();
        let expected = [(1, "{a=1,d=x}"), (4, "{a=-nan}"), (5, "{}")].map(|(line, row)| (line, row.to_owned()));
        assert_eq!(seen, expected);
        assert_eq!((told.rows, told.skipped, told.cut), (3, 1, false));
        assert_eq!(told.notes(), ["skipped 1 line"]);
    }

    #[test]
    fn a_cut_last_line_needs_partial_and_is_told() {
        let text = b"{\"a\": 1}\n{\"a\": 2, \"b";
        assert!(why(text, ALL).contains("--partial"));
        let (seen, told) = read(text, How { partial: true, ..ALL }).unwrap();
        assert_eq!((seen.len(), told.cut), (1, true));
        assert!(read(b"{\"a\": 1}\n{\"a\": 2}", ALL).is_ok(), "a last line without its end is whole");
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        for (text, word) in [
            (&b"{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}\n"[..], "truncated"),
            (b"{\"a\": 1}\n{\"a\" 2}\n", "not JSON at line 2: expected `:`"),
            (b"{\"a\": 1} x\n", "not JSON at line 1: trailing characters"),
            (b"{\"a\": 1, \"a\": 2}\n", "line 1: keys that stand twice with different values: a"),
            (b"{\"a\": {\"x\": 1, \"x\": 2}}\n", "different values: a.x"),
            (b"{\"a\": 1}\nRuntimeError: out of memory\n", "looks like a crash"),
            (b"{\"a\": \"\xff\"}\n", "not JSON at line 1: not UTF-8"),
            (b"{\"a\": 1", "truncated"),
            (b"", "empty"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"\xff\xfe{\0", "UTF-16"),
        ] {
            let why = why(text, ALL);
            assert!(why.contains(word), "{}: {why}", String::from_utf8_lossy(text));
        }
        let long = [b"{\"a\": \"", vec![b'x'; LINE_MAX_BYTES].as_slice(), b"\"}\n"].concat();
        assert!(why(&long, ALL).contains("8388608 bytes"));
    }

    #[test]
    fn keys_twice_with_equal_values_are_told() {
        let (_, told) = read(b"{\"a\": 1, \"a\": 1}\n{\"a\": 1}\n", ALL).unwrap();
        assert_eq!(told.notes(), ["keys that stand twice: a"]);
    }

    #[test]
    fn a_refused_row_ends_the_reading() {
        let mut count = 0;
        let refused = rows(&mut &b"{}\n{}\n{}\n"[..], ALL, &mut |line, _| {
            count += 1;
            if line == 2 { Err(Refused("no".to_owned())) } else { Ok(()) }
        });
        assert_eq!((refused, count), (Err(Refused("no".to_owned())), 2));
    }
}
