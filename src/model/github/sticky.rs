//! The one comment on a pull request: what stands there, and what is to be done about it.

use super::{Draft, Marker};

/// A comment that stands on the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its number; a later comment has a greater one.
    pub id: u64,
    /// Its page.
    pub url: String,
    /// Who wrote it; empty where the account is gone.
    pub author: String,
    /// Its text.
    pub body: String,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make a comment with this text.
    Create(String),
    /// Give this comment this text.
    Update(u64, String),
    /// The comment says so already.
    Keep(u64),
    /// Leave everything as it is, and why.
    Leave(String),
}

/// What is to be done, and afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// First this.
    pub action: Action,
    /// Then these comments of our own are one too many.
    pub surplus: Vec<u64>,
}

/// The head and the state of a pull request now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Whether it can still be merged.
    pub open: bool,
    /// The commit at its head.
    pub head: String,
}

impl Standing {
    /// Why nothing is to be said on it about a commit; none where something is.
    pub fn objection(&self, head: &str) -> Option<String> {
        let short = |id: &str| id.get(..12).unwrap_or(id).to_owned();
        if !self.open {
            return Some("the pull request is closed".to_owned());
        }
        (self.head != head).then(|| {
            format!(
                "superseded: the head of the pull request is {} now, this run speaks of {}",
                short(&self.head),
                short(head)
            )
        })
    }
}

/// Decides from all comments on the pull request.
///
/// A comment is ours where we wrote it **and** it begins with a marker of this key: anybody can paste a marker. Of several the first
/// stays, with what the newest run has to say.
pub fn plan(comments: &[Comment], author: &str, draft: &Draft) -> Plan {
    let key = &draft.marker.key;
    let marked = comments.iter().filter(|comment| comment.author.eq_ignore_ascii_case(author));
    let mut ours: Vec<(&Comment, Marker)> = marked
        .filter_map(|comment| Some((comment, Marker::at_start(&comment.body)?)))
        .filter(|(_, marker)| marker.key == *key)
        .collect();
    ours.sort_by_key(|(comment, _)| comment.id);
    let newest = ours
        .iter()
        .max_by_key(|(comment, marker)| (marker.run, std::cmp::Reverse(comment.id)));
    let (Some((first, _)), Some((news, latest))) = (ours.first(), newest) else {
        return Plan {
            action: nothing_yet(draft),
            surplus: Vec::new(),
        };
    };
    let older = latest.run > draft.marker.run;
    let text = if older { news.body.clone() } else { draft.text(Some(latest)) };
    let action = match (same(&first.body, &text), older) {
        (true, false) => Action::Keep(first.id),
        (true, true) => Action::Leave(format!(
            "a newer run has spoken: number {}, attempt {}",
            latest.run.number, latest.run.attempt
        )),
        (false, _) => Action::Update(first.id, text),
    };
    Plan {
        action,
        surplus: ours.iter().skip(1).map(|(comment, _)| comment.id).collect(),
    }
}

fn nothing_yet(draft: &Draft) -> Action {
    if draft.may_create {
        Action::Create(draft.text(None))
    } else {
        Action::Leave("nothing changed, and there is no comment yet".to_owned())
    }
}

/// Whether GitHub would show the same: it may give back other line ends, and none at the end.
fn same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}
