//! Commits compared one after the other, each with the last one before it that could be judged.

use anyhow::{Result, bail};

use super::report::{Report, Row};
use super::{Pairs, compared, say};
use crate::edge::git::Commit;
use crate::exit::{self, Exit};
use crate::judge::search::{Told, told};
use crate::model::judgement::Outcome;
use crate::model::number::{chance, count};
use crate::model::sample::Arm;
use crate::model::summary::Summary;

/// Compares every commit with its neighbour.
pub fn compare(pairs: &mut Pairs, commits: &[Commit]) -> Result<Report> {
    let mut rows = Vec::new();
    let Some((mut base, rest)) = commits.split_first() else {
        bail!("no commits to compare")
    };
    rows.push(Row::of(base));
    // Where the base's own row is, and whether it is known to run.
    let (mut at, mut runs) = (0, false);
    for (number, commit) in (1_usize..).zip(rest) {
        say(&format!(
            "comparison {number} of {}: {} with {}",
            rest.len(),
            commit.short(),
            base.short()
        ));
        let (mut row, unfit) = compared(pairs, base, commit)?;
        match unfit {
            Some(Arm::A) if runs => match row.record {
                // It ran before: this is an error of the machine, and its record says so.
                Some(_) => row.cannot = None,
                None => bail!(
                    "{} was built before, and cannot be now: {}",
                    base.short(),
                    row.cannot.unwrap_or_default()
                ),
            },
            Some(Arm::A) => {
                let why = row.cannot.take();
                if let Some(of_base) = rows.get_mut(at) {
                    of_base.cannot = why;
                }
                row = Row::of(commit);
                (base, at) = (commit, rows.len());
            }
            Some(Arm::B) => {}
            None => (base, at, runs) = (commit, rows.len(), true),
        }
        rows.push(row);
    }
    let exit = exit_of(&rows);
    let mut report = Report::new("neighbours", pairs, rows, exit);
    report.says = says(&report, commits);
    Ok(report)
}

/// The exit code of the judged commits together; what could not be judged keeps it from being a pass.
fn exit_of(rows: &[Row]) -> Exit {
    let judged = || rows.iter().filter(|row| row.cannot.is_none());
    let summary = Summary::of(judged().filter_map(|row| row.record.as_deref()));
    let passed_over = rows.iter().any(|row| row.cannot.is_some());
    match exit::of_summary(summary) {
        exit::PASS if passed_over => exit::of(Outcome::Inconclusive),
        exit => exit,
    }
}

fn says(report: &Report, commits: &[Commit]) -> Vec<String> {
    let rows = &report.rows;
    let mut says = Vec::new();
    for row in rows {
        if row.record.as_deref().is_none_or(|record| told(&record.judgement) != Told::Bad) {
            continue;
        }
        let against = row.against.as_deref().unwrap_or_default();
        let base = commits.iter().find(|commit| commit.short() == against);
        let base = base.map_or_else(|| against.to_owned(), Row::name);
        says.push(format!("slower between {base} and {}: {}", row.called(), row.gain()));
    }
    let passed_over = rows.iter().filter(|row| row.cannot.is_some()).count();
    if passed_over > 0 {
        says.push(format!(
            "{} cannot be judged: passed over, neither good nor bad",
            count(passed_over as u64, "commit")
        ));
    }
    let comparisons = rows.iter().filter(|row| row.cannot.is_none() && row.record.is_some()).count();
    let any = 1.0 - (1.0 - report.alpha).powi(comparisons as i32);
    says.push(format!(
        "each comparison has the gate's own rates, alpha {} and beta {}: of {} where nothing got slower, one or more false alarms come in at most {}",
        chance(report.alpha),
        chance(report.beta),
        comparisons,
        chance(any)
    ));
    says
}
