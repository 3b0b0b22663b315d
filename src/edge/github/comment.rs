//! The one comment on a pull request: made once, then edited in place.

use super::client::Client;
use super::refusal::Failure;
use crate::model::github::{Action, Comment, Draft, Job, Place, Posted, Repository, plan};

/// Most times that the comments are looked at: after the first time, once more for each thing that came in between.
const LOOKS_MAX: u32 = 8;

/// Posts a comment on the pull request of a job.
///
/// It never fails in another way than with [`Posted::Failed`]: a comment that cannot be made changes no verdict.
pub fn post(client: &Client, job: &Job, draft: &Draft) -> Posted {
    let Some(pull) = &job.pull else {
        return Posted::Skipped(format!("the event {} has no pull request", job.event));
    };
    let thread = Thread {
        client,
        repository: &job.repository,
        number: pull.number,
    };
    match thread.post(&job.head, draft) {
        Ok(posted) => posted,
        Err(failure) => Posted::Failed(failure.explain(job, client.token_name())),
    }
}

/// The comments of one pull request.
struct Thread<'a> {
    client: &'a Client,
    repository: &'a Repository,
    number: u64,
}

/// What this run has done so far.
#[derive(Default)]
struct Done {
    /// The comment that was made, if its making was confirmed.
    created: Option<Comment>,
    /// How often a comment was tried to be made.
    creates: u32,
    /// How often a comment to be updated was gone.
    gone: u32,
}

impl Thread<'_> {
    fn post(&self, head: &str, draft: &Draft) -> Result<Posted, Failure> {
        let standing = self.client.standing(self.repository, self.number)?;
        if let Some(why) = standing.objection(head) {
            return Ok(Posted::Skipped(why));
        }
        let mut author = self.client.me()?;
        let mut done = Done::default();
        for _ in 0..LOOKS_MAX {
            let Some(comments) = self.client.comments(self.repository, self.number)? else {
                return Ok(match done.created {
                    Some(created) => Posted::Created(place(&created)),
                    None => Posted::Skipped("there are too many comments to find the own one among".to_owned()),
                });
            };
            let plan = plan(&comments, &author, draft);
            let find = |id: u64| comments.iter().find(|comment| comment.id == id).map(place);
            let posted = match plan.action {
                Action::Create(text) => {
                    if let Some(created) = &done.created {
                        // It was made, and the list does not show it yet.
                        return Ok(Posted::Created(place(created)));
                    }
                    if let Some(created) = self.create(&text, &mut done)? {
                        author.clone_from(&created.author);
                        done.created = Some(created);
                    }
                    continue;
                }
                Action::Update(id, text) => match self.client.update_comment(self.repository, id, &text) {
                    Ok(updated) => Posted::Updated(place(&updated)),
                    Err(failure) if failure.status() == Some(404) && done.gone == 0 => {
                        done.gone += 1;
                        continue;
                    }
                    Err(failure) => return Err(failure),
                },
                Action::Keep(id) => match find(id) {
                    Some(place) if done.creates > 0 => Posted::Created(place),
                    Some(place) => Posted::Unchanged(place),
                    None => continue,
                },
                Action::Leave(why) => Posted::Skipped(why),
            };
            self.tidy(&plan.surplus);
            return Ok(posted);
        }
        Ok(Posted::Skipped("the comments kept changing while they were looked at".to_owned()))
    }

    /// Makes the comment. None where that is not certain: the comments are to be looked at again before another try.
    fn create(&self, text: &str, done: &mut Done) -> Result<Option<Comment>, Failure> {
        done.creates += 1;
        match self.client.create_comment(self.repository, self.number, text, done.creates) {
            Ok(created) => Ok(Some(created)),
            Err(Failure { again: Some(wait), .. }) => {
                self.client.wait(wait);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Removes what is one too many. That it could not be removed is told by nobody but the comment itself; the next run tries again.
    fn tidy(&self, surplus: &[u64]) {
        for id in surplus {
            let _removed = self.client.delete_comment(self.repository, *id);
        }
    }
}

fn place(comment: &Comment) -> Place {
    Place {
        id: comment.id,
        url: comment.url.clone(),
    }
}
