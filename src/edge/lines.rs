//! The lines of a file that may be larger than memory: a second thread reads and digests, so that the first one only looks at lines.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

/// Size of a block, in bytes.
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks in flight: so many that neither thread often waits for the other, which would put both on one core.
const BLOCKS: usize = 8;

/// Hands every line of a file to `take`, one at a time, without its end; gives the BLAKE3 of all bytes, 64 hexadecimal digits.
///
/// # Errors
/// When it cannot be read, a line is longer than `line_max_bytes`, or `take` refuses one, each with the line's number.
pub fn lines(path: &Path, line_max_bytes: usize, take: impl FnMut(&[u8]) -> Result<()>) -> Result<String> {
    let mut file = File::open(path).context("cannot be read")?;
    let (full, blocks) = sync_channel::<Vec<u8>>(BLOCKS);
    let (used, empty) = sync_channel::<Vec<u8>>(BLOCKS);
    let mut lines = Lines {
        line_max_bytes,
        take,
        begun: Vec::new(),
        number: 0,
    };
    thread::scope(|scope| {
        let reader = thread::Builder::new().spawn_scoped(scope, move || read_all(&mut file, &full, &empty))?;
        // Dropped with this closure, so that a reader never waits for blocks of one that gave up.
        let (used, blocks) = (used, blocks);
        for block in blocks {
            lines.block(&block)?;
            // The reader may have ended already.
            let _returned = used.try_send(block);
        }
        let digest = reader.join().map_err(|_panic| anyhow!("the thread that reads failed"))?;
        let digest = digest.with_context(|| format!("line {} cannot be read", lines.number + 1))?;
        lines.end()?;
        Ok(digest)
    })
}

/// Reads to the end, or until nobody takes the blocks any more.
fn read_all(file: &mut File, full: &SyncSender<Vec<u8>>, empty: &Receiver<Vec<u8>>) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut made = 0;
    loop {
        let mut block = match empty.try_recv() {
            Ok(block) => block,
            Err(_) if made < BLOCKS => Vec::with_capacity(BLOCK_BYTES),
            Err(_) => empty.recv().unwrap_or_default(),
        };
        made += 1;
        block.clear();
        Read::by_ref(file).take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
        hasher.update(&block);
        if block.is_empty() || full.send(block).is_err() {
            return Ok(hasher.finalize().to_hex().to_string());
        }
    }
}

/// Lines so far.
struct Lines<T> {
    line_max_bytes: usize,
    take: T,
    /// The beginning of a line whose end is in a later block.
    begun: Vec<u8>,
    number: u64,
}

impl<T: FnMut(&[u8]) -> Result<()>> Lines<T> {
    fn block(&mut self, block: &[u8]) -> Result<()> {
        let mut rest = block;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            if self.begun.is_empty() {
                self.line(line)?;
            } else {
                self.begin(line)?;
                let whole = std::mem::take(&mut self.begun);
                self.line(&whole)?;
                self.begun = whole;
                self.begun.clear();
            }
            rest = after.get(1..).unwrap_or_default();
        }
        self.begin(rest)
    }

    fn begin(&mut self, part: &[u8]) -> Result<()> {
        self.check_length(self.begun.len() + part.len())?;
        self.begun.extend_from_slice(part);
        Ok(())
    }

    fn check_length(&self, bytes: usize) -> Result<()> {
        if bytes > self.line_max_bytes {
            bail!("line {}: over {} bytes, more are not read", self.number + 1, self.line_max_bytes);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<()> {
        self.check_length(line.len())?;
        self.number += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (self.take)(line).with_context(|| format!("line {}", self.number))
    }

    /// A last line without an end.
    fn end(&mut self) -> Result<()> {
        let last = std::mem::take(&mut self.begun);
        if last.is_empty() { Ok(()) } else { self.line(&last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], line_max_bytes: usize) -> Result<(Vec<Vec<u8>>, String)> {
        let file = tempfile::NamedTempFile::new()?;
        crate::edge::files::write(file.path(), bytes)?;
        let mut seen = Vec::new();
        let digest = lines(file.path(), line_max_bytes, |line| {
            seen.push(line.to_vec());
            Ok(())
        })?;
        Ok((seen, digest))
    }

    #[test]
    fn lines_are_those_of_the_text_wherever_blocks_end() {
        let long = "x".repeat(BLOCK_BYTES - 3);
        for text in [
            String::new(),
            "\n".to_owned(),
            "a\r\n\nb".to_owned(),
            format!("{long}\nab\ncd\n"),
            format!("{long}ab\ncd\n"),
            format!("{long}abc\r\n{long}{long}{long}\nd\r"),
            "12345\n".repeat(BLOCK_BYTES),
        ] {
            let (seen, digest) = read(text.as_bytes(), 4 * BLOCK_BYTES).unwrap();
            let mut expected: Vec<&str> = text.split('\n').collect();
            if text.is_empty() || text.ends_with('\n') {
                expected.pop();
            }
            let expected: Vec<&[u8]> = expected
                .iter()
                .map(|line| line.strip_suffix('\r').unwrap_or(line).as_bytes())
                .collect();
            assert!(seen == expected, "{} bytes: {} lines", text.len(), seen.len());
            assert_eq!(digest, blake3::hash(text.as_bytes()).to_hex().as_str());
        }
    }

    #[test]
    fn a_line_over_the_limit_and_one_that_is_refused_are_named_by_number() {
        let short = "ab\nabcd\nabc\n";
        assert_eq!(read(short.as_bytes(), 4).unwrap().0.len(), 3);
        let long = format!("a\n{}", "x".repeat(3 * BLOCK_BYTES));
        for (text, limit) in [(short, 3), (long.as_str(), 2 * BLOCK_BYTES), (long.as_str(), 10)] {
            let error = read(text.as_bytes(), limit).unwrap_err();
            assert_eq!(error.to_string(), format!("line 2: over {limit} bytes, more are not read"));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        crate::edge::files::write(file.path(), "1\n2\n3\n".repeat(BLOCK_BYTES).as_bytes()).unwrap();
        let mut taken = 0;
        let refused = lines(file.path(), 10, |line| {
            taken += 1;
            if line == b"2" { bail!("no two") } else { Ok(()) }
        });
        assert_eq!(format!("{:#}", refused.unwrap_err()), "line 2: no two");
        assert_eq!(taken, 2);
    }
}
