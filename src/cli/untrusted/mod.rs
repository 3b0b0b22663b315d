//! `--untrusted`: records that a stranger's code made, taken as data and judged again by the base branch's own rules.
//!
//! Which pull request they belong to comes from the event and the API; what the records say of it chooses among several that those two name,
//! and then there is no verdict. Nothing that excuses is taken over: no void, no finding, no waiver but the base branch's own, no attempt's count
//! below the run's own.

mod judging;
mod session;

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};

use judging::Judges;

use crate::edge::environment::of_children;
use crate::edge::git::Repository;
use crate::edge::github::Client;
use crate::edge::{artifact, clock, files, job};
use crate::model::evidence::Evidence;
use crate::model::gate::Gate;
use crate::model::github::{Job, Meant, MeasuredRun, Origin, PULL_LABEL, Pull, meant};
use crate::model::identity::Identity;
use crate::model::plan::Plan;
use crate::model::record::{Record, short};
use crate::model::strict;
use crate::model::text::plain_line;

/// What a change may not touch without a maintainer's own run: what measures, and what it is judged by.
const RULES: [&str; 3] = [".github/", "gates/", "baselines/"];
/// Most names in a message.
const NAMED_MAX: usize = 5;

/// What there is to say of a run.
pub(super) struct Told {
    /// For whom: the pull request and the commit are the measured run's.
    pub job: Job,
    /// The records, judged again.
    pub records: Vec<Record>,
    /// Why there is no verdict, whatever the records say, where there is none.
    pub refused: Option<String>,
    /// Whether the records themselves had to be refused.
    pub is_bad_input: bool,
}

/// What the judge needs of a record, besides what surrounds it, as the base branch sees it.
pub(super) struct Again {
    /// The gate as the base branch has it.
    pub gate: Gate,
    /// The order of the samples; of scores nothing is run.
    pub plan: Plan,
    /// What was measured, as far as the record tells it.
    pub identity: Identity,
    /// What was measured, without what excuses.
    pub evidence: Evidence,
    /// Where the base's come from.
    pub why: String,
    /// What a reader must see about them.
    pub banners: Vec<String>,
}

/// Refuses to speak for a run that triggered this job as if it were this job: its commit is another one.
///
/// # Errors
/// In a job that another run triggered.
pub(super) fn refuse_without(job: &Job) -> Result<()> {
    if job.event == "workflow_run" {
        bail!("this job was triggered by the end of another run, whose records are not this job's: --untrusted reports them");
    }
    Ok(())
}

/// Reads the records of the run that triggered this job; why there is nothing to say of it, where there is not.
///
/// # Errors
/// When the event, GitHub or the base branch's own rules cannot be read.
pub(super) fn read(paths: &[PathBuf], client: &Client) -> Result<Result<Told, String>> {
    let [path] = paths else {
        bail!("--untrusted: name one file of records")
    };
    let run = job::measured_run()?;
    if let Some(why) = run.objection() {
        return Ok(Err(why));
    }
    let own = job::of_this_process()?.ok_or_else(|| anyhow!("--untrusted: GITHUB_ACTIONS is not true, so there is no run to report on"))?;
    let explain = |failure: crate::edge::github::Failure| anyhow!(failure.explain(&own, client.token_name()));
    let repository = Repository::open(&files::working_folder()?, &of_children(&[]).kept)?;
    let mut told = Told {
        job: of_run(&own, &run),
        records: Vec::new(),
        refused: None,
        is_bad_input: false,
    };
    let read = artifact::read(path).map(|text| text.map(|text| strict::records(&text)));
    let (rules, changed) = if run.event == "pull_request" {
        let candidates = client.candidates(&own.repository, &run).map_err(explain)?;
        let claimed = match &read {
            Ok(Some(Ok(records))) => claimed(records),
            _ => None,
        };
        let pull = match meant(&run, &own.repository, &candidates, claimed) {
            Meant::Nobody => {
                let why = "no open pull request has this commit at its head: it was superseded or closed";
                return Ok(Err(why.to_owned()));
            }
            Meant::One(pull) => pull,
            Meant::Several { numbers, named } => {
                told.refused = Some(several(&numbers));
                match named {
                    Some(pull) => pull,
                    None => return Ok(Ok(told)),
                }
            }
        };
        told.job.pull = Some(Pull {
            number: pull.number,
            // It is this job's token that speaks, and it may write.
            origin: Origin::Same,
            dependabot: false,
        });
        let changed = client.changed_paths(&own.repository, pull.number).map_err(explain)?;
        told.refused = joined(told.refused, refused_change(changed.as_deref()));
        (pull.base.clone(), changed)
    } else {
        (
            repository.commit("HEAD")?.ok_or_else(|| anyhow!("the checkout has no commit"))?,
            None,
        )
    };
    if repository.commit(&rules)?.is_none() {
        bail!(
            "the base branch's tip {} is not here: check the default branch out with `fetch-depth: 0`",
            short(&rules)
        );
    }
    let measured = match read {
        Ok(None) => {
            told.refused = Some(format!(
                "the run left no records: it ended as {} before it measured",
                plain_line(&run.conclusion, 40)
            ));
            return Ok(Ok(told));
        }
        Ok(Some(Ok(records)))
            if records
                .iter()
                .all(|record| record.context.head.as_deref() == Some(run.head.as_str())) =>
        {
            records
        }
        Ok(Some(Ok(_))) => {
            return Ok(Ok(
                told.bad("the records speak of another commit than the run's: they do not belong to it")
            ));
        }
        Ok(Some(Err(why))) => return Ok(Ok(told.bad(&format!("the records are refused: {why}")))),
        Err(error) => return Ok(Ok(told.bad(&format!("the records are refused: {error:#}")))),
    };
    let judges = Judges {
        repository,
        rules,
        changed,
        run,
        today: clock::now_seconds().chars().take(10).collect(),
    };
    judges.judge(measured, &mut told)?;
    Ok(Ok(told))
}

impl Told {
    fn bad(mut self, why: &str) -> Self {
        self.refused = Some(why.to_owned());
        self.is_bad_input = true;
        self
    }
}

/// The job that speaks for a run: its commit, its number.
fn of_run(own: &Job, run: &MeasuredRun) -> Job {
    Job {
        pull: None,
        head: run.head.clone(),
        run: run.run,
        ..own.clone()
    }
}

/// Several reasons as one; none where there is none.
fn joined(one: Option<String>, more: impl IntoIterator<Item = String>) -> Option<String> {
    let all: Vec<String> = one.into_iter().chain(more).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The pull request that records say they are of; none where they do not agree.
fn claimed(records: &[Record]) -> Option<u64> {
    let mut numbers = records
        .iter()
        .map(|record| record.labels.get(PULL_LABEL).and_then(|number| number.parse().ok()));
    let first = numbers.next().flatten()?;
    numbers.all(|number| number == Some(first)).then_some(first)
}

/// Why one run answers for none of several pull requests.
fn several(numbers: &[u64]) -> String {
    let named: Vec<String> = numbers.iter().take(NAMED_MAX).map(|number| format!("number {number}")).collect();
    let more = match numbers.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} open pull requests have this commit at their head ({}{more}), and one status would count for all of them: close all but one, then run \
         its measuring job again",
        numbers.len(),
        named.join(", ")
    )
}

/// Why a change cannot be answered for by its own run, if so.
fn refused_change(changed: Option<&[String]>) -> Option<String> {
    let Some(changed) = changed else {
        return Some("the pull request changes more files than GitHub tells: needs a maintainer's run".to_owned());
    };
    let touched: Vec<&str> = changed
        .iter()
        .map(String::as_str)
        .filter(|path| RULES.iter().any(|rule| path.starts_with(rule)))
        .collect();
    (!touched.is_empty()).then(|| needs_a_maintainer(&touched))
}

fn needs_a_maintainer(touched: &[&str]) -> String {
    let named: Vec<String> = touched.iter().take(NAMED_MAX).map(|path| plain_line(path, 100)).collect();
    let more = match touched.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "the change touches what measures or what it is judged by ({}{more}): needs a maintainer's run",
        named.join(", ")
    )
}
