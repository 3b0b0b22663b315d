//! JSON in a stream: one document, one a line, or one between the lines of a log.

use super::json::{self, Broken, Json};
use crate::model::number::count;
use crate::model::report::Refused;

/// The JSON of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct Documents {
    /// The values: one, or one a line.
    pub values: Vec<Json>,
    /// Whether they are lines of their own, so that more may be appended.
    pub lines: bool,
    /// Lines before and after that are no JSON.
    pub skipped: (usize, usize),
    /// The byte at which the text after the last value begins.
    pub end: usize,
    /// Whether the last line ends in the middle of a value and was left out.
    pub cut: bool,
}

impl Documents {
    /// What a reader should know about how they were found.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.skipped != (0, 0) {
            notes.push(format!(
                "skipped {} before, {} after",
                count(self.skipped.0 as u64, "line"),
                self.skipped.1
            ));
        }
        if self.cut {
            notes.push("the last line ends in the middle and was left out".to_owned());
        }
        notes
    }
}

/// Finds the JSON of a text; none where there is no JSON at all.
///
/// # Errors
/// When a document is truncated or broken, or there are two and it is not one a line.
pub fn documents(text: &str) -> Result<Option<Documents>, Refused> {
    let mut search = Search::default();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        let before = search.found.len();
        let taken = search.step(rest, line)?;
        if search.found.len() > before {
            search.end = text.len() - rest.len() + taken;
        }
        let (gone, after) = rest.split_at_checked(taken.max(1)).unwrap_or((rest, ""));
        line += gone.matches('\n').count();
        rest = after;
    }
    search.finish()
}

#[derive(Default)]
struct Search {
    found: Vec<Json>,
    /// Whether each found value stands on one line.
    on_lines: bool,
    before: usize,
    after: usize,
    end: usize,
    cut: bool,
}

impl Search {
    /// Takes a document or a line off the front; gives the bytes taken.
    fn step(&mut self, rest: &str, line: usize) -> Result<usize, Refused> {
        let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let (this, more) = rest.split_at_checked(line_end).unwrap_or((rest, ""));
        if this.trim().is_empty() {
            return Ok(line_end);
        }
        if !this.trim_start().starts_with(['{', '[']) {
            self.skip();
            return Ok(line_end);
        }
        match json::whole(this.trim()) {
            Ok(value) => {
                self.take(value, this.trim_start().starts_with('{'))?;
                Ok(line_end)
            }
            Err(Broken::Cut) => self.long(rest, more, line),
            // A line of a log may begin like JSON; one with a quoted key was meant to be.
            Err(Broken::Wrong(..)) if !looks_like_a_row(this) => {
                self.skip();
                Ok(line_end)
            }
            Err(broken) => Err(broken.refused(line)),
        }
    }

    /// A document of several lines, or a line that was cut.
    fn long(&mut self, rest: &str, more: &str, line: usize) -> Result<usize, Refused> {
        if more.trim().is_empty() && self.on_lines && !self.found.is_empty() {
            self.cut = true;
            return Ok(rest.len());
        }
        let (value, end) = json::first(rest).map_err(|broken| broken.refused(line))?;
        let tail = rest.get(end..).unwrap_or_default();
        let line_end = tail.find('\n').map_or(tail.len(), |at| at + 1);
        if !tail.get(..line_end).unwrap_or(tail).trim().is_empty() {
            let lines = rest.get(..end).unwrap_or(rest).matches('\n').count();
            return Err(Broken::Wrong(lines + 1, "something follows the value".to_owned()).refused(line));
        }
        self.take(value, false)?;
        Ok(end + line_end)
    }

    fn take(&mut self, value: Json, on_line: bool) -> Result<(), Refused> {
        let is_row = |item: &Json| !item.members().is_empty();
        let is_result = is_row(&value) || value.items().iter().any(is_row);
        if !is_result && !self.found.is_empty() {
            // An empty list among results is a line of a log.
            self.skip();
            return Ok(());
        }
        let is_next_line = on_line && self.on_lines;
        if !self.found.is_empty() && !is_next_line {
            return Err(Refused(
                "two JSON documents in one stream: which one counts cannot be told; give each a file of its own".to_owned(),
            ));
        }
        self.on_lines = on_line;
        self.found.push(value);
        self.after = 0;
        Ok(())
    }

    fn skip(&mut self) {
        let side = if self.found.is_empty() { &mut self.before } else { &mut self.after };
        *side += 1;
    }

    fn finish(self) -> Result<Option<Documents>, Refused> {
        if self.found.is_empty() {
            return Ok(None);
        }
        Ok(Some(Documents {
            values: self.found,
            lines: self.on_lines,
            skipped: (self.before, self.after),
            end: self.end,
            cut: self.cut,
        }))
    }
}

/// Whether a line that is no JSON was meant to be: it begins with a quoted key.
fn looks_like_a_row(line: &str) -> bool {
    let line = line.trim_start();
    line.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Documents {
        documents(text).unwrap().unwrap()
    }

    #[test]
    fn one_document_is_found_between_the_lines_of_a_log() {
        let text = "[info] start\ninit: 1 device\n[\n {\"a\": 1}\n]\nmain: done\n";
        let documents = found(text);
        assert_eq!((documents.values.len(), documents.lines, documents.skipped), (1, false, (2, 1)));
        assert_eq!(documents.notes(), ["skipped 2 lines before, 1 after"]);
    }

    #[test]
    fn lines_are_many_values_and_only_their_last_may_be_cut() {
        let documents = found("{\"a\": 1}\nlog\n{\"a\": 2}\n{\"a\": ");
        assert_eq!((documents.values.len(), documents.lines, documents.cut), (2, true, true));
        assert_eq!(documents.skipped, (0, 0), "a line between is neither before nor after");
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        for (text, word) in [
            ("{\"a\": [1,", "truncated"),
            ("[{\"a\": 1}]\n[{\"b\": 2}]\n", "two JSON documents"),
            ("{\n\"a\": 1\n}\n{\n\"b\": 2\n}\n", "two JSON documents"),
            ("{\n \"a\": 1,\n \"b\": x\n}\n", "not JSON at line 3"),
            ("{\"a\": 1}\n{\"a\" 2}\n{\"a\": 3}\n", "not JSON at line 2"),
        ] {
            let Refused(why) = documents(text).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
        assert_eq!(documents("tg=1\n[x] y\n").unwrap(), None);
    }
}
