//! `gate selftest`: proof on this machine that the gate passes what is the same and catches what is slower.

use anyhow::{Result, anyhow, bail};
use clap::{Args, Parser};

use super::perf::Perf;
use super::{Cancelled, answer, say};
use crate::edge::files::{self, Scratch};
use crate::exit::{self, Exit};
use crate::judge::noise::{self, SessionNoise};
use crate::judge::simulate::{ModelResult, simulate};
use crate::model::judgement::{Outcome, Verdict};
use crate::model::number::{chance, figure};
use crate::model::record::Record;

/// Nominal work of one process, in milliseconds.
const WORK_MS: u32 = 100;
/// Blocks of the session that characterises the host's noise.
const PILOT_BLOCKS: u32 = 5;
/// Cap of the two sessions that prove.
const CAP: usize = 14;
/// The slowdown that must be caught, in tolerances.
const SLOW_TOLERANCES: f64 = 3.0;
/// Smallest and largest tolerance that is tried, in percent.
const TOLERANCE_PCT: (f64, f64) = (1.0, 25.0);

/// Show that identical arms pass and a slowdown is caught on this host
///
/// Measures the built-in workload against itself to find the tolerance that this host's noise carries; then identical arms must pass, and a
/// slowdown of three times that tolerance must be caught. Exit 0 if both, 1 if an answer was wrong, 3 if the host is too noisy to tell.
#[derive(Debug, Args)]
pub struct Selftest {
    /// Simulate the decision engine on eleven models of noise instead of measuring
    #[arg(long)]
    simulate: bool,
    /// Simulated sessions for each model and effect
    #[arg(long, value_name = "N", default_value_t = 20_000, requires = "simulate", value_parser = clap::value_parser!(u32).range(50..=1_000_000))]
    sessions: u32,
    /// Seed of the simulation
    #[arg(long, value_name = "S", default_value_t = 1, requires = "simulate")]
    seed: u64,
}

/// The options of `gate perf`, as a command line of their own.
#[derive(Debug, Parser)]
#[command(name = "gate perf")]
struct Session {
    #[command(flatten)]
    perf: Perf,
}

impl Selftest {
    /// Runs it.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn run(&self) -> Result<u8> {
        let exit = if self.simulate { self.simulated()? } else { measured()? };
        Ok(exit.code)
    }

    fn simulated(&self) -> Result<Exit> {
        let results = simulate(self.sessions, self.seed)?;
        let mut out = format!(
            "{} sessions for each model and effect, seed {}, tolerance 2 %, cap {CAP} blocks\n\n",
            self.sessions, self.seed
        );
        let width = results.iter().map(|result| result.name.chars().count()).max().unwrap_or(0);
        out.push_str(&format!(
            "{:<width$} {:>13} {:>13} {:>11} {:>13} {:>15}\n",
            "noise", "false alarms", "power at +2 %", "claimed", "runs, nothing", "runs at +2 %"
        ));
        for ModelResult {
            name, measured, claimed, ..
        } in &results
        {
            out.push_str(&format!(
                "{name:<width$} {:>11.3} % {:>11.2} % {:>9.1} % {:>13.2} {:>15.2}\n",
                measured.false_alarm_pct, measured.power_pct, claimed.power_pct, measured.mean_runs[0], measured.mean_runs[2]
            ));
        }
        let broken: Vec<String> = results.iter().filter_map(|result| result.holds().err()).collect();
        out.push('\n');
        for why in &broken {
            out.push_str(&format!("broken: {why}\n"));
        }
        if broken.is_empty() {
            out.push_str("every model holds: false alarms at most 1 %, power as claimed\n");
        }
        answer(&out)?;
        Ok(if broken.is_empty() { exit::PASS } else { exit::FAIL })
    }
}

fn measured() -> Result<Exit> {
    let scratch = Scratch::new()?;
    let run = |slow_pct: f64, options: &[String]| session(&scratch, slow_pct, options);
    say("1 of 3: how noisy is this host");
    let pilot = run(0.0, &["--fixed-blocks".to_owned(), PILOT_BLOCKS.to_string()])?;
    let tolerance_pct = carried_pct(&pilot)?;
    if tolerance_pct > TOLERANCE_PCT.1 {
        answer(&format!(
            "too noisy: this host carries a tolerance of {tolerance_pct} % at best, which proves nothing; quiet it and try again\n"
        ))?;
        return Ok(exit::INCONCLUSIVE);
    }
    let options = ["--tolerance".to_owned(), format!("{tolerance_pct}%")];
    let slow_pct = SLOW_TOLERANCES * tolerance_pct;
    say(&format!("2 of 3: identical arms, tolerance {tolerance_pct} %"));
    let same = run(0.0, &options)?;
    say(&format!("3 of 3: a slowdown of {slow_pct} %"));
    let slower = run(slow_pct, &options)?;
    let mut out = format!("this host carries a tolerance of {tolerance_pct} % on {WORK_MS} ms of work\n");
    let passed = same.judgement.outcome == Outcome::Pass;
    let caught = slower.judgement.verdicts.iter().any(|ruling| ruling.verdict == Verdict::Regression);
    for (what, record, right) in [("identical arms", &same, passed), ("the slowdown", &slower, caught)] {
        let verdicts: Vec<&str> = record.judgement.verdicts.iter().map(|ruling| ruling.verdict.word()).collect();
        let runs = record.evidence.samples.len();
        out.push_str(&format!(
            "{what}: {} after {runs} processes: {}\n",
            verdicts.join(", "),
            if right { "right" } else { "not right" }
        ));
    }
    let open = [&same, &slower]
        .iter()
        .any(|record| record.judgement.outcome == Outcome::Inconclusive);
    let exit = match (passed && caught, open) {
        (true, _) => exit::PASS,
        (false, true) => exit::INCONCLUSIVE,
        (false, false) => exit::FAIL,
    };
    let rates = same.plan;
    out.push_str(match exit {
        exit::PASS => "selftest: both answers are right\n",
        exit::FAIL => "selftest: an answer is wrong\n",
        _ => "selftest: no answer, the host was too noisy\n",
    });
    if exit == exit::FAIL {
        out.push_str(&format!(
            "once in a while that is chance: identical arms fail in at most {} of runs, and a slowdown of the tolerance slips through in at most {}\n",
            chance(rates.alpha),
            chance(rates.beta)
        ));
    }
    answer(&out)?;
    Ok(exit)
}

/// One session of the built-in workload against itself, or against itself made slower.
fn session(scratch: &Scratch, slow_pct: f64, options: &[String]) -> Result<Record> {
    let program = files::own_program()?;
    let program = shell_words::quote(&program.to_string_lossy()).into_owned();
    let a = format!("{program} workload spin --ms {WORK_MS}");
    let b = if slow_pct > 0.0 {
        format!("{a} --slow {slow_pct}%")
    } else {
        a.clone()
    };
    let fixed = [
        "gate perf",
        "--a",
        &a,
        "--b",
        &b,
        "--metric",
        "cpu_ms:lower:ms",
        "--telemetry",
        "off",
    ]
    .map(str::to_owned);
    let session = Session::try_parse_from(fixed.iter().chain(options))?;
    let (record, signal) = session.perf.run_in(scratch.path())?;
    match signal {
        Some(signal) => bail!(Cancelled {
            signal,
            doing: "measuring; a self-test cannot go on later"
        }),
        None => Ok(record),
    }
}

/// The tolerance that the noise of a session carries, in whole percent.
fn carried_pct(pilot: &Record) -> Result<f64> {
    let look = pilot.judgement.verdicts.iter().find_map(|ruling| ruling.looks.last());
    let look = look.ok_or_else(|| anyhow!("the workload could not be measured: {}", first_reason(pilot)))?;
    let band = noise::pool(&[SessionNoise { sp: look.sp, df: look.df }])
        .ok_or_else(|| anyhow!("the noise of {} cannot be read", figure(look.sp)))?;
    let margin =
        noise::carried_margin(band.recommended_sigma_run, CAP).ok_or_else(|| anyhow!("no plan of {CAP} blocks carries a tolerance"))?;
    Ok((100.0 * margin.exp_m1()).ceil().max(TOLERANCE_PCT.0))
}

fn first_reason(record: &Record) -> String {
    record
        .judgement
        .verdicts
        .first()
        .map_or_else(|| "no verdict".to_owned(), |ruling| ruling.because.clone())
}
