//! What a child writes: the beginning kept, all of it counted, and hashed once it is too much to keep.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

/// Reads that follow the end of a child; more than a pipe can hold.
const LAST_READS: usize = 1024;

/// One stream of a child's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The beginning, up to the limit of the launch.
    pub kept: Vec<u8>,
    /// Everything that was written, in bytes.
    pub total_bytes: u64,
    /// BLAKE3 of everything that was written, in hexadecimal digits; only where more was written than is kept.
    pub blake3: Option<String>,
}

/// The reading end of a child's stream, while the child runs and shortly after.
pub(super) struct Stream {
    /// None once the writing side is closed.
    pub pipe: Option<OwnedFd>,
    kept: Vec<u8>,
    keep_bytes: usize,
    total_bytes: u64,
    hasher: Option<Box<blake3::Hasher>>,
}

impl Stream {
    /// `pipe` must not block.
    pub fn new(pipe: OwnedFd, keep_bytes: usize) -> Self {
        Self {
            pipe: Some(pipe),
            kept: Vec::new(),
            keep_bytes,
            total_bytes: 0,
            hasher: None,
        }
    }

    /// Reads once; false where there is nothing to read for now, or ever.
    pub fn read(&mut self, buffer: &mut [u8]) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => self.pipe = None,
            Ok(bytes) => {
                self.take(&buffer[..bytes]);
                return true;
            }
            Err(Errno::INTR) => return true,
            Err(Errno::AGAIN) => {}
            Err(_) => self.pipe = None,
        }
        false
    }

    /// Takes what the pipe still holds and closes it, whoever may hold the other end.
    pub fn finish(mut self, buffer: &mut [u8]) -> Output {
        for _ in 0..LAST_READS {
            if !self.read(buffer) {
                break;
            }
        }
        let blake3 = self.hasher.map(|hasher| hasher.finalize().to_hex().to_string());
        Output {
            kept: self.kept,
            total_bytes: self.total_bytes,
            blake3,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let room = self.keep_bytes - self.kept.len();
        if self.hasher.is_none() && bytes.len() > room {
            let mut hasher = Box::new(blake3::Hasher::new());
            hasher.update(&self.kept);
            self.hasher = Some(hasher);
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}
