//! Requests and answers held against descriptions of GitHub's API: a small one of our own, and GitHub's where it is at hand.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::http::{Body, Request, Response};

/// What GitHub's own description is called.
const OFFICIAL: &str = "GitHub's description";

/// A description in the form of OpenAPI 3.0.
struct Description {
    name: &'static str,
    api: Value,
    /// By the place of a schema in the description.
    validators: Mutex<HashMap<String, Option<std::sync::Arc<Validator>>>>,
}

fn read(path: PathBuf, name: &'static str) -> Option<Description> {
    let api = serde_json::from_str(&std::fs::read_to_string(path).ok()?).unwrap_or_else(|error| panic!("{name}: {error}"));
    Some(Description {
        name,
        api: translated(api, false),
        validators: Mutex::default(),
    })
}

fn descriptions() -> &'static [Description] {
    static ALL: OnceLock<Vec<Description>> = OnceLock::new();
    ALL.get_or_init(|| {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let own = read(root.join("tests/data/github/api.json"), "tests/data/github/api.json").expect("our own description");
        let shared = std::env::var_os("GATE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
        let official = read(shared.join("github/openapi-slice.json"), OFFICIAL);
        if official.is_none() {
            println!(
                "skipped: GitHub's own description of its API is absent; requests and answers are held against a small one of our own"
            );
        }
        std::iter::once(own).chain(official).collect()
    })
}

/// A schema of OpenAPI 3.0 as one of JSON Schema: what may be null says so in its type, and nothing undescribed may be sent.
fn translated(value: Value, strict: bool) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| translated(item, strict)).collect(),
        Value::Object(fields) => {
            let nullable = fields.get("nullable") == Some(&Value::Bool(true));
            let mut object: Map<String, Value> = Map::new();
            for (name, field) in fields {
                let below = strict || name == "requestBody";
                // An alternative describes a part of what is described beside it.
                let below = below && !matches!(name.as_str(), "oneOf" | "anyOf" | "allOf");
                match (name.as_str(), &field) {
                    ("example" | "examples" | "nullable" | "discriminator", _) => {}
                    ("type", Value::String(_)) if nullable => drop(object.insert(name, json!([field, "null"]))),
                    ("enum", Value::Array(words)) if nullable => {
                        let words: Vec<Value> = words.iter().cloned().chain([Value::Null]).collect();
                        object.insert(name, words.into());
                    }
                    _ => drop(object.insert(name, translated(field, below))),
                }
            }
            let described = object.get("properties").is_some_and(Value::is_object) && object.contains_key("type");
            if strict && described && !object.contains_key("additionalProperties") {
                object.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            object.into()
        }
        other => other,
    }
}

/// Everything in a request and its answer that the descriptions do not allow. `path` is without the address's own path.
pub fn objections(path: &str, request: &Request, response: &Response) -> Vec<String> {
    let of = |description: &Description| {
        let all = description.objections(path, request, response);
        let say = |what| format!("{} {path} -> {}: {}: {what}", request.method, response.status, description.name);
        all.into_iter().map(say).collect::<Vec<String>>()
    };
    // GitHub's description is at hand without the files of a pull request.
    let holds = |description: &&Description| !(path.ends_with("/files") && description.name == OFFICIAL);
    descriptions().iter().filter(holds).flat_map(of).collect()
}

impl Description {
    fn objections(&self, path: &str, request: &Request, response: &Response) -> Vec<String> {
        let Some((template, operation)) = self.operation(path, &request.method) else {
            return vec!["there is no such operation".to_owned()];
        };
        let place = format!("/paths/{}/{}", template.replace('/', "~1"), request.method.to_lowercase());
        let mut wrong = self.parameters(operation, template, path, request);
        match (&request.body, operation.get("requestBody")) {
            (Some(body), Some(_)) => {
                let schema = format!("{place}/requestBody/content/application~1json/schema");
                wrong.extend(self.validate(&schema, body, "the request"));
            }
            (None, Some(_)) => wrong.push("the request has no body".to_owned()),
            (Some(_), None) => wrong.push("the request has a body".to_owned()),
            (None, None) => {}
        }
        wrong.extend(self.answer(operation, &place, response));
        wrong
    }

    fn operation(&self, path: &str, method: &str) -> Option<(&str, &Value)> {
        let same = |template: &str| {
            let (ours, theirs): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), template.split('/').collect());
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|(ours, theirs)| theirs.starts_with('{') || *ours == theirs)
        };
        let paths = self.api["paths"].as_object()?;
        let (template, found) = paths
            .iter()
            .filter(|(template, _)| same(template))
            .min_by_key(|(template, _)| template.matches('{').count())?;
        Some((template, found.get(method.to_lowercase())?))
    }

    fn parameters(&self, operation: &Value, template: &str, path: &str, request: &Request) -> Vec<String> {
        let parameters: Vec<&Value> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| self.resolved(one))
            .collect();
        let find = |name: &str, place: &str| parameters.iter().find(|one| one["name"] == name && one["in"] == place);
        let check = |name: &str, text: &str, place: &str| match find(name, place) {
            None => Some(format!("there is no {place} parameter {name}")),
            Some(one) => {
                let number = text.parse::<u64>().ok();
                let odd = one["schema"]["type"] == "integer" && number.is_none();
                let large = name == "per_page" && number > Some(100);
                (odd || large).then(|| format!("the {place} parameter {name} is {text:?}"))
            }
        };
        let segments = template.split('/').zip(path.split('/'));
        let in_path = segments.filter_map(|(name, text)| check(name.strip_prefix('{')?.strip_suffix('}')?, text, "path"));
        let in_query = request.query.iter().filter_map(|(name, text)| check(name, text, "query"));
        in_path.chain(in_query).collect()
    }

    fn answer(&self, operation: &Value, place: &str, response: &Response) -> Vec<String> {
        let status = response.status.to_string();
        let declared = operation["responses"].get(&status).map(|found| self.resolved(found));
        match (&response.body, declared) {
            // A proxy in between answers in its own way.
            (Body::Html(_), _) => Vec::new(),
            (Body::Json(body), Some(found)) if found.pointer("/content/application~1json/schema").is_some() => {
                let own = format!("{place}/responses/{status}");
                let at = operation["responses"][&status]["$ref"]
                    .as_str()
                    .map_or(own, |to| to.trim_start_matches('#').to_owned());
                self.validate(&format!("{at}/content/application~1json/schema"), body, "the answer")
            }
            (Body::Json(body), None) if response.status >= 300 => self.validate("/components/schemas/basic-error", body, "the answer"),
            (Body::Nothing, Some(_)) => Vec::new(),
            _ => vec![format!("an answer of status {status} and this kind is not described")],
        }
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let to = value["$ref"].as_str().map(|to| to.trim_start_matches('#'));
        to.map_or(value, |to| self.api.pointer(to).expect("what is named is there"))
    }

    fn validate(&self, place: &str, instance: &Value, what: &str) -> Vec<String> {
        let validator = self
            .validators
            .lock()
            .unwrap()
            .entry(place.to_owned())
            .or_insert_with(|| {
                self.api.pointer(place)?;
                let fragment = place.replace('{', "%7B").replace('}', "%7D");
                let schema = json!({ "$ref": format!("#{fragment}"), "components": self.api["components"], "paths": self.api["paths"] });
                let made = jsonschema::draft7::new(&schema).unwrap_or_else(|error| panic!("{place}: {error}"));
                Some(std::sync::Arc::new(made))
            })
            .clone();
        let Some(validator) = validator else {
            return vec![format!("no schema at {place}")];
        };
        validator
            .iter_errors(instance)
            .map(|error| format!("{what} at {:?}: {error}", error.instance_path().to_string()))
            .collect()
    }
}

#[test]
fn what_is_not_described_is_objected_to() {
    let ask = |method: &str, path: &str, query: &[(&str, &str)], body: Option<Value>| Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        authorization: None,
        body,
    };
    let gone = || Response::json(404, json!({"message": "Not Found"}));
    let comments = "/repos/o/r/issues/12/comments";
    let checks = "/repos/o/r/check-runs";
    let check = |field: &str, value: Value| {
        let mut check = json!({"name": "gate", "head_sha": "a", "status": "completed", "conclusion": "success",
            "output": {"title": "t", "summary": "s", "annotations": []}});
        check[field] = value;
        Some(check)
    };
    for (request, objects) in [
        (ask("POST", comments, &[], Some(json!({"body": "x"}))), false),
        (ask("POST", comments, &[], Some(json!({"text": "x"}))), true),
        (ask("POST", comments, &[], Some(json!({"body": "x", "more": 1}))), true),
        (ask("POST", comments, &[], None), true),
        (ask("GET", comments, &[("per_page", "100"), ("page", "2")], None), false),
        (ask("GET", comments, &[("per_page", "101")], None), true),
        (ask("GET", comments, &[("sort", "asc")], None), true),
        (ask("GET", "/repos/o/r/issues/x/comments", &[], None), true),
        (ask("GET", "/nothing", &[], None), true),
        (ask("POST", "/repos/o/r/statuses/abc", &[], Some(json!({"state": "failed"}))), true),
        (ask("POST", checks, &[], check("name", "gate".into())), false),
        (ask("POST", checks, &[], check("conclusion", "passed".into())), true),
        (ask("POST", checks, &[], check("conclusion", Value::Null)), true),
        (ask("POST", checks, &[], check("output", json!({"title": "t"}))), true),
        (
            ask(
                "POST",
                checks,
                &[],
                check(
                    "output",
                    json!({"title": "t", "summary": "s", "annotations": vec![json!({"path": "p", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}); 51]}),
                ),
            ),
            true,
        ),
    ] {
        for description in descriptions() {
            let found = description.objections(&request.path.clone(), &request, &gone());
            assert_eq!(!found.is_empty(), objects, "{}: {request:?}: {found:?}", description.name);
        }
    }
    let good = ask("GET", comments, &[], None);
    for odd in [json!([{"id": "x"}]), json!({}), json!([{}])] {
        assert!(!objections(comments, &good, &Response::json(200, odd)).is_empty());
    }
}
