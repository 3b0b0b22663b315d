//! `gate completions`.

use anyhow::Result;
use clap::Args;
use clap_complete::{Shell, generate};

use super::answer;
use crate::exit;

/// Print the completions of a shell
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints them.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn run(&self) -> Result<u8> {
        let mut text = Vec::new();
        generate(self.shell, &mut super::program(), "gate", &mut text);
        answer(&String::from_utf8_lossy(&text))?;
        Ok(exit::PASS.code)
    }
}
