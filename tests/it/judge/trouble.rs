//! Failures, missing figures and samples off the plan: nothing is dropped silently.

use gate::model::figure::{Missing, State};
use gate::model::judgement::{Outcome, Step, Verdict};
use gate::model::metric::Metric;
use gate::model::sample::{Arm, Sample, Slot};

use crate::synthetic::{Reports, Session, metric, noisy, rule};

/// The runs in order, as `wA wB 0A 0A' 0B'`: a warm-up or the block's number, the arm, and a mark for each retry.
pub fn runs(session: &Session) -> String {
    let word = |sample: &Sample| {
        let place = if sample.warmup { "w".to_owned() } else { sample.block.to_string() };
        format!("{place}{}{}", sample.arm, "'".repeat(sample.attempt as usize))
    };
    session.0.evidence.samples.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A program that prints 100 and exits with 3 in the slots that `fails` names.
fn failing(fails: impl Fn(&Slot) -> bool) -> impl FnMut(&Slot, &mut Sample) {
    move |slot, sample| {
        sample.prints("t", 100.0);
        if fails(slot) {
            sample.exits(3);
        }
    }
}

/// The slots that fail.
pub type Fails = fn(&Slot) -> bool;

#[test]
fn failures_are_retried_once_and_blamed_on_their_arm() {
    let cases: [(&str, Fails, &str, Verdict, Outcome, &str); 7] = [
        (
            "A fails in its warm-up, twice",
            |slot| slot.warmup && slot.arm == Arm::A,
            "wA wA'",
            Verdict::NotMeasured,
            Outcome::Error,
            "The base arm A failed twice in the warm-up: exit code 3.",
        ),
        (
            "B fails in its warm-up, twice",
            |slot| slot.warmup && slot.arm == Arm::B,
            "wA wB wB'",
            Verdict::CandidateFailed,
            Outcome::Fail,
            "The candidate B failed twice in the warm-up, while the base A ran: exit code 3.",
        ),
        (
            "A closes each of its failed tries at once",
            |slot| !slot.warmup && slot.arm == Arm::A,
            "wA wB 0A 0A'",
            Verdict::NotMeasured,
            Outcome::Error,
            "The base arm A failed twice in block 1: exit code 3.",
        ),
        (
            "A fails in the middle of the second block",
            |slot| !slot.warmup && slot.block == 1 && slot.position == 2,
            "wA wB 0A 0B 0B 0A 1B 1A 1A 1B' 1A' 1A'",
            Verdict::NotMeasured,
            Outcome::Error,
            "The base arm A failed twice in block 2: exit code 3.",
        ),
        (
            "B's failed tries are run to their end",
            |slot| !slot.warmup && slot.position == 1,
            "wA wB 0A 0B 0B 0A 0A' 0B' 0B' 0A'",
            Verdict::CandidateFailed,
            Outcome::Fail,
            "The candidate B failed twice in block 1, while the base A ran: exit code 3.",
        ),
        (
            "first A, then B twice",
            |slot| !slot.warmup && slot.block == 0 && slot.position == if slot.attempt == 0 { 0 } else { 1 },
            "wA wB 0A 0A' 0B' 0B' 0A' 0A'' 0B'' 0B'' 0A''",
            Verdict::CandidateFailed,
            Outcome::Fail,
            "The candidate B failed twice in block 1",
        ),
        (
            "both fail in one try: the base's failure counts",
            |slot| !slot.warmup && slot.position >= 2,
            "wA wB 0A 0B 0B 0A 0A' 0B' 0B' 0A'",
            Verdict::NotMeasured,
            Outcome::Error,
            "The base arm A failed twice in block 1",
        ),
    ];
    for (what, fails, expected, verdict, outcome, says) in cases {
        let session = Session::new().whole(failing(fails));
        let judgement = session.judge();
        let ruling = &judgement.verdicts[0];
        assert_eq!(runs(&session), expected, "{what}");
        assert_eq!(
            (ruling.verdict, judgement.outcome),
            (verdict, outcome),
            "{what}: {}",
            ruling.because
        );
        assert!(ruling.because.starts_with(says), "{what}: {}", ruling.because);
    }
}

#[test]
fn one_failure_is_retried_and_the_session_goes_on() {
    let cases: [(Fails, &str); 4] = [
        (
            |slot| slot.warmup && slot.arm == Arm::A && slot.attempt == 0,
            "wA wA' wB 0A 0B 0B 0A 1B 1A 1A 1B",
        ),
        (
            |slot| slot.warmup && slot.arm == Arm::B && slot.attempt == 0,
            "wA wB wB' 0A 0B 0B 0A 1B 1A 1A 1B",
        ),
        (
            |slot| !slot.warmup && slot.block == 0 && slot.position == 0 && slot.attempt == 0,
            "wA wB 0A 0A' 0B' 0B' 0A' 1B 1A 1A 1B",
        ),
        (
            |slot| !slot.warmup && slot.block == 1 && slot.position == 0 && slot.attempt == 0,
            "wA wB 0A 0B 0B 0A 1B 1A 1A 1B 1B' 1A' 1A' 1B'",
        ),
    ];
    for (fails, expected) in cases {
        let session = Session::new().cap(2).whole(failing(fails));
        assert_eq!(runs(&session), expected);
        let ruling = session.ruling();
        assert_eq!((ruling.verdict, ruling.blocks), (Verdict::NoRegression, 2), "{}", ruling.because);
    }
}

#[test]
fn failures_of_different_places_do_not_add_up() {
    let fixed = Session::new().cap(4).planned(|plan| (plan.fixed, plan.looks) = (true, vec![4]));
    let session = fixed.whole(|slot, sample| {
        sample.prints("t", 100.0 + f64::from(slot.position));
        if slot.position == 1 && slot.attempt == 0 {
            sample.exits(1);
        }
    });
    assert_eq!(session.ruling().blocks, 4, "{}", session.ruling().because);
}

#[test]
fn a_figure_that_is_no_measurement_is_a_failure_of_its_arm() {
    let relative = || metric("t:lower:ms", "2%");
    let absolute = || metric("t:lower:ms", "2ms");
    let cases: Vec<(Metric, &str, f64, Option<&str>)> = vec![
        (
            relative(),
            "hold",
            0.0,
            Some("t is 0: on a relative scale only a positive figure is a measurement"),
        ),
        (
            relative(),
            "hold",
            -5.0,
            Some("t is -5: on a relative scale only a positive figure is a measurement"),
        ),
        (relative(), "hold", f64::NAN, Some("t is not a finite number")),
        (relative(), "hold", f64::INFINITY, Some("t is not a finite number")),
        (absolute(), "hold", f64::NAN, Some("t is not a finite number")),
        (absolute(), "hold", 0.0, None),
        (absolute(), "hold", -5.0, None),
        (relative(), "exact", 0.0, None),
        (relative(), "exact", -5.0, None),
    ];
    for (metric, kind, value, failure) in cases {
        let session = Session::of(vec![metric], vec![rule(kind)]).whole(|slot, sample| {
            sample.prints("t", if slot.arm == Arm::B { value } else { 100.0 });
        });
        let ruling = session.ruling();
        match failure {
            Some(why) => {
                assert_eq!(ruling.verdict, Verdict::CandidateFailed, "{kind} {value}: {}", ruling.because);
                assert!(ruling.because.contains(why), "{kind} {value}: {}", ruling.because);
            }
            None => assert!(
                ruling.base.is_some() && ruling.verdict != Verdict::CandidateFailed,
                "{kind} {value}: {}",
                ruling.because
            ),
        }
    }
    let unreadable = Session::new().whole(|slot, sample| {
        sample.prints("t", 100.0);
        if slot.arm == Arm::B {
            sample.values.remove("t");
            let (state, why) = (State::Failed, "not a number: \"fast\"".to_owned());
            sample.missing.insert("t".to_owned(), Missing { state, why });
        }
    });
    assert_eq!(unreadable.ruling().verdict, Verdict::CandidateFailed);
    assert!(
        unreadable.ruling().because.contains("t: not a number: \"fast\""),
        "{}",
        unreadable.ruling().because
    );
}

#[test]
fn a_missing_figure_stops_the_session_at_once() {
    for (what, first_without) in [("in the first warm-up", 0), ("in the second", 1), ("in a block", 4)] {
        let session = Session::new().whole(|_, sample| {
            sample.prints("t", 100.0);
            if sample.seq == first_without {
                sample.lacks("t");
            }
        });
        let judgement = session.judge();
        let ruling = &judgement.verdicts[0];
        assert_eq!(session.0.evidence.samples.len() as u32, first_without + 1, "{what}");
        assert_eq!(
            (ruling.verdict, judgement.outcome, judgement.step),
            (Verdict::NotMeasured, Outcome::Inconclusive, Step::Stop),
            "{what}"
        );
        assert!(
            ruling.because.contains("did not report t: no such series"),
            "{what}: {}",
            ruling.because
        );
    }
    let silent = Session::new().whole(|_, sample| {
        sample.values.remove("t");
    });
    assert_eq!(
        silent.ruling().verdict,
        Verdict::NotMeasured,
        "neither a figure nor a reason is no figure either"
    );
}

#[test]
fn a_crash_is_no_missing_figure() {
    let session = Session::new().whole(|slot, sample| {
        sample.prints("t", 100.0);
        if slot.arm == Arm::B {
            sample.exits(134);
            sample.lacks("t");
        }
    });
    assert_eq!(session.ruling().verdict, Verdict::CandidateFailed, "{}", session.ruling().because);
}

#[test]
fn profiled_samples_explain_and_never_judge() {
    let mut steady = noisy(8.0, 0.1, 1);
    let session = Session::new().whole(|slot, sample| {
        steady(slot, sample);
        sample.profiled = true;
        sample.detail.insert("profiler".to_owned(), "ROCPROF".into());
    });
    let ruling = session.ruling();
    assert_eq!(
        (ruling.verdict, ruling.outcome, ruling.estimate),
        (Verdict::NotMeasured, Outcome::Inconclusive, None)
    );
    assert!(ruling.because.contains("under a profiler (ROCPROF)"), "{}", ruling.because);
    assert_eq!(session.0.evidence.samples.len(), 1, "nothing more is run");
}

type Change = fn(&mut Vec<Sample>);

#[test]
fn samples_off_the_plan_are_an_error() {
    let whole = Session::new().whole(noisy(0.0, 0.3, 1));
    let changes: [(&str, Change); 9] = [
        ("another arm in a warm-up", |samples| samples[0].arm = Arm::B),
        ("another arm in a block", |samples| samples[3].arm = Arm::A),
        ("a slot left out", |samples| drop(samples.remove(4))),
        ("a slot twice", |samples| samples.insert(5, samples[4].clone())),
        ("a retry that nothing asked for", |samples| samples[2].attempt = 1),
        ("a block left out", |samples| drop(samples.drain(2..6))),
        ("a block measured before another", |samples| samples[2..10].rotate_left(4)),
        ("no warm-up", |samples| drop(samples.drain(..2))),
        ("a warm-up too many", |samples| samples.insert(2, samples[1].clone())),
    ];
    for (what, change) in changes {
        let mut session = whole.clone();
        change(&mut session.0.evidence.samples);
        let judgement = session.judge();
        let ruling = &judgement.verdicts[0];
        assert_eq!(
            (ruling.verdict, judgement.outcome, judgement.step),
            (Verdict::Incomparable, Outcome::Error, Step::Stop),
            "{what}"
        );
        assert!(
            ruling.because.ends_with("does not stand where the plan puts it."),
            "{what}: {}",
            ruling.because
        );
    }
}

type Later = fn(&Slot, &mut Sample);

#[test]
fn what_happens_after_a_decision_does_not_touch_it() {
    let both = || Session::of(vec![metric("t:lower:ms", "2%"), metric("u:lower:ms", "2%")], vec![rule("hold")]);
    let cases: [(&str, Later, Verdict, Outcome); 4] = [
        (
            "B crashes",
            |slot, sample| {
                if slot.arm == Arm::B {
                    sample.exits(1)
                }
            },
            Verdict::CandidateFailed,
            Outcome::Fail,
        ),
        (
            "A crashes",
            |slot, sample| {
                if slot.arm == Arm::A {
                    sample.exits(1)
                }
            },
            Verdict::NotMeasured,
            Outcome::Error,
        ),
        (
            "u is gone",
            |_, sample| sample.lacks("u"),
            Verdict::NotMeasured,
            Outcome::Inconclusive,
        ),
        (
            "all is void",
            |_, sample| sample.voided(false),
            Verdict::Inconclusive,
            Outcome::Inconclusive,
        ),
    ];
    for (what, later, verdict, outcome) in cases {
        for (effect, decided) in [(0.0, Verdict::NoRegression), (8.0, Verdict::Regression)] {
            let (mut t, mut u) = (noisy(effect, 0.1, 1), noisy(0.0, 6.0, 2));
            let session = both().whole(|slot, sample| {
                u(slot, sample);
                sample.prints("u", sample.values["t"]);
                t(slot, sample);
                if slot.block >= 6 {
                    later(slot, sample);
                }
            });
            let judgement = session.judge();
            let [t, u] = &judgement.verdicts[..] else { panic!("two buckets") };
            assert_eq!((t.verdict, u.verdict), (decided, verdict), "{what}: {} {}", t.because, u.because);
            assert!(
                t.blocks < 6 && u.blocks == 6 && !u.looks.is_empty(),
                "{what}: {} and {} blocks",
                t.blocks,
                u.blocks
            );
            let expected = if decided == Verdict::Regression { Outcome::Fail } else { outcome };
            assert_eq!(judgement.outcome, expected, "{what}: no error hides a regression");
        }
    }
}

#[test]
fn a_metric_that_is_missing_once_does_not_stop_the_others() {
    let mut noise = noisy(0.0, 2.0, 4);
    let session = Session::of(vec![metric("t:lower:ms", "2%"), metric("u:lower:ms", "2%")], vec![rule("hold")]).whole(|slot, sample| {
        noise(slot, sample);
        sample.prints("u", 100.0 + f64::from(slot.position));
        if !slot.warmup && (slot.block, slot.position) == (1, 2) {
            sample.lacks("u");
        }
    });
    let judgement = session.judge();
    let [t, u] = &judgement.verdicts[..] else { panic!("two buckets") };
    assert!(t.blocks > 2 && t.verdict != Verdict::NotMeasured, "{}", t.because);
    assert_eq!(
        (u.verdict, u.outcome, u.blocks),
        (Verdict::NotMeasured, Outcome::Inconclusive, 1),
        "{}",
        u.because
    );
    assert_eq!(u.base.map(|range| range.n), Some(2), "only what was complete before counts");
}
