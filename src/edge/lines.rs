//! The lines of a file that may be larger than memory, and the digest of its bytes, in one pass.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Error, Result, bail};

/// How much is read at once, in bytes: so much that readers seldom wait for each other.
const BLOCK_BYTES: usize = 2 << 20;

/// What a file is, told by its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// How many there were.
    pub bytes: u64,
    /// Their BLAKE3, 64 hexadecimal digits.
    pub blake3: String,
}

/// Hands every line of a file to `take`, one at a time and without its end, and tells which file these lines are.
///
/// With one reader the lines come in their order. Several work side by side, each on a thread of its own: every line is one's, and each has its
/// lines in their order.
///
/// # Errors
/// When it cannot be read, a line is longer than `line_max_bytes`, or `take` refuses one: the first such line, with its number.
pub fn lines<R: Send>(
    path: &Path,
    line_max_bytes: usize,
    readers: &mut [R],
    take: impl Fn(&mut R, &[u8]) -> Result<()> + Sync,
) -> Result<Whole> {
    let source = Mutex::new(Source {
        file: File::open(path).context("cannot be read")?,
        hasher: blake3::Hasher::new(),
        line_max_bytes,
        begun: Vec::new(),
        lines: Vec::new(),
        failed: None,
    });
    match readers {
        [] => bail!("there is nobody to read it"),
        [alone] => follow(&source, |line| take(alone, line)),
        several => thread::scope(|scope| {
            let (source, take) = (&source, &take);
            for reader in several {
                scope.spawn(move || follow(source, |line| take(reader, line)));
            }
        }),
    }
    source.into_inner().unwrap_or_else(PoisonError::into_inner).whole()
}

/// How many readers the machine has a use for: beyond these, reading and digesting take as long as looking at lines.
pub fn useful_readers() -> usize {
    thread::available_parallelism().map_or(1, |cores| cores.get().min(4))
}

/// Takes blocks of a file until there are no more.
fn follow(source: &Mutex<Source>, mut take: impl FnMut(&[u8]) -> Result<()>) {
    let mut block = Vec::new();
    let mut done = None;
    loop {
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, lines, ended)) = done.take() {
            source.note(number, lines, ended);
        }
        let Some(number) = source.next(&mut block) else { return };
        let line_max_bytes = source.line_max_bytes;
        drop(source);
        let mut lines = 0;
        let ended = each_line(&block, |line| {
            lines += 1;
            if line.len() > line_max_bytes {
                bail!("over {line_max_bytes} bytes, more are not read");
            }
            take(line.strip_suffix(b"\r").unwrap_or(line))
        });
        done = Some((number, lines, ended));
    }
}

/// The lines of a block, of which the last one may have no end.
fn each_line(block: &[u8], mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut rest = block;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let (line, after) = rest.split_at(end);
        take(line)?;
        rest = &after[1..];
    }
    if rest.is_empty() { Ok(()) } else { take(rest) }
}

/// A file as far as it is read.
struct Source {
    file: File,
    hasher: blake3::Hasher,
    line_max_bytes: usize,
    /// The beginning of a line whose end is not read yet.
    begun: Vec<u8>,
    /// How many lines each block had, zero until it was looked at.
    lines: Vec<u64>,
    /// The first failure: in which block, at which of its lines from 1.
    failed: Option<(usize, u64, Error)>,
}

impl Source {
    /// The next lines that are whole, and the number of their block; none at the end, or after a failure.
    fn next(&mut self, block: &mut Vec<u8>) -> Option<usize> {
        block.clear();
        let number = self.lines.len();
        let read = if self.failed.is_some() { Ok(()) } else { self.fill(block) };
        if let Err(error) = read {
            self.fail(number, 1, Error::new(error).context("cannot be read"));
        }
        if self.failed.is_some() || block.is_empty() {
            return None;
        }
        self.lines.push(0);
        Some(number)
    }

    fn fill(&mut self, block: &mut Vec<u8>) -> io::Result<()> {
        block.append(&mut self.begun);
        loop {
            let before = block.len();
            block.reserve(BLOCK_BYTES);
            Read::by_ref(&mut self.file).take(BLOCK_BYTES as u64).read_to_end(block)?;
            let read = &block[before..];
            self.hasher.update(read);
            if read.is_empty() {
                return Ok(());
            }
            if let Some(last) = memchr::memrchr(b'\n', read) {
                self.begun.extend_from_slice(&read[last + 1..]);
                block.truncate(before + last + 1);
                return Ok(());
            }
            // Whoever gets it sees that it is too long.
            if block.len() > self.line_max_bytes {
                return Ok(());
            }
        }
    }

    /// What became of a block.
    fn note(&mut self, number: usize, lines: u64, ended: Result<()>) {
        if let Some(count) = self.lines.get_mut(number) {
            *count = lines;
        }
        if let Err(error) = ended {
            self.fail(number, lines, error);
        }
    }

    fn fail(&mut self, block: usize, line: u64, error: Error) {
        if self.failed.as_ref().is_none_or(|(first, ..)| block < *first) {
            self.failed = Some((block, line, error));
        }
    }

    fn whole(self) -> Result<Whole> {
        match self.failed {
            // All blocks before it were looked at, since each is finished once it is taken.
            Some((block, line, error)) => {
                let before: u64 = self.lines.iter().take(block).sum();
                Err(error.context(format!("line {}", before + line)))
            }
            None => Ok(Whole {
                bytes: self.hasher.count(),
                blake3: self.hasher.finalize().to_hex().to_string(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of some readers sees.
    fn read(bytes: &[u8], line_max_bytes: usize, readers: usize) -> Result<(Vec<Vec<Vec<u8>>>, Whole)> {
        let file = tempfile::NamedTempFile::new()?;
        crate::edge::files::write(file.path(), bytes)?;
        let mut seen = vec![Vec::new(); readers];
        let whole = lines(file.path(), line_max_bytes, &mut seen, |seen, line| {
            seen.push(line.to_vec());
            Ok(())
        })?;
        Ok((seen, whole))
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
            let mut expected: Vec<&str> = text.split('\n').collect();
            if text.is_empty() || text.ends_with('\n') {
                expected.pop();
            }
            let mut expected: Vec<&[u8]> = expected
                .iter()
                .map(|line| line.strip_suffix('\r').unwrap_or(line).as_bytes())
                .collect();
            let blake3 = crate::edge::digest::blake3_hex(text.as_bytes());
            let whole = Whole {
                bytes: text.len() as u64,
                blake3,
            };
            let (seen, told) = read(text.as_bytes(), 4 * BLOCK_BYTES, 1).unwrap();
            assert!(seen[0] == expected, "{} bytes: {} lines", text.len(), seen[0].len());
            assert_eq!(told, whole);
            let (seen, told) = read(text.as_bytes(), 4 * BLOCK_BYTES, 3).unwrap();
            let mut seen = seen.concat();
            seen.sort();
            expected.sort_unstable();
            assert!(seen == expected, "{} bytes: {} lines of three readers", text.len(), seen.len());
            assert_eq!(told, whole);
        }
    }

    #[test]
    fn a_line_over_the_limit_and_one_that_is_refused_are_named_by_number() {
        let short = "ab\nabcd\nabc\n";
        assert_eq!(read(short.as_bytes(), 4, 1).unwrap().0[0].len(), 3);
        let long = format!("a\n{}", "x".repeat(3 * BLOCK_BYTES));
        for (text, limit) in [(short, 3), (long.as_str(), 2 * BLOCK_BYTES), (long.as_str(), 10)] {
            for readers in [1, 3] {
                let error = read(text.as_bytes(), limit, readers).unwrap_err();
                assert_eq!(format!("{error:#}"), format!("line 2: over {limit} bytes, more are not read"));
            }
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        crate::edge::files::write(file.path(), "1\n2\n3\n".repeat(BLOCK_BYTES).as_bytes()).unwrap();
        let mut taken = [0];
        let refused = lines(file.path(), 10, &mut taken, |taken, line| {
            *taken += 1;
            if line == b"2" { bail!("no two") } else { Ok(()) }
        });
        assert_eq!(format!("{:#}", refused.unwrap_err()), "line 2: no two");
        assert_eq!(taken, [2]);
    }

    #[test]
    fn of_several_readers_the_first_refusal_is_told() {
        let blocks = 6 * BLOCK_BYTES / 8;
        let text: String = (0..blocks).map(|number| format!("{number:07}\n")).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        crate::edge::files::write(file.path(), text.as_bytes()).unwrap();
        // Every line from here on: whoever gets a later block meets one sooner.
        let first = BLOCK_BYTES / 8 * 2 - 3;
        for _ in 0..20 {
            let refused = lines(file.path(), 10, &mut [(); 4], |(), line| {
                let number: usize = std::str::from_utf8(line)?.parse()?;
                if number >= first { bail!("too many") } else { Ok(()) }
            });
            assert_eq!(format!("{:#}", refused.unwrap_err()), format!("line {}: too many", first + 1));
        }
    }

    #[test]
    fn a_folder_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let error = lines(folder.path(), 10, &mut [()], |(), _| Ok(())).unwrap_err();
        assert!(format!("{error:#}").starts_with("line 1: cannot be read: "), "{error:#}");
    }
}
