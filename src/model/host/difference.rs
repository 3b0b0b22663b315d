//! Two identities side by side.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A field whose value moves from moment to moment and is no part of what was measured on.
const MOVING: [&str; 1] = ["machine.load"];

/// One identity as fields by their full names, and the names of those that are not known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    fields: BTreeMap<String, Value>,
    unknown: BTreeSet<String>,
}

/// One field that is not the same on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its name.
    pub field: String,
    /// Its values; none where the side does not know it, or does not have it.
    pub values: [Option<Value>; 2],
}

impl Side {
    /// Reads fields, each with the fields below it, and the entries `{"field": NAME}` of what is not known.
    pub fn of(fields: &Value, missing: &Value) -> Self {
        let mut side = Self::default();
        flatten("", fields, &mut side.fields);
        let names = missing.as_array().into_iter().flatten().filter_map(|entry| entry["field"].as_str());
        side.unknown = names.map(str::to_owned).collect();
        side.fields.retain(|field, _| !MOVING.contains(&field.as_str()));
        side
    }

    /// Whether nothing is known of this side.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

fn flatten(name: &str, value: &Value, fields: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(below) if !below.is_empty() || name.is_empty() => {
            for (key, value) in below {
                let full = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&full, value, fields);
            }
        }
        _ => drop(fields.insert(name.to_owned(), value.clone())),
    }
}

/// What differs, by name. What neither side knows cannot be compared and is told by [`neither`].
pub fn differences(a: &Side, b: &Side) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.fields.keys().chain(b.fields.keys()).collect();
    let differs = names.into_iter().filter(|name| a.fields.get(*name) != b.fields.get(*name));
    differs
        .map(|name| Difference {
            field: name.clone(),
            values: [a, b].map(|side| side.fields.get(name).cloned()),
        })
        .collect()
}

/// The fields that neither side knows.
pub fn neither<'a>(a: &'a Side, b: &'a Side) -> Vec<&'a str> {
    a.unknown.intersection(&b.unknown).map(String::as_str).collect()
}

/// Whether a field is the declared one or stands below it.
pub fn is_lever(field: &str, lever: &str) -> bool {
    field
        .strip_prefix(lever)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_named_down_to_its_field() {
        let side = |env: Value, load: f64| {
            Side::of(
                &json!({"env": env, "machine": {"load": load}, "gpu.archs": ["gfx942"]}),
                &json!([{"field": "gpu.vbios"}]),
            )
        };
        let (a, b) = (side(json!({"A": "1", "B": "2"}), 0.1), side(json!({"A": "2"}), 0.2));
        let found = differences(&a, &b);
        assert_eq!(found.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), ["env.A", "env.B"]);
        assert_eq!(found[1].values, [Some(json!("2")), None]);
        assert_eq!((differences(&a, &a), neither(&a, &b)), (vec![], vec!["gpu.vbios"]));
        assert!(is_lever("env.A", "env") && is_lever("env.A", "env.A") && !is_lever("env.AB", "env.A"));
    }
}
