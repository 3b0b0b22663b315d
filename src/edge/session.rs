//! Session files: one line a fact, each synced before the next process starts, so that a killed run can go on.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::{Deserialize, Serialize};

use super::clock::Stopwatch;
use super::files;
use crate::model::evidence::WarmUp;
use crate::model::gate::Gate;
use crate::model::host::{Finding, Host};
use crate::model::identity::Identity;
use crate::model::plan::Plan;
use crate::model::record::{Context, Record};
use crate::model::sample::Sample;

/// The session format's version.
pub const VERSION: u32 = 1;
/// How many session files are looked through for an unfinished one.
const LOOK_THROUGH_MAX: usize = 200;
/// Longest first line that is looked at there, in bytes.
const FIRST_LINE_MAX_BYTES: u64 = 16 << 20;
/// How much of a file is read at once from the back.
const CHUNK_BYTES: usize = 64 << 10;

/// What is known before the first process runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The session format's version.
    pub version: u32,
    /// The session's name: its file's, without the ending.
    pub id: String,
    /// When the plan was written, RFC 3339, UTC.
    pub at: String,
    /// What was declared.
    pub gate: Gate,
    /// The plan before its cap is known.
    pub plan: Plan,
    /// What is to be measured on what.
    pub identity: Identity,
    /// How fit the machine was.
    pub host: Host,
    /// What surrounds it.
    pub context: Context,
    /// What the record will be labelled with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The ledger that the record will be appended to: an absolute path.
    pub ledger: PathBuf,
}

/// One line of a session file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Session(Box<Header>),
    Sample(Box<Sample>),
    /// How the clocks were brought up.
    Warmup(Box<WarmUp>),
    /// What a check found otherwise than before.
    Finding(Box<Finding>),
    /// The plan with its cap and digest: written after the warm-up, before slot 0.
    Plan(Box<Plan>),
    Record(Box<Record>),
}

/// An open session: what was measured so far, and where the next line goes.
#[derive(Debug)]
pub struct Session {
    /// What was known before the first process.
    pub header: Header,
    /// How the clocks were brought up so far.
    pub warmups: Vec<WarmUp>,
    /// Every sample so far.
    pub samples: Vec<Sample>,
    /// The complete plan, once the warm-up is over.
    pub plan: Option<Plan>,
    /// The record, once the session is finished.
    pub record: Option<Record>,
    /// Whether an earlier run began it.
    pub resumed: bool,
    /// Seconds spent on writing and syncing lines.
    pub sync_s: f64,
    file: File,
    /// The last line, whose memory the next one uses again.
    line: Vec<u8>,
    /// The length of the file.
    whole_bytes: u64,
    path: PathBuf,
}

impl Session {
    /// Starts a session file.
    ///
    /// # Errors
    /// When the file cannot be made, or exists.
    pub fn create(folder: &Path, header: Header) -> Result<Self> {
        let path = folder.join(format!("{}.jsonl", header.id));
        let failed = || format!("cannot write the session file {}", path.display());
        let file = OpenOptions::new()
            .append(true)
            .read(true)
            .create_new(true)
            .open(&path)
            .with_context(failed)?;
        lock(&file, &path)?;
        let mut session = Self {
            header,
            warmups: Vec::new(),
            samples: Vec::new(),
            plan: None,
            record: None,
            resumed: false,
            sync_s: 0.0,
            file,
            line: Vec::new(),
            whole_bytes: 0,
            path,
        };
        let header = session.header.clone();
        let written = session.append("session", &header).and_then(|()| {
            let watch = Stopwatch::start();
            let synced = files::sync_folder(folder);
            session.sync_s += watch.elapsed_s();
            synced
        });
        if written.is_err() {
            // A session that could not be begun is none to go on with.
            drop(fs::remove_file(&session.path));
        }
        written.map(|()| session)
    }

    /// Opens a session file to go on with it. A last line that was cut short by a kill is taken off: its process is run again.
    ///
    /// # Errors
    /// When the session does not exist, is still running, is damaged, or was written by a newer version.
    pub fn open(folder: &Path, id: &str) -> Result<Self> {
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            bail!("{id:?} is no session's name; `ls {}` lists them", folder.display());
        }
        let path = folder.join(format!("{id}.jsonl"));
        let opened = OpenOptions::new().append(true).read(true).open(&path);
        let file = opened.with_context(|| format!("no session {id}: cannot open {}", path.display()))?;
        lock(&file, &path)?;
        let (lines, whole_bytes) = read_lines(&file, &path)?;
        file.set_len(whole_bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
        let mut lines = lines.into_iter();
        let Some(Line::Session(header)) = lines.next() else {
            bail!(
                "{}:1: the first line is no session: the file is damaged; measure anew",
                path.display()
            );
        };
        let mut session = Self {
            header: *header,
            warmups: Vec::new(),
            samples: Vec::new(),
            plan: None,
            record: None,
            resumed: true,
            sync_s: 0.0,
            file,
            line: Vec::new(),
            whole_bytes,
            path,
        };
        for (number, line) in (2..).zip(lines) {
            session
                .take(line)
                .with_context(|| format!("{}:{number}: the file is damaged; measure anew", session.path.display()))?;
        }
        Ok(session)
    }

    fn take(&mut self, line: Line) -> Result<()> {
        match line {
            Line::Sample(sample) if sample.seq as usize != self.samples.len() || self.record.is_some() => {
                bail!("sample {} stands where sample {} is due", sample.seq, self.samples.len())
            }
            Line::Sample(sample) if !sample.warmup && self.plan.is_none() => bail!("sample {} stands before the complete plan", sample.seq),
            Line::Sample(sample) => self.samples.push(*sample),
            Line::Warmup(warmup) => self.warmups.push(*warmup),
            Line::Finding(finding) => self.header.host.findings.push(*finding),
            Line::Plan(plan) if self.plan.is_none() => self.plan = Some(*plan),
            Line::Record(record) if self.record.is_none() => self.record = Some(*record),
            Line::Session(_) | Line::Plan(_) | Line::Record(_) => bail!("a second line of a kind that stands once"),
        }
        Ok(())
    }

    /// Appends a sample and syncs it.
    ///
    /// # Errors
    /// When it cannot be written; the file then ends with the last whole line.
    pub fn add_sample(&mut self, sample: &Sample) -> Result<()> {
        self.append("sample", sample)
    }

    /// Appends how the clocks were brought up, and syncs it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_warmup(&mut self, warmup: &WarmUp) -> Result<()> {
        self.append("warmup", warmup)
    }

    /// Appends what a check found otherwise than before, and syncs it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_finding(&mut self, finding: &Finding) -> Result<()> {
        self.append("finding", finding)
    }

    /// Appends the complete plan and syncs it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn complete(&mut self, plan: Plan) -> Result<()> {
        self.append("plan", &plan)?;
        self.plan = Some(plan);
        Ok(())
    }

    /// Appends the record: the session is finished.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self, record: &Record) -> Result<()> {
        self.append("record", record)
    }

    /// Appends a line of one kind, as [`Line`] has it.
    fn append(&mut self, kind: &str, fact: &impl Serialize) -> Result<()> {
        let failed = || format!("cannot write the session file {}", self.path.display());
        let text = &mut self.line;
        text.clear();
        write!(text, "{{\"{kind}\":")?;
        serde_json::to_writer(&mut *text, fact)?;
        text.extend_from_slice(b"}\n");
        let watch = Stopwatch::start();
        let written = self.file.write_all(text).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A full disk must not leave half a line behind.
            drop(self.file.set_len(self.whole_bytes));
            return Err(error).with_context(failed);
        }
        self.whole_bytes += text.len() as u64;
        self.sync_s += watch.elapsed_s();
        Ok(())
    }
}

/// The lines of a session file, and how many bytes they take; a last line without its end is left out.
fn read_lines(mut file: &File, path: &Path) -> Result<(Vec<Line>, u64)> {
    file.seek(SeekFrom::Start(0))
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut whole_bytes) = (Vec::new(), 0);
    loop {
        let mut text = Vec::new();
        let bytes = reader
            .read_until(b'\n', &mut text)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if text.last() != Some(&b'\n') {
            return Ok((lines, whole_bytes));
        }
        let number = lines.len() + 1;
        newer(&text).map_err(|version| anyhow!("{}: written by session format {version}, this gate reads {VERSION}", path.display()))?;
        let line = serde_json::from_slice(&text).map_err(|error| {
            anyhow!(
                "{}:{number}:{}: {error}: the file is damaged; measure anew",
                path.display(),
                error.column()
            )
        })?;
        lines.push(line);
        whole_bytes += bytes as u64;
    }
}

/// The version of a header line that is newer than this program.
fn newer(text: &[u8]) -> Result<(), u64> {
    if !text.starts_with(b"{\"session\"") {
        return Ok(());
    }
    let value: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    match value["session"]["version"].as_u64() {
        Some(version) if version > u64::from(VERSION) => Err(version),
        _ => Ok(()),
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => bail!("{}: the session is still running", path.display()),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// The name of the gate that a session measures; none where the file cannot be read.
pub fn gate_of(folder: &Path, id: &str) -> Option<String> {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return None;
    }
    let mut first = String::new();
    BufReader::new(File::open(folder.join(format!("{id}.jsonl"))).ok()?)
        .read_line(&mut first)
        .ok()?;
    let value: serde_json::Value = serde_json::from_str(&first).ok()?;
    value["session"]["gate"]["name"].as_str().map(str::to_owned)
}

/// The newest unfinished session whose first line satisfies a condition, among the newest files; one that still runs is none.
pub fn unfinished(folder: &Path, same: impl Fn(&Header) -> bool) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?;
    let mut ids: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    ids.sort_unstable();
    ids.into_iter().rev().take(LOOK_THROUGH_MAX).find(|id| {
        let path = folder.join(format!("{id}.jsonl"));
        let Ok(file) = File::open(&path) else { return false };
        if file.try_lock_shared().is_err() {
            return false;
        }
        let mut first = Vec::new();
        let read = BufReader::new(&file).take(FIRST_LINE_MAX_BYTES).read_until(b'\n', &mut first);
        let header = read.ok().and_then(|_| serde_json::from_slice(&first).ok());
        // What is labelled is one of several, and nobody goes on with one of them.
        let wanted = matches!(header, Some(Line::Session(header)) if header.labels.is_empty() && same(&header));
        wanted && !is_finished(&file).unwrap_or(false)
    })
}

/// Whether the last line of a session file is its record; one that was cut short is none. Reads no more than that line, from the back.
pub(super) fn is_finished(file: &File) -> std::io::Result<bool> {
    let mut end = file.metadata()?.len().saturating_sub(1);
    let mut last = [0];
    file.read_exact_at(&mut last, end)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    while end > 0 && last == *b"\n" {
        let start = end.saturating_sub(CHUNK_BYTES as u64);
        let part = &mut chunk[..(end - start) as usize];
        file.read_exact_at(part, start)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            let mut beginning = *b"{\"record\":";
            file.read_exact_at(&mut beginning, start + at as u64 + 1)?;
            return Ok(beginning == *b"{\"record\":");
        }
        end = start;
    }
    Ok(false)
}
