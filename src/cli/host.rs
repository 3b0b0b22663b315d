//! `gate host`: a snapshot of this machine, which other commands can read instead of it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};

use super::answer;
use crate::edge::host::Source;
use crate::edge::{files, host};
use crate::exit;

/// Write this machine down as a snapshot, to look at elsewhere
#[derive(Debug, Args)]
pub struct Host {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write what identity and preflight read: text, bytes or failure of every file; serial numbers and host names as hashes
    Capture {
        /// Where the snapshot goes
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// A snapshot or folder to capture instead of this machine
        #[arg(long, value_name = "FILE")]
        host: Option<PathBuf>,
    },
}

impl Host {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// When the snapshot cannot be written.
    pub fn run(&self) -> Result<u8> {
        let Command::Capture { out, host: of } = &self.command;
        files::check_writable(out)?;
        let text = host::capture(&source(of.as_deref())?)?;
        files::write(out, text.as_bytes())?;
        answer(&format!("{}: written; read it before it is given away\n", out.display()))?;
        Ok(exit::PASS.code)
    }
}

/// Where a machine is read from: this one unless another is named.
pub(super) fn source(named: Option<&Path>) -> Result<Source> {
    named.map_or_else(|| Ok(Source::folder(Path::new("/"))), host::open)
}
