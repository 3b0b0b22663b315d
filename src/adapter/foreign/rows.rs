//! One line of JSON lines at a time, into the row before: memory does not grow with the file, and rows mostly have the same keys.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::de::Read;

use super::json::{self, Broken, Json};

/// Reads one row after the other.
#[derive(Debug)]
pub struct Rows {
    wants: fn(key: &str) -> bool,
    row: Json,
    /// Whether the last row's keys are others than those of the row before.
    keys_changed: bool,
    /// Whether no key of the last row stands in it twice.
    keys_differ: bool,
}

impl Rows {
    /// Reads of every row the members whose keys are wanted; the others are checked to be JSON and passed over.
    pub fn of(wants: fn(key: &str) -> bool) -> Self {
        Self {
            wants,
            row: Json::Map(Vec::new()),
            keys_changed: true,
            keys_differ: true,
        }
    }

    /// The row of a line: an object of its wanted members, every occurrence of them.
    ///
    /// # Errors
    /// When the line is no whole JSON object.
    pub fn read(&mut self, line: &str) -> Result<&Json, Broken> {
        self.keys_changed = false;
        match self.parse(serde_json::Deserializer::from_str(line)) {
            Ok(()) => Ok(self.compared()),
            Err(broken) => self.read_readable(line, broken),
        }
    }

    /// The same of a line of which only what is wanted must be UTF-8.
    ///
    /// # Errors
    /// As of [`Rows::read`].
    pub fn read_bytes(&mut self, line: &[u8]) -> Result<&Json, Broken> {
        self.keys_changed = false;
        match self.parse(serde_json::Deserializer::from_slice(line)) {
            Ok(()) => Ok(self.compared()),
            Err(broken) => match std::str::from_utf8(line) {
                Ok(line) => self.read_readable(line, broken),
                Err(_) => Err(Broken::Wrong(1, "it is not UTF-8".to_owned())),
            },
        }
    }

    /// What is no JSON only because it holds `NaN` or the like is read again with that told as such.
    fn read_readable(&mut self, line: &str, broken: Broken) -> Result<&Json, Broken> {
        match json::readable(line) {
            (_, moved) if moved.is_empty() => return Err(broken),
            (readable, _) => self.parse(serde_json::Deserializer::from_str(&readable))?,
        }
        Ok(self.compared())
    }

    /// The row, its keys compared with each other where they are others than before.
    fn compared(&mut self) -> &Json {
        if self.keys_changed {
            let members = self.row.members();
            let is_last = |(at, (key, _)): (usize, &(String, Json))| members.iter().skip(at + 1).all(|(other, _)| other != key);
            self.keys_differ = members.iter().enumerate().all(is_last);
        }
        &self.row
    }

    /// The last row.
    pub fn row(&self) -> &Json {
        &self.row
    }

    /// Whether the keys of the last row, in their order, are others than those of the row before.
    pub fn keys_changed(&self) -> bool {
        self.keys_changed
    }

    /// The first key that stands twice in the last row with different values.
    pub fn contradiction(&self) -> Option<String> {
        let holds_keys = |(_, value): &(String, Json)| value.holds_object();
        if self.keys_differ && !self.row.members().iter().any(holds_keys) {
            return None;
        }
        self.row.duplicates().1.into_iter().next()
    }

    fn parse<'de, R: Read<'de>>(&mut self, mut deserializer: serde_json::Deserializer<R>) -> Result<(), Broken> {
        let Json::Map(into) = &mut self.row else { return Ok(()) };
        let members = Members {
            wants: self.wants,
            into,
            changed: &mut self.keys_changed,
        };
        let read = members.deserialize(&mut deserializer);
        read.and_then(|()| deserializer.end()).map_err(|error| json::broken(&error))
    }
}

/// The wanted members of an object, written over those of the row before: rows mostly have the same keys.
struct Members<'a> {
    wants: fn(&str) -> bool,
    into: &'a mut Vec<(String, Json)>,
    changed: &'a mut bool,
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
        let Self { wants, into, changed } = self;
        let (mut filled, before) = (0, into.len());
        loop {
            if filled == into.len() {
                into.push((String::new(), Json::Null));
            }
            let Some((name, value)) = into.get_mut(filled) else { break };
            match entries.next_key_seed(Key { wants, name, changed })? {
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
        *changed |= filled != before;
        into.truncate(filled);
        Ok(())
    }
}

/// A key: whether it is wanted, and if so its name.
struct Key<'a> {
    wants: fn(&str) -> bool,
    name: &'a mut String,
    changed: &'a mut bool,
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
            *self.changed = true;
        }
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_members_are_read_and_the_row_before_leaves_nothing() {
        let mut rows = Rows::of(|key| key != "b");
        for (line, row) in [
            (r#"{"a": 1, "b": {"c": [1]}, "d": "x"}"#, "{a=1,d=x}"),
            (r#"{"b": 2, "a": -nan}"#, "{a=-nan}"),
            ("{}", "{}"),
            (r#"{"\u0061": 1e400}"#, "{a=1e400}"),
        ] {
            assert_eq!(rows.read(line).unwrap().shown(), row, "{line}");
        }
    }

    #[test]
    fn what_is_cut_differs_from_what_is_wrong() {
        let mut rows = Rows::of(|_| true);
        for line in ["{\"a\": 1", "{\"a\": \"x", "{", ""] {
            assert_eq!(rows.read(line).unwrap_err(), Broken::Cut, "{line}");
        }
        for (line, word) in [
            ("{\"a\" 1}", "expected `:`"),
            ("{\"a\": 1} x", "trailing"),
            ("[1]", "an object"),
            ("{\"b\": [}", "expected"),
        ] {
            let Broken::Wrong(1, what) = rows.read(line).unwrap_err() else {
                panic!("{line}")
            };
            assert!(what.contains(word), "{line}: {what}");
        }
        assert!(rows.read("{\"a\": 2}").is_ok());
    }

    #[test]
    fn of_bytes_only_what_is_wanted_must_be_utf_8() {
        let mut rows = Rows::of(|key| key != "b");
        let line = |b: &[u8], a: &[u8]| [br#"{"b": ""#, b, br#"", "a": ["#, a, b"]}"].concat();
        for (line, row) in [
            (line(b"x", b"1"), "{a=[1]}"),
            (line(b"\xff\xfe", b"2"), "{a=[2]}"),
            (line(b"\xc3\xa4", b"NaN"), "{a=[NaN]}"),
        ] {
            assert_eq!(rows.read_bytes(&line).unwrap().shown(), row);
        }
        for wrong in [line(b"x", b"\"\xff\""), line(b"\xff", b"NaN"), b"\xff".to_vec()] {
            let Broken::Wrong(1, what) = rows.read_bytes(&wrong).unwrap_err() else {
                panic!("{wrong:?}")
            };
            assert_eq!(what, "it is not UTF-8");
        }
        assert_eq!(rows.read_bytes(b"{\"a\": 1").unwrap_err(), Broken::Cut);
    }

    #[test]
    fn other_keys_than_before_are_told() {
        let mut rows = Rows::of(|key| key != "b");
        for (line, changed) in [
            (r#"{"a": 1, "c": 2}"#, true),
            (r#"{"a": [2], "b": 1, "c": 3}"#, false),
            (r#"{"a": NaN, "c": 3}"#, false),
            (r#"{"a": 1}"#, true),
            (r#"{"a": 1}"#, false),
            (r#"{"a": 1, "": 2}"#, true),
            (r#"{"": 1, "a": 2}"#, true),
            ("{}", true),
            (r#"{"b": 1}"#, false),
        ] {
            rows.read(line).unwrap();
            assert_eq!(rows.keys_changed(), changed, "{line}");
        }
        rows.read(r#"{"a": 1, "c": 1, "c": 2}"#).unwrap();
        for line in [r#"{"a": 1, "c": 1, "c": 3}"#, r#"{"a": 1, "c": inf, "c": -inf}"#] {
            rows.read(line).unwrap();
            assert_eq!((rows.keys_changed(), rows.contradiction().as_deref()), (false, Some("c")), "{line}");
        }
    }

    #[test]
    fn keys_that_contradict_each_other_are_found() {
        let mut rows = Rows::of(|_| true);
        for (line, key) in [
            (r#"{"a": 1, "a": 2}"#, Some("a")),
            (r#"{"a": {"x": 1, "x": 2}}"#, Some("a.x")),
            (r#"{"a": 1, "a": 1}"#, None),
            (r#"{"a": 1, "b": [1]}"#, None),
            (r#"{"a": [[1, {"x": 1, "x": 2}]]}"#, Some("a.x")),
        ] {
            rows.read(line).unwrap();
            assert_eq!(rows.contradiction().as_deref(), key, "{line}");
        }
    }
}
