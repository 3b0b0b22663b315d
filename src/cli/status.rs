//! `gate status`: the answer of some records as a commit status or a check run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueEnum};

use super::{answer, parse, records, say, untrusted};
use crate::edge::{github, job};
use crate::exit;
use crate::model::github::{Check, Job, Repository, Request, Status as CommitStatus};
use crate::model::record::Record;
use crate::render::comment::About;
use crate::render::status::{check, refused, status};

/// Longest name of a status.
const NAME_MAX: usize = 100;

/// Set the answer of some records as a commit status or a check run
///
/// It stands on the commit that the job answers for: of a pull request its head, of a merge queue the group's. The exit code is 0 whatever
/// the records say, 2 where one cannot be read or the status cannot be set, 4 where a seal is broken.
#[derive(Debug, Args)]
pub struct Status {
    /// Files that `--out` wrote, or folders of them; several records become one answer
    #[arg(long, value_name = "FILE|DIR", required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// As what it is set; a check run has remarks on lines, and its place among others is GitHub's choice: require the status
    #[arg(long = "as", value_enum)]
    kind: Kind,
    /// The name that a branch rule requires
    #[arg(long, value_name = "NAME", default_value = "gate", value_parser = name)]
    name: String,
    /// The records come from code that is not trusted, of the run that triggered this job: they are judged again by the base branch's rules
    #[arg(long)]
    untrusted: bool,
    /// Send nothing; print method, path and body
    #[arg(long)]
    dry_run: bool,
    /// How long to wait for GitHub in all, pauses that it asks for included
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse::duration)]
    api_budget: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Status,
    CheckRun,
}

/// What is to be set.
enum Wanted {
    Status(CommitStatus),
    Check(Check),
}

fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| !c.is_control();
    if text.trim().is_empty() || text.chars().count() > NAME_MAX || !text.chars().all(fits) {
        return Err(format!("a name is 1 to {NAME_MAX} letters in one line"));
    }
    Ok(text.to_owned())
}

impl Status {
    /// Sets it, or says why not.
    ///
    /// # Errors
    /// When a record or the event cannot be read, the records are not of this run, or the status cannot be set.
    pub fn run(&self) -> Result<u8> {
        if self.untrusted {
            return self.of_a_run();
        }
        let records = records::read(&self.records)?;
        let job = job::of_this_process()?;
        let head = match &job {
            Some(job) => {
                untrusted::refuse_without(job)?;
                records::head_in_job(&records, &job.head)?
            }
            None => records::head(&records)?.unwrap_or_default(),
        };
        let wanted = match records::lacking(&records) {
            Some(why) => Some(self.refusal(&why, head, job.as_ref())),
            None => self.wanted(&records, head, job.as_ref()),
        };
        let Some(wanted) = wanted else {
            say("gate: no status is set: the records are historical and say nothing of this commit");
            return Ok(exit::PASS.code);
        };
        match &job {
            Some(job) if !self.dry_run => self.set(job, &wanted),
            Some(job) => show(&wanted, &job.repository),
            None => {
                say("gate: this is no job of GitHub Actions (GITHUB_ACTIONS is not true), so nothing is set; it would say:");
                answer(&format!("{:#}\n", wanted.request(&nowhere()).body))?;
                Ok(exit::PASS.code)
            }
        }
    }

    /// Sets what a run came to that nobody trusts.
    fn of_a_run(&self) -> Result<u8> {
        let client = github::Client::of_this_job(self.api_budget).context("--untrusted asks GitHub which pull request was measured")?;
        let told = match untrusted::read(&self.records, &client)? {
            Ok(told) => told,
            Err(why) => {
                say(&format!("gate: no status is set: {why}"));
                return Ok(exit::PASS.code);
            }
        };
        let wanted = match &told.refused {
            Some(why) => Some(self.refusal(why, &told.job.head, Some(&told.job))),
            None => self.wanted(&told.records, &told.job.head, Some(&told.job)),
        };
        let Some(wanted) = wanted else {
            say("gate: no status is set: the records are historical and say nothing of this commit");
            return Ok(exit::PASS.code);
        };
        let done = if self.dry_run {
            show(&wanted, &told.job.repository)
        } else {
            self.send(&client, &told.job, &wanted)
        };
        done.map(|code| if told.is_bad_input { exit::ERROR.code } else { code })
    }

    /// What is set where there is no verdict, whatever the records say.
    fn refusal(&self, why: &str, head: &str, job: Option<&Job>) -> Wanted {
        let run_url = job.map(Job::run_url);
        match self.kind {
            Kind::Status => Wanted::Status(refused(why, &self.name, head, run_url)),
            Kind::CheckRun => {
                let about = About {
                    head: Some(head),
                    run_url,
                    refused: Some(why),
                    ..About::default()
                };
                Wanted::Check(check(&[], &self.name, &about))
            }
        }
    }

    /// Sets it. Unlike a comment it is what was asked for: that it is not set is an error.
    fn set(&self, job: &Job, wanted: &Wanted) -> Result<u8> {
        let client = github::Client::of_this_job(self.api_budget).context("the status is not set")?;
        self.send(&client, job, wanted)
    }

    fn send(&self, client: &github::Client, job: &Job, wanted: &Wanted) -> Result<u8> {
        let set = match wanted {
            Wanted::Status(wanted) => github::status(client, &job.repository, wanted),
            Wanted::Check(check) => github::check_run(client, &job.repository, check),
        };
        let url = set.map_err(|failure| anyhow!(failure.explain(job, client.token_name())))?;
        say(&format!("gate: {} {:?} set: {url}", wanted.noun(), self.name));
        Ok(exit::PASS.code)
    }

    fn wanted(&self, records: &[Record], head: &str, job: Option<&Job>) -> Option<Wanted> {
        let run_url = job.map(Job::run_url);
        match self.kind {
            Kind::Status => status(records, &self.name, head, run_url).map(Wanted::Status),
            Kind::CheckRun => {
                let about = About {
                    head: Some(head),
                    run_url,
                    ..About::default()
                };
                Some(Wanted::Check(check(records, &self.name, &about)))
            }
        }
    }
}

impl Wanted {
    const fn noun(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Check(_) => "check run",
        }
    }

    fn request(&self, repository: &Repository) -> Request {
        match self {
            Self::Status(status) => status.create(repository),
            Self::Check(check) => check.create(repository),
        }
    }
}

/// Stands in the place of a repository where there is none; nothing of it is shown.
fn nowhere() -> Repository {
    Repository {
        owner: String::new(),
        name: String::new(),
    }
}

/// The request that would set it.
fn show(wanted: &Wanted, repository: &Repository) -> Result<u8> {
    let Request { method, path, body } = wanted.request(repository);
    answer(&format!("{method} {path}\n\n{body:#}\n"))?;
    Ok(exit::PASS.code)
}
