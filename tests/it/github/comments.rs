//! The one comment: found again, updated in place, and left alone where somebody else has spoken.

use gate::edge::github::post;
use gate::model::github::{Draft, Marker, Posted};

use super::hub::{BOT, Fault, Hub, PERSON, PERSONAL, PULL, REPOSITORY, World, draft, head, job};

/// What a run has said, as it stands on the pull request.
fn said(draft: &Draft) -> String {
    draft.text(None)
}

#[track_caller]
fn skipped(posted: &Posted, says: &str) {
    match posted {
        Posted::Skipped(why) => assert!(why.contains(says), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_comment_is_made_then_edited_and_a_moved_head_is_said() {
    let hub = Hub::new();
    let first = post(&hub.client(), &job(), &draft(7, 1, "fail"));
    let Posted::Created(place) = &first else { panic!("{first:?}") };
    assert!(place.url.contains(&format!("issuecomment-{}", place.id)), "{place:?}");
    hub.world().pulls.insert(PULL, ("f".repeat(40), true, false));
    let (mut moved, mut next) = (job(), draft(8, 1, "pass"));
    moved.head = "f".repeat(40);
    next.marker.head = "f".repeat(40);
    assert_eq!(post(&hub.client(), &moved, &next), Posted::Updated(place.clone()));
    let body = hub.only();
    assert!(body.contains("\npass") && body.contains("The head has moved"), "{body}");
    assert_eq!(post(&hub.client(), &moved, &next), Posted::Unchanged(place.clone()));
}

#[test]
fn figure_of_requests_on_a_pull_request_with_120_comments() {
    let hub = Hub::new();
    hub.world().chatter(120);
    let body = "three records\n".repeat(200);
    let created = post(&hub.client(), &job(), &draft(7, 1, &body));
    assert!(matches!(created, Posted::Created(_)), "{created:?}");
    let made = hub.log().len();
    assert!(made <= 7, "{made} requests to create: {:?}", hub.log());
    let unchanged = post(&hub.client(), &job(), &draft(7, 1, &body));
    assert!(matches!(unchanged, Posted::Unchanged(_)), "{unchanged:?}");
    let again = hub.log().len() - made;
    assert!(again <= 5, "{again} requests where nothing changed: {:?}", hub.log());
    let updated = post(&hub.client(), &job(), &draft(8, 1, &body));
    assert!(matches!(updated, Posted::Updated(_)), "{updated:?}");
    println!(
        "requests: {made} to create, {again} unchanged, {} to update",
        hub.log().len() - made - again
    );
}

#[test]
fn figure_of_requests_with_a_personal_token() {
    let hub = Hub::new();
    hub.world().chatter(120);
    let mut settings = hub.settings();
    settings.token = gate::edge::github::Token::new("GATE_TOKEN", PERSONAL).unwrap();
    let client = gate::edge::github::Client::new(settings).unwrap();
    assert!(matches!(post(&client, &job(), &draft(7, 1, "x")), Posted::Created(_)));
    assert_eq!(hub.log().len(), 7, "{:?}", hub.log());
    assert!(matches!(post(&client, &job(), &draft(7, 1, "x")), Posted::Unchanged(_)));
    assert_eq!(hub.marked()[0].login, PERSON);
}

#[test]
fn row_12_the_comment_is_found_on_the_first_and_on_the_second_page() {
    for before in [0, 119] {
        let hub = Hub::new();
        hub.world().chatter(before);
        let id = hub.world().comments(BOT, &said(&draft(7, 1, "old")));
        hub.world().chatter(120 - before);
        let posted = post(&hub.client(), &job(), &draft(8, 1, "new"));
        assert!(matches!(&posted, Posted::Updated(place) if place.id == id), "{posted:?}");
        assert!(hub.only().contains("\nnew"));
    }
}

/// O-34: one comment, found by marker and author.
#[test]
fn row_13_a_marker_that_a_user_pasted_is_not_ours() {
    let hub = Hub::new();
    let pasted = said(&draft(7, 1, "buy this"));
    hub.world().comments(PERSON, &pasted);
    let posted = post(&hub.client(), &job(), &draft(7, 1, "ours"));
    assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
    let world = hub.world();
    assert_eq!(world.comments[0].body, pasted);
    assert!(world.comments[1].body.contains("\nours") && world.comments[1].login == BOT);
}

#[test]
fn row_14_a_quoted_marker_is_not_ours_even_from_the_same_bot() {
    let hub = Hub::new();
    let line = draft(7, 1, "").marker.line();
    for quoting in [
        format!("> {line}\n> fail"),
        format!("see below\n{line}"),
        format!("  {line}"),
        line.replace("default", "other"),
    ] {
        hub.world().comments(BOT, &quoting);
    }
    let before = hub.world().comments.clone();
    let posted = post(&hub.client(), &job(), &draft(8, 1, "ours"));
    assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
    let after = hub.world().comments.clone();
    assert_eq!(after.len(), before.len() + 1);
    for (one, other) in before.iter().zip(&after) {
        assert_eq!(one.body, other.body);
    }
}

#[test]
fn row_15_of_two_runs_at_once_one_comment_remains_with_the_newest_content() {
    for (other, says) in [(6, "\nmine"), (9, "\ntheirs")] {
        let hub = Hub::new();
        let theirs = said(&draft(other, 1, "theirs"));
        let meanwhile = move |world: &mut World| {
            world.comments(BOT, &theirs);
        };
        hub.world().fails("POST", "/comments", Fault::Meanwhile(Box::new(meanwhile)));
        post(&hub.client(), &job(), &draft(7, 1, "mine"));
        assert!(hub.only().contains(says), "{}", hub.only());
        assert_eq!(hub.marked()[0].id, 501, "the first of them remains");
    }
}

#[test]
fn duplicates_of_an_earlier_race_are_put_together() {
    let hub = Hub::new();
    let first = hub.world().comments(BOT, &said(&draft(5, 1, "five")));
    hub.world().comments(BOT, &said(&draft(6, 1, "six")));
    hub.world().comments(BOT, &said(&draft(6, 2, "six again")));
    let posted = post(&hub.client(), &job(), &draft(7, 1, "seven"));
    assert!(matches!(&posted, Posted::Updated(place) if place.id == first), "{posted:?}");
    assert!(hub.only().contains("\nseven"));
}

#[test]
fn row_16_an_older_run_leaves_the_newer_alone() {
    // A further attempt at an older run is older than a later run all the same.
    for ((number, attempt), (own, own_attempt)) in [((8, 1), (7, 1)), ((7, 2), (7, 1)), ((8, 1), (7, 2))] {
        let hub = Hub::new();
        let newer = said(&draft(number, attempt, "newer"));
        hub.world().comments(BOT, &newer);
        let older = draft(own, own_attempt, "older");
        skipped(&post(&hub.client(), &job(), &older), "a newer run has spoken");
        assert_eq!(hub.only(), newer);
        assert_eq!(hub.count("PATCH"), 0);
    }
}

#[test]
fn row_17_a_head_that_moved_supersedes_what_was_measured() {
    let hub = Hub::new();
    hub.world().pulls.insert(PULL, ("e".repeat(40), true, false));
    let posted = post(&hub.client(), &job(), &draft(7, 1, "late"));
    skipped(
        &posted,
        "superseded: the head of the pull request is eeeeeeeeeeee now, this run speaks of 1a2b3c4d1a2b",
    );
    assert_eq!(hub.log(), [format!("GET /repos/{REPOSITORY}/pulls/{PULL} 200")]);
}

#[test]
fn row_18_a_closed_pull_request_is_left_alone_and_a_locked_one_is_said() {
    let hub = Hub::new();
    hub.world().pulls.insert(PULL, (head(), false, false));
    skipped(&post(&hub.client(), &job(), &draft(7, 1, "late")), "closed");
    hub.world().pulls.insert(PULL, (head(), true, true));
    match post(&hub.client(), &job(), &draft(7, 1, "now")) {
        Posted::Failed(why) => assert!(
            why.contains("403") && why.contains("The conversation is locked: unlock it"),
            "{why}"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(hub.count("POST"), 1);
}

#[test]
fn row_19_a_comment_that_was_deleted_meanwhile_is_made_anew() {
    let hub = Hub::new();
    hub.world().comments(BOT, &said(&draft(6, 1, "old")));
    hub.world()
        .fails("PATCH", "/comments/", Fault::Meanwhile(Box::new(|world| world.comments.clear())));
    let posted = post(&hub.client(), &job(), &draft(7, 1, "new"));
    assert!(matches!(posted, Posted::Created(_)), "{posted:?}");
    assert!(hub.only().contains("\nnew"));
}

#[test]
fn row_20_a_minimised_comment_is_updated_in_place() {
    // It is listed with the reason, and an update does not undo it: nothing but the text is sent, and nothing is asked elsewhere.
    for reason in ["outdated", "off-topic", "spam"] {
        let hub = Hub::new();
        hub.world().chatter(3);
        let id = hub.world().comments(BOT, &said(&draft(6, 1, "old")));
        hub.world().minimise(id, reason);
        let posted = post(&hub.client(), &job(), &draft(7, 1, "new"));
        assert!(matches!(&posted, Posted::Updated(place) if place.id == id), "{posted:?}");
        let standing = hub.marked().remove(0);
        assert_eq!((standing.id, standing.minimised), (id, Some(reason)), "it stays minimised");
        assert!(hub.only().contains("\nnew"), "{}", hub.only());
        assert_eq!((hub.count("PATCH"), hub.count("POST"), hub.count("DELETE")), (1, 0, 0));
        // Nor is the same news told again beside it.
        assert!(matches!(post(&hub.client(), &job(), &draft(7, 1, "new")), Posted::Unchanged(_)));
        assert_eq!((hub.count("PATCH"), hub.count("POST")), (1, 0));
    }
}

#[test]
fn row_20_of_several_comments_the_first_stays_minimised() {
    let hub = Hub::new();
    let first = hub.world().comments(BOT, &said(&draft(5, 1, "five")));
    hub.world().comments(BOT, &said(&draft(6, 1, "six")));
    hub.world().minimise(first, "resolved");
    post(&hub.client(), &job(), &draft(7, 1, "seven"));
    assert!(hub.only().contains("\nseven"), "{}", hub.only());
    let standing = hub.marked().remove(0);
    assert_eq!((standing.id, standing.minimised), (first, Some("resolved")));
}

#[test]
fn row_35_a_second_attempt_updates_the_same_comment() {
    let hub = Hub::new();
    let id = hub.world().comments(BOT, &said(&draft(7, 1, "first attempt")));
    let posted = post(&hub.client(), &job(), &draft(7, 2, "second attempt"));
    assert!(matches!(&posted, Posted::Updated(place) if place.id == id), "{posted:?}");
    let marker = Marker::at_start(&hub.only()).unwrap();
    assert_eq!((marker.run.number, marker.run.attempt), (7, 2));
}

#[test]
fn row_03_and_40_without_a_pull_request_nothing_is_asked() {
    let hub = Hub::new();
    for event in ["push", "merge_group", "schedule", "workflow_dispatch"] {
        let mut job = job();
        (job.event, job.pull) = (event.to_owned(), None);
        skipped(
            &post(&hub.client(), &job, &draft(7, 1, "x")),
            &format!("the event {event} has no pull request"),
        );
    }
    assert!(hub.log().is_empty());
}

#[test]
fn what_may_not_be_created_is_updated_all_the_same() {
    let hub = Hub::new();
    let quiet = |number| Draft {
        may_create: false,
        ..draft(number, 1, "quiet")
    };
    skipped(&post(&hub.client(), &job(), &quiet(7)), "there is no comment yet");
    assert_eq!(hub.count("POST"), 0);
    hub.world().comments(BOT, &said(&draft(6, 1, "old")));
    assert!(matches!(post(&hub.client(), &job(), &quiet(7)), Posted::Updated(_)));
    assert!(hub.only().contains("\nquiet"));
}

#[test]
fn two_keys_do_not_meet() {
    let hub = Hub::new();
    let keyed = |key: &str| {
        let mut draft = draft(7, 1, key);
        draft.marker.key = gate::model::github::Key::parse(key).unwrap();
        draft
    };
    for key in ["perf", "eval", "perf"] {
        post(&hub.client(), &job(), &keyed(key));
    }
    assert_eq!(hub.marked().len(), 2);
}
