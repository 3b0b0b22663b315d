//! `gate comment`: the records of a run as the one comment on the pull request.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

use super::{answer, parse, records, say, step, untrusted};
use crate::edge::github::{Client, post};
use crate::edge::job;
use crate::exit;
use crate::model::github::{BODY_MAX_BYTES, Draft, Job, Key, Marker, Posted, Pull, Request};
use crate::model::record::Record;
use crate::render::comment::{About, is_news, page};

/// Post the records of a run as the one comment on the pull request
///
/// The comment is made once and edited from then on. It shows the records and decides nothing: the exit code is 0 whatever they say, 2 where
/// one cannot be read, 4 where a seal is broken. That it cannot be posted is said, and changes no exit code.
#[derive(Debug, Args)]
pub struct Comment {
    /// Files that `--out` wrote, or folders of them; several records become one comment
    #[arg(long, value_name = "FILE|DIR", required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// Which of several comments on one pull request: a-z, 0-9 and -
    #[arg(long, value_name = "KEY", default_value = "default", value_parser = Key::parse)]
    key: Key,
    /// When a comment is made: always, or where there is something to look at; one that stands is updated either way. Never sends nothing
    #[arg(long, value_enum, default_value_t = On::Always)]
    on: On,
    /// The records come from code that is not trusted, of the run that triggered this job: they are judged again by the base branch's rules
    #[arg(long)]
    untrusted: bool,
    /// Send nothing; print method, path and body of the comment that would be made
    #[arg(long)]
    dry_run: bool,
    /// How long to wait for GitHub in all, pauses that it asks for included
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = parse::duration)]
    api_budget: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    Always,
    Change,
    Never,
}

impl Comment {
    /// Posts, or says why not.
    ///
    /// # Errors
    /// When a record or the event cannot be read, or the records are not of this run.
    pub fn run(&self) -> Result<u8> {
        if self.untrusted {
            return self.of_a_run();
        }
        let records = records::read(&self.records)?;
        let lacking = records::lacking(&records);
        let page = |head, job| {
            let about = About {
                refused: lacking.as_deref(),
                ..self.about(head, job)
            };
            page(&records, &about)
        };
        let Some(job) = job::of_this_process()? else {
            let head = records::head(&records)?;
            say("gate: this is no job of GitHub Actions (GITHUB_ACTIONS is not true), so nothing is posted; it would say:");
            answer(&page(head, None))?;
            return Ok(exit::PASS.code);
        };
        untrusted::refuse_without(&job)?;
        let head = records::head_in_job(&records, &job.head)?;
        let mut draft = self.draft(&job, head, page(Some(head), Some(&job)), &records);
        draft.may_create |= lacking.is_some() && self.on != On::Never;
        match &job.pull {
            None => self.without_pull(&job, &draft, &records),
            Some(pull) if self.dry_run => show(&job, pull, &draft),
            Some(_) if self.on == On::Never => self.tell(&Posted::Skipped("--on never".to_owned()), &records),
            Some(_) => self.tell(&self.posted(&job, &draft), &records),
        }
    }

    /// Posts what a run measured that nobody trusts.
    fn of_a_run(&self) -> Result<u8> {
        let client = Client::of_this_job(self.api_budget).context("--untrusted asks GitHub which pull request was measured")?;
        let told = match untrusted::read(&self.records, &client)? {
            Ok(told) => told,
            Err(why) => return self.tell(&Posted::Skipped(why), &[]),
        };
        let about = About {
            refused: told.refused.as_deref(),
            ..self.about(Some(&told.job.head), Some(&told.job))
        };
        let mut draft = self.draft(&told.job, &told.job.head, page(&told.records, &about), &told.records);
        draft.may_create |= told.refused.is_some() && self.on != On::Never;
        let done = match &told.job.pull {
            None => match told.refused.as_deref().filter(|_| !self.dry_run) {
                Some(why) => self.on_none(why),
                None => self.without_pull(&told.job, &draft, &told.records),
            },
            Some(pull) if self.dry_run => show(&told.job, pull, &draft),
            Some(_) if self.on == On::Never => self.tell(&Posted::Skipped("--on never".to_owned()), &told.records),
            Some(_) => self.tell(&post(&client, &told.job, &draft), &told.records),
        };
        done.map(|code| if told.is_bad_input { exit::ERROR.code } else { code })
    }

    fn about<'a>(&'a self, head: Option<&'a str>, job: Option<&Job>) -> About<'a> {
        About {
            key: (self.key.as_str() != "default").then_some(&self.key),
            head,
            run_url: job.map(Job::run_url),
            limit_bytes: BODY_MAX_BYTES,
            refused: None,
        }
    }

    fn draft(&self, job: &Job, head: &str, body: String, records: &[Record]) -> Draft {
        Draft {
            marker: Marker {
                key: self.key.clone(),
                run: job.run,
                head: head.to_owned(),
                before: None,
            },
            body,
            may_create: match self.on {
                On::Always => true,
                On::Change => is_news(records),
                On::Never => false,
            },
        }
    }

    /// Posts; that there is nothing to post with is a failure to post, and changes no exit code either.
    fn posted(&self, job: &Job, draft: &Draft) -> Posted {
        match Client::of_this_job(self.api_budget) {
            Ok(client) => post(&client, job, draft),
            Err(why) => Posted::Failed(format!("the comment is not posted: {why:#}")),
        }
    }

    /// A push, a merge group, a schedule: nobody to tell but the summary of the job.
    fn without_pull(&self, job: &Job, draft: &Draft, records: &[Record]) -> Result<u8> {
        say(&format!(
            "gate: the event {} has no pull request: no comment; the summary of the job has it",
            job.event
        ));
        if self.dry_run {
            answer(&draft.body)?;
            return Ok(exit::PASS.code);
        }
        step::warn("the summary of the job", step::summary(records));
        step::warn(
            "the outputs of the step",
            step::outputs(&[("comment-action", "skipped".to_owned())]),
        );
        Ok(exit::PASS.code)
    }

    /// There is no pull request to speak on, and no verdict to speak of: whoever looks at the job is told.
    fn on_none(&self, why: &str) -> Result<u8> {
        answer(&step::warning(why))?;
        step::warn("the summary of the job", step::summary_of_failure(why));
        self.tell(&Posted::Skipped(why.to_owned()), &[])
    }

    fn tell(&self, posted: &Posted, records: &[Record]) -> Result<u8> {
        match posted {
            Posted::Created(place) | Posted::Updated(place) | Posted::Unchanged(place) => {
                say(&format!("gate: comment {}: {}", posted.word(), place.url));
            }
            Posted::Skipped(why) => say(&format!("gate: comment skipped: {why}")),
            Posted::Failed(why) => {
                say(&format!("gate: {why}"));
                answer(&step::warning(why))?;
                step::warn("the summary of the job", step::summary(records));
            }
        }
        let place = |part: fn(&crate::model::github::Place) -> String| posted.place().map_or_else(String::new, part);
        let values = [
            ("comment-action", posted.word().to_owned()),
            ("comment-id", place(|place| place.id.to_string())),
            ("comment-url", place(|place| place.url.clone())),
        ];
        step::warn("the outputs of the step", step::outputs(&values));
        Ok(exit::PASS.code)
    }
}

/// The request that would make the comment.
fn show(job: &Job, pull: &Pull, draft: &Draft) -> Result<u8> {
    let text = draft.text(None);
    let Request { method, path, .. } = Request::create_comment(&job.repository, pull.number, &text);
    if !draft.may_create {
        say("gate: where there is no comment yet, none is made, because of --on");
    }
    answer(&format!("{method} {path}\n\n{text}"))?;
    Ok(exit::PASS.code)
}
