//! What this program hands down to a child without being asked.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::kernel;

/// A child's peak says something of the child only where it is above this program's own by more than this. The kernel counts resident
/// pages on each processor apart and adds them up loosely: what it hands down has been seen 0.2 MiB above what it tells.
const PEAK_DOUBT_BYTES: u64 = 2 << 20;

/// What a child has of this program, as it was when it last had to be read: reading takes the kernel longer than anything else between
/// two processes.
pub(super) struct Own {
    /// `/proc/self/status`, read from its start each time.
    status: File,
    /// The largest resident memory of this program, which never falls. Not `getrusage`: that remembers what ran in this process before
    /// it, too.
    peak_rss_bytes: u64,
    /// Whether a child needed more, so that it is read after each: the work between two processes is the same from the warm-up on.
    surpassed: bool,
    /// The signals that this program catches or ignores, the lowest bit for signal 1; all of them where the kernel does not tell.
    not_default: u64,
    /// [`kernel::disposition_changes`] when they were read.
    changes: usize,
}

impl Own {
    /// Reads it for the first time.
    pub fn read(status: File, buffer: &mut [u8]) -> io::Result<Self> {
        let mut own = Self {
            status,
            peak_rss_bytes: 0,
            surpassed: false,
            not_default: u64::MAX,
            changes: 0,
        };
        own.read_again(buffer)?;
        Ok(own)
    }

    /// The signals that a child must set to their default.
    pub fn not_default(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        if self.changes != kernel::disposition_changes() {
            self.read_again(buffer)?;
        }
        Ok(self.not_default)
    }

    /// The peak of this program in bytes, and whether a child that has ended with this peak needed more than was handed down to it. Where
    /// it did not need more than what was known before, it did not need more than what is true now.
    pub fn peak_below(&mut self, child_bytes: u64, buffer: &mut [u8]) -> io::Result<(u64, bool)> {
        let surpassed = |own: &Self| child_bytes > own.peak_rss_bytes.saturating_add(PEAK_DOUBT_BYTES);
        if self.surpassed || surpassed(self) {
            self.read_again(buffer)?;
        }
        let own_need = surpassed(self);
        self.surpassed |= own_need;
        Ok((self.peak_rss_bytes, own_need))
    }

    fn read_again(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        // Before the reading: a change in between is read again.
        self.changes = kernel::disposition_changes();
        let bytes = self.status.read_at(buffer, 0)?;
        let lines = || buffer.get(..bytes).unwrap_or_default().split(|&byte| byte == b'\n');
        let value = |name: &[u8]| {
            let value = lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(b":"))?;
            std::str::from_utf8(value).ok().map(str::trim)
        };
        let kib: Option<u64> = value(b"VmHWM").and_then(|value| value.strip_suffix(" kB")?.parse().ok());
        let signals = |name| value(name).and_then(|value| u64::from_str_radix(value, 16).ok());
        let not_default = signals(b"SigIgn").zip(signals(b"SigCgt"));
        self.peak_rss_bytes = kib.ok_or_else(|| io::Error::other("it has no VmHWM line"))?.saturating_mul(1024);
        self.not_default = not_default.map_or(u64::MAX, |(ignored, caught)| ignored | caught);
        Ok(())
    }
}
