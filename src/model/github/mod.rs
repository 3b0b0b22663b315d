//! What is said on GitHub, before anything is sent: to whom, under which mark, in which words.
//!
//! Nothing here knows the network. A [`Draft`] goes in where comments are posted, a [`Posted`] comes out; `--dry-run` shows the [`Request`].

mod job;
mod marker;
mod measured;
mod request;
mod sticky;

pub use job::{Job, Origin, Pull, Repository};
pub use marker::{Key, Marker, Run, is_commit};
pub use measured::{Candidate, Meant, MeasuredRun, PULL_LABEL, WORKFLOW, meant};
pub use request::{
    ANNOTATIONS_MAX, Annotation, Check, Conclusion, DESCRIPTION_MAX_BYTES, Level, Request, SUMMARY_MAX_BYTES, State, Status,
};
pub use sticky::{Action, Comment, Plan, Standing, plan};

/// Largest body of a comment, in bytes: GitHub refuses more than 65,536 characters, and does not say which it counts.
pub const COMMENT_MAX_BYTES: usize = 60_000;
/// What the marker's line and the line on a moved head take of it at most.
const FRAME_MAX_BYTES: usize = 500;
/// Largest body that a renderer may hand over.
pub const BODY_MAX_BYTES: usize = COMMENT_MAX_BYTES - FRAME_MAX_BYTES;

/// A comment that is ready to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Whose comment it is, and of which run.
    pub marker: Marker,
    /// The Markdown after the marker's line, at most [`BODY_MAX_BYTES`].
    pub body: String,
    /// Whether a comment may be made where there is none yet; one that stands there is updated all the same.
    pub may_create: bool,
}

impl Draft {
    /// The text to send: the marker's line, where the comment spoke of another commit before a line that says so, and the body.
    pub fn text(&self, previous: Option<&Marker>) -> String {
        let marker = match previous {
            Some(previous) => self.marker.clone().after(previous),
            None => self.marker.clone(),
        };
        let moved = marker.before.as_deref().map_or_else(String::new, |before| {
            let [before, now] = [before, &marker.head].map(|id| id.get(..12).unwrap_or(id));
            format!("\nThe head has moved: this comment spoke of `{before}` before, it speaks of `{now}` now.\n")
        });
        format!("{}\n{}{moved}", marker.line(), self.body)
    }
}

/// What became of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It was made.
    Created(Place),
    /// An older one says this now.
    Updated(Place),
    /// It said so already.
    Unchanged(Place),
    /// Nothing was to be said, and why: superseded, closed, or nothing changed.
    Skipped(String),
    /// It could not be said, and why, with what to do; the verdict stands all the same.
    Failed(String),
}

/// Where a comment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub id: u64,
    /// Its page.
    pub url: String,
}

impl Posted {
    /// The word in the outputs of a step.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::Updated(_) => "updated",
            Self::Unchanged(_) => "unchanged",
            Self::Skipped(_) => "skipped",
            Self::Failed(_) => "failed",
        }
    }

    /// Where the comment is, where there is one.
    pub const fn place(&self) -> Option<&Place> {
        match self {
            Self::Created(place) | Self::Updated(place) | Self::Unchanged(place) => Some(place),
            Self::Skipped(_) | Self::Failed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_head_is_said_and_stays_said() {
        let head = |digit: &str| digit.repeat(40);
        let of = |digit: &str, number| Draft {
            marker: Marker {
                key: Key::parse("default").unwrap(),
                run: Run {
                    number,
                    attempt: 1,
                    id: number,
                },
                head: head(digit),
                before: None,
            },
            body: "### gate: pass\n".to_owned(),
            may_create: true,
        };
        let first = of("a", 1).text(None);
        assert!(!first.contains("moved"), "{first}");
        let second = of("b", 2).text(Marker::at_start(&first).as_ref());
        assert!(
            second.ends_with("\nThe head has moved: this comment spoke of `aaaaaaaaaaaa` before, it speaks of `bbbbbbbbbbbb` now.\n"),
            "{second}"
        );
        let same = of("b", 2).text(Marker::at_start(&second).as_ref());
        assert_eq!(same, second, "posting the same again changes nothing");
    }
}
