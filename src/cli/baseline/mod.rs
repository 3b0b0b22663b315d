//! `gate baseline`: the committed memory across sessions. Only `accept`, `import` and `gate noise --accept` write it.

mod accept;
pub mod band;
pub mod check;
mod import;
mod scores;
mod show;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};

use crate::edge::{baselines, files, git};
use crate::model::baseline::{Baseline, parse_bytes};

/// Accept sessions into the committed baseline, show it, and check it against its evidence
#[derive(Debug, Args)]
pub struct BaselineCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Accept(accept::Accept),
    /// Show what a baseline holds
    Show {
        /// The file [default: every file in baselines/]
        file: Option<PathBuf>,
    },
    /// Show what changed since a revision
    Diff {
        /// The revision
        rev: String,
        /// The file [default: every file in baselines/]
        file: Option<PathBuf>,
    },
    /// Check every line against its evidence: seal, judgement, values, identity, dates
    Check {
        /// The files [default: every file in baselines/]
        files: Vec<PathBuf>,
    },
    Import(import::Import),
}

impl BaselineCommand {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// When something cannot be read or written, or a record may not be accepted.
    pub fn run(&self) -> Result<u8> {
        match &self.command {
            Command::Accept(accept) => accept.run(),
            Command::Show { file } => show::show(&named(file.as_slice())?),
            Command::Diff { rev, file } => show::diff(rev, &named(file.as_slice())?),
            Command::Check { files } => check::check(&named(files)?),
            Command::Import(import) => import.run(),
        }
    }
}

/// The project's folder: the top of the repository, else the working folder.
fn project() -> Result<PathBuf> {
    let cwd = files::working_folder()?;
    Ok(git::top(&cwd).unwrap_or(cwd))
}

/// The project's baselines, as short as they can be named from here.
fn folder() -> Result<PathBuf> {
    let folder = project()?.join("baselines");
    let cwd = files::working_folder()?.canonicalize()?;
    Ok(folder.strip_prefix(&cwd).map_or_else(|_| folder.clone(), Path::to_owned))
}

/// The named files, else every file in `baselines/`.
fn named(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if !files.is_empty() {
        return Ok(files.to_vec());
    }
    let folder = folder()?;
    let mut found = baselines::list(&folder)?;
    found.extend(scores::list()?);
    if found.is_empty() {
        bail!("no baseline in {}: `gate baseline accept` makes one", folder.display());
    }
    Ok(found)
}

/// Where the baseline of an architecture stands, unless another file is named.
fn path_of(named: Option<&Path>, arch: &str) -> Result<PathBuf> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => Ok(folder()?.join(format!("{arch}.txt"))),
    }
}

/// Reads a baseline; none where there is no such file.
fn read(path: &Path) -> Result<Option<Baseline>> {
    let Some(bytes) = baselines::read(path)? else { return Ok(None) };
    let baseline = parse_bytes(&bytes, &path.to_string_lossy()).map_err(|fault| anyhow!(fault))?;
    Ok(Some(baseline))
}

/// Reads a baseline that has to be there.
fn read_existing(path: &Path) -> Result<Baseline> {
    read(path)?.ok_or_else(|| anyhow!("no such file: {}", path.display()))
}

/// Where the evidence of a line stands.
fn evidence_path(baseline: &Path, arch: &str, date: &str, record: &str) -> PathBuf {
    baselines::folder_of(baseline)
        .join("evidence")
        .join(arch)
        .join(format!("{date}-{record}.json"))
}

/// A fixture's name in a table.
fn shown(fixture: &str) -> String {
    match fixture {
        "" => "-".to_owned(),
        fixture => crate::model::text::plain_line(fixture, 60),
    }
}
