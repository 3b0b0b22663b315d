//! The rulings of all records as rows, gravest first.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::Value;

use super::inert::name;
use crate::model::baseline::{BaselineUse, days_between};
use crate::model::eval::{Aim, Key, Score};
use crate::model::gate::scores::names;
use crate::model::gate::{Against, Rule};
use crate::model::judgement::{Outcome, Range, Ruling, Verdict};
use crate::model::metric::{Better, Metric};
use crate::model::number::{self, count, figure, scale_unit, size};
use crate::model::record::Record;
use crate::render::markdown::escape;

/// Which rows stand together; the order is that of gravity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Group {
    /// A rule failed.
    Failed,
    /// A figure is missing, or cannot be compared.
    Missing,
    /// There are figures and no answer.
    Open,
    /// A regression that a reviewed file accepts.
    Waived,
    /// Slower, and shown to stay under the tolerance.
    Slower,
    /// Faster.
    Better,
    /// Nothing to look at.
    Within,
}

impl Group {
    /// Every group, gravest first.
    pub(super) const ALL: [Self; 7] = [
        Self::Failed,
        Self::Missing,
        Self::Open,
        Self::Waived,
        Self::Slower,
        Self::Better,
        Self::Within,
    ];

    /// The group of a verdict.
    const fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Regression | Verdict::CandidateFailed | Verdict::ThrottleAttributable | Verdict::ClaimRejected => Self::Failed,
            Verdict::NotMeasured | Verdict::Incomparable | Verdict::StaleBaseline | Verdict::RuleDisabled => Self::Missing,
            Verdict::Inconclusive | Verdict::EnvironmentShift | Verdict::Advisory => Self::Open,
            Verdict::Waived => Self::Waived,
            Verdict::SmallSlowdown => Self::Slower,
            Verdict::Improvement | Verdict::ImprovementShown => Self::Better,
            Verdict::NoRegression | Verdict::IdenticalArtifact | Verdict::New => Self::Within,
        }
    }

    /// What its rows are called where they are counted.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Missing => "missing",
            Self::Open => "inconclusive",
            Self::Waived => "waived",
            Self::Slower => "slower within the tolerance",
            Self::Better => "improved",
            Self::Within => "within band",
        }
    }
}

/// One ruling with what it is shown beside.
pub(super) struct Row<'a> {
    pub(super) record: &'a Record,
    pub(super) ruling: &'a Ruling,
    pub(super) group: Group,
    /// What tells the record from the others; empty where there is one.
    label: &'a str,
    /// Which way is good, in words; empty where that is not known.
    direction: String,
    baseline: Option<Reference<'a>>,
    /// Whether some row of the page is of a score, so that all have the columns of scores.
    beside_scores: bool,
}

/// The same bucket against the committed baseline.
#[derive(Clone, Copy)]
struct Reference<'a> {
    ruling: &'a Ruling,
    age_days: Option<i64>,
}

/// Every ruling of every record, gravest first; a label for each record.
pub(super) fn rows<'a>(records: &'a [Record], labels: &'a [String]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = records
        .iter()
        .zip(labels)
        .flat_map(|(record, label)| rows_of(record, label))
        .collect();
    let beside_scores = rows.iter().any(|row| is_of_scores(row.ruling));
    rows.iter_mut().for_each(|row| row.beside_scores = beside_scores);
    rows.sort_by(gravest_first);
    rows
}

fn rows_of<'a>(record: &'a Record, label: &'a str) -> Vec<Row<'a>> {
    let metrics: HashMap<&str, &Metric> = record.gate.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect();
    let aims = aims(record);
    let better = |ruling: &Ruling| match metrics.get(ruling.metric.as_str()).map(|metric| metric.better) {
        Some(Better::Higher) => Some(Aim::Higher),
        Some(Better::Lower) => Some(Aim::Lower),
        None => aims.get(&(ruling.cell.fixture.as_str(), ruling.metric.clone())).copied(),
    };
    let newest = record.context.baseline.as_ref().map(newest_days).unwrap_or_default();
    let rulings = &record.judgement.verdicts;
    let against_baseline = rulings.iter().filter(|ruling| ruling.against == Against::Baseline);
    let references: HashMap<(&str, &str), Reference<'a>> = against_baseline
        .map(|ruling| {
            let bucket = bucket(ruling);
            let age_days = newest.get(&bucket).copied();
            (bucket, Reference { ruling, age_days })
        })
        .collect();
    let row = |ruling: &'a Ruling| Row {
        record,
        ruling,
        group: Group::of(ruling.verdict),
        label,
        direction: better(ruling).map_or_else(String::new, direction),
        baseline: references.get(&bucket(ruling)).copied(),
        beside_scores: false,
    };
    rulings.iter().map(row).collect()
}

/// Which way each score is good, as the gate declares it or its file states it, by task and metric.
fn aims(record: &Record) -> HashMap<(&str, String), Aim> {
    let patterns = || record.gate.scores.iter().flat_map(|keys| &keys.metrics);
    let declared = |key: &Key| patterns().find(|pattern| names(&pattern.name, key)).and_then(|pattern| pattern.aim);
    let scores = record.evidence.scores.iter();
    let runs = scores.flat_map(|scores| scores.base.iter().chain([&scores.candidate]));
    let aim = |score: &'_ Score| declared(&score.key).or(score.aim);
    runs.flat_map(|run| &run.results.scores)
        .filter_map(|score| Some(((score.key.task.as_str(), score.key.filtered_metric()), aim(score)?)))
        .collect()
}

fn direction(aim: Aim) -> String {
    match aim {
        Aim::Higher => " (higher is better)".to_owned(),
        Aim::Lower => " (lower is better)".to_owned(),
        Aim::Target(at) => format!(" (nearer to {} is better)", figure(at)),
    }
}

fn bucket(ruling: &Ruling) -> (&str, &str) {
    (&ruling.cell.fixture, &ruling.metric)
}

/// The age of the newest session of each fixture and metric, in days.
fn newest_days(baseline: &BaselineUse) -> HashMap<(&str, &str), i64> {
    let mut newest: HashMap<(&str, &str), i64> = HashMap::new();
    for line in baseline.lines.iter().filter(|line| !line.is_historical()) {
        if let Some(days) = days_between(&line.date, &baseline.today) {
            let age = newest.entry((&line.fixture, &line.metric)).or_insert(days);
            *age = days.min(*age);
        }
    }
    newest
}

fn gravest_first(one: &Row<'_>, other: &Row<'_>) -> Ordering {
    let place = |row: &Row<'_>| (row.group, !row.ruling.required, std::cmp::Reverse(row.ruling.outcome));
    // In tolerances, so that points and percents stand in one order; what has no figure at all is graver than any loss.
    let size = |row: &Row<'_>| {
        let ruling = row.ruling;
        ruling
            .estimate
            .map_or(f64::NEG_INFINITY, |gain| gain / ruling.tolerance.abs().max(f64::MIN_POSITIVE))
    };
    place(one).cmp(&place(other)).then_with(|| size(one).total_cmp(&size(other)))
}

/// The columns of the table of rows that need eyes: what stands before the counts of scores, and behind them.
const OPEN: [&[&str]; 2] = [
    &["what", "base", "candidate", "gain, interval", "tolerance", "blocks"],
    &["committed baseline", "worth", "verdict"],
];
/// Likewise of the rows within band.
const WITHIN: [&[&str]; 2] = [
    &["what", "gain, interval", "tolerance", "could see"],
    &["committed baseline", "verdict"],
];
/// Of a score: the items that it rests on, and of those answered on both sides what was right before and is wrong now, and the other way round.
const COUNTS: [&str; 3] = ["n", "lost", "gained"];

/// The two lines that a table of such columns begins with.
fn heading([before, behind]: [&[&str]; 2], rows: &[Row<'_>]) -> String {
    let counts: &[&str] = if rows.iter().any(|row| row.beside_scores) { &COUNTS } else { &[] };
    head(&[before, counts, behind].concat())
}

/// The head of the table of rows that need eyes.
pub(super) fn open_head(rows: &[Row<'_>]) -> String {
    heading(OPEN, rows)
}

/// The head of the table of rows within band.
pub(super) fn within_head(rows: &[Row<'_>]) -> String {
    heading(WITHIN, rows)
}

impl Row<'_> {
    /// Whether somebody has to look at it.
    pub(super) fn needs_eyes(&self) -> bool {
        self.group != Group::Within
    }

    /// The row as one of [`OPEN`].
    pub(super) fn open(&self) -> String {
        let ruling = self.ruling;
        let before = [
            self.what(),
            median(ruling.base, &ruling.unit),
            median(ruling.candidate, &ruling.unit),
            gain(ruling),
            escape(&size(ruling.tolerance, ruling.scale, &ruling.unit)),
            self.blocks(),
        ];
        let behind = [
            self.reference(),
            self.record.judgement.disposition.word().to_owned(),
            self.verdict(),
        ];
        line(&[&before[..], &self.counts(), &behind].concat())
    }

    /// The row as one of [`WITHIN`].
    pub(super) fn within(&self) -> String {
        let ruling = self.ruling;
        let smallest = ruling
            .smallest_detectable
            .map_or_else(|| "-".to_owned(), |smallest| escape(&size(smallest, ruling.scale, &ruling.unit)));
        let before = [
            self.what(),
            gain(ruling),
            escape(&size(ruling.tolerance, ruling.scale, &ruling.unit)),
            smallest,
        ];
        line(&[&before[..], &self.counts(), &[self.reference(), self.verdict()]].concat())
    }

    /// The row where there is no room for more: its name, its verdict and its gain.
    pub(super) fn brief(&self) -> String {
        let ruling = self.ruling;
        let estimate = ruling.estimate.map_or_else(String::new, |gain| {
            let gain = number::difference(gain, ruling.scale, &ruling.unit);
            format!(" {}", escape(&gain))
        });
        format!("- {} {}{estimate}\n", self.subject(), ruling.verdict.word())
    }

    /// Why, row by row.
    pub(super) fn reason(&self) -> String {
        use super::inert::prose;
        let ruling = self.ruling;
        let warnings: String = ruling
            .warnings
            .iter()
            .map(|warning| format!(" Warning: {}.", prose(warning)))
            .collect();
        format!(
            "- {} {}: {} Next: {}{warnings}\n",
            self.subject(),
            ruling.verdict.word(),
            prose(&ruling.because),
            prose(&ruling.next)
        )
    }

    /// Where its rule was declared.
    pub(super) fn declared_at(&self) -> &str {
        rule_of(self.record, self.ruling).map_or("", |rule| &rule.at)
    }

    /// Which record's it is, where there are several.
    pub(super) fn of_record(&self) -> String {
        if self.label.is_empty() {
            String::new()
        } else {
            format!(", of {}", name(self.label))
        }
    }

    /// Record, fixture and metric.
    pub(super) fn subject(&self) -> String {
        let ruling = self.ruling;
        let fixture = (!ruling.cell.fixture.is_empty()).then_some(ruling.cell.fixture.as_str());
        let label = (!self.label.is_empty()).then_some(self.label);
        let parts: Vec<String> = label.into_iter().chain(fixture).map(name).collect();
        [parts, vec![name(&ruling.metric)]].concat().join(" / ")
    }

    fn what(&self) -> String {
        let ruling = self.ruling;
        let rule = if ruling.rule == "hold" {
            String::new()
        } else {
            format!(", {}", escape(&ruling.rule))
        };
        let against = match ruling.against {
            Against::Base => "",
            Against::Baseline => ", against the committed baseline",
        };
        format!("{}{}{rule}{against}", self.subject(), self.direction)
    }

    /// Blocks of four processes; a score rests on none.
    fn blocks(&self) -> String {
        if is_of_scores(self.ruling) {
            "-".to_owned()
        } else {
            self.ruling.blocks.to_string()
        }
    }

    /// [`COUNTS`], where the page has them; a dash where a count is not known, which is never zero.
    fn counts(&self) -> Vec<String> {
        if !self.beside_scores {
            return Vec::new();
        }
        let detail = &self.ruling.detail;
        let paired = |name: &str| detail.get("paired").and_then(|paired| paired.get(name));
        let counts = [detail.get("items"), paired("lost"), paired("gained")].into_iter();
        let shown = |count: Option<&Value>| {
            count
                .and_then(Value::as_u64)
                .map_or_else(|| "-".to_owned(), |count| count.to_string())
        };
        counts.map(shown).collect()
    }

    /// The same bucket against the committed baseline, with the age of its newest session.
    fn reference(&self) -> String {
        let Some(Reference { ruling, age_days }) = self.baseline else {
            return "-".to_owned();
        };
        let age = age_days.map(|days| format!("{} old", count(days.unsigned_abs(), "day")));
        let gain = ruling
            .estimate
            .map(|gain| escape(&number::difference(gain, ruling.scale, &ruling.unit)));
        match (gain, age) {
            // The row itself says the rest.
            (_, age) if self.ruling.against == Against::Baseline => age.unwrap_or_else(|| "-".to_owned()),
            (Some(gain), Some(age)) => format!("{gain}, {age}"),
            (Some(gain), None) => gain,
            (None, _) => ruling.verdict.word().to_owned(),
        }
    }

    fn verdict(&self) -> String {
        let word = self.ruling.verdict.word();
        let word = if self.group == Group::Failed && self.ruling.required {
            format!("**{word}**")
        } else {
            word.to_owned()
        };
        if self.ruling.required { word } else { format!("{word} (advisory)") }
    }
}

/// The rule that a ruling answers.
pub(in crate::render) fn rule_of<'a>(record: &'a Record, ruling: &Ruling) -> Option<&'a Rule> {
    let covers = |pattern: &str, name: &str| pattern == "*" || pattern == name;
    let of_samples = |rule: &&Rule| {
        rule.against == ruling.against && covers(&rule.metric, &ruling.metric) && covers(&rule.fixture, &ruling.cell.fixture)
    };
    // A rule of scores speaks of whatever base there is.
    let of_scores = |rule: &&Rule| names(&rule.metric, &key(ruling));
    let mut of_kind = record.gate.rules.iter().filter(|rule| rule.kind == ruling.rule);
    if is_of_scores(ruling) {
        of_kind.find(of_scores)
    } else {
        of_kind.find(of_samples)
    }
}

/// Whether it speaks of scores, which no process of this run measured.
pub(super) fn is_of_scores(ruling: &Ruling) -> bool {
    ruling.rule == "drop"
}

/// The score that a ruling speaks of.
fn key(ruling: &Ruling) -> Key {
    let filtered = ruling.metric.strip_suffix(')').and_then(|metric| metric.rsplit_once(" ("));
    let (metric, filter) = filtered.unwrap_or((&ruling.metric, ""));
    Key {
        task: ruling.cell.fixture.clone(),
        metric: metric.to_owned(),
        filter: filter.to_owned(),
    }
}

/// The gravest ruling that made the outcome what it is.
pub(super) fn decisive<'a, 'b>(rows: &'b [Row<'a>], outcome: Outcome) -> Option<&'b Row<'a>> {
    rows.iter().find(|row| row.ruling.required && row.ruling.outcome == outcome)
}

/// One row of a table.
pub(super) fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The two lines that a table begins with.
pub(super) fn head(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), " --- |".repeat(columns.len()))
}

fn median(range: Option<Range>, unit: &str) -> String {
    range.map_or_else(
        || "not measured".to_owned(),
        |range| {
            let unit = if unit == "1" { "" } else { unit };
            format!("{} {}", figure(range.median), escape(unit)).trim_end().to_owned()
        },
    )
}

fn gain(ruling: &Ruling) -> String {
    let Some(estimate) = ruling.estimate else {
        let measured = ruling.base.is_some() || ruling.candidate.is_some();
        return if measured { "-" } else { "not measured" }.to_owned();
    };
    let (estimate, interval) = number::gain(estimate, ruling.interval, ruling.tolerance, ruling.scale, &ruling.unit);
    match interval {
        // The unit stands behind the interval.
        Some(interval) => {
            let unit = format!(" {}", scale_unit(ruling.scale, &ruling.unit));
            escape(&format!("{} {interval}", estimate.trim_end_matches(&unit)))
        }
        None => escape(&estimate),
    }
}
