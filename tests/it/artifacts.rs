//! What an arm runs: found, copied, kept within limits, by several processes at once.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use gate::edge::arms::artifacts::{Artifacts, Content};
use gate::edge::arms::store::{Limits, Store};
use gate::model::pattern::Patterns;

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn artifacts_keep_modes_and_links_that_stay_inside() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tree = folder.path().join("tree");
    fs::create_dir_all(tree.join("lib/deep")).expect("the folder is ours");
    fs::write(tree.join("lib/deep/lib.so.1.2"), "code").expect("the folder is ours");
    fs::set_permissions(tree.join("lib/deep/lib.so.1.2"), fs::Permissions::from_mode(0o555)).expect("it is ours");
    symlink("lib.so.1", tree.join("lib/lib.so")).expect("the folder is ours");
    symlink("deep/lib.so.1.2", tree.join("lib/lib.so.1")).expect("the folder is ours");
    let find = |pattern: &str| Artifacts::find(&tree, &Patterns::new(&words(&[pattern])).expect("sound"));
    let found = find("lib/*").expect("they are there");
    let paths: Vec<&str> = found.iter().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        ["lib/deep/lib.so.1.2", "lib/lib.so", "lib/lib.so.1"],
        "what a link leads to belongs to it"
    );
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).expect("the folder is ours");
    found.copy(&tree, &copy).expect("it can be copied");
    found.check(&copy).expect("it is the same");
    assert_eq!(fs::read_to_string(copy.join("lib/lib.so")).expect("the links lead there"), "code");
    let own = fs::metadata(copy.join("lib/lib.so")).expect("it is there");
    assert_eq!(own.permissions().mode() & 0o777, 0o555);
    fs::set_permissions(tree.join("lib/deep/lib.so.1.2"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::write(tree.join("lib/deep/lib.so.1.2"), "CODE").expect("it is ours");
    found.check(&copy).expect("a copy is no second name of the same file");
    assert!(found.check(&tree).is_err(), "the change went unnoticed");

    for (target, link, says) in [
        ("/etc/passwd", "x1", "outside the arm's tree"),
        ("../../etc", "x2", "a symlink to nothing"),
        ("lib", "x3", "a symlink to a folder"),
        ("nothing", "x4", "a symlink to nothing"),
    ] {
        symlink(target, tree.join(link)).expect("the folder is ours");
        let error = format!("{:#}", find(link).expect_err(link));
        assert!(error.contains(says), "{link}: {error}");
    }
    symlink(tree.join("lib/deep/lib.so.1.2"), tree.join("x5")).expect("the folder is ours");
    assert!(format!("{:#}", find("x5").expect_err("absolute")).contains("relative path"));
    assert!(format!("{:#}", find("lib").expect_err("a folder is no file")).contains("matches no file"));
    // A symlink in the place of a folder would lead the copy out of its tree.
    fs::remove_dir_all(&copy).expect("it is ours");
    fs::create_dir(&copy).expect("the folder is ours");
    symlink(folder.path(), copy.join("lib")).expect("the folder is ours");
    assert!(found.copy(&tree, &copy).is_err());
    assert!(!folder.path().join("deep").exists());
    let (_, content) = found.iter().last().expect("three");
    assert!(
        matches!(content, Content::Link { target } if target == "deep/lib.so.1.2"),
        "{content:?}"
    );
}

#[test]
fn kept_builds_stay_within_their_limits_and_the_longest_unused_go() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).expect("the folder is ours");
    fs::write(tree.join("x"), "0123456789").expect("the folder is ours");
    let limits = Limits { builds: 2, bytes: 1 << 20 };
    let store = Store::open(&folder.path().join("cache"), limits).expect("the folder is ours");
    let found = Artifacts::find(&tree, &Patterns::new(&words(&["x"])).expect("sound")).expect("it is there");
    let key = |digit: &str| digit.repeat(64);
    let is_kept = |digit: &str| {
        let to = folder.path().join("to");
        fs::create_dir_all(&to).expect("the folder is ours");
        store.put_into(&to, &key(digit)).expect("it can be looked at").is_some()
    };
    let age = |digit: &str, s: u64| {
        let list = folder.path().join("cache/builds").join(key(digit)).join("list.json");
        let file = fs::File::options().write(true).open(list).expect("it is kept");
        file.set_modified(SystemTime::now() - Duration::from_secs(s)).expect("it is ours");
    };
    for digit in ["1", "2"] {
        assert!(store.keep(&tree, &key(digit), &found).expect("it can be kept"));
    }
    age("1", 100);
    age("2", 200);
    assert!(is_kept("2"), "its use is noted");
    assert!(store.keep(&tree, &key("3"), &found).expect("it can be kept"));
    assert_eq!((is_kept("1"), is_kept("2"), is_kept("3")), (false, true, true));
    let small = Limits { builds: 9, bytes: 5 };
    let too_small = Store::open(&folder.path().join("cache"), small).expect("the folder is ours");
    assert!(
        !too_small.keep(&tree, &key("4"), &found).expect("no error"),
        "it is larger than all may be"
    );
    let users = folder.path().join("cache/builds/mine");
    fs::create_dir(&users).expect("the folder is ours");
    let removed = store.clean(Limits::NONE).expect("it can be cleaned");
    assert_eq!((removed.count, removed.problems), (2, Vec::new()));
    assert!(users.is_dir(), "what is no entry was removed");
    assert!(store.put_into(&tree, "../x").is_err() && store.keep(&tree, "", &found).is_err());
}

#[test]
fn files_that_hold_the_path_of_their_tree_are_put_nowhere_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (one, other) = (folder.path().join("one/0123abcd"), folder.path().join("other/0123abcd"));
    fs::create_dir_all(&one).expect("the folder is ours");
    fs::create_dir_all(&other).expect("the folder is ours");
    let store = Store::open(&folder.path().join("cache"), Limits::DEFAULT).expect("the folder is ours");
    let patterns = Patterns::new(&words(&["x"])).expect("sound");
    for (text, elsewhere) in [(format!("\0RUNPATH={}/lib\0", one.display()), false), ("no path".to_owned(), true)] {
        fs::write(one.join("x"), &text).expect("the folder is ours");
        let found = Artifacts::find(&one, &patterns).expect("it is there");
        let key = gate::edge::digest::blake3_hex(text.as_bytes());
        assert!(store.keep(&one, &key, &found).expect("it can be kept"));
        assert!(store.put_into(&one, &key).expect("it can be looked at").is_some(), "{text:?}");
        assert_eq!(
            store.put_into(&other, &key).expect("it can be looked at").is_some(),
            elsewhere,
            "{text:?}"
        );
    }
}

#[test]
fn two_gates_at_once_do_not_tread_on_each_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("cache"), Limits { builds: 1, bytes: 1 << 30 }).expect("the folder is ours");
    let patterns = Patterns::new(&words(&["*"])).expect("sound");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (store, patterns, folder) = (store.clone(), &patterns, folder.path());
            scope.spawn(move || {
                let tree = folder.join(format!("tree{worker}"));
                fs::create_dir(&tree).expect("the folder is ours");
                fs::write(tree.join("x"), vec![worker; 100_000]).expect("the folder is ours");
                let found = Artifacts::find(&tree, patterns).expect("it is there");
                for round in 0..10 {
                    let key = format!("{}", (worker + round) % 2).repeat(64);
                    store.keep(&tree, &key, &found).expect("it can be kept");
                    let to = folder.join(format!("to{worker}"));
                    fs::create_dir_all(&to).expect("the folder is ours");
                    if let Some(put) = store.put_into(&to, &key).expect("it can be looked at") {
                        put.check(&to).expect("what is put is whole");
                    }
                }
            });
        }
    });
    assert_eq!(
        fs::read_dir(folder.path().join("cache/parts")).expect("it is there").count(),
        0,
        "parts are left"
    );
    assert_eq!(fs::read_dir(folder.path().join("cache/builds")).expect("it is there").count(), 1);
}
