//! The mark of a comment: its first line, by which its owner finds it again.

use std::fmt;

/// Longest key.
const KEY_MAX: usize = 40;
/// The beginning of every marker.
const OPENING: &str = "<!-- gate:v1 key=";
/// The end of every marker.
const CLOSING: &str = " -->";

/// Which of several comments on one pull request: 1 to 40 of `a-z`, `0-9` and `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// When it holds anything else, or nothing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        if (1..=KEY_MAX).contains(&text.len()) && text.bytes().all(fits) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("{text:?}: a key is 1 to {KEY_MAX} of a-z, 0-9 and -"))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One run of a workflow. The order is that of the news: a later run of the workflow, then a later attempt at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Run {
    /// `GITHUB_RUN_NUMBER`: counts the runs of one workflow.
    pub number: u64,
    /// `GITHUB_RUN_ATTEMPT`, from 1.
    pub attempt: u32,
    /// `GITHUB_RUN_ID`.
    pub id: u64,
}

/// The first line of a comment: whose it is, of which run, and which commit it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Which of several comments.
    pub key: Key,
    /// The run that wrote it.
    pub run: Run,
    /// The commit that it speaks of.
    pub head: String,
    /// The commit that the comment spoke of before its head moved.
    pub before: Option<String>,
}

impl Marker {
    /// The line, without its end. Nothing is shown of it: it is a comment of HTML.
    pub fn line(&self) -> String {
        let Self { key, run, head, before } = self;
        let before = before.as_deref().map_or_else(String::new, |before| format!(" before={before}"));
        format!(
            "{OPENING}{key} run={} attempt={} number={} head={head}{before}{CLOSING}",
            run.id, run.attempt, run.number
        )
    }

    /// The marker that a comment begins with, at byte 0 and exactly as [`Marker::line`] writes it; none where anything differs.
    ///
    /// Anybody can write such a line: a comment is owned only where its author is the one that posts, too.
    pub fn at_start(comment: &str) -> Option<Self> {
        let line = comment.lines().next()?;
        let fields = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
        let mut fields = fields.split(' ');
        let key = Key::parse(fields.next()?).ok()?;
        let mut field = |name: &str| fields.next()?.strip_prefix(name)?.strip_prefix('=');
        let marker = Self {
            key,
            run: Run {
                id: field("run")?.parse().ok()?,
                attempt: field("attempt")?.parse().ok()?,
                number: field("number")?.parse().ok()?,
            },
            head: commit(field("head")?)?,
            before: match field("before") {
                Some(before) => Some(commit(before)?),
                None => None,
            },
        };
        (marker.line() == line).then_some(marker)
    }

    /// This marker in place of an earlier one: it remembers which other commit the comment spoke of last.
    #[must_use]
    pub fn after(self, previous: &Self) -> Self {
        let before = if previous.head == self.head {
            previous.before.clone()
        } else {
            Some(previous.head.clone())
        };
        Self { before, ..self }
    }
}

/// Whether a text is the full id of a commit, in lower-case hex.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

fn commit(text: &str) -> Option<String> {
    is_commit(text).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            key: Key::parse("perf-7b").unwrap(),
            run: Run {
                number: 12,
                attempt: 2,
                id: 9_876_543_210,
            },
            head: "1a2b3c4d".repeat(5),
            before: None,
        }
    }

    #[test]
    fn a_marker_is_read_back_as_it_was_written() {
        let plain = marker();
        assert_eq!(
            plain.line(),
            format!(
                "<!-- gate:v1 key=perf-7b run=9876543210 attempt=2 number=12 head={} -->",
                "1a2b3c4d".repeat(5)
            )
        );
        let moved = Marker {
            head: "0".repeat(40),
            ..marker()
        }
        .after(&plain);
        for marker in [plain, moved] {
            for end in ["", "\nbody", "\r\nbody\r\n"] {
                assert_eq!(Marker::at_start(&(marker.line() + end)), Some(marker.clone()));
            }
        }
    }

    #[test]
    fn nothing_else_is_a_marker() {
        let line = marker().line();
        for text in [
            String::new(),
            format!(" {line}"),
            format!("> {line}"),
            format!("\n{line}"),
            format!("{line} and more"),
            line.replace("v1", "v2"),
            line.replace("perf-7b", "Perf"),
            line.replace("key=perf-7b", "key="),
            line.replace("attempt=2", "attempt=02"),
            line.replace("attempt=2", "attempt=+2"),
            line.replace("attempt=2", "attempt=-2"),
            line.replace("attempt=2 ", ""),
            line.replace("1a2b3c4d1a2b", "1A2B3C4D1a2b"),
            line.replace("1a2b3c4d1a2b", ""),
            line.replace(" -->", " x=1 -->"),
            line.replace(" -->", " before=zz -->"),
            line.replace(" -->", "  -->"),
        ] {
            assert_eq!(Marker::at_start(&text), None, "{text}");
        }
    }

    #[test]
    fn a_later_run_and_a_later_attempt_are_news() {
        let run = |number, attempt, id| Run { number, attempt, id };
        assert!(run(13, 1, 1) > run(12, 5, 9));
        assert!(run(12, 2, 9) > run(12, 1, 9));
    }

    #[test]
    fn a_key_is_short_and_plain() {
        for good in ["default", "perf-7b", "0", &"a".repeat(40)] {
            assert!(Key::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "A", "a b", "a_b", "-->", "ü", &"a".repeat(41)] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
    }
}
