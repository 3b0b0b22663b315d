//! Where a machine's files are read from: a folder, which is `/` for this machine, or a snapshot of another.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::snapshot::Entry;
use crate::model::host::seen::{Seen, Unseen, Why};

/// Most bytes of one file.
const FILE_MAX_BYTES: u64 = 1 << 20;
/// Most entries of one folder.
const ENTRIES_MAX: usize = 20_000;

/// Where files come from. What is read is remembered, so that a reading can be written down as a snapshot.
#[derive(Debug)]
pub struct Source {
    place: Place,
    read: RefCell<BTreeMap<String, Entry>>,
}

#[derive(Debug)]
enum Place {
    Folder(PathBuf),
    Snapshot(BTreeMap<String, Entry>),
}

impl Source {
    /// The files below a folder.
    pub fn folder(root: &Path) -> Self {
        Self::of(Place::Folder(root.to_owned()))
    }

    /// The files of a snapshot.
    pub(super) fn snapshot(files: BTreeMap<String, Entry>) -> Self {
        Self::of(Place::Snapshot(files))
    }

    fn of(place: Place) -> Self {
        Self {
            place,
            read: RefCell::default(),
        }
    }

    /// Whether this is the machine that the program runs on.
    pub fn is_here(&self) -> bool {
        matches!(&self.place, Place::Folder(root) if root == Path::new("/"))
    }

    /// A file's bytes.
    pub fn bytes(&self, path: &str) -> Seen<Vec<u8>> {
        let found = self.glance(path);
        let entry = match &found {
            Ok(bytes) => Entry::of(bytes.clone()),
            Err(unseen) => unseen.errno.clone().map_or_else(|| self.entry(path), Entry::Errno),
        };
        self.read.borrow_mut().insert(path.to_owned(), entry);
        found
    }

    /// A file's bytes, not remembered.
    pub fn glance(&self, path: &str) -> Seen<Vec<u8>> {
        match &self.place {
            Place::Folder(root) => within(&root.join(path)).map_err(|error| Unseen::of_errno(&errno(&error), path)),
            Place::Snapshot(_) => self.entry(path).bytes(path),
        }
    }

    /// A file's text read into something, not remembered.
    pub fn peek<T>(&self, path: &str, read: impl FnOnce(&str) -> Option<T>) -> Seen<T> {
        let bytes = self.glance(path)?;
        read(String::from_utf8_lossy(&bytes).trim()).ok_or_else(|| Unseen::malformed(path))
    }

    /// A file's text, without the white space around it.
    pub fn text(&self, path: &str) -> Seen<String> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A file's text, read into something.
    pub fn parse<T>(&self, path: &str, read: impl FnOnce(&str) -> Option<T>) -> Seen<T> {
        read(&self.text(path)?).ok_or_else(|| Unseen::malformed(path))
    }

    /// Where a link leads; a snapshot keeps it as text.
    pub fn link(&self, path: &str) -> Seen<String> {
        let Place::Folder(root) = &self.place else {
            return self.text(path);
        };
        let found = match fs::read_link(root.join(path)) {
            Ok(target) => Entry::Text(target.to_string_lossy().into_owned()),
            Err(error) => Entry::Errno(errno(&error)),
        };
        self.remember(path, found.clone());
        let target = found.bytes(path)?;
        Ok(String::from_utf8_lossy(&target).into_owned())
    }

    /// Whether something stands at a path, whose contents are of no interest.
    pub fn is_there(&self, path: &str) -> Seen<bool> {
        let found = match &self.place {
            Place::Folder(root) => match fs::symlink_metadata(root.join(path)) {
                Ok(_) => Entry::Text(String::new()),
                Err(error) => Entry::Errno(errno(&error)),
            },
            Place::Snapshot(files) => match files.get(path) {
                Some(entry) => entry.clone(),
                None if self.list(path).is_ok() => Entry::Text(String::new()),
                None => Entry::Errno("ENOENT".to_owned()),
            },
        };
        // A folder is there through the files in it.
        if self.list(path).is_err() {
            self.read.borrow_mut().insert(path.to_owned(), found.clone());
        }
        match found.bytes(path) {
            Ok(_) => Ok(true),
            Err(unseen) if unseen.why == Why::Absent => Ok(false),
            Err(unseen) => Err(unseen),
        }
    }

    /// The names in a folder, in order.
    pub fn list(&self, path: &str) -> Seen<Vec<String>> {
        match &self.place {
            Place::Folder(root) => {
                let entries = fs::read_dir(root.join(path)).map_err(|error| Unseen::of_errno(&errno(&error), path))?;
                let names = entries
                    .take(ENTRIES_MAX)
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                let mut names: Vec<String> = names.collect();
                names.sort_unstable();
                Ok(names)
            }
            Place::Snapshot(files) => {
                let below = format!("{path}/");
                let names: BTreeSet<&str> = files
                    .range(below.clone()..)
                    .map_while(|(file, _)| file.strip_prefix(&below)?.split('/').next())
                    .collect();
                if names.is_empty() {
                    return Err(Unseen::absent(path));
                }
                Ok(names.into_iter().map(str::to_owned).collect())
            }
        }
    }

    /// Remembers a text that did not come from a file.
    pub(super) fn remember(&self, path: &str, entry: Entry) {
        self.read.borrow_mut().insert(path.to_owned(), entry);
    }

    /// Everything that was read.
    pub(super) fn remembered(&self) -> BTreeMap<String, Entry> {
        self.read.borrow().clone()
    }

    fn entry(&self, path: &str) -> Entry {
        match &self.place {
            Place::Folder(root) => match within(&root.join(path)) {
                Ok(bytes) => Entry::of(bytes),
                Err(error) => Entry::Errno(errno(&error)),
            },
            Place::Snapshot(files) => files.get(path).cloned().unwrap_or_else(|| Entry::Errno("ENOENT".to_owned())),
        }
    }
}

/// A file's bytes, within the limit. A file that is none (a pipe, a folder) is not opened.
fn within(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(Errno::INVAL.into());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(FILE_MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The name of a failure's number, as snapshots write it.
pub(super) fn errno(error: &io::Error) -> String {
    let known = error.raw_os_error().map(Errno::from_raw_os_error);
    let name = match known {
        Some(Errno::NOENT) => "ENOENT",
        Some(Errno::NOTDIR) => "ENOTDIR",
        Some(Errno::NODEV) => "ENODEV",
        Some(Errno::NODATA) => "ENODATA",
        Some(Errno::OPNOTSUPP) => "EOPNOTSUPP",
        Some(Errno::ACCESS) => "EACCES",
        Some(Errno::PERM) => "EPERM",
        Some(Errno::BUSY) => "EBUSY",
        Some(Errno::AGAIN) => "EAGAIN",
        Some(Errno::IO) => "EIO",
        Some(Errno::INVAL) => "EINVAL",
        Some(other) => return format!("E{}", other.raw_os_error()),
        None => "EIO",
    };
    name.to_owned()
}
