//! Reads a samples log as `foreign::Rows` does for adapters: `cargo bench --bench lines -- FILE` prints how many rows there are and what their
//! figures sum up to, for `scripts/bench-ingest` to compare with another reader's.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use gate::adapter::foreign::Rows;
use gate::edge::results;
use gate::model::report::Refused;

/// Longest line.
const LINE_MAX_BYTES: u64 = 8 << 20;
/// Members of a sample that answer nothing: the question, the prompt and what the model said.
const LARGE: [&str; 5] = ["doc", "arguments", "resps", "filtered_resps", "target"];

fn main() -> Result<()> {
    let Some(file) = std::env::args().skip(1).find(|word| !word.starts_with('-')) else {
        // `cargo test --benches` and `cargo bench` without words.
        println!("usage: lines FILE");
        return Ok(());
    };
    let mut rows = Rows::of(|key| !LARGE.contains(&key));
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let mut count = 0_u64;
    results::lines(Path::new(&file), LINE_MAX_BYTES, |line| {
        let row = rows
            .read(std::str::from_utf8(line)?)
            .map_err(|broken| broken.refused(count as usize + 1))?;
        count += 1;
        for (key, value) in row.members() {
            let Some(number) = value.number() else { continue };
            match sums.get_mut(key) {
                Some(sum) => *sum += number,
                None => drop(sums.insert(key.clone(), number)),
            }
        }
        match rows.contradiction() {
            Some(key) => Err(Refused(format!("line {count}: {key} stands twice")).into()),
            None => Ok(()),
        }
    })?;
    println!("{}", serde_json::json!({ "rows": count, "sums": sums }));
    Ok(())
}
