//! Digests of files, and a cache that never answers differently from the bytes.

use std::fs::{File, FileTimes, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use gate::edge::digest::{DigestCache, Digests, blake3_hex, digest_file};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn file(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).expect("the folder is ours");
    path
}

#[test]
fn known_bytes_have_their_known_digests() {
    let dir = folder();
    let empty = Digests {
        md5: "d41d8cd98f00b204e9800998ecf8427e".to_owned(),
        blake3: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262".to_owned(),
        bytes: 0,
    };
    assert_eq!(digest_file(&file(dir.path(), "empty", b"")).expect("a file"), empty);
    let abc = digest_file(&file(dir.path(), "abc", b"abc")).expect("a file");
    assert_eq!((abc.md5.as_str(), abc.bytes), ("900150983cd24fb0d6963f7d28e17f72", 3));
    assert_eq!(abc.blake3, "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
    assert_eq!(blake3_hex(b"abc"), abc.blake3);
}

#[test]
fn files_around_the_buffer_size_agree_with_md5sum() {
    let dir = folder();
    for bytes in [
        (256 << 10) - 1,
        256 << 10,
        (256 << 10) + 1,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
        (9 << 20) + 12345,
    ] {
        let content: Vec<u8> = (0..bytes).map(|n: usize| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let path = file(dir.path(), "content", &content);
        let ours = digest_file(&path).expect("a file");
        let theirs = Command::new("md5sum").arg(&path).output().expect("coreutils");
        assert!(
            String::from_utf8_lossy(&theirs.stdout).starts_with(&ours.md5),
            "{bytes} bytes: {ours:?}"
        );
        assert_eq!((ours.blake3, ours.bytes), (blake3_hex(&content), bytes as u64));
    }
}

#[test]
fn only_regular_files_are_read() {
    let dir = folder();
    let pipe = dir.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("coreutils").success());
    let mut cache = DigestCache::open(&dir.path().join("cache"));
    for path in [dir.path(), Path::new("/dev/zero"), &pipe] {
        for error in [digest_file(path).expect_err("no file"), cache.digests(path).expect_err("no file")] {
            assert_eq!(error.to_string(), "not a regular file", "{}", path.display());
        }
    }
    assert!(digest_file(&dir.path().join("absent")).is_err());
}

#[test]
fn a_file_that_changes_meanwhile_is_an_error() {
    let dir = folder();
    let path = file(dir.path(), "growing", &vec![7; 64 << 20]);
    let writing = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let writer = std::thread::spawn({
        let (path, writing) = (path.clone(), writing.clone());
        move || {
            let mut file = OpenOptions::new().append(true).open(path).expect("it is ours");
            while writing.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(b"x").expect("the disk has room");
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    });
    let seen = digest_file(&path);
    writing.store(false, std::sync::atomic::Ordering::Relaxed);
    writer.join().expect("it only writes");
    assert!(
        seen.as_ref()
            .is_err_and(|error| error.to_string().contains("changed while it was read")),
        "{seen:?}"
    );
}

/// Waits until what was just written counts as settled.
fn settle() {
    std::thread::sleep(Duration::from_millis(2200));
}

/// Alters the stored MD5, so that an answer from the cache can be told from an answer from the bytes.
fn mark(cache: &Path, md5: &str) {
    let text = std::fs::read_to_string(cache).expect("it was saved");
    assert!(text.contains(md5), "{text}");
    std::fs::write(cache, text.replace(md5, MARK)).expect("it is ours");
}

const MARK: &str = "00000000000000000000000000000000";

#[test]
fn a_settled_file_is_answered_from_the_cache_until_anything_about_it_changes() {
    let dir = folder();
    let (path, store) = (file(dir.path(), "model", b"weights"), dir.path().join("cache"));
    settle();
    let mut cache = DigestCache::open(&store);
    let first = cache.digests(&path).expect("a file");
    assert_eq!(first, digest_file(&path).expect("a file"));
    cache.save().expect("the folder is ours");
    mark(&store, &first.md5);
    assert_eq!(
        DigestCache::open(&store).digests(&path).expect("a file").md5,
        MARK,
        "it was read again"
    );

    // Same size, same modification time: only the change time tells.
    let times = FileTimes::new().set_modified(std::fs::metadata(&path).expect("it is there").modified().expect("Linux"));
    let mut open = OpenOptions::new().write(true).open(&path).expect("it is ours");
    open.seek(SeekFrom::Start(0)).expect("a file");
    open.write_all(b"WEIGHTS").expect("the disk has room");
    open.set_times(times).expect("it is ours");
    drop(open);
    let changed = DigestCache::open(&store).digests(&path).expect("a file");
    assert_eq!(changed.blake3, blake3_hex(b"WEIGHTS"), "a stale answer");

    // Another file in its place.
    let other = file(dir.path(), "other", b"weights");
    std::fs::rename(&other, &path).expect("the folder is ours");
    assert_eq!(
        DigestCache::open(&store).digests(&path).expect("a file").md5,
        first.md5,
        "a stale answer"
    );
}

#[test]
fn a_file_just_written_or_from_the_future_is_not_remembered() {
    let dir = folder();
    let store = dir.path().join("cache");
    let fresh = file(dir.path(), "fresh", b"fresh");
    let future = file(dir.path(), "future", b"future");
    let tomorrow = FileTimes::new().set_modified(SystemTime::now() + Duration::from_secs(86400));
    File::options()
        .write(true)
        .open(&future)
        .expect("it is ours")
        .set_times(tomorrow)
        .expect("it is ours");
    let mut cache = DigestCache::open(&store);
    cache.digests(&fresh).expect("a file");
    cache.digests(&future).expect("a file");
    cache.save().expect("nothing is to be written");
    assert!(!store.exists(), "{:?}", std::fs::read_to_string(&store));
}

#[test]
fn a_damaged_cache_is_ignored_and_written_anew() {
    let dir = folder();
    let (path, store) = (file(dir.path(), "model", b"weights"), dir.path().join("cache"));
    settle();
    let right = digest_file(&path).expect("a file");
    let mut cache = DigestCache::open(&store);
    cache.digests(&path).expect("a file");
    cache.save().expect("the folder is ours");
    let whole = std::fs::read_to_string(&store).expect("it was saved");
    let damaged = [
        String::new(),
        "not json".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("\"version\":1", "\"version\":2"),
        whole.replace(&right.md5, "short"),
        whole.replace(&right.blake3, &"Z".repeat(64)),
        whole.replace("\"bytes\":7", "\"bytes\":8"),
    ];
    for text in damaged {
        assert_ne!(text, whole);
        std::fs::write(&store, &text).expect("it is ours");
        let mut cache = DigestCache::open(&store);
        assert_eq!(cache.digests(&path).expect("a file"), right, "{text}");
        cache.save().expect("the folder is ours");
        assert_eq!(std::fs::read_to_string(&store).expect("it was saved"), whole);
    }
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("the folder").count(),
        2,
        "nothing else is left behind"
    );
}

#[test]
fn the_cache_has_a_limit_and_forgets_the_longest_unused() {
    let dir = folder();
    let store = dir.path().join("cache");
    let paths: Vec<PathBuf> = (0..1030)
        .map(|n| file(dir.path(), &format!("f{n}"), format!("{n}").as_bytes()))
        .collect();
    settle();
    let mut cache = DigestCache::open(&store);
    for path in &paths[..1024] {
        cache.digests(path).expect("a file");
    }
    // Used again, so it stays.
    cache.digests(&paths[0]).expect("a file");
    for path in &paths[1024..] {
        cache.digests(path).expect("a file");
    }
    cache.save().expect("the folder is ours");
    let text = std::fs::read_to_string(&store).expect("it was saved");
    let has = |n: usize| text.contains(&format!("/f{n}\""));
    assert_eq!(text.matches("\"path\"").count(), 1024);
    assert!(has(0) && !has(1) && !has(6) && has(7) && has(1029), "the wrong ones were forgotten");
}
