//! Refusals, each with its cause and what to do about it.

use gate::edge::github::{Client, Settings, Token, post, status};
use gate::model::github::{Job, Origin, Posted, Repository, State, Status};
use serde_json::json;

use super::http::Response;
use super::hub::{BOT, Fault, Hub, PERSONAL, REPOSITORY, TOKEN, draft, head, job};

#[track_caller]
fn refused(hub: &Hub, job: &Job) -> String {
    match post(&hub.client(), job, &draft(7, 1, "x")) {
        Posted::Failed(why) => why,
        other => panic!("{other:?}"),
    }
}

fn with_token(settings: Settings, name: &'static str, token: &str) -> Client {
    Client::new(Settings {
        token: Token::new(name, token).unwrap(),
        ..settings
    })
    .unwrap()
}

fn reads_only(hub: &Hub) {
    for actor in hub.world().actors.values_mut() {
        actor.writes.clear();
    }
}

fn from(origin: Origin, dependabot: bool) -> Job {
    let mut job = job();
    if let Some(pull) = &mut job.pull {
        (pull.origin, pull.dependabot) = (origin, dependabot);
    }
    job
}

/// O-33: the verdict does not depend on posting.
#[test]
fn row_04_a_fork_is_told_of_two_workflows() {
    let hub = Hub::new();
    reads_only(&hub);
    let why = refused(&hub, &from(Origin::Fork(Repository::parse("visitor/engine").ok()), false));
    insta::assert_snapshot!(why, @r#"
    GitHub refused to create the comment on example-org/engine#12 (403 Resource not accessible by integration).
      This run is for a pull request from a fork (visitor/engine): its token is read-only whatever `permissions:` says.
      The report is in the job summary. To have comments on such pull requests use two workflows; `gate init --workflows` writes them.
    "#);
    assert_eq!(hub.count("POST"), 1, "no second try");
}

#[test]
fn row_05_a_missing_permission_is_named_in_the_words_of_a_workflow() {
    let hub = Hub::new();
    reads_only(&hub);
    insta::assert_snapshot!(refused(&hub, &job()), @r"
    GitHub refused to create the comment on example-org/engine#12 (403 Resource not accessible by integration).
      The job's token lacks a permission. Any one of: issues: write, pull-requests: write. Add to the job:
          permissions:
            contents: read
            pull-requests: write
    ");
    assert_eq!(hub.count("POST"), 1, "no second try");
    let personal = with_token(hub.settings(), "GATE_TOKEN", PERSONAL);
    match post(&personal, &job(), &draft(7, 1, "x")) {
        Posted::Failed(why) => assert!(
            why.contains("The personal access token in GATE_TOKEN lacks a permission. Any one of: issues: write"),
            "{why}"
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn row_06_a_rejected_token_is_said_with_its_variable() {
    let hub = Hub::new();
    let client = with_token(hub.settings(), "GITHUB_TOKEN", "ghs_expired");
    match post(&client, &job(), &draft(7, 1, "x")) {
        Posted::Failed(why) => assert!(
            why.contains("401 Bad credentials") && why.contains("The token in GITHUB_TOKEN was rejected"),
            "{why}"
        ),
        other => panic!("{other:?}"),
    }
    let wanted = Status {
        head: head(),
        context: "gate".to_owned(),
        state: State::Success,
        description: "pass".to_owned(),
        target_url: None,
    };
    let failure = status(&client, &job().repository, &wanted).unwrap_err();
    assert!(failure.is_token_rejected(), "{failure}");
    assert_eq!(hub.log().len(), 2, "no second try: {:?}", hub.log());
}

#[test]
fn row_07_a_repository_that_is_not_seen_is_said() {
    let hub = Hub::new();
    let mut elsewhere = job();
    elsewhere.repository = Repository::parse("example-org/hidden").unwrap();
    let why = refused(&hub, &elsewhere);
    assert!(
        why.contains("404 Not Found") && why.contains("may not see example-org/hidden"),
        "{why}"
    );
    assert_eq!(hub.log().len(), 1, "no second try");
}

#[test]
fn row_36_and_39_a_deleted_fork_and_dependabot_are_as_forks() {
    for (job, says) in [
        (from(Origin::Fork(None), false), "from a fork that was deleted"),
        (from(Origin::Same, true), "a pull request of Dependabot"),
    ] {
        let hub = Hub::new();
        reads_only(&hub);
        let why = refused(&hub, &job);
        assert!(why.contains(says) && why.contains("use two workflows"), "{why}");
    }
}

#[test]
fn row_37_reads_follow_a_renamed_repository_and_writes_say_so() {
    let hub = Hub::new();
    hub.world().renamed = Some("example-org/motor".to_owned());
    let why = refused(&hub, &job());
    assert!(
        why.contains(&format!("{REPOSITORY} was renamed or transferred")) && why.contains("set GITHUB_REPOSITORY"),
        "{why}"
    );
    let log = hub.log();
    assert_eq!(log.iter().filter(|line| line.ends_with(" 301")).count(), 2, "{log:?}");
    assert!(log.last().unwrap().ends_with(" 307"), "{log:?}");
    let mut renamed = job();
    renamed.repository = Repository::parse("example-org/motor").unwrap();
    assert!(matches!(post(&hub.client(), &renamed, &draft(7, 1, "x")), Posted::Created(_)));
}

#[test]
fn row_37_nobody_is_led_elsewhere_with_the_token() {
    let other = Hub::new();
    let elsewhere = format!("{}/repos/{REPOSITORY}/pulls/12", other.address());
    let hub = Hub::new();
    for to in [
        elsewhere.as_str(),
        "http://127.0.0.1@evil.example/x",
        "//evil.example/x",
        &format!("{}.evil.example/x", hub.address()),
    ] {
        let moved = Response::json(301, json!({"message": "Moved Permanently"})).with("location", to);
        hub.world().fails("GET", "/pulls/", Fault::Answer(moved));
        let why = refused(&hub, &job());
        assert!(why.contains("was renamed or transferred, to"), "{why}");
    }
    assert!(other.log().is_empty());
}

#[test]
fn row_37_a_redirect_in_a_circle_ends() {
    let hub = Hub::new();
    for _ in 0..9 {
        let to = format!("{}/repos/{REPOSITORY}/pulls/12", hub.address());
        let moved = Response::json(301, json!({"message": "Moved Permanently"})).with("location", &to);
        hub.world().fails("GET", "/pulls/", Fault::Answer(moved));
    }
    assert!(refused(&hub, &job()).contains("more than 3 redirects"));
}

#[test]
fn row_38_the_path_of_an_enterprise_server_is_kept() {
    for (prefix, slash) in [("/api/v3", ""), ("/api/v3", "/"), ("/deep/er/api/v3", "")] {
        let hub = Hub::below(prefix);
        hub.world().chatter(120);
        let mut settings = hub.settings();
        settings.api.push_str(slash);
        let client = Client::new(settings).unwrap();
        assert!(matches!(post(&client, &job(), &draft(7, 1, "x")), Posted::Created(_)));
        let log = hub.log();
        assert!(log.iter().all(|line| line.contains(&format!(" /repos/{REPOSITORY}/"))), "{log:?}");
    }
}

#[test]
fn row_38_an_address_that_cannot_be_an_api_is_refused() {
    for (api, says) in [
        ("api.github.com", "no address of an API"),
        ("ftp://h", "no address of an API"),
        ("https://", "no address of an API"),
        ("https://user:secret@h/api", "no address of an API"),
        ("https://h/api?x=1", "no address of an API"),
        ("https://h/a b", "no address of an API"),
        ("http://github.example/api/v3", "over https:// only"),
        ("http://127.evil.example", "over https:// only"),
    ] {
        let settings = Settings {
            api: api.to_owned(),
            ..Hub::new().settings()
        };
        let error = format!("{:#}", Client::new(settings).unwrap_err());
        assert!(error.contains(says) && !error.contains("secret"), "{api}: {error}");
    }
}

#[test]
fn an_organisation_that_demands_single_sign_on_is_said() {
    let hub = Hub::new();
    let demand = Response::json(403, json!({"message": "Resource protected by organization SAML enforcement."})).with(
        "x-github-sso",
        "required; url=https://github.example/orgs/o/sso?authorization_request=x",
    );
    hub.world().fails("GET", "/pulls/", Fault::Answer(demand));
    let why = refused(&hub, &job());
    assert!(
        why.contains("single sign-on for the token in GITHUB_TOKEN: authorise it at https://github.example/orgs/o/sso"),
        "{why}"
    );
}

#[test]
fn a_body_that_is_too_long_is_said_as_github_says_it() {
    let hub = Hub::new();
    match post(&hub.client(), &job(), &draft(7, 1, &"\u{fc}".repeat(65_536))) {
        Posted::Failed(why) => assert!(
            why.contains("422 Validation Failed: body is too long (maximum is 65536 characters)"),
            "{why}"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(hub.count("POST"), 1);
}

#[test]
fn the_author_of_another_app_is_named_or_learned() {
    let hub = Hub::new();
    if let Some(actor) = hub.world().actors.get_mut(TOKEN) {
        actor.login = "our-app[bot]".to_owned();
    }
    let mut settings = hub.settings();
    settings.author = Some("our-app[bot]".to_owned());
    let named = Client::new(settings).unwrap();
    assert!(matches!(post(&named, &job(), &draft(7, 1, "x")), Posted::Created(_)));
    assert!(matches!(post(&named, &job(), &draft(8, 1, "y")), Posted::Updated(_)));
    assert_eq!(hub.count("POST"), 1);
    // Unnamed, the author shows in what was made: there is still one comment afterwards, and it is the first.
    assert!(matches!(post(&hub.client(), &job(), &draft(9, 1, "z")), Posted::Updated(_)));
    assert!(hub.only().contains("\nz"));
    assert_ne!(hub.marked()[0].login, BOT);
}
