//! What a comparison of commits is shown as.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Exit, Pairs};
use crate::edge::git::Commit;
use crate::model::judgement::Ruling;
use crate::model::number::gain;
use crate::model::record::{Record, short};
use crate::model::text::{no_commands, plain_line};

/// Longest subject in the table, in characters.
const SUBJECT_MAX: usize = 50;
/// Longest reason, in characters.
const REASON_MAX: usize = 300;
/// Longest name of a metric or fixture, in characters.
const NAME_MAX: usize = 100;

/// One commit and what came of its comparison.
pub struct Row {
    /// The commit's id in hex.
    pub id: String,
    /// The first line of its message.
    subject: String,
    /// The short name of the commit that it was compared with.
    pub against: Option<String>,
    /// Why it cannot be judged.
    pub cannot: Option<String>,
    /// The sealed record.
    pub record: Option<Box<Record>>,
}

/// An answer with everything that it rests on.
pub struct Report {
    /// `neighbours`; of a search `found`, `no_regression`, `range` or `no_answer`.
    pub answer: &'static str,
    /// The gate's name.
    pub gate: String,
    /// Alpha of each comparison.
    pub alpha: f64,
    /// Beta of each comparison.
    pub beta: f64,
    /// The commits, in the order in which they were looked at.
    pub rows: Vec<Row>,
    /// What it comes to, in sentences.
    pub says: Vec<String>,
    /// The commits that may be the first that regresses: one where it is found.
    pub suspects: Vec<String>,
    /// The exit code.
    pub exit: Exit,
}

/// One question of a record, as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    metric: &'a str,
    fixture: &'a str,
    verdict: &'a str,
    gain: Option<f64>,
    interval: Option<[f64; 2]>,
    scale: crate::model::metric::Scale,
    unit: &'a str,
}

impl Row {
    /// A commit without a comparison.
    pub fn of(commit: &Commit) -> Self {
        Self {
            id: commit.id.clone(),
            subject: commit.subject.clone(),
            against: None,
            cannot: None,
            record: None,
        }
    }

    /// How a commit is called in a sentence.
    pub fn name(commit: &Commit) -> String {
        format!("{} ({})", commit.short(), plain_line(&commit.subject, SUBJECT_MAX))
    }

    /// How this one is called in a sentence.
    pub fn called(&self) -> String {
        format!("{} ({})", self.short(), plain_line(&self.subject, SUBJECT_MAX))
    }

    fn short(&self) -> &str {
        self.id.get(..9).unwrap_or(&self.id)
    }

    /// The ruling that decided: the gravest of the required ones.
    fn ruling(&self) -> Option<&Ruling> {
        let mut rulings: Vec<&Ruling> = self.record.iter().flat_map(|record| &record.judgement.verdicts).collect();
        rulings.retain(|ruling| ruling.required);
        rulings.into_iter().rev().max_by_key(|ruling| ruling.outcome)
    }

    /// Metric, gain and interval of the deciding ruling: `cpu_ms: gain -14.1 %, interval [-16.0, -11.2] %`.
    pub fn gain(&self) -> String {
        let Some(ruling) = self.ruling() else {
            return "no figure".to_owned();
        };
        let (gain, interval) = shown(ruling);
        format!("{}: gain {gain}, interval {interval}", subject(ruling))
    }

    fn line(&self) -> [String; 6] {
        let (mut metric, mut figures, mut verdict) = ("-".to_owned(), "-".to_owned(), "-".to_owned());
        if let Some(ruling) = self.ruling() {
            let (gain, interval) = shown(ruling);
            (metric, figures) = (subject(ruling), format!("{gain} {interval}"));
            verdict = ruling.verdict.word().to_owned();
        }
        if let Some(why) = &self.cannot {
            verdict = format!("cannot be judged: {}", plain_line(why, REASON_MAX));
            figures = "-".to_owned();
        }
        let seal = self.record.as_ref().map_or_else(|| "-".to_owned(), |record| short(&record.seal));
        let commit = format!("{} {}", self.short(), plain_line(&self.subject, SUBJECT_MAX));
        [
            commit,
            self.against.clone().unwrap_or_else(|| "-".to_owned()),
            metric,
            figures,
            seal,
            verdict,
        ]
    }

    fn json(&self) -> Result<Value> {
        let rulings = self.record.iter().flat_map(|record| &record.judgement.verdicts);
        let answers = rulings.map(|ruling| Answer {
            metric: &ruling.metric,
            fixture: &ruling.cell.fixture,
            verdict: ruling.verdict.word(),
            gain: ruling.estimate,
            interval: ruling.interval,
            scale: ruling.scale,
            unit: &ruling.unit,
        });
        Ok(json!({
            "commit": self.id,
            "subject": self.subject,
            "against": self.against,
            "cannot_be_judged": self.cannot,
            "verdicts": serde_json::to_value(answers.collect::<Vec<_>>())?,
            "record": self.record.as_ref().map(|record| &record.seal),
        }))
    }
}

impl Report {
    /// A report that says nothing yet.
    pub fn new(answer: &'static str, pairs: &Pairs, rows: Vec<Row>, exit: Exit) -> Self {
        let (alpha, beta) = pairs.rates();
        Self {
            answer,
            gate: pairs.name().to_owned(),
            alpha,
            beta,
            rows,
            says: Vec::new(),
            suspects: Vec::new(),
            exit,
        }
    }

    /// For people: a table, and what it comes to.
    pub fn text(&self) -> String {
        const HEAD: [&str; 6] = ["commit", "against", "metric", "gain, interval", "record", "verdict"];
        let lines: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned))
            .chain(self.rows.iter().map(Row::line))
            .collect();
        let mut widths = [0; 6];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        let gate = plain_line(&self.gate, NAME_MAX);
        let mut out = format!(
            "gate bisect: {}: {}, gate {gate}\n\n",
            self.exit.word,
            self.answer.replace('_', " ")
        );
        for line in &lines {
            let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            let row = cells.collect::<Vec<_>>().join("  ");
            out.push_str(row.trim_end());
            out.push('\n');
        }
        out.push('\n');
        for sentence in &self.says {
            out.push_str(&plain_line(sentence, 2_000));
            out.push('\n');
        }
        no_commands(&out)
    }

    /// For programs: one JSON object on one line.
    ///
    /// # Errors
    /// When a number is not finite.
    pub fn json(&self) -> Result<String> {
        let rows = self.rows.iter().map(Row::json).collect::<Result<Vec<Value>>>()?;
        let report = json!({
            "answer": self.answer,
            "gate": self.gate,
            "alpha_each": self.alpha,
            "beta_each": self.beta,
            "suspects": self.suspects,
            "commits": rows,
            "says": self.says,
            "exit": self.exit.code,
        });
        Ok(format!("{report}\n"))
    }
}

fn shown(ruling: &Ruling) -> (String, String) {
    let unit = plain_line(&ruling.unit, NAME_MAX);
    match ruling.estimate {
        Some(estimate) => {
            let (gain, interval) = gain(estimate, ruling.interval, ruling.tolerance, ruling.scale, &unit);
            (gain, interval.unwrap_or_else(|| "none".to_owned()))
        }
        None => ("none".to_owned(), "none".to_owned()),
    }
}

/// `q4-7b / tg128`, or the metric alone.
fn subject(ruling: &Ruling) -> String {
    let [fixture, metric] = [&ruling.cell.fixture, &ruling.metric].map(|name| plain_line(name, NAME_MAX));
    if fixture.is_empty() {
        metric
    } else {
        format!("{fixture} / {metric}")
    }
}
