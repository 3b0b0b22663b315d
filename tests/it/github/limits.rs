//! Hiccups and limits: what is asked again, after how long, and what never is.

use std::time::{Duration, Instant};

use gate::edge::github::{Client, post};
use gate::model::github::Posted;
use serde_json::json;

use super::http::Response;
use super::hub::{BOT, Fault, Hub, draft, job};

/// A page as a proxy shows it.
fn bad_gateway() -> Response {
    Response::html(502, "<html><head><title>Unicorn! &middot; 502</title></head><body>x</body></html>")
}

fn secondary(status: u16, wait: Option<&str>) -> Response {
    let words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    let response = Response::json(
        status,
        json!({"message": words, "documentation_url": "https://docs.github.example"}),
    );
    match wait {
        Some(wait) => response.with("retry-after", wait),
        None => response,
    }
}

#[track_caller]
fn failed(posted: Posted) -> String {
    match posted {
        Posted::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn row_08_a_short_limit_is_sat_out() {
    for status in [403, 429] {
        let hub = Hub::new();
        hub.world().fails("POST", "/comments", Fault::Answer(secondary(status, Some("1"))));
        let begun = Instant::now();
        let posted = post(&hub.client(), &job(), &draft(7, 1, "x"));
        assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
        assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
        assert_eq!((hub.count("POST"), hub.marked().len()), (2, 1));
        let log = hub.log();
        let posts: Vec<usize> = (0..log.len()).filter(|at| log[*at].starts_with("POST")).collect();
        let between = &log[posts[0]..posts[1]];
        assert!(
            between.iter().any(|line| line.contains("/comments?")),
            "listed again before: {log:?}"
        );
    }
}

#[test]
fn row_08_a_read_that_is_limited_is_sat_out_too() {
    let hub = Hub::new();
    hub.world().fails("GET", "/comments", Fault::Answer(secondary(429, Some("1"))));
    assert!(matches!(post(&hub.client(), &job(), &draft(7, 1, "x")), Posted::Created(_)));
}

#[test]
fn row_09_a_limit_beyond_the_budget_stops_at_once() {
    let in_an_hour = (jiff::Timestamp::now().as_second() + 3600).to_string();
    let spent = Response::json(403, json!({"message": "API rate limit exceeded for installation ID 1."}))
        .with("x-ratelimit-remaining", "0")
        .with("x-ratelimit-reset", &in_an_hour);
    for limited in [
        secondary(429, Some("3600")),
        secondary(403, Some("3600")),
        secondary(403, None),
        spent,
    ] {
        let hub = Hub::new();
        hub.world().fails("POST", "/comments", Fault::Answer(limited));
        let begun = Instant::now();
        let why = failed(post(&hub.client(), &job(), &draft(7, 1, "x")));
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing was waited for");
        assert!(why.contains("try again in ") && why.contains("--api-budget"), "{why}");
        assert_eq!(hub.count("POST"), 1);
    }
}

#[test]
fn row_10_a_comment_that_was_made_behind_a_502_is_found() {
    let hub = Hub::new();
    hub.world().fails("POST", "/comments", Fault::Done(bad_gateway()));
    let posted = post(&hub.client(), &job(), &draft(7, 1, "x"));
    assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
    assert_eq!((hub.count("POST"), hub.marked().len()), (1, 1));
}

#[test]
fn row_11_a_comment_that_was_made_before_the_connection_broke_is_found() {
    let hub = Hub::new();
    hub.world().fails("POST", "/comments", Fault::DoneHangup);
    let posted = post(&hub.client(), &job(), &draft(7, 1, "x"));
    assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
    assert_eq!((hub.count("POST"), hub.marked().len()), (1, 1));
}

#[test]
fn row_10_and_11_a_comment_that_was_not_made_is_made_then() {
    for fault in [Fault::Answer(bad_gateway()), Fault::Hangup] {
        let hub = Hub::new();
        hub.world().fails("POST", "/comments", fault);
        let posted = post(&hub.client(), &job(), &draft(7, 1, "x"));
        assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
        assert_eq!((hub.count("POST"), hub.marked().len()), (2, 1));
    }
}

#[test]
fn trouble_that_stays_ends_with_its_words_and_few_tries() {
    let hub = Hub::new();
    for _ in 0..20 {
        hub.world().fails("POST", "/comments", Fault::Answer(bad_gateway()));
    }
    let why = failed(post(&hub.client(), &job(), &draft(7, 1, "x")));
    assert!(why.contains("502 a page titled \"Unicorn! &middot; 502\", 4 tries"), "{why}");
    assert!(!why.contains("<html>"), "{why}");
    assert_eq!(hub.count("POST"), 4);
}

#[test]
fn reads_and_updates_are_tried_again() {
    let hub = Hub::new();
    hub.world().comments(BOT, &draft(6, 1, "old").text(None));
    for (method, path) in [("GET", "/pulls/"), ("GET", "/comments"), ("PATCH", "/comments/")] {
        hub.world().fails(method, path, Fault::Hangup);
        hub.world().fails(method, path, Fault::Answer(bad_gateway()));
    }
    assert!(matches!(post(&hub.client(), &job(), &draft(7, 1, "x")), Posted::Updated(_)));
    assert_eq!(hub.log().len(), 9, "{:?}", hub.log());
}

#[test]
fn a_silent_server_ends_within_the_budget() {
    let hub = Hub::new();
    for _ in 0..4 {
        hub.world().fails("GET", "/pulls/", Fault::Silence(Duration::from_secs(20)));
    }
    let mut settings = hub.settings();
    settings.budget = Duration::from_secs(1);
    let begun = Instant::now();
    let why = failed(post(&Client::new(settings).unwrap(), &job(), &draft(7, 1, "x")));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(why.contains("no whole answer within 1 s"), "{why}");
}

#[test]
fn nobody_there_is_said_with_the_address() {
    let mut settings = Hub::new().settings();
    let port = gate::edge::endpoint::free_port().unwrap();
    settings.api = format!("http://127.0.0.1:{port}");
    let why = failed(post(&Client::new(settings).unwrap(), &job(), &draft(7, 1, "x")));
    assert!(
        why.contains("refused") && why.contains(&format!("127.0.0.1:{port}")) && why.contains("4 tries"),
        "{why}"
    );
}

#[test]
fn what_is_no_api_is_said() {
    for answer in [
        Response::html(200, "<title>Sign in</title>"),
        Response::json(200, json!([])),
        Response::json(200, json!({"state": 1})),
    ] {
        let hub = Hub::new();
        let odd = matches!(&answer.body, super::http::Body::Html(_));
        hub.world().fails("GET", "/pulls/", Fault::Answer(answer));
        let why = failed(post(&hub.client(), &job(), &draft(7, 1, "x")));
        assert!(why.contains("is not understood") && why.contains("GITHUB_API_URL"), "{why}");
        assert!(!odd || why.contains("a page titled \"Sign in\""), "{why}");
        hub.world().forgive();
    }
}
