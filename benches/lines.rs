//! Reads JSON lines as adapters do: `cargo bench --bench lines -- samples|metrics FILE` prints how many rows there are and what their figures
//! sum up to, for `scripts/bench-ingest` to compare with another reader's.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark opens its file")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;

use gate::adapter::foreign::lines::{How, rows};
use gate::model::report::Refused;

/// What is held of the file at a time, in bytes, as `edge::results::stream` does.
const HELD_BYTES: usize = 1 << 18;
/// Members of a sample that answer nothing: the question, the prompt and what the model said.
const LARGE: [&str; 5] = ["doc", "arguments", "resps", "filtered_resps", "target"];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let [kind, file] = words.as_slice() else {
        // `cargo test --benches` and `cargo bench` without words.
        println!("usage: lines samples|metrics FILE");
        return Ok(());
    };
    let wants: fn(&str) -> bool = match kind.as_str() {
        "samples" => |key| !LARGE.contains(&key),
        _ => |_| true,
    };
    let mut source = BufReader::with_capacity(HELD_BYTES, File::open(file)?);
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    let told = rows(&mut source, How { wants, partial: false }, &mut |line, row| {
        for (key, value) in row.members() {
            let Some(number) = value.number() else { continue };
            match sums.get_mut(key) {
                Some(sum) => *sum += number,
                None => drop(sums.insert(key.clone(), number)),
            }
        }
        if row.members().is_empty() {
            return Err(Refused(format!("line {line} has no members")));
        }
        Ok(())
    })?;
    println!("{}", serde_json::json!({ "rows": told.rows, "sums": sums }));
    Ok(())
}
