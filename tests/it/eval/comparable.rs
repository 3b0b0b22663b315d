//! What may not be compared, and what is not there, is never a pass.

use gate::judge::drop::{Demand, judge};
use gate::model::eval::{Aim, Extent, Group, Results, Score};
use gate::model::figure::{Missing, State};
use gate::model::judgement::{Outcome, Verdict};

use super::{of, one_point, over, results, score};

#[test]
fn a_limited_run_is_no_pass() {
    // O-02: one item of eight.
    let limited = |value: f64| {
        let mut score = Score {
            items: Some(1),
            of: Some(8),
            ..score("t", value)
        };
        score.setup.limit = Some("1".to_owned());
        score
    };
    for candidate in [1.0, 0.0] {
        let answer = one_point(limited(1.0), limited(candidate));
        assert_eq!(answer.verdict, Verdict::Inconclusive);
        assert!(
            answer.because.contains("n=1 (of 8): one answer moves the score 100"),
            "{}",
            answer.because
        );
    }
    let asked = Demand {
        limited: true,
        ..Demand::default()
    };
    assert_eq!(of(&asked, limited(1.0), limited(1.0)).verdict, Verdict::NoRegression);
    assert_eq!(of(&asked, limited(1.0), limited(0.0)).verdict, Verdict::Regression);
    let whole = Score {
        items: Some(8),
        ..limited(1.0)
    };
    let answer = of(&asked, whole, limited(1.0));
    assert!(
        answer.verdict == Verdict::Incomparable && answer.because.contains("items: 8 in the base, 1 in the candidate"),
        "{answer:?}"
    );
}

#[test]
fn what_was_made_otherwise_is_not_compared() {
    type Change = fn(&mut Score);
    let changes: [(&str, Change); 9] = [
        ("few-shot examples: 5 in the base, 0 in the candidate", |s| {
            s.setup.few_shot = Some(0)
        }),
        ("few-shot examples: 5 in the base, not stated in the candidate", |s| {
            s.setup.few_shot = None
        }),
        ("chat template: none in the base, chatml in the candidate", |s| {
            s.setup.chat_template = Some("chatml".to_owned())
        }),
        ("task version: 3 in the base, 4 in the candidate", |s| {
            s.setup.task_version = Some("4".to_owned())
        }),
        ("harness: lm_eval-0.4.9 in the base, lm_eval-0.4.13 in the candidate", |s| {
            s.setup.harness = Some("lm_eval-0.4.13".to_owned());
        }),
        ("limit: none in the base, 100 in the candidate", |s| {
            s.setup.limit = Some("100".to_owned())
        }),
        ("items: 500 in the base, 499 in the candidate", |s| s.items = Some(499)),
        ("items of the task: 500 in the base, 501 in the candidate", |s| s.of = Some(501)),
        ("filter: none in the base, strict-match in the candidate", |s| {
            s.key.filter = "strict-match".to_owned()
        }),
    ];
    let mut base = over(500, score("t", 0.5));
    base.of = Some(500);
    base.setup.few_shot = Some(5);
    base.setup.chat_template = Some("none".to_owned());
    base.setup.task_version = Some("3".to_owned());
    base.setup.harness = Some("lm_eval-0.4.9".to_owned());
    base.setup.limit = Some("none".to_owned());
    assert_eq!(one_point(base.clone(), base.clone()).verdict, Verdict::NoRegression);
    for (why, change) in changes {
        let mut candidate = base.clone();
        change(&mut candidate);
        let answer = one_point(base.clone(), candidate);
        assert_eq!(
            (answer.verdict, answer.verdict.outcome()),
            (Verdict::Incomparable, Outcome::Inconclusive),
            "{why}"
        );
        assert!(answer.because.contains(why), "{why}: {}", answer.because);
        assert_eq!(answer.gain_pp, None, "{why}");
    }
}

#[test]
fn other_settings_are_named_beside_the_verdict() {
    // O-04: the batch size alone.
    let with = |value: f64, batch: &str| {
        let mut score = over(311, score("t", value));
        score.setup.config.insert("batch_size".to_owned(), batch.to_owned());
        score
    };
    let answer = one_point(with(0.3215, "1"), with(0.3023, "32"));
    assert_eq!(answer.verdict, Verdict::Regression);
    assert!(answer.because.contains("a drop of 1.92 pp"), "{}", answer.because);
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note == "other settings differ: batch_size: 1 in the base, 32 in the candidate")
    );
    let strict = Demand {
        strict_config: true,
        ..Demand::default()
    };
    let answer = of(&strict, with(0.3215, "1"), with(0.3023, "32"));
    assert!(
        answer.verdict == Verdict::Incomparable && answer.because.contains("batch_size: 1"),
        "{answer:?}"
    );
}

#[test]
fn a_scale_is_declared_or_seen_and_never_guessed() {
    // O-06.
    let on = |extent, value| Score {
        extent,
        ..score("t", value)
    };
    let (one, hundred) = (Some(Extent::One), Some(Extent::Hundred));
    for (base, candidate, why) in [
        (
            on(None, 0.62),
            on(None, 61.8),
            "the scale differs: 0.62 in the base, 61.8 in the candidate",
        ),
        (on(None, 62.0), on(None, 61.8), "the scale is not known: 62 in the base"),
        (on(hundred, 0.9), on(None, 61.8), "the scale differs"),
        (on(one, 1.2), on(one, 0.5), "1.2 in the base lies outside the scale 0-1"),
        (
            on(hundred, 50.0),
            on(hundred, 101.0),
            "101 in the candidate lies outside the scale 0-100",
        ),
        (on(hundred, 50.0), on(hundred, -1.0), "-1 in the candidate lies outside"),
    ] {
        let answer = one_point(base, candidate);
        assert_eq!((answer.verdict, answer.gain_pp), (Verdict::Incomparable, None));
        assert!(
            answer.because.contains(why) && answer.next.contains("Declare the `scale`"),
            "{why}: {answer:?}"
        );
    }
    for (base, candidate) in [
        (on(one, 0.62), on(hundred, 61.8)),
        (on(hundred, 62.0), on(hundred, 61.8)),
        (on(hundred, 62.0), on(None, 61.8)),
        (on(None, 0.62), on(None, 0.618)),
        (on(None, 0.62), on(one, 0.618)),
    ] {
        let answer = one_point(base, candidate);
        assert_eq!(answer.verdict, Verdict::NoRegression, "{answer:?}");
        assert!(answer.because.contains("a drop of 0.20 pp"), "{}", answer.because);
    }
    let error = |extent, value, stderr| Score {
        stderr: Some(stderr),
        ..on(extent, value)
    };
    let answer = one_point(error(one, 0.62, 0.03), error(hundred, 61.8, 4.0));
    assert!((answer.se_pp.unwrap() - 5.0).abs() < 1e-9, "{answer:?}");
}

#[test]
fn a_direction_is_stated_and_turns_the_sign() {
    let aimed = |aim, value| Score { aim, ..score("t", value) };
    for (aim, base, candidate, gain) in [
        (Aim::Higher, 0.5, 0.46, -4.0),
        (Aim::Lower, 0.5, 0.46, 4.0),
        (Aim::Lower, 0.0, 0.05, -5.0),
        (Aim::Target(0.5), 0.54, 0.46, 0.0),
        (Aim::Target(0.5), 0.52, 0.44, -4.0),
        (Aim::Target(0.5), 0.6, 0.5, 10.0),
    ] {
        let answer = one_point(aimed(Some(aim), base), aimed(None, candidate));
        assert!(
            (answer.gain_pp.unwrap() - gain).abs() < 1e-9,
            "{aim} {base} {candidate}: {answer:?}"
        );
        let expected = match gain {
            gain if gain < 0.0 => Verdict::Regression,
            0.0 => Verdict::NoRegression,
            _ => Verdict::Improvement,
        };
        assert_eq!(answer.verdict, expected);
    }
    // O-08: nothing relative to zero.
    let answer = one_point(aimed(Some(Aim::Lower), 0.0), aimed(Some(Aim::Lower), 0.05));
    assert!(answer.because.contains("relative to a base of 0 undefined"), "{}", answer.because);
    assert_eq!(
        one_point(aimed(Some(Aim::Higher), 0.0), aimed(Some(Aim::Higher), 0.05)).verdict,
        Verdict::Improvement
    );
    assert_eq!(one_point(score("t", 0.0), score("t", 0.0)).verdict, Verdict::NoRegression);
    let answer = one_point(aimed(None, 0.5), aimed(None, 0.6));
    assert!(
        answer.verdict == Verdict::Incomparable && answer.because.contains("more or less is better"),
        "{answer:?}"
    );
    let answer = one_point(aimed(Some(Aim::Lower), 0.5), aimed(Some(Aim::Higher), 0.6));
    assert!(answer.because.contains("lower in the base, higher in the candidate"), "{answer:?}");
}

#[test]
fn what_is_missing_is_no_pass() {
    let good = || score("t", 0.5);
    let not_a_number = one_point(good(), score("t", f64::NAN));
    assert_eq!(not_a_number.verdict, Verdict::NotMeasured);
    assert!(
        not_a_number.because.contains("the candidate has no score: not a finite number"),
        "{not_a_number:?}"
    );
    let given = Score {
        value: None,
        missing: Some(Missing {
            state: State::NotMeasured,
            why: "\"N/A\"\u{1b}[31m".to_owned(),
        }),
        ..good()
    };
    let answer = one_point(given, good());
    assert!(
        answer.verdict == Verdict::NotMeasured && answer.because.contains("the base has no score: \"N/A\"."),
        "{answer:?}"
    );
    let none = Score { items: Some(0), ..good() };
    assert_eq!(one_point(none.clone(), none).verdict, Verdict::NotMeasured);

    let report = judge(&Demand::default(), &results(vec![good()]), &results(vec![score("u", 0.5)]));
    let verdicts: Vec<Verdict> = report.answers.iter().map(|answer| answer.verdict).collect();
    assert_eq!(verdicts, [Verdict::NotMeasured, Verdict::New]);
    assert_eq!((report.outcome(), report.noise), (Outcome::Inconclusive, None));
    for (base, candidate) in [(vec![], vec![score("u", 0.5)]), (vec![], vec![])] {
        assert_eq!(
            judge(&Demand::default(), &results(base), &results(candidate)).outcome(),
            Outcome::Inconclusive,
            "nothing was checked"
        );
    }
    let twice = judge(&Demand::default(), &results(vec![good()]), &results(vec![good(), score("t", 0.1)]));
    assert_eq!((twice.answers.len(), twice.answers[0].verdict), (1, Verdict::Incomparable));
    let twice = judge(&Demand::default(), &results(vec![good(), good()]), &results(vec![good()]));
    assert_eq!((twice.answers.len(), twice.answers[0].verdict), (1, Verdict::Incomparable));
}

fn grouped(scores: Vec<Score>, members: &[&str]) -> Results {
    let members = members.iter().map(|&name| name.to_owned()).collect();
    Results {
        scores,
        groups: vec![Group {
            name: "g".to_owned(),
            members,
        }],
        outcomes: Vec::new(),
    }
}

#[test]
fn a_group_is_shown_and_not_counted_beside_its_members() {
    // O-05.
    let mut group = score("g", 0.77);
    group.setup.few_shot = Some(0);
    let base = grouped(vec![group, over(90, score("a", 0.8)), over(10, score("b", 0.5))], &["a", "b"]);
    let mut group = score("g", 0.75);
    group.setup.few_shot = Some(5);
    let candidate = grouped(vec![group, over(90, score("a", 0.8)), over(10, score("b", 0.3))], &["a", "b"]);
    let report = judge(&Demand::default(), &base, &candidate);
    let failing: Vec<&str> = report.failing().map(|answer| answer.key.task.as_str()).collect();
    assert_eq!(failing, ["b"]);
    let last = report.answers.last().unwrap();
    assert_eq!(
        (last.key.task.as_str(), last.counted, last.verdict),
        ("g", false, Verdict::Regression)
    );
    assert!(last.notes.iter().any(|note| note.starts_with("a group:")), "{last:?}");

    let without = results(candidate.scores[1..].to_vec());
    let report = judge(&Demand::default(), &base, &without);
    let last = report.answers.last().unwrap();
    assert_eq!(
        (last.key.task.as_str(), last.counted, last.verdict),
        ("g", false, Verdict::NotMeasured)
    );

    // The group alone counts; its members are new to the base.
    let alone = results(vec![score("g", 0.77)]);
    let report = judge(
        &Demand::default(),
        &alone,
        &Results {
            scores: vec![score("g", 0.7), score("a", 0.8)],
            ..candidate.clone()
        },
    );
    let found: Vec<_> = report
        .answers
        .iter()
        .map(|answer| (answer.key.task.as_str(), answer.counted, answer.verdict))
        .collect();
    assert_eq!(found, [("g", true, Verdict::Regression), ("a", true, Verdict::New)]);
    // Groups of groups, in a circle too.
    let mut nested = grouped(vec![score("g", 0.5), score("leaf", 0.5)], &["h", "g"]);
    nested.groups.push(Group {
        name: "h".to_owned(),
        members: vec!["g".to_owned(), "leaf".to_owned()],
    });
    let mut beside: Vec<&str> = nested.beside_members(&[]).into_iter().collect();
    beside.sort_unstable();
    assert_eq!(beside, ["g", "h"]);
}
