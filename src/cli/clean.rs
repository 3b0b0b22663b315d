//! `gate clean`: what earlier runs left behind.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use super::{answer, say};
use crate::edge::arms::claim::{self, Removed};
use crate::edge::arms::store::{Limits, Store};
use crate::edge::{files, git, tidy};
use crate::exit;

/// Remove what earlier runs left: trees of killed runs, kept builds beyond the limits, old sessions
///
/// The ledger and running sessions are never touched.
#[derive(Debug, Args)]
pub struct Clean {
    /// Remove sessions and build logs that were last written at least this many days ago
    #[arg(long, value_name = "N", default_value_t = 30)]
    days: u32,
    /// Also remove every kept build, and unfinished sessions of that age
    #[arg(long)]
    all: bool,
    /// Where builds are kept [default: .gate/cache]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

impl Clean {
    /// Removes, and says what and how much.
    ///
    /// # Errors
    /// When something cannot be looked at or removed.
    pub fn run(&self) -> Result<u8> {
        let cwd = files::working_folder()?;
        let state = git::top(&cwd).unwrap_or(cwd).join(".gate");
        let age = Duration::from_secs(u64::from(self.days) * 24 * 3600);
        let trees = state.join("trees");
        let cache = self.cache_dir.clone().unwrap_or_else(|| state.join("cache"));
        let limits = if self.all { Limits::NONE } else { Limits::DEFAULT };
        let done = [
            (
                "trees of killed runs",
                if files::is_folder(&trees) {
                    claim::sweep(&trees)?
                } else {
                    Removed::default()
                },
            ),
            (
                "kept builds",
                match Store::existing(&cache, limits)? {
                    Some(store) => store.clean(limits)?,
                    None => Removed::default(),
                },
            ),
            ("old sessions", tidy::old_sessions(&state.join("sessions"), age, self.all)?),
            ("old build logs", tidy::old_files(&state.join("logs"), age)?),
        ];
        let mut out = String::new();
        for (what, removed) in done.iter().filter(|(_, removed)| removed.count > 0) {
            out.push_str(&format!("removed {what}: {}, {}\n", removed.count, mebibytes(removed.bytes)));
        }
        if out.is_empty() {
            out.push_str("nothing to remove\n");
        }
        answer(&out)?;
        let problems: Vec<&String> = done.iter().flat_map(|(_, removed)| &removed.problems).collect();
        for problem in &problems {
            say(&format!("gate: cannot remove {problem}"));
        }
        if !problems.is_empty() {
            bail!("{} things could not be removed: remove them by hand", problems.len());
        }
        Ok(exit::PASS.code)
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
