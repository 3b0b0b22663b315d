//! One declared gate on pairs of commits that another command chooses.

use std::ffi::OsString;
use std::fmt;

use anyhow::{Result, anyhow, bail};
use clap::Parser;

use super::workspace::{Declared, Workspace};
use super::{Perf, Places, gates, session};
use crate::cli::{Cancelled, say};
use crate::edge::arms::build::BuildFailed;
use crate::edge::environment;
use crate::edge::process::Interrupts;
use crate::judge::course::covers;
use crate::judge::rule::needs_base;
use crate::model::metric::Role;
use crate::model::plan::{ERROR_RATE, Objective};
use crate::model::record::Record;
use crate::model::sample::Arm;

/// The label of records that belong to a search; they count as nobody's attempt.
pub const LABEL: &str = "bisect";

/// The options of `gate perf`, as a command line of their own.
#[derive(Debug, Parser)]
#[command(name = "gate perf")]
struct Options {
    #[command(flatten)]
    perf: Perf,
}

/// The arm that an error is of.
#[derive(Debug, Clone, Copy)]
pub struct OfArm(pub Arm);

impl fmt::Display for OfArm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "arm {}", self.0)
    }
}

/// What the comparison of two commits came to.
pub enum Compared {
    /// It has a record, whatever that says.
    Record(Box<Record>),
    /// An arm could not be made: its build failed, or what it should run is not there.
    Unmade(Arm, String),
}

/// A gate, as it stood when this was opened, ready to compare commits.
pub struct Pairs {
    options: Perf,
    places: Places,
    gate: Declared,
    interrupts: Interrupts,
}

impl Pairs {
    /// Reads the one gate that the options name, or the only one there is. `ends` are the first and the last commit that will be compared.
    ///
    /// # Errors
    /// When there is no such gate, there are several, or its arms or its question are no matter of commits.
    pub fn open(options: &[OsString], ends: (&str, &str)) -> Result<Self> {
        let words = [OsString::from("gate perf")].into_iter().chain(options.iter().cloned());
        let mut options = Options::try_parse_from(words)?.perf;
        options.revisions = Some((ends.0.to_owned(), ends.1.to_owned()));
        let places = options.places()?;
        let interrupts = session::listen()?;
        let workspace = Workspace::open(&options, &places.state, &environment::of_children(&[]))?;
        let mut gates = workspace.gates(&options.gates)?;
        // One that only a commit brings along was declared by nobody who asks now.
        gates.retain(|gate| !gate.is_new);
        let gate = match gates.len() {
            0 => bail!(
                "no such gate in the {}: write it there, or name another with --gate",
                workspace.rules_in_words
            ),
            1 => Declared {
                // What the newest commit does to the gate is no matter here.
                banners: Vec::new(),
                ..gates.swap_remove(0)
            },
            _ => {
                let paths: Vec<&str> = gates.iter().map(|gate| gate.path.as_str()).collect();
                bail!("name one gate with --gate: there are {}", paths.join(", "))
            }
        };
        let (from, to) = (ends.0.get(..12).unwrap_or(ends.0), ends.1.get(..12).unwrap_or(ends.1));
        options.labels = [(LABEL.to_owned(), format!("{from}..{to}"))].into();
        let pairs = Self {
            options,
            places,
            gate,
            interrupts,
        };
        pairs.check()?;
        Ok(pairs)
    }

    /// What the gate is called.
    pub fn name(&self) -> &str {
        &self.gate.name
    }

    /// The error rates of each comparison: alpha, beta.
    pub const fn rates(&self) -> (f64, f64) {
        let plan = &self.gate.declaration.plan;
        (plan.alpha, plan.beta)
    }

    /// Refuses a gate whose arms are not two commits with the same settings, or that asks for something else than slowdowns.
    fn check(&self) -> Result<()> {
        let Declared { path, declaration, .. } = &self.gate;
        let (a, b) = (&declaration.arms.a, &declaration.arms.b);
        if [a, b].iter().any(|keys| keys.rev.is_some() || keys.path.is_some()) {
            bail!("{path}: its arms name their own rev or path, and a search chooses commits for both: use a gate that does not");
        }
        if (&a.args, &a.env) != (&b.args, &b.env) {
            bail!("{path}: its arms differ in args or env, and a search compares nothing but commits: use a gate whose arms are alike");
        }
        if declaration.plan.objective != Objective::Gate {
            bail!("{path}: its objective is to show a gain, and a search looks for slowdowns: use a gate with objective = \"gate\"");
        }
        Ok(())
    }

    /// Leaves only the comparisons with the base arm, all of them required, of one metric and one fixture where they are named.
    ///
    /// # Errors
    /// When there is no such metric or fixture, or nothing is left to ask.
    pub fn narrow(&mut self, metric: Option<&str>, fixture: Option<&str>) -> Result<()> {
        let Declared { path, declaration, .. } = &mut self.gate;
        let wanted = |asked: Option<&str>, name: &str| asked.is_none_or(|asked| asked == name);
        let known: Vec<&str> = declaration.metrics.iter().map(|series| series.metric.name.as_str()).collect();
        if let Some(name) = metric.filter(|name| !known.contains(name)) {
            bail!("--metric {name}: {path} declares {}", known.join(", "));
        }
        let known: Vec<&str> = declaration.fixtures.iter().map(|fixture| fixture.name.as_str()).collect();
        if let Some(name) = fixture.filter(|name| !known.contains(name)) {
            let known = known.join(", ");
            bail!(
                "--fixture {name}: {path} declares {}",
                if known.is_empty() { "none" } else { &known }
            );
        }
        declaration.fixtures.retain(|known| wanted(fixture, &known.name));
        for series in &mut declaration.metrics {
            if !wanted(metric, &series.metric.name) {
                series.metric.role = Role::Info;
            }
        }
        declaration.rules.retain(|declared| needs_base(&declared.rule));
        for declared in &mut declaration.rules {
            declared.required = Some(true);
        }
        let (fixtures, metrics) = (&declaration.fixtures, &declaration.metrics);
        let asked = declaration.rules.iter().any(|declared| {
            let rule = &declared.rule;
            let judged = |name: &str| {
                let mut judged = metrics.iter().map(|series| &series.metric);
                judged.any(|metric| metric.name == name && metric.role == Role::Gate) && covers(&rule.metric, name)
            };
            fixtures.iter().any(|fixture| {
                let measures = |name: &str| fixture.metrics.is_empty() || fixture.metrics.iter().any(|other| other == name);
                covers(&rule.fixture, &fixture.name)
                    && metrics
                        .iter()
                        .any(|series| measures(&series.metric.name) && judged(&series.metric.name))
            })
        });
        if !asked {
            bail!("{path}: no rule against the base arm covers what is asked, so that there is nothing to search for");
        }
        Ok(())
    }

    /// Shares the gate's error rates among this many comparisons.
    ///
    /// # Errors
    /// When a share is too small for the engine.
    pub fn share(&mut self, comparisons: u32) -> Result<()> {
        let plan = &mut self.gate.declaration.plan;
        plan.alpha /= f64::from(comparisons);
        plan.beta /= f64::from(comparisons);
        if ERROR_RATE.contains(&plan.alpha) && ERROR_RATE.contains(&plan.beta) {
            return Ok(());
        }
        bail!(
            "{}: alpha and beta shared among {comparisons} comparisons are {} and {}, at least {} is needed: declare larger ones, or narrow the range",
            self.gate.path,
            plan.alpha,
            plan.beta,
            ERROR_RATE.start
        )
    }

    /// Compares two commits, the first as the base, in a session of its own.
    ///
    /// # Errors
    /// Whatever is no property of one of the commits, and [`Cancelled`].
    pub fn compare(&mut self, a: &str, b: &str) -> Result<Compared> {
        self.go_on()?;
        self.options.revisions = Some((a.to_owned(), b.to_owned()));
        match gates::compare(&self.options, &self.places, &self.gate, &self.interrupts) {
            Ok((record, None)) => Ok(Compared::Record(Box::new(record))),
            Ok((_, Some(signal))) => Err(cancelled(signal)),
            Err(error) => {
                self.go_on()?;
                let Some(&OfArm(arm)) = error.downcast_ref::<OfArm>() else {
                    return Err(error);
                };
                say(&format!("{error:#}"));
                Ok(Compared::Unmade(arm, reason(&error)))
            }
        }
    }

    /// Stops where a signal came.
    fn go_on(&self) -> Result<()> {
        self.interrupts.pending().map_or(Ok(()), |signal| Err(cancelled(signal)))
    }
}

fn cancelled(signal: i32) -> anyhow::Error {
    anyhow!(Cancelled {
        signal,
        doing: "comparing commits; what was sealed stays in the ledger"
    })
}

/// Why an arm could not be made, in one line; the log of a build is written over by the next one, so that it is not named.
fn reason(error: &anyhow::Error) -> String {
    match error.downcast_ref::<BuildFailed>() {
        Some(failed) => {
            let said = failed.tail.last().map_or_else(String::new, |line| format!(": {}", line.trim()));
            format!("build step `{}` {}{said}", failed.step, failed.exit)
        }
        None => error.chain().skip(1).map(ToString::to_string).collect::<Vec<_>>().join(": "),
    }
}
