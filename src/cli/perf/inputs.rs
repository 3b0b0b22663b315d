//! The files that every process of a fixture reads: its model and its prompt.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};

use super::making::Making;
use crate::edge::arms::claim::Claim;
use crate::edge::digest::DigestCache;
use crate::edge::measure::Stamp;
use crate::edge::{environment, files};
use crate::model::gate::declaration::Fixture;
use crate::model::identity::Facts;

/// Longest prompt file, in bytes.
const PROMPT_MAX_BYTES: u64 = 1 << 20;

/// One kind of file that every process of a fixture reads.
#[derive(Default)]
pub struct Inputs {
    /// Where it is, by fixture.
    pub paths: BTreeMap<String, String>,
    /// What the record tells of it, by fixture.
    pub facts: Facts,
    /// The files as they are now.
    pub stamps: Vec<Stamp>,
}

impl Making<'_> {
    /// The model of each fixture: in the folder that `GATE_MODELS` names, else in the user's checkout; one file for both arms.
    ///
    /// # Errors
    /// When one is missing or cannot be read.
    pub fn models(&self, cache: &mut DigestCache) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        let top = self.workspace.repository.top();
        for fixture in &self.declaration.fixtures {
            let Some(model) = &fixture.model else { continue };
            let folders = environment::value("GATE_MODELS")
                .map(PathBuf::from)
                .into_iter()
                .chain([top.to_owned()]);
            let tried: Vec<PathBuf> = folders.map(|folder| folder.join(model)).collect();
            let path = tried.iter().find(|path| files::is_regular(path)).ok_or_else(|| {
                let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
                anyhow!(
                    "fixture {:?}: no model {model}: looked for {}; GATE_MODELS names their folder",
                    fixture.name,
                    tried.join(" and ")
                )
            })?;
            inputs.add(fixture, path, cache)?;
        }
        Ok(inputs)
    }

    /// The prompt of each fixture, from where the rules come from: a change cannot bring its own. They are put into a folder of their own.
    ///
    /// # Errors
    /// When one is missing, a link, or too large.
    pub fn prompts(&self, cache: &mut DigestCache) -> Result<(Inputs, Option<Claim>)> {
        let mut inputs = Inputs::default();
        if self.declaration.fixtures.iter().all(|fixture| fixture.prompt.is_none()) {
            return Ok((inputs, None));
        }
        let folder = self.workspace.trees.claim(None)?;
        for (number, fixture) in self.declaration.fixtures.iter().enumerate() {
            let Some(prompt) = &fixture.prompt else { continue };
            let bytes = match &self.workspace.rules {
                Some(revision) => self.workspace.repository.read_blob(revision, prompt)?,
                None => files::read_input(&self.workspace.repository.top().join(prompt), PROMPT_MAX_BYTES)?,
            };
            let from = &self.workspace.rules_in_words;
            let bytes = bytes.ok_or_else(|| anyhow!("fixture {:?}: no prompt {prompt} in the {from}", fixture.name))?;
            let path = folder.path().join(format!("{number:04}"));
            files::write(&path, &bytes)?;
            inputs.add(fixture, &path, cache)?;
            if let Some(Value::Object(facts)) = inputs.facts.get_mut(&fixture.name) {
                facts.insert("path".to_owned(), json!(prompt));
            }
        }
        Ok((inputs, Some(folder)))
    }
}

impl Inputs {
    fn add(&mut self, fixture: &Fixture, path: &Path, cache: &mut DigestCache) -> Result<()> {
        let digests = cache.digests(path).with_context(|| format!("cannot digest {}", path.display()))?;
        let shown = path
            .to_str()
            .with_context(|| format!("{}: not a UTF-8 path", path.display()))?
            .to_owned();
        let facts = json!({ "path": shown, "bytes": digests.bytes, "md5": digests.md5, "blake3": digests.blake3 });
        self.facts.insert(fixture.name.clone(), facts);
        self.paths.insert(fixture.name.clone(), shown);
        self.stamps.push(Stamp::of(path.to_owned())?);
        Ok(())
    }
}
