//! What is wrong with a file, and where.

use std::fmt;

/// A place in a file with what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What was seen, what was expected, what to do next.
    pub what: String,
}

impl Fault {
    /// A fault at a byte of a line, counted from 0.
    pub fn new(file: &str, line: usize, text: &str, byte: usize, what: String) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        Self {
            file: file.to_owned(),
            line,
            column: before.chars().count() + 1,
            what,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, what } = self;
        write!(f, "{file}:{line}:{column}: {what}")
    }
}

impl std::error::Error for Fault {}

/// Everything that is wrong with some files, as one error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    /// Whose faults they are: `the gates have faults`.
    pub whose: &'static str,
    /// Each of them.
    pub all: Vec<Fault>,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.whose)?;
        self.all.iter().try_for_each(|fault| write!(f, "\n{fault}"))
    }
}

impl std::error::Error for Faults {}
