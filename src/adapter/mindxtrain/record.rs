//! The records of a run, a line each: rows of `metrics.jsonl`, or events.

use std::collections::{BTreeMap, BTreeSet};

use super::scores;
use super::tally::{FIELDS, Tally};
use crate::adapter::foreign::Json;
use crate::model::number::count;
use crate::model::report::{Process, Refused, Report, Reported};
use crate::model::text::plain_line;
use crate::model::unit::Unit;

/// Most processes of a run, each begun where the steps go back.
const PROCESSES_MAX: usize = 1000;
/// Most GPUs, scores and unread fields that are kept apart.
const KEPT_MAX: usize = 1000;
/// Longest foreign text that a message quotes, in characters.
const QUOTE_MAX_CHARS: usize = 80;
/// How many unread fields a note names.
const NAMED_MAX: usize = 8;
/// Fields that say where a record stands, and what is no figure.
const PLACE: [&str; 8] = ["step", "t", "time", "timestamp", "epoch", "kind", "run_id", "gpu_index"];

/// What one process measured: by field, and for power by GPU.
type Figures = BTreeMap<(usize, String), Tally>;

/// A run so far.
#[derive(Debug, Default)]
pub(super) struct Run {
    ended: Vec<Figures>,
    open: Figures,
    step: Option<u64>,
    scores: BTreeMap<(String, String), (u64, Json)>,
    status: Option<(String, String)>,
    unread: BTreeSet<String>,
    records: u64,
}

impl Run {
    /// Takes a record of a line.
    pub(super) fn take(&mut self, line: usize, record: &Json) -> Result<(), Refused> {
        let text = |key: &str| record.get(key).and_then(Json::text).unwrap_or_default();
        match text("kind") {
            "status" => self.status = Some((text("status").to_owned(), text("message").to_owned())),
            "log" => {}
            "eval" => self.evaluated(record)?,
            _ => self.measured(line, record)?,
        }
        self.records += 1;
        Ok(())
    }

    fn measured(&mut self, line: usize, record: &Json) -> Result<(), Refused> {
        self.follow(record)?;
        let gpu = record.get("gpu_index").map(Json::shown).unwrap_or_default();
        for (key, value) in record.members() {
            match FIELDS.iter().position(|field| field.key == key) {
                Some(at) => {
                    let field = &FIELDS[at];
                    if self.open.len() >= KEPT_MAX {
                        return Err(Refused(format!("line {line}: more than {KEPT_MAX} figures in one run")));
                    }
                    self.open.entry((at, gpu.clone())).or_default().take(field, value, line);
                }
                None if PLACE.contains(&key.as_str()) || self.unread.len() >= KEPT_MAX => {}
                None if value.number().is_some() && !self.unread.contains(key) => {
                    self.unread.insert(key.clone());
                }
                None => {}
            }
        }
        Ok(())
    }

    /// A step below the one before begins another process: a run that was taken up again, or a further run in the same file.
    fn follow(&mut self, record: &Json) -> Result<(), Refused> {
        let Some(step) = record.get("step").and_then(Json::count) else {
            return Ok(());
        };
        if self.step.is_some_and(|before| step < before) {
            self.ended.push(std::mem::take(&mut self.open));
            if self.ended.len() >= PROCESSES_MAX {
                return Err(Refused(format!(
                    "the steps go back {PROCESSES_MAX} times: this is no file of one run"
                )));
            }
        }
        self.step = Some(step);
        Ok(())
    }

    fn evaluated(&mut self, record: &Json) -> Result<(), Refused> {
        let suite = record.get("suite").and_then(Json::text).unwrap_or_default();
        let step = record.get("step").and_then(Json::count).unwrap_or(0);
        for (metric, value) in record.get("metrics").map_or(&[][..], Json::members) {
            let key = (suite.to_owned(), metric.clone());
            if !self.scores.contains_key(&key) && self.scores.len() >= KEPT_MAX {
                return Err(Refused(format!("more than {KEPT_MAX} scores in one run")));
            }
            // The score at the last step is the run's.
            if self.scores.get(&key).is_none_or(|(before, _)| step >= *before) {
                self.scores.insert(key, (step, value.clone()));
            }
        }
        Ok(())
    }

    /// What the records said.
    pub(super) fn report(mut self, partial: bool, mut notes: Vec<String>) -> Result<Report, Refused> {
        if self.records == 0 {
            return Err(Refused("no record of a run: want metrics.jsonl, or the events of a run".to_owned()));
        }
        let failure = self.failure(partial)?;
        let again = self.ended.len();
        self.ended.push(std::mem::take(&mut self.open));
        if again > 0 {
            let again = count(again as u64, "time");
            notes.push(format!("the steps go back {again}: each time another process"));
        }
        let mut series = figures(&self.ended);
        series.extend(self.scores.iter().filter_map(|((suite, metric), (step, value))| {
            let mut score = scores::series(suite, metric, value)?;
            score.detail.insert("step".to_owned(), step.to_string());
            Some(score)
        }));
        if series.is_empty() {
            return Err(Refused(
                "the records have none of tok_per_s, mfu, hbm_gb, watts, loss, eval_loss: nothing was measured".to_owned(),
            ));
        }
        if let Some(why) = failure {
            series
                .iter_mut()
                .for_each(|series| series.processes = vec![Process::failed(why.clone())]);
        }
        if !self.unread.is_empty() {
            let named: Vec<&str> = self.unread.iter().take(NAMED_MAX).map(String::as_str).collect();
            notes.push(format!("not read: {}", plain_line(&named.join(", "), QUOTE_MAX_CHARS)));
        }
        Ok(Report {
            tool: "mindxtrain".to_owned(),
            series,
            notes,
            ..Report::default()
        })
    }

    /// Why the run counts as failed, by its last status.
    fn failure(&self, partial: bool) -> Result<Option<String>, Refused> {
        let Some((status, message)) = &self.status else { return Ok(None) };
        let status = plain_line(status, QUOTE_MAX_CHARS);
        match (status.as_str(), plain_line(message, QUOTE_MAX_CHARS).as_str()) {
            ("succeeded", _) => Ok(None),
            ("pending" | "running", _) if partial => Ok(None),
            ("pending" | "running", _) => Err(Refused(format!(
                "the last status is {status:?}: the run did not finish, or its events were not kept to the end; --partial reads those before"
            ))),
            (_, "") => Ok(Some(format!("the run ended as {status:?}"))),
            (_, message) => Ok(Some(format!("the run ended as {status:?}: {message}"))),
        }
    }
}

/// A series for each field and GPU, a process for each part of the file.
fn figures(processes: &[Figures]) -> Vec<Reported> {
    let keys: BTreeSet<&(usize, String)> = processes.iter().flat_map(BTreeMap::keys).collect();
    let one = |(at, gpu): &(usize, String)| {
        let field = &FIELDS[*at];
        let tallies: Vec<&Tally> = processes.iter().filter_map(|process| process.get(&(*at, gpu.clone()))).collect();
        let told = tallies.iter().map(|tally| tally.concluded(field));
        let (processes, notes): (Vec<Process>, Vec<Vec<String>>) = told.unzip();
        let values: u64 = tallies.iter().map(|tally| tally.values).sum();
        Reported {
            name: field.key.to_owned(),
            of: Some(gpu)
                .filter(|gpu| !gpu.is_empty())
                .map(|gpu| ("gpu".to_owned(), gpu.clone()))
                .into_iter()
                .collect(),
            unit: field.unit.and_then(|unit| Unit::parse(unit).ok()),
            better: field.better,
            processes,
            n: Some(values).filter(|values| *values > 0),
            notes: notes.into_iter().next().unwrap_or_default(),
            ..Reported::default()
        }
    };
    keys.into_iter().map(one).collect()
}
