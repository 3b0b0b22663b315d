//! What A/A sessions say of a fixture: its noise, whether its processes fall into two states, whether order matters, and whether the two
//! equal arms really measure the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::{chi2_sf, normal_quantile, t_sf};
use super::noise::{Band, SessionNoise, pool};

/// A bias or an order effect is reported where chance explains it with less than this.
const LEVEL: f64 = 0.01;
/// Fewer processes than this cannot show two states.
const FEWEST_RUNS: usize = 16;
/// Two states explain at least this share of the variance. One normal state is split by chance into halves that explain 64 % of it.
const EXPLAINED_MIN: f64 = 0.85;
/// The rarer state holds at least this share of the processes: less is an outlier, not a state.
const SHARE_MIN: f64 = 0.1;
/// Fewer sessions than this cannot tell how large a bias is.
const BIAS_SESSIONS_MIN: usize = 3;

/// One session of equal arms, in response units (+ = worse).
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Estimated difference of the arms: noise, or bias.
    pub est: f64,
    /// Its standard error.
    pub se: f64,
    /// Standard deviation of its pair differences.
    pub sp: f64,
    /// Degrees of freedom.
    pub df: usize,
    /// Drift from one run to the next.
    pub gamma: f64,
    /// The response of every process, in the order of measuring.
    pub responses: Vec<f64>,
}

/// Processes that fall into two states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwoStates {
    /// Distance of the states' means, in response units.
    pub apart: f64,
    /// Share of the processes in the worse state.
    pub worse_share: f64,
    /// Share of the variance that the states explain.
    pub explained: f64,
}

/// Drift from one run to the next over all sessions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrderEffect {
    /// Mean drift a run, in response units.
    pub gamma: f64,
    /// Two-sided p of no drift.
    pub p: f64,
    /// Whether it is beyond chance.
    pub shown: bool,
}

/// Whether equal arms measure the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bias {
    /// p of no bias: the sum of the squared normal scores of the sessions' t against χ² (a plain sum of squared t is not χ² at few degrees of
    /// freedom).
    pub p: f64,
    /// Whether it is beyond chance.
    pub shown: bool,
    /// The null margin that would cover it, in response units; none with fewer than three sessions.
    pub null_margin: Option<f64>,
}

/// What A/A sessions say of a fixture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Character {
    /// Noise pooled over the sessions.
    pub band: Band,
    /// Two states across processes, if there are.
    pub two_states: Option<TwoStates>,
    /// Drift.
    pub order: OrderEffect,
    /// Bias.
    pub bias: Bias,
}

/// Characterises a fixture; none without a session that has noise and degrees of freedom.
pub fn characterise(sessions: &[Session]) -> Option<Character> {
    let noises: Vec<SessionNoise> = sessions
        .iter()
        .map(|session| SessionNoise {
            sp: session.sp,
            df: session.df,
        })
        .collect();
    let band = pool(&noises)?;
    Some(Character {
        band,
        two_states: two_states(sessions),
        order: order(sessions, band.nu)?,
        bias: bias(sessions)?,
    })
}

/// Splits the processes, each relative to its session's mean, where the split explains most of the variance (Fisher 1958, Otsu 1979).
fn two_states(sessions: &[Session]) -> Option<TwoStates> {
    let centred = |session: &Session| {
        let mean = session.responses.iter().sum::<f64>() / session.responses.len().max(1) as f64;
        session.responses.iter().map(move |y| y - mean).collect::<Vec<f64>>()
    };
    let mut values: Vec<f64> = sessions.iter().flat_map(centred).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let squares: f64 = values.iter().map(|y| y * y).sum();
    if n < FEWEST_RUNS || squares <= 0.0 {
        return None;
    }
    let total: f64 = values.iter().sum();
    let mut below = 0.0;
    let mut best: Option<TwoStates> = None;
    for (at, value) in values.iter().enumerate().take(n - 1) {
        below += value;
        let (low, high) = ((at + 1) as f64, (n - at - 1) as f64);
        let apart = (total - below) / high - below / low;
        let explained = low * high / n as f64 * apart * apart / squares;
        if best.is_none_or(|best| explained > best.explained) {
            best = Some(TwoStates {
                apart,
                worse_share: high / n as f64,
                explained,
            });
        }
    }
    best.filter(|states| states.explained >= EXPLAINED_MIN && states.worse_share.min(1.0 - states.worse_share) >= SHARE_MIN)
}

fn order(sessions: &[Session], nu: usize) -> Option<OrderEffect> {
    let count = sessions.len() as f64;
    let gamma = sessions.iter().map(|session| session.gamma).sum::<f64>() / count;
    // The drift's standard error is the effect's: both are half a sum or difference of the same two means.
    let se = sessions.iter().map(|session| session.se.powi(2)).sum::<f64>().sqrt() / count;
    let p = 2.0 * t_sf((gamma / se).abs(), nu as f64)?;
    Some(OrderEffect {
        gamma,
        p,
        shown: p < LEVEL,
    })
}

fn bias(sessions: &[Session]) -> Option<Bias> {
    let score = |session: &Session| normal_quantile(t_sf(session.est / session.se, session.df as f64)?);
    let scores: Vec<f64> = sessions.iter().map(score).collect::<Option<_>>()?;
    let p = chi2_sf(scores.iter().map(|score| score * score).sum(), sessions.len() as f64)?;
    let excess: f64 = sessions.iter().map(|session| session.est.powi(2) - session.se.powi(2)).sum();
    let null_margin = (sessions.len() >= BIAS_SESSIONS_MIN).then(|| 2.0 * (excess / sessions.len() as f64).max(0.0).sqrt());
    Some(Bias {
        p,
        shown: p < LEVEL,
        null_margin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    /// A session of 5 blocks with this bias and, in every other process drawn by a coin, this much more time.
    fn session(random: &mut ChaCha8Rng, bias: f64, drift: f64, state: f64) -> Session {
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        let responses: Vec<f64> = (0..20)
            .map(|run| {
                let worse = if normal() > 0.0 { state } else { 0.0 };
                0.01 * normal() + worse + drift * f64::from(run) + if run % 2 == 0 { bias } else { 0.0 }
            })
            .collect();
        let differences: Vec<f64> = (0..10).map(|pair| responses[2 * pair + 1] - responses[2 * pair]).collect();
        let (x, z): (Vec<f64>, Vec<f64>) = (
            differences.iter().step_by(2).copied().collect(),
            differences.iter().skip(1).step_by(2).copied().collect(),
        );
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64]| values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
        let sp = ((squares(&x) + squares(&z)) / 8.0).sqrt();
        let est = 0.5 * (mean(&x) - mean(&z));
        Session {
            est,
            se: sp / 10.0_f64.sqrt(),
            sp,
            df: 8,
            gamma: 0.5 * (mean(&x) + mean(&z)),
            responses,
        }
    }

    fn share(what: impl Fn(&Character) -> bool, bias: f64, drift: f64, state: f64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let shown = (0..400).filter(|_| {
            let sessions: Vec<Session> = (0..4).map(|_| session(&mut random, bias, drift, state)).collect();
            characterise(&sessions).is_some_and(|character| what(&character))
        });
        shown.count() as f64 / 400.0
    }

    #[test]
    fn plain_noise_has_one_state_no_drift_and_no_bias() {
        assert!(share(|character| character.two_states.is_some(), 0.0, 0.0, 0.0) < 0.01);
        assert!(share(|character| character.order.shown, 0.0, 0.0, 0.0) < 0.03);
        assert!(share(|character| character.bias.shown, 0.0, 0.0, 0.0) < 0.03);
    }

    #[test]
    fn two_states_and_drift_are_found() {
        let states = share(
            |character| character.two_states.is_some_and(|states| (states.apart - 0.1).abs() < 0.02),
            0.0,
            0.0,
            0.1,
        );
        let drift = share(|character| character.order.shown && character.order.gamma > 0.0, 0.0, 0.015, 0.0);
        assert!(states > 0.95 && drift > 0.99, "two states found in {states}, drift in {drift}");
    }

    #[test]
    fn a_bias_is_found_and_its_size_too() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let sessions: Vec<Session> = (0..4)
            .map(|_| {
                let mut session = session(&mut random, 0.0, 0.0, 0.0);
                session.est += 0.05;
                session
            })
            .collect();
        let bias = characterise(&sessions).unwrap().bias;
        assert!(
            bias.shown && bias.null_margin.is_some_and(|margin| (0.08..0.13).contains(&margin)),
            "{bias:?}"
        );
    }
}
