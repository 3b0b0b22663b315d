//! Results as tables for people.

use super::Found;
use crate::cli::columns::table;
use crate::model::gate::declaration::Reduce;
use crate::model::metric::Better;
use crate::model::number::figure;
use crate::model::report::{Process, Reported, reduce};
use crate::model::text::plain_line;

/// Longest cell, in characters.
const CELL_MAX: usize = 100;

/// One result with all its series.
pub fn as_table(found: &Found) -> String {
    let report = &found.report;
    let at = report
        .at
        .as_ref()
        .map_or_else(String::new, |at| format!(", {}", plain_line(at, CELL_MAX)));
    let mut out = format!(
        "{} ({}: {}{at})\n",
        plain_line(&found.file, CELL_MAX * 2),
        found.adapter,
        plain_line(&report.tool, CELL_MAX)
    );
    let head = ["  series", "better", "processes", "repetitions", "min / median / max", "says"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(report.series.iter().map(row));
    out += &table(&rows);
    for (key, value) in &report.config {
        out += &format!("  {} = {}\n", plain_line(key, CELL_MAX), plain_line(value, CELL_MAX));
    }
    for note in &report.notes {
        out += &format!("  note: {}\n", plain_line(note, CELL_MAX * 2));
    }
    out
}

fn row(series: &Reported) -> Vec<String> {
    let better = match series.better {
        Some(Better::Higher) => "higher",
        Some(Better::Lower) => "lower",
        None => "not stated",
    };
    let repetitions = series.processes.iter().filter_map(|process| match process {
        Process::Repetitions(values) => Some(values.as_slice()),
        Process::Missing(_) => None,
    });
    let values: Vec<f64> = repetitions.flatten().copied().collect();
    let shown = |how| reduce(values.clone(), how).map_or_else(|| "--".to_owned(), figure);
    let unit = series.unit.map_or_else(|| "(no unit stated)".to_owned(), |unit| unit.to_string());
    let spread = format!("{} / {} / {} {unit}", shown(Reduce::Min), shown(Reduce::Median), shown(Reduce::Max));
    let mut says: Vec<String> = series.notes.clone();
    for process in &series.processes {
        if let Process::Missing(missing) = process
            && !says.contains(&missing.why)
        {
            says.push(missing.why.clone());
        }
    }
    says.extend(series.stderr.map(|stderr| format!("standard error {}", figure(stderr))));
    says.extend(series.n.map(|n| format!("n = {n}")));
    vec![
        format!("  {}", plain_line(&series.label(), CELL_MAX)),
        better.to_owned(),
        series.processes.len().to_string(),
        values.len().to_string(),
        if values.is_empty() { "--".to_owned() } else { spread },
        plain_line(&says.join("; "), CELL_MAX * 2),
    ]
}
