//! Which commit a change is compared with, in real repositories.

use std::fs;

use gate::edge::git::{Candidate, Chosen, Event, choose};

use crate::alone::{again, alone, is_alone};
use crate::playground::{Checkout, Playground};

fn chosen(checkout: &Checkout<'_>, event: Option<&Event>, wanted: Option<&str>) -> Chosen {
    choose(&checkout.open(), event, wanted).unwrap_or_else(|error| panic!("no base: {error:#}"))
}

fn refused(checkout: &Checkout<'_>, event: Option<&Event>, wanted: Option<&str>) -> String {
    match choose(&checkout.open(), event, wanted) {
        Ok(chosen) => panic!("chose {chosen:?}"),
        Err(error) => format!("{error:#}"),
    }
}

/// An origin with the branch `feature` off the first commit, and `main` moved on since.
fn moved_main(place: &Playground) -> (String, String, String) {
    let origin = place.repository("origin");
    let first = origin.git(&["rev-parse", "HEAD"]);
    origin.git(&["checkout", "--quiet", "-b", "feature"]);
    origin.write("b", "feature\n");
    let feature = origin.commit("feature");
    origin.git(&["checkout", "--quiet", "main"]);
    let main = origin.change("main moved\n");
    (first, feature, main)
}

fn pull_request(base: &str, head: &str) -> Event {
    let text = format!(r#"{{"pull_request":{{"base":{{"ref":"main","sha":"{base}"}},"head":{{"ref":"feature","sha":"{head}"}}}}}}"#);
    Event::parse("pull_request", &text).expect("sound").expect("an event")
}

fn push(before: &str, after: &str) -> Event {
    let text = format!(r#"{{"before":"{before}","after":"{after}"}}"#);
    Event::parse("push", &text).expect("sound").expect("an event")
}

/// O-11: whatever landed on main later is not the change.
#[test]
fn a_pull_request_is_compared_with_its_merge_base_although_main_moved() {
    if !alone("base::a_pull_request_is_compared_with_its_merge_base_although_main_moved") {
        return;
    }
    let place = Playground::new();
    let (first, feature, main) = moved_main(&place);
    place.git(&place.path(""), &["clone", "--quiet", "-b", "feature", "origin", "clone"]);
    let clone = place.at("clone");
    let event = pull_request(&first, &feature);
    let base = chosen(&clone, Some(&event), None);
    assert_eq!((base.commit.as_str(), base.head_sha.as_str()), (first.as_str(), feature.as_str()));
    assert_eq!(base.rules.as_deref(), Some(main.as_str()), "rules come from the tip");
    assert_eq!(base.candidate, Candidate::Commit(feature.clone()));
    assert_eq!(base.why, "the merge base of the pull request and origin/main");

    // As a workflow checks it out: a detached merge of both.
    clone.git(&["checkout", "--quiet", "--detach"]);
    clone.git(&["merge", "--quiet", "--no-edit", "origin/main"]);
    let base = chosen(&clone, Some(&event), None);
    assert_eq!((base.commit.as_str(), base.head_sha.as_str()), (main.as_str(), feature.as_str()));

    // Without the branch, the tip that the event names serves.
    clone.git(&["checkout", "--quiet", "--detach", &feature]);
    clone.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    clone.git(&["symbolic-ref", "--delete", "refs/remotes/origin/HEAD"]);
    let base = chosen(&clone, Some(&pull_request(&main, &feature)), None);
    assert_eq!(
        (base.commit, base.why),
        (first, "the merge base of the pull request and main".to_owned())
    );
    let error = refused(&clone, Some(&pull_request(&"7".repeat(40), &feature)), None);
    assert!(error.contains("main") && error.contains("fetch-depth: 0"), "{error}");
}

#[test]
fn pushes_and_merge_groups_name_their_base() {
    if !alone("base::pushes_and_merge_groups_name_their_base") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    let first = checkout.git(&["rev-parse", "HEAD"]);
    let second = checkout.change("two\n");
    let third = checkout.change("three\n");
    let zero = "0".repeat(40);
    let base = chosen(&checkout, Some(&push(&first, &third)), None);
    assert_eq!((base.commit.as_str(), base.head_sha.as_str()), (first.as_str(), third.as_str()));
    assert_eq!(base.rules, None, "a push is no proposal");
    let base = chosen(&checkout, Some(&push(&zero, &third)), None);
    assert_eq!(base.commit, second);
    assert!(base.why.contains("first parent"), "{}", base.why);
    let error = refused(&checkout, Some(&push(&first, &zero)), None);
    assert!(error.contains("removed the branch"), "{error}");
    let error = refused(&checkout, Some(&push(&"7".repeat(40), &third)), None);
    assert!(error.contains("forced push"), "{error}");

    let text = format!(r#"{{"merge_group":{{"base_sha":"{first}","head_sha":"{third}"}}}}"#);
    let event = Event::parse("merge_group", &text).expect("sound");
    let base = chosen(&checkout, event.as_ref(), None);
    assert_eq!((base.commit, base.rules, base.head_sha), (first.clone(), Some(first), third));
}

#[test]
fn without_an_event_the_state_of_the_checkout_decides() {
    if !alone("base::without_an_event_the_state_of_the_checkout_decides") {
        return;
    }
    let place = Playground::new();
    let (first, feature, main) = moved_main(&place);
    let origin = place.at("origin");
    let base = chosen(&origin, None, None);
    assert_eq!(base.commit, first, "no remote: the commit before");
    assert!(base.why.starts_with("HEAD^"), "{}", base.why);

    place.git(&place.path(""), &["clone", "--quiet", "origin", "clone"]);
    let clone = place.at("clone");
    assert_eq!(chosen(&clone, None, None).commit, first, "on the default branch: the commit before");
    clone.git(&["checkout", "--quiet", &feature]);
    let base = chosen(&clone, None, None);
    assert_eq!(
        (base.commit.as_str(), base.why.as_str()),
        (first.as_str(), "the merge base of HEAD and origin/main")
    );
    let base = chosen(&clone, None, Some("origin/main"));
    assert_eq!((base.commit, base.why), (main, "--base origin/main".to_owned()));
    let error = refused(&clone, None, Some("HEAD"));
    assert!(error.contains("nothing to compare") && error.contains("name --base"), "{error}");
    for wrong in ["nowhere", "--upload-pack=x", "", "a b"] {
        let error = refused(&clone, None, Some(wrong));
        assert!(error.contains("no such commit"), "{wrong}: {error}");
    }

    fs::write(clone.top.join("new"), "untracked").expect("the folder is ours");
    let base = chosen(&clone, None, None);
    assert_eq!((base.commit.as_str(), base.candidate), (feature.as_str(), Candidate::WorkingTree));
    assert_eq!(
        chosen(&clone, None, Some("HEAD")).commit,
        feature,
        "changes can be compared with HEAD"
    );
    fs::write(clone.top.join(".git/info/exclude"), "new\n").expect("the folder is ours");
    assert_eq!(
        chosen(&clone, None, None).candidate,
        Candidate::Commit(feature),
        "what is ignored is no change"
    );
}

#[test]
fn a_linked_worktree_is_a_checkout_like_any() {
    if !alone("base::a_linked_worktree_is_a_checkout_like_any") {
        return;
    }
    let place = Playground::new();
    let (first, feature, _) = moved_main(&place);
    place.git(&place.path(""), &["clone", "--quiet", "origin", "clone"]);
    place
        .at("clone")
        .git(&["worktree", "add", "--quiet", "--detach", "../linked", &feature]);
    let linked = place.at("linked");
    assert_eq!(chosen(&linked, None, None).commit, first);
    assert_eq!(linked.open().top(), linked.top);
    linked.write("a", "changed\n");
    let base = chosen(&linked, None, None);
    assert_eq!((base.commit, base.candidate), (feature, Candidate::WorkingTree));
}

#[test]
fn what_is_missing_is_named_with_its_remedy() {
    if !alone("base::what_is_missing_is_named_with_its_remedy") {
        return;
    }
    let place = Playground::new();
    let (first, feature, main) = moved_main(&place);
    let url = format!("file://{}", place.path("origin").display());
    place.git(&place.path(""), &["clone", "--quiet", "--depth", "1", &url, "shallow"]);
    let shallow = place.at("shallow");
    assert!(shallow.open().is_shallow());
    let event = pull_request(&first, &feature);
    for error in [
        refused(&shallow, None, None),
        refused(&shallow, None, Some(&first)),
        refused(&shallow, Some(&push(&first, &main)), None),
        refused(&shallow, Some(&push(&"0".repeat(40), &main)), None),
    ] {
        assert!(error.contains("fetch-depth: 0"), "{error}");
    }
    shallow.git(&["fetch", "--quiet", "--depth", "1", "origin", "feature"]);
    shallow.git(&["checkout", "--quiet", "FETCH_HEAD"]);
    let error = refused(&shallow, Some(&event), None);
    assert!(error.contains("no commit in common") && error.contains("fetch-depth: 0"), "{error}");

    let whole = place.at("origin");
    whole.git(&["checkout", "--quiet", "--orphan", "other"]);
    whole.change("unrelated\n");
    let error = refused(&whole, Some(&pull_request(&main, &feature)), None);
    assert!(error.contains("unrelated histories") && error.contains("--base"), "{error}");
    let error = refused(&whole, None, None);
    assert!(error.contains("first commit"), "{error}");

    place.git(&place.path(""), &["init", "--quiet", "empty"]);
    let error = refused(&place.at("empty"), None, None);
    assert!(error.contains("no commit yet"), "{error}");
}

#[test]
fn places_that_are_no_checkout_are_refused() {
    if !alone("base::places_that_are_no_checkout_are_refused") {
        return;
    }
    let place = Playground::new();
    place.git(&place.path(""), &["init", "--quiet", "--bare", "bare"]);
    let open = |name: &str| match gate::edge::git::Repository::open(&place.path(name), &place.env()) {
        Ok(_) => panic!("{name} was opened"),
        Err(error) => format!("{error:#}"),
    };
    let (outside, bare) = (open("home"), open("bare"));
    assert!(outside.contains("run inside a git repository"), "{outside}");
    assert!(bare.contains("run in a checkout"), "{bare}");
    let mut env = place.env();
    env.iter_mut()
        .filter(|(name, _)| name == "PATH")
        .for_each(|(_, value)| *value = "/nonexistent".into());
    let error = gate::edge::git::Repository::open(&place.path(""), &env).expect_err("there is no git");
    assert!(format!("{error:#}").contains("install git"), "{error:#}");
}

#[test]
fn the_event_of_a_job_is_read_from_its_file() {
    const NAME: &str = "base::the_event_of_a_job_is_read_from_its_file";
    if is_alone(NAME) {
        let read = Event::of_this_job().map(|event| format!("{event:?}"));
        println!("{}", read.unwrap_or_else(|error| format!("error: {error:#}")));
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("event.json");
    fs::write(&file, format!(r#"{{"before":"{}","after":"{}"}}"#, "1".repeat(40), "2".repeat(40))).expect("the folder is ours");
    let read = |name: &str, path: &str| {
        let done = again(NAME, &[])
            .env("GITHUB_EVENT_NAME", name)
            .env("GITHUB_EVENT_PATH", path)
            .output();
        String::from_utf8(done.expect("the tests can start themselves").stdout).expect("text")
    };
    let path = file.to_str().expect("text");
    assert!(read("push", path).contains(&format!("Push {{ before: Some({:?})", "1".repeat(40))));
    for (name, path, says) in [
        ("", "", "None"),
        ("schedule", path, "None"),
        ("push", "", "GITHUB_EVENT_PATH is not set"),
        ("push", "/nonexistent/event.json", "must be mounted"),
        ("merge_group", path, "not the file of a merge_group event"),
    ] {
        let said = read(name, path);
        assert!(said.contains(says), "{name} {path}: {said}");
    }
}
