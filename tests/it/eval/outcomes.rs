//! The answers to single items, beside the rule and in it.

use gate::judge::drop::{Answer, Demand, Test, judge};
use gate::judge::paired::{Flips, Shown, Withheld, join};
use gate::model::eval::{Item, Outcomes, Results, Score};
use gate::model::judgement::Verdict;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{key, over, score};

fn outcomes(task: &str, items: &[(Item, bool)]) -> Outcomes {
    Outcomes {
        key: key(task),
        items: items.iter().map(|(item, _)| *item).collect(),
        right: items.iter().map(|(_, right)| if *right { '1' } else { '0' }).collect(),
    }
}

/// An item by its number.
fn item(number: u64) -> Item {
    Item::of(&number.to_be_bytes()[2..])
}

/// Two runs over the same items: `both` right in both, then those lost, then those gained, the rest wrong in both.
fn two(items: u64, both: u64, lost: u64, gained: u64) -> [Vec<(Item, bool)>; 2] {
    let right = |at: u64, candidate: bool| {
        let changed = both..both + lost + gained;
        at < both || (changed.contains(&at) && (at >= both + lost) == candidate)
    };
    [false, true].map(|candidate| (0..items).map(|at| (item(at), right(at, candidate))).collect())
}

fn judged(test: Test, [base, candidate]: [Vec<(Item, bool)>; 2]) -> Answer {
    let side = |run: &[(Item, bool)]| {
        let right = run.iter().filter(|(_, right)| *right).count();
        let score = over(run.len() as u64, score("t", right as f64 / run.len() as f64));
        Results {
            scores: vec![score],
            groups: Vec::new(),
            outcomes: vec![outcomes("t", run)],
        }
    };
    let demand = Demand { test, ..Demand::default() };
    let report = judge(&demand, &side(&base), &side(&candidate));
    report.answers.into_iter().next().unwrap()
}

#[test]
fn items_are_joined_by_digest_whatever_their_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..100 {
        let (both, lost, gained) = (rng.random_range(0..50), rng.random_range(0..20), rng.random_range(0..20));
        let items = both + lost + gained + rng.random_range(1..30);
        let [mut a, mut b] = two(items, both, lost, gained);
        a.shuffle(&mut rng);
        b.shuffle(&mut rng);
        let [base, candidate] = [&a, &b].map(|run| outcomes("t", run));
        assert_eq!(join(&base, &candidate), Ok(Flips::new(lost, gained, items).unwrap()));
        assert_eq!(join(&candidate, &base), Ok(Flips::new(gained, lost, items).unwrap()));
        // One item without its counterpart withholds all.
        let alone = outcomes("t", &b[1..]);
        assert_eq!(join(&base, &alone), Err(Withheld::Unmatched { base: 1, candidate: 0 }));
        b[0].0 = item(u64::MAX >> 16);
        assert_eq!(join(&base, &outcomes("t", &b)), Err(Withheld::Unmatched { base: 1, candidate: 1 }));
    }
}

#[test]
fn equal_items_are_joined_in_their_order() {
    let run = |rights: [bool; 3]| outcomes("t", &[1, 2, 1].map(item).into_iter().zip(rights).collect::<Vec<_>>());
    assert_eq!(
        join(&run([true, true, false]), &run([false, true, false])),
        Ok(Flips::new(1, 0, 3).unwrap())
    );
    assert_eq!(
        join(&run([true, true, false]), &run([true, true, true])),
        Ok(Flips::new(0, 1, 3).unwrap())
    );
    let fewer = outcomes("t", &[(item(1), true), (item(2), true)]);
    assert_eq!(join(&run([true; 3]), &fewer), Err(Withheld::Unmatched { base: 1, candidate: 0 }));
}

#[test]
fn outcomes_that_are_none_are_refused() {
    let good = outcomes("t", &[(item(1), true)]);
    let why = |base: &Outcomes| match join(base, &good) {
        Err(Withheld::Unusable { why }) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(&outcomes("u", &[])).contains("of u acc and of t acc"));
    assert!(
        why(&Outcomes {
            right: "11".to_owned(),
            ..good.clone()
        })
        .contains("1 items and 2 outcomes")
    );
    assert!(
        why(&Outcomes {
            right: "x".to_owned(),
            ..good.clone()
        })
        .contains("neither 0 nor 1")
    );
    let empty = outcomes("t", &[]);
    assert!(matches!(join(&empty, &empty), Err(Withheld::Unusable { .. })));
}

#[test]
fn the_paired_result_stands_beside_the_point_rule() {
    let answer = judged(Test::Point, two(1319, 900, 60, 10));
    assert_eq!(answer.verdict, Verdict::Regression);
    assert_eq!(answer.paired.unwrap().shown, Shown::BeyondMargin);
    insta::assert_snapshot!(answer.notes[0], @"paired over 1319 items: 60 lost, 10 gained, -3.79 pp [-5.12, -2.63] pp (95 %), exact one-sided p = 4.002e-10: shown to be worse than 1 pp");
    insta::assert_snapshot!(answer.because, @"t acc: 72.78 % in the base, 68.99 % in the candidate: a drop of 3.79 pp (-5.21 % of the base), more than the 1 pp that is allowed; n = 1319, one answer is 0.08 pp, standard error 1.23 pp in the base, 1.27 pp in the candidate, 0.63 pp of the paired difference.");
    let answer = judged(Test::Point, two(1319, 900, 30, 12));
    assert_eq!((answer.verdict, answer.withheld), (Verdict::Regression, None));
    assert!(matches!(answer.paired.unwrap().shown, Shown::Open { more: Some(_) }));
}

#[test]
fn a_failure_can_be_made_to_need_both() {
    let open = judged(Test::Paired, two(1319, 900, 30, 12));
    assert_eq!(open.verdict, Verdict::Inconclusive);
    assert!(
        open.because.contains("The rule wants the paired test too") && open.because.contains("more are needed"),
        "{}",
        open.because
    );
    assert_eq!(judged(Test::Paired, two(1319, 900, 60, 10)).verdict, Verdict::Regression);
    assert_eq!(judged(Test::Paired, two(1319, 900, 12, 12)).verdict, Verdict::NoRegression);
    let few = judged(Test::Paired, two(164, 80, 8, 0));
    assert_eq!((few.verdict, few.paired.unwrap().shown), (Verdict::Regression, Shown::Worse));
    let few = judged(Test::Paired, two(164, 80, 4, 1));
    assert_eq!(few.verdict, Verdict::Inconclusive);
    assert!(
        few.notes.iter().any(|note| note.contains("164 items are too few ever to show")),
        "{few:?}"
    );
    let never = judged(Test::Paired, two(4, 0, 4, 0));
    assert_eq!(never.verdict, Verdict::Inconclusive);
    assert!(never.because.contains("so few never can"), "{}", never.because);
    assert!(never.notes.iter().any(|note| note.contains("can never show anything")), "{never:?}");
}

#[test]
fn outcomes_that_do_not_make_the_score_are_not_used() {
    let [a, b] = two(400, 300, 6, 2);
    let side = |value: f64, run: &[(Item, bool)], items: Option<u64>| Results {
        scores: vec![Score {
            items,
            ..score("t", value)
        }],
        groups: Vec::new(),
        outcomes: vec![outcomes("t", run)],
    };
    for (base, candidate, items, why) in [
        (0.9, 0.5, Some(400), "the outcomes differ by -1.00 pp and the scores by -40.00 pp"),
        (0.765, 0.755, Some(399), "over 399 items and the outcomes are over 400"),
    ] {
        let report = judge(&Demand::default(), &side(base, &a, items), &side(candidate, &b, items));
        let answer = &report.answers[0];
        assert!(
            answer.paired.is_none() && answer.notes.iter().any(|note| note.contains(why)),
            "{answer:?}"
        );
    }
    let report = judge(&Demand::default(), &side(0.765, &a, None), &side(0.755, &b[1..], None));
    let answer = &report.answers[0];
    assert_eq!(answer.withheld, Some(Withheld::Unmatched { base: 1, candidate: 0 }));
    assert!(
        answer
            .notes
            .iter()
            .any(|note| note == "the paired result is withheld: 1 item of the base and 0 items of the candidate have no counterpart")
    );
    // Rounded scores are those of their outcomes still.
    let report = judge(&Demand::default(), &side(0.76, &a, Some(400)), &side(0.75, &b, Some(400)));
    assert!(report.answers[0].paired.is_some(), "{:?}", report.answers);
}
