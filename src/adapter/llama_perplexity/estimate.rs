//! The perplexity of a text: `Final estimate: PPL = 5.9 +/- 0.03`, after the estimate so far of each chunk, `[1]4.4,[2]5.1,`.

use std::collections::BTreeMap;

use super::{Output, Printed, series};
use crate::adapter::foreign::table::cell_value;
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Reported};

/// Before the result.
const ESTIMATE: &str = "Final estimate: PPL = ";
/// In the header of both ways to count.
const OVER: &str = "calculating perplexity over ";
/// Of a run whose windows overlap; it concludes nothing.
const STRIDED: &str = "strided perplexity calculation";
/// Instead of the conclusion, where the estimate is not a number or has no error.
const NO_ERROR: &str = "Unexpected negative standard deviation";

pub(super) fn read(output: &Output) -> Result<Vec<Reported>, Refused> {
    let estimate = output.after(ESTIMATE)?;
    let so_far = so_far(output)?;
    let asked = output.told(OVER, OVER);
    let is_short = asked.is_some_and(|asked| !so_far.is_empty() && (so_far.len() as u64) < asked);
    let mut found = match estimate {
        Some(_) if is_short => return Err(unfinished(output, &so_far, asked)),
        Some(text) => series("PPL", None, Some(Better::Lower), &Printed::of(text)),
        None => concluded(output, &so_far, asked)?,
    };
    found.detail = detail(output, so_far.len());
    Ok(vec![found])
}

/// What can be said where the tool says no conclusion.
fn concluded(output: &Output, so_far: &[&str], asked: Option<u64>) -> Result<Reported, Refused> {
    let last = so_far.last().map_or("", |last| *last);
    let mut found = series("PPL", None, Some(Better::Lower), &Printed::of(last));
    let first_not_finite = so_far.iter().position(|value| cell_value(value).number().is_some_and(f64::is_nan));
    let has = |words: &str| output.lines.iter().any(|line| line.contains(words));
    if let Some(at) = first_not_finite {
        found.processes = vec![Process::failed(format!("not a finite number ({last}) from chunk {} on", at + 1))];
    } else if has(NO_ERROR) {
        found.processes = vec![Process::failed("the tool found no standard deviation, and so no estimate")];
    } else if has(STRIDED) && asked.is_some_and(|asked| so_far.len() as u64 == asked) {
        found
            .notes
            .push("a strided run: its last estimate so far, without an error".to_owned());
    } else {
        return Err(unfinished(output, so_far, asked));
    }
    Ok(found)
}

fn unfinished(output: &Output, so_far: &[&str], asked: Option<u64>) -> Refused {
    let chunks = so_far.len();
    match asked {
        Some(asked) if (chunks as u64) < asked => {
            let why = format!("{chunks} of {asked} chunks: the run did not finish; an estimate so far is none");
            output.input.nothing(&why)
        }
        _ => output.no_end(ESTIMATE.trim_end()),
    }
}

/// The estimates so far, in the order of their chunks.
fn so_far<'t>(output: &Output<'t>) -> Result<Vec<&'t str>, Refused> {
    let mut found: Vec<&str> = Vec::new();
    let cut = output.cut.rsplit_once(',').map_or("", |(complete, _)| complete);
    for piece in output.lines.iter().chain([&cut]).flat_map(|line| line.split(',')) {
        let Some((number, value)) = piece.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            continue;
        };
        let Ok(number) = number.parse::<usize>() else { continue };
        if cell_value(value).number().is_none() {
            continue;
        }
        if number != found.len() + 1 {
            return Err(Refused(format!(
                "chunk {number} follows chunk {}: lines are missing, or the output of several runs is mixed",
                found.len()
            )));
        }
        found.push(value);
    }
    Ok(found)
}

/// What must be equal before two estimates are compared.
fn detail(output: &Output, chunks: usize) -> BTreeMap<String, String> {
    let mut detail = BTreeMap::new();
    if chunks > 0 {
        detail.insert("chunks".to_owned(), chunks.to_string());
    }
    if let Some(context) = output.told(OVER, "n_ctx=") {
        detail.insert("n_ctx".to_owned(), context.to_string());
    }
    detail
}
