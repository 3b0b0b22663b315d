//! The few calls of the API that are used, each with its own smallest structs.

use serde::Deserialize;

use super::client::{Ask, Client};
use super::refusal::Failure;
use crate::model::github::{Comment, Repository, Request, Standing};

/// Most comments that one page holds.
const PER_PAGE: u32 = 100;
/// Most pages that are read.
pub(super) const PAGES_MAX: u32 = 50;
/// The author of what a workflow's own token writes.
const WORKFLOWS: &str = "github-actions[bot]";

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct CommentFile {
    id: u64,
    html_url: String,
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
}

impl From<CommentFile> for Comment {
    fn from(file: CommentFile) -> Self {
        Self {
            id: file.id,
            url: file.html_url,
            author: file.user.map(|user| user.login).unwrap_or_default(),
            body: file.body.unwrap_or_default(),
        }
    }
}

#[derive(Deserialize)]
struct PullFile {
    state: String,
    head: Head,
}

#[derive(Deserialize)]
struct Head {
    sha: String,
}

/// A check run that stands on a commit.
#[derive(Deserialize)]
pub(super) struct CheckFile {
    /// Its number.
    pub id: u64,
    /// Its page.
    pub html_url: Option<String>,
    /// The page with more that its maker named.
    pub details_url: Option<String>,
    /// How it ended.
    pub conclusion: Option<String>,
    /// What it shows.
    pub output: CheckOutput,
}

/// What a check run shows.
#[derive(Deserialize)]
pub(super) struct CheckOutput {
    /// Its headline.
    pub title: Option<String>,
    /// How many annotations it has.
    pub annotations_count: usize,
}

#[derive(Deserialize)]
struct CheckList {
    check_runs: Vec<CheckFile>,
}

impl Client {
    /// The state of a pull request now.
    pub(super) fn standing(&self, repository: &Repository, number: u64) -> Result<Standing, Failure> {
        let path = format!("/repos/{repository}/pulls/{number}");
        let file: PullFile = self.read(&path, &format!("read the pull request {repository}#{number}"))?;
        Ok(Standing {
            open: file.state == "open",
            head: file.head.sha,
        })
    }

    /// The login that comments are made under.
    ///
    /// The token of a workflow may not ask who it is. Its comments are those of the App "GitHub Actions"; those of another App have
    /// another author, which the environment names.
    pub(super) fn me(&self) -> Result<String, Failure> {
        if let Some(author) = &self.author {
            return Ok(author.clone());
        }
        if self.token.is_installation() {
            return Ok(WORKFLOWS.to_owned());
        }
        match self.read::<User>("/user", "ask whose token this is") {
            Ok(user) => Ok(user.login),
            Err(failure) if matches!(failure.status(), Some(403 | 404)) => Ok(WORKFLOWS.to_owned()),
            Err(failure) => Err(failure),
        }
    }

    /// Every comment on a pull request, the oldest first; none where there are more than are read.
    pub(super) fn comments(&self, repository: &Repository, number: u64) -> Result<Option<Vec<Comment>>, Failure> {
        let doing = format!("list the comments on {repository}#{number}");
        let mut comments = Vec::new();
        for page in 1..=PAGES_MAX {
            // Pages are counted and not followed: an address in an answer is nobody to send a token to.
            let path = format!("/repos/{repository}/issues/{number}/comments?per_page={PER_PAGE}&page={page}");
            let answer = self.get(&path, &doing)?;
            let files: Vec<CommentFile> = self.value(&answer, &doing)?;
            comments.extend(files.into_iter().map(Comment::from));
            if !answer.headers.more {
                return Ok(Some(comments));
            }
        }
        Ok(None)
    }

    /// Makes a comment, once.
    pub(super) fn create_comment(&self, repository: &Repository, number: u64, text: &str, tries: u32) -> Result<Comment, Failure> {
        let request = Request::create_comment(repository, number, text);
        let doing = format!("create the comment on {repository}#{number}");
        let answer = self.once(ask(&request, &doing), tries)?;
        Ok(self.value::<CommentFile>(&answer, &doing)?.into())
    }

    /// Gives a comment another text.
    pub(super) fn update_comment(&self, repository: &Repository, id: u64, text: &str) -> Result<Comment, Failure> {
        let request = Request::update_comment(repository, id, text);
        let doing = format!("update the comment {id} in {repository}");
        let answer = self.repeat(ask(&request, &doing))?;
        Ok(self.value::<CommentFile>(&answer, &doing)?.into())
    }

    /// Removes a comment.
    pub(super) fn delete_comment(&self, repository: &Repository, id: u64) -> Result<(), Failure> {
        let path = format!("/repos/{repository}/issues/comments/{id}");
        let doing = format!("delete the surplus comment {id} in {repository}");
        let ask = Ask {
            method: "DELETE",
            path: &path,
            body: None,
            doing: &doing,
        };
        self.repeat(ask).map(drop)
    }

    /// One check run.
    pub(super) fn check(&self, repository: &Repository, id: u64) -> Result<CheckFile, Failure> {
        let path = format!("/repos/{repository}/check-runs/{id}");
        self.read(&path, &format!("read the check run {id} in {repository}"))
    }

    /// The newest check run of each suite with a name on a commit.
    pub(super) fn check_runs(&self, repository: &Repository, head: &str, name: &str) -> Result<Vec<CheckFile>, Failure> {
        let path = format!(
            "/repos/{repository}/commits/{head}/check-runs?check_name={}&filter=latest&per_page={PER_PAGE}",
            escaped(name)
        );
        let list: CheckList = self.read(&path, &format!("list the check runs on {head}"))?;
        Ok(list.check_runs)
    }
}

/// A request of the model as one to be made.
pub(super) const fn ask<'a>(request: &'a Request, doing: &'a str) -> Ask<'a> {
    Ask {
        method: request.method,
        path: request.path.as_str(),
        body: Some(&request.body),
        doing,
    }
}

/// A text as a value in a query.
pub(super) fn escaped(text: &str) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_holds_any_name() {
        assert_eq!(escaped("gate / verdict&x=ü"), "gate%20%2F%20verdict%26x%3D%C3%BC");
        assert_eq!(escaped("a-b_c.d~9"), "a-b_c.d~9");
    }
}
