//! The ledger: an append-only file of sealed records, each chained to the one before it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::Value;

use super::files;
use crate::model::record::{Record, VERSION};
use crate::model::relabel::{self, Relabel};

/// Longest record that is read, in bytes.
const LINE_MAX_BYTES: u64 = 256 << 20;

/// Where a project's ledger is: the named file, else `GATE_LEDGER`, else `ledger.jsonl` in the state folder.
pub fn path(named: Option<&Path>, state_folder: &Path) -> PathBuf {
    let set = || std::env::var_os("GATE_LEDGER").filter(|value| !value.is_empty()).map(PathBuf::from);
    named
        .map(Path::to_owned)
        .or_else(set)
        .unwrap_or_else(|| state_folder.join("ledger.jsonl"))
}

/// One line of a ledger.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its number, from 1.
    pub number: usize,
    /// The JSON as it stands, for its seal.
    pub value: Value,
}

impl Line {
    /// The seal that the line carries.
    pub fn seal(&self) -> Option<&str> {
        self.value["seal"].as_str()
    }

    /// Whether it relabels a record instead of being one.
    pub fn is_relabel(&self) -> bool {
        self.value["kind"] == relabel::KIND
    }

    /// The relabel.
    ///
    /// # Errors
    /// When the line is none that this version reads.
    pub fn relabel(&self) -> Result<Relabel> {
        serde_json::from_value(self.value.clone()).with_context(|| format!("line {}: not a relabel", self.number))
    }

    /// The record.
    ///
    /// # Errors
    /// When the line is no record that this version reads.
    pub fn record(&self) -> Result<Record> {
        serde_json::from_value(self.value.clone()).with_context(|| format!("line {}: not a record", self.number))
    }
}

/// Refuses a ledger that a record could not be appended to, before anything is measured.
///
/// # Errors
/// When it cannot be written, is newer than this program, or ends in the middle of a line.
pub fn check(path: &Path) -> Result<()> {
    if !path
        .try_exists()
        .with_context(|| format!("cannot look at the ledger {}", path.display()))?
    {
        return files::check_writable(path).context("the ledger; --ledger names another");
    }
    let mut file = open(path)?;
    last_seal(&mut file, path).map(drop)
}

/// Seals a record onto the end of the ledger and syncs it; gives the record as it stands there.
///
/// # Errors
/// As [`check`]; the ledger is then as it was.
pub fn append(path: &Path, record: Record) -> Result<Record> {
    add(path, |prev| record.sealed(prev))
}

/// Seals a relabel onto the end of the ledger and syncs it; gives it as it stands there.
///
/// # Errors
/// As [`check`]; the ledger is then as it was.
pub fn relabel(path: &Path, relabel: Relabel) -> Result<Relabel> {
    add(path, |prev| relabel.sealed(prev))
}

/// Adds a line that is sealed with the seal of the one before it.
fn add<T>(path: &Path, sealed: impl FnOnce(Option<String>) -> serde_json::Result<(T, String)>) -> Result<T> {
    let mut file = open(path)?;
    file.lock().with_context(|| format!("cannot lock the ledger {}", path.display()))?;
    let prev = last_seal(&mut file, path)?;
    let (line, mut text) = sealed(prev)?;
    text.push('\n');
    let whole_bytes = file.metadata()?.len();
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
    if let Err(error) = written {
        drop(file.set_len(whole_bytes));
        return Err(error).with_context(|| format!("cannot write the ledger {}", path.display()));
    }
    Ok(line)
}

/// What relabelled records count for, by their seals; the last relabel of a record counts.
///
/// # Errors
/// When a line is a relabel that this version does not read.
pub fn relabels(lines: &[Line]) -> Result<HashMap<String, Relabel>> {
    let relabels = lines.iter().filter(|line| line.is_relabel());
    relabels
        .map(|line| line.relabel().map(|relabel| (relabel.of.clone(), relabel)))
        .collect()
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    options
        .open(path)
        .with_context(|| format!("cannot write the ledger {}", path.display()))
}

/// What of a line the next one rests on.
#[derive(Default, Deserialize)]
#[serde(default, expecting = "an object")]
struct Link {
    version: Value,
    seal: Value,
}

/// The seal of the last line; none where the ledger is empty.
fn last_seal(file: &mut File, path: &Path) -> Result<Option<String>> {
    let Some(text) = last_line(file, path)? else { return Ok(None) };
    let not = |what: &str| format!("{}: the last line is not {what}; `gate ledger verify` says more", path.display());
    let link: Link = serde_json::from_slice(&text).map_err(|error| {
        let what = if error.is_data() { "a record" } else { "JSON" };
        Error::new(error).context(not(what))
    })?;
    // An array would be read as the fields in their order.
    if !text.trim_ascii_start().starts_with(b"{") {
        bail!(not("a record"));
    }
    readable(&link.version).map_err(|why| anyhow!("{}: {why}", path.display()))?;
    let seal = link.seal.as_str();
    let seal = seal.ok_or_else(|| anyhow!("{}: the last line has no seal: not a ledger of gate", path.display()))?;
    Ok(Some(seal.to_owned()))
}

/// The last line without its end, read from the back.
fn last_line(file: &mut File, path: &Path) -> Result<Option<Vec<u8>>> {
    let bytes = file.metadata()?.len();
    if bytes == 0 {
        return Ok(None);
    }
    let mut tail_bytes = 1_u64 << 16;
    loop {
        let start = bytes.saturating_sub(tail_bytes);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        Read::by_ref(file).take(tail_bytes).read_to_end(&mut tail)?;
        if tail.pop() != Some(b'\n') {
            let whole_bytes = start + tail.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1);
            bail!("{}: {}", path.display(), cut_short(whole_bytes));
        }
        match tail.iter().rposition(|&byte| byte == b'\n') {
            Some(at) => return Ok(Some(tail.split_off(at + 1))),
            None if start == 0 => return Ok(Some(tail)),
            None if tail_bytes >= LINE_MAX_BYTES => bail!("{}: the last line is over {LINE_MAX_BYTES} bytes", path.display()),
            None => tail_bytes *= 4,
        }
    }
}

/// Whether this version may read a record, by its version alone.
fn readable(version: &Value) -> Result<(), String> {
    match version.as_u64() {
        Some(version) if version <= u64::from(VERSION) => Ok(()),
        Some(version) => Err(format!(
            "written in record format {version}, this gate knows {VERSION}: update gate"
        )),
        None => Err("a line has no record version: not a ledger of gate".to_owned()),
    }
}

/// The record of a finished session, where the ledger has it already.
///
/// # Errors
/// When the ledger cannot be read.
pub fn of_session(path: &Path, session: &str) -> Result<Option<Record>> {
    if !path.is_file() {
        return Ok(None);
    }
    let lines = read(path)?;
    let found = lines
        .iter()
        .rev()
        .find(|line| line.value["labels"]["session"] == session && line.value["cancelled"].is_null());
    found.map(Line::record).transpose()
}

/// The records of one gate, oldest first; none where there is no ledger.
///
/// # Errors
/// When the ledger cannot be read.
pub fn records_of_gate(path: &Path, gate: &str) -> Result<Vec<Record>> {
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let lines = read(path)?;
    lines
        .iter()
        .filter(|line| line.value["gate"]["name"] == gate)
        .map(Line::record)
        .collect()
}

/// Every line of a ledger, in order.
///
/// # Errors
/// When the file cannot be read, or a line is not JSON, too long, cut short, or newer than this program.
pub fn read(path: &Path) -> Result<Vec<Line>> {
    let file = File::open(path).with_context(|| format!("no ledger: cannot open {}", path.display()))?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut whole_bytes) = (Vec::new(), 0);
    loop {
        let number = lines.len() + 1;
        let at = || format!("{}:{number}", path.display());
        let mut text = Vec::new();
        let bytes = Read::by_ref(&mut reader).take(LINE_MAX_BYTES).read_until(b'\n', &mut text)? as u64;
        if bytes == 0 {
            return Ok(lines);
        }
        if text.pop() != Some(b'\n') {
            if bytes == LINE_MAX_BYTES {
                bail!("{}: the line is over {LINE_MAX_BYTES} bytes", at());
            }
            bail!("{}: {}", at(), cut_short(whole_bytes));
        }
        let value: Value = serde_json::from_slice(&text).map_err(|error| anyhow!("{}:{}: not JSON: {error}", at(), error.column()))?;
        readable(&value["version"]).map_err(|why| anyhow!("{}: {why}", at()))?;
        lines.push(Line { number, value });
        whole_bytes += bytes;
    }
}

/// What a last line without its end means, and what to do.
fn cut_short(whole_bytes: u64) -> String {
    format!("the last line is cut short; what comes before it is whole: `truncate -s {whole_bytes} FILE` takes it off")
}
