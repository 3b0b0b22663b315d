//! A comparison as text.

use super::rows::{Alone, Comparison, Row, Values};
use crate::cli::columns::table;
use crate::model::number::figure;
use crate::model::text::plain_line;
use crate::render::markdown::escape;

/// Longest cell, in characters.
const CELL_MAX: usize = 100;
/// Longest line, in characters.
const LINE_MAX: usize = 2_000;
const HEAD: [&str; 5] = ["series", "base min / median / max", "candidate min / median / max", "gain", "says"];

/// For people at a terminal.
pub fn terminal(comparison: &Comparison) -> String {
    let mut out = String::new();
    for (label, told) in [("base", &comparison.base), ("candidate", &comparison.candidate)] {
        out += &format!(
            "{label}: {} ({})\n",
            plain_line(&told.file, LINE_MAX),
            plain_line(&told.is, CELL_MAX)
        );
    }
    if !comparison.rows.is_empty() {
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(comparison.rows.iter().map(|row| cells(row).to_vec()));
        out += &format!("\n{}", table(&rows));
    }
    out += "\n";
    for line in lines(comparison) {
        out += &format!("{}\n", plain_line(&line, LINE_MAX));
    }
    out
}

/// For pull requests and job summaries.
pub fn markdown(comparison: &Comparison) -> String {
    let line = |cells: [String; 5]| format!("| {} |\n", cells.join(" | "));
    let mut out = format!(
        "**{} against {}**\n\n",
        escape(&comparison.candidate.file),
        escape(&comparison.base.file)
    );
    if !comparison.rows.is_empty() {
        out += &line(HEAD.map(str::to_owned));
        out += &line(HEAD.map(|_| "---".to_owned()));
        for row in &comparison.rows {
            out += &line(cells(row).map(|cell| escape(&cell)));
        }
        out += "\n";
    }
    for line in lines(comparison) {
        out += &format!("- {}\n", escape(&line));
    }
    out
}

/// One line a series, for spreadsheets; what is missing is an empty cell with its reason in the last one.
pub fn csv(comparison: &Comparison) -> String {
    let mut out = "series,unit,better,base_n,base,candidate_n,candidate,difference,gain_pct,says\n".to_owned();
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let middle = |values: &Values| number(values.min_median_max.map(|[_, middle, _]| middle));
    let mut add = |cells: [String; 10]| out += &format!("{}\n", cells.map(|cell| quoted(&cell)).join(","));
    for row in &comparison.rows {
        add([
            row.series.clone(),
            row.unit.map_or_else(String::new, |unit| unit.to_string()),
            better(row).to_owned(),
            row.base.n.to_string(),
            middle(&row.base),
            row.candidate.n.to_string(),
            middle(&row.candidate),
            number(row.difference),
            number(row.gain_pct),
            says(row),
        ]);
    }
    let none = String::new;
    for one in &comparison.only_base {
        let n = one.values.n.to_string();
        add([
            one.series.clone(),
            none(),
            none(),
            n,
            middle(&one.values),
            none(),
            none(),
            none(),
            none(),
            only(one, "base"),
        ]);
    }
    for one in &comparison.only_candidate {
        let n = one.values.n.to_string();
        add([
            one.series.clone(),
            none(),
            none(),
            none(),
            none(),
            n,
            middle(&one.values),
            none(),
            none(),
            only(one, "candidate"),
        ]);
    }
    out
}

/// A cell that every reader of CSV takes as text or number, and no spreadsheet as a formula.
fn quoted(cell: &str) -> String {
    let is_number = cell.parse::<f64>().is_ok();
    let cell = plain_line(cell, LINE_MAX);
    let armed = !is_number && cell.starts_with(['=', '+', '-', '@']);
    let cell = if armed { format!("'{cell}") } else { cell };
    if cell.contains([',', '"']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

fn cells(row: &Row) -> [String; 5] {
    let unit = row.unit.map_or_else(String::new, |unit| format!(" {unit}"));
    let gain = match (row.gain_pct, row.difference) {
        (Some(gain), _) => format!("{gain:+.2} %"),
        (None, Some(difference)) => format!("({difference:+}{unit})"),
        (None, None) => "-".to_owned(),
    };
    [
        plain_line(&row.series, CELL_MAX),
        values(&row.base, &unit),
        values(&row.candidate, &unit),
        gain,
        plain_line(&says(row), CELL_MAX * 2),
    ]
}

fn values(values: &Values, unit: &str) -> String {
    match (&values.min_median_max, &values.missing) {
        (Some([min, median, max]), _) if values.n > 1 => {
            format!("{} / {} / {}{unit} (n={})", figure(*min), figure(*median), figure(*max), values.n)
        }
        (Some([_, only, _]), _) => format!("{}{unit}", figure(*only)),
        (None, Some(why)) => plain_line(why, CELL_MAX),
        (None, None) => "--".to_owned(),
    }
}

fn better(row: &Row) -> &'static str {
    match row.better {
        Some(crate::model::metric::Better::Higher) => "higher",
        Some(crate::model::metric::Better::Lower) => "lower",
        None => "",
    }
}

fn says(row: &Row) -> String {
    let direction = match better(row) {
        "" => Vec::new(),
        better => vec![format!("{better} is better")],
    };
    let missing = [("A", &row.base), ("B", &row.candidate)];
    let missing = missing
        .into_iter()
        .filter_map(|(side, values)| Some(format!("{side}: {}", values.missing.as_ref()?)));
    let all: Vec<String> = direction.into_iter().chain(missing).chain(row.notes.iter().cloned()).collect();
    all.join("; ")
}

fn only(one: &Alone, side: &str) -> String {
    let renamed = one
        .renamed
        .as_ref()
        .map_or_else(String::new, |other| format!("; {other} has like values: renamed?"));
    format!("only in the {side}{renamed}")
}

/// What is told beside the table.
fn lines(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    for (side, alone) in [("base", &comparison.only_base), ("candidate", &comparison.only_candidate)] {
        lines.extend(alone.iter().map(|one| {
            let unit = String::new();
            format!("{}: {} ({})", only(one, side), one.series, values(&one.values, &unit))
        }));
    }
    lines.push(format!("configuration: {}", comparison.levers_in_words()));
    lines.push(format!("worth: {}", comparison.worth));
    lines
}
