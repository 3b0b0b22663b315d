//! What must hold for any session.

use gate::judge::crossover::{
    Block, Bounds, Claim, Decision, Design, Replay, arms_differ, decide, floor_log, margin, promote, stop, worse,
};
use gate::judge::ranks::survival_of_equal;
use gate::judge::simulate::claimed_engine;
use gate::judge::{noise, prediction};
use gate::model::metric::{Better, Scale};
use gate::model::plan::{Order, Orientation};
use gate::model::sample::Arm;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Random sessions of every temper: quiet to wild, better to much worse.
fn sessions(cap: usize, count: usize) -> Vec<Vec<Block>> {
    let mut rng = ChaCha8Rng::seed_from_u64(20_261_130);
    let mut session = |_| {
        let sd = 10_f64.powf(rng.random_range(-3.5..-1.3));
        let effect = rng.random_range(-0.03..0.05);
        let block = |index: usize| {
            let orientation = Order::ThueMorse.orientation(index as u32);
            let arms = orientation.arms();
            let mut value = |slot: usize| sd * rng.sample::<f64, _>(StandardNormal) + if arms[slot] == Arm::B { effect } else { 0.0 };
            Block {
                orientation,
                y: std::array::from_fn(&mut value),
            }
        };
        (0..cap).map(block).collect()
    };
    (0..count).map(&mut session).collect()
}

/// The same blocks with each response replaced by `change(run, response, whether the candidate ran)`.
pub fn mapped(blocks: &[Block], mut change: impl FnMut(usize, f64, bool) -> f64) -> Vec<Block> {
    let turn = |(index, block): (usize, &Block)| {
        let arms = block.orientation.arms();
        Block {
            y: std::array::from_fn(|slot| change(4 * index + slot, block.y[slot], arms[slot] == Arm::B)),
            ..*block
        }
    };
    blocks.iter().enumerate().map(turn).collect()
}

#[test]
fn a_decided_session_never_changes_its_mind() {
    let mut met = std::collections::HashSet::new();
    for max_blocks in [2, 4, 6, 14] {
        let design = Design::sequential(max_blocks, 0.01, 0.05, 0.25).unwrap();
        let bounds = Bounds {
            m0: 0.0,
            m1: 0.02,
            floor: 0.0007,
        };
        for blocks in sessions(max_blocks + 3, 200) {
            let whole = decide(&design, bounds, &blocks);
            let end = whole.stop.expect("the cap is reached");
            met.insert(end.decision);
            for k in 0..=blocks.len() {
                let replay = decide(&design, bounds, &blocks[..k]);
                assert_eq!(replay.stop, stop(&design, bounds, &blocks[..k]), "the short form differs");
                assert_eq!(replay.stop, (k >= end.k).then_some(end), "after {k} blocks, the end being {end:?}");
                assert_eq!(replay.looks, whole.looks[..replay.looks.len()], "an earlier look changed");
            }
            assert_eq!(whole.looks.last().unwrap().k, end.k, "looks go on after the decision");
        }
    }
    assert_eq!(met.len(), 5, "some decision never came up: {met:?}");
}

#[test]
fn every_look_survives_json() {
    let (design, bounds) = claimed_engine().unwrap();
    for blocks in sessions(14, 50) {
        let replay = decide(&design, bounds, &blocks);
        let text = serde_json::to_string(&replay).unwrap();
        assert_eq!(serde_json::from_str::<Replay<Decision>>(&text).unwrap(), replay);
    }
    let still = mapped(&sessions(14, 1)[0], |_, _, _| 3.0);
    let replay = decide(&design, Bounds { floor: 0.0, ..bounds }, &still);
    assert_eq!(replay.looks[0].t_r, None, "0/0 is no number");
    assert_eq!(
        (replay.looks[0].t_p, replay.looks[0].p_p),
        (None, Some(0.0)),
        "m1/0 is no number, its p-value is 0"
    );
    assert_eq!(replay.stop.unwrap().decision, Decision::NoRegression);
}

#[test]
fn swapped_arms_flip_the_estimate_and_nothing_else() {
    let (design, bounds) = claimed_engine().unwrap();
    for blocks in sessions(14, 100) {
        let swapped: Vec<Block> = blocks
            .iter()
            .map(|block| Block {
                orientation: other(block.orientation),
                ..*block
            })
            .collect();
        let (a, b) = (decide(&design, bounds, &blocks), decide(&design, bounds, &swapped));
        let (a, b) = (&a.looks[0], &b.looks[0]);
        assert!((a.est + b.est).abs() < 1e-15 && (a.hl + b.hl).abs() < 1e-15, "{a:?} {b:?}");
        assert!(
            (a.sp_raw - b.sp_raw).abs() < 1e-15 && (a.gamma - b.gamma).abs() < 1e-15,
            "{a:?} {b:?}"
        );
        assert_eq!((a.slower, a.faster), (b.faster, b.slower));
    }
}

fn other(orientation: Orientation) -> Orientation {
    match orientation {
        Orientation::Abba => Orientation::Baab,
        Orientation::Baab => Orientation::Abba,
        Orientation::B => Orientation::A,
        Orientation::A => Orientation::B,
    }
}

#[test]
fn a_faster_machine_or_a_steady_drift_changes_nothing() {
    let (design, bounds) = claimed_engine().unwrap();
    for blocks in sessions(14, 100) {
        let plain = decide(&design, bounds, &blocks);
        let scaled = decide(&design, bounds, &mapped(&blocks, |_, y, _| y + 4.2));
        let drifting = decide(&design, bounds, &mapped(&blocks, |t, y, _| y + 0.01 * t as f64));
        for moved in [&scaled, &drifting] {
            assert_eq!(moved.stop, plain.stop);
            for (a, b) in plain.looks.iter().zip(&moved.looks) {
                assert!((a.est - b.est).abs() < 1e-13 && (a.sp_raw - b.sp_raw).abs() < 1e-13, "{a:?} {b:?}");
            }
        }
        assert!(
            (drifting.looks[0].gamma - plain.looks[0].gamma - 0.01).abs() < 1e-13,
            "gamma is the drift of a run"
        );
    }
}

#[test]
fn a_claim_is_the_same_engine_on_the_negated_response() {
    let (design, bounds) = claimed_engine().unwrap();
    let constant = |effect: f64| mapped(&sessions(14, 1)[0], |_, _, candidate| if candidate { effect } else { 0.0 });
    for (effect, claim) in [
        (-0.05, Claim::ImprovementShown),
        (-0.01, Claim::ImprovementShownSmaller),
        (0.0, Claim::ClaimRejected),
        (0.05, Claim::ClaimRejected),
    ] {
        assert_eq!(
            promote(&design, bounds, &constant(effect)).stop.unwrap().decision,
            claim,
            "at {effect}"
        );
    }
    for blocks in sessions(14, 100) {
        let negated = decide(&design, bounds, &mapped(&blocks, |_, y, _| -y));
        assert_eq!(promote(&design, bounds, &blocks).looks, negated.looks);
    }
}

#[test]
fn responses_and_margins_follow_the_direction() {
    assert_eq!(
        worse(0.0, Scale::Pct, Better::Higher),
        None,
        "0 tokens/s is a failed run, not a number"
    );
    assert_eq!(worse(-1.0, Scale::Pct, Better::Lower), None);
    assert_eq!(worse(f64::NAN, Scale::Abs, Better::Lower), None);
    assert_eq!(worse(f64::INFINITY, Scale::Abs, Better::Lower), None);
    assert_eq!(worse(-2.5, Scale::Abs, Better::Higher), Some(2.5));
    assert_eq!(margin(0.02, Scale::Pct, Better::Lower), Some(0.02_f64.ln_1p()));
    let loss = margin(0.02, Scale::Pct, Better::Higher).unwrap();
    assert!((loss + 0.98_f64.ln()).abs() < 1e-15, "{loss}");
    assert_eq!(margin(3.0, Scale::Abs, Better::Higher), Some(3.0));
    assert_eq!(
        margin(1.0, Scale::Pct, Better::Higher),
        None,
        "nothing is left after a loss of everything"
    );
    assert_eq!(margin(-0.1, Scale::Pct, Better::Lower), None);
}

#[test]
fn the_floor_is_frozen_after_two_blocks() {
    let mut values = vec![50.0; 8];
    let step = floor_log(0.0005, 0.5, &values);
    assert!((step - 0.5 / (6.0_f64.sqrt() * 50.0)).abs() < 1e-15, "{step}");
    values.extend([1.0; 40]);
    assert_eq!(floor_log(0.0005, 0.5, &values), step);
    assert_eq!(floor_log(0.0005, 0.0, &values), 0.0005 * 2.0_f64.sqrt());
}

#[test]
fn designs_outside_their_ranges_are_refused() {
    assert!(Design::sequential(1, 0.01, 0.05, 0.25).is_err());
    assert!(Design::sequential(29, 0.01, 0.05, 0.25).is_err());
    assert!(Design::fixed(1, 0.01, 0.05, 0.25).is_err());
    assert!(Design::sequential(14, 0.0, 0.05, 0.25).is_err());
    assert!(Design::sequential(14, 0.01, 0.5, 0.25).is_err());
    assert!(Design::sequential(14, 0.01, 0.05, 1.0).is_err());
    let large = Design::fixed(60, 0.01, 0.05, 0.25).unwrap();
    assert_eq!(
        (large.looks.as_slice(), large.rank.is_some(), large.level_r),
        ([60].as_slice(), false, 0.01)
    );
    assert!(Design::fixed(28, 0.01, 0.05, 0.25).unwrap().rank.is_some());
}

#[test]
fn the_claimed_design_has_the_published_numbers() {
    let (design, _) = claimed_engine().unwrap();
    let published = [21.5677, 7.0426, 5.1367, 4.4488, 3.8915, 3.5795, 3.4077];
    assert!(design.c.iter().zip(published).all(|(c, p)| (c - p).abs() < 5e-5), "{:?}", design.c);
    let rank = design.rank.unwrap();
    let survival = survival_of_equal(rank.blocks).unwrap();
    let least = |level: Option<f64>| survival.iter().position(|p| *p <= level.unwrap());
    assert_eq!((least(rank.alpha), least(rank.beta)), (Some(158), Some(147)));
}

/// Fourteen blocks with z = 1..=14 and these x: the first is so wild that the t look decides nothing.
fn ranked(wild: f64, others: &[(usize, f64)]) -> Vec<Block> {
    let others = others.iter().flat_map(|&(times, x)| std::iter::repeat_n(x, times));
    let x = std::iter::once(wild).chain(others);
    let block = |(index, x)| Block {
        orientation: Orientation::Abba,
        y: [0.0, x, 0.0, (index + 1) as f64],
    };
    x.enumerate().map(block).collect()
}

#[test]
fn the_rank_look_decides_from_its_published_count_on() {
    let (design, bounds) = claimed_engine().unwrap();
    let end = |blocks: &[Block]| {
        assert_eq!(blocks.len(), 14);
        let only_the_last = Design {
            looks: vec![14],
            c: vec![3.4077],
            f: vec![2.7494],
            t95: vec![2.06],
            ..design.clone()
        };
        let stop = decide(&only_the_last, bounds, blocks).stop.unwrap();
        (stop.decision, stop.by_rank)
    };
    // x beats 12 z at 12.5 and 13 at 13.5: 158 and 157 wins; z beats 12 x at 2.5 and 11 at 3.5: 147 and 146.
    assert_eq!(end(&ranked(-1e6, &[(11, 12.5), (2, 13.5)])), (Decision::Regression, true));
    assert_eq!(end(&ranked(-1e6, &[(12, 12.5), (1, 13.5)])), (Decision::Inconclusive, false));
    assert_eq!(end(&ranked(1e6, &[(4, 2.5), (9, 3.5)])), (Decision::NoRegression, true));
    assert_eq!(end(&ranked(1e6, &[(3, 2.5), (10, 3.5)])), (Decision::Inconclusive, false));
}

#[test]
fn unequal_arms_are_told_from_equal_ones() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut arm = |sd: f64, n: usize| -> Vec<f64> { (0..n).map(|_| sd * rng.sample::<f64, _>(StandardNormal)).collect() };
    for n in [8, 14, 28, 56] {
        let told = |other: f64, arm: &mut dyn FnMut(f64, usize) -> Vec<f64>| {
            (0..4000)
                .filter(|_| arms_differ(&arm(1.0, n), &arm(other, n), 0.0).is_some())
                .count()
        };
        let equal = told(1.0, &mut arm);
        assert!(
            (4..=48).contains(&equal),
            "{equal} of 4000 equal arms of {n} runs were called different"
        );
        let unequal = told(10.0, &mut arm);
        assert!(unequal > 2400, "only {unequal} of 4000 unequal arms of {n} runs were seen");
    }
    assert_eq!(arms_differ(&[1.0; 7], &[0.0; 7], 0.0), None, "seven runs say nothing");
    let mut quantised = [1.0; 12];
    quantised[3] = 1.001;
    assert!(arms_differ(&[1.0; 12], &quantised, 0.0).is_some());
    assert_eq!(arms_differ(&[1.0; 12], &quantised, 0.0005), None, "rounding is no difference");
}

#[test]
fn predictions_say_why_they_are_none() {
    use prediction::NoPrediction::{NotANumber, TooFewSessions};
    assert_eq!(prediction::predict(&[], 0.0, 0.01), Err(TooFewSessions { sessions: 0 }));
    assert_eq!(prediction::predict(&[0.1], 0.0, 0.01), Err(TooFewSessions { sessions: 1 }));
    assert_eq!(prediction::predict(&[0.1, f64::NAN], 0.0, 0.01), Err(NotANumber));
    assert_eq!(prediction::predict(&[0.1, 0.2], 0.0, 0.0), Err(NotANumber));
    let still = prediction::predict(&[0.25, 0.25, 0.25], 0.5, 0.01).unwrap();
    assert_eq!((still.t, still.limit, still.exceeds), (None, 0.25, true));
}

#[test]
fn noise_plans_and_alarms() {
    let session = |sp| noise::SessionNoise { sp, df: 8 };
    let band = noise::pool(&[session(0.01); 5]).unwrap();
    assert!(!noise::alarm(session(0.012), &band).unwrap().noisier);
    assert!(noise::alarm(session(0.03), &band).unwrap().noisier);
    assert_eq!(noise::pool(&[]), None);
    assert_eq!(noise::pool(&[session(f64::NAN)]), None);
    let needed = [0.001, 0.006, 0.01, 0.012, 0.015, 0.0201].map(|sigma| noise::blocks_needed(sigma, 0.02));
    assert_eq!(needed, [Some(4), Some(6), Some(8), Some(12), Some(16), None]);
    assert_eq!(noise::carried_margin(0.012, 13), Some(0.02));
    assert_eq!(noise::carried_margin(0.012, 3), None);
}
