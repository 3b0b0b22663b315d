//! The record itself, on one line.

use super::{Canvas, Format};
use crate::model::record::Record;

/// JSON.
pub const FORMAT: Format = Format {
    name: "json",
    about: "the record itself, on one line: what a ledger line is",
    render,
};

fn render(record: &Record, _: Canvas) -> serde_json::Result<String> {
    Ok(record.line()? + "\n")
}
