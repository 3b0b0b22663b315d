//! What a comment costs: a page of 2,000 benchmarks, cut to the room that GitHub leaves.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads files and the clock and tells"
)]

use std::hint::black_box;
use std::time::Instant;

use gate::model::github::BODY_MAX_BYTES;
use gate::model::judgement::{Ruling, Verdict};
use gate::model::metric::Metric;
use gate::model::record::Record;
use gate::render::comment::{About, page};

const BENCHMARKS: usize = 2000;
const ROUNDS: usize = 20;
/// A session that was measured, kept with the tests.
const RECORD: &str = include_str!("../tests/data/record/v1/zstd.regression.json");

/// The median of some rounds, in milliseconds.
fn median_ms(work: impl Fn() -> usize) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// One record of many benchmarks, each with values in every sample, of which so many regressed.
fn record(regressed: usize) -> Record {
    let mut record: Record = serde_json::from_str(RECORD.lines().next().unwrap()).unwrap();
    let (ruling, metric) = (record.judgement.verdicts[0].clone(), record.gate.metrics[0].clone());
    let name = |at: usize| format!("suite::group_{}/bench_{at:04}/4096", at / 50);
    let names: Vec<String> = (0..BENCHMARKS).map(name).collect();
    for sample in &mut record.evidence.samples {
        let value = sample.values[&metric.name];
        sample.values.extend(names.iter().map(|name| (name.clone(), value)));
    }
    record.gate.metrics = names
        .iter()
        .map(|name| Metric {
            name: name.clone(),
            ..metric.clone()
        })
        .collect();
    let rulings = names.into_iter().enumerate().map(|(at, name)| {
        let verdict = if at < regressed {
            Verdict::Regression
        } else {
            Verdict::NoRegression
        };
        Ruling {
            metric: name,
            verdict,
            outcome: verdict.outcome(),
            ..ruling.clone()
        }
    });
    record.judgement.verdicts = rulings.collect();
    record
}

fn main() {
    for (regressed, limit_bytes, what) in [
        (0, BODY_MAX_BYTES, "comment, none regressed"),
        (20, BODY_MAX_BYTES, "comment, 20 regressed"),
        (BENCHMARKS, BODY_MAX_BYTES, "comment, all regressed"),
        (20, 1_000_000, "summary of a job, 20 regressed"),
    ] {
        let records = [record(regressed)];
        let about = About {
            limit_bytes,
            ..About::default()
        };
        let bytes = page(&records, &about).len();
        println!(
            "{BENCHMARKS} benchmarks, {what}: {bytes} bytes in {:.1} ms, the median of {ROUNDS}",
            median_ms(|| page(&records, &about).len())
        );
    }
}
