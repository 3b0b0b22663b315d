//! The product's claim about itself, run again: seeded sessions under eleven kinds of noise, judged by the real engine.
//!
//! A session is up to 14 Thue–Morse blocks of ln(time) = noise, plus ln(1 + r) in the candidate's slots. The noise kinds are
//! assumptions, not measurements of a machine; the claimed rates come from an independent program and 20,000 sessions each.

mod noise;

use anyhow::Result;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::crossover::{Block, Bounds, Decision, Design, Stop, floor_log, stop};
use crate::model::plan::Order;
use crate::model::sample::Arm;
use noise::{Kind, MODELS};

const CAP: usize = 14;
const RUNS: usize = 4 * CAP;

/// The true slowdowns of the table, as fractions of the time.
const EFFECTS: [f64; 5] = [0.0, 0.01, 0.02, 0.03, 0.05];

/// How far, in standard errors, chance alone may carry a measured number from the claimed one: √(2 · 8), so that a sound
/// engine contradicts a number with a chance of about e⁻⁸, 1 in 3,000, at most.
const CHANCE: f64 = 4.0;

/// What a count adds to that many standard errors, in sessions: the last term of Bernstein's inequality, ⅔ · 8.
const CHANCE_COUNT: f64 = 16.0 / 3.0;

/// A bound on the standard deviation of a session's runs: a quarter of the largest number.
const RUNS_SD: f64 = 14.0;

/// The rates of one kind of noise, tolerance 2 %, at most 14 blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Sessions without a change that were called a regression, %.
    pub false_alarm_pct: f64,
    /// Sessions with +2 % that were called a regression, %.
    pub power_pct: f64,
    /// Sessions with +3 % that were called a regression, %.
    pub power_at_3_pct: f64,
    /// Inconclusive sessions without a change and with +2 %, %.
    pub inconclusive_pct: [f64; 2],
    /// Mean process runs without a change and with +1, +2 and +5 %.
    pub mean_runs: [f64; 4],
}

/// One kind of noise: what was measured now, and what is claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelResult {
    /// The noise, in words.
    pub name: String,
    /// Sessions for each effect.
    pub sessions: u32,
    /// The rates found.
    pub measured: Rates,
    /// The rates claimed.
    pub claimed: Rates,
}

impl ModelResult {
    /// Whether the engine keeps its claim: false alarms at most 1 %, power at +2 % within 1.5 points and mean runs without a
    /// change and at +2 % within 0.5 of the claimed ones.
    ///
    /// Few sessions widen each margin to what chance may do to the claimed number: for a rate p of n sessions four standard
    /// errors and 5⅓ sessions (Bernstein's inequality), for runs four standard errors. The plain margins bind from about 2,500
    /// sessions, for the runs from 12,500.
    ///
    /// # Errors
    /// The first number that contradicts the claim, with both and the margin.
    pub fn holds(&self) -> Result<(), String> {
        let Self {
            name, measured, claimed, ..
        } = self;
        let count = f64::from(self.sessions);
        let chance = |pct: f64| CHANCE * (pct * (100.0 - pct) / count).sqrt() + 100.0 * CHANCE_COUNT / count;
        let most = (claimed.false_alarm_pct + chance(claimed.false_alarm_pct)).max(1.0);
        if measured.false_alarm_pct > most {
            let found = measured.false_alarm_pct;
            return Err(format!("{name}: {found:.2} % false alarms, at most {most:.2} % expected"));
        }
        let runs_margin = (CHANCE * RUNS_SD / count.sqrt()).max(0.5);
        let power_margin = chance(claimed.power_pct).max(1.5);
        let [still, _, slower, _] = measured.mean_runs;
        let [claimed_still, _, claimed_slower, _] = claimed.mean_runs;
        for (what, found, expected, margin) in [
            ("power at +2 %, in %", measured.power_pct, claimed.power_pct, power_margin),
            ("mean runs without a change", still, claimed_still, runs_margin),
            ("mean runs at +2 %", slower, claimed_slower, runs_margin),
        ] {
            if (found - expected).abs() > margin {
                return Err(format!("{name}: {what}: {found:.2} found, {expected:.2} ± {margin:.2} expected"));
            }
        }
        Ok(())
    }
}

/// The engine that the claim is about: cap 14, α 1 %, β 5 %, a quarter kept for the rank look, tolerance 2 %.
///
/// # Errors
/// None in practice: the numbers are constants inside their ranges.
pub fn claimed_engine() -> Result<(Design, Bounds)> {
    let design = Design::sequential(CAP, 0.01, 0.05, 0.25)?;
    let bounds = Bounds {
        m0: 0.0,
        m1: 0.02_f64.ln_1p(),
        floor: floor_log(0.0005, 0.0, &[]),
    };
    Ok((design, bounds))
}

/// Runs `sessions` (at least one) for each noise and effect through the engine; the same seed gives the same numbers on
/// every machine and with any number of cores.
///
/// # Errors
/// None in practice; see [`claimed_engine`].
pub fn simulate(sessions: u32, seed: u64) -> Result<Vec<ModelResult>> {
    let (design, bounds) = claimed_engine()?;
    Ok(simulate_with(sessions, seed, |blocks| stop(&design, bounds, blocks)))
}

/// The same for any judge of 14 blocks; a judge that answers nothing counts as inconclusive after them.
pub fn simulate_with(sessions: u32, seed: u64, judge: impl Fn(&[Block]) -> Option<Stop<Decision>> + Sync) -> Vec<ModelResult> {
    let sessions = sessions.max(1);
    let judge = &judge;
    let mut results: Vec<Option<ModelResult>> = MODELS.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        for (stream, (slot, (name, kind, claimed))) in results.iter_mut().zip(MODELS).enumerate() {
            scope.spawn(move || {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(stream as u64);
                *slot = Some(ModelResult {
                    name: name.to_owned(),
                    sessions,
                    measured: rates(kind, sessions, &mut rng, judge),
                    claimed,
                });
            });
        }
    });
    results.into_iter().flatten().collect()
}

#[derive(Clone, Copy, Default)]
struct Tally {
    regressions: u32,
    inconclusive: u32,
    runs: u64,
}

impl Tally {
    fn count(&mut self, stop: Option<Stop<Decision>>) {
        match stop.map(|stop| stop.decision) {
            Some(Decision::Regression) => self.regressions += 1,
            Some(Decision::Inconclusive) | None => self.inconclusive += 1,
            Some(_) => {}
        }
        self.runs += 4 * stop.map_or(CAP, |stop| stop.k) as u64;
    }
}

fn rates(kind: Kind, sessions: u32, rng: &mut ChaCha8Rng, judge: impl Fn(&[Block]) -> Option<Stop<Decision>>) -> Rates {
    let mut tallies = [Tally::default(); EFFECTS.len()];
    for _ in 0..sessions {
        let noise = kind.session(rng);
        for (tally, effect) in tallies.iter_mut().zip(EFFECTS) {
            tally.count(judge(&blocks(&noise, effect.ln_1p())));
        }
    }
    let count = f64::from(sessions);
    let pct = |n: u32| 100.0 * f64::from(n) / count;
    let [none, one, two, three, five] = tallies;
    Rates {
        false_alarm_pct: pct(none.regressions),
        power_pct: pct(two.regressions),
        power_at_3_pct: pct(three.regressions),
        inconclusive_pct: [none, two].map(|tally| pct(tally.inconclusive)),
        mean_runs: [none, one, two, five].map(|tally| tally.runs as f64 / count),
    }
}

fn blocks(noise: &[f64; RUNS], effect: f64) -> [Block; CAP] {
    std::array::from_fn(|block| {
        let orientation = Order::ThueMorse.orientation(block as u32);
        let arms = orientation.arms();
        let slot = |i: usize| noise[4 * block + i] + if arms[i] == Arm::B { effect } else { 0.0 };
        Block {
            orientation,
            y: std::array::from_fn(slot),
        }
    })
}
