//! What each arm runs on each fixture, and in which environment.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};

use super::arms::{Runs, found};
use super::making::{Making, Place};
use super::pair::OfArm;
use super::workspace::layered;
use crate::edge::arms::build;
use crate::edge::digest::DigestCache;
use crate::edge::environment::{self, Scrubbed, Variables};
use crate::edge::measure::{Command, PROCESS_METRICS, Private, Server};
use crate::model::gate::declaration::{Fixture, Series};
use crate::model::placeholder::{Values, expand, expand_text};
use crate::model::sample::{Arm, Cell};

/// Stand-in for the port that each slot gets, as long as the real ones, to compare the size of the arms' environments.
const PORT: u16 = 65_535;

/// What one arm's commands are made of, whatever the fixture.
pub struct Ground<'a> {
    /// The arm.
    pub arm: Arm,
    /// Where it runs.
    pub place: &'a Place,
    /// What its processes may see.
    pub scrubbed: &'a Scrubbed,
    /// Variables that name its private cache folders.
    pub caches: &'a [(String, String)],
}

impl Making<'_> {
    /// What an arm runs on one fixture, and the files that this is.
    ///
    /// # Errors
    /// When a placeholder stands for nothing, or a program is missing.
    pub fn command(
        &self,
        ground: &Ground<'_>,
        fixture: &Fixture,
        [model, prompt]: [Option<String>; 2],
        cache: &mut DigestCache,
    ) -> Result<(Command, Runs)> {
        let &Ground {
            arm,
            place,
            scrubbed,
            caches,
        } = ground;
        let keys = self.keys(arm);
        let tree = place.folder().to_str().context("the project's folder is no UTF-8 path")?.to_owned();
        let args = [fixture.args.clone(), keys.args.clone()].concat();
        let values = Values {
            tree: Some(tree),
            model,
            prompt,
            out: Some(String::new()),
            port: Some(PORT),
            args,
        };
        let mut environment = build::environment(scrubbed, &[], self.workspace.trees.path());
        let mut private = layered([&self.declaration.arms.env, &self.run.env, &fixture.env, &keys.env]);
        private.extend(caches.iter().cloned());
        environment.retain(|(name, _)| private.iter().all(|(other, _)| name != other.as_str()));
        let sees = Scrubbed {
            kept: with(&environment, &private, &values)?,
            removed: Vec::new(),
        };
        // Model and prompt are inputs, told apart from what runs.
        let without_inputs = Values {
            model: values.model.as_ref().map(|_| String::new()),
            prompt: values.prompt.as_ref().map(|_| String::new()),
            ..values.clone()
        };
        let words = expand(&self.run.command, &without_inputs).map_err(|why| anyhow!("run.command: {why}"))?;
        let runs = found(&words, place.folder(), &sees, cache)
            .context("run.command")
            .context(OfArm(arm))?;
        let server = self
            .server(place, &without_inputs, &sees, cache)
            .context("serve.command")
            .context(OfArm(arm))?;
        let command = Command {
            program: runs.program.clone(),
            args: self.run.command.iter().skip(1).cloned().collect(),
            env: environment,
            cwd: place.folder().to_owned(),
            series: self.series(fixture),
            private: Some(Private {
                folder: self.workspace.trees.path().to_owned(),
                env: private,
                output: self.run.output.clone(),
                server,
                values: Values {
                    out: None,
                    port: None,
                    ..values
                },
            }),
        };
        Ok((command, runs))
    }

    fn server(&self, place: &Place, values: &Values, sees: &Scrubbed, cache: &mut DigestCache) -> Result<Option<Server>> {
        let Some(serve) = &self.declaration.serve else { return Ok(None) };
        let words = expand(&serve.command, values).map_err(|why| anyhow!(why))?;
        let runs = found(&words, place.folder(), sees, cache)?;
        Ok(Some(Server {
            program: runs.program,
            args: serve.command.iter().skip(1).cloned().collect(),
            ready: serve.ready.clone(),
            timeout: serve.timeout,
        }))
    }

    fn series(&self, fixture: &Fixture) -> Vec<Series> {
        let wanted = |series: &&Series| {
            let name = &series.metric.name;
            fixture.metrics.is_empty() || fixture.metrics.contains(name) || PROCESS_METRICS.contains(&name.as_str())
        };
        self.declaration.metrics.iter().filter(wanted).cloned().collect()
    }

    /// Pads the environments of both arms to the same size: the size alone can move a program's memory and with it its speed.
    ///
    /// # Errors
    /// When a placeholder stands for nothing.
    pub fn equalise(&self, commands: &mut BTreeMap<(Cell, Arm), Command>) -> Result<()> {
        for fixture in &self.declaration.fixtures {
            let cell = Cell {
                fixture: fixture.name.clone(),
            };
            let keys = [(cell.clone(), Arm::A), (cell, Arm::B)];
            let [Some(a), Some(b)] = keys.each_ref().map(|key| commands.get(key)) else {
                continue;
            };
            let mut both = [seen(a)?, seen(b)?];
            let before = both.each_ref().map(Vec::len);
            environment::equalise(&mut both);
            for ((key, padded), before) in keys.iter().zip(both).zip(before) {
                if let Some(command) = commands.get_mut(key) {
                    command.env.extend(padded.into_iter().skip(before));
                }
            }
        }
        Ok(())
    }
}

/// Variables with the declared ones, placeholders replaced.
fn with(environment: &Variables, declared: &[(String, String)], values: &Values) -> Result<Variables> {
    let mut all = environment.clone();
    for (name, value) in declared {
        let value = expand_text(value, values).map_err(|why| anyhow!("env: {name}: {why}"))?;
        all.push((name.into(), value.into()));
    }
    Ok(all)
}

/// The environment as a slot of this command sees it, with stand-ins for what the slot has of its own.
fn seen(command: &Command) -> Result<Variables> {
    let Some(private) = &command.private else {
        return Ok(command.env.clone());
    };
    let values = Values {
        out: Some(String::new()),
        port: Some(PORT),
        ..private.values.clone()
    };
    with(&command.env, &private.env, &values)
}
