//! Views of a record: one file a format. They show and decide nothing.

pub mod comment;
pub mod json;
pub mod markdown;
pub mod policy;
pub mod status;
pub mod step;
pub mod terminal;
mod words;

use crate::model::record::Record;

/// A format in which records are shown.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name in `--format`.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Shows one record, with the end of its last line. Fails only where the record cannot be written as JSON.
    pub render: fn(&Record, Canvas) -> serde_json::Result<String>,
}

/// What the text is shown on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Canvas {
    /// Whether escape sequences for colours are wanted.
    pub colour: bool,
    /// Columns, where they are limited.
    pub width: Option<u16>,
}

/// Every format; the first is the default.
pub const ALL: &[Format] = &[terminal::FORMAT, markdown::FORMAT, json::FORMAT];

/// The format of a name; the error lists the names that exist.
pub fn find(name: &str) -> Result<Format, String> {
    ALL.iter().find(|format| format.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|format| format.name).collect();
        format!("unknown format {name:?}: known are {}", names.join(", "))
    })
}
