//! The records of a run, a line each: rows of `metrics.jsonl`, or events.

use std::collections::{BTreeMap, BTreeSet};

use super::scores;
use super::tally::{FIELDS, Field, Tally};
use crate::adapter::foreign::{Json, Rows};
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
const PLACE: [&str; 5] = ["t", "time", "timestamp", "epoch", "run_id"];

/// What one process measured: by GPU where the records name one, each of [`FIELDS`].
type Figures = BTreeMap<String, [Tally; FIELDS.len()]>;

/// What a member of a record is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Kind,
    Step,
    Gpu,
    /// One of [`FIELDS`].
    Figure(usize),
    PassedOver,
    Unknown,
}

impl Role {
    fn of(key: &str) -> Self {
        match key {
            "kind" => Self::Kind,
            "step" => Self::Step,
            "gpu_index" => Self::Gpu,
            key if PLACE.contains(&key) => Self::PassedOver,
            key => FIELDS.iter().position(|field| field.key == key).map_or(Self::Unknown, Self::Figure),
        }
    }
}

/// A run so far.
#[derive(Debug, Default)]
pub(super) struct Run {
    ended: Vec<Figures>,
    open: Figures,
    step: Option<u64>,
    /// Of the members of the last record, in their order.
    roles: Vec<Role>,
    scores: BTreeMap<(String, String), (u64, Json)>,
    status: Option<(String, String)>,
    unread: BTreeSet<String>,
    records: u64,
}

impl Run {
    /// Takes the last record that was read, of a line.
    pub(super) fn take(&mut self, line: usize, rows: &Rows) -> Result<(), Refused> {
        let record = rows.row();
        if rows.keys_changed() {
            self.roles = record.members().iter().map(|(key, _)| Role::of(key)).collect();
        }
        let text = |key: &str| record.get(key).and_then(Json::text).unwrap_or_default();
        match self.member(record, Role::Kind).and_then(Json::text) {
            Some("status") => self.status = Some((text("status").to_owned(), text("message").to_owned())),
            Some("log") => {}
            Some("eval") => self.evaluated(record)?,
            _ => self.measured(line, record)?,
        }
        self.records += 1;
        Ok(())
    }

    /// The last member of a role.
    fn member<'r>(&self, record: &'r Json, role: Role) -> Option<&'r Json> {
        let at = self.roles.iter().rposition(|own| *own == role)?;
        record.members().get(at).map(|(_, value)| value)
    }

    fn measured(&mut self, line: usize, record: &Json) -> Result<(), Refused> {
        self.follow(record)?;
        let gpu = self.member(record, Role::Gpu).map(Json::shown).unwrap_or_default();
        if self.open.len() >= KEPT_MAX && !self.open.contains_key(&gpu) {
            return Err(Refused(format!("line {line}: more than {KEPT_MAX} GPUs in one run")));
        }
        let tallies = self.open.entry(gpu).or_default();
        for (role, (key, value)) in self.roles.iter_mut().zip(record.members()) {
            match role {
                Role::Figure(at) => {
                    if let (Some(tally), Some(field)) = (tallies.get_mut(*at), FIELDS.get(*at)) {
                        tally.take(field, value, line);
                    }
                }
                Role::Unknown if value.number().is_some() => {
                    if self.unread.len() < KEPT_MAX {
                        self.unread.insert(key.clone());
                    }
                    *role = Role::PassedOver;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A step below the one before begins another process: a run that was taken up again, or a further run in the same file.
    fn follow(&mut self, record: &Json) -> Result<(), Refused> {
        let Some(step) = self.member(record, Role::Step).and_then(Json::count) else {
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
    let gpus: BTreeSet<&String> = processes.iter().flat_map(BTreeMap::keys).collect();
    let of_field = |(at, field): (usize, &'static Field)| {
        let one = move |gpu: &String| {
            let own = processes.iter().filter_map(|process| process.get(gpu)?.get(at));
            let tallies: Vec<&Tally> = own.filter(|tally| tally.was_told()).collect();
            (!tallies.is_empty()).then(|| figure(field, gpu, &tallies))
        };
        gpus.iter().filter_map(move |gpu| one(gpu)).collect::<Vec<Reported>>()
    };
    FIELDS.iter().enumerate().flat_map(of_field).collect()
}

fn figure(field: &Field, gpu: &str, tallies: &[&Tally]) -> Reported {
    let told = tallies.iter().map(|tally| tally.concluded(field));
    let (processes, notes): (Vec<Process>, Vec<Vec<String>>) = told.unzip();
    let values: u64 = tallies.iter().map(|tally| tally.values).sum();
    Reported {
        name: field.key.to_owned(),
        of: Some(gpu)
            .filter(|gpu| !gpu.is_empty())
            .map(|gpu| ("gpu".to_owned(), gpu.to_owned()))
            .into_iter()
            .collect(),
        unit: field.unit.and_then(|unit| Unit::parse(unit).ok()),
        better: field.better,
        processes,
        n: Some(values).filter(|values| *values > 0),
        notes: notes.into_iter().next().unwrap_or_default(),
        ..Reported::default()
    }
}
