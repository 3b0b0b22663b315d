//! For people at a terminal.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::words::{COLUMNS, by_gravity, columns, headline, kind, measured, provenance, row, watched};
use super::{Canvas, Format};
use crate::model::judgement::Outcome;
use crate::model::record::{Record, short};
use crate::model::text::{no_commands, plain_line};

/// Plain text with a table.
pub const FORMAT: Format = Format {
    name: "terminal",
    about: "plain text with a table, coloured on a terminal",
    render,
};

/// Longest line of foreign text.
const LINE_MAX: usize = 2000;
/// Columns that a cell has beside its text.
const CELL_PADDING: u16 = 2;

fn render(record: &Record, canvas: Canvas) -> serde_json::Result<String> {
    let judgement = &record.judgement;
    let mut out = format!("gate {}: {}\n", kind(record), paint(&headline(record), judgement.outcome, canvas));
    if !judgement.verdicts.is_empty() {
        out.push('\n');
        out.push_str(&table(record, canvas));
    }
    for ruling in by_gravity(record) {
        let mut line = |label: &str, text: &str| out.push_str(&format!("{label}{}\n", plain_line(text, LINE_MAX)));
        line("\n", &ruling.because);
        line("next: ", &ruling.next);
        for warning in &ruling.warnings {
            line("warning: ", warning);
        }
    }
    out.push('\n');
    for (label, texts) in [("banner", &record.context.banners), ("warning", &judgement.warnings)] {
        for text in texts {
            out.push_str(&format!("{label}: {}\n", plain_line(text, LINE_MAX)));
        }
    }
    for (label, text) in provenance(record) {
        out.push_str(&format!("{label}: {text}\n"));
    }
    out.push_str(&format!("measured: {}\n", measured(record)));
    out.push_str(&watched(record).map_or_else(String::new, |text| format!("watched: {text}\n")));
    out.push_str(&format!(
        "worth: {}, because {}\n",
        judgement.disposition,
        plain_line(&judgement.disposition_because.join("; "), LINE_MAX)
    ));
    out.push_str(&format!("record: {}, plan {}\n", short(&record.seal), short(&record.plan.digest)));
    out.push_str(&format!("again: {}\n", plain_line(&record.context.command, 100_000)));
    Ok(no_commands(&out))
}

fn table(record: &Record, canvas: Canvas) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(columns(record));
    match canvas.width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(60)),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    if !canvas.colour {
        table.force_no_tty();
    }
    for ruling in by_gravity(record) {
        table.add_row(row(record, ruling));
    }
    // A verdict is one word, and a word is not broken.
    let longest = record
        .judgement
        .verdicts
        .iter()
        .map(|ruling| ruling.verdict.word().len() as u16)
        .max();
    if let (Some(longest), Some(column)) = (longest, table.column_mut(COLUMNS - 1)) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest + CELL_PADDING)));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    lines.concat()
}

fn paint(text: &str, outcome: Outcome, canvas: Canvas) -> String {
    let colour = match outcome {
        Outcome::Pass => 32,
        Outcome::Inconclusive => 33,
        Outcome::Error | Outcome::Fail | Outcome::Violation => 31,
    };
    if canvas.colour {
        format!("\u{1b}[1;{colour}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}
