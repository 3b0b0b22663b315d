//! The page on formats names what the formats have.

use std::collections::BTreeSet;
use std::fs;

use gate::model::baseline::{FILE_MAX_BYTES, LINE_MAX_BYTES, parse};
use gate::model::gate::waiver;
use gate::model::record::{Record, canonical, digest};
use gate::model::relabel::Relabel;
use serde_json::Value;

use crate::readme::table;
use crate::sources::root;

fn formats() -> String {
    fs::read_to_string(root().join("docs/formats.md")).unwrap()
}

/// The names of an object's properties, and those in the first column of a table.
fn compare(object: &Value, head: &str) {
    let is: BTreeSet<String> = object["properties"].as_object().unwrap().keys().cloned().collect();
    let rows = table(&formats(), head);
    let says: BTreeSet<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(says, is, "{head}");
}

#[test]
fn every_field_is_named() {
    let schema = serde_json::to_value(schemars::schema_for!(Record)).unwrap();
    compare(&schema, "| field | what it holds |");
    compare(&schema["$defs"]["Sample"], "| field of a sample | what it holds |");
    let relabel = serde_json::to_value(schemars::schema_for!(Relabel)).unwrap();
    compare(&relabel, "| field of a relabel | what it holds |");
}

#[test]
fn the_example_is_canonical() {
    let text = formats();
    let mut lines = text.lines().skip_while(|line| *line != "```text").skip(1);
    let (example, says) = (lines.next().unwrap(), lines.next().unwrap());
    let value: Value = serde_json::from_str(example).unwrap();
    assert_eq!(canonical(&value), example);
    assert_eq!(digest(example.as_bytes()), says);
    let shuffled = r#"{ "b": {"\u00fc": "\u000a", "c": null}, "a": [1, 2.0, 1e-1] }"#;
    assert_eq!(canonical(&serde_json::from_str(shuffled).unwrap()), example, "one canonical form");
}

#[test]
fn the_baseline_is_read_and_written_as_it_stands() {
    let text = formats();
    let block = text.split("```text\n").find(|block| block.starts_with("gate-baseline")).unwrap();
    let example = block.split("```").next().unwrap();
    let baseline = parse(example, "baselines/cpu-x86_64.txt").unwrap();
    assert_eq!((baseline.samples().count(), baseline.bands().count()), (2, 1));
    assert_eq!(baseline.write(), example);
    let mut again = baseline.clone();
    for band in baseline.bands() {
        again.replace_band(band.clone()).unwrap();
    }
    assert_eq!(again.write(), example, "a band is written as the page shows it");
    let says = format!("a line over {} KiB, a file over {} MiB", LINE_MAX_BYTES >> 10, FILE_MAX_BYTES >> 20);
    assert!(text.contains(&says), "docs/formats.md should say: {says}");
}

#[test]
fn the_waiver_is_one_and_every_key_is_named() {
    let text = formats();
    let (_, section) = text.split_once("## Waivers:").unwrap();
    let (_, example) = section.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    waiver::parse(example, "docs").unwrap();
    let keys: BTreeSet<&str> = example.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let rows = table(&text, "| key of a waiver | what it holds |");
    let named: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row[0].split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    assert_eq!(named, keys);
}
