//! Foreign bytes as text, and what they are instead where they are none.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::log::{self, Documents};
use crate::model::report::Refused;
use crate::model::text::{plain, plain_line};

/// Longest piece of foreign text that a message quotes, in characters.
const QUOTE_MAX_CHARS: usize = 80;
/// What a crash leaves in a log; the line that has one is quoted.
const CRASH_WORDS: [&str; 11] = [
    "DeviceLost",
    "out of memory",
    "OutOfMemory",
    "Segmentation fault",
    "core dumped",
    "Traceback",
    "panicked",
    "terminate called",
    "failed to ",
    "failed (",
    "rror:",
];

/// The output of one tool: its bytes as text without terminal control, and, once asked for, its JSON.
#[derive(Debug)]
pub struct Input {
    text: String,
    /// Why this is no document, whatever the format.
    trouble: Option<String>,
    /// Whether a cut last line is accepted.
    partial: bool,
    /// Failed requests that a tool may report, in percent.
    max_failed_pct: f64,
    json: OnceCell<Result<Option<Documents>, Refused>>,
}

impl Input {
    /// Decodes bytes: UTF-8 with or without a byte order mark, UTF-16 with one. Never fails: [`Input::document`] says what is wrong.
    pub fn of(bytes: &[u8]) -> Self {
        let decoded = decoded(bytes);
        Self {
            trouble: trouble(bytes, &decoded),
            text: plain(&decoded),
            partial: false,
            max_failed_pct: 0.0,
            json: OnceCell::new(),
        }
    }

    /// Accepts an output that ends too early, in the middle of its last line or before its last word: what is missing is left out and told.
    pub fn partial(self, partial: bool) -> Self {
        Self { partial, ..self }
    }

    /// Accepts a run in which at most this share of the requests failed, in percent.
    pub fn max_failed(self, max_failed_pct: f64) -> Self {
        Self { max_failed_pct, ..self }
    }

    /// The share of failed requests that is accepted, in percent.
    pub fn max_failed_pct(&self) -> f64 {
        self.max_failed_pct
    }

    /// Whether an output that ends too early is accepted as far as it goes.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// The text, whatever it is.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a document.
    ///
    /// # Errors
    /// When it is empty, binary, a web page, a pointer to a file elsewhere, or compressed.
    pub fn document(&self) -> Result<&str, Refused> {
        match &self.trouble {
            Some(why) => Err(Refused(why.clone())),
            None => Ok(&self.text),
        }
    }

    /// The JSON of the document; none where it holds none. Keys that stand twice with differing values are refused.
    ///
    /// # Errors
    /// When it is no document, or its JSON is truncated, broken or contradicts itself.
    pub fn json(&self) -> Result<Option<&Documents>, Refused> {
        let text = self.document()?;
        let found = self.json.get_or_init(|| log::documents(text));
        let documents = match found {
            Ok(None) => return Ok(None),
            Ok(Some(documents)) => documents,
            Err(refused) => return Err(refused.clone()),
        };
        if documents.cut && !self.partial {
            return Err(cut_last_line());
        }
        let after = text.get(documents.end..).unwrap_or_default();
        match crash_line(after).filter(|_| !documents.cut && !self.partial) {
            Some(line) => Err(crashed_after(&line)),
            None => Ok(Some(documents)),
        }
    }

    /// What a report says of how its JSON was found.
    ///
    /// # Errors
    /// When a key stands twice with differing values.
    pub fn json_notes(documents: &Documents) -> Result<Vec<String>, Refused> {
        let mut notes = documents.notes();
        for value in &documents.values {
            let (equal, differing) = value.duplicates();
            if !differing.is_empty() {
                return Err(Refused(format!(
                    "keys that stand twice with different values: {}; which one counts cannot be told",
                    plain_line(&differing.join(", "), QUOTE_MAX_CHARS)
                )));
            }
            if !equal.is_empty() {
                notes.push(format!("keys that stand twice: {}", plain_line(&equal.join(", "), QUOTE_MAX_CHARS)));
            }
        }
        Ok(notes)
    }

    /// Why there is nothing to read, with the line of a log that looks like the reason.
    pub fn nothing(&self, what: &str) -> Refused {
        let is_log = matches!(self.json(), Ok(None));
        Refused(match crash_line(&self.text).filter(|_| is_log) {
            Some(line) => format!("{what}; looks like a crash: {line:?}"),
            None => what.to_owned(),
        })
    }
}

/// Why lines are refused of which the last one is cut.
pub fn cut_last_line() -> Refused {
    Refused("the last line ends in the middle: the run that wrote it was killed; --partial reads the lines before it".to_owned())
}

/// Why results are refused that a crash follows.
fn crashed_after(line: &str) -> Refused {
    Refused(format!(
        "the log goes on after the results and looks like a crash: {line:?}; --partial reads the results before it"
    ))
}

/// The first line that looks like a crash, short enough to quote.
fn crash_line(text: &str) -> Option<String> {
    let crash = text.lines().find(|line| CRASH_WORDS.iter().any(|word| line.contains(word)));
    crash.map(|line| plain_line(line.trim(), QUOTE_MAX_CHARS))
}

/// UTF-16 as UTF-8; anything else as it is.
fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(bytes),
    };
    let (pairs, _) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().skip(1).map(|pair| unit(*pair)).collect();
    Cow::Owned(String::from_utf16_lossy(&units).into_bytes())
}

/// Why bytes are no document, whatever the format; none where they may be one.
fn trouble(bytes: &[u8], decoded: &[u8]) -> Option<String> {
    let text = decoded.strip_prefix(b"\xef\xbb\xbf").unwrap_or(decoded).trim_ascii();
    let begins = |with: &[u8]| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let why = if bytes.starts_with(b"\x1f\x8b") {
        "is compressed with gzip: unpack it first"
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        "is compressed with zstd: unpack it first"
    } else if bytes.is_empty() {
        "is empty: the tool wrote nothing"
    } else if text.is_empty() {
        "holds only blanks: the tool wrote nothing"
    } else if begins(b"version https://git-lfs.github.com/spec/") {
        "is a Git LFS pointer, not the file itself: fetch it with git lfs pull"
    } else if begins(b"<!doctype html") || begins(b"<html") {
        "is a web page, not a result: was it downloaded from a page that shows the file?"
    } else if text.contains(&0) {
        "holds NUL bytes: it is binary, damaged, or UTF-16 without its mark"
    } else {
        return None;
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_first() {
        let utf16 = |bytes: fn(u16) -> [u8; 2]| "\u{feff}{\"a\": 1}\r\n".encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        for bytes in [
            b"{\"a\": 1}\n".to_vec(),
            b"\xef\xbb\xbf{\"a\": 1}\r\n".to_vec(),
            b"\x1b[32m{\"a\": 1}\x1b[0m".to_vec(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
        ] {
            let input = Input::of(&bytes);
            let documents = input.json().unwrap().unwrap();
            assert_eq!(
                documents.values[0].get("a").and_then(super::super::Json::count),
                Some(1),
                "{bytes:?}"
            );
            assert!(documents.notes().is_empty(), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_document_has_its_own_words() {
        let mut sentences = Vec::new();
        for (bytes, word) in [
            (&b""[..], "empty"),
            (b" \n\t", "blanks"),
            (b"\x1f\x8b\x08\x00", "gzip"),
            (b"\x28\xb5\x2f\xfd\x04", "zstd"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
            (b"<!DOCTYPE html><p>", "web page"),
            (b"{\0\"\0a\0", "NUL"),
        ] {
            let Refused(why) = Input::of(bytes).document().unwrap_err();
            assert!(why.contains(word), "{word}: {why}");
            sentences.push(why);
        }
        let all = sentences.len();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), all);
    }

    #[test]
    fn a_crash_is_quoted() {
        let input = Input::of(b"init\nterminate called after throwing 'vk::DeviceLostError'\n");
        assert!(
            input
                .nothing("no rows")
                .0
                .ends_with("looks like a crash: \"terminate called after throwing 'vk::DeviceLostError'\"")
        );
        assert_eq!(Input::of(b"init").nothing("no rows").0, "no rows");
    }
}
