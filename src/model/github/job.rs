//! The job that speaks: for which repository, pull request and commit.

use std::fmt;

use super::marker::Run;

/// Longest name of an owner or a repository.
const NAME_MAX: usize = 100;

/// A repository: its owner and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The user or organisation.
    pub owner: String,
    /// The name.
    pub name: String,
}

impl Repository {
    /// Reads `owner/name`; both parts are safe in a path of the API.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = |part: &str| {
            (1..=NAME_MAX).contains(&part.len())
                && !matches!(part, "." | "..")
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        match text.split_once('/') {
            Some((owner, name)) if fits(owner) && fits(name) => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(format!("{text:?}: a repository is OWNER/NAME")),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.owner, self.name)
    }
}

/// Where the head of a pull request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The repository itself.
    Same,
    /// A fork; none where it was deleted.
    Fork(Option<Repository>),
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Where its head comes from.
    pub origin: Origin,
    /// Whether Dependabot opened it: its runs have the token of a fork's.
    pub dependabot: bool,
}

impl Pull {
    /// Whether its runs have a token that only reads, whatever the workflow asks for.
    pub const fn reads_only(&self) -> bool {
        self.dependabot || !matches!(self.origin, Origin::Same)
    }
}

/// The job that speaks, as its environment and its event say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// `GITHUB_REPOSITORY`.
    pub repository: Repository,
    /// `GITHUB_EVENT_NAME`.
    pub event: String,
    /// The pull request; none for a push, a merge group, a schedule.
    pub pull: Option<Pull>,
    /// The commit that the answer is for, in hex: of a pull request its head and not the merge commit.
    pub head: String,
    /// The run.
    pub run: Run,
    /// `GITHUB_SERVER_URL`, without a slash at its end.
    pub server: String,
}

impl Job {
    /// The page of the run.
    pub fn run_url(&self) -> String {
        let Self {
            server, repository, run, ..
        } = self;
        format!("{server}/{repository}/actions/runs/{}/attempts/{}", run.id, run.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name() {
        let found = Repository::parse("example-org/gate.rs").unwrap();
        assert_eq!((found.owner.as_str(), found.name.as_str()), ("example-org", "gate.rs"));
        assert_eq!(found.to_string(), "example-org/gate.rs");
        for bad in ["", "a", "a/", "/b", "a/b/c", "a/..", "../b", "a/b?c", "a/b c", "a/b#1", "ü/b"] {
            assert!(Repository::parse(bad).is_err(), "{bad}");
        }
    }
}
