//! Reads a log of single answers as `gate eval` does: `cargo bench --bench lines -- FILE` prints of each metric and filter how many answers
//! there are and how many are right, for `scripts/bench-ingest` to compare with another reader's.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::path::Path;

use anyhow::Result;
use gate::adapter::lm_eval::samples::Samples;
use gate::edge::lines::lines;

/// Longest line.
const LINE_MAX_BYTES: usize = 16 << 20;

fn main() -> Result<()> {
    let Some(file) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else {
        // `cargo test --benches` and `cargo bench` without words.
        println!("usage: lines FILE");
        return Ok(());
    };
    let mut samples = Samples::default();
    lines(Path::new(&file), LINE_MAX_BYTES, |line| Ok(samples.line(line)?))?;
    let told = samples.outcomes("bench")?.into_iter().map(|one| {
        let right = one.right.bytes().filter(|byte| *byte == b'1').count();
        let name = format!("{},{}", one.key.metric, one.key.filter);
        (name, serde_json::json!({ "rows": one.items.len(), "right": right }))
    });
    println!("{}", serde_json::Value::Object(told.collect()));
    Ok(())
}
