//! Typical pages. `INSTA_UPDATE=always` writes the snapshots anew; read them aloud before committing them.

use gate::model::baseline::{BaselineUse, SampleLine};
use gate::model::gate::{Against, Rule};
use gate::model::metric::Better;
use gate::model::record::{Base, Record};
use gate::model::sample::Arm;
use gate::model::unit::Unit;
use gate::render::comment::page;

use super::about;
use crate::synthetic::{Reports, Session, metric, noisy, rule, spread, values};

/// As it is, but for digests: a field that is added to the record changes its seal and nothing else that is shown.
fn check(name: &str, records: &[Record]) {
    insta::with_settings!({filters => vec![("(record `|plan `)[0-9a-f]{12}", "$1[seal]")]}, {
        insta::assert_snapshot!(name, page(records, &about()));
    });
}

/// A record of a declared gate in a pull request.
fn declared(session: Session) -> Record {
    let mut record = session.record();
    record.gate.name = "decode".to_owned();
    record.gate.from = "base tip 5e6f7a8".to_owned();
    record.context.base = Base {
        commit: Some("1a2b3c4d".repeat(5)),
        why: "the merge base of the pull request and origin/main".to_owned(),
    };
    record.identity.machine.insert("arch".to_owned(), "cpu-x86_64".into());
    record
}

fn at(line: u32, rule: Rule) -> Rule {
    Rule {
        at: format!("gates/perf.toml:{line}"),
        ..rule
    }
}

/// A session against an older baseline of 152 tok/s, of three sessions.
fn against_baseline(effect_pct: f64) -> Session {
    let rules = vec![
        at(41, rule("hold")),
        at(
            45,
            Rule {
                against: Against::Baseline,
                required: false,
                ..rule("hold")
            },
        ),
    ];
    let mut rate = values(152.0, effect_pct, 0.2, 7);
    let mut session = Session::of(vec![metric("tg128:higher:tok/s", "2%")], rules).fixtures(&["q4-7b"]);
    session.0.identity.machine.insert("arch".to_owned(), "cpu-x86_64".into());
    let line = |date: &str, shift: f64| SampleLine {
        fixture: "q4-7b".to_owned(),
        metric: "tg128".to_owned(),
        unit: Unit::parse("tok/s").unwrap(),
        better: Better::Higher,
        date: date.to_owned(),
        identity: Some(gate::model::identity::identity_digest(&session.0.identity, &session.0.gate.equal).unwrap()),
        record: Some("71e03c9d5b20".to_owned()),
        values: [0.0, 0.4, -0.3, 0.2, 0.1, -0.2, 0.3, -0.1].map(|off| 152.0 + shift + off).to_vec(),
        extras: std::collections::BTreeMap::new(),
    };
    session.0.context.baseline = Some(BaselineUse {
        file: "baselines/cpu-x86_64.txt".to_owned(),
        digest: Some("b3:00".to_owned()),
        arch: "cpu-x86_64".to_owned(),
        from: None,
        lines: vec![line("2026-11-10", 0.1), line("2026-11-14", -0.1), line("2026-11-18", 0.2)],
        today: "2026-11-30".to_owned(),
        stale_after_days: 30,
    });
    session.whole(|slot, sample| sample.prints("tg128", rate(slot.arm)))
}

#[test]
fn a_pass() {
    check("pass", &[Session::new().whole(noisy(0.2, 0.3, 3)).record()]);
}

#[test]
fn a_regression_against_base_and_baseline() {
    check("regression", &[declared(against_baseline(-8.0))]);
}

#[test]
fn everything_at_once() {
    let metrics = vec![
        metric("tg128:higher:tok/s", "2%"),
        metric("rss:lower:B", "1 KiB"),
        metric("load:lower:ms", "2%"),
        metric("first:lower:ms", "2%"),
    ];
    let hold = |name: &str| {
        at(
            41,
            Rule {
                metric: name.to_owned(),
                ..rule("hold")
            },
        )
    };
    let exact = at(
        52,
        Rule {
            metric: "rss".to_owned(),
            required: false,
            ..rule("exact")
        },
    );
    let steady = at(
        55,
        Rule {
            metric: "tg128".to_owned(),
            ..spread("5%")
        },
    );
    let mut rate = values(152.0, -1.2, 0.02, 7);
    let mut load = values(40.0, 0.0, 9.0, 3);
    let mixed = Session::of(metrics, vec![hold("tg128"), hold("load"), hold("first"), exact, steady])
        .fixtures(&["q4-7b"])
        .whole(|slot, sample| {
            sample.prints("tg128", rate(slot.arm));
            sample.prints("rss", if slot.arm == Arm::B { 218_208.0 } else { 214_112.0 });
            sample.prints("load", load(slot.arm));
            sample.lacks("first");
        });
    let mut second = declared(Session::new().whole(noisy(-4.0, 0.3, 3)));
    second.context.banners = vec!["this change edits gates/perf.toml: it is judged by the rule of the base tip 5e6f7a8".to_owned()];
    check(
        "mixed",
        &[declared(mixed), second, declared(Session::new().whole(noisy(9.0, 0.3, 1)))],
    );
}

#[test]
fn nothing_was_reported() {
    check("none", &[]);
}
