//! Outcome, disposition, and the answer of many records.

use gate::exit;
use gate::model::evidence::Ended;
use gate::model::gate::Rule;
use gate::model::identity::Unknown;
use gate::model::judgement::{Disposition, Outcome, Step};
use gate::model::plan::OnInconclusive;
use gate::model::record::Record;
use gate::model::sample::Arm;
use gate::model::summary::Summary;

use crate::synthetic::{Reports, Session, info, metric, noisy, rule};

#[test]
fn nothing_asked_is_nothing_checked() {
    let advisory = Rule {
        required: false,
        ..rule("hold")
    };
    let elsewhere = Rule {
        metric: "other".to_owned(),
        ..rule("hold")
    };
    for (what, metrics, rules, verdicts) in [
        ("no rule", vec![metric("t:lower:ms", "2%")], vec![], 0),
        ("no metric", vec![], vec![rule("hold")], 0),
        ("an info metric only", vec![info("t:lower:ms")], vec![rule("hold")], 0),
        ("a rule on another metric", vec![metric("t:lower:ms", "2%")], vec![elsewhere], 0),
        ("an advisory rule only", vec![metric("t:lower:ms", "2%")], vec![advisory], 1),
    ] {
        let session = Session::of(metrics, rules).whole(noisy(0.0, 0.2, 1));
        let judgement = session.judge();
        assert_eq!(
            (judgement.outcome, judgement.verdicts.len(), judgement.step),
            (Outcome::Inconclusive, verdicts, Step::Stop),
            "{what}"
        );
        assert_eq!(judgement.disposition, Disposition::RejectedNull, "{what}");
        assert!(
            judgement.disposition_because[0].starts_with("nothing was asked"),
            "{what}: {:?}",
            judgement.disposition_because
        );
    }
}

#[test]
fn advisory_rules_do_not_decide() {
    let advisory = Rule {
        required: false,
        metric: "u".to_owned(),
        ..rule("exact")
    };
    let held = Rule {
        metric: "t".to_owned(),
        ..rule("hold")
    };
    let session = Session::of(vec![metric("t:lower:ms", "2%"), metric("u:lower:B", "0%")], vec![held, advisory]);
    let mut t = noisy(0.0, 0.2, 1);
    let session = session.whole(|slot, sample| {
        t(slot, sample);
        sample.prints("u", if slot.arm == Arm::B { 2.0 } else { 1.0 });
    });
    let judgement = session.judge();
    let outcomes: Vec<(Outcome, bool)> = judgement.verdicts.iter().map(|ruling| (ruling.outcome, ruling.required)).collect();
    assert_eq!(outcomes, [(Outcome::Pass, true), (Outcome::Fail, false)]);
    assert_eq!((judgement.outcome, judgement.disposition), (Outcome::Pass, Disposition::Measured));
}

type Change = fn(&mut Session);

#[test]
fn the_first_disposition_that_applies_is_given_with_its_facts() {
    let unknown: Change = |session| {
        session.0.identity.missing.push(Unknown {
            field: "source".to_owned(),
            why: "no repository".to_owned(),
        });
    };
    let cases: Vec<(&str, f64, f64, Change, Disposition, &str)> = vec![
        ("a pass", 0.0, 0.3, |_| (), Disposition::Measured, "the identity is complete"),
        (
            "a failed rule",
            8.0,
            0.3,
            |_| (),
            Disposition::RejectedNull,
            "the rule hold failed on t: regression",
        ),
        (
            "no answer",
            0.0,
            9.0,
            |_| (),
            Disposition::RejectedNull,
            "the samples gave no answer on t: inconclusive",
        ),
        (
            "an unknown source",
            0.0,
            0.3,
            unknown,
            Disposition::Exploratory,
            "source is unknown (no repository)",
        ),
        (
            "an unknown source and a failed rule",
            8.0,
            0.3,
            unknown,
            Disposition::Exploratory,
            "source is unknown",
        ),
        (
            "no artifacts",
            0.0,
            0.3,
            |session| session.0.identity.arms.b.artifacts.clear(),
            Disposition::Exploratory,
            "artifacts is unknown (not recorded)",
        ),
        (
            "a replayed host",
            0.0,
            0.3,
            |session| session.0.host.replayed = true,
            Disposition::Exploratory,
            "the host was replayed from a snapshot",
        ),
        (
            "a field that the gate does not ask for",
            0.0,
            0.3,
            |session| session.0.identity.gpu.clear(),
            Disposition::Measured,
            "the identity is complete",
        ),
    ];
    for (what, effect, sd, change, disposition, fact) in cases {
        let mut session = Session::new().whole(noisy(effect, sd, 5));
        change(&mut session);
        let judgement = session.judge();
        assert_eq!(judgement.disposition, disposition, "{what}: {:?}", judgement.disposition_because);
        assert!(
            judgement.disposition_because.iter().any(|because| because.contains(fact)),
            "{what}: {:?}",
            judgement.disposition_because
        );
    }
    let throttled = Session::new().whole(|slot, sample| {
        sample.prints("t", 100.0);
        if slot.arm == Arm::B && !slot.warmup {
            sample.voided(true);
        }
    });
    assert_eq!(throttled.judge().disposition_because, ["a confounder: throttle_attributable on t"]);
    let claim = Session::new().promote().whole(noisy(-4.0, 0.1, 1)).judge();
    assert_eq!(
        (claim.outcome, claim.disposition),
        (Outcome::Pass, Disposition::Measured),
        "a promotion needs more than a gain"
    );
    assert!(
        claim.disposition_because[1].contains("accepted noise band"),
        "{:?}",
        claim.disposition_because
    );
}

fn record(effect: f64, sd: f64, on_inconclusive: OnInconclusive) -> Record {
    Session::new()
        .planned(|plan| plan.on_inconclusive = on_inconclusive)
        .whole(noisy(effect, sd, 5))
        .record()
}

#[test]
fn many_records_have_one_answer_and_one_exit_code() {
    use OnInconclusive::{Advisory, Fail};
    let pass = || record(0.0, 0.3, Fail);
    let fail = || record(8.0, 0.3, Fail);
    let open = || record(0.0, 9.0, Fail);
    let excused = || record(0.0, 9.0, Advisory);
    let error = || {
        Session::new()
            .run(3, noisy(0.0, 0.3, 1))
            .ended(Ended::Cancelled {
                signal: "SIGINT".to_owned(),
            })
            .record()
    };
    let violation = || {
        let mut record = pass();
        record.judgement.outcome = Outcome::Violation;
        record
    };
    let unmeasured = || {
        Session::new()
            .planned(|plan| plan.on_inconclusive = Advisory)
            .whole(|_, sample| sample.lacks("t"))
            .record()
    };
    let no_look = || {
        let limit = Ended::SessionLimit { limit_s: 1.0 };
        Session::new()
            .planned(|plan| plan.on_inconclusive = Advisory)
            .run(6, noisy(0.0, 0.3, 1))
            .ended(limit)
            .record()
    };
    let cases: Vec<(&str, Vec<Record>, Outcome, u8)> = vec![
        ("none", vec![], Outcome::Inconclusive, 3),
        ("a pass", vec![pass()], Outcome::Pass, 0),
        ("a fail", vec![pass(), fail()], Outcome::Fail, 1),
        ("an error", vec![pass(), error(), open()], Outcome::Error, 2),
        ("a fail outweighs an error", vec![error(), fail()], Outcome::Fail, 1),
        (
            "a violation outweighs all",
            vec![error(), fail(), violation()],
            Outcome::Violation,
            4,
        ),
        ("no answer", vec![pass(), open()], Outcome::Inconclusive, 3),
        ("no answer, advisory", vec![excused()], Outcome::Inconclusive, 0),
        (
            "no answer, advisory, beside a pass",
            vec![pass(), excused()],
            Outcome::Inconclusive,
            0,
        ),
        (
            "one of two answers is not advisory",
            vec![open(), excused()],
            Outcome::Inconclusive,
            3,
        ),
        ("advisory does not excuse a fail", vec![fail(), excused()], Outcome::Fail, 1),
        (
            "advisory never excuses what was not measured",
            vec![unmeasured()],
            Outcome::Inconclusive,
            3,
        ),
        ("nor what no look was taken of", vec![no_look()], Outcome::Inconclusive, 3),
    ];
    for (what, records, outcome, code) in cases {
        let summary = Summary::of(&records);
        assert_eq!((summary.outcome, exit::of_summary(summary).code), (outcome, code), "{what}");
    }
    assert_eq!(exit::ALL.map(|exit| exit.code), [0, 1, 2, 3, 4]);
}
