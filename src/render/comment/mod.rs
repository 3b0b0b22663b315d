//! The one comment on a pull request, and the summary of a job: several records on one page, gravest first, in limited room.
//!
//! At most 25 lines are seen before anything is unfolded. Where the page is too small, rows are left out whole, from the least grave on, and
//! the page says how many and where they are.

mod folds;
mod inert;
mod room;
mod rows;
mod top;

use folds::{RAW, how, provenance_of, raw};
use inert::{name, prose};
use room::{Fit, Room};
use rows::{Group, Row, decisive, head, open_head, rows, within_head};
use top::{refused_heading, top};

pub(super) use rows::rule_of;

use crate::model::github::Key;
use crate::model::record::Record;
use crate::model::summary::Summary;

/// Rows of the open table that stand unfolded.
const SEEN_MAX: usize = 8;
/// Records that the footer names.
const FOOTER_MAX: usize = 3;
/// Lines of what kept a command from its answer.
const FAILURE_LINES_MAX: usize = 25;
/// What the sentence on what was cut takes at most, in bytes.
const NOTICE_MAX_BYTES: usize = 700;
/// What the frame of a fold takes at most beside its rows, in bytes.
const FRAME_MAX_BYTES: usize = 300;

/// What the page says besides the records.
#[derive(Debug, Clone, Default)]
pub struct About<'a> {
    /// Which of several comments it is; none for the usual one.
    pub key: Option<&'a Key>,
    /// The commit that it speaks of, in hex.
    pub head: Option<&'a str>,
    /// The page of the run, which holds more room.
    pub run_url: Option<String>,
    /// Room for the page, in bytes.
    pub limit_bytes: usize,
    /// Why there is no verdict, whatever the records say, where there is none.
    pub refused: Option<&'a str>,
}

/// The page, with the end of its last line; never longer than `limit_bytes`, where that is at least 50,000.
pub fn page(records: &[Record], about: &About<'_>) -> String {
    let labels = labels(records);
    let rows = rows(records, &labels);
    let top = top(records, &rows, about);
    let footer = footer(records, &rows, about);
    let room = about.limit_bytes.saturating_sub(top.len() + footer.len() + NOTICE_MAX_BYTES);
    let Body { text, cut } = body(records, &rows, &labels, &mut Room::new(room));
    format!("{top}{text}{}{footer}", notice(&cut, about))
}

/// The answer in one line, without markup.
pub fn headline(records: &[Record]) -> String {
    let labels = labels(records);
    top::headline(records, &rows(records, &labels))
}

/// What kept a command from its answer, as a paragraph with a heading of its own.
pub fn failure(why: &str) -> String {
    let lines: Vec<String> = why.lines().take(FAILURE_LINES_MAX).map(prose).collect();
    format!("{}{}\n\n", refused_heading(""), lines.join("<br>\n"))
}

/// Whether there is anything to tell of: a row that needs eyes, or an outcome other than a pass.
pub fn is_news(records: &[Record]) -> bool {
    let labels = labels(records);
    let policy = super::policy::Policy::of(records);
    policy.blocks() || rows(records, &labels).iter().any(Row::needs_eyes)
}

/// What tells several records apart: kind, gate and architecture. Nothing has to where there is one.
fn labels(records: &[Record]) -> Vec<String> {
    if records.len() < 2 {
        return records.iter().map(|_| String::new()).collect();
    }
    let label = |record: &Record| {
        let gate = (record.gate.from != "command line").then(|| record.gate.name.clone());
        let parts = [
            Some(record.kind.clone()),
            gate.filter(|gate| *gate != record.kind),
            record.identity.arch(),
        ];
        parts.into_iter().flatten().collect::<Vec<String>>().join(" ")
    };
    let mut labels: Vec<String> = Vec::new();
    for label in records.iter().map(label) {
        let same = labels
            .iter()
            .filter(|other| **other == label || other.starts_with(&format!("{label} (")))
            .count();
        labels.push(if same == 0 { label } else { format!("{label} ({})", same + 1) });
    }
    labels
}

struct Body {
    text: String,
    /// What was left out: how many, and of what.
    cut: Vec<(usize, String)>,
}

fn body(records: &[Record], rows: &[Row<'_>], labels: &[String], room: &mut Room) -> Body {
    let eyes = rows.iter().take_while(|row| row.needs_eyes()).count();
    let (open, within) = rows.split_at(eyes);
    let failed = open.iter().take_while(|row| row.group == Group::Failed).count();
    let mut cut = Vec::new();
    let mut left = |fit: Fit, what: &str| {
        if fit.left_out > 0 {
            cut.push((fit.left_out, what.to_owned()));
        }
        fit.lines
    };

    // Room is given in the order of gravity, and the page is put together in the order of reading.
    let (failed, open) = open.split_at(failed);
    let brief: Vec<String> = failed.iter().map(Row::brief).collect();
    let mut long = room.split(3 * FRAME_MAX_BYTES, failed.iter().map(Row::open), &brief);
    if long.is_empty() {
        // Not even the names of all fit: what is seen unfolded is whole all the same.
        long.extend(failed.iter().take(SEEN_MAX).map(Row::open));
    }
    let rest = brief.into_iter().skip(long.len());
    let mut table = left(room.fit(2 * FRAME_MAX_BYTES, long.into_iter()), "of rules that failed");
    let brief = left(room.fit(FRAME_MAX_BYTES, rest), "of rules that failed");
    for group in [Group::Missing, Group::Open, Group::Waived, Group::Slower, Group::Better] {
        let of_group: Vec<&Row<'_>> = open.iter().filter(|row| row.group == group).collect();
        let of_group = of_group.into_iter().map(Row::open);
        table.extend(left(room.fit(2 * FRAME_MAX_BYTES, of_group), group.word()));
    }
    let how_lines: Vec<String> = records.iter().zip(labels).flat_map(|(record, label)| how(record, label)).collect();
    let how_lines = left(room.fit(FRAME_MAX_BYTES, how_lines.into_iter()), "lines on how it was measured");
    let (eyes, _) = rows.split_at(eyes);
    let reasons = eyes.iter().map(Row::reason);
    let reasons = left(room.fit(FRAME_MAX_BYTES, reasons), "reasons");
    let within = left(room.fit(FRAME_MAX_BYTES, within.iter().map(Row::within)), Group::Within.word());
    let raw = left(room.fit(FRAME_MAX_BYTES, raw(rows)), "of raw values");

    let mut text = String::new();
    let (seen, more) = table.split_at(table.len().min(SEEN_MAX));
    if !seen.is_empty() {
        text.push_str(&format!("{}{}\n", open_head(rows), seen.concat()));
    }
    text.push_str(&fold("More rows that need eyes", &open_head(rows), more));
    text.push_str(&fold("More rows that failed, in brief", "", &brief));
    text.push_str(&fold("Why, row by row", "", &reasons));
    text.push_str(&fold(
        "Within band, with the smallest slowdown that each row could have seen",
        &within_head(rows),
        &within,
    ));
    text.push_str(&fold("How it was measured, lines", "", &how_lines));
    text.push_str(&fold("Raw values, a bar for every process", &head(&RAW), &raw));
    Body { text, cut }
}

/// Lines that are seen once somebody asks for them; nothing where there are none.
fn fold(what: &str, head: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    // The blank line after the summary lets what follows be read as Markdown.
    format!(
        "<details><summary>{what}: {}</summary>\n\n{head}{}\n</details>\n\n",
        lines.len(),
        lines.concat()
    )
}

/// What was left out, and where it is; nothing where everything is there.
fn notice(cut: &[(usize, String)], about: &About<'_>) -> String {
    if cut.is_empty() {
        return String::new();
    }
    let parts: Vec<String> = cut
        .iter()
        .map(|(number, what)| match what.as_str() {
            "reasons" | "lines on how it was measured" => format!("{number} {what}"),
            rows => format!("{number} rows {rows}"),
        })
        .collect();
    let elsewhere = match &about.run_url {
        Some(url) => format!("the [summary of the run]({url}) and the records have"),
        None => "the records have".to_owned(),
    };
    format!(
        "**Cut to fit {} bytes.** Not shown: {}; {elsewhere} them.\n\n",
        about.limit_bytes,
        parts.join(", ")
    )
}

/// A line for each record: rule, plan, seal, attempt, duration; and the page of the run.
fn footer(records: &[Record], rows: &[Row<'_>], about: &About<'_>) -> String {
    let decided = decisive(rows, Summary::of(records).outcome);
    let line = |record: &Record| {
        let at = decided.filter(|row| std::ptr::eq(row.record, record)).map(Row::declared_at);
        let at = at.or_else(|| record.gate.rules.first().map(|rule| rule.at.as_str()));
        provenance_of(record, at.unwrap_or_default())
    };
    let labelled = |(record, label): (&Record, &String)| {
        if label.is_empty() {
            line(record)
        } else {
            format!("of {}: {}", name(label), line(record))
        }
    };
    let mut lines: Vec<String> = records.iter().zip(&labels(records)).take(FOOTER_MAX).map(labelled).collect();
    if records.len() > FOOTER_MAX {
        lines.push(format!("and {} more records, above", records.len() - FOOTER_MAX));
    }
    if let (Some(url), Some(last)) = (&about.run_url, lines.last_mut()) {
        last.push_str(&format!(" · [run]({url})"));
    }
    lines.join("<br>\n") + if lines.is_empty() { "" } else { "\n" }
}
