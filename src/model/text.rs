//! Foreign bytes made safe to search and to show.

use std::borrow::Cow;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Decodes foreign bytes into text without terminal control: escape sequences are removed as a terminal would swallow them,
/// every other control character (except line ends and tabs) and every invalid byte becomes U+FFFD, so that nothing joins what
/// stood apart. A leading byte order mark is dropped.
pub fn plain(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut kept = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == ESCAPE {
            at += escape_length(bytes.get(at..).unwrap_or_default());
        } else {
            kept.push(byte);
            at += 1;
        }
    }
    let visible = |c: char| {
        if c.is_control() && !matches!(c, '\n' | '\r' | '\t') {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    String::from_utf8_lossy(&kept).chars().map(visible).collect()
}

/// As [`plain`], without a copy where nothing has to be changed.
pub fn plain_cow(bytes: &[u8]) -> Cow<'_, str> {
    // 0xc2 begins the control characters beyond ASCII.
    let is_plain = |byte: &u8| !byte.is_ascii_control() && *byte != 0xc2 || matches!(byte, b'\n' | b'\r' | b'\t');
    // Without a way out in the middle many bytes are looked at in one step.
    let all_plain = || bytes.iter().fold(true, |all, byte| all & is_plain(byte));
    match std::str::from_utf8(bytes) {
        Ok(text) if all_plain() && !bytes.starts_with(b"\xef\xbb\xbf") => Cow::Borrowed(text),
        _ => Cow::Owned(plain(bytes)),
    }
}

/// Foreign text as part of one line: as [`plain`], with line ends and tabs as spaces, without characters that are not seen or that turn the
/// direction of writing, and cut, visibly, at `limit` characters.
pub fn plain_line(text: &str, limit: usize) -> String {
    let clean = plain(text.as_bytes());
    let parts_lines = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let seen = clean.chars().filter(|c| !is_unseen(*c));
    let mut characters = seen.map(|c| if parts_lines(c) { ' ' } else { c });
    let mut line: String = characters.by_ref().take(limit).collect();
    if characters.next().is_some() {
        line.push('…');
    }
    line
}

/// Whether a character shows nothing by itself, or turns the direction of writing.
pub fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Lines of which none begins with a command to the runner of a continuous integration: `::` or `##[`, with any spaces before it.
pub fn no_commands(text: &str) -> String {
    let part = |line: &str| {
        let begun = line.trim_start();
        let indent = &line[..line.len() - begun.len()];
        match begun.chars().next() {
            Some(first) if begun.starts_with("::") || begun.starts_with("##[") => format!("{indent}{first} {}", &begun[1..]),
            _ => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(part).collect()
}

/// Length of the escape sequence at the start of `bytes`, at least 1. An unfinished one ends at the line's end, so that a stray
/// escape cannot swallow the rest of the output.
fn escape_length(bytes: &[u8]) -> usize {
    let run = |from: usize, wanted: std::ops::RangeInclusive<u8>| bytes.iter().skip(from).take_while(|byte| wanted.contains(byte)).count();
    let is = |at: usize, wanted: std::ops::RangeInclusive<u8>| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
    match bytes.get(1) {
        // CSI: parameters, then one final byte.
        Some(b'[') => {
            let end = 2 + run(2, 0x20..=0x3f);
            end + usize::from(is(end, 0x40..=0x7e))
        }
        // OSC, DCS, PM, APC, SOS: text up to BEL or ESC \.
        Some(b']' | b'P' | b'^' | b'_' | b'X') => {
            let stop = bytes
                .iter()
                .skip(2)
                .position(|byte| matches!(*byte, b'\n' | BELL | ESCAPE))
                .map_or(bytes.len(), |n| n + 2);
            match (bytes.get(stop), bytes.get(stop + 1)) {
                (Some(&BELL), _) => stop + 1,
                (Some(&ESCAPE), Some(b'\\')) => stop + 2,
                _ => stop,
            }
        }
        // Intermediate bytes, then one final byte.
        Some(_) => {
            let end = 1 + run(1, 0x20..=0x2f);
            end + usize::from(is(end, 0x30..=0x7e))
        }
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_vanish_and_controls_show() {
        for (bytes, text) in [
            (&b"\x1b[1;32mtg=1\x1b[0m"[..], "tg=1"),
            (b"\x1b]0;title\x07a=2", "a=2"),
            (b"\x1b]8;;http://x\x1b\\a=2\x1b]8;;\x1b\\", "a=2"),
            (b"\x1b]never ended\na=3", "\na=3"),
            (b"\x1b(Ba=4", "a=4"),
            (b"1\x003\x08", "1\u{fffd}3\u{fffd}"),
            (b"\xef\xbb\xbfa\xff", "a\u{fffd}"),
            (b"a\x1b", "a"),
            (b"a\x1b[", "a"),
            (b"a\tb\r\n", "a\tb\r\n"),
        ] {
            assert_eq!(plain(bytes), text, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_holds_nothing_unseen_and_ends_where_it_should() {
        assert_eq!(plain_line("a\tb\r\nc\u{2028}d", 100), "a b  c d");
        assert_eq!(plain_line("g\u{202e}a\u{200b}t\u{ad}e\u{e0041}\u{feff}", 100), "gate");
        assert_eq!(plain_line("abcdef", 3), "abc…");
        assert_eq!(plain_line("abc", 3), "abc");
    }

    #[test]
    fn no_line_commands_a_runner() {
        assert_eq!(
            no_commands("::error::x\n  ::set-env y\n##[group]z\na::b\n# c\n::"),
            ": :error::x\n  : :set-env y\n# #[group]z\na::b\n# c\n: :"
        );
    }
}
