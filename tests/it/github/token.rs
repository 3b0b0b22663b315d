//! The token is nowhere to be read.

use std::time::Duration;

use gate::edge::github::{Client, Settings, Token, post, status};
use gate::model::github::{Posted, State, Status};
use serde_json::json;

use super::http::Response;
use super::hub::{Fault, Hub, TOKEN, draft, head, job};

/// Answers that give the token back in every place that is ever shown.
fn echoes() -> Vec<Fault> {
    let message = json!({"message": format!("bad {TOKEN}"), "errors": [{"message": TOKEN}]});
    let refused = |status: u16| {
        Response::json(status, message.clone())
            .with("x-accepted-github-permissions", &format!("{TOKEN}=write"))
            .with("x-github-sso", &format!("required; url=https://h/{TOKEN}"))
            .with("location", &format!("https://h/{TOKEN}"))
    };
    let statuses = [301, 307, 400, 401, 403, 404, 410, 422, 429, 500, 502];
    let refused = statuses.into_iter().map(|status| Fault::Answer(refused(status)));
    let pages = [
        Response::html(200, &format!("<title>{TOKEN}</title>")),
        Response::html(500, TOKEN),
        Response::json(200, json!({"state": TOKEN, "head": TOKEN})),
    ];
    // Where a text is cut, and in characters that are not seen.
    let cut = (275..300).step_by(8).map(|length| json!({"message": "x".repeat(length) + TOKEN}));
    let parted = TOKEN.chars().map(|c| format!("{c}\u{200b}")).collect::<String>();
    let words = cut
        .chain([json!({"message": parted})])
        .map(|words| Fault::Answer(Response::json(400, words)));
    let broken = [Fault::Hangup, Fault::Silence(Duration::from_secs(5))];
    refused
        .chain(pages.into_iter().map(Fault::Answer))
        .chain(words)
        .chain(broken)
        .collect()
}

#[test]
fn row_44_no_answer_makes_us_show_the_token() {
    let token = Token::new("GITHUB_TOKEN", TOKEN).unwrap();
    let count = echoes().len();
    for at in 0..count {
        let hub = Hub::new();
        // A refusal that is tried again meets the same each time.
        for _ in 0..4 {
            hub.world().fails("GET", "/pulls/", echoes().remove(at));
            hub.world().fails("POST", "/statuses/", echoes().remove(at));
        }
        let settings = Settings {
            budget: Duration::from_secs(1),
            ..hub.settings()
        };
        let shown_settings = format!("{settings:?}");
        let client = Client::new(settings.clone()).unwrap();
        let wanted = Status {
            head: head(),
            context: "gate".to_owned(),
            state: State::Success,
            description: "pass".to_owned(),
            target_url: None,
        };
        let posted = post(&client, &job(), &draft(7, 1, "x"));
        let failure = status(&Client::new(settings).unwrap(), &job().repository, &wanted);
        let explained = failure.as_ref().err().map(|failure| failure.explain(&job(), client.token_name()));
        assert!(matches!(posted, Posted::Failed(_)), "{posted:?}");
        let shown = format!("{shown_settings} {client:?} {posted:?} {failure:?} {explained:?} {token:?}");
        assert!(!shown.contains(&TOKEN[..12]), "{shown}");
        hub.world().forgive();
    }
}
