//! The waivers of a change: read from its own files, because a reviewer accepts them with it.

use anyhow::{Result, bail};

use crate::edge::git::Repository;
use crate::edge::{clock, files};
use crate::model::fault::{Fault, Faults};
use crate::model::gate::waiver::{self, DAYS_MAX, FILE_MAX_BYTES, FOLDER, Standing, Waiver};
use crate::model::text::plain_line;

/// A change, as far as it brings waivers.
pub struct Change<'a> {
    /// The repository, able to see the change's tree.
    pub repository: &'a Repository,
    /// The tree or commit of the change; none for the files of the working tree as they are.
    pub candidate: Option<&'a str>,
    /// The commit that it is compared with; none where that is not known, so that no waiver is known to be the change's own.
    pub base: Option<&'a str>,
    /// It comes from a fork.
    pub from_fork: bool,
}

/// The waivers of a gate, and what a reviewer must see about them.
#[derive(Default)]
pub struct Waivers {
    /// Those that hold today.
    pub hold: Vec<Waiver>,
    /// Those that do not, and why.
    pub banners: Vec<String>,
}

impl Change<'_> {
    /// The waivers of one gate. A change of a fork brings none that count: nobody has agreed to them.
    ///
    /// # Errors
    /// Every fault of every file, of whatever gate.
    pub fn waivers(&self, gate: &str) -> Result<Waivers> {
        let today = clock::now_seconds();
        let mut found = Waivers::default();
        for waiver in self.all()?.into_iter().filter(|waiver| waiver.gate == gate) {
            let name = plain_line(&waiver.file, 200);
            match waiver.standing(today.get(..10).unwrap_or_default()) {
                _ if self.from_fork => found.banners.push(format!("{name}: a waiver of a fork excuses nothing")),
                Standing::Expired => found
                    .banners
                    .push(format!("{name}: expired after {}, so it excuses nothing", waiver.until)),
                Standing::TooLong => found.banners.push(format!(
                    "{name}: ends on {}, more than {DAYS_MAX} days ahead, so it excuses nothing yet",
                    waiver.until
                )),
                Standing::Holds => found.hold.push(waiver),
            }
        }
        Ok(found)
    }

    /// Every waiver, sorted by file; those that the base has already, or may have, are marked.
    fn all(&self) -> Result<Vec<Waiver>> {
        let (mut waivers, mut faults) = (Vec::new(), Vec::new());
        for name in self.listed()? {
            let file = format!("{FOLDER}/{name}");
            let Some(bytes) = self.read(&file)? else { continue };
            let carried = match self.base {
                Some(base) => self.repository.read_blob(base, &file)?.as_ref() == Some(&bytes),
                None => true,
            };
            let read = String::from_utf8(bytes)
                .map_err(|_| vec![Fault::new(&file, 1, "", 0, "not UTF-8 text".to_owned())])
                .and_then(|text| waiver::parse(&text, &file));
            match read {
                Ok(waiver) => waivers.push(Waiver { carried, ..waiver }),
                Err(more) => faults.extend(more),
            }
        }
        if faults.is_empty() {
            return Ok(waivers);
        }
        bail!(Faults {
            whose: "the waivers have faults",
            all: faults
        })
    }

    /// The names of the files, sorted.
    fn listed(&self) -> Result<Vec<String>> {
        let mut names = match self.candidate {
            Some(revision) => self.repository.list(revision, FOLDER)?,
            None => {
                let paths = files::listing(&self.repository.top().join(FOLDER), ".toml")?;
                let names = paths.iter().filter_map(|path| path.file_name());
                names.map(|name| name.to_string_lossy().into_owned()).collect()
            }
        };
        names.retain(|name| name.ends_with(".toml"));
        Ok(names)
    }

    fn read(&self, file: &str) -> Result<Option<Vec<u8>>> {
        match self.candidate {
            Some(revision) => self.repository.read_blob(revision, file),
            None => {
                let text = files::read_declared(&self.repository.top().join(file), FILE_MAX_BYTES)?;
                Ok(Some(text.into_bytes()))
            }
        }
    }
}
