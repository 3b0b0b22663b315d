//! One item of a task, told by a digest: what pairs the answers of two models.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::text::plain_line;

/// Hexadecimal digits of the digest that are kept: of two million items the chance that any two are taken for one is below 1 %.
const DIGITS: usize = 12;
/// Longest text that a message quotes, in characters.
const QUOTE_MAX_CHARS: usize = 80;

/// The first digits of an item's digest; as text 12 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item(u64);

impl Item {
    /// An item by the first bytes of its digest.
    pub fn of(digest: &[u8]) -> Self {
        let first = digest.iter().take(DIGITS / 2);
        Self(first.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// An item by its text.
    fn parse(text: &str) -> Option<Self> {
        // As it is written: neither a sign nor a capital letter.
        let is_one = text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_one.then(|| u64::from_str_radix(text, 16).ok().map(Self)).flatten()
    }

    fn digits(self) -> [u8; DIGITS] {
        let mut rest = self.0;
        let mut digits = [0; DIGITS];
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
        digits
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Item({self})")
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Without the machinery of formatting: a record holds very many.
        let digits = self.digits();
        serializer.serialize_str(str::from_utf8(&digits).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let seen = plain_line(&text, QUOTE_MAX_CHARS);
            D::Error::custom(format_args!("an item is {DIGITS} small hexadecimal digits, not {seen:?}"))
        })
    }
}

impl JsonSchema for Item {
    fn schema_name() -> Cow<'static, str> {
        "Item".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "the first digits of an item's digest",
            "pattern": format!("^[0-9a-f]{{{DIGITS}}}$"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_text_is_twelve_digits() {
        for (digest, text) in [
            ([0x9f, 0x2c, 0x41, 0xaa, 0, 0x11, 0xff].as_slice(), "9f2c41aa0011"),
            (&[0, 0, 0, 0, 0, 1], "000000000001"),
            (&[0xff; 32], "ffffffffffff"),
        ] {
            let item = Item::of(digest);
            assert_eq!(item.to_string(), text);
            assert_eq!(serde_json::to_string(&item).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Item>(&format!("\"{text}\"")).unwrap(), item);
        }
        for text in [
            "\"9f2c41aa001\"",
            "\"9f2c41aa00112\"",
            "\"+f2c41aa0011\"",
            "\"9F2c41aa0011\"",
            "\"9f2c41aa001é\"",
            "\"\"",
            "1",
        ] {
            assert!(serde_json::from_str::<Item>(text).is_err(), "{text}");
        }
    }
}
