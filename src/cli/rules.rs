//! Where gates and baselines are read from: the base branch's tip on a pull request, so that a change cannot loosen the rule that judges it.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use super::waivers::{Change, Waivers};

use crate::edge::git::{self, Event, Repository};
use crate::edge::{environment, files};
use crate::model::gate::waiver::FOLDER;

/// Where rules come from.
pub struct Rules {
    repository: Option<Repository>,
    event: Option<Event>,
    top: PathBuf,
    /// The revision; none means the working tree.
    pub revision: Option<String>,
    /// That revision, or the working tree, in words.
    pub words: String,
}

/// One file where the rules come from.
pub struct Found {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where they were read, in words: `base tip 1a2b3c4`, `working tree`.
    pub from: String,
    /// What a reviewer must see about it.
    pub banner: Option<String>,
    /// The rules do not have it: what it says only advises.
    pub is_new: bool,
}

impl Rules {
    /// Looks at the repository around the working folder and at this job's event; outside a repository files are read as they stand.
    ///
    /// # Errors
    /// When the revision is not here, or a pull request's job runs outside its repository.
    pub fn open(wanted: Option<&str>) -> Result<Self> {
        let folder = files::working_folder()?;
        let event = Event::of_this_job()?;
        if git::top(&folder).is_none() {
            if wanted.is_some() || event.is_some() {
                bail!("rules come from a revision, and this is no git repository: run inside the checkout");
            }
            return Ok(Self {
                repository: None,
                event: None,
                top: folder,
                revision: None,
                words: "working tree".to_owned(),
            });
        }
        let repository = Repository::open(&folder, &environment::of_children(&[]).kept)?;
        let (revision, words) = revision(&repository, event.as_ref(), wanted)?;
        Ok(Self {
            top: repository.top().to_owned(),
            repository: Some(repository),
            event,
            revision,
            words,
        })
    }

    /// The files of a revision, written out below a folder; `words` say which.
    pub fn written_out(top: &Path, words: &str) -> Self {
        Self {
            repository: None,
            event: None,
            top: top.to_owned(),
            revision: None,
            words: words.to_owned(),
        }
    }

    /// The commit that the judgement answers for: the event's, else the one that is checked out; none outside a repository.
    pub fn head(&self) -> Option<String> {
        let of_event = self.event.as_ref().and_then(Event::answers_for);
        of_event.or_else(|| git::source(&self.top).ok().map(|source| source.commit))
    }

    /// The waivers of one gate, from the files of this change; in a job those that are committed, because what ran there before may have written
    /// others. Outside a repository nobody reviews any.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn waivers(&self, gate: &str) -> Result<Waivers> {
        let Some(repository) = self.repository.as_ref().filter(|_| files::is_there(&self.top.join(FOLDER))) else {
            return Ok(Waivers::default());
        };
        let chosen = git::choose(repository, self.event.as_ref(), None).ok();
        let change = Change {
            repository,
            candidate: self.event.as_ref().map(|_| "HEAD"),
            base: chosen.as_ref().map(|chosen| chosen.commit.as_str()),
            from_fork: self.event.as_ref().is_some_and(Event::is_from_fork),
        };
        change.waivers(gate)
    }

    /// A file, by its path from the working folder: where the rules come from if the repository holds it, else as it stands. None where
    /// there is no such file.
    ///
    /// # Errors
    /// When it is a link, too large, or cannot be read.
    pub fn read(&self, path: &Path, max_bytes: u64) -> Result<Option<Found>> {
        let own = files::read_input(&files::working_folder()?.join(path), max_bytes)?;
        let (Some(revision), Some(repository), Some(inside)) = (&self.revision, &self.repository, self.inside(path)) else {
            return Ok(own.map(|bytes| self.found(bytes)));
        };
        let there = repository.read_blob_within(revision, &inside, max_bytes)?;
        Ok(match (there, own) {
            (Some(bytes), own) => {
                let banner = match own {
                    Some(own) if own == bytes => None,
                    Some(_) => Some(format!("this change edits {inside}: that of the {} is used", self.words)),
                    None => Some(format!("this change removes {inside}: that of the {} is used", self.words)),
                };
                Some(Found {
                    banner,
                    ..self.found(bytes)
                })
            }
            (None, Some(own)) => Some(Found {
                bytes: own,
                from: "candidate".to_owned(),
                banner: Some(format!(
                    "{inside} is new: the {} does not have it, so that it only advises",
                    self.words
                )),
                is_new: true,
            }),
            (None, None) => None,
        })
    }

    /// A file as the rules' revision has it; none where rules come from the working tree, or it does not have the file.
    ///
    /// # Errors
    /// When it is larger than `max_bytes`, or cannot be read.
    pub fn committed(&self, path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>> {
        let (Some(revision), Some(repository), Some(inside)) = (&self.revision, &self.repository, self.inside(path)) else {
            return Ok(None);
        };
        repository.read_blob_within(revision, &inside, max_bytes)
    }

    fn found(&self, bytes: Vec<u8>) -> Found {
        Found {
            bytes,
            from: self.words.clone(),
            banner: None,
            is_new: false,
        }
    }

    /// A declared path, which is relative to the top, as short as it can be named from here.
    pub fn named(&self, path: &str) -> PathBuf {
        short(&self.top.join(path))
    }

    /// The files of a folder of the rules, by their paths from the working folder, sorted.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self, folder: &str, suffix: &str) -> Result<Vec<PathBuf>> {
        let below = self.top.join(folder);
        let mut found = if files::is_folder(&below) {
            files::listing(&below, suffix)?
        } else {
            Vec::new()
        };
        if let (Some(revision), Some(repository)) = (&self.revision, &self.repository) {
            let there = repository.list(revision, folder)?.into_iter();
            let there = there.filter(|name| name.ends_with(suffix) && !name.contains('/'));
            found.extend(there.map(|name| below.join(name)));
        }
        found.sort_unstable();
        found.dedup();
        Ok(found.iter().map(|path| short(path)).collect())
    }

    /// A path below the top of the working tree as the repository names it; none where it lies outside.
    fn inside(&self, path: &Path) -> Option<String> {
        let absolute = files::working_folder().ok()?.join(path);
        let folder = absolute.parent()?.canonicalize().ok()?;
        let top = self.top.canonicalize().ok()?;
        let below = folder.join(absolute.file_name()?);
        Some(below.strip_prefix(&top).ok()?.to_string_lossy().into_owned())
    }
}

/// A path as short as it can be named from here.
fn short(path: &Path) -> PathBuf {
    let below = |folder: PathBuf| path.strip_prefix(folder).ok().map(Path::to_owned);
    files::working_folder().ok().and_then(below).unwrap_or_else(|| path.to_owned())
}

/// The revision that rules are read from, and what it is called.
///
/// # Errors
/// When it is not here.
pub fn revision(repository: &Repository, event: Option<&Event>, wanted: Option<&str>) -> Result<(Option<String>, String)> {
    let short = |commit: &str| commit.chars().take(7).collect::<String>();
    if let Some(revision) = wanted {
        let commit = repository.commit(revision)?;
        let commit = commit.ok_or_else(|| anyhow!("--rules-from {revision}: no such commit here"))?;
        let words = format!("revision {}", short(&commit));
        return Ok((Some(commit), words));
    }
    Ok(match git::rules(repository, event)? {
        Some(tip) => {
            let words = format!("base tip {}", short(&tip));
            (Some(tip), words)
        }
        None => (None, "working tree".to_owned()),
    })
}
