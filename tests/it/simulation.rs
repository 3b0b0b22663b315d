//! What the product claims about itself, and that a broken engine would be noticed.

use gate::judge::crossover::{Block, Bounds, Decision, Design, stop};
use gate::judge::noise;
use gate::judge::simulate::{ModelResult, claimed_engine, simulate, simulate_with};
use gate::model::plan::Order;
use gate::model::sample::Arm;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::engine::mapped;

const SESSIONS: u32 = 400;

#[test]
fn planned_blocks_have_the_planned_power() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    for (cap, ratio) in noise::CARRIED {
        let design = Design::sequential(cap, 0.01, 0.05, 0.25).unwrap();
        let bounds = Bounds {
            m0: 0.0,
            m1: 0.02,
            floor: 0.0,
        };
        let mut found = 0;
        for _ in 0..800 {
            let still = vec![
                Block {
                    orientation: Order::Abba.orientation(0),
                    y: [0.0; 4]
                };
                cap
            ];
            let run = |_, _, candidate| {
                let noise: f64 = rng.sample(StandardNormal);
                0.02 * ratio * noise + if candidate { 0.02 } else { 0.0 }
            };
            let decision = stop(&design, bounds, &mapped(&still, run)).unwrap().decision;
            found += usize::from(decision == Decision::Regression);
        }
        assert!(
            found >= 735,
            "cap {cap}, noise {ratio} of the margin: found in {found} of 800 sessions, 760 expected"
        );
    }
}

#[test]
fn the_claim_holds() {
    let results = simulate(SESSIONS, 1).unwrap();
    assert_eq!(results.len(), 11);
    for result in &results {
        result.holds().unwrap();
    }
    assert_eq!(simulate(SESSIONS, 1).unwrap(), results, "the same seed, other numbers");
}

#[test]
fn a_broken_engine_does_not_hold() {
    let (design, bounds) = claimed_engine().unwrap();
    let noisy_candidate = |blocks: &[Block]| stop(&design, bounds, &heavier(blocks, 2.0));
    let half_tolerance = Bounds {
        m1: 0.5 * bounds.m1,
        ..bounds
    };
    let twice_tolerance = Bounds {
        m1: 2.0 * bounds.m1,
        ..bounds
    };
    let normal = Design {
        c: vec![2.33; design.c.len()],
        ..design.clone()
    };
    fails("twice the noise in the candidate", simulate_with(SESSIONS, 1, noisy_candidate));
    fails(
        "half the tolerance",
        simulate_with(SESSIONS, 1, |b| stop(&design, half_tolerance, b)),
    );
    fails(
        "twice the tolerance",
        simulate_with(SESSIONS, 1, |b| stop(&design, twice_tolerance, b)),
    );
    fails("normal quantiles for t", simulate_with(SESSIONS, 1, |b| stop(&normal, bounds, b)));
    fails("never a decision", simulate_with(SESSIONS, 1, |_| None));
}

/// The candidate's deviations from its own mean, `factor` times as large.
fn heavier(blocks: &[Block], factor: f64) -> Vec<Block> {
    let of = |block: &Block| block.orientation.arms().iter().map(|arm| *arm == Arm::B).zip(block.y);
    let candidate: Vec<f64> = blocks.iter().flat_map(of).filter(|(b, _)| *b).map(|(_, y)| y).collect();
    let mean = candidate.iter().sum::<f64>() / candidate.len() as f64;
    mapped(blocks, |_, y, candidate| if candidate { mean + factor * (y - mean) } else { y })
}

fn fails(what: &str, results: Vec<ModelResult>) {
    let why: Vec<String> = results.iter().filter_map(|result| result.holds().err()).collect();
    println!("{what}: {why:#?}");
    assert!(!why.is_empty(), "{what} went unnoticed");
}
