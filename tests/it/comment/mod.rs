//! The comment on a pull request: a page of records, and what is said of them elsewhere.

mod command;
mod failing;
mod inert;
mod policy;
mod posting;
mod room;
mod step;
mod typical;

use gate::model::github::BODY_MAX_BYTES;
use gate::render::comment::About;

/// What a comment of one commit and one run says besides its records.
fn about() -> About<'static> {
    About {
        head: Some("9e8d7c6b9e8d7c6b9e8d7c6b9e8d7c6b9e8d7c6b"),
        run_url: Some("https://github.example/o/r/actions/runs/70/attempts/1".to_owned()),
        limit_bytes: BODY_MAX_BYTES,
        ..About::default()
    }
}
