//! Why something could not be done on GitHub, in words that say what to do.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::answer::Answer;
use crate::model::github::{Job, Origin};
use crate::model::text::plain_line;

/// Longest header that is shown, in characters.
const SHOWN_MAX: usize = 2000;

/// What stood in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// GitHub's answer.
    Answered(Box<Refused>),
    /// No answer came, and why.
    Unanswered(String),
    /// GitHub wants to be left alone for so long, which is more than there is time.
    Limited(Duration),
    /// The time for all requests together was used up.
    Late(Duration),
    /// An answer that cannot be understood, and why.
    Odd(String),
}

/// A refusing answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its status.
    pub status: u16,
    /// Its words.
    pub says: String,
    /// What the token would have to be allowed, as GitHub's header puts it.
    permissions: Option<String>,
    /// What an organisation demands of the token.
    sso: Option<String>,
    /// Where it is now.
    location: Option<String>,
}

impl From<&Answer> for Refused {
    fn from(answer: &Answer) -> Self {
        let shown = |header: &Option<String>| header.as_deref().map(|text| plain_line(text, SHOWN_MAX));
        Self {
            status: answer.status,
            says: answer.says(),
            permissions: shown(&answer.headers.permissions),
            sso: shown(&answer.headers.sso),
            location: shown(&answer.headers.location),
        }
    }
}

impl Refused {
    /// Where it says that the asked for is now.
    pub(super) fn redirects(&self) -> Option<&str> {
        self.location.as_deref().filter(|_| matches!(self.status, 301 | 302 | 307 | 308))
    }

    /// The same with other words.
    pub(super) fn map(self, words: impl Fn(String) -> String) -> Self {
        Self {
            status: self.status,
            says: words(self.says),
            permissions: self.permissions.map(&words),
            sso: self.sso.map(&words),
            location: self.location.map(&words),
        }
    }
}

/// Something could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was to be done, after "to": `create the comment on owner/repo#12`.
    pub doing: String,
    /// What stood in the way.
    pub reason: Reason,
    /// How often it was tried.
    pub tries: u32,
    /// After how long it may be tried again, where it may.
    pub(super) again: Option<Duration>,
}

impl Failure {
    /// The status of the answer, where there was one.
    pub const fn status(&self) -> Option<u16> {
        match &self.reason {
            Reason::Answered(refused) => Some(refused.status),
            _ => None,
        }
    }

    /// Whether the token was not accepted at all.
    pub fn is_token_rejected(&self) -> bool {
        self.status() == Some(401)
    }

    /// What happened and what to do, for the job that it happened to.
    pub fn explain(&self, job: &Job, token_name: &str) -> String {
        let doing = &self.doing;
        match &self.reason {
            Reason::Answered(refused) => {
                let Refused { status, says, .. } = refused.as_ref();
                let tries = if self.tries > 1 {
                    format!(", {} tries", self.tries)
                } else {
                    String::new()
                };
                let mut text = format!("GitHub refused to {doing} ({status} {says}{tries}).");
                advise(&mut text, refused, job, token_name);
                text
            }
            Reason::Unanswered(why) if self.tries == 1 => format!("GitHub could not be asked to {doing}: {why}."),
            Reason::Unanswered(why) => format!("GitHub could not be asked to {doing} ({} tries): {why}.", self.tries),
            Reason::Limited(wait) => format!(
                "GitHub limits how much may be asked: to {doing}, try again in {} s. That is longer than --api-budget allows.",
                wait.as_secs()
            ),
            Reason::Late(budget) => format!(
                "the time to {doing} was used up: --api-budget is {} s for all requests together.",
                budget.as_secs()
            ),
            Reason::Odd(why) => format!("GitHub's answer to {doing} is not understood: {why}. Is GITHUB_API_URL the address of an API?"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Answered(refused) => write!(out, "{}: {} {}", self.doing, refused.status, refused.says),
            Reason::Unanswered(why) | Reason::Odd(why) => write!(out, "{}: {why}", self.doing),
            Reason::Limited(wait) => write!(out, "{}: limited for {} s", self.doing, wait.as_secs()),
            Reason::Late(_) => write!(out, "{}: no time is left", self.doing),
        }
    }
}

impl std::error::Error for Failure {}

/// Adds what to do about a refusal, by its cause.
fn advise(text: &mut String, refused: &Refused, job: &Job, token_name: &str) {
    let says = refused.says.to_lowercase();
    let advice = match refused.status {
        301 | 302 | 307 | 308 => moved(refused, job),
        401 => format!("The token in {token_name} was rejected: it is empty, expired, revoked, or of another server."),
        403 if refused.sso.is_some() => single_sign_on(refused, token_name),
        403 if says.contains("is locked") => "The conversation is locked: unlock it to have the comment.".to_owned(),
        403 if says.contains("archived") => "The repository is archived, and read-only with it.".to_owned(),
        403 if job.pull.as_ref().is_some_and(|pull| pull.reads_only()) => visitor(job),
        403 => permission(refused, token_name),
        404 => format!(
            "Not found or no access: GitHub answers so too where the token in {token_name} may not see {}.",
            job.repository
        ),
        410 => "It was deleted, or issues are switched off for this repository.".to_owned(),
        500..=599 => "That is GitHub's trouble: run this command again later.".to_owned(),
        _ => return,
    };
    for line in advice.lines() {
        // Writing into a string cannot fail.
        let _written = write!(text, "\n  {line}");
    }
}

fn moved(refused: &Refused, job: &Job) -> String {
    let to = refused.location.as_deref().unwrap_or("a place that it does not name");
    format!(
        "{} was renamed or transferred, to {to}: set GITHUB_REPOSITORY to its name of today.",
        job.repository
    )
}

fn single_sign_on(refused: &Refused, token_name: &str) -> String {
    let header = refused.sso.as_deref().unwrap_or_default();
    let url = header.split("url=").nth(1).filter(|url| url.starts_with("https://"));
    let at = url.map_or_else(|| "in the settings of the token".to_owned(), |url| format!("at {url}"));
    format!("The organisation demands single sign-on for the token in {token_name}: authorise it {at}.")
}

/// The pull request comes from a place whose runs only read.
fn visitor(job: &Job) -> String {
    let from = match job.pull.as_ref().map(|pull| &pull.origin) {
        Some(Origin::Fork(Some(fork))) => format!("a pull request from a fork ({fork})"),
        Some(Origin::Fork(None)) => "a pull request from a fork that was deleted".to_owned(),
        _ => "a pull request of Dependabot".to_owned(),
    };
    format!(
        "This run is for {from}: its token is read-only whatever `permissions:` says.\nThe report is in the job summary. To have comments on such pull requests use two workflows; `gate init --workflows` writes them."
    )
}

/// The token is not allowed to, and of what kind it would have to be.
fn permission(refused: &Refused, token_name: &str) -> String {
    let says = refused.says.to_lowercase();
    if says.contains("must authenticate via a github app") {
        return format!(
            "Check runs are made by GitHub Apps alone: hand on the job's own token (`github.token`) in {token_name}, or use --as status."
        );
    }
    let permissions = refused.permissions.as_deref().map(alternatives).unwrap_or_default();
    if permissions.is_empty() {
        return format!("The token in {token_name} lacks a permission, and GitHub does not say which.");
    }
    let any = permissions.join(", ");
    if says.contains("personal access token") {
        return format!("The personal access token in {token_name} lacks a permission. Any one of: {any}.");
    }
    let wanted = permissions
        .iter()
        .find(|permission| permission.starts_with("pull-requests"))
        .or(permissions.first())
        .map_or("", String::as_str);
    format!(
        "The job's token lacks a permission. Any one of: {any}. Add to the job:\n    permissions:\n      contents: read\n      {wanted}"
    )
}

/// The alternatives of `issues=write; pull_requests=write` as a workflow spells them.
fn alternatives(header: &str) -> Vec<String> {
    let spelled = |part: &str| {
        let (name, level) = part.trim().split_once('=')?;
        let plain = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        (plain(name) && plain(level)).then(|| format!("{}: {level}", name.replace('_', "-")))
    };
    let together = |group: &str| Some(group.split(',').map(spelled).collect::<Option<Vec<_>>>()?.join(" and "));
    header.split(';').filter_map(together).collect()
}
