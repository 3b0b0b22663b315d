//! The JSON schema of a record: valid itself, and true of every record.

use std::process::Command;

use gate::model::evidence::Ended;
use serde_json::{Value, json};

use crate::sources::sources;
use crate::synthetic::{Reports, Session, metric, noisy, rule, spread};

fn schema() -> Value {
    let answer = Command::new(env!("CARGO_BIN_EXE_gate"))
        .args(["schema", "record"])
        .output()
        .unwrap();
    assert_eq!((answer.status.code(), answer.stderr.len()), (Some(0), 0));
    serde_json::from_slice(&answer.stdout).unwrap()
}

/// Records with everything that a record may hold, and those that the repository keeps.
fn records() -> Vec<(String, Value)> {
    let full = Session::of(vec![metric("t:lower:ms", "2%")], vec![rule("hold"), spread("5%"), rule("exact")]).fixtures(&["p"]);
    let mut steady = noisy(0.0, 0.3, 1);
    let full = full.planned(|plan| plan.max_void_blocks = 5).whole(|slot, sample| {
        steady(slot, sample);
        match sample.seq {
            3 => sample.exits(1),
            9 => sample.voided(true),
            _ => {}
        }
    });
    let cancelled = Ended::Cancelled {
        signal: "SIGTERM".to_owned(),
    };
    let sessions = [
        ("a pass", Session::new().whole(noisy(0.0, 0.3, 3))),
        ("everything", full),
        ("nothing measured", Session::new().whole(|_, sample| sample.lacks("t"))),
        ("cancelled", Session::new().run(3, noisy(0.0, 0.3, 3)).ended(cancelled)),
        ("a rank look", Session::new().whole(noisy(0.0, 8.0, 5))),
    ];
    let built = sessions.map(|(what, session)| (what.to_owned(), serde_json::to_value(session.record()).unwrap()));
    let kept = sources(&["tests/data/record/v1"])
        .into_iter()
        .filter(|source| source.path.ends_with(".json"));
    let kept = kept.flat_map(|source| {
        let lines: Vec<Value> = source.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.into_iter().map(move |value| (source.path.clone(), value))
    });
    built.into_iter().chain(kept).collect()
}

#[test]
fn the_schema_is_one_and_every_record_keeps_to_it() {
    let schema = schema();
    jsonschema::meta::validate(&schema).expect("a valid schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (what, record) in records() {
        let errors: Vec<String> = validator
            .iter_errors(&record)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{what}: {errors:?}");
    }
}

#[test]
fn a_broken_record_does_not() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let (_, record) = records().swap_remove(0);
    assert!(validator.is_valid(&record));
    for (place, broken) in [
        ("/version", json!("1")),
        ("/judgement/outcome", json!("fine")),
        ("/judgement/verdicts/0/verdict", json!("fine")),
        ("/judgement/verdicts/0/estimate", json!("-1.2 %")),
        ("/judgement/verdicts/0/interval", json!([1.0])),
        ("/judgement/verdicts/0/blocks", json!(-1)),
        ("/plan/blocks/0", json!("AABB")),
        ("/evidence/samples/0/arm", json!("C")),
        ("/evidence/samples/0/values/t", json!(null)),
        ("/evidence/samples/0/void", json!("because")),
        ("/gate/metrics/0/better", json!("faster")),
        ("/labels/session", json!(7)),
        ("/seal", json!(null)),
    ] {
        let mut forged = record.clone();
        *forged.pointer_mut(place).expect(place) = broken;
        assert!(!validator.is_valid(&forged), "{place}");
    }
    for field in [
        "version",
        "tool",
        "kind",
        "at",
        "gate",
        "plan",
        "identity",
        "host",
        "evidence",
        "context",
        "judgement",
        "seal",
    ] {
        let mut forged = record.clone();
        forged.as_object_mut().unwrap().remove(field);
        assert!(!validator.is_valid(&forged), "a record without {field}");
    }
}

#[test]
fn every_field_of_the_schema_is_described() {
    fn undescribed(schema: &Value, at: &str, found: &mut Vec<String>) {
        if let Some(fields) = schema["properties"].as_object() {
            for (name, field) in fields {
                if field["description"].as_str().is_none_or(str::is_empty) && field.get("const").is_none() {
                    found.push(format!("{at}.{name}"));
                }
            }
        }
        match schema {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(name, value)| undescribed(value, &format!("{at}/{name}"), found)),
            Value::Array(items) => items.iter().for_each(|value| undescribed(value, at, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    undescribed(&schema(), "", &mut found);
    assert!(found.is_empty(), "{found:?}");
}
