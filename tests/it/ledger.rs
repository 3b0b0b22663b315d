//! The ledger: appended and chained by the library, looked at and verified by the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gate::edge::ledger::{append, check, of_session, read};
use gate::model::judgement::{ENGINE, Outcome, Verdict};
use gate::model::record::{Record, plan_digest, seal, short};
use serde_json::{Value, json};

use crate::synthetic::{Session, noisy};

/// A ledger of a pass, a regression and an inconclusive record.
struct Ledger {
    folder: tempfile::TempDir,
    records: Vec<Record>,
}

impl Ledger {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Self {
            folder,
            records: Vec::new(),
        };
        for (session, effect, sd) in [("s1", 0.0, 0.3), ("s2", 8.0, 0.3), ("s3", 0.0, 8.0)] {
            let mut record = Session::new().whole(noisy(effect, sd, 5)).record();
            record.labels.insert("session".to_owned(), session.to_owned());
            let record = append(&ledger.path(), record).unwrap();
            ledger.records.push(record);
        }
        ledger
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.jsonl")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }

    /// With these lines instead.
    fn rewrite(&self, lines: &[String]) {
        std::fs::write(self.path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// Changes one line's record and seals it and every later line anew, as a forger would who knows the format.
    fn forge(&self, at: usize, change: impl FnOnce(&mut Value)) {
        let mut values: Vec<Value> = self.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        change(&mut values[at]);
        let mut prev = Value::Null;
        for value in &mut values {
            value["prev"] = prev;
            value["seal"] = json!(seal(value));
            prev = value["seal"].clone();
        }
        self.rewrite(&values.iter().map(Value::to_string).collect::<Vec<_>>());
    }

    fn gate(&self, arguments: &[&str]) -> Answer {
        gate(&self.path(), arguments)
    }

    /// `gate ledger verify`, which must exit with `code` and say each of `says`.
    fn verify(&self, what: &str, code: i32, says: &[&str]) {
        let answer = self.gate(&["verify"]);
        assert_eq!(answer.code, code, "{what}: {answer:?}");
        for part in says {
            assert!(answer.all().contains(part), "{what}: {part:?} is not in {answer:?}");
        }
    }
}

#[derive(Debug)]
struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Answer {
    fn all(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

fn gate(ledger: &Path, arguments: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gate"));
    command
        .arg("ledger")
        .args(arguments)
        .arg("--ledger")
        .arg(ledger)
        .current_dir(ledger.parent().unwrap());
    let Output { status, stdout, stderr } = command.output().unwrap();
    Answer {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

#[test]
fn records_are_chained_and_read_back_as_they_were() {
    let ledger = Ledger::new();
    let lines = read(&ledger.path()).unwrap();
    let back: Vec<String> = lines.iter().map(|line| line.record().unwrap().line().unwrap()).collect();
    assert_eq!(back, ledger.records.iter().map(|record| record.line().unwrap()).collect::<Vec<_>>());
    assert_eq!(back, ledger.lines(), "a ledger line is what --format json prints");
    let prev: Vec<Option<&str>> = ledger.records.iter().map(|record| record.prev.as_deref()).collect();
    let seals: Vec<&str> = ledger.records.iter().map(|record| record.seal.as_str()).collect();
    assert_eq!(prev, [None, Some(seals[0]), Some(seals[1])]);
    assert_eq!(
        of_session(&ledger.path(), "s2").unwrap().map(|record| record.seal),
        Some(ledger.records[1].seal.clone())
    );
    assert_eq!(of_session(&ledger.path(), "s9").unwrap(), None);
    assert_eq!(of_session(&ledger.folder.path().join("none"), "s1").unwrap(), None);
    let head = format!("3 records, 0 violations, head seal {}", short(seals[2]));
    ledger.verify("whole", 0, &[&head]);
    assert_eq!(ledger.gate(&["verify"]).out.lines().count(), 1, "nothing else is said");
}

#[test]
fn many_writers_keep_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let record = Session::new().whole(noisy(0.0, 0.3, 5)).record();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| drop(append(&path, record.clone()).unwrap())));
        }
    });
    let answer = gate(&path, &["verify"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.out.starts_with("20 records, 0 violations"), "{answer:?}");
}

#[test]
fn what_was_damaged_is_named_with_its_line() {
    let ledger = Ledger::new();
    let lines = ledger.lines();
    let swap = |from: &str, to: &str| {
        assert!(lines[1].contains(from), "{from} is not in the line");
        vec![lines[0].clone(), lines[1].replacen(from, to, 1), lines[2].clone()]
    };
    let [first, second, third] = [0, 1, 2].map(|at: usize| lines[at].clone());
    let cases: Vec<(&str, Vec<String>, &[&str])> = vec![
        (
            "a broken seal",
            swap("\"pid\":4003", "\"pid\":4004"),
            &["line 2: the seal is broken: it says ", "3 records, 1 violation, "],
        ),
        (
            "an edited verdict",
            swap("\"verdict\":\"regression\"", "\"verdict\":\"no_regression\""),
            &[
                "line 2: the seal is broken",
                "line 2: its own evidence does not give its judgement: hold on t: stored as no_regression",
                "2 violations",
            ],
        ),
        (
            "a word that does not exist",
            swap("\"verdict\":\"regression\"", "\"verdict\":\"fine\""),
            &["line 2: not a record: unknown variant `fine`"],
        ),
        (
            "the first line removed",
            vec![second.clone(), third.clone()],
            &["line 1: the chain is broken", "2 records, 1 violation"],
        ),
        (
            "a line removed",
            vec![first.clone(), third.clone()],
            &["line 2: the chain is broken", "2 records, 1 violation"],
        ),
        (
            "lines in another order",
            vec![second, first.clone(), third.clone()],
            &[
                "line 1: the chain is broken",
                "line 2: the chain is broken",
                "line 3: the chain is broken",
            ],
        ),
        ("a line twice", vec![first.clone(), first, third], &["line 2: the chain is broken"]),
    ];
    for (what, lines, says) in cases {
        ledger.rewrite(&lines);
        ledger.verify(what, 4, says);
    }
}

#[test]
fn a_forger_who_seals_anew_is_found_by_judging_again() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change, &str); 11] = [
        (
            "the plan's order",
            |v| {
                v["plan"]["order"] = json!("abba");
                v["plan"]["digest"] = json!(plan_digest(v));
            },
            "block 2 of the plan is not what its order puts there",
        ),
        (
            "the signal of a run that was not cancelled",
            |v| v["cancelled"] = json!("SIGINT"),
            "the record says that SIGINT cancelled it, its evidence no signal",
        ),
        (
            "the signal in the evidence alone",
            |v| v["evidence"]["ended"] = json!({"reason": "cancelled", "signal": "SIGTERM"}),
            "the record says that no signal cancelled it, its evidence SIGTERM",
        ),
        (
            "the verdict",
            |v| v["judgement"]["verdicts"][0]["verdict"] = json!("no_regression"),
            "stored as no_regression after 2 blocks, judged as regression after 2 blocks",
        ),
        (
            "the outcome",
            |v| v["judgement"]["outcome"] = json!("pass"),
            "the outcome is stored as pass and judged as fail",
        ),
        (
            "the ruling's outcome",
            |v| v["judgement"]["verdicts"][0]["outcome"] = json!("pass"),
            "outcome is stored as \"pass\" and judged as \"fail\"",
        ),
        (
            "the disposition",
            |v| v["judgement"]["disposition"] = json!("measured"),
            "the disposition is stored as measured and judged as rejected_null",
        ),
        (
            "the estimate",
            |v| v["judgement"]["verdicts"][0]["estimate"] = json!(-0.5),
            "estimate is stored as -0.5 and judged as -",
        ),
        (
            "no verdicts at all",
            |v| v["judgement"]["verdicts"] = json!([]),
            "the judgement stores 0 verdicts and gives 1",
        ),
        (
            "the tolerance",
            |v| v["gate"]["metrics"][0]["tolerance"] = json!(50.0),
            "the plan's digest says ",
        ),
        (
            "the gate's text",
            |v| v["gate"]["text"] = json!("gate perf --tolerance 50%"),
            "the gate's digest says ",
        ),
    ];
    for (what, change, says) in cases {
        let ledger = Ledger::new();
        ledger.forge(1, change);
        ledger.verify(what, 4, &["line 2: ", says, "3 records, 1 violation"]);
    }
    let ledger = Ledger::new();
    ledger.forge(1, |v| {
        let samples = v["evidence"]["samples"].as_array_mut().unwrap();
        samples
            .iter_mut()
            .filter(|sample| sample["arm"] == "B")
            .for_each(|sample| sample["values"]["t"] = json!(100.0));
    });
    ledger.verify("the samples of B", 4, &["line 2: its own evidence does not give its judgement"]);
}

#[test]
fn an_older_engine_is_listed_and_a_newer_one_or_format_asks_for_an_update() {
    let ledger = Ledger::new();
    let older = |v: &mut Value| {
        v["judgement"]["engine"] = json!(ENGINE - 1);
        v["judgement"]["verdicts"][0]["verdict"] = json!("small_slowdown");
    };
    ledger.forge(1, older);
    let note = format!(
        "line 2: judged by engine {}, engine {ENGINE} differs: hold on t: stored as small_slowdown",
        ENGINE - 1
    );
    ledger.verify("an older engine", 0, &[&note, "3 records, 0 violations"]);
    let ledger = Ledger::new();
    ledger.forge(1, |v| v["judgement"]["engine"] = json!(ENGINE + 1));
    ledger.verify(
        "a newer engine",
        2,
        &[&format!(
            "line 2: judged by engine {}, this is engine {ENGINE}: update gate to verify it",
            ENGINE + 1
        )],
    );
    ledger.forge(2, |v| v["judgement"]["outcome"] = json!("pass"));
    ledger.verify(
        "a newer engine beside a forgery",
        4,
        &[
            "line 3: its own evidence does not give its judgement: the outcome is stored as pass",
            "update gate to verify it",
        ],
    );
    let ledger = Ledger::new();
    ledger.forge(2, |v| v["version"] = json!(2));
    ledger.verify(
        "a newer format",
        2,
        &["ledger.jsonl:3: written in record format 2, this gate knows 1: update gate"],
    );
    assert!(
        format!("{:#}", check(&ledger.path()).unwrap_err()).contains("update gate"),
        "a newer ledger is not appended to"
    );
    assert!(append(&ledger.path(), ledger.records[0].clone()).is_err());
}

#[test]
fn a_ledger_that_cannot_be_read_says_where_and_what_to_do() {
    let ledger = Ledger::new();
    let whole = ledger.text();
    let (line, column) = (2, 11);
    let mut lines = ledger.lines();
    lines[1].replace_range(column - 1..column, "\u{1}");
    ledger.rewrite(&lines);
    ledger.verify("a line that is not JSON", 2, &[&format!("ledger.jsonl:{line}:"), "not JSON"]);
    let torn = &whole[..whole.len() - 100];
    std::fs::write(ledger.path(), torn).unwrap();
    let two = ledger.lines()[..2].iter().map(|line| line.len() + 1).sum::<usize>();
    let remedy = format!("the last line is cut short; what comes before it is whole: `truncate -s {two} FILE` takes it off");
    ledger.verify("a torn last line", 2, &["ledger.jsonl:3: ", &remedy]);
    let refused = format!("{:#}", append(&ledger.path(), ledger.records[0].clone()).unwrap_err());
    assert!(refused.contains(&remedy), "{refused}");
    assert_eq!(ledger.text(), torn, "a refused ledger is left as it was");
    std::fs::write(ledger.path(), &torn[..two]).unwrap();
    ledger.verify("after the remedy", 0, &["2 records, 0 violations"]);
    append(&ledger.path(), ledger.records[2].clone()).unwrap();
    assert_eq!(ledger.text(), whole, "and it goes on as before");
    ledger.rewrite(&["{}".to_owned()]);
    ledger.verify(
        "a foreign file",
        2,
        &["ledger.jsonl:1: a line has no record version: not a ledger of gate"],
    );
    assert!(check(&ledger.path()).is_err());
}

#[test]
fn an_empty_ledger_checks_nothing_and_an_absent_one_is_an_error() {
    let ledger = Ledger::new();
    ledger.rewrite(&[]);
    ledger.verify("empty", 3, &["0 records, 0 violations, head seal none"]);
    std::fs::remove_file(ledger.path()).unwrap();
    ledger.verify("absent", 2, &["no ledger: cannot open "]);
    assert!(check(&ledger.path()).is_ok() && !ledger.path().exists(), "a check makes no ledger");
}

#[test]
fn log_and_show_find_records() {
    let ledger = Ledger::new();
    let log = ledger.gate(&["log"]);
    let expected = [
        (Outcome::Pass, Verdict::NoRegression),
        (Outcome::Fail, Verdict::Regression),
        (Outcome::Inconclusive, Verdict::Inconclusive),
    ];
    assert_eq!((log.code, log.out.lines().count()), (0, 3), "{log:?}");
    for ((line, record), (outcome, verdict)) in log.out.lines().zip(&ledger.records).zip(expected) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let seal = short(&record.seal);
        assert_eq!(words[..3], [seal.as_str(), "2026-11-30T10:00:00Z", outcome.word()], "{line}");
        assert_eq!(words.last(), Some(&verdict.word()), "{line}");
    }
    let seal = &ledger.records[1].seal;
    let json = |record: &Record| record.line().unwrap() + "\n";
    for name in [&seal[3..9], &seal[..15], seal] {
        assert_eq!(
            ledger.gate(&["show", name, "--format", "json"]).out,
            json(&ledger.records[1]),
            "{name}"
        );
    }
    assert_eq!(ledger.gate(&["show", "last", "--format", "json"]).out, json(&ledger.records[2]));
    assert!(
        ledger
            .gate(&["show", &seal[3..15]])
            .out
            .starts_with("gate perf: fail: regression\n")
    );
    assert!(
        ledger
            .gate(&["show", "last", "--format", "markdown"])
            .out
            .starts_with("**gate perf: inconclusive**\n")
    );
    ledger.rewrite(&[ledger.lines()[0].clone(), ledger.lines()[0].clone()]);
    for (arguments, says) in [
        (&["show", &ledger.records[0].seal[..9]][..], "2 records' seals begin with "),
        (
            &["show", "b3:"],
            "no record's seal begins with \"b3:\"; `gate ledger log` lists them",
        ),
        (&["show", "zzzz"], "no record's seal begins with \"zzzz\""),
        (
            &["show", "last", "--format", "pdf"],
            "unknown format \"pdf\": known are terminal, markdown, json",
        ),
    ] {
        let answer = ledger.gate(arguments);
        assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{arguments:?}: {answer:?}");
        assert!(
            answer.err.contains(says) && answer.err.lines().count() == 1,
            "{arguments:?}: {answer:?}"
        );
    }
}
