//! The candidate as a tree, revisions as blobs, and checkouts that leave the user's repository as it was.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use gate::edge::arms::claim::{Claim, sweep};
use gate::edge::arms::trees::Trees;
use gate::edge::git::Repository;

use crate::alone::{again, alone, is_alone, until};
use crate::playground::{Checkout, Playground, everything};

const EVIL: &str = "touch \"$MARK\"; cat";

/// Checks a revision out into a claimed folder.
fn check_out(repository: &Repository, trees: &Trees, revision: &str, submodules: bool) -> anyhow::Result<Claim> {
    let claim = trees.claim(None)?;
    repository.check_out(revision, claim.path(), &claim.beside("index"), submodules)?;
    Ok(claim)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

fn trees(checkout: &Checkout<'_>) -> Trees {
    Trees::open(&checkout.state(), &checkout.open()).expect("the folder is ours")
}

#[test]
fn the_working_tree_becomes_a_tree_and_nothing_of_the_users_changes() {
    if !alone("worktree::the_working_tree_becomes_a_tree_and_nothing_of_the_users_changes") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    // A split index and a time stamp not older than the index are what a copy could get wrong.
    checkout.git(&["config", "core.splitIndex", "true"]);
    for (path, text) in [("gone", "x"), ("kept/x", "x"), (".gitignore", "*.o\n"), ("forced.o", "x")] {
        checkout.write(path, text);
    }
    checkout.git(&["add", "--force", "forced.o"]);
    let head = checkout.commit("second");
    checkout.write("stashed", "x");
    checkout.git(&["add", "stashed"]);
    checkout.git(&["stash", "--quiet"]);
    checkout.write("staged", "staged\n");
    checkout.git(&["add", "staged"]);
    checkout.write("staged", "changed since\n");
    checkout.write("a", "two\n");
    checkout.write("new file", "new\n");
    checkout.write("ignored.o", "x");
    checkout.write("forced.o", "y");
    fs::remove_file(checkout.top.join("gone")).expect("it is ours");
    let state = checkout.state();
    checkout.write(".gate/inside", "x");
    fs::remove_file(state.join(".gitignore")).expect("it is ours");

    let before = checkout.inside();
    let trees = trees(&checkout);
    let scratch = trees.claim(None).expect("a folder");
    let snapshot = checkout.open().snapshot(scratch.path(), false).expect("a snapshot");
    let claim = check_out(&snapshot.repository, &trees, &snapshot.tree, false).expect("checked out");
    assert_eq!(names(claim.path()), [".gitignore", "a", "forced.o", "kept", "new file", "staged"]);
    assert_eq!(text(&claim.path().join("a")), "two\n");
    assert_eq!(text(&claim.path().join("staged")), "changed since\n");
    assert_eq!(text(&claim.path().join("forced.o")), "y");
    assert_eq!(text(&claim.path().join("new file")), "new\n");
    let changed = snapshot.repository.changed_paths(&head, &snapshot.tree).expect("both are here");
    assert_eq!(changed, ["a", "forced.o", "gone", "new file", "staged"].map(PathBuf::from));
    assert_eq!(
        snapshot.repository.read_blob(&snapshot.tree, "a").expect("a file"),
        Some(b"two\n".to_vec())
    );
    assert!(checkout.inside() == before, "the repository was changed");
    assert!(
        checkout.open().tree(&snapshot.tree).is_err(),
        "the new objects are in the user's repository"
    );

    let other = trees.claim(None).expect("a folder");
    let same = checkout.open().snapshot(other.path(), false).expect("a snapshot");
    assert_eq!(same.tree, snapshot.tree, "equal working trees have equal ids");
    let (path, scratch_path) = (claim.path().to_owned(), scratch.path().to_owned());
    claim.remove().expect("it is ours");
    drop((scratch, other));
    assert!(!path.exists() && !scratch_path.exists());
    assert_eq!(names(trees.path()), Vec::<String>::new(), "something is left");
    assert!(checkout.inside() == before, "the repository was changed");
    assert!(checkout.open().snapshot(&checkout.top.join("absent\0"), false).is_err());
}

#[test]
fn a_change_in_the_same_instant_as_the_index_is_seen() {
    if !alone("worktree::a_change_in_the_same_instant_as_the_index_is_seen") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    checkout.git(&["config", "core.trustctime", "false"]);
    let instant = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let at_that_instant = |path: &str| {
        let file = fs::File::options().write(true).open(checkout.top.join(path)).expect("it is there");
        file.set_modified(instant).expect("it is ours");
    };
    at_that_instant("a");
    checkout.git(&["update-index", "--refresh"]);
    checkout.write("a", "two\n");
    at_that_instant("a");
    at_that_instant(".git/index");
    let scratch = trees(&checkout).claim(None).expect("a folder");
    let snapshot = checkout.open().snapshot(scratch.path(), false).expect("a snapshot");
    let read = snapshot.repository.read_blob(&snapshot.tree, "a").expect("a file");
    assert_eq!(read, Some(b"two\n".to_vec()));
}

#[test]
fn linked_worktrees_detached_heads_and_shared_objects_work() {
    if !alone("worktree::linked_worktrees_detached_heads_and_shared_objects_work") {
        return;
    }
    let place = Playground::new();
    let origin = place.repository("origin");
    place.git(&place.path(""), &["clone", "--quiet", "--shared", "origin", "with: colon \"q\""]);
    let shared = place.at("with: colon \"q\"");
    shared.git(&["worktree", "add", "--quiet", "--detach", "../linked"]);
    origin.git(&["checkout", "--quiet", "--detach"]);
    for checkout in [shared, place.at("linked"), origin] {
        checkout.write("a", "changed\n");
        let before = checkout.inside();
        let trees = trees(&checkout);
        let scratch = trees.claim(None).expect("a folder");
        let snapshot = checkout.open().snapshot(scratch.path(), false).expect("a snapshot");
        let claims = [
            check_out(&snapshot.repository, &trees, &snapshot.tree, false).expect("checked out"),
            check_out(&snapshot.repository, &trees, "HEAD", false).expect("checked out"),
        ];
        assert_eq!(text(&claims[0].path().join("a")), "changed\n");
        assert_eq!(text(&claims[1].path().join("a")), "one\n");
        assert!(claims.iter().all(|claim| claim.name().len() == 8), "names are not equally long");
        assert!(
            checkout.inside() == before,
            "{}: the repository was changed",
            checkout.top.display()
        );
        assert_eq!(names(claims[0].path()), ["a"], "a tree holds nothing else");
    }
}

#[test]
fn nothing_that_a_repository_brings_along_runs() {
    if !alone("worktree::nothing_that_a_repository_brings_along_runs") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    let mark = place.path("mark");
    let evil = EVIL.replace("$MARK", &mark.to_string_lossy());
    for hook in [
        "post-checkout",
        "post-index-change",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ] {
        checkout.script(&format!(".git/hooks/{hook}"), &evil);
    }
    checkout.write(
        ".gitattributes",
        "*.x filter=evil\n*.y filter=evil.two\n*.z ident\n*.w eol=crlf\n*.v export-ignore diff=evil\n",
    );
    for name in ["a.x", "a.y", "a.z", "a.w", "a.v"] {
        checkout.write(name, "$Id$\n");
    }
    let head = checkout.commit("before the filters");
    let script = checkout.top.join(".git/hooks/pre-commit");
    let script = script.to_string_lossy();
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.two.process",
        "diff.evil.textconv",
        "diff.external",
        "core.sshCommand",
        "core.pager",
    ] {
        checkout.git(&["config", key, &script]);
    }
    checkout.git(&["config", "filter.evil.required", "true"]);
    checkout.git(&["config", "filter.evil.two.required", "true"]);
    checkout.git(&["config", "core.hooksPath", &checkout.top.join(".git/hooks").to_string_lossy()]);
    fs::write(checkout.top.join("a.x"), "changed\n").expect("it is ours");
    fs::write(checkout.top.join("a.y"), "changed\n").expect("it is ours");

    fs::remove_file(&mark).expect("the hooks ran for the commit: the marks are real");
    let repository = checkout.open();
    assert!(repository.is_dirty().expect("it can be looked at"));
    let trees = trees(&checkout);
    let scratch = trees.claim(None).expect("a folder");
    let snapshot = repository.snapshot(scratch.path(), false).expect("a snapshot");
    let claim = check_out(&snapshot.repository, &trees, &snapshot.tree, false).expect("checked out");
    let changed = snapshot.repository.changed_paths(&head, &snapshot.tree).expect("both are here");
    assert_eq!(changed, ["a.x", "a.y"].map(PathBuf::from));
    assert_eq!(text(&claim.path().join("a.x")), "changed\n");
    assert_eq!(text(&claim.path().join("a.w")), "$Id$\r\n", "line ends are the project's own");
    assert_eq!(text(&claim.path().join("a.v")), "$Id$\n", "a checkout is no export");
    assert!(!mark.exists(), "something of the repository's ran");
    checkout.git(&["status", "--short"]);
    assert!(mark.exists(), "the test proves nothing");
}

#[test]
fn files_of_a_revision_are_read_as_blobs_and_links_are_not_followed() {
    if !alone("worktree::files_of_a_revision_are_read_as_blobs_and_links_are_not_followed") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    checkout.write("gates/one.toml", "version = 1\n");
    checkout.write("gates/:(top)*.toml", "odd\n");
    checkout.write("gates/deep/two.toml", "x");
    checkout.write("big", &"x".repeat((1 << 20) + 1));
    checkout.write("full", &"x".repeat(1 << 20));
    for (target, link) in [("/etc/passwd", "gates/passwd.toml"), ("../gates", "elsewhere"), ("gates", "linked")] {
        symlink(target, checkout.top.join(link)).expect("the folder is ours");
    }
    let head = checkout.commit("gates");
    checkout.write("gates/one.toml", "changed, not committed\n");
    let repository = checkout.open();
    let read = |path: &str| repository.read_blob("HEAD", path);
    assert_eq!(read("gates/one.toml").expect("a file"), Some(b"version = 1\n".to_vec()));
    assert_eq!(read("gates/:(top)*.toml").expect("a file"), Some(b"odd\n".to_vec()));
    assert_eq!(read("full").expect("just small enough").map(|bytes| bytes.len()), Some(1 << 20));
    for absent in ["gates/none.toml", "none/none", "a/b", "gates/*.toml"] {
        assert_eq!(read(absent).expect("absent is no error"), None, "{absent}");
    }
    for (path, says) in [
        ("gates/passwd.toml", "a symlink"),
        ("linked/one.toml", "linked is a symlink"),
        ("elsewhere/r/a", "elsewhere is a symlink"),
        ("big", "at most 1048576"),
        ("gates", "a folder"),
        ("../x", "below the top"),
        ("/etc/passwd", "below the top"),
        ("gates/../a", "below the top"),
        ("", "below the top"),
    ] {
        let error = format!("{:#}", read(path).expect_err(path));
        assert!(error.contains(says), "{path}: {error}");
    }
    let list = |folder: &str| repository.list(&head, folder);
    assert_eq!(list("gates").expect("a folder"), [":(top)*.toml", "one.toml", "passwd.toml"]);
    assert_eq!(list("none").expect("absent is no error"), Vec::<String>::new());
    for (folder, says) in [
        ("linked", "a symlink"),
        ("a", "not a folder"),
        ("linked/deep", "linked is a symlink"),
        ("..", "below the top"),
    ] {
        let error = format!("{:#}", list(folder).expect_err(folder));
        assert!(error.contains(says), "{folder}: {error}");
    }
    let error = format!("{:#}", repository.read_blob("--output=x", "a").expect_err("no revision"));
    assert!(error.contains("no such revision"), "{error}");
}

#[test]
fn submodules_come_on_request_and_are_never_fetched() {
    if !alone("worktree::submodules_come_on_request_and_are_never_fetched") {
        return;
    }
    let place = Playground::new();
    let inner = place.repository("inner");
    inner.write("inner", "x\n");
    inner.commit("inner");
    let library = place.repository("library");
    library.git(&["submodule", "--quiet", "add", "../inner", "deep/inner"]);
    library.commit("with inner");
    let checkout = place.repository("r");
    checkout.git(&["submodule", "--quiet", "add", "../library", "lib"]);
    checkout.git(&["submodule", "--quiet", "update", "--init", "--recursive"]);
    checkout.commit("with library");
    let before = checkout.inside();
    let (repository, trees) = (checkout.open(), trees(&checkout));
    let without = check_out(&repository, &trees, "HEAD", false).expect("checked out");
    assert_eq!(names(&without.path().join("lib")), Vec::<String>::new());
    let with = check_out(&repository, &trees, "HEAD", true).expect("checked out");
    assert_eq!(text(&with.path().join("lib/a")), "one\n");
    assert_eq!(text(&with.path().join("lib/deep/inner/inner")), "x\n");
    assert!(checkout.inside() == before, "the repository was changed");

    checkout.write("lib/deep/inner/inner", "not committed\n");
    let scratch = trees.claim(None).expect("a folder");
    let error = repository.snapshot(scratch.path(), true).expect_err("it would not be measured");
    assert!(format!("{error:#}").contains("deep/inner: the submodule has changes"), "{error:#}");
    repository
        .snapshot(trees.claim(None).expect("a folder").path(), false)
        .expect("they are not asked for");

    fs::remove_dir_all(checkout.top.join(".git/modules/lib/modules")).expect("it is ours");
    let error = check_out(&repository, &trees, "HEAD", true).expect_err("the inner one is not here");
    assert!(
        format!("{error:#}").contains("git submodule update --init --recursive"),
        "{error:#}"
    );
    place.git(&place.path(""), &["clone", "--quiet", "r", "bare of modules"]);
    let clone = place.at("bare of modules");
    let error = check_out(
        &clone.open(),
        &Trees::open(&clone.state(), &clone.open()).expect("ours"),
        "HEAD",
        true,
    );
    let error = format!("{:#}", error.expect_err("none is here"));
    assert!(
        error.contains("lib: the submodule is not here") && error.contains("git submodule update --init --recursive"),
        "{error}"
    );
    drop((without, with, scratch));
    assert_eq!(names(trees.path()), Vec::<String>::new(), "something is left");
}

#[test]
fn a_pointer_in_the_tree_is_named() {
    if !alone("worktree::a_pointer_in_the_tree_is_named") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    let (repository, trees) = (checkout.open(), trees(&checkout));
    checkout.write(".gitattributes", "*.bin filter=lfs\n");
    checkout.write("real.bin", "bytes\n");
    checkout.commit("a real file");
    check_out(&repository, &trees, "HEAD", false).expect("a file that is there is no pointer");
    checkout.write("model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    checkout.commit("a pointer");
    let error = format!("{:#}", check_out(&repository, &trees, "HEAD", false).expect_err("a pointer"));
    assert!(error.starts_with("model.bin: an LFS pointer"), "{error}");
    assert_eq!(names(trees.path()), Vec::<String>::new(), "something is left");
}

#[test]
fn a_submodules_name_cannot_leave_its_folder() {
    if !alone("worktree::a_submodules_name_cannot_leave_its_folder") {
        return;
    }
    let place = Playground::new();
    let library = place.repository("library");
    let commit = library.git(&["rev-parse", "HEAD"]);
    let checkout = place.repository("r");
    checkout.write(
        ".gitmodules",
        "[submodule \"../../library/.git\"]\n\tpath = lib\n\turl = ../library\n",
    );
    checkout.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},lib")]);
    checkout.git(&["add", ".gitmodules"]);
    checkout.git(&["commit", "--quiet", "-m", "hostile"]);
    let error = check_out(&checkout.open(), &trees(&checkout), "HEAD", true).expect_err("it leaves .git/modules");
    assert!(
        !format!("{error:#}").contains("checked out") && format!("{error:#}").contains("lib"),
        "{error:#}"
    );
}

#[test]
fn the_state_folder_must_be_gates_own() {
    if !alone("worktree::the_state_folder_must_be_gates_own") {
        return;
    }
    let place = Playground::new();
    let checkout = place.repository("r");
    let open = || Trees::open(&checkout.top.join(".gate"), &checkout.open()).map(|trees| trees.cleared);
    checkout.write(".gate/cache/forged", "x");
    checkout.git(&["add", "--force", ".gate"]);
    let error = format!("{:#}", open().expect_err("a change brings it along"));
    assert!(error.contains(".gate/cache/forged") && error.contains("git rm"), "{error}");
    checkout.git(&["rm", "--quiet", "-r", "--cached", ".gate"]);
    open().expect("it is no longer under version control");
    fs::remove_dir_all(checkout.top.join(".gate")).expect("it is ours");
    fs::create_dir(place.path("elsewhere")).expect("the folder is ours");
    symlink(place.path("elsewhere"), checkout.top.join(".gate")).expect("the folder is ours");
    let error = format!("{:#}", open().expect_err("a link leads elsewhere"));
    assert!(error.contains("symlink"), "{error}");
    assert_eq!(everything(&place.path("elsewhere")).len(), 0);
}

#[test]
fn leftovers_of_the_killed_go_and_trees_of_the_living_stay() {
    const NAME: &str = "worktree::leftovers_of_the_killed_go_and_trees_of_the_living_stay";
    if let Some(parent) = std::env::var_os("GATE_TEST_DIR") {
        let claim = Claim::take(Path::new(&parent), &[]).expect("a folder");
        fs::write(claim.path().join("big"), "12345").expect("it is ours");
        fs::write(claim.beside("index"), "12345").expect("it is ours");
        fs::create_dir(claim.path().join("closed")).expect("it is ours");
        fs::write(claim.path().join("closed/x"), "").expect("it is ours");
        fs::set_permissions(claim.path().join("closed"), fs::Permissions::from_mode(0o500)).expect("it is ours");
        fs::write(claim.path().join("ready"), "").expect("it is ours");
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
    assert!(!is_alone(NAME), "it is only started as a child");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut other = again(NAME, &[])
        .env("GATE_TEST_DIR", folder.path())
        .spawn()
        .expect("the tests start themselves");
    let theirs = || {
        names(folder.path())
            .into_iter()
            .find(|name| folder.path().join(name).join("ready").exists())
    };
    until("the other has its folder", || theirs().is_some());
    let own = Claim::take(folder.path(), &[]).expect("a folder");
    fs::write(folder.path().join("0123456"), "not ours").expect("the folder is ours");
    fs::create_dir(folder.path().join("0123abcd")).expect("a tree whose lock file is gone");
    let removed = sweep(folder.path()).expect("it can be read");
    assert_eq!((removed.count, removed.problems), (1, Vec::new()));
    assert!(own.path().is_dir() && theirs().is_some(), "a living tree was removed");

    other.kill().expect("it runs");
    other.wait().expect("it was killed");
    let removed = sweep(folder.path()).expect("it can be read");
    assert_eq!((removed.count, removed.bytes, removed.problems), (1, 5, Vec::new()));
    assert_eq!(theirs(), None);
    let name = own.name().to_owned();
    let mut left = vec!["0123456".to_owned(), name.clone(), format!("{name}.lock")];
    left.sort();
    assert_eq!(names(folder.path()), left);
    let taken = Claim::take(folder.path(), std::slice::from_ref(&name)).expect("another name");
    assert_ne!(taken.name(), name, "a taken name was given again");
}
