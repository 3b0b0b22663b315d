//! Voids: whole blocks, retried, balanced over the arms, and never silent.

use gate::model::judgement::{Outcome, Step, Verdict};
use gate::model::sample::{Arm, Slot};

use super::trouble::{Fails, runs};
use crate::synthetic::{Reports, Session, noisy};

/// A session that is void where `voids` says so, by what the candidate can have caused or not.
fn voided(limit: u32, attributable: bool, voids: impl Fn(&Slot) -> bool) -> Session {
    let mut steady = noisy(0.0, 0.3, 3);
    Session::new()
        .cap(4)
        .planned(|plan| plan.max_void_blocks = limit)
        .whole(|slot, sample| {
            steady(slot, sample);
            if !slot.warmup && voids(slot) {
                sample.voided(attributable);
            }
        })
}

#[test]
fn a_void_costs_its_whole_block_which_is_run_again() {
    let session = voided(2, true, |slot| (slot.block, slot.position, slot.attempt) == (1, 2, 0));
    assert!(
        runs(&session).starts_with("wA wB 0A 0B 0B 0A 1B 1A 1A 1B 1B' 1A' 1A' 1B'"),
        "{}",
        runs(&session)
    );
    assert_eq!(session.ruling().verdict, Verdict::NoRegression);
    let valid: usize = session.ruling().base.unwrap().n as usize + session.ruling().candidate.unwrap().n as usize;
    assert_eq!(
        session.0.evidence.samples.len(),
        2 + 4 + valid,
        "the void rows stay in the evidence, and outside the answer"
    );
}

#[test]
fn too_many_voids_end_it_and_an_unbalanced_host_blames_the_candidate() {
    let cases: [(&str, u32, bool, Fails, Verdict, &str); 6] = [
        (
            "three void blocks, two allowed",
            2,
            false,
            |_| true,
            Verdict::Inconclusive,
            "3 blocks were void, 2 are allowed; the last one because the clock fell below its floor.",
        ),
        (
            "one void block, none allowed",
            0,
            false,
            |slot| slot.position == 0,
            Verdict::Inconclusive,
            "1 block was void, 0 are allowed",
        ),
        (
            "on A only",
            2,
            true,
            |slot| slot.arm == Arm::A,
            Verdict::Inconclusive,
            "3 blocks were void",
        ),
        ("on both alike", 2, true, |_| true, Verdict::Inconclusive, "3 blocks were void"),
        (
            "on B, twice a block: the balance is looked at before the number",
            1,
            true,
            |slot| slot.arm == Arm::B,
            Verdict::ThrottleAttributable,
            "Declared limits of the host were reached on 4 runs of the candidate and on 0 of the base.",
        ),
        (
            "on B, by others on the machine",
            2,
            false,
            |slot| slot.arm == Arm::B,
            Verdict::Inconclusive,
            "3 blocks were void",
        ),
    ];
    for (what, limit, attributable, voids, verdict, says) in cases {
        let session = voided(limit, attributable, voids);
        let ruling = session.ruling();
        assert_eq!(ruling.verdict, verdict, "{what}: {}", ruling.because);
        assert!(ruling.because.starts_with(says), "{what}: {}", ruling.because);
        assert_eq!(session.judge().step, Step::Stop);
    }
    let outcome = voided(1, true, |slot| slot.arm == Arm::B).judge().outcome;
    assert_eq!(outcome, Outcome::Fail);
}

#[test]
fn a_void_excuses_a_failure_of_the_same_try() {
    let mut tries = 0;
    let session = Session::new().cap(2).whole(|slot, sample| {
        sample.prints("t", 100.0);
        if !slot.warmup && slot.block == 0 && slot.position == 1 && slot.attempt < 2 {
            tries += 1;
            sample.exits(1);
            sample.voided(false);
        }
    });
    assert_eq!(
        (tries, session.ruling().verdict),
        (2, Verdict::NoRegression),
        "{}",
        session.ruling().because
    );
}

#[test]
fn three_more_voids_on_the_candidate_are_the_limit() {
    // Void runs of the first, second and third try of the first block, by position: B stands at 1 and 2, A at 0 and 3.
    let cases: [([&[u32]; 3], Verdict, &str); 4] = [
        (
            [&[1, 2], &[1], &[]],
            Verdict::ThrottleAttributable,
            "on 3 runs of the candidate and on 0 of the base",
        ),
        (
            [&[0, 1, 2], &[1, 2], &[]],
            Verdict::ThrottleAttributable,
            "on 4 runs of the candidate and on 1 of the base",
        ),
        ([&[1, 2], &[], &[]], Verdict::NoRegression, "is ruled out"),
        ([&[0, 1, 2], &[1], &[]], Verdict::NoRegression, "is ruled out"),
    ];
    for (tries, verdict, says) in cases {
        let ruling = voided(2, true, |slot| {
            slot.block == 0 && tries[slot.attempt as usize].contains(&slot.position)
        })
        .ruling();
        assert_eq!(ruling.verdict, verdict, "{tries:?}: {}", ruling.because);
        assert!(ruling.because.contains(says), "{tries:?}: {}", ruling.because);
    }
}

#[test]
fn without_a_base_arm_nothing_is_the_candidates_fault() {
    let mut steady = noisy(0.0, 0.3, 3);
    let floor = gate::model::gate::Rule {
        at_most: Some(gate::model::gate::Bound::Value { value: 1e9 }),
        ..crate::synthetic::rule("floor")
    };
    let session = Session::of(vec![crate::synthetic::metric("t:lower:ms", "2%")], vec![floor])
        .cap(8)
        .planned(|plan| {
            plan.blocks = vec![gate::model::plan::Orientation::B; 8];
            plan.looks.clear();
        })
        .whole(|slot, sample| {
            steady(slot, sample);
            if !slot.warmup {
                sample.voided(true);
            }
        });
    let ruling = session.ruling();
    assert_eq!(ruling.verdict, Verdict::Inconclusive, "{}", ruling.because);
    assert!(ruling.because.starts_with("3 blocks were void"), "{}", ruling.because);
}
