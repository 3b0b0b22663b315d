//! Commit statuses and check runs.

use gate::edge::github::{check_run, status};
use gate::model::github::{Annotation, Check, Conclusion, Level, State, Status};

use super::http::Response;
use super::hub::{Fault, Hub, PERSONAL, head, job};

fn wanted(head: &str) -> Status {
    Status {
        head: head.to_owned(),
        context: "gate".to_owned(),
        state: State::Failure,
        description: "fail: 1 of 3 gates".to_owned(),
        target_url: Some("https://github.example/run".to_owned()),
    }
}

fn check(annotations: u64) -> Check {
    let annotation = |line| Annotation {
        path: "gates/perf.toml".to_owned(),
        line,
        level: Level::Failure,
        title: "regression".to_owned(),
        message: format!("row {line}"),
    };
    Check {
        head: head(),
        name: "gate / report".to_owned(),
        conclusion: Conclusion::Failure,
        title: "fail: regression".to_owned(),
        summary: "text".to_owned(),
        details_url: Some("https://github.example/run/1".to_owned()),
        annotations: (1..=annotations).map(annotation).collect(),
    }
}

fn bad_gateway() -> Response {
    Response::html(502, "<title>502</title>")
}

/// The lines that the only check run has remarks on.
#[track_caller]
fn lines(hub: &Hub) -> Vec<u64> {
    let world = hub.world();
    assert_eq!(world.checks.len(), 1, "one check run");
    let line = |one: &serde_json::Value| one["start_line"].as_u64().unwrap();
    world.checks[0].annotations.iter().map(line).collect()
}

#[test]
fn row_40_a_status_stands_on_the_head_of_the_merge_group() {
    let hub = Hub::new();
    let group = "c".repeat(40);
    status(&hub.client(), &job().repository, &wanted(&group)).unwrap();
    let world = hub.world();
    assert_eq!((world.statuses.len(), world.statuses[0].0.as_str()), (1, group.as_str()));
    assert_eq!(world.statuses[0].1["state"], "failure");
    assert!(world.comments.is_empty());
}

#[test]
fn a_status_is_set_again_after_a_hiccup() {
    let hub = Hub::new();
    hub.world().fails("POST", "/statuses/", Fault::Done(bad_gateway()));
    hub.world().fails("POST", "/statuses/", Fault::Hangup);
    status(&hub.client(), &job().repository, &wanted(&head())).unwrap();
    assert_eq!(hub.count("POST"), 3);
}

#[test]
fn row_24_annotations_go_in_batches_of_50() {
    let hub = Hub::new();
    let url = check_run(&hub.client(), &job().repository, &check(180)).unwrap();
    assert!(url.starts_with("https://github.example/runs/"), "{url}");
    assert_eq!(lines(&hub), (1..=180).collect::<Vec<u64>>());
    assert_eq!((hub.count("POST"), hub.count("PATCH"), hub.log().len()), (1, 3, 4));
}

#[test]
fn a_check_run_and_its_annotations_are_there_once_whatever_broke() {
    for (method, path, fault) in [
        ("POST", "/check-runs", Fault::Done(bad_gateway())),
        ("POST", "/check-runs", Fault::Answer(bad_gateway())),
        ("POST", "/check-runs", Fault::DoneHangup),
        ("PATCH", "/check-runs/", Fault::Done(bad_gateway())),
        ("PATCH", "/check-runs/", Fault::Answer(bad_gateway())),
        ("PATCH", "/check-runs/", Fault::DoneHangup),
        ("PATCH", "/check-runs/", Fault::Hangup),
    ] {
        let hub = Hub::new();
        hub.world().fails(method, path, fault);
        check_run(&hub.client(), &job().repository, &check(120)).unwrap();
        assert_eq!(lines(&hub), (1..=120).collect::<Vec<u64>>(), "{:?}", hub.log());
    }
}

#[test]
fn a_check_run_of_another_run_is_not_taken_for_ours() {
    let hub = Hub::new();
    let mut earlier = check(0);
    earlier.details_url = Some("https://github.example/run/0".to_owned());
    check_run(&hub.client(), &job().repository, &earlier).unwrap();
    hub.world().fails("POST", "/check-runs", Fault::Answer(bad_gateway()));
    check_run(&hub.client(), &job().repository, &check(1)).unwrap();
    assert_eq!(hub.world().checks.len(), 2);
}

#[test]
fn check_runs_are_refused_with_what_would_do() {
    let hub = Hub::new();
    let mut settings = hub.settings();
    settings.token = gate::edge::github::Token::new("GATE_TOKEN", PERSONAL).unwrap();
    let client = gate::edge::github::Client::new(settings).unwrap();
    let why = check_run(&client, &job().repository, &check(1))
        .unwrap_err()
        .explain(&job(), client.token_name());
    assert!(
        why.contains("Check runs are made by GitHub Apps alone") && why.contains("use --as status"),
        "{why}"
    );
    for actor in hub.world().actors.values_mut() {
        actor.writes.clear();
    }
    let client = hub.client();
    for (failure, wants) in [
        (
            check_run(&client, &job().repository, &check(1)).unwrap_err(),
            "\n        checks: write",
        ),
        (
            status(&client, &job().repository, &wanted(&head())).unwrap_err(),
            "\n        statuses: write",
        ),
    ] {
        let why = failure.explain(&job(), client.token_name());
        assert!(why.contains(wants), "{why}");
    }
}

#[test]
fn two_changes_are_kept_apart() {
    let hub = Hub::new();
    let mut settings = hub.settings();
    settings.pause = std::time::Duration::from_millis(200);
    let client = gate::edge::github::Client::new(settings).unwrap();
    let begun = std::time::Instant::now();
    check_run(&client, &job().repository, &check(101)).unwrap();
    assert!(
        begun.elapsed() >= std::time::Duration::from_millis(400),
        "three changes, two pauses"
    );
}
