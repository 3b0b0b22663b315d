//! Programs that this project did not write, measured at two settings and against themselves; and records of such runs, judged again.

use std::fs;
use std::path::{Path, PathBuf};

use gate::judge::{Case, judge, same};
use gate::model::record::{Record, plan_digest, seal};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::sandbox::{Sandbox, json, program, verdict};

/// Judged is processor time: on a busy machine wall time says little. What is slower here takes at least half as long again.
const OPTIONS: [&str; 10] = [
    "--metric",
    "cpu_s:lower:s",
    "--tolerance",
    "25%",
    "--alpha",
    "0.002",
    "--max-blocks",
    "28",
    "--format",
    "json",
];

/// How often a comparison without an answer is made; a wrong answer fails at once.
const TRIES: usize = 3;

/// Verdicts that pass.
const PASSING: [&str; 3] = ["no_regression", "small_slowdown", "improvement"];

/// A sandbox with `text`, which compresses as text does, and files of zeros.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut letters = |least: u32, more: u32| {
        let length = least + random.next_u32() % more;
        (0..length)
            .map(|_| char::from(b'a' + (random.next_u32() % 26) as u8))
            .collect::<String>()
    };
    let words: Vec<String> = (0..2000).map(|_| letters(2, 9)).collect();
    let text: Vec<&str> = (0..100_000)
        .map(|_| words[random.next_u32() as usize % words.len()].as_str())
        .collect();
    sandbox.write("text", text.join(" "));
    for (name, bytes) in [("zeros-24m", 24 << 20), ("zeros-48m", 48 << 20)] {
        fs::File::create(sandbox.path(name)).unwrap().set_len(bytes).unwrap();
    }
    sandbox
}

/// Compares two commands, twice more where the machine is too noisy for an answer. Gives the verdict and the gain in percent.
fn compare(sandbox: &Sandbox, a: &str, b: &str, code: i32) -> (String, f64) {
    let mut done = sandbox.perf(a, b, &OPTIONS);
    for _ in 1..TRIES {
        if done.code == Some(3) {
            done = sandbox.perf(a, b, &OPTIONS);
        }
    }
    let record = done.exits(code).record();
    let gain_pct = record["judgement"]["verdicts"][0]["estimate"].as_f64().expect("an estimate");
    (verdict(&record).to_owned(), gain_pct)
}

fn is_told_apart(name: &str, fast: &str, slow: &str) {
    let Some(_) = program(name) else { return };
    let sandbox = sandbox();
    let (verdict, gain_pct) = compare(&sandbox, fast, slow, 1);
    assert!(
        verdict == "regression" && gain_pct < -25.0,
        "{slow} against {fast}: {verdict}, gain {gain_pct} %"
    );
    let (verdict, gain_pct) = compare(&sandbox, fast, fast, 0);
    assert!(
        PASSING.contains(&verdict.as_str()),
        "{fast} against itself: {verdict}, gain {gain_pct} %"
    );
    let (verdict, gain_pct) = compare(&sandbox, slow, fast, 0);
    assert!(
        PASSING.contains(&verdict.as_str()) && gain_pct > 10.0,
        "{fast} against {slow}: {verdict}, gain {gain_pct} %"
    );
    let verified = sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}

#[test]
fn xz_is_slower_at_level_6_than_at_level_1() {
    is_told_apart("xz", "xz -k -c -T1 -1 text", "xz -k -c -T1 -6 text");
}

#[test]
fn zstd_is_slower_at_level_15_than_at_level_9() {
    is_told_apart("zstd", "zstd -q -c --single-thread -9 text", "zstd -q -c --single-thread -15 text");
}

#[test]
fn sqlite3_is_slower_over_twice_the_rows() {
    let query = |rows: u32| {
        format!(
            "sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows}) \
             select count(*), sum(i * i % 7) from n'"
        )
    };
    is_told_apart("sqlite3", &query(150_000), &query(300_000));
}

#[test]
fn openssl_is_slower_over_twice_the_bytes() {
    is_told_apart("openssl", "openssl dgst -sha512 zeros-24m", "openssl dgst -sha512 zeros-48m");
}

/// Kept records of such runs: the expected verdict is the second part of the file's name.
fn kept() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/record/v1");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

#[test]
fn kept_records_are_judged_as_they_were() {
    let kept = kept();
    assert!(kept.len() >= 4, "{} records are kept", kept.len());
    for (path, text) in kept {
        let at = path.file_name().unwrap().to_string_lossy().into_owned();
        let value = json(&text);
        assert_eq!(value["seal"], seal(&value), "{at}: the seal");
        let digest = plan_digest(&value);
        let record: Record = serde_json::from_value(value).unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(record.version, 1, "{at}");
        assert_eq!(record.plan.digest, digest, "{at}: the plan's digest");
        let again = judge(&Case::from(&record));
        same(&record.judgement, &again).unwrap_or_else(|why| panic!("{at}: {why}"));
        let verdict = again.verdicts[0].verdict.word();
        assert_eq!(at.split('.').nth(1), Some(verdict), "{at}");
    }
}

#[test]
fn a_kept_record_that_was_edited_is_found() {
    for (path, text) in kept() {
        let edited = text.replacen("\"cpu_s\":0.", "\"cpu_s\":1.", 1);
        assert_ne!(edited, text, "{}", path.display());
        let value = json(&edited);
        assert_ne!(value["seal"], seal(&value), "{}", path.display());
        let sandbox = Sandbox::new();
        let ledger = sandbox.write("edited.jsonl", edited.trim_end().to_owned() + "\n");
        let done = sandbox.gate(&["ledger", "verify", "--ledger", ledger.to_str().unwrap()]).exits(4);
        assert!(done.out.contains("line 1: the seal is broken"), "{}", done.out);
    }
}
