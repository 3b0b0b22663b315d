//! The rulings of all records as rows, gravest first.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::inert::name;
use crate::model::baseline::{BaselineUse, days_between};
use crate::model::gate::{Against, Rule};
use crate::model::judgement::{Outcome, Range, Ruling, Verdict};
use crate::model::metric::{Better, Metric, Scale};
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
    metric: Option<&'a Metric>,
    baseline: Option<Reference<'a>>,
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
    rows.sort_by(gravest_first);
    rows
}

fn rows_of<'a>(record: &'a Record, label: &'a str) -> impl Iterator<Item = Row<'a>> {
    let metrics: HashMap<&str, &Metric> = record.gate.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect();
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
    rulings.iter().map(move |ruling| Row {
        record,
        ruling,
        group: Group::of(ruling.verdict),
        label,
        metric: metrics.get(ruling.metric.as_str()).copied(),
        baseline: references.get(&bucket(ruling)).copied(),
    })
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

/// The head of the table of rows that need eyes.
pub(super) const OPEN: [&str; 9] = [
    "what",
    "base",
    "candidate",
    "gain, interval",
    "tolerance",
    "blocks",
    "committed baseline",
    "worth",
    "verdict",
];
/// The head of the table of rows within band.
pub(super) const WITHIN: [&str; 6] = ["what", "gain, interval", "tolerance", "could see", "committed baseline", "verdict"];

impl Row<'_> {
    /// Whether somebody has to look at it.
    pub(super) fn needs_eyes(&self) -> bool {
        self.group != Group::Within
    }

    /// The row as one of [`OPEN`].
    pub(super) fn open(&self) -> String {
        let ruling = self.ruling;
        line(&[
            self.what(),
            median(ruling.base, &ruling.unit),
            median(ruling.candidate, &ruling.unit),
            gain(ruling),
            escape(&size(ruling.tolerance, ruling.scale, &ruling.unit)),
            self.blocks(),
            self.reference(),
            self.record.judgement.disposition.word().to_owned(),
            self.verdict(),
        ])
    }

    /// The row as one of [`WITHIN`].
    pub(super) fn within(&self) -> String {
        let ruling = self.ruling;
        let smallest = ruling
            .smallest_detectable
            .map_or_else(|| "-".to_owned(), |smallest| escape(&size(smallest, ruling.scale, &ruling.unit)));
        line(&[
            self.what(),
            gain(ruling),
            escape(&size(ruling.tolerance, ruling.scale, &ruling.unit)),
            smallest,
            self.reference(),
            self.verdict(),
        ])
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
        let direction = self.metric.map_or("", |metric| match metric.better {
            Better::Higher => " (higher is better)",
            Better::Lower => " (lower is better)",
        });
        let rule = if ruling.rule == "hold" {
            String::new()
        } else {
            format!(", {}", escape(&ruling.rule))
        };
        let against = match ruling.against {
            Against::Base => "",
            Against::Baseline => ", against the committed baseline",
        };
        format!("{}{direction}{rule}{against}", self.subject())
    }

    /// Blocks of four processes; of scores, how many items they rest on.
    fn blocks(&self) -> String {
        match (self.ruling.scale, self.ruling.candidate) {
            (Scale::Pp, Some(range)) if self.ruling.blocks == 0 => format!("n = {}", range.n),
            _ => self.ruling.blocks.to_string(),
        }
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
    record.gate.rules.iter().find(|rule| {
        rule.kind == ruling.rule
            && rule.against == ruling.against
            && covers(&rule.metric, &ruling.metric)
            && covers(&rule.fixture, &ruling.cell.fixture)
    })
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
        |range| format!("{} {}", figure(range.median), escape(unit)),
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
