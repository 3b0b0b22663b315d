//! `exact` and `spread`.

use gate::model::gate::Rule;
use gate::model::judgement::{Outcome, Ruling, Step, Verdict};
use gate::model::metric::{Scale, Tolerance};
use gate::model::sample::Arm;

use crate::synthetic::{Reports, Session, metric, rule, spread};

/// One metric under one rule; the runs of A print `a` in turn, those of B `b`.
fn judged(flag: &str, tolerance: &str, rule: Rule, a: &[f64], b: &[f64]) -> Ruling {
    let mut turns = [0, 0];
    let session = Session::of(vec![metric(flag, tolerance)], vec![rule]).whole(|slot, sample| {
        let values = if slot.arm == Arm::A { a } else { b };
        let turn = &mut turns[slot.arm as usize];
        sample.prints("t", values[*turn % values.len()]);
        *turn += usize::from(!slot.warmup);
    });
    assert_eq!(session.judge().step, Step::Stop);
    session.ruling()
}

#[test]
fn exact_figures_compare_without_statistics() {
    for (flag, tolerance, a, b, verdict, gain, says) in [
        (
            "t:lower:B",
            "0%",
            4096.0,
            4096.0,
            Verdict::NoRegression,
            Some(0.0),
            "no change; worse by at most 0 % is allowed",
        ),
        (
            "t:lower:B",
            "0%",
            4096.0,
            4095.0,
            Verdict::Improvement,
            Some(100.0 / 4096.0),
            "gain +0.02 %",
        ),
        (
            "t:lower:B",
            "0%",
            4096.0,
            4097.0,
            Verdict::Regression,
            Some(-100.0 / 4096.0),
            "gain -0.02 %",
        ),
        (
            "t:lower:B",
            "3%",
            1000.0,
            1030.0,
            Verdict::SmallSlowdown,
            Some(-3.0),
            "gain -3.00 %",
        ),
        ("t:lower:B", "3%", 3.0, 3.09, Verdict::SmallSlowdown, Some(-3.0), "gain -3.00 %"),
        (
            "t:lower:B",
            "3%",
            1_000_000.0,
            1_030_001.0,
            Verdict::Regression,
            Some(-3.0001),
            "gain -3.0001 %",
        ),
        (
            "t:higher:count",
            "3%",
            1000.0,
            900.0,
            Verdict::Regression,
            Some(-10.0),
            "gain -10.00 %",
        ),
        (
            "t:lower:B",
            "2 KiB",
            0.0,
            2048.0,
            Verdict::SmallSlowdown,
            Some(-2048.0),
            "worse by at most 2048 B is allowed",
        ),
        (
            "t:lower:B",
            "2 KiB",
            0.0,
            2049.0,
            Verdict::Regression,
            Some(-2049.0),
            "gain -2049 B",
        ),
        ("t:higher:1", "1pp", 0.5, 0.495, Verdict::SmallSlowdown, Some(-0.5), "gain -0.50 pp"),
        ("t:higher:1", "1pp", 0.5, 0.48, Verdict::Regression, Some(-2.0), "gain -2.00 pp"),
        (
            "t:lower:B",
            "50%",
            0.0,
            1.0,
            Verdict::Regression,
            None,
            "a relative change from zero is undefined",
        ),
        (
            "t:higher:B",
            "50%",
            0.0,
            1.0,
            Verdict::Improvement,
            None,
            "a relative change from zero is undefined",
        ),
        ("t:lower:B", "50%", 0.0, 0.0, Verdict::NoRegression, Some(0.0), "no change"),
    ] {
        let ruling = judged(flag, tolerance, rule("exact"), &[a], &[b]);
        let what = format!("{flag} {tolerance} {a} {b}: {}", ruling.because);
        assert_eq!((ruling.verdict, ruling.blocks), (verdict, 1), "{what}");
        assert!(ruling.because.contains(says), "{what}");
        let gain = gain.filter(|_| !(a == 0.0 && tolerance.ends_with('%')));
        assert!(
            ruling
                .estimate
                .zip(gain)
                .map_or(ruling.estimate.is_none() == gain.is_none(), |(is, due)| (is - due).abs() < 1e-9),
            "{what}: {:?}",
            ruling.estimate
        );
    }
}

#[test]
fn a_figure_that_varies_within_an_arm_is_not_exact() {
    for (a, b, says) in [
        (&[1.0, 2.0][..], &[1.0][..], "arm A gave 1 B and 2 B"),
        (&[1.0][..], &[5.0, 4.0][..], "arm B gave 5 B and 4 B"),
    ] {
        let ruling = judged("t:lower:B", "0%", rule("exact"), a, b);
        assert_eq!((ruling.verdict, ruling.outcome), (Verdict::Incomparable, Outcome::Error));
        assert!(ruling.because.contains(says), "{}", ruling.because);
    }
}

#[test]
fn spread_bounds_the_candidates_own_range() {
    let runs = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];
    let shares = runs.map(|run| run / 1000.0);
    for (flag, max, b, verdict, scale, bound, says) in [
        (
            "t:lower:ms",
            "5%",
            &runs,
            Verdict::NoRegression,
            Scale::Pct,
            5.0,
            "6 runs of the candidate lie within 4.88 %, at most 5 % is declared",
        ),
        (
            "t:lower:ms",
            "4.88%",
            &runs,
            Verdict::NoRegression,
            Scale::Pct,
            4.88,
            "lie within 4.878 %, at most 4.88 % is declared",
        ),
        (
            "t:lower:ms",
            "150%",
            &runs,
            Verdict::NoRegression,
            Scale::Pct,
            150.0,
            "within 4.88 %",
        ),
        (
            "t:higher:tok/s",
            "150%",
            &runs,
            Verdict::NoRegression,
            Scale::Pct,
            150.0,
            "within 4.88 %",
        ),
        (
            "t:lower:ms",
            "5ms",
            &runs,
            Verdict::NoRegression,
            Scale::Abs,
            5.0,
            "lie within 5.00 ms, at most 5 ms is declared",
        ),
        (
            "t:lower:ms",
            "4900us",
            &runs,
            Verdict::Regression,
            Scale::Abs,
            4.9,
            "lie within 5.00 ms, at most 4.9 ms is declared",
        ),
        (
            "t:lower:1",
            "1pp",
            &shares,
            Verdict::NoRegression,
            Scale::Pp,
            1.0,
            "lie within 0.50 pp, at most 1 pp is declared",
        ),
        (
            "t:lower:1",
            "0.4pp",
            &shares,
            Verdict::Regression,
            Scale::Pp,
            0.4,
            "lie within 0.50 pp, at most 0.4 pp is declared",
        ),
    ] {
        let ruling = judged(flag, "2%", spread(max), &[1.0, 50.0], b);
        let what = format!("{flag} {max}: {}", ruling.because);
        assert_eq!(
            (ruling.verdict, ruling.blocks, ruling.outcome),
            (verdict, 3, verdict.outcome()),
            "{what}"
        );
        assert_eq!((ruling.scale, ruling.tolerance), (scale, bound), "{what}");
        assert!(ruling.because.contains(says), "{what}");
    }
}

#[test]
fn a_spread_that_has_no_meaning_is_no_pass() {
    let zero = judged("t:lower:ms", "2ms", spread("5%"), &[1.0], &[-1.0, 1.0]);
    assert_eq!(zero.verdict, Verdict::Incomparable, "{}", zero.because);
    assert!(zero.because.contains("the median is 0"), "{}", zero.because);
    let no_bound = judged("t:lower:ms", "2%", rule("spread"), &[1.0], &[1.0]);
    assert_eq!((no_bound.verdict, no_bound.outcome), (Verdict::Incomparable, Outcome::Error));
    let foreign = judged("t:lower:ms", "2%", spread("1 GiB"), &[1.0], &[1.0]);
    assert_eq!((foreign.verdict, foreign.outcome), (Verdict::Incomparable, Outcome::Error));
    assert!(foreign.because.contains("GiB does not convert to ms"), "{}", foreign.because);
}

#[test]
fn rules_stand_side_by_side() {
    let own = Rule {
        tolerance: Some(Tolerance::parse_margin("0%").unwrap()),
        metric: "bytes".to_owned(),
        ..rule("exact")
    };
    let times = Rule {
        metric: "t".to_owned(),
        ..rule("hold")
    };
    let metrics = vec![metric("t:lower:ms", "2%"), metric("bytes:lower:B", "2%")];
    let session = Session::of(metrics, vec![times, own, spread("20%")]).whole(|slot, sample| {
        sample.prints("t", 100.0 + f64::from(slot.position) / 100.0);
        sample.prints("bytes", if slot.arm == Arm::B { 4097.0 } else { 4096.0 });
    });
    let judgement = session.judge();
    let words: Vec<(&str, &str, &str)> = judgement
        .verdicts
        .iter()
        .map(|ruling| (ruling.rule.as_str(), ruling.metric.as_str(), ruling.verdict.word()))
        .collect();
    let expected = [
        ("hold", "t", "no_regression"),
        ("exact", "bytes", "regression"),
        ("spread", "t", "no_regression"),
        ("spread", "bytes", "no_regression"),
    ];
    assert_eq!((words.as_slice(), judgement.outcome), (expected.as_slice(), Outcome::Fail));
    assert_eq!(
        session.0.evidence.samples.len(),
        2 + 12,
        "spread asks for three blocks, hold and exact for fewer"
    );
}
