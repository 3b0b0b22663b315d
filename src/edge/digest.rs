//! What a file is: MD5 and BLAKE3 of its bytes, from one read, and a cache so that large files are read once.

use std::fmt::Write as _;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

const BUFFER_BYTES: usize = 1 << 20;
/// Enough that neither thread waits for the other.
const BUFFERS: usize = 4;
/// For a file up to this size a second thread costs more than it saves.
const ALONE_BYTES: u64 = 256 << 10;
/// How many files the cache remembers; the longest unused goes first.
const CACHED_FILES: usize = 1024;
/// A cache file larger than this is not one of ours.
const CACHE_BYTES: u64 = 4 << 20;
/// A file changed more recently than this may change again without a trace in its times.
const SETTLED_AFTER: Duration = Duration::from_secs(2);
/// The version of the cache's own format.
const CACHE_VERSION: u32 = 1;

/// The digests of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// MD5, 32 hexadecimal digits: a name that other tools print too, no protection.
    pub md5: String,
    /// BLAKE3, 64 hexadecimal digits.
    pub blake3: String,
    /// The size of the file in bytes.
    pub bytes: u64,
}

/// BLAKE3 of some bytes, 64 hexadecimal digits.
pub fn blake3_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Reads a regular file once and digests it. A file that changes meanwhile is an error.
pub fn digest_file(path: &Path) -> io::Result<Digests> {
    digest_settled(path).map(|(digests, _)| digests)
}

/// Both digests of some bytes.
///
/// # Errors
/// When the second thread cannot run.
pub fn digest_bytes(mut bytes: &[u8]) -> io::Result<Digests> {
    digest_stream(&mut bytes)
}

/// A file's place, size and times: where two of them are equal, the content is taken to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    mtime_ns: i128,
    ctime_ns: i128,
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            mtime_ns: ns(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether the file has been left alone long enough that a later change must show in its times.
    fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(since_epoch) = now.duration_since(UNIX_EPOCH) else {
            return false;
        };
        let latest = self.mtime_ns.max(self.ctime_ns);
        i128::try_from(since_epoch.saturating_sub(SETTLED_AFTER).as_nanos()).is_ok_and(|limit| latest < limit)
    }
}

fn digest_settled(path: &Path) -> io::Result<(Digests, Stamp)> {
    // Without O_NONBLOCK opening a named pipe would wait for its writer.
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)?;
    let before = regular(&file.metadata()?)?;
    let digests = if before.bytes <= ALONE_BYTES {
        digest_alone(&mut file)
    } else {
        digest_stream(&mut file)
    }?;
    let after = Stamp::of(&file.metadata()?);
    let named = Stamp::of(&std::fs::metadata(path)?);
    if before != after || before != named || digests.bytes != before.bytes {
        return Err(io::Error::other(
            "it was changed while it was read: start again when nothing writes to it",
        ));
    }
    Ok((digests, before))
}

fn regular(meta: &Metadata) -> io::Result<Stamp> {
    if meta.is_file() {
        Ok(Stamp::of(meta))
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

/// Reads a small file whole, or what has become of it meanwhile: no more of it than shows that it grew.
fn digest_alone(source: &mut impl Read) -> io::Result<Digests> {
    let mut bytes = Vec::new();
    source.take(ALONE_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Digests {
        md5: hex(&Md5::digest(&bytes)),
        blake3: blake3_hex(&bytes),
        bytes: bytes.len() as u64,
    })
}

/// Reads to the end; MD5 on this thread, BLAKE3 on a second one that gets each buffer when MD5 is done with it.
fn digest_stream(source: &mut impl Read) -> io::Result<Digests> {
    let (full, to_hash) = sync_channel::<(Vec<u8>, usize)>(BUFFERS);
    let (used, empty) = sync_channel::<Vec<u8>>(BUFFERS);
    thread::scope(|scope| {
        let second = scope.spawn(move || {
            let mut hasher = blake3::Hasher::new();
            for (buffer, bytes) in to_hash {
                hasher.update(&buffer[..bytes]);
                // The reader may have ended already.
                let _returned = used.try_send(buffer);
            }
            hasher.finalize().to_hex().to_string()
        });
        let read = read_all(source, &full, &empty);
        drop(full);
        let blake3 = second.join().map_err(|_panic| io::Error::other("the BLAKE3 thread failed"))?;
        let (md5, bytes) = read?;
        Ok(Digests { md5, blake3, bytes })
    })
}

fn read_all(source: &mut impl Read, full: &SyncSender<(Vec<u8>, usize)>, empty: &Receiver<Vec<u8>>) -> io::Result<(String, u64)> {
    let mut hasher = Md5::new();
    let mut total = 0;
    let mut made = 0;
    loop {
        let mut buffer = if let Ok(buffer) = empty.try_recv() {
            buffer
        } else if made < BUFFERS {
            made += 1;
            vec![0; BUFFER_BYTES]
        } else {
            empty.recv().map_err(io::Error::other)?
        };
        let bytes = fill(source, &mut buffer)?;
        if bytes == 0 {
            return Ok((hex(&hasher.finalize()), total));
        }
        hasher.update(&buffer[..bytes]);
        total += bytes as u64;
        full.send((buffer, bytes)).map_err(io::Error::other)?;
    }
}

fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    stamp: Stamp,
    digests: Digests,
}

impl Entry {
    fn is_sound(&self) -> bool {
        let digits = |text: &str, count| text.len() == count && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        digits(&self.digests.md5, 32) && digits(&self.digests.blake3, 64) && self.digests.bytes == self.stamp.bytes
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// The longest unused first.
    files: Vec<Entry>,
}

/// Digests of files seen before, kept in one file. It saves time and nothing else: without it, or with a damaged one, every
/// answer is the same.
#[derive(Debug)]
pub struct DigestCache {
    file: PathBuf,
    files: Vec<Entry>,
    changed: bool,
}

impl DigestCache {
    /// Reads the cache; absent, too large, damaged or of another version, it starts empty.
    pub fn open(file: &Path) -> Self {
        let files = load(file).unwrap_or_default();
        Self {
            file: file.to_owned(),
            files,
            changed: false,
        }
    }

    /// The digests of a file, from the cache if nothing about the file has changed since, else from its bytes.
    pub fn digests(&mut self, path: &Path) -> io::Result<Digests> {
        let path = std::path::absolute(path)?;
        let now = regular(&std::fs::metadata(&path)?)?;
        if let Some(at) = self.files.iter().position(|entry| entry.path == path) {
            let entry = self.files.remove(at);
            if entry.stamp == now {
                let digests = entry.digests.clone();
                self.files.push(entry);
                return Ok(digests);
            }
            self.changed = true;
        }
        let started = SystemTime::now();
        let (digests, stamp) = digest_settled(&path)?;
        if stamp.is_settled(started) && path.to_str().is_some() {
            self.files.push(Entry {
                path,
                stamp,
                digests: digests.clone(),
            });
            self.files.drain(..self.files.len().saturating_sub(CACHED_FILES));
            self.changed = true;
        }
        Ok(digests)
    }

    /// Writes the cache back if it has changed, whole or not at all. Its folder must exist.
    pub fn save(&mut self) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let stored = Stored {
            version: CACHE_VERSION,
            files: std::mem::take(&mut self.files),
        };
        let text = serde_json::to_vec(&stored);
        self.files = stored.files;
        replace(&self.file, &text?)?;
        self.changed = false;
        Ok(())
    }
}

fn load(file: &Path) -> Option<Vec<Entry>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(file)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(CACHE_BYTES).read_to_end(&mut text).ok()?;
    let stored: Stored = serde_json::from_slice(&text).ok()?;
    (stored.version == CACHE_VERSION).then_some(())?;
    Some(stored.files.into_iter().filter(Entry::is_sound).take(CACHED_FILES).collect())
}

/// Puts new content in a file's place in one step.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let fresh = PathBuf::from(name);
    // Not synced: a cache that a crash of the machine damages starts empty.
    let written = File::create(&fresh).and_then(|mut file| file.write_all(content));
    let placed = written.and_then(|()| std::fs::rename(&fresh, path));
    if placed.is_err() {
        let _already_failing = std::fs::remove_file(&fresh);
    }
    placed
}
