//! Which evidence gives which word, and what the looks are made of.

use std::collections::HashSet;

use gate::judge::crossover::Design;
use gate::model::evidence::Ended;
use gate::model::gate::Rule;
use gate::model::gate::waiver::Waiver;
use gate::model::judgement::{Outcome, Step, Verdict};
use gate::model::metric::{Scale, Tolerance};
use gate::model::sample::Arm;

use crate::synthetic::{Reports, Session, info, metric, noisy, rule, values};

#[test]
fn every_word_has_its_evidence() {
    let session = Session::new;
    let failing = |arm: Arm| {
        move |slot: &gate::model::sample::Slot, sample: &mut gate::model::sample::Sample| {
            sample.prints("t", 100.0);
            if slot.arm == arm {
                sample.exits(3);
            }
        }
    };
    let cases: Vec<(&str, Session, Verdict, Outcome)> = vec![
        (
            "8 % slower",
            session().whole(noisy(8.0, 0.3, 1)),
            Verdict::Regression,
            Outcome::Fail,
        ),
        (
            "1.2 % slower, hardly any noise",
            session().whole(noisy(1.2, 0.01, 2)),
            Verdict::SmallSlowdown,
            Outcome::Pass,
        ),
        (
            "the same",
            session().whole(noisy(0.0, 0.3, 3)),
            Verdict::NoRegression,
            Outcome::Pass,
        ),
        (
            "8 % faster",
            session().whole(noisy(-8.0, 0.3, 4)),
            Verdict::Improvement,
            Outcome::Pass,
        ),
        (
            "far too noisy",
            session().whole(noisy(0.0, 8.0, 5)),
            Verdict::Inconclusive,
            Outcome::Inconclusive,
        ),
        (
            "B crashes",
            session().whole(failing(Arm::B)),
            Verdict::CandidateFailed,
            Outcome::Fail,
        ),
        ("A crashes", session().whole(failing(Arm::A)), Verdict::NotMeasured, Outcome::Error),
        (
            "B throttles",
            session().whole(|slot, sample| {
                sample.prints("t", 100.0);
                if slot.arm == Arm::B && !slot.warmup {
                    sample.voided(true);
                }
            }),
            Verdict::ThrottleAttributable,
            Outcome::Fail,
        ),
        (
            "no figure",
            session().whole(|_, sample| sample.lacks("t")),
            Verdict::NotMeasured,
            Outcome::Inconclusive,
        ),
        (
            "an unknown kind of rule",
            Session::of(vec![metric("t:lower:ms", "2%")], vec![rule("hope")]).whole(noisy(0.0, 0.3, 6)),
            Verdict::Incomparable,
            Outcome::Error,
        ),
        (
            "two builds of equal inputs that came out equal",
            proved_equal(),
            Verdict::IdenticalArtifact,
            Outcome::Pass,
        ),
        (
            "8 % slower, and 12 % accepted",
            accepted("12%").whole(noisy(8.0, 0.3, 1)),
            Verdict::Waived,
            Outcome::Pass,
        ),
        (
            "8 % slower, and 6 % accepted",
            accepted("6%").whole(noisy(8.0, 0.3, 1)),
            Verdict::Regression,
            Outcome::Fail,
        ),
        (
            "a crash, and 12 % accepted",
            accepted("12%").whole(failing(Arm::B)),
            Verdict::CandidateFailed,
            Outcome::Fail,
        ),
        (
            "a gain as claimed",
            session().promote().whole(noisy(-3.0, 0.3, 7)),
            Verdict::ImprovementShown,
            Outcome::Pass,
        ),
        (
            "no gain",
            session().promote().whole(noisy(0.0, 0.3, 8)),
            Verdict::ClaimRejected,
            Outcome::Fail,
        ),
    ];
    // What needs a baseline is in `crate::baseline`, what needs builds in `crate::declared`, what needs scores in `crate::eval`.
    const ELSEWHERE: [&str; 6] = [
        "stale_baseline",
        "environment_shift",
        "advisory",
        "new",
        "identical_artifact",
        "rule_disabled",
    ];
    let mut met = HashSet::new();
    for (what, session, verdict, outcome) in cases {
        let judgement = session.judge();
        let ruling = &judgement.verdicts[0];
        assert_eq!(
            (ruling.verdict, judgement.outcome),
            (verdict, outcome),
            "{what}: {}",
            ruling.because
        );
        assert_eq!(judgement.step, Step::Stop, "{what}: goes on");
        assert!(!ruling.because.is_empty() && !ruling.next.is_empty(), "{what}: says nothing");
        met.insert(verdict.word());
    }
    let never: Vec<&str> = Verdict::ALL
        .map(Verdict::word)
        .into_iter()
        .filter(|word| !met.contains(word) && !ELSEWHERE.contains(word))
        .collect();
    assert!(never.is_empty(), "no case gives {never:?}");
}

/// A session of a change that brings a waiver.
fn accepted(limit: &str) -> Session {
    let mut session = Session::new();
    session.0.context.waivers.push(Waiver {
        file: "gates/waivers/t.toml".to_owned(),
        gate: session.0.gate.name.clone(),
        fixture: String::new(),
        metric: "t".to_owned(),
        limit: Tolerance::parse(limit).expect("a tolerance"),
        reason: "it is worth it".to_owned(),
        author: "A".to_owned(),
        until: "2026-12-31".to_owned(),
        record: "0123456789ab".to_owned(),
        carried: false,
    });
    session
}

fn proved_equal() -> Session {
    let mut session = Session::new();
    session.0.context.identical = true;
    session
}

#[test]
fn more_buckets_share_alpha_and_ungated_metrics_do_not() {
    let level = |session: Session| {
        session
            .whole(|_, sample| {
                for name in ["t", "u", "v"] {
                    sample.prints(name, 100.0);
                }
            })
            .judge()
            .verdicts
    };
    let of = |metrics: &[&str], infos: &[&str]| {
        let metrics = metrics
            .iter()
            .map(|flag| metric(flag, "2%"))
            .chain(infos.iter().map(|flag| info(flag)));
        Session::of(metrics.collect(), vec![rule("hold")])
    };
    let one = level(of(&["t:lower:ms"], &[]));
    let beside_info = level(of(&["t:lower:ms"], &["u:lower:ms"]));
    let two = level(of(&["t:lower:ms", "u:lower:ms"], &["v:lower:ms"]));
    let fixtures = level(of(&["t:lower:ms"], &[]).fixtures(&["p", "q"]));
    let claimed = level(of(&["t:lower:ms", "u:lower:ms"], &[]).promote());
    assert_eq!(
        [one.len(), beside_info.len(), two.len(), fixtures.len(), claimed.len()],
        [1, 1, 2, 2, 2]
    );
    let full = Design::sequential(14, 0.01, 0.05, 0.25).unwrap();
    let half = Design::sequential(14, 0.005, 0.05, 0.25).unwrap();
    assert!(half.c[0] > full.c[0]);
    for (what, rulings, design) in [
        ("one", one, &full),
        ("one beside an info metric", beside_info, &full),
        ("two", two, &half),
        ("two fixtures", fixtures, &half),
        ("a claim that must hold in both", claimed, &full),
    ] {
        for ruling in rulings {
            let look = &ruling.looks[0];
            assert_eq!(
                (look.c, look.f, look.level_r),
                (design.c[0], design.f[0], design.level_r),
                "{what}: {}",
                ruling.metric
            );
        }
    }
}

#[test]
fn fixtures_take_turns_and_a_decided_one_drops_out() {
    let mut of_p = values(100.0, 0.0, 0.1, 1);
    let mut of_q = values(100.0, 0.0, 3.0, 2);
    let mut order = Vec::new();
    let session = Session::new().fixtures(&["p", "q"]).whole(|slot, sample| {
        order.push((slot.cell.fixture.clone(), slot.warmup, slot.block));
        sample.prints("t", if slot.cell.fixture == "p" { of_p(slot.arm) } else { of_q(slot.arm) });
    });
    order.dedup();
    let word = |(fixture, warmup, block): &(String, bool, u32)| {
        if *warmup {
            format!("{fixture}w")
        } else {
            format!("{fixture}{block}")
        }
    };
    let order: Vec<String> = order.iter().map(word).collect();
    let rulings = session.judge().verdicts;
    let blocks: Vec<(&str, u32, Verdict)> = rulings.iter().map(|r| (r.cell.fixture.as_str(), r.blocks, r.verdict)).collect();
    let (p, q) = (rulings[0].blocks, rulings[1].blocks);
    assert!(p < q && rulings[0].verdict == Verdict::NoRegression, "{blocks:?}");
    let mut expected = vec!["pw".to_owned(), "qw".to_owned()];
    for block in 0..q {
        if block < p {
            expected.push(format!("p{block}"));
        }
        expected.push(format!("q{block}"));
    }
    assert_eq!(order, expected, "{blocks:?}");
}

#[test]
fn absolute_and_point_tolerances_are_counted_in_their_own_unit() {
    for (flag, tolerance, base, step, scale, gain) in [
        ("t:lower:ms", "2ms", 0.0, 5.0, Scale::Abs, -5.0),
        ("t:lower:s", "2ms", -1.0, 0.005, Scale::Abs, -0.005),
        ("t:higher:tok/s", "3 tok/s", 50.0, -8.0, Scale::Abs, -8.0),
        ("t:higher:1", "1pp", 0.40, -0.03, Scale::Pp, -3.0),
        ("t:higher:%", "1pp", 40.0, -3.0, Scale::Pp, -3.0),
        ("t:lower:pp", "1pp", -1.0, 3.0, Scale::Pp, -3.0),
    ] {
        let mut noise = values(1.0, 0.0, 1.0, 9);
        let session = Session::of(vec![metric(flag, tolerance)], vec![rule("hold")]).whole(|slot, sample| {
            let shake = 0.02 * step * (noise(Arm::A) - 1.0);
            let effect = if slot.arm == Arm::B { step } else { 0.0 };
            sample.prints("t", base + effect + shake);
        });
        let ruling = session.ruling();
        assert_eq!(
            (ruling.verdict, ruling.scale),
            (Verdict::Regression, scale),
            "{flag} {tolerance}: {}",
            ruling.because
        );
        let estimate = ruling.estimate.unwrap();
        assert!(
            (estimate - gain).abs() < 1e-3 * gain.abs(),
            "{flag} {tolerance}: {estimate}, not {gain}"
        );
    }
}

#[test]
fn a_rule_may_have_its_own_tolerance() {
    let own = |text: &str| Rule {
        tolerance: Some(Tolerance::parse(text).unwrap()),
        ..rule("hold")
    };
    let judged = |text: &str| {
        Session::of(vec![metric("t:lower:ms", "2%")], vec![own(text)])
            .whole(noisy(3.0, 0.1, 1))
            .ruling()
    };
    let wide = judged("10%");
    assert_eq!(
        (wide.verdict, wide.tolerance, wide.scale),
        (Verdict::SmallSlowdown, 10.0, Scale::Pct),
        "{}",
        wide.because
    );
    let absolute = judged("500us");
    assert_eq!(
        (absolute.verdict, absolute.tolerance, absolute.scale),
        (Verdict::Regression, 0.5, Scale::Abs),
        "{}",
        absolute.because
    );
    let unsuited = judged("1 GiB");
    assert_eq!((unsuited.verdict, unsuited.outcome), (Verdict::Incomparable, Outcome::Error));
    assert!(unsuited.because.contains("GiB does not convert to ms"), "{}", unsuited.because);
}

#[test]
fn a_claim_is_shown_shown_smaller_or_rejected() {
    for (effect, verdict, says) in [
        (
            -3.0,
            Verdict::ImprovementShown,
            "better beyond doubt, and not shown to fall short of the claimed 2 %",
        ),
        (
            -1.3,
            Verdict::ImprovementShown,
            "better beyond doubt, but the gain is shown to be smaller than the claimed 2 %",
        ),
        (0.0, Verdict::ClaimRejected, "the gain is shown to be less than the claimed 2 %"),
        (5.0, Verdict::ClaimRejected, "the gain is shown to be less than the claimed 2 %"),
    ] {
        let ruling = Session::new().promote().whole(noisy(effect, 0.01, 11)).ruling();
        assert_eq!(ruling.verdict, verdict, "{effect}: {}", ruling.because);
        assert!(ruling.because.contains(says), "{effect}: {}", ruling.because);
        let [low, high] = ruling.interval.unwrap();
        let gain = ruling.estimate.unwrap();
        assert!(
            low <= gain && gain <= high && (gain + effect).abs() < 0.3,
            "{effect}: {gain} in [{low}, {high}]"
        );
    }
    let open = Session::new().promote().whole(noisy(-2.0, 9.0, 5)).ruling();
    assert_eq!(open.verdict, Verdict::Inconclusive);
    assert!(
        open.because.contains("neither shown better, nor a gain of 2 % ruled out"),
        "{}",
        open.because
    );
}

#[test]
fn a_session_that_ended_early_says_so_and_keeps_what_it_decided() {
    let limit = Ended::SessionLimit { limit_s: 60.0 };
    let few = Ended::TooFewBlocks {
        fit: 1,
        needed: 2,
        limit_s: 60.0,
    };
    let cancelled = Ended::Cancelled {
        signal: "SIGINT".to_owned(),
    };
    let broken = Ended::Error {
        what: "the disk is full".to_owned(),
    };
    for (ended, outcome, says) in [
        (limit.clone(), Outcome::Inconclusive, "the session reached its limit of 60 s"),
        (
            few,
            Outcome::Inconclusive,
            "only 1 of at least 2 blocks fit into the session's limit of 60 s",
        ),
        (cancelled.clone(), Outcome::Error, "the run was cancelled by SIGINT"),
        (broken, Outcome::Error, "the run broke off: the disk is full"),
    ] {
        let judgement = Session::new().run(2 + 4, noisy(0.0, 0.3, 1)).ended(ended).judge();
        let ruling = &judgement.verdicts[0];
        assert_eq!(
            (ruling.verdict, judgement.outcome, &judgement.step),
            (Verdict::Inconclusive, outcome, &Step::Stop)
        );
        assert!(ruling.because.contains(says), "{}", ruling.because);
    }
    for (effect, ended, verdict, outcome) in [
        (8.0, cancelled.clone(), Verdict::Regression, Outcome::Fail),
        (0.0, cancelled, Verdict::NoRegression, Outcome::Error),
        (8.0, limit.clone(), Verdict::Regression, Outcome::Fail),
        (0.0, limit, Verdict::NoRegression, Outcome::Pass),
    ] {
        let judgement = Session::new().whole(noisy(effect, 0.1, 1)).ended(ended).judge();
        assert_eq!((judgement.verdicts[0].verdict, judgement.outcome), (verdict, outcome));
    }
}

#[test]
fn a_plan_that_cannot_be_judged_is_an_error_and_never_an_answer() {
    let whole = || Session::new().whole(noisy(0.0, 0.3, 1));
    for (what, broken) in [
        ("looks of another cap", whole().planned(|plan| plan.looks = vec![2, 14])),
        ("one block at most", Session::new().cap(1).whole(noisy(0.0, 0.3, 1))),
        ("no alpha", whole().planned(|plan| plan.alpha = 0.0)),
        ("half of everything missed", whole().planned(|plan| plan.beta = 0.7)),
    ] {
        let judgement = broken.judge();
        assert_eq!((judgement.outcome, judgement.step), (Outcome::Error, Step::Stop), "{what}");
        assert!(
            judgement.verdicts[0].because.starts_with("The plan cannot be judged: "),
            "{what}: {}",
            judgement.verdicts[0].because
        );
    }
}

#[test]
fn a_fixed_number_of_blocks_is_looked_at_once() {
    let fixed = Session::new().cap(6).planned(|plan| (plan.fixed, plan.looks) = (true, vec![6]));
    let session = fixed.whole(noisy(8.0, 0.1, 1));
    let ruling = session.ruling();
    assert_eq!((ruling.blocks, ruling.looks.len(), ruling.verdict), (6, 1, Verdict::Regression));
    assert_eq!(session.0.evidence.samples.len(), 2 + 24);
}
