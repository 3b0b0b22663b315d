//! Adapters: every file listed, every case folder read, and no bytes that make one panic.

use std::fs;
use std::path::{Path, PathBuf};

use gate::adapter::{ALL, find};
use gate::model::figure::Reading;
use gate::model::metric::Metric;
use proptest::prelude::*;
use serde::Deserialize;

use crate::sources::root;

/// What a `.json` beside a `.txt` says: the metrics asked for, and the reading that must come back.
#[derive(Deserialize)]
struct Case {
    wanted: Vec<Metric>,
    reading: Reading,
}

fn case_files(adapter: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/data/adapter").join(adapter);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}: every adapter has a case folder", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some("txt".as_ref()))
        .collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_adapter_is_one_file_and_one_word() {
    let files = fs::read_dir(root().join("src/adapter"))
        .unwrap()
        .map(|entry| stem(&entry.unwrap().path()));
    let mut from_files: Vec<String> = files.filter(|name| name != "mod").map(|name| name.replace('_', "-")).collect();
    let mut listed: Vec<&str> = ALL.iter().map(|adapter| adapter.name).collect();
    from_files.sort();
    listed.sort_unstable();
    assert_eq!(from_files, listed, "the files of src/adapter and the names in adapter::ALL differ");
    assert!(ALL.iter().all(|adapter| !adapter.about.is_empty() && !adapter.about.contains('\n')));
    assert!(find("key-value").is_ok());
    assert_eq!(find("yaml").unwrap_err(), "unknown adapter \"yaml\": known are key-value");
}

#[test]
fn every_case_reads_as_its_json_says() {
    for adapter in ALL {
        let files = case_files(adapter.name);
        assert!(!files.is_empty(), "{}: no cases", adapter.name);
        for file in files {
            let case: Case = serde_json::from_slice(&fs::read(file.with_extension("json")).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", file.with_extension("json").display()));
            let reading = (adapter.read)(&fs::read(&file).unwrap(), &case.wanted);
            assert_eq!(reading, case.reading, "{}", file.display());
        }
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
        let wanted: Vec<Metric> = ["a:lower:ms", "a b:higher:tok/s", "\u{b5}:lower:us"].into_iter().map(|flag| Metric::parse_flag(flag).unwrap()).collect();
        for adapter in ALL {
            let reading = (adapter.read)(&output, &wanted);
            for metric in &wanted {
                let value = reading.values.get(&metric.name);
                prop_assert!(value.is_some() != reading.missing.contains_key(&metric.name), "{}: not exactly one figure", metric.name);
                prop_assert!(value.is_none_or(|value| value.is_finite()));
            }
        }
    }
}
