//! Six typical records in every format. `INSTA_UPDATE=always` writes the snapshots anew; read them aloud before committing them.

use gate::model::evidence::Ended;
use gate::model::record::Record;
use gate::model::sample::Arm;
use gate::render::{Canvas, find};
use serde_json::Value;

use crate::synthetic::{Reports, Session, metric, noisy, rule, spread, values};

fn shown(record: &Record, format: &str, canvas: Canvas) -> String {
    (find(format).unwrap().render)(record, canvas).unwrap()
}

const NARROW: Canvas = Canvas {
    colour: false,
    width: Some(100),
};
const WIDE: Canvas = Canvas {
    colour: false,
    width: None,
};

/// Both views for people, in one snapshot.
fn check(name: &str, record: &Record) {
    let views = [
        ("terminal, 100 columns", shown(record, "terminal", NARROW)),
        ("terminal", shown(record, "terminal", WIDE)),
        ("markdown", shown(record, "markdown", WIDE)),
    ];
    let text: String = views.iter().map(|(title, text)| format!("=== {title}\n{text}")).collect();
    // A field that is added to the record changes its seal and nothing else that is shown.
    insta::with_settings!({filters => vec![("(record: |plan )[0-9a-f]{12}", "$1[seal]")]}, {
        insta::assert_snapshot!(name, text);
    });
    assert_eq!(shown(record, "json", WIDE), record.line().unwrap() + "\n");
}

fn regression() -> Record {
    Session::new().whole(noisy(8.0, 0.5, 1)).record()
}

#[test]
fn a_pass() {
    check("pass", &Session::new().whole(noisy(0.2, 0.3, 3)).record());
}

#[test]
fn a_regression() {
    check("regression", &regression());
}

#[test]
fn an_inconclusive_answer_with_its_remedy() {
    check("inconclusive", &Session::new().cap(6).whole(noisy(1.0, 1.0, 6)).record());
}

#[test]
fn a_failed_candidate() {
    let mut steady = noisy(0.0, 0.5, 5);
    let session = Session::new().whole(|slot, sample| {
        steady(slot, sample);
        if slot.arm == Arm::B && slot.block == 1 {
            sample.exits(139);
        }
    });
    check("candidate_failed", &session.record());
}

#[test]
fn two_metrics_and_three_rules() {
    let exact = gate::model::gate::Rule {
        metric: "rss".to_owned(),
        required: false,
        ..rule("exact")
    };
    let times = gate::model::gate::Rule {
        metric: "tg128".to_owned(),
        ..rule("hold")
    };
    let steady = gate::model::gate::Rule {
        metric: "tg128".to_owned(),
        ..spread("5%")
    };
    let metrics = vec![metric("tg128:higher:tok/s", "2%"), metric("rss:lower:B", "1 KiB")];
    let mut rate = values(152.0, -1.2, 0.02, 7);
    let session = Session::of(metrics, vec![times, exact, steady])
        .fixtures(&["q4-7b"])
        .whole(|slot, sample| {
            sample.prints("tg128", rate(slot.arm));
            sample.prints("rss", if slot.arm == Arm::B { 218_208.0 } else { 214_112.0 });
        });
    check("mixed", &session.record());
}

#[test]
fn a_cancelled_run() {
    let cancelled = Ended::Cancelled {
        signal: "SIGINT".to_owned(),
    };
    check(
        "cancelled",
        &Session::new().run(2 + 10, noisy(0.0, 1.5, 1)).ended(cancelled).record(),
    );
}

/// A record of a declared gate in a pull request, at its second attempt.
fn declared() -> Record {
    let mut record = Session::new().whole(noisy(0.2, 0.3, 3)).record();
    record.gate.name = "perf".to_owned();
    record.gate.from = "base tip 5e6f7a8".to_owned();
    record.context.base = gate::model::record::Base {
        commit: Some("1a2b3c4d".repeat(5)),
        why: "the merge base of the pull request and origin/main".to_owned(),
    };
    record.context.head = Some("9e8d7c6b".repeat(5));
    record.context.attempt = 2;
    record.context.command = "gate perf --gate gates/perf.toml".to_owned();
    record.context.banners = vec!["this change edits gates/perf.toml: it is judged by the rule of the base tip 5e6f7a8".to_owned()];
    record
}

#[test]
fn a_declared_gate() {
    check("declared", &declared());
}

#[test]
fn a_gate_that_the_change_does_not_touch() {
    let mut record = declared();
    record.context.attempt = 1;
    record.context.banners.clear();
    record.context.unaffected = Some("none of 2 changed files matches src/**".to_owned());
    record.evidence.samples.clear();
    record.judgement = gate::judge::judge(&gate::judge::Case::from(&record));
    check("unaffected", &record);
}

#[test]
fn nothing_but_colour_is_added_on_a_terminal() {
    let record = regression();
    let coloured = shown(&record, "terminal", Canvas { colour: true, ..NARROW });
    assert!(
        coloured.starts_with("gate perf: \u{1b}[1;31mfail: regression\u{1b}[0m\n"),
        "{coloured}"
    );
    assert_eq!(
        coloured.replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", ""),
        shown(&record, "terminal", NARROW)
    );
    for (record, code) in [
        (Session::new().whole(noisy(0.0, 0.3, 3)).record(), "32"),
        (Session::new().whole(noisy(0.0, 8.0, 5)).record(), "33"),
    ] {
        let coloured = shown(&record, "terminal", Canvas { colour: true, ..NARROW });
        assert!(coloured.starts_with(&format!("gate perf: \u{1b}[1;{code}m")), "{coloured}");
    }
}

#[test]
fn a_narrow_terminal_is_kept_within() {
    for width in [60, 80, 100] {
        let text = shown(
            &regression(),
            "terminal",
            Canvas {
                colour: false,
                width: Some(width),
            },
        );
        let table = text.lines().skip(2).take_while(|line| !line.is_empty());
        let widest = table.map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= usize::from(width), "{widest} columns of {width}:\n{text}");
    }
}

/// Every path of the record with the kind of its value: the contract with other programs.
fn shape(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| shape(value, &format!("{at}.{name}"), found)),
        Value::Array(items) if items.is_empty() => found.push(format!("{at}[]")),
        Value::Array(items) => items.iter().for_each(|value| shape(value, &format!("{at}[]"), found)),
        Value::Null => found.push(format!("{at}: null")),
        Value::Bool(_) => found.push(format!("{at}: bool")),
        Value::Number(_) => found.push(format!("{at}: number")),
        Value::String(_) => found.push(format!("{at}: string")),
    }
}

#[test]
fn the_record_keeps_its_shape() {
    let record: Value = serde_json::from_str(&shown(&regression(), "json", WIDE)).unwrap();
    let mut found = Vec::new();
    shape(&record, "", &mut found);
    found.sort();
    found.dedup();
    insta::assert_snapshot!("shape", found.join("\n"));
}

#[test]
fn a_view_never_contradicts_its_verdict() {
    let number = |text: &str| {
        text.trim_matches(|c: char| !c.is_ascii_digit() && c != '-' && c != '+')
            .parse::<f64>()
            .unwrap()
    };
    let mut near = 0;
    for seed in 0..120 {
        let (effect, sd) = ([0.0, 1.0, 2.0, 2.6][seed as usize % 4], [0.05, 0.3, 1.0][seed as usize % 3]);
        let ruling = Session::new().whole(noisy(effect, sd, seed)).ruling();
        let row = gate::render::terminal::FORMAT;
        let record = Session::new().whole(noisy(effect, sd, seed)).record();
        let text = (row.render)(&record, WIDE).unwrap();
        let sentence = text
            .lines()
            .find(|line| line.starts_with("t (lower is better): gain "))
            .expect("a sentence with numbers");
        let interval = sentence.split('[').nth(1).unwrap().split(']').next().unwrap();
        let [low, high] = interval.split(", ").map(number).collect::<Vec<f64>>()[..] else {
            panic!("{sentence}")
        };
        let shown = (low > -2.0, high < 0.0, low > 0.0);
        let [true_low, true_high] = ruling.interval.unwrap();
        assert_eq!(shown, (true_low > -2.0, true_high < 0.0, true_low > 0.0), "seed {seed}: {sentence}");
        near += usize::from(interval.split(", ").any(|end| end.split('.').nth(1).unwrap().len() > 2));
    }
    assert!(near > 0, "no interval came near enough to a bound to need more digits");
}
