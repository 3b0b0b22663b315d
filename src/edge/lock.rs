//! One lock a device: two measurements on one device would measure each other.
//!
//! The lock is an advisory `flock` on a file that stays where it is. The file is opened without `O_CREAT` first: in a sticky
//! folder open to all, `fs.protected_regular` forbids `O_CREAT` on another user's file, also to root.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, FlockOperation, Mode, OFlags, access, fchmod, flock, open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::process::Interrupts;

/// How often a held lock is tried again.
const TRY_EVERY: Duration = Duration::from_millis(50);
/// How much of a lock file is read.
const NOTE_LIMIT: u64 = 4096;
/// How long the name of a device may be, in bytes.
const NAME_LIMIT: usize = 64;
/// How much of the holder's command is written down, in bytes.
const COMMAND_LIMIT: usize = 200;
/// How often the file may vanish between two looks at it before that is an error.
const RACES: usize = 16;

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process number.
    pub pid: u32,
    /// Since when, in RFC 3339.
    pub started: String,
    /// Its command, shortened and without control characters.
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "process {} since {} ({})",
            self.pid,
            printable(&self.started),
            printable(&self.command)
        )
    }
}

/// Which lock is wanted, by whom, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// The folder of the lock files; see [`lock_dir`].
    pub dir: &'a Path,
    /// The device: letters, digits, `.`, `:` and `-`.
    pub device: &'a str,
    /// How long to wait for another holder; zero tries once.
    pub wait: Duration,
    /// The command that others see while they wait.
    pub command: &'a str,
}

/// Why a device could not be locked.
#[derive(Debug)]
pub enum LockError {
    /// The name of the device cannot be part of a file name.
    Name(String),
    /// The file could not be opened, made or locked.
    File(PathBuf, io::Error),
    /// Something other than a regular file has the lock file's name.
    NotRegular(PathBuf),
    /// Another process holds it, and did so for the whole wait.
    Held(PathBuf, Option<Holder>),
    /// A signal with this number came while waiting.
    Interrupted(i32),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(device) => write!(
                f,
                "the device name {device:?} cannot name a lock file: 1 to 64 letters, digits, `.`, `:` and `-` can"
            ),
            Self::File(path, error) => write!(
                f,
                "the lock file {} cannot be used: {error}; GATE_LOCK_DIR names its folder",
                path.display()
            ),
            Self::NotRegular(path) => write!(f, "{} is not a regular file: remove it and start again", path.display()),
            Self::Held(path, Some(holder)) => {
                write!(
                    f,
                    "the device is in use: {holder} holds {}; --lock-timeout waits for it",
                    path.display()
                )
            }
            Self::Held(path, None) => {
                write!(
                    f,
                    "the device is in use: another process holds {}; --lock-timeout waits for it",
                    path.display()
                )
            }
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal} while waiting for the device"),
        }
    }
}

impl std::error::Error for LockError {}

/// The folder of the lock files: `GATE_LOCK_DIR`, else `/run/lock` where it can be written, else the temporary folder.
pub fn lock_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("GATE_LOCK_DIR").filter(|dir| !dir.is_empty()) {
        return dir.into();
    }
    let usual = PathBuf::from("/run/lock");
    if usual.is_dir() && access(&usual, Access::WRITE_OK | Access::EXEC_OK).is_ok() {
        usual
    } else {
        std::env::temp_dir()
    }
}

/// A device that is ours until this is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct DeviceLock {
    file: LockFile,
    path: PathBuf,
}

impl DeviceLock {
    /// Locks a device. `waiting` is called once if another process holds it and there is time to wait.
    pub fn acquire(
        request: &LockRequest<'_>,
        interrupts: Option<&Interrupts>,
        waiting: &mut dyn FnMut(Option<&Holder>),
    ) -> Result<Self, LockError> {
        let path = request.dir.join(file_name(request.device)?);
        let limit = Instant::now().checked_add(request.wait);
        let mut said = false;
        let mut races = 0;
        loop {
            let mut file = LockFile::open(&path)?;
            match flock(&file.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if file.is_at(&path) => {
                    file.sign(request.command);
                    return Ok(Self { file, path });
                }
                // Somebody removed the file: whoever comes next would make and lock another.
                Ok(()) if races < RACES => races += 1,
                Ok(()) => return Err(LockError::File(path, io::Error::other("it is removed again and again"))),
                Err(Errno::WOULDBLOCK) => {
                    let left = limit.map_or(Duration::MAX, |limit| limit.saturating_duration_since(Instant::now()));
                    if left.is_zero() {
                        return Err(LockError::Held(path, file.holder()));
                    }
                    if !said {
                        waiting(file.holder().as_ref());
                        said = true;
                    }
                    drop(file);
                    pause(left.min(TRY_EVERY), interrupts)?;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(LockError::File(path, error.into())),
            }
        }
    }

    /// Where the lock file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DeviceLock {
    fn drop(&mut self) {
        if self.file.writable {
            let _only_informs = self.file.file.set_len(0);
        }
        // Closing would not do: a child that is just being started has the file open too until it becomes its program.
        let _closed_anyway = flock(&self.file.file, FlockOperation::Unlock);
    }
}

/// An open lock file, locked or not.
#[derive(Debug)]
struct LockFile {
    file: File,
    writable: bool,
}

impl LockFile {
    fn open(path: &Path) -> Result<Self, LockError> {
        let (fd, writable) = open_or_make(path).map_err(|error| match error {
            Errno::LOOP | Errno::ISDIR | Errno::NXIO => LockError::NotRegular(path.to_owned()),
            error => LockError::File(path.to_owned(), error.into()),
        })?;
        let file = File::from(fd);
        let meta = file.metadata().map_err(|error| LockError::File(path.to_owned(), error))?;
        if !meta.is_file() {
            return Err(LockError::NotRegular(path.to_owned()));
        }
        // A second name could be another user's way to have some other file overwritten.
        Ok(Self {
            file,
            writable: writable && meta.nlink() == 1,
        })
    }

    /// Whether this is still the file that others find.
    fn is_at(&self, path: &Path) -> bool {
        let (Ok(ours), Ok(named)) = (self.file.metadata(), path.symlink_metadata()) else {
            return false;
        };
        (ours.dev(), ours.ino()) == (named.dev(), named.ino())
    }

    fn holder(&self) -> Option<Holder> {
        let mut note = String::new();
        (&self.file).take(NOTE_LIMIT).read_to_string(&mut note).ok()?;
        serde_json::from_str(&note).ok()
    }

    /// Writes down who holds the lock. It only informs, so a full disk or another's file is no failure.
    fn sign(&mut self, command: &str) {
        if !self.writable {
            return;
        }
        let holder = Holder {
            pid: std::process::id(),
            started: jiff::Timestamp::now().to_string(),
            command: beginning(&printable(command)),
        };
        let _only_informs = self.file.set_len(0);
        if let Ok(note) = serde_json::to_string(&holder) {
            let _only_informs = self.file.write_all(note.as_bytes());
        }
    }
}

fn file_name(device: &str) -> Result<String, LockError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-');
    if device.is_empty() || device.len() > NAME_LIMIT || !device.chars().all(allowed) {
        return Err(LockError::Name(device.to_owned()));
    }
    Ok(format!("gate-{device}.lock"))
}

/// Opens the file, for writing too where this user may; makes it, open to all users, only where it is absent.
fn open_or_make(path: &Path) -> Result<(OwnedFd, bool), Errno> {
    // Without NONBLOCK a named pipe in the file's place would hang us.
    let safely = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let everybody = Mode::from_raw_mode(0o666);
    let mut last = Errno::NOENT;
    for _ in 0..RACES {
        last = match open(path, OFlags::RDWR | safely, Mode::empty()) {
            Ok(file) => return Ok((file, true)),
            Err(Errno::NOENT) => match open(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | safely, everybody) {
                Ok(file) => {
                    fchmod(&file, everybody)?;
                    return Ok((file, true));
                }
                Err(Errno::EXIST) => Errno::EXIST,
                Err(error) => return Err(error),
            },
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => match open(path, OFlags::RDONLY | safely, Mode::empty()) {
                Ok(file) => return Ok((file, false)),
                Err(error @ (Errno::NOENT | Errno::ACCESS)) => error,
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        };
        // Its maker may be about to open it to all.
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(last)
}

/// Waits, but not through an interrupt.
fn pause(time: Duration, interrupts: Option<&Interrupts>) -> Result<(), LockError> {
    let Some(interrupts) = interrupts else {
        std::thread::sleep(time);
        return Ok(());
    };
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: time.subsec_nanos().into(),
    };
    let _woken_or_not = poll(&mut [PollFd::from_borrowed_fd(interrupts.fd(), PollFlags::IN)], Some(&timeout));
    interrupts.pending().map_or(Ok(()), |signal| Err(LockError::Interrupted(signal)))
}

fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// The text's first `COMMAND_LIMIT` bytes, without half a character at the end.
fn beginning(text: &str) -> String {
    text.char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= COMMAND_LIMIT)
        .map(|(_, c)| c)
        .collect()
}
