//! `gate schema`.

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::answer;
use crate::exit;
use crate::model::record::Record;

/// Print the JSON schema of a format
#[derive(Debug, Args)]
pub struct Schema {
    /// The format
    #[arg(value_enum)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// What `--format json` prints, what `--out` writes, and what a ledger line is
    Record,
}

impl Schema {
    /// Prints it.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn run(&self) -> Result<u8> {
        let schema = match self.format {
            Format::Record => schemars::schema_for!(Record),
        };
        answer(&(serde_json::to_string_pretty(&schema)? + "\n"))?;
        Ok(exit::PASS.code)
    }
}
