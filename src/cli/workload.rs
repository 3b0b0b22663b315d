//! `gate workload`: a program that was written to be measured, with a slowdown and a noise that are known.

use anyhow::Result;
use clap::{Args, Subcommand};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::answer;
use crate::edge::workload::{SPIN_BLOCKS_PER_MS, TRIAD_ELEMENTS_PER_MS, fresh_seed, spin, triad};
use crate::exit;
use crate::model::metric::{Scale, Tolerance};

/// Longest nominal work, in milliseconds.
const MS_MAX: u64 = 600_000;
/// Largest `--slow`, in percent.
const SLOW_MAX_PCT: f64 = 1_000.0;
/// Largest `--sd`, in percent.
const SD_MAX_PCT: f64 = 100.0;

/// Run the built-in workload of demo and selftest
///
/// Fixed work: the same arguments do the same number of iterations on every machine and in every run.
#[derive(Debug, Args)]
pub struct Workload {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Integer arithmetic in one long chain: prints `spin_ms`, `cpu_ms`, `iterations`, `check`
    Spin(Amount),
    /// `a = b + s * c` over three arrays of 16 MiB: prints `triad_gb_s`, `triad_ms`, `cpu_ms`, `iterations`, `check`
    Triad(Amount),
}

/// How much work to do.
#[derive(Debug, Args)]
pub struct Amount {
    /// Nominal milliseconds of work, 1 to 600000; the true time depends on the machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MS_MAX))]
    ms: u64,
    /// Do this much more work, such as 8%
    #[arg(long, value_name = "PCT", default_value = "0%", value_parser = slow)]
    slow: f64,
    /// Multiply the work by a log-normal factor of this standard deviation, such as 0.7%
    #[arg(long, value_name = "PCT", default_value = "0%", value_parser = sd)]
    sd: f64,
    /// Seed of that factor; without it every run draws another one
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

fn slow(text: &str) -> Result<f64, String> {
    percent(text, SLOW_MAX_PCT)
}

fn sd(text: &str) -> Result<f64, String> {
    percent(text, SD_MAX_PCT)
}

/// Reads `8%` as 0.08.
fn percent(text: &str, max_pct: f64) -> Result<f64, String> {
    let margin = Tolerance::parse_margin(text)?;
    match margin.scale {
        Scale::Pct if margin.value <= max_pct => Ok(margin.value / 100.0),
        Scale::Pct => Err(format!("{text}: at most {max_pct}%")),
        _ => Err(format!("{text}: want a percentage, such as 8%")),
    }
}

impl Amount {
    /// Iterations to do, at least one.
    fn iterations(&self, per_ms: u64) -> u64 {
        let noise = if self.sd > 0.0 {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed.unwrap_or_else(fresh_seed));
            let z: f64 = StandardNormal.sample(&mut random);
            (self.sd * z).exp()
        } else {
            1.0
        };
        let wanted = (self.ms * per_ms) as f64 * (1.0 + self.slow) * noise;
        (wanted.round() as u64).max(1)
    }
}

impl Workload {
    /// Does the work and prints one line of key-values.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn run(&self) -> Result<u8> {
        let text = match &self.kind {
            Kind::Spin(amount) => {
                let iterations = amount.iterations(SPIN_BLOCKS_PER_MS);
                let done = spin(iterations);
                format!(
                    "spin_ms={:.4} cpu_ms={:.4} iterations={iterations} check={}\n",
                    done.wall_ms, done.cpu_ms, done.check
                )
            }
            Kind::Triad(amount) => {
                let iterations = amount.iterations(TRIAD_ELEMENTS_PER_MS);
                let (done, gb_per_s) = triad(iterations);
                format!(
                    "triad_gb_s={gb_per_s:.4} triad_ms={:.4} cpu_ms={:.4} iterations={iterations} check={}\n",
                    done.wall_ms, done.cpu_ms, done.check
                )
            }
        };
        answer(&text)?;
        Ok(exit::PASS.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(slow: f64, sd: f64, seed: u64) -> Amount {
        Amount {
            ms: 100,
            slow,
            sd,
            seed: Some(seed),
        }
    }

    #[test]
    fn the_work_is_fixed_by_the_arguments() {
        assert_eq!(amount(0.0, 0.0, 1).iterations(1_000), 100_000);
        assert_eq!(amount(0.08, 0.0, 1).iterations(1_000), 108_000);
        assert_eq!(amount(0.0, 0.01, 7).iterations(1_000), amount(0.0, 0.01, 7).iterations(1_000));
        assert_ne!(amount(0.0, 0.01, 7).iterations(1_000), amount(0.0, 0.01, 8).iterations(1_000));
    }

    #[test]
    fn the_noise_has_the_declared_spread() {
        let logs: Vec<f64> = (0..2_000)
            .map(|seed| (amount(0.0, 0.02, seed).iterations(100_000) as f64 / 1e7).ln())
            .collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() - 1) as f64).sqrt();
        assert!(mean.abs() < 0.002 && (sd - 0.02).abs() < 0.002, "mean {mean}, sd {sd}");
    }

    #[test]
    fn percentages_are_percentages_within_their_limits() {
        assert_eq!(slow("8%"), Ok(0.08));
        for text in ["8", "8ms", "1001%", "-1%", "nan%"] {
            assert!(slow(text).is_err(), "{text}");
        }
        assert!(sd("101%").is_err());
    }
}
