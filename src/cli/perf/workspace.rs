//! The repository as one run of declared gates sees it: what is compared, where the rules come from, which gates there are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};

use super::Perf;
use crate::cli::gates::{GATE_MAX_BYTES, read};
use crate::cli::rules;
use crate::cli::waivers::Change;
use crate::edge::arms::claim::Claim;
use crate::edge::arms::trees::Trees;
use crate::edge::environment::{self, Scrubbed};
use crate::edge::files;
use crate::edge::git::{self, Candidate, Chosen, Event, Repository, choose};
use crate::model::fault::{Fault, Faults};
use crate::model::gate::declaration::{Declaration, Source};

/// The repository as one run sees it.
pub struct Workspace {
    /// The repository, able to see the candidate's objects.
    pub repository: Repository,
    /// The base, or why there is none.
    pub base: Result<Chosen, String>,
    /// The candidate's tree.
    pub candidate: String,
    /// The candidate's commit and branch, and whether files differ from it.
    pub head: Result<crate::model::identity::Source, String>,
    /// The revision that gates, baselines and prompts are read from; none means the working tree.
    pub rules: Option<String>,
    /// That revision, or the working tree, in words.
    pub rules_in_words: String,
    /// What differs between the base and the candidate, as paths; none where there is nothing to compare with.
    pub changed: Option<Vec<String>>,
    /// The commit that the result answers for.
    pub answers_for: Option<String>,
    /// The candidate comes from a fork.
    pub from_fork: bool,
    /// Where arms are made.
    pub trees: Trees,
    /// The candidate's new objects; they go when this does.
    _objects: Claim,
}

/// A gate with what is known about its file.
pub struct Declared {
    /// Its name: the file's, without the ending.
    pub name: String,
    /// Where it was read from, in words.
    pub from: String,
    /// Its file, as the repository names it.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What it declares.
    pub declaration: Declaration,
    /// What a reviewer must see about it.
    pub banners: Vec<String>,
    /// The base does not have it: it runs, and only advises.
    pub is_new: bool,
}

impl Workspace {
    /// Looks at the repository around the working folder.
    ///
    /// # Errors
    /// Outside a repository, or when it cannot be read.
    pub fn open(options: &Perf, state: &Path, scrubbed: &Scrubbed) -> Result<Self> {
        let folder = files::working_folder()?;
        let repository = Repository::open(&folder, &scrubbed.kept)
            .context("declared gates need a git repository: run in one, or compare two commands with --a and --b")?;
        let trees = Trees::open(state, &repository)?;
        let event = Event::of_this_job()?;
        refuse_a_token_in_a_forks_run(event.as_ref())?;
        let chosen = match &options.revisions {
            Some((a, b)) => Ok(Chosen::of_two(a, b)),
            None => choose(&repository, event.as_ref(), options.base.as_deref()).map_err(|error| format!("{error:#}")),
        };
        let (rules, rules_in_words) = rules::revision(&repository, event.as_ref(), options.rules_from.as_deref())?;
        let objects = trees.claim(None)?;
        let (candidate, repository) = match &chosen {
            Ok(Chosen {
                candidate: Candidate::Commit(commit),
                ..
            }) => (repository.tree(commit)?, repository),
            // Without a base nothing says whether the working tree differs: it is taken as it is.
            Ok(_) | Err(_) => {
                let snapshot = repository.snapshot(objects.path(), false)?;
                (snapshot.tree, snapshot.repository)
            }
        };
        let compared = match (&options.revisions, &chosen) {
            (Some((a, b)), _) => Some((a.clone(), b.clone())),
            // By itself a candidate is compared with nothing, but a change is still one.
            (None, Ok(chosen)) if !options.no_base || event.is_some() => Some((chosen.commit.clone(), candidate.clone())),
            (None, _) => None,
        };
        let changed = compared.map(|(a, b)| changed(&repository, &a, &b)).transpose()?;
        let answers_for = match &chosen {
            Ok(chosen) => Some(chosen.head_sha.clone()),
            Err(_) => repository.commit("HEAD")?,
        };
        let base = if options.no_base { Err("--no-base".to_owned()) } else { chosen };
        Ok(Self {
            repository,
            base,
            candidate,
            head: git::source(&folder),
            rules,
            rules_in_words,
            changed,
            answers_for,
            from_fork: event.as_ref().is_some_and(Event::is_from_fork),
            trees,
            _objects: objects,
        })
    }

    /// The change, as far as it brings waivers.
    pub fn change(&self) -> Change<'_> {
        Change {
            repository: &self.repository,
            candidate: Some(&self.candidate),
            base: self.base.as_ref().ok().map(|chosen| chosen.commit.as_str()),
            from_fork: self.from_fork,
        }
    }

    /// Whether the change touches a path.
    fn touches(&self, path: &str) -> bool {
        self.changed.iter().flatten().any(|changed| changed == path)
    }

    /// The text of a file where the rules come from; none where there is no such file.
    ///
    /// # Errors
    /// When it is a link, too large, or not text.
    pub fn rule_text(&self, path: &str, max_bytes: u64) -> Result<Option<String>> {
        match &self.rules {
            Some(revision) => self.blob(revision, path),
            None => {
                let file = self.repository.top().join(path);
                files::is_there(&file).then(|| files::read_declared(&file, max_bytes)).transpose()
            }
        }
    }

    fn blob(&self, revision: &str, path: &str) -> Result<Option<String>> {
        let bytes = self.repository.read_blob(revision, path)?;
        bytes
            .map(|bytes| String::from_utf8(bytes).map_err(|_| anyhow!("{path}: not UTF-8")))
            .transpose()
    }

    /// The gates of this run: the named ones, else every one in `gates/`, those that measure.
    ///
    /// # Errors
    /// Every fault of every gate file; or there is none.
    pub fn gates(&self, named: &[PathBuf]) -> Result<Vec<Declared>> {
        let paths = if named.is_empty() {
            self.listed()?
        } else {
            named.iter().map(|path| self.inside(path)).collect::<Result<_>>()?
        };
        if paths.is_empty() {
            bail!("no gate is declared: there is no gates/*.toml here; `gate init` writes one, or name two commands with --a and --b");
        }
        let (mut gates, mut faults) = (Vec::new(), Vec::new());
        for path in &paths {
            match self.gate(path)? {
                None if named.is_empty() => {}
                None => bail!("{path}: the {} does not have it any more", self.rules_in_words),
                Some(Ok(gate)) if gate.declaration.source == Source::Run => gates.push(gate),
                Some(Ok(_)) if named.is_empty() => {}
                Some(Ok(_)) => bail!("{path}: its evidence comes from another tool's files; `gate perf` runs gates of source run"),
                Some(Err(more)) => faults.extend(more),
            }
        }
        if !faults.is_empty() {
            bail!(Faults {
                whose: "the gates have faults",
                all: faults
            });
        }
        if gates.is_empty() {
            bail!("no gate in gates/ measures anything itself: none has source = \"run\"");
        }
        Ok(gates)
    }

    /// Every gate file that the rules' revision or the candidate has.
    fn listed(&self) -> Result<Vec<String>> {
        let of = |revision: &str| -> Result<Vec<String>> {
            let files = self.repository.list(revision, "gates")?;
            Ok(files
                .into_iter()
                .filter(|path| path.ends_with(".toml"))
                .map(|path| format!("gates/{path}"))
                .collect())
        };
        let mut paths = of(&self.candidate)?;
        if let Some(revision) = &self.rules {
            paths.extend(of(revision)?);
        } else {
            // Without version control of them yet, ignored files count as well.
            for file in files::listing(&self.repository.top().join("gates"), ".toml")? {
                paths.push(self.inside(&file)?);
            }
        }
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// A path below the top of the working tree, as the repository names it.
    ///
    /// # Errors
    /// When it lies outside.
    pub fn inside(&self, path: &Path) -> Result<String> {
        let absolute = files::working_folder()?.join(path);
        let folder = absolute.parent().and_then(|folder| folder.canonicalize().ok());
        let absolute = folder
            .zip(absolute.file_name())
            .map_or_else(|| absolute.clone(), |(folder, name)| folder.join(name));
        let top = self.repository.top().canonicalize()?;
        let below = absolute
            .strip_prefix(&top)
            .map_err(|_| anyhow!("{}: lies outside the repository", path.display()))?;
        Ok(below.to_string_lossy().into_owned())
    }

    /// One gate, or its faults. It is read from where the rules come from; only one that is not there yet is the candidate's own. None where
    /// it was there, and is not any more.
    fn gate(&self, path: &str) -> Result<Option<Result<Declared, Vec<Fault>>>> {
        let words = &self.rules_in_words;
        let ours = self.blob(&self.candidate, path)?;
        let (text, from, banner) = match (self.rule_text(path, GATE_MAX_BYTES)?, ours) {
            (Some(text), ours) => {
                let banner = self.touches(path).then(|| match ours {
                    None => format!("this change removes {path}: it is judged by the rule of the {words}"),
                    Some(ours) if ours != text => format!("this change edits {path}: it is judged by the rule of the {words}"),
                    Some(_) => format!("this change touches {path}, and is judged by it as changed"),
                });
                (text, words.clone(), banner)
            }
            (None, Some(_)) if self.changed.is_some() && !self.touches(path) => return Ok(None),
            (None, Some(ours)) => {
                let banner = format!("{path} is new: the {words} does not have it, so that it runs and only advises");
                (ours, "candidate".to_owned(), Some(banner))
            }
            (None, None) => bail!("no such gate: {path}"),
        };
        let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(match read(&text, path) {
            Ok(declaration) => Ok(Declared {
                name,
                is_new: from == "candidate",
                from,
                path: path.to_owned(),
                text,
                declaration,
                banners: banner.into_iter().collect(),
            }),
            Err(faults) => Err(faults),
        }))
    }
}

/// Refuses to build a fork's code beside a token: what runs here as this user could read it out of this very process.
fn refuse_a_token_in_a_forks_run(event: Option<&Event>) -> Result<()> {
    let token = ["GATE_TOKEN", "GITHUB_TOKEN"].into_iter().find(|name| environment::is_set(name));
    match token.filter(|_| event.is_some_and(Event::is_from_fork)) {
        Some(name) => bail!(
            "{name} is set, and this run builds and measures the code of a fork, which could read it: take it out of the step; \
             gate-report posts from a job of its own"
        ),
        None => Ok(()),
    }
}

/// What differs between two revisions or trees, as paths.
fn changed(repository: &Repository, a: &str, b: &str) -> Result<Vec<String>> {
    let paths = repository.changed_paths(a, b)?;
    Ok(paths.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Variables in the order in which they are set; a later one replaces an earlier one of its name.
pub fn layered<'a>(layers: impl IntoIterator<Item = &'a BTreeMap<String, String>>) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for layer in layers {
        all.extend(layer.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    all.into_iter().collect()
}
