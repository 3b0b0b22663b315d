//! Records that stop standing for anything: one more sealed line, and everything that looks at the record honours it.

use std::path::PathBuf;

use gate::edge::ledger::append;
use gate::model::record::{Record, seal};
use serde_json::{Value, json};

use crate::sandbox::{Done, Sandbox, json as parse};
use crate::synthetic::{Session, noisy};

/// A sandbox whose ledger holds one sealed record for each time.
struct Yard {
    sandbox: Sandbox,
    records: Vec<Record>,
}

impl Yard {
    fn new(times: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.path(".gate")).unwrap();
        let mut yard = Self {
            sandbox,
            records: Vec::new(),
        };
        for at in times {
            let mut session = Session::new().whole(noisy(0.0, 0.3, 5));
            session.0.at = (*at).to_owned();
            session.0.gate.equal = vec!["policy".to_owned()];
            session.0.identity.machine.insert("arch".to_owned(), json!("cpu-x86_64"));
            let record = append(&yard.path(), session.record()).unwrap();
            yard.records.push(record);
        }
        yard
    }

    fn path(&self) -> PathBuf {
        self.sandbox.path(".gate/ledger.jsonl")
    }

    fn ledger(&self, words: &[&str]) -> Done {
        self.sandbox.gate(&[&["ledger"], words].concat())
    }

    fn lines(&self) -> Vec<String> {
        self.sandbox.lines(".gate/ledger.jsonl")
    }

    fn digits(&self, at: usize) -> String {
        self.records[at].seal[3..15].to_owned()
    }

    /// Changes the last line and seals it anew, as a forger would who knows the format.
    fn forge(&self, change: impl FnOnce(&mut Value)) {
        let mut lines = self.lines();
        let mut value = parse(&lines.pop().unwrap());
        change(&mut value);
        value["seal"] = json!(seal(&value));
        lines.push(value.to_string());
        self.sandbox.write(".gate/ledger.jsonl", lines.join("\n") + "\n");
    }
}

const TIMES: [&str; 2] = ["2024-01-01T10:00:00Z", "2024-02-01T10:00:00Z"];

#[test]
fn a_relabelled_record_is_historical_wherever_it_is_shown_and_stays_as_it_was_sealed() {
    let yard = Yard::new(&TIMES);
    let before = yard.lines();
    assert!(yard.ledger(&["log"]).exits(0).out.contains("measured"));
    let said = yard
        .ledger(&["relabel", &yard.digits(0), "historical", "--because", "the fan was broken"])
        .exits(0)
        .out;
    assert!(said.contains("is historical"), "{said}");
    assert_eq!(yard.lines()[..2], before, "what was sealed changes not by a byte");

    let log = yard.ledger(&["log"]).exits(0).out;
    let rows: Vec<&str> = log.lines().collect();
    assert!(rows[0].contains("historical") && !rows[0].contains("measured"), "{log}");
    assert!(rows[1].contains("measured"), "{log}");
    assert!(
        rows[2].contains("relabel") && rows[2].contains(&yard.digits(0)) && rows[2].contains("the fan was broken"),
        "{log}"
    );
    for format in ["terminal", "markdown"] {
        let shown = yard.ledger(&["show", &yard.digits(0), "--format", format]).exits(0).out;
        assert!(
            shown.contains("historical, because relabelled on") && shown.contains("the fan was broken"),
            "{shown}"
        );
    }
    let shown = yard
        .ledger(&["show", &yard.digits(0), "--format", "json"])
        .exits(0)
        .says("historical now");
    assert_eq!(shown.out.trim_end(), before[0], "as JSON it is the sealed line");
    let last = yard.ledger(&["show", "last", "--format", "json"]).exits(0);
    assert_eq!(
        (last.out.trim_end(), last.err.as_str()),
        (before[1].as_str(), ""),
        "a relabel is no record"
    );
    let verified = yard.ledger(&["verify"]).exits(0).out;
    assert!(verified.starts_with("2 records and 1 relabel, 0 violations"), "{verified}");
    yard.ledger(&["relabel", &yard.digits(0), "historical", "--because", "again"])
        .exits(2)
        .says("historical already: relabelled on");
}

#[test]
fn a_historical_record_is_not_accepted_into_a_baseline() {
    let yard = Yard::new(&TIMES);
    let file = yard.sandbox.write("record.json", yard.lines()[0].clone() + "\n");
    yard.ledger(&["relabel", &yard.digits(0), "historical", "--because", "the fan was broken"])
        .exits(0);
    for record in [yard.digits(0), file.to_str().unwrap().to_owned()] {
        let done = yard.sandbox.gate(&["baseline", "accept", &record]).exits(2);
        done.says("is not accepted: it is historical, relabelled on");
    }
    assert!(!yard.sandbox.path("baselines").exists(), "something was written");
    yard.sandbox.gate(&["baseline", "accept", &yard.digits(1)]).exits(0);
    yard.sandbox.gate(&["baseline", "check"]).exits(0);
}

#[test]
fn a_relabel_that_is_none_is_a_violation() {
    type Forgery = fn(&mut Value);
    let cases: [(&str, Forgery); 4] = [
        ("no record before it has that seal", |line| {
            line["of"] = json!(format!("b3:{}", "0".repeat(64)))
        }),
        ("a relabel can only make it historical", |line| {
            line["disposition"] = json!("promotion_candidate")
        }),
        ("not a relabel", |line| line["because"] = json!(7)),
        ("the chain is broken", |line| line["prev"] = Value::Null),
    ];
    for (what, change) in cases {
        let yard = Yard::new(&TIMES);
        yard.ledger(&["relabel", "last", "historical", "--because", "old"]).exits(0);
        yard.forge(change);
        let said = yard.ledger(&["verify"]).exits(4).out;
        assert!(
            said.contains("line 3: ") && said.contains(what) && said.contains("1 violation"),
            "{what}: {said}"
        );
    }
    let yard = Yard::new(&TIMES);
    yard.ledger(&["relabel", "last", "historical", "--because", "old"]).exits(0);
    let text = yard
        .sandbox
        .text(".gate/ledger.jsonl")
        .replace("\"because\":\"old\"", "\"because\":\"new\"");
    yard.sandbox.write(".gate/ledger.jsonl", text);
    assert!(yard.ledger(&["verify"]).exits(4).out.contains("the seal is broken"));
}

#[test]
fn a_relabel_names_a_record_a_label_and_a_reason() {
    let yard = Yard::new(&TIMES[..1]);
    for (words, what) in [
        (
            &["relabel", "ffff", "historical", "--because", "x"][..],
            "no record's seal begins with",
        ),
        (&["relabel", "last", "measured", "--because", "x"], "possible values: historical"),
        (&["relabel", "last", "historical"], "--because"),
        (&["relabel", "last", "historical", "--because", "  "], "a reason is needed"),
        (&["stale", "--days", "3", "--because", "x"], "--relabel"),
    ] {
        yard.ledger(words).exits(2).says(what);
    }
    assert_eq!(yard.lines().len(), 1);
}

#[test]
fn stale_records_are_listed_and_relabelled_where_that_is_asked_for() {
    let now = jiff::Timestamp::now().to_string();
    let yard = Yard::new(&[TIMES[0], TIMES[1], &now]);
    let listed = yard.ledger(&["stale", "--days", "30"]).exits(0).out;
    assert!(
        listed.ends_with("2 records older than 30 days\n") && listed.contains(&yard.digits(1)),
        "{listed}"
    );
    assert!(!listed.contains(&yard.digits(2)), "{listed}");
    assert_eq!(yard.lines().len(), 3, "listing writes nothing");
    yard.ledger(&["relabel", &yard.digits(0), "historical", "--because", "x"]).exits(0);
    let relabelled = yard.ledger(&["stale", "--days", "30", "--relabel"]).exits(0).out;
    assert!(
        relabelled.ends_with("1 record older than 30 days\n"),
        "one is historical already: {relabelled}"
    );
    assert!(yard.ledger(&["log"]).exits(0).out.contains("older than 30 days"));
    let none = yard.ledger(&["stale", "--days", "30", "--relabel", "--because", "x"]).exits(0).out;
    assert_eq!(none, "0 records older than 30 days\n");
    let verified = yard.ledger(&["verify"]).exits(0).out;
    assert!(verified.starts_with("3 records and 2 relabels, 0 violations"), "{verified}");
}
