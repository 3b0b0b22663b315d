//! Records that a stranger may have written, read strictly: exactly what this version itself writes, within limits.

use serde_json::Value;

use super::eval::evidence::{ScoreRun, Scores};
use super::record::{Record, VERSION, seal, short};

/// Most records of one file.
const RECORDS_MAX: usize = 100;
/// Most fixtures of one record.
const CELLS_MAX: usize = 500;
/// Most samples of one record.
const SAMPLES_MAX: usize = 10_000;
/// Most scores of one run.
const SCORES_MAX: usize = 2_000;
/// Most runs of the base's scores.
const RUNS_MAX: usize = 20;
/// Deepest nesting of a record.
const DEPTH_MAX: usize = 32;

/// The records of a text, one a line.
///
/// # Errors
/// Why it is refused: which line, and what is wrong with it.
pub fn records(text: &str) -> Result<Vec<Record>, String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return Err("the file is empty".to_owned());
    }
    if lines.len() > RECORDS_MAX {
        return Err(format!("more than {RECORDS_MAX} records"));
    }
    let numbered = lines.iter().enumerate();
    numbered
        .map(|(at, line)| record(line).map_err(|why| format!("line {}: {why}", at + 1)))
        .collect()
}

fn record(line: &str) -> Result<Record, String> {
    check_depth(line)?;
    let value: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    let version = value["version"].as_u64();
    if version != Some(u64::from(VERSION)) {
        let theirs = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        return Err(format!(
            "its record format is {theirs}, this gate reads {VERSION} only: use the same gate in both workflows"
        ));
    }
    let record: Record = serde_json::from_value(value.clone()).map_err(|error| format!("no record: {error}"))?;
    if record.plan.cells.len() > CELLS_MAX || record.evidence.samples.len() > SAMPLES_MAX {
        return Err(format!("more than {CELLS_MAX} fixtures or {SAMPLES_MAX} samples"));
    }
    if let Some(Scores { base, candidate, .. }) = &record.evidence.scores {
        let too_many = |run: &ScoreRun| {
            [run.results.scores.len(), run.results.outcomes.len()]
                .into_iter()
                .any(|many| many > SCORES_MAX)
        };
        if base.len() > RUNS_MAX || base.iter().chain([candidate]).any(too_many) {
            return Err(format!("more than {RUNS_MAX} runs of the base, or {SCORES_MAX} scores of a run"));
        }
    }
    // What this version would not write is left over, or written otherwise.
    let again = serde_json::to_value(&record).map_err(|error| format!("no record: {error}"))?;
    if again != value {
        return Err("it holds what this gate does not write".to_owned());
    }
    let stands = seal(&value);
    if record.seal != stands {
        return Err(format!(
            "the seal is broken: it says {}, the bytes give {}",
            short(&record.seal),
            short(&stands)
        ));
    }
    Ok(record)
}

/// Refuses text that is nested too deeply, before anything is built of it.
fn check_depth(line: &str) -> Result<(), String> {
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for byte in line.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'[' | b'{' if !inside => depth += 1,
            b']' | b'}' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!("nested more than {DEPTH_MAX} deep"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_texts() {
        assert!(check_depth(&"[".repeat(DEPTH_MAX)).is_ok());
        assert!(check_depth(&"[".repeat(DEPTH_MAX + 1)).is_err());
        assert!(check_depth(&format!("\"{}\\\"{}\"", "[".repeat(50), "{".repeat(50))).is_ok());
        assert!(check_depth(&"[]".repeat(500)).is_ok());
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for (text, says) in [
            ("", "empty"),
            ("\n \n", "empty"),
            ("{", "line 1: not JSON"),
            ("{\"version\":2}", "line 1: its record format is 2, this gate reads 1 only"),
            ("{}", "its record format is none"),
            ("{\"version\":1}", "line 1: no record: missing field"),
            ("{\"version\":1,\"x\":NaN}", "not JSON"),
        ] {
            assert!(records(text).is_err_and(|why| why.contains(says)), "{text}");
        }
        assert!(records(&"{}\n".repeat(101)).is_err_and(|why| why.contains("more than 100")));
    }
}
