//! `gate eval` from the command line to the record, on results as a harness writes them.

mod accepted;
mod choice;
mod comment;
mod declared;
mod fooled;
mod paired;
mod rule;
mod waived;

use serde_json::{Map, Value, json};

use crate::sandbox::{Done, Sandbox};

/// The base model, with the digest that its results tell.
pub const BASE: (&str, &str) = ("org/base", "9f2c41aa00119f2c41aa00119f2c41aa00119f2c");
/// The candidate.
pub const TUNED: (&str, &str) = ("org/tuned", "77aa41aa001177aa41aa001177aa41aa001177aa");

/// Results in the manner of lm-evaluation-harness 0.4.9, to be changed.
#[derive(Clone)]
pub struct Made(pub Value);

impl Made {
    /// Results of a model without a task.
    pub fn of((model, digest): (&str, &str)) -> Self {
        Self(json!({
            "results": {}, "versions": {}, "n-shot": {}, "higher_is_better": {}, "n-samples": {}, "configs": {}, "group_subtasks": {},
            "config": {
                "model": "hf", "model_args": format!("pretrained={model},dtype=bfloat16"), "model_sha": digest, "batch_size": "8",
                "limit": null, "gen_kwargs": null,
            },
            "date": 1_790_000_000.5, "lm_eval_version": "0.4.9", "chat_template_sha": null, "system_instruction_sha": null,
        }))
    }

    /// A task with so many right answers.
    pub fn task(self, name: &str, right: u64, items: u64) -> Self {
        self.metric(name, "acc,none", right as f64 / items as f64, items)
    }

    /// A metric of a task under a filter.
    pub fn metric(mut self, name: &str, metric: &str, value: f64, items: u64) -> Self {
        let (plain, filter) = metric.split_once(',').unwrap();
        let stderr = (value * (1.0 - value) / (items - 1) as f64).sqrt();
        let results = &mut self.0["results"];
        if results[name].is_null() {
            results[name] = json!({ "alias": format!(" - {name}"), "sample_len": items });
        }
        results[name][metric] = json!(value);
        results[name][format!("{plain}_stderr,{filter}")] = json!(stderr);
        if self.0["higher_is_better"][name].is_null() {
            self.0["higher_is_better"][name] = json!({});
        }
        self.0["higher_is_better"][name][plain] = json!(true);
        self.set(&["versions", name], json!(1.0))
            .set(&["n-shot", name], json!(5))
            .set(&["n-samples", name], json!({ "original": items, "effective": items }))
    }

    /// Puts a value at a path.
    pub fn set(mut self, path: &[&str], value: Value) -> Self {
        let mut at = &mut self.0;
        for name in path {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[*name];
        }
        *at = value;
        self
    }

    /// Takes what stands at a path out.
    pub fn without(mut self, path: &[&str]) -> Self {
        let (last, folders) = path.split_last().unwrap();
        let at = folders.iter().fold(&mut self.0, |at, name| &mut at[*name]);
        at.as_object_mut().unwrap().remove(*last);
        self
    }

    /// Its text.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap()
    }
}

/// The log of single answers of a task: one line an item.
pub fn log(task: &str, answers: impl IntoIterator<Item = bool>) -> String {
    let line = |(at, right): (usize, bool)| {
        let item = json!({
            "doc_id": at, "doc": { "question": format!("{task} {at}?") }, "target": "x", "arguments": {}, "resps": [["y"]],
            "filtered_resps": ["y"], "filter": "none", "metrics": ["acc"], "doc_hash": format!("{task}-{at:060}"),
            "prompt_hash": "p", "target_hash": "t", "acc": f64::from(u8::from(right)),
        });
        format!("{item}\n")
    };
    answers.into_iter().enumerate().map(line).collect()
}

/// A place with the results of both sides: `base.json` and `tuned.json`.
pub fn sides(base: &Made, tuned: &Made) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("base.json", base.text());
    sandbox.write("tuned.json", tuned.text());
    sandbox
}

/// Judges `tuned.json` against `base.json`.
pub fn judged(sandbox: &Sandbox, more: &[&str]) -> Done {
    sandbox.gate(&[&["eval", "tuned.json", "--baseline", "base.json"], more].concat())
}

/// The verdicts that count, by score: `arc acc`.
pub fn counted(record: &Value) -> Vec<(String, String)> {
    verdicts(record, |ruling| ruling["required"] == true)
}

/// Every verdict that some condition holds of.
pub fn verdicts(record: &Value, holds: impl Fn(&Value) -> bool) -> Vec<(String, String)> {
    let rulings = record["judgement"]["verdicts"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rulings
        .filter(|ruling| holds(ruling))
        .map(|ruling| {
            let name = format!("{} {}", word(&ruling["cell"]["fixture"]), word(&ruling["metric"]));
            (name.trim_end().to_owned(), word(&ruling["verdict"]))
        })
        .collect()
}

/// The record of the last run, whose ledger must verify.
pub fn last(sandbox: &Sandbox) -> Value {
    let done = sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(done.out.contains(", 0 violations"), "{}", done.out);
    sandbox.ledger().pop().expect("a record")
}

#[test]
fn the_job_around_it_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write("base.json", Made::of(BASE).task("gsm8k", 800, 1000).0.to_string());
    sandbox.write("tuned.json", Made::of(TUNED).task("gsm8k", 700, 1000).0.to_string());
    let file = |name: &str| sandbox.path(name).display().to_string();
    let (output, summary) = (file("output"), file("summary.md"));
    let sandbox = sandbox.with_env("GITHUB_OUTPUT", &output).with_env("GITHUB_STEP_SUMMARY", &summary);
    let words = [
        "eval",
        "tuned.json",
        "--baseline",
        "base.json",
        "--tolerance",
        "1pp",
        "--format",
        "json",
    ];
    let _done = sandbox.gate(&words).exits(1);
    assert_eq!(sandbox.text("output"), "", "outside of a job nobody is told");
    let done = sandbox.gate(&[&words[..], &["--github"]].concat()).exits(1);
    assert_eq!(done.record()["judgement"]["outcome"], "fail");
    assert!(done.err.contains("::error "), "{}", done.err);
    assert!(sandbox.text("output").contains("\nfail\n") && sandbox.text("summary.md").contains("### gate: fail"));
}
