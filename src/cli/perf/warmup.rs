//! The clocks brought up by the declared helper, before the first process.

use std::time::Duration;

use super::watching::Watcher;
use crate::edge::clock::Stopwatch;
use crate::edge::gpu_helper::{Question, ask};
use crate::edge::measure::Bench;
use crate::edge::process::Interrupts;
use crate::judge::steady::{TAKES_S, steady};
use crate::model::evidence::WarmUp;
use crate::model::host::visible;
use crate::model::plan::Warmup;

/// What a helper's runtime may take beside the time that it works.
const PATIENCE: Duration = Duration::from_secs(30);

/// The variables of the measured processes that choose a device: the helper warms the one that they will use.
pub fn variables(bench: &Bench<'_>) -> Vec<(String, String)> {
    let chooses = |name: &str| name == visible::DRIVER || visible::RUNTIME.contains(&name);
    let first = bench.commands.values().next();
    let all = first.into_iter().flat_map(|ready| &ready.command.env);
    let text = all.filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    text.filter(|(name, _)| chooses(name)).collect()
}

/// Runs the helper again and again until the watched devices are steady, at most for two minutes; once where nobody watches a device.
/// One that gives no answer is not asked again.
pub fn run(warmup: &Warmup, variables: &[(String, String)], mut watcher: Option<&mut Watcher>, interrupts: &Interrupts) -> WarmUp {
    let clock = Stopwatch::start();
    let mut done = WarmUp {
        helper: warmup.helper.clone(),
        why: "no device is watched".to_owned(),
        ..WarmUp::default()
    };
    loop {
        let left_s = TAKES_S.end() - clock.elapsed_s();
        let seconds = warmup.seconds.min(left_s.ceil().max(1.0) as u32);
        let words = seconds.to_string();
        let question = Question {
            helper: &warmup.helper,
            words: &["warmup", "--seconds", &words],
            limit: Duration::from_secs(u64::from(seconds)) + PATIENCE,
            variables,
        };
        let (answer, trace) = match &mut watcher {
            Some(watcher) => watcher.during(|| ask(&question, Some(interrupts))),
            None => (ask(&question, Some(interrupts)), None),
        };
        done.rounds += 1;
        done.took_s = clock.elapsed_s();
        match answer {
            Ok(found) => done.found = found,
            Err(silence) => {
                done.why = "the helper did no work".to_owned();
                done.silence = Some(silence.to_string());
                return done;
            }
        }
        if let Some(trace) = trace {
            let told = steady(&trace);
            done.why = told
                .as_ref()
                .map_or_else(|| "no device could be read".to_owned(), |(_, why)| why.clone());
            done.steady = told.map(|(steady, _)| steady);
        }
        let long_enough = done.took_s >= *TAKES_S.start();
        if done.steady.is_none() || (done.steady == Some(true) && long_enough) || done.took_s >= *TAKES_S.end() {
            return done;
        }
    }
}
