//! What pairing shows, for any counts.

use gate::judge::distribution::fair_coin_tail;
use gate::judge::paired::{
    ALPHA, Document, Flips, Likelihood, Limited, Margin, SCORE_TEST_FROM, Shown, against_limit, items_needed, shown, too_few_for_any_answer,
};
use gate::judge::unpaired::{Unpaired, false_alarm, from_noise};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const POINT: f64 = 0.01;

fn flips(lost: u64, gained: u64, items: u64) -> Flips {
    Flips::new(lost, gained, items).unwrap()
}

/// Some counts, small and large, by seeded chance.
fn any_flips(rng: &mut ChaCha8Rng) -> Flips {
    let items = [30, 199, 200, 1319, 14_042][rng.random_range(0..5)];
    let most = items / [1, 3, 20][rng.random_range(0..3)];
    let some = rng.random_range(0..=most);
    let lost = rng.random_range(0..=some);
    flips(lost, some - lost, items)
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(1.0)
}

#[test]
fn exchanging_the_models_turns_every_number_round() {
    let mut rng = ChaCha8Rng::seed_from_u64(41);
    for _ in 0..500 {
        let one = any_flips(&mut rng);
        let other = flips(one.gained, one.lost, one.items);
        let d = rng.random_range(-0.3..0.3);
        assert!(near(one.score(d).unwrap(), -other.score(-d).unwrap()), "{one:?} at {d}");
        let [low, high] = one.interval(0.95).unwrap();
        let [mirrored_low, mirrored_high] = other.interval(0.95).unwrap();
        assert!(near(low, -mirrored_high) && near(high, -mirrored_low), "{one:?}");
        assert!(low <= one.gain() && one.gain() <= high, "{one:?}: [{low}, {high}]");
        let [exact, mirrored] = [one, other].map(|flips| flips.mcnemar().unwrap());
        assert_eq!(exact.different, mirrored.different);
        // Both one-sided p-values count the outcome that was seen.
        let seen = fair_coin_tail(one.lost, one.flips()).unwrap() - fair_coin_tail(one.lost + 1, one.flips()).unwrap();
        assert!((exact.worse + mirrored.worse - 1.0 - seen).abs() < 1e-9, "{one:?}");
    }
}

#[test]
fn every_further_loss_makes_it_worse() {
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    for _ in 0..300 {
        let one = any_flips(&mut rng);
        if one.flips() == one.items {
            continue;
        }
        let more = flips(one.lost + 1, one.gained, one.items);
        assert!(more.gain() < one.gain());
        assert!(more.mcnemar().unwrap().worse < one.mcnemar().unwrap().worse + 1e-12, "{one:?}");
        let [one_z, more_z] = [one, more].map(|flips| flips.score(-POINT).unwrap());
        assert!(more_z < one_z, "{one:?}: {one_z}, then {more_z}");
        let steps: Vec<f64> = (-9..=9).map(|at| one.score(0.1 * f64::from(at)).unwrap()).collect();
        assert!(
            steps.is_sorted_by(|a, b| a >= b),
            "{one:?}: the score falls as the hypothesis rises: {steps:?}"
        );
    }
}

#[test]
fn an_interval_holds_what_its_test_does_not_reject() {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    for _ in 0..200 {
        let one = any_flips(&mut rng);
        let [low, high] = one.interval(0.9).unwrap();
        let margin = Margin::paired(one, POINT).unwrap();
        let (not_worse, beyond) = (margin.not_worse <= ALPHA, margin.beyond <= ALPHA);
        assert_eq!((not_worse, beyond), (low > -POINT, high < -POINT), "{one:?}: [{low}, {high}]");
    }
}

#[test]
fn few_items_are_judged_by_the_exact_test_alone() {
    for items in [1, 4, 5, 30, 164, 199] {
        for lost in 0..=items {
            for gained in 0..=(items - lost).min(12) {
                let one = flips(lost, gained, items);
                let expected = one.mcnemar().unwrap().worse <= ALPHA;
                match shown(one, POINT, ALPHA).unwrap() {
                    Shown::Worse => assert!(expected, "{one:?}"),
                    Shown::Open { more } => assert!(!expected && more.is_none_or(|more| more > 0), "{one:?}"),
                    other => panic!("{one:?}: {other:?} from fewer than {SCORE_TEST_FROM} items"),
                }
            }
        }
    }
    assert!(too_few_for_any_answer(4, ALPHA) && !too_few_for_any_answer(5, ALPHA));
    // From there on the score test decides, even without a single flip.
    assert_eq!(shown(flips(0, 0, 500), POINT, ALPHA), Some(Shown::NotWorse));
    assert_eq!(shown(flips(0, 0, 200), POINT, ALPHA), Some(Shown::Open { more: Some(68) }));
    assert_eq!(shown(flips(0, 0, 268), POINT, ALPHA), Some(Shown::NotWorse));
    assert_eq!(shown(flips(60, 10, 1319), POINT, ALPHA), Some(Shown::BeyondMargin));
}

#[test]
fn what_is_open_says_how_many_items_would_tell() {
    for (discordance, items) in [(0.03, 1855), (0.1, 6183), (0.0, 268)] {
        assert_eq!(items_needed(discordance, POINT), Some(items));
    }
    assert_eq!(shown(flips(22, 18, 1319), POINT, ALPHA), Some(Shown::Open { more: Some(556) }));
    // Where as many are there already, the change itself lies near the margin.
    let Some(Shown::Open { more: Some(more) }) = shown(flips(281, 150, 14_042), POINT, ALPHA) else {
        panic!("open, with a number")
    };
    assert!(more > 100_000, "{more}");
    let at_the_margin = flips(2000, 1000, 100_000);
    assert_eq!(shown(at_the_margin, POINT, ALPHA), Some(Shown::Open { more: None }));
}

#[test]
fn what_is_no_count_or_no_margin_has_no_answer() {
    assert_eq!(Flips::new(0, 0, 0), None);
    assert_eq!(Flips::new(3, 3, 5), None);
    assert_eq!(Flips::new(u64::MAX, 1, u64::MAX), None);
    let one = flips(3, 2, 300);
    for (margin, alpha) in [(0.0, ALPHA), (1.0, ALPHA), (f64::NAN, ALPHA), (POINT, 0.0), (POINT, f64::NAN)] {
        assert_eq!(shown(one, margin, alpha), None, "{margin} {alpha}");
    }
    assert_eq!(
        (one.score(1.0), one.score(f64::NAN), one.interval(0.0), one.interval(1.0)),
        (None, None, None, None)
    );
    assert_eq!(
        (items_needed(1.1, POINT), items_needed(0.1, f64::NAN), items_needed(0.1, 1e-9)),
        (None, None, None)
    );
    assert_eq!(flips(7, 0, 7).interval(0.95).unwrap()[0], -1.0);
}

/// A table of error rates and powers that was measured apart from this program: 1319 items of which 3 % flip, and 164 of which 5 % do.
#[test]
fn the_answers_are_right_as_often_as_they_claim() {
    const RUNS: u32 = 3000;
    let mut rng = ChaCha8Rng::seed_from_u64(44);
    for (items, discordance, gain, expected) in [
        (1319, 0.03, 0.0, [3.7, 66.2, 0.0]),
        (1319, 0.03, -0.01, [62.7, 4.7, 5.5]),
        (1319, 0.03, -0.02, [99.6, 0.0, 73.5]),
        (164, 0.05, 0.0, [2.0, 0.0, 0.0]),
    ] {
        let mut found = [0_u32; 3];
        for _ in 0..RUNS {
            let (mut lost, mut gained) = (0, 0);
            for _ in 0..items {
                let at = rng.random_range(0.0..1.0);
                lost += u64::from(at < 0.5 * (discordance - gain));
                gained += u64::from(at >= 1.0 - 0.5 * (discordance + gain));
            }
            let one = flips(lost, gained, items);
            let answer = shown(one, POINT, ALPHA).unwrap();
            found[0] += u32::from(one.mcnemar().unwrap().worse <= ALPHA);
            found[1] += u32::from(answer == Shown::NotWorse);
            found[2] += u32::from(answer == Shown::BeyondMargin);
        }
        for (found, expected) in found.iter().zip(expected) {
            let percent = 100.0 * f64::from(*found) / f64::from(RUNS);
            assert!(
                (percent - expected).abs() < 3.0,
                "{items} items, gain {gain}: {percent} %, {expected} % expected"
            );
        }
    }
}

#[test]
fn noise_alone_fails_tasks_as_often_as_measured() {
    // Standard errors of the difference of two independent scores, in points, and how often a drop of 1 point is exceeded.
    let binomial = |p: f64, n: f64| 100.0 * (2.0 * p * (1.0 - p) / n).sqrt();
    let mut chances = Vec::new();
    for (se, expected) in [
        (binomial(0.75, 1319.0), 0.277),
        (binomial(0.6, 14_042.0), 0.0436),
        (binomial(0.5, 198.0), 0.421),
    ] {
        let chance = false_alarm(1.0, se).unwrap();
        assert!((chance - expected).abs() < 5e-3, "{chance}, {expected} expected");
        chances.push(chance);
    }
    let all = from_noise(&chances);
    assert_eq!(all.tasks, 3);
    assert!(near(all.expected, chances.iter().sum()) && all.any < all.expected && all.any > chances[2]);
    let none = from_noise(&[]);
    assert_eq!((none.tasks, none.expected, none.any), (0, 0.0, 0.0));
    assert_eq!(
        (false_alarm(1.0, 0.0), false_alarm(-1.0, 1.0), false_alarm(1.0, f64::NAN)),
        (Some(0.0), None, None)
    );
}

#[test]
fn an_error_of_zero_proves_nothing() {
    let changed = Unpaired::of(-0.2, [0.0, 0.0], POINT).unwrap();
    assert_eq!((changed.z, changed.p_worse, changed.margin), (None, None, None));
    assert_eq!(Unpaired::of(f64::NAN, [0.1, 0.1], POINT), None);
    assert_eq!(Unpaired::of(0.1, [0.1, -0.1], POINT), None);
    let alike = Likelihood::of(&[0.5, 0.5, 0.5]).unwrap();
    assert_eq!((alike.t, alike.p_worse, alike.ppl_ratio_ci95), (None, None, [alike.ppl_ratio; 2]));
}

#[test]
fn documents_by_length_are_clusters_of_tokens() {
    let mut rng = ChaCha8Rng::seed_from_u64(45);
    let differences: Vec<f64> = (0..50).map(|_| rng.random_range(-0.02..0.03)).collect();
    let plain = Likelihood::of(&differences).unwrap();
    let heavy = |&difference: &f64| Document {
        difference: 80.0 * difference,
        weight: 80.0,
    };
    let weighted = Likelihood::weighted(&differences.iter().map(heavy).collect::<Vec<_>>()).unwrap();
    assert!(near(plain.mean, weighted.mean) && near(plain.se, weighted.se) && near(plain.ppl_ratio, weighted.ppl_ratio));
    let turned: Vec<f64> = differences.iter().map(|difference| -difference).collect();
    let turned = Likelihood::of(&turned).unwrap();
    assert!(near(plain.ppl_ratio * turned.ppl_ratio, 1.0));
    assert!(near(plain.p_worse.unwrap() + turned.p_worse.unwrap(), 1.0));
    for bad in [vec![], vec![0.1], vec![0.1, f64::NAN], vec![1e4, -2e5]] {
        assert_eq!(Likelihood::of(&bad), None, "{bad:?}");
    }
    assert_eq!(
        Likelihood::weighted(
            &[Document {
                difference: 0.1,
                weight: 0.0
            }; 3]
        ),
        None
    );
}

#[test]
fn a_limit_is_kept_only_beyond_the_error() {
    for (estimate, se, expected) in [
        (0.010, 0.001, Limited::Within),
        (0.010, 0.007, Limited::Open),
        (0.020, 0.000, Limited::Open),
        (0.022, 0.002, Limited::Open),
        (0.030, 0.001, Limited::Beyond),
    ] {
        assert_eq!(against_limit(estimate, se, 0.02), Some(expected), "{estimate} ± {se}");
    }
    assert_eq!(against_limit(f64::NAN, 0.1, 0.02), None);
    assert_eq!(against_limit(0.1, -0.1, 0.02), None);
}
