//! mindXtrain's run tree: `metrics.jsonl`, the event stream of a run, and scores that stand beside lm-eval's.
//!
//! `eval.json`, `eval/lm_eval.json` and the nested results are lm-eval's own format and read by that adapter. A power of 0 W stands for a sensor
//! that is not there, and a persona or agenda score of 0 for no samples.

mod record;
mod scores;
mod tally;

use super::foreign::json::Broken;
use super::foreign::{Input, Json, Rows, input};
use super::{Adapter, Stream};
use crate::model::gate::declaration::Series;
use crate::model::number::count;
use crate::model::report::{Refused, Report};
use record::Run;

/// Reads the run tree of mindXtrain.
pub const MINDXTRAIN: Adapter = Adapter {
    name: "mindxtrain",
    about: "mindXtrain metrics.jsonl and run events: mean tok_per_s, mfu, watts and peak hbm_gb of a run; persona and agenda scores as tasks",
    source: "https://github.com/Professor-Codephreak/mindXtrain/blob/main/docs/benchmarks.md (as of commit 379e30a of 2026)",
    signs: Some(signs),
    read,
    stream: Some(|partial| Box::new(Lines::new(partial))),
    write: None,
};

/// How many rows are looked at for signs: the first ones may hold an evaluation only.
const LOOKED_AT: usize = 20;
/// Fields of a metrics row.
const OF_METRICS: [&str; 4] = ["tok_per_s", "mfu", "hbm_gb", "watts"];
/// The kinds of event.
const KINDS: [&str; 5] = ["status", "step", "eval", "log", "energy"];

fn signs(input: &Input) -> usize {
    let Some(documents) = input.json().ok().flatten() else {
        return frame_signs(input.text());
    };
    let rows: Vec<&Json> = documents.values.iter().take(LOOKED_AT).collect();
    let metrics = OF_METRICS.iter().filter(|key| rows.iter().any(|row| row.has(key))).count();
    let events = rows.iter().map(|row| event_signs(row)).max().unwrap_or(0);
    let of_one = documents.values.first().filter(|_| documents.values.len() == 1);
    metrics.max(events).max(of_one.map_or(0, scores::signs))
}

fn event_signs(row: &Json) -> usize {
    let kind = row.get("kind").and_then(Json::text);
    if kind.is_some_and(|kind| KINDS.contains(&kind)) {
        1 + usize::from(row.has("run_id"))
    } else {
        0
    }
}

/// The frames of a stream of server-sent events: `event: step`, then `data: {...}`.
fn frame_signs(text: &str) -> usize {
    let of_ours = |line: &str| line.strip_prefix("event: ").is_some_and(|kind| KINDS.contains(&kind.trim()));
    let data = |line: &str| line.strip_prefix("data: ").is_some_and(|data| data.contains("\"run_id\""));
    usize::from(text.lines().any(of_ours)) + usize::from(text.lines().any(data))
}

fn read(input: &Input, _wanted: &[Series]) -> Result<Report, Refused> {
    let text = input.document()?;
    if frame_signs(text) == 0
        && let Some(documents) = input.json()?
        && let [document] = documents.values.as_slice()
        && scores::signs(document) > 0
    {
        return scores::read(document, Input::json_notes(documents)?);
    }
    let mut lines = Box::new(Lines::new(input.is_partial()));
    text.lines().try_for_each(|line| lines.line(line))?;
    match lines.report() {
        Err(refused) if lines_without_a_record(text) => Err(input.nothing(&refused.0)),
        other => other,
    }
}

/// Whether the reason may stand in the text itself.
fn lines_without_a_record(text: &str) -> bool {
    !text.contains('{')
}

/// The lines of a run so far.
struct Lines {
    partial: bool,
    run: Run,
    rows: Rows,
    number: usize,
    skipped: usize,
    /// A line that is no JSON, which only the last one may be.
    broken: Option<(usize, Broken)>,
}

impl Lines {
    fn new(partial: bool) -> Self {
        Self {
            partial,
            run: Run::default(),
            rows: Rows::of(|_| true),
            number: 0,
            skipped: 0,
            broken: None,
        }
    }
}

impl Stream for Lines {
    fn line(&mut self, line: &str) -> Result<(), Refused> {
        self.number += 1;
        let line = line.trim();
        let record = line.strip_prefix("data: ").unwrap_or(line);
        let of_frame = ["event: ", "id: ", ":"].iter().any(|start| record.starts_with(start));
        if record.is_empty() || of_frame {
            return Ok(());
        }
        if let Some((at, broken)) = self.broken.take() {
            return Err(broken.refused(at));
        }
        if !record.starts_with('{') {
            self.skipped += 1;
            return Ok(());
        }
        if let Err(broken) = self.rows.read(record) {
            self.broken = Some((self.number, broken));
            return Ok(());
        }
        match self.rows.contradiction() {
            Some(key) => Err(Refused(format!(
                "line {}: the key {key} stands twice with different values; which one counts cannot be told",
                self.number
            ))),
            None => self.run.take(self.number, &self.rows),
        }
    }

    fn report(self: Box<Self>) -> Result<Report, Refused> {
        let mut notes = Vec::new();
        match self.broken {
            Some((_, Broken::Cut)) if self.partial => notes.push("the last line ends in the middle and was left out".to_owned()),
            Some((_, Broken::Cut)) => {
                return Err(input::cut_last_line());
            }
            Some((at, broken)) => return Err(broken.refused(at)),
            None => {}
        }
        if self.skipped > 0 {
            notes.push(format!("skipped {} that no JSON begins", count(self.skipped as u64, "line")));
        }
        self.run.report(self.partial, notes)
    }
}
