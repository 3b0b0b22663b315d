//! How long one `gpu_metrics` blob takes to read: `cargo bench --bench gpu_metrics`; at most 2 µs are wanted.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads its file and the clock")]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use gate::model::gpu_metrics::decode;

/// Blobs read in one round.
const BLOBS: u32 = 100_000;
/// Rounds of which the fastest counts.
const ROUNDS: usize = 5;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/host/metrics");
    for name in ["v1_3", "v1_6", "v1_8", "v1_9_load", "v3_0"] {
        let blob = std::fs::read(folder.join(format!("{name}.bin")))?;
        let mut best_us = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..BLOBS {
                let _metrics = black_box(decode(black_box(&blob)));
            }
            best_us = best_us.min(start.elapsed().as_secs_f64() * 1e6 / f64::from(BLOBS));
        }
        println!("{name:<10} {best_us:.3} us");
    }
    Ok(())
}
