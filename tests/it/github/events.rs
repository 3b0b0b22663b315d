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
