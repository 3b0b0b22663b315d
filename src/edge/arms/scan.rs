//! A search for some bytes in a file of any size.

use std::io::{self, Read};

/// How much is searched at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Whether the bytes that a reader gives hold others.
pub(super) fn holds(source: &mut impl Read, wanted: &[u8]) -> io::Result<bool> {
    let Some(last) = wanted.len().checked_sub(1) else { return Ok(true) };
    let mut buffer = vec![0; BUFFER_BYTES + last];
    let mut kept = 0;
    loop {
        let free = buffer.get_mut(kept..).unwrap_or_default();
        let read = match source.read(free) {
            Ok(0) => return Ok(false),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let filled = kept + read;
        if find(buffer.get(..filled).unwrap_or_default(), wanted) {
            return Ok(true);
        }
        // What was found may begin at the end of this part.
        let keep = last.min(filled);
        buffer.copy_within(filled - keep..filled, 0);
        kept = keep;
    }
}

fn find(text: &[u8], wanted: &[u8]) -> bool {
    let Some((first, rest)) = wanted.split_first() else { return true };
    let mut left = text;
    while let Some(at) = left.iter().position(|byte| byte == first) {
        left = left.get(at + 1..).unwrap_or_default();
        if left.starts_with(rest) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, as a pipe may.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (now, later) = self.0.split_at(self.1.min(self.0.len()).min(buffer.len()));
            buffer[..now.len()].copy_from_slice(now);
            self.0 = later;
            Ok(now.len())
        }
    }

    #[test]
    fn it_is_found_wherever_the_parts_end() {
        for step in [1, 2, 3, 7, 100] {
            assert!(holds(&mut Slow(b"xx/a/b/a/b/c", step), b"/a/b/c").expect("no error"), "{step}");
            assert!(!holds(&mut Slow(b"xx/a/b/a/b/", step), b"/a/b/c").expect("no error"), "{step}");
        }
        let mut long = vec![b'/'; 3 * BUFFER_BYTES];
        assert!(!holds(&mut long.as_slice(), b"/needle").expect("no error"));
        long.extend_from_slice(b"needle");
        assert!(holds(&mut long.as_slice(), b"/needle").expect("no error"));
    }
}
