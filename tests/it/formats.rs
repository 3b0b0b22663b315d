//! The page on formats names what the formats have.

use std::collections::BTreeSet;
use std::fs;

use gate::model::record::{Record, canonical, digest};
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
