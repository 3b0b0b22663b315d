//! Canonical JSON: compact, keys sorted by their bytes, numbers in their shortest exact form. Here it is written at once from what is
//! serialised; `serde_json` keeps the keys of its own trees sorted, so that their compact form is the same text.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use serde_json::{Error, Result, Serializer};

/// The canonical text of a value.
#[derive(Debug)]
pub struct Canonical {
    text: String,
    /// Where the members of the outermost object stand in it.
    members: Vec<Member>,
}

impl Canonical {
    /// Writes a value. A key that stands twice in an object counts where it stands last, as in a tree of `serde_json`.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let mut written = Written::default();
        value.serialize(&mut Serializer::with_formatter(io::sink(), Sorted(&mut written)))?;
        Ok(Self {
            text: String::from_utf8(written.out).map_err(Error::custom)?,
            members: written.outermost,
        })
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The texts before and after a member of the outermost object, which together are the text without it.
    pub fn around(&self, key: &str) -> (&str, &str) {
        let Some(at) = self.position(key) else { return (&self.text, "") };
        let comma = usize::from(self.members.len() > 1);
        let Range { start, end } = self.members[at].whole();
        let (start, end) = if at == 0 { (start, end + comma) } else { (start - comma, end) };
        (&self.text[..start], &self.text[end..])
    }

    /// The text with another string as a member of the outermost object.
    pub fn with(mut self, key: &str, value: &str) -> Option<String> {
        let member = &self.members[self.position(key)?];
        let after_colon = member.key.end + 1;
        self.text
            .replace_range(after_colon..member.end, &serde_json::Value::from(value).to_string());
        Some(self.text)
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.members
            .iter()
            .position(|member| *member.key(self.text.as_bytes()) == *key.as_bytes())
    }
}

/// Where a member of an object stands: its key with its quotes, and the end of its value.
#[derive(Debug, Clone)]
struct Member {
    key: Range<usize>,
    end: usize,
    /// Whether the key does not stand as it is.
    is_escaped: bool,
}

impl Member {
    fn whole(&self) -> Range<usize> {
        self.key.start..self.end
    }

    /// What the key says.
    fn key<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let quoted = &text[self.key.clone()];
        let said = || serde_json::from_slice::<String>(quoted).ok();
        match self.is_escaped.then(said).flatten() {
            Some(said) => Cow::Owned(said.into_bytes()),
            None => Cow::Borrowed(&quoted[1..quoted.len() - 1]),
        }
    }
}

/// What is written so far.
#[derive(Debug, Default)]
struct Written {
    out: Vec<u8>,
    /// The members of all objects that are open.
    members: Vec<Member>,
    /// How many of them are of the objects around each open one.
    outer: Vec<usize>,
    /// The members of an object in their order, while it closes.
    sorted: Vec<u8>,
    outermost: Vec<Member>,
}

impl Written {
    fn close_object(&mut self) {
        let first = self.outer.pop().unwrap_or_default();
        let out = &self.out;
        let own = &mut self.members[first..];
        if !own.is_sorted_by(|one, next| one.key(out) < next.key(out)) {
            // Stable, so that of equal keys the last one stays last.
            own.sort_by(|one, other| one.key(out).cmp(&other.key(out)));
            self.sort(first);
        }
        self.out.push(b'}');
        if self.outer.is_empty() {
            self.outermost = self.members.split_off(first);
        } else {
            self.members.truncate(first);
        }
    }

    /// Writes the members of the last object again, in the order that they have now; of equal keys the last one alone.
    fn sort(&mut self, first: usize) {
        let Self { out, members, sorted, .. } = self;
        let own = &mut members[first..];
        let start = own.iter().map(|member| member.key.start).min().unwrap_or(out.len());
        sorted.clear();
        let mut kept = 0;
        for at in 0..own.len() {
            let member = own[at].clone();
            if own.get(at + 1).is_some_and(|next| next.key(out) == member.key(out)) {
                continue;
            }
            if kept > 0 {
                sorted.push(b',');
            }
            let moved = start + sorted.len();
            sorted.extend_from_slice(&out[member.whole()]);
            own[kept] = Member {
                key: moved..moved + member.key.len(),
                end: start + sorted.len(),
                ..member
            };
            kept += 1;
        }
        members.truncate(first + kept);
        out.truncate(start);
        out.append(sorted);
    }
}

/// Writes to its own text, whatever the serialiser writes to.
struct Sorted<'a>(&'a mut Written);

/// Methods that write as the compact form does.
macro_rules! compact {
    ($($name:ident($($value:ident: $type:ty)?);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, _: &mut W $(, $value: $type)?) -> io::Result<()> {
            CompactFormatter.$name(&mut self.0.out $(, $value)?)
        })*
    };
}

impl Formatter for Sorted<'_> {
    compact! {
        write_null();
        write_bool(value: bool);
        write_i8(value: i8);
        write_i16(value: i16);
        write_i32(value: i32);
        write_i64(value: i64);
        write_i128(value: i128);
        write_u8(value: u8);
        write_u16(value: u16);
        write_u32(value: u32);
        write_u64(value: u64);
        write_u128(value: u128);
        write_f64(value: f64);
        write_number_str(value: &str);
        begin_string();
        end_string();
        write_string_fragment(fragment: &str);
        write_char_escape(escape: CharEscape);
        write_byte_array(bytes: &[u8]);
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object_value();
        write_raw_fragment(fragment: &str);
    }

    /// Trees have no smaller numbers.
    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, f64::from(value))
    }

    fn begin_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.outer.push(self.0.members.len());
        self.0.out.push(b'{');
        Ok(())
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        if !first {
            self.0.out.push(b',');
        }
        let at = self.0.out.len();
        self.0.members.push(Member {
            key: at..at,
            end: at,
            is_escaped: false,
        });
        Ok(())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        let Written { out, members, .. } = &mut *self.0;
        if let Some(member) = members.last_mut() {
            member.key.end = out.len();
            member.is_escaped = out[member.key.clone()].contains(&b'\\');
        }
        Ok(())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        let end = self.0.out.len();
        if let Some(member) = self.0.members.last_mut() {
            member.end = end;
        }
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.0.close_object();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Value, json};

    use super::*;

    fn text(value: &impl Serialize) -> String {
        Canonical::of(value).unwrap().into_text()
    }

    #[derive(Serialize)]
    struct Inner {
        zeta: f32,
        alpha: Option<u8>,
        list: Vec<(i64, f64)>,
    }

    #[derive(Serialize)]
    enum Kind {
        Unit,
        New(Box<Kind>),
        Tuple(u8, char),
        Struct { z: bool, a: &'static str },
    }

    #[derive(Serialize)]
    struct Outer {
        #[serde(flatten)]
        more: Inner,
        kinds: Vec<Kind>,
        by_number: HashMap<i32, f64>,
        texts: HashMap<&'static str, ()>,
        alpha: &'static str,
        nothing: HashMap<String, String>,
    }

    #[test]
    fn it_is_the_compact_form_of_a_tree() {
        let outer = Outer {
            more: Inner {
                zeta: 0.1,
                alpha: Some(3),
                list: vec![(i64::MIN, 1e300), (0, -0.0), (1, f64::NAN)],
            },
            kinds: vec![
                Kind::Unit,
                Kind::New(Box::new(Kind::Tuple(1, '\u{1f600}'))),
                Kind::Struct { z: true, a: "\u{7f}\"" },
            ],
            by_number: [(10, 1.0), (9, f64::INFINITY), (-1, 1e16)].into(),
            texts: ["b", "a\nb", "a\u{b}", "a\\", "a\"", "a", "", "é", "z", "\u{10ffff}", "\u{e000}"]
                .map(|key| (key, ()))
                .into(),
            alpha: "stands twice: the one that comes last counts",
            nothing: HashMap::new(),
        };
        let tree = serde_json::to_value(&outer).unwrap();
        assert_eq!(tree["alpha"], json!(outer.alpha));
        assert_eq!(text(&outer), tree.to_string());
        assert_eq!(text(&tree), tree.to_string());
        for plain in [
            json!(null),
            json!([]),
            json!({}),
            json!([{}, {"b": {"d": 1, "c": []}, "a": 2}]),
            json!("x"),
        ] {
            assert_eq!(text(&plain), plain.to_string());
        }
    }

    /// Objects in objects, with keys of which some stand twice and some need escapes, written in the order of the list.
    struct Made(Vec<(String, Made)>);

    impl Made {
        fn next(seed: &mut u64, most: u64) -> u64 {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % most
        }

        fn of(seed: &mut u64, depth: u64) -> Self {
            let members = if depth == 0 { 0 } else { Self::next(seed, 6) };
            let letters = ["a", "b", "\n", "\\", "\"", "ü", "~", "\u{1}"];
            let key = |seed: &mut u64| -> String {
                let letters = (0..Self::next(seed, 3)).map(|_| letters[Self::next(seed, 8) as usize]);
                letters.collect()
            };
            Self((0..members).map(|_| (key(seed), Self::of(seed, depth - 1))).collect())
        }
    }

    impl Serialize for Made {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
        }
    }

    #[test]
    fn it_is_so_for_many_objects() {
        let mut seed = 7;
        let mut longest = 0;
        for _ in 0..5000 {
            let made = Made::of(&mut seed, 4);
            let expected = serde_json::to_value(&made).unwrap().to_string();
            longest = longest.max(expected.len());
            assert_eq!(text(&made), expected);
        }
        assert!(longest > 300, "only {longest} bytes");
    }

    #[test]
    fn a_member_is_cut_out_and_set() {
        for (written, without, with) in [
            (
                json!({"a": 1, "seal": "", "z": 2}),
                r#"{"a":1,"z":2}"#,
                r#"{"a":1,"seal":"x\"","z":2}"#,
            ),
            (json!({"seal": "", "z": 2}), r#"{"z":2}"#, r#"{"seal":"x\"","z":2}"#),
            (
                json!({"a": {"seal": 1}, "seal": 7}),
                r#"{"a":{"seal":1}}"#,
                r#"{"a":{"seal":1},"seal":"x\""}"#,
            ),
            (json!({"seal": {"a": 1}}), "{}", r#"{"seal":"x\""}"#),
        ] {
            let canonical = Canonical::of(&written).unwrap();
            let (before, after) = canonical.around("seal");
            assert_eq!(format!("{before}{after}"), without);
            assert_eq!(canonical.with("seal", "x\"").unwrap(), with);
        }
        let without = Canonical::of(&json!({"a": 1})).unwrap();
        assert_eq!(without.around("seal"), (r#"{"a":1}"#, ""));
        assert_eq!(without.with("seal", ""), None);
        #[derive(Serialize)]
        struct Unsorted {
            seal: Value,
            b: u8,
            a: u8,
        }
        let canonical = Canonical::of(&Unsorted {
            seal: Value::Null,
            b: 1,
            a: 2,
        })
        .unwrap();
        assert_eq!(canonical.around("seal"), (r#"{"a":2,"b":1"#, "}"));
        assert_eq!(canonical.with("seal", "s").unwrap(), r#"{"a":2,"b":1,"seal":"s"}"#);
    }
}
