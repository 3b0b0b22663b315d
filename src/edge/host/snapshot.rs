//! A machine in one JSON file: for every path its text, its bytes, or the failure to read it.
//!
//! `{"kind": "gate-host-snapshot/1", "host": NAME, "base": NAME or null, "files": {PATH: {"t": TEXT} | {"b64": BYTES} | {"errno": NAME}},
//! "absent": [PATH]}`. With a base, the file `BASE.snapshot.json` beside it is read first, and this one says what differs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::edge::files;
use crate::model::host::seen::{Seen, Unseen};

/// The word that begins every snapshot's kind.
const KIND: &str = "gate-host-snapshot/1";
/// Largest snapshot.
const SNAPSHOT_MAX_BYTES: u64 = 64 << 20;
/// Most snapshots that stand on each other.
const BASES_MAX: usize = 4;
/// The alphabet of base 64.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a path holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// Text.
    #[serde(rename = "t")]
    Text(String),
    /// Bytes that are no text, in base 64.
    #[serde(rename = "b64")]
    Bytes(String),
    /// The name of the failure.
    #[serde(rename = "errno")]
    Errno(String),
}

impl Entry {
    /// What was read.
    pub fn of(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(encode(error.as_bytes())), Self::Text)
    }

    /// What it holds.
    pub fn bytes(&self, path: &str) -> Seen<Vec<u8>> {
        match self {
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Bytes(text) => decode(text).ok_or_else(|| Unseen::malformed(path)),
            Self::Errno(name) => Err(Unseen::of_errno(name, path)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    host: String,
    base: Option<String>,
    files: BTreeMap<String, Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    absent: Vec<String>,
}

/// Opens a snapshot with what it stands on, or a folder that holds a machine's files.
///
/// # Errors
/// When it cannot be read, or is no snapshot.
pub fn open(path: &Path) -> Result<Source> {
    if files::is_folder(path) {
        return Ok(Source::folder(path));
    }
    load(path, BASES_MAX).map(Source::snapshot)
}

fn load(path: &Path, bases: usize) -> Result<BTreeMap<String, Entry>> {
    let text = files::read_declared(path, SNAPSHOT_MAX_BYTES)?;
    let document: Document = serde_json::from_str(&text)
        .with_context(|| format!("{}: is no snapshot of a host; `gate host capture` writes one", path.display()))?;
    ensure!(
        document.kind == KIND,
        "{}: is of the kind {:?}, this version reads {KIND:?}",
        path.display(),
        document.kind
    );
    let mut all = match &document.base {
        None => BTreeMap::new(),
        Some(_) if bases == 0 => bail!("{}: stands on more than {BASES_MAX} others", path.display()),
        Some(base) => {
            ensure!(
                !base.contains('/') && !base.starts_with('.'),
                "{}: {base:?} is no name of a snapshot beside it",
                path.display()
            );
            load(&path.with_file_name(format!("{base}.snapshot.json")), bases - 1)?
        }
    };
    for path in document.absent {
        all.remove(&path);
    }
    all.extend(document.files);
    Ok(all)
}

/// The text of a snapshot.
pub(super) fn write(host: &str, entries: BTreeMap<String, Entry>) -> serde_json::Result<String> {
    let document = Document {
        kind: KIND.to_owned(),
        label: Some("CAPTURED".to_owned()),
        host: host.to_owned(),
        base: None,
        files: entries,
        absent: Vec::new(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn encode(bytes: &[u8]) -> String {
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let at = |n: usize| chunk.get(n).copied().unwrap_or(0);
        let word = u32::from_be_bytes([0, at(0), at(1), at(2)]);
        (0..4).map(move |n| {
            if n > chunk.len() {
                '='
            } else {
                char::from(DIGITS[(word >> (18 - 6 * n) & 63) as usize])
            }
        })
    });
    digits.collect()
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    (text.len().is_multiple_of(4) && text.len() - digits.len() <= 2).then_some(())?;
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for n in 0..4 {
            let value = match chunk.get(n) {
                Some(byte) => DIGITS.iter().position(|digit| digit == byte)?,
                None => 0,
            };
            word = word << 6 | value as u32;
        }
        bytes.extend_from_slice(word.to_be_bytes().get(1..chunk.len())?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_base_64() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (&[0xff, 0xfe, 0xfd, 0xfc], "//79/A=="),
        ] {
            assert_eq!((encode(bytes).as_str(), decode(text).as_deref()), (text, Some(bytes)));
        }
        for wrong in ["Z", "Zg=", "Z===", "Zg==Zg==", "Z!=="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
