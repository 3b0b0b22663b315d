//! One item of a task, told by a digest: what pairs the answers of two models.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Hexadecimal digits of the digest that are kept: of two million items the chance that any two are taken for one is below 1 %.
const DIGITS: usize = 12;

/// The first digits of an item's digest; as text 12 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item(u64);

impl Item {
    /// An item by the first bytes of its digest.
    pub fn of(digest: &[u8]) -> Self {
        let first = digest.iter().take(DIGITS / 2);
        Self(first.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// An item by its digest in hexadecimal digits, of which there are enough.
    pub fn of_hex(digest: &str) -> Option<Self> {
        let first = digest.get(..DIGITS)?;
        // A sign is no digit.
        let all_digits = digest.bytes().fold(true, |all, byte| all & byte.is_ascii_hexdigit());
        all_digits.then(|| u64::from_str_radix(first, 16).ok().map(Self)).flatten()
    }

    /// Its text.
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
        let item = Self::of_hex(&text).filter(|_| text.len() == DIGITS);
        item.ok_or_else(|| D::Error::custom(format_args!("an item is {DIGITS} hexadecimal digits, not {text:?}")))
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
            ("9f2c41aa0011", "9f2c41aa0011"),
            ("000000000001", "000000000001"),
            ("FFFFFFFFFFFF00", "ffffffffffff"),
        ] {
            let item = Item::of_hex(digest).unwrap();
            assert_eq!(item.to_string(), text);
            assert_eq!(serde_json::to_string(&item).unwrap(), format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Item>(&format!("\"{text}\"")).unwrap(), item);
        }
        assert_eq!(
            Item::of(&[0x9f, 0x2c, 0x41, 0xaa, 0, 0x11, 0xff]),
            Item::of_hex("9f2c41aa0011").unwrap()
        );
        for digest in ["", "9f2c41aa001", "+f2c41aa0011", "9f2c41aa0011-", "9f2c41aa001é"] {
            assert_eq!(Item::of_hex(digest), None, "{digest}");
        }
        for text in ["\"9f2c41aa001\"", "\"9f2c41aa00112\"", "\"x\"", "1"] {
            assert!(serde_json::from_str::<Item>(text).is_err(), "{text}");
        }
    }
}
