//! The kernel's messages.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use super::snapshot::Entry;
use super::source::{Source, errno};
use crate::model::host::machine::Message;
use crate::model::host::seen::{Seen, Unseen};

/// Where snapshots keep the messages, as `dmesg` prints them.
const KEPT: &str = "cmd/dmesg/stdout";
/// The kernel's device, below the root.
const DEVICE: &str = "dev/kmsg";
/// Most bytes of messages that are read; the oldest come first.
const LOG_MAX_BYTES: usize = 16 << 20;

/// Every message: of this machine from the kernel's own device, else as a snapshot keeps them.
pub fn read(source: &Source) -> Seen<Vec<Message>> {
    let text = if source.is_here() {
        let found = here();
        source.remember(KEPT, found.clone());
        found.bytes(DEVICE)?
    } else {
        source.bytes(KEPT)?
    };
    Ok(String::from_utf8_lossy(&text).lines().filter_map(message).collect())
}

/// `[   12.345678] text`
fn message(line: &str) -> Option<Message> {
    let stamped = line.strip_prefix('[').and_then(|rest| {
        let (stamp, text) = rest.split_once(']')?;
        Some((stamp.trim().parse::<f64>().ok()?, text))
    });
    let (at_s, text) = stamped.map_or((None, line), |(at_s, text)| (Some(at_s), text));
    (!text.trim().is_empty()).then(|| Message {
        at_s,
        text: text.trim().to_owned(),
    })
}

/// The messages that come from now on.
#[derive(Debug)]
pub struct Tail(Kept);

#[derive(Debug)]
enum Kept {
    /// The kernel's own device, read to its end.
    Device(File),
    /// The lines of a file that were read.
    Lines(usize),
    /// Why there are none.
    Closed(Unseen),
}

impl Tail {
    /// Begins behind the last message.
    pub fn open(source: &Source) -> Self {
        if !source.is_here() {
            let lines = source.glance(KEPT).map(|text| text.split(|&byte| byte == b'\n').count());
            return Self(lines.map_or_else(Kept::Closed, Kept::Lines));
        }
        let opened = device().and_then(|mut device| device.seek(SeekFrom::End(0)).map(|_| device));
        Self(opened.map_or_else(|error| Kept::Closed(Unseen::of_errno(&errno(&error), DEVICE)), Kept::Device))
    }

    /// The messages since the last call.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn next(&mut self, source: &Source) -> Seen<Vec<String>> {
        let text = match &mut self.0 {
            Kept::Closed(unseen) => return Err(unseen.clone()),
            Kept::Lines(read) => {
                let text = source.glance(KEPT)?;
                let text = String::from_utf8_lossy(&text).into_owned();
                let new: Vec<&str> = text.split('\n').skip(read.saturating_sub(1)).collect();
                *read = text.split('\n').count();
                new.join("\n")
            }
            Kept::Device(device) => drain(device).map_err(|error| Unseen::of_errno(&errno(&error), DEVICE))?,
        };
        Ok(text.lines().filter_map(message).map(|message| message.text).collect())
    }
}

fn device() -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")
}

fn here() -> Entry {
    match device().and_then(|mut device| drain(&mut device)) {
        Ok(text) => Entry::Text(text),
        Err(error) => Entry::Errno(errno(&error)),
    }
}

/// Everything that waits in the device. One read gives one record: `priority,number,microseconds,flags;text`, and lines of details that
/// begin with a space.
fn drain(device: &mut File) -> io::Result<String> {
    let (mut text, mut record) = (String::new(), vec![0; 8 << 10]);
    while text.len() < LOG_MAX_BYTES {
        match device.read(&mut record) {
            Ok(0) => break,
            Ok(bytes) => text.extend(line(&String::from_utf8_lossy(&record[..bytes]))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // The oldest records were overwritten meanwhile; the next read goes on after them.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => return Err(error),
        }
    }
    Ok(text)
}

fn line(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let at_us: u64 = head.split(',').nth(2)?.parse().ok()?;
    let text = text.lines().next()?;
    Some(format!("[{:5}.{:06}] {text}\n", at_us / 1_000_000, at_us % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_with_and_without_their_time() {
        let read = |text| message(text).map(|message| (message.at_s, message.text));
        assert_eq!(read("[   12.5] amdgpu: up"), Some((Some(12.5), "amdgpu: up".to_owned())));
        assert_eq!(read("[drm] up"), Some((None, "[drm] up".to_owned())));
        assert_eq!(read("  "), None);
        assert_eq!(
            line("6,339,5140900,-;NET: up\n SUBSYSTEM=x\n").as_deref(),
            Some("[    5.140900] NET: up\n")
        );
        assert_eq!(line("nonsense"), None);
    }
}
