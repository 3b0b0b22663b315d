//! What is sent, as method, path and body.

use serde::Serialize;
use serde_json::{Value, json};

use super::job::Repository;

/// Most annotations that one request may carry.
pub const ANNOTATIONS_MAX: usize = 50;
/// Longest description of a status, in bytes.
pub const DESCRIPTION_MAX_BYTES: usize = 140;
/// Longest summary or text of a check run, in bytes: GitHub counts bytes here.
pub const SUMMARY_MAX_BYTES: usize = 65_535;

/// One request of the API, below its base address.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// `POST` or `PATCH`.
    pub method: &'static str,
    /// The path, from its first slash.
    pub path: String,
    /// The JSON body.
    pub body: Value,
}

impl Request {
    /// Makes a comment on a pull request.
    pub fn create_comment(repository: &Repository, pull: u64, text: &str) -> Self {
        Self {
            method: "POST",
            path: format!("/repos/{repository}/issues/{pull}/comments"),
            body: json!({ "body": text }),
        }
    }

    /// Changes a comment.
    pub fn update_comment(repository: &Repository, id: u64, text: &str) -> Self {
        Self {
            method: "PATCH",
            path: format!("/repos/{repository}/issues/comments/{id}"),
            body: json!({ "body": text }),
        }
    }
}

/// The state of a commit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The question could not be put.
    Error,
    /// Do not merge.
    Failure,
    /// Merge.
    Success,
}

/// A commit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The commit that it stands on.
    pub head: String,
    /// Its name.
    pub context: String,
    /// Whether it lets the change through.
    pub state: State,
    /// One line, at most [`DESCRIPTION_MAX_BYTES`].
    pub description: String,
    /// The page with more.
    pub target_url: Option<String>,
}

impl Status {
    /// Sets it; a later one of the same name replaces it.
    pub fn create(&self, repository: &Repository) -> Request {
        let mut body = json!({ "state": self.state, "context": self.context, "description": self.description });
        if let Some(url) = &self.target_url {
            body["target_url"] = url.as_str().into();
        }
        Request {
            method: "POST",
            path: format!("/repos/{repository}/statuses/{}", self.head),
            body,
        }
    }
}

/// How a check run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Merge.
    Success,
    /// Merge as well: GitHub lets a required check pass that is neutral.
    Neutral,
    /// Do not merge.
    Failure,
    /// A signal ended the run.
    Cancelled,
}

/// How grave an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Notice,
    /// Look at it.
    Warning,
    /// It blocks.
    Failure,
}

/// A remark on a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file, below the repository's top.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// How grave it is.
    pub level: Level,
    /// Its title, at most 255 bytes.
    pub title: String,
    /// What it says.
    pub message: String,
}

/// A check run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The commit that it stands on.
    pub head: String,
    /// Its name.
    pub name: String,
    /// How it ended.
    pub conclusion: Conclusion,
    /// Its headline.
    pub title: String,
    /// Markdown, at most [`SUMMARY_MAX_BYTES`].
    pub summary: String,
    /// The page with more.
    pub details_url: Option<String>,
    /// Remarks on lines; any number, sent in batches.
    pub annotations: Vec<Annotation>,
}

impl Check {
    /// Makes it, with the first annotations.
    pub fn create(&self, repository: &Repository) -> Request {
        let mut body = json!({
            "name": self.name,
            "head_sha": self.head,
            "status": "completed",
            "conclusion": self.conclusion,
            "output": self.output(self.batches().next().unwrap_or_default()),
        });
        if let Some(url) = &self.details_url {
            body["details_url"] = url.as_str().into();
        }
        Request {
            method: "POST",
            path: format!("/repos/{repository}/check-runs"),
            body,
        }
    }

    /// Adds the annotations that one request had no room for, in order.
    pub fn append(&self, repository: &Repository, id: u64) -> Vec<Request> {
        let further = self.batches().skip(1);
        further
            .map(|batch| Request {
                method: "PATCH",
                path: format!("/repos/{repository}/check-runs/{id}"),
                body: json!({ "output": self.output(batch) }),
            })
            .collect()
    }

    fn batches(&self) -> impl Iterator<Item = &[Annotation]> {
        self.annotations.chunks(ANNOTATIONS_MAX)
    }

    fn output(&self, annotations: &[Annotation]) -> Value {
        let annotation = |one: &Annotation| {
            json!({
                "path": one.path,
                "start_line": one.line,
                "end_line": one.line,
                "annotation_level": one.level,
                "title": one.title,
                "message": one.message,
            })
        };
        let annotations: Vec<Value> = annotations.iter().map(annotation).collect();
        json!({ "title": self.title, "summary": self.summary, "annotations": annotations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(annotations: usize) -> Check {
        let annotation = |line| Annotation {
            path: "gates/perf.toml".to_owned(),
            line,
            level: Level::Failure,
            title: "regression".to_owned(),
            message: format!("row {line}"),
        };
        Check {
            head: "a".repeat(40),
            name: "gate".to_owned(),
            conclusion: Conclusion::Failure,
            title: "fail: regression".to_owned(),
            summary: "text".to_owned(),
            details_url: None,
            annotations: (1..=annotations as u64).map(annotation).collect(),
        }
    }

    #[test]
    fn annotations_go_in_batches_and_each_once() {
        let repository = Repository::parse("o/r").unwrap();
        for count in [0, 1, 50, 51, 180] {
            let check = check(count);
            let create = check.create(&repository);
            assert_eq!((create.method, create.path.as_str()), ("POST", "/repos/o/r/check-runs"));
            assert_eq!(create.body["status"], "completed");
            assert_eq!(create.body["conclusion"], "failure");
            let further = check.append(&repository, 7);
            assert!(further.iter().all(|request| request.path == "/repos/o/r/check-runs/7"));
            let mut said = Vec::new();
            for request in [&[create], further.as_slice()].concat() {
                let batch = request.body["output"]["annotations"].as_array().unwrap().clone();
                assert!(batch.len() <= ANNOTATIONS_MAX);
                assert_eq!(request.body["output"]["summary"], "text", "an update without it would remove it");
                said.extend(batch.into_iter().map(|one| one["start_line"].as_u64().unwrap()));
            }
            assert_eq!(said, (1..=count as u64).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn a_status_is_one_request() {
        let status = Status {
            head: "b".repeat(40),
            context: "gate".to_owned(),
            state: State::Success,
            description: "pass".to_owned(),
            target_url: Some("https://example.org/run".to_owned()),
        };
        let request = status.create(&Repository::parse("o/r").unwrap());
        assert_eq!(request.path, format!("/repos/o/r/statuses/{}", "b".repeat(40)));
        assert_eq!(
            request.body,
            json!({ "state": "success", "context": "gate", "description": "pass", "target_url": "https://example.org/run" })
        );
    }
}
