//! Adapters: every file listed, every case folder read, and no bytes that make one panic.

mod cases;
mod damage;
mod detection;
mod hipfire;
mod llama_perplexity;
mod mindxtrain;
mod shared;
mod told;

use std::fs;
use std::path::{Path, PathBuf};

use gate::adapter::{ALL, find};
use gate::model::figure::Reading;
use gate::model::gate::declaration::Series;
use gate::model::metric::Metric;
use proptest::prelude::*;
use serde::Deserialize;

use crate::sources::root;

/// What a `.json` beside a `.txt` of `key-value` says: the metrics asked for, and the reading that must come back.
#[derive(Deserialize)]
struct Case {
    wanted: Vec<Metric>,
    reading: Reading,
}

/// The case files of an adapter; snapshots and expectations are none.
fn case_files(adapter: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/data/adapter").join(adapter);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}: every adapter has a case folder", folder.display()));
    let all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let is_expected = |path: &Path| path.extension() == Some("json".as_ref()) && all.contains(&path.with_extension("txt"));
    let is_case = |path: &&PathBuf| path.extension() != Some("snap".as_ref()) && !is_expected(path);
    let mut files: Vec<PathBuf> = all.iter().filter(is_case).cloned().collect();
    files.sort();
    files
}

/// A declared series of its own name.
fn series(flag: &str) -> Series {
    Series::of(Metric::parse_flag(flag).unwrap())
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_adapter_is_one_file_and_one_word() {
    let files = fs::read_dir(root().join("src/adapter"))
        .unwrap()
        .map(|entry| stem(&entry.unwrap().path()));
    let is_adapter = |name: &String| name != "mod" && name != "foreign";
    let mut from_files: Vec<String> = files.filter(is_adapter).map(|name| name.replace('_', "-")).collect();
    let mut listed: Vec<&str> = ALL.iter().map(|adapter| adapter.name).collect();
    from_files.sort();
    listed.sort_unstable();
    assert_eq!(from_files, listed, "the files of src/adapter and the names in adapter::ALL differ");
    for adapter in ALL {
        assert!(!adapter.about.is_empty() && !adapter.about.contains('\n'), "{}", adapter.name);
        let is_ours = adapter.source.starts_with("docs/");
        assert!(
            is_ours || adapter.source.starts_with("https://") && adapter.source.ends_with(')'),
            "{}: link (versions)",
            adapter.name
        );
        assert!(!case_files(adapter.name).is_empty(), "{}: no cases", adapter.name);
    }
    assert!(find("key-value").is_ok());
    assert!(
        find("yaml")
            .unwrap_err()
            .starts_with("unknown adapter \"yaml\": known are key-value, ")
    );
}

#[test]
fn every_case_of_key_value_reads_as_its_json_says() {
    let adapter = find("key-value").unwrap();
    for file in case_files(adapter.name) {
        let case: Case = serde_json::from_slice(&fs::read(file.with_extension("json")).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.with_extension("json").display()));
        let wanted: Vec<Series> = case.wanted.into_iter().map(Series::of).collect();
        let reading = adapter.reading(&fs::read(&file).unwrap(), &wanted);
        assert_eq!(reading, case.reading, "{}", file.display());
    }
}

/// Pieces that the grammar knows, so that random outputs come near it.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    const KNOWN: &[&str] = &[
        "a",
        "a b",
        "=",
        ":",
        " ",
        "\n",
        "\r",
        ",",
        "1",
        "1.5",
        "1e9",
        "nan",
        "ms",
        "tok/s",
        "{",
        "}",
        "\"a\"",
        "SUMMARY ",
        "\u{1b}[1m",
        "\u{1b}]",
        "\u{b5}s",
        "[x]",
    ];
    let piece = prop_oneof![4 => prop::sample::select(KNOWN).prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 0..4)];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, rng_seed: prop::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic_and_every_metric_gets_one_figure(output in pieces()) {
        let wanted = ["a:lower:ms", "a b:higher:tok/s", "\u{b5}:lower:us"].map(series);
        for adapter in ALL {
            let reading = adapter.reading(&output, &wanted);
            for name in wanted.iter().map(|series| &series.metric.name) {
                let value = reading.values.get(name);
                prop_assert!(value.is_some() != reading.missing.contains_key(name), "{name}: not exactly one figure");
                prop_assert!(value.is_none_or(|value| value.is_finite()));
            }
        }
    }
}
