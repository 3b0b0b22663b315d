//! `gate baseline import`: older `key=value` files as historical lines.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;

use super::{path_of, read};
use crate::cli::{answer, say};
use crate::edge::{baselines, clock, files};
use crate::exit;
use crate::model::baseline::import::{Provenance, import_hipfire, merge};
use crate::model::baseline::{Baseline, arch_of_file, is_arch, is_date};

/// Read an older `key=value` baseline as historical lines: shown, usable for a floor, never a reference for a claim
#[derive(Debug, Args)]
pub struct Import {
    /// The older file
    file: PathBuf,
    /// The architecture that it was measured on, such as gfx942
    #[arg(long)]
    arch: String,
    /// Who published it
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// The day of the measurement, YYYY-MM-DD [default: today, and it is said so]
    #[arg(long)]
    date: Option<String>,
    /// Which statistic the values are, such as best-of-2
    #[arg(long, value_name = "TEXT")]
    stat: Option<String>,
    /// The baseline that it goes into [default: baselines/ARCH.txt]
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

impl Import {
    /// Imports every line or none.
    ///
    /// # Errors
    /// When the older file is wrong, or a line is in the baseline already.
    pub fn run(&self) -> Result<u8> {
        if !is_arch(&self.arch) {
            bail!("--arch: {:?} is no architecture such as gfx942", self.arch);
        }
        let date = match &self.date {
            Some(date) if is_date(date) => date.clone(),
            Some(date) => bail!("--date: {date:?} is no day such as 2026-11-30"),
            None => {
                say("no --date: the lines are dated today, the day of the import");
                clock::now().chars().take(10).collect()
            }
        };
        let text = files::read_text(&self.file)?;
        let provenance = Provenance {
            date,
            source: self.source.clone(),
            stat: self.stat.clone(),
        };
        let lines = import_hipfire(&text, &self.arch, &provenance, &self.file.to_string_lossy()).map_err(|fault| anyhow!(fault))?;
        let path = path_of(self.baseline.as_deref(), &self.arch)?;
        let held = baselines::hold(&path)?;
        let baseline = read(&path)?.unwrap_or_else(|| Baseline::new(&self.arch));
        if baseline.arch != self.arch || arch_of_file(&path.to_string_lossy()) != self.arch {
            bail!("{}: is not of {}: name baselines/{}.txt", path.display(), self.arch, self.arch);
        }
        let count = lines.len();
        let merged = merge(&baseline, lines).map_err(|why| anyhow!(why))?;
        baselines::write(&held, &path, &merged.write(), &[])?;
        answer(&format!("imported {count} historical lines into {}\n", path.display()))?;
        Ok(exit::PASS.code)
    }
}
