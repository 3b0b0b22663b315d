use rand::{Rng, RngExt};
use rand_distr::{Exp1, StandardNormal};

use super::{RUNS, Rates};

/// The relative noise of a run where a kind names no other.
const RUN_SD: f64 = 0.007;

/// A kind of noise of ln(time); run numbers count from 0.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Independent normal runs of this sd.
    Independent(f64),
    /// First-order autoregression, coefficient 0.6, marginal sd 0.01.
    Autoregressive,
    /// Each run 0.001 slower than the one before.
    Drift,
    /// 0.03 · (1 − e^(−t/8)) slower at run t.
    Thermal,
    /// Two clock states 0.02 apart, kept from run to run with probability 0.9; runs of sd 0.004.
    Bimodal,
    /// One run in twenty slower by an exponential amount of mean 0.06.
    Spikes,
    /// Student t with 3 degrees of freedom, scaled to sd 0.01.
    HeavyTails,
    /// A common offset per session, sd 0.015.
    Session,
    /// The first run of every block 0.01 slower.
    FirstOfBlock,
    /// A random walk with steps of sd 0.004 under runs of sd 0.005.
    RandomWalk,
}

impl Kind {
    /// The noise of one whole session.
    pub(super) fn session(self, rng: &mut impl Rng) -> [f64; RUNS] {
        let offset = match self {
            Self::Session => 0.015 * normal(rng),
            _ => 0.0,
        };
        // What is carried from run to run: the walk's place, the autoregression's value, or the clock state (0 or 1).
        let mut state = match self {
            Self::Autoregressive => 0.01 * normal(rng),
            Self::Bimodal => f64::from(u8::from(rng.random_bool(0.5))),
            _ => 0.0,
        };
        std::array::from_fn(|t| offset + self.run(t, &mut state, rng))
    }

    fn run(self, t: usize, state: &mut f64, rng: &mut impl Rng) -> f64 {
        let plain = RUN_SD * normal(rng);
        match self {
            Self::Independent(sd) => plain * (sd / RUN_SD),
            Self::Autoregressive => {
                // Innovations of this sd keep the marginal sd: √(1 − 0.6²) = 0.8.
                let value = *state;
                *state = 0.6 * value + 0.8 * 0.01 * (plain / RUN_SD);
                value
            }
            Self::Drift => plain + 0.001 * t as f64,
            Self::Thermal => plain + 0.03 * (1.0 - (-(t as f64) / 8.0).exp()),
            Self::Bimodal => {
                let value = 0.02 * *state + 0.004 * (plain / RUN_SD);
                if rng.random_bool(0.1) {
                    *state = 1.0 - *state;
                }
                value
            }
            Self::Spikes if rng.random_bool(0.05) => plain + 0.06 * rng.sample::<f64, _>(Exp1),
            Self::Spikes | Self::Session => plain,
            Self::HeavyTails => {
                // The variance of t₃ is 3, so N/√(χ²₃/3) · 0.01/√3 = 0.01 · N/√χ²₃.
                let chi2: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
                0.01 * (plain / RUN_SD) / chi2.sqrt()
            }
            Self::FirstOfBlock => plain + if t.is_multiple_of(4) { 0.01 } else { 0.0 },
            Self::RandomWalk => {
                let value = *state + 0.005 * (plain / RUN_SD);
                *state += 0.004 * normal(rng);
                value
            }
        }
    }
}

fn normal(rng: &mut impl Rng) -> f64 {
    rng.sample(StandardNormal)
}

/// The claim: false alarms, power at +2 % and +3 %, inconclusive at 0 and +2 %, mean runs at 0, +1, +2 and +5 %.
pub(super) const MODELS: [(&str, Kind, Rates); 11] = [
    (
        "independent, sd 0.7 %",
        Kind::Independent(0.007),
        rates(0.01, 98.8, 100.0, [0.0, 0.0], [13.0, 20.6, 16.6, 11.3]),
    ),
    (
        "independent, sd 1 %",
        Kind::Independent(0.01),
        rates(0.14, 98.1, 100.0, [0.0, 0.0], [16.9, 30.2, 22.9, 12.5]),
    ),
    (
        "autoregressive 0.6, sd 1 %",
        Kind::Autoregressive,
        rates(0.01, 98.6, 100.0, [0.0, 0.0], [12.5, 18.9, 15.7, 11.2]),
    ),
    (
        "drift of 0.1 % a run",
        Kind::Drift,
        rates(0.01, 98.8, 100.0, [0.0, 0.0], [13.0, 20.7, 16.6, 11.3]),
    ),
    (
        "thermal ramp of 3 %",
        Kind::Thermal,
        rates(0.01, 98.6, 100.0, [0.0, 0.0], [13.0, 20.8, 16.7, 11.4]),
    ),
    (
        "two clock states 2 % apart",
        Kind::Bimodal,
        rates(0.01, 99.3, 100.0, [0.0, 0.0], [11.9, 17.4, 14.9, 10.8]),
    ),
    (
        "spikes of 6 % in 5 % of runs",
        Kind::Spikes,
        rates(0.02, 97.4, 99.6, [0.2, 1.3], [20.9, 33.0, 27.4, 15.1]),
    ),
    (
        "heavy tails (t3), sd 1 %",
        Kind::HeavyTails,
        rates(0.03, 98.7, 100.0, [0.0, 0.0], [15.5, 26.2, 20.5, 12.2]),
    ),
    (
        "session offsets, sd 1.5 %",
        Kind::Session,
        rates(0.01, 98.7, 100.0, [0.0, 0.0], [13.0, 20.6, 16.6, 11.4]),
    ),
    (
        "first run of a block 1 % slower",
        Kind::FirstOfBlock,
        rates(0.01, 99.4, 100.0, [0.0, 0.0], [14.7, 24.7, 18.1, 11.8]),
    ),
    (
        "random walk of 0.4 % a run",
        Kind::RandomWalk,
        rates(0.01, 98.8, 100.0, [0.0, 0.0], [11.8, 17.3, 14.7, 10.9]),
    ),
];

const fn rates(false_alarm_pct: f64, power_pct: f64, power_at_3_pct: f64, inconclusive_pct: [f64; 2], mean_runs: [f64; 4]) -> Rates {
    Rates {
        false_alarm_pct,
        power_pct,
        power_at_3_pct,
        inconclusive_pct,
        mean_runs,
    }
}
