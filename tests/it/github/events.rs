//! The job that an event's file describes, for each kind of event.

use gate::edge::job;
use gate::model::github::Origin;

use crate::sources::sources;

/// A pull request's number, where its head comes from, and whether the token only reads.
type Pull<'a> = (u64, &'a str, bool);

/// Each file with its pull request; none where there is none.
const EXPECTED: [(&str, Option<Pull<'_>>); 10] = [
    ("merge_group", None),
    ("pull_request", Some((12, "same", false))),
    ("pull_request.dependabot", Some((12, "same", true))),
    ("pull_request.draft", Some((12, "same", false))),
    ("pull_request.fork", Some((12, "visitor/engine", true))),
    ("pull_request.fork-deleted", Some((12, "deleted", true))),
    ("push", None),
    ("push.tag", None),
    ("schedule", None),
    ("workflow_dispatch", None),
];

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Same => "same".to_owned(),
        Origin::Fork(Some(fork)) => fork.to_string(),
        Origin::Fork(None) => "deleted".to_owned(),
    }
}

#[test]
fn row_03_36_39_and_40_every_kind_of_event_names_its_commit_and_its_pull_request() {
    let files = sources(&["tests/data/github/events"]);
    assert_eq!(files.len(), EXPECTED.len(), "a file without its answer, or the other way round");
    for (name, expected) in EXPECTED {
        let path = format!("tests/data/github/events/{name}.json");
        let file = files.iter().find(|file| file.path == path).expect(name);
        let event = name.split('.').next().unwrap();
        let value = |variable: &str| {
            let text = match variable {
                "GITHUB_EVENT_NAME" => event,
                "GITHUB_REPOSITORY" => "example-org/engine",
                // The merge commit of a pull request: never the commit that is answered for.
                "GITHUB_SHA" if expected.is_some() => "cccccccccccccccccccccccccccccccccccccccc",
                "GITHUB_SHA" => "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "GITHUB_RUN_ID" | "GITHUB_RUN_NUMBER" | "GITHUB_RUN_ATTEMPT" => "1",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let job = job::of(&value, &file.text).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let found = job.pull.map(|pull| (pull.number, origin(&pull.origin), pull.reads_only()));
        let expected = expected.map(|(number, origin, reads)| (number, origin.to_owned(), reads));
        assert_eq!((found, job.head), (expected, "a".repeat(40)), "{name}");
    }
}

/// The examples of GitHub's own events that are published for its client library, by event; none where they are not installed.
fn published() -> Option<Vec<(String, Vec<serde_json::Value>)>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/npm/node_modules/@octokit/webhooks-examples");
    let Ok(text) = std::fs::read_to_string(folder.join("api.github.com/index.json")) else {
        let strict = std::env::var("GATE_TEST_STRICT").is_ok_and(|set| set == "1");
        assert!(!strict, "@octokit/webhooks-examples is not there: scripts/test installs it");
        println!("skipped: @octokit/webhooks-examples is not there: scripts/test installs it");
        return None;
    };
    let all: Vec<serde_json::Value> = serde_json::from_str(&text).expect("it is JSON");
    let of = |event: &serde_json::Value| {
        let name = event["name"].as_str().expect("a name").to_owned();
        (name, event["examples"].as_array().expect("examples").clone())
    };
    Some(all.iter().map(of).collect())
}

fn read(event: &str, example: &serde_json::Value) -> gate::model::github::Job {
    let variables = |name: &str| {
        let value = match name {
            "GITHUB_EVENT_NAME" => event,
            "GITHUB_REPOSITORY" => "o/r",
            "GITHUB_SHA" => "1111111111111111111111111111111111111111",
            "GITHUB_RUN_ID" | "GITHUB_RUN_NUMBER" | "GITHUB_RUN_ATTEMPT" => "1",
            _ => return None,
        };
        Some(value.to_owned())
    };
    job::of(&variables, &example.to_string()).unwrap_or_else(|error| panic!("{event}: {error:#}: {example}"))
}

#[test]
fn every_published_example_of_an_event_is_read() {
    let Some(published) = published() else { return };
    let of = |wanted: &str| {
        let (_, examples) = published
            .iter()
            .find(|(name, _)| name == wanted)
            .unwrap_or_else(|| panic!("{wanted}"));
        assert!(!examples.is_empty(), "{wanted}");
        examples
    };
    for event in ["pull_request", "merge_group", "push", "workflow_dispatch"] {
        for example in of(event) {
            let job = read(event, example);
            assert_eq!(job.pull.is_some(), event == "pull_request");
            // What measures reads the same files for its base.
            let base = gate::edge::git::Event::parse(event, &example.to_string());
            base.unwrap_or_else(|error| panic!("{event}: {error:#}: {example}"));
        }
    }
    for example in of("workflow_run") {
        let run = job::measured_run_of(&example.to_string()).unwrap_or_else(|error| panic!("{error:#}: {example}"));
        assert!(run.objection().is_some(), "none of them is a run of gate-measure");
    }
}

#[test]
fn a_published_pull_request_made_a_forks_is_a_forks() {
    let Some(published) = published() else { return };
    let (_, examples) = published.iter().find(|(name, _)| name == "pull_request").expect("pull requests");
    for example in examples {
        let mut fork = example.clone();
        fork["pull_request"]["head"]["repo"] = example["repository"].clone();
        let origin_of = |example: &serde_json::Value| origin(&read("pull_request", example).pull.expect("a pull request").origin);
        assert_eq!(origin_of(&fork), "same");
        fork["pull_request"]["head"]["repo"]["id"] = 7.into();
        fork["pull_request"]["head"]["repo"]["full_name"] = "visitor/engine".into();
        assert_eq!(origin_of(&fork), "visitor/engine");
        fork["pull_request"]["head"]["repo"] = serde_json::Value::Null;
        assert_eq!(origin_of(&fork), "deleted");
    }
}
