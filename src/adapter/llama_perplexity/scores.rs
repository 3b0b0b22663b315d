//! `--hellaswag`, `--winogrande`, `--multiple-choice`: shares of tasks answered right, printed in percent.

use std::collections::BTreeMap;

use super::{Output, Printed, series};
use crate::model::metric::Better;
use crate::model::report::{Process, Refused, Reported};

/// Fewer tasks than these, and the tool concludes nothing of Winogrande.
const WINOGRANDE_MIN: usize = 100;

/// A score as a share of 1, which is how other harnesses have it.
fn score(name: &str, task: &str, printed: &Printed, n: Option<u64>) -> Reported {
    let mut found = series(name, Some("1"), Some(Better::Higher), printed);
    found.of = BTreeMap::from([("task".to_owned(), task.to_owned())]);
    found.n = n;
    let outside =
        |process: &Process| matches!(process, Process::Repetitions(values) if values.iter().any(|value| !(0.0..=1.0).contains(value)));
    if found.processes.iter().any(outside) {
        found.processes = vec![Process::failed("outside 0 to 100 %")];
    }
    found.notes.push("printed in percent".to_owned());
    found
}

/// The rows of tasks: the cells after the number of the task.
fn rows<'t>(output: &Output<'t>, cells: usize) -> Result<Vec<Vec<&'t str>>, Refused> {
    let mut rows: Vec<Vec<&str>> = Vec::new();
    for line in &output.lines {
        let all: Vec<&str> = line.split('\t').collect();
        let number = all.first().and_then(|cell| cell.trim().parse::<usize>().ok());
        let Some(number) = number.filter(|_| all.len() == cells) else {
            continue;
        };
        if number != rows.len() + 1 {
            return Err(Refused(format!(
                "task {number} follows task {}: lines are missing, or the output of several runs is mixed",
                rows.len()
            )));
        }
        rows.push(all.get(1..).unwrap_or_default().to_vec());
    }
    Ok(rows)
}

/// Refuses a run that stopped before the tasks that it had selected.
fn check_all(output: &Output, rows: usize, asked: Option<u64>) -> Result<(), Refused> {
    match asked {
        Some(asked) if (rows as u64) < asked => Err(output
            .input
            .nothing(&format!("{rows} of {asked} tasks: the run did not finish; a score so far is none"))),
        _ => Ok(()),
    }
}

/// HellaSwag has no conclusion: the score after the last task is the score.
pub(super) fn hellaswag(output: &Output) -> Result<Vec<Reported>, Refused> {
    let rows = rows(output, 3)?;
    let asked = output.told(" : selecting ", " : selecting ");
    check_all(output, rows.len(), asked)?;
    let Some(last) = rows.last().and_then(|row| row.first()) else {
        return Err(output.input.nothing("no task of HellaSwag was answered"));
    };
    if asked.is_none() {
        return Err(Refused(
            "how many tasks were selected is not told: standard error, where it goes, was not kept (2>&1)".to_owned(),
        ));
    }
    let mut found = score("acc_norm", "hellaswag", &Printed::share(last), Some(rows.len() as u64));
    let interval = rows.last().and_then(|row| row.get(1)).map_or("", |interval| interval.trim());
    found.notes.push(format!("95 % interval {interval}"));
    Ok(vec![found])
}

/// `Final Winogrande score(1267 tasks): 71.3 +/- 1.2`.
pub(super) fn winogrande(output: &Output) -> Result<Vec<Reported>, Refused> {
    let rows = rows(output, 3)?;
    let Some(rest) = output.after("Final Winogrande score(")? else {
        let few = (1..WINOGRANDE_MIN).contains(&rows.len());
        return Err(if few {
            let why = format!("{} tasks: below {WINOGRANDE_MIN} the tool concludes no score", rows.len());
            output.input.nothing(&why)
        } else {
            output.no_end("Final Winogrande score")
        });
    };
    let (tasks, value) = rest.split_once(" tasks): ").unwrap_or(("", rest));
    let n = tasks.parse().ok();
    if !rows.is_empty() {
        check_all(output, rows.len(), n)?;
    }
    Ok(vec![score("acc", "winogrande", &Printed::share(value), n)])
}

/// `Final result: 41.2 +/- 1.6`, of whichever tasks the file held.
pub(super) fn multiple_choice(output: &Output) -> Result<Vec<Reported>, Refused> {
    let rows = rows(output, 2)?;
    let asked = output.told("score over ", "score over ");
    check_all(output, rows.len(), asked.filter(|_| !rows.is_empty()))?;
    let Some(value) = output.after("Final result: ")? else {
        return Err(output.no_end("Final result:"));
    };
    let n = asked.or_else(|| (!rows.is_empty()).then_some(rows.len() as u64));
    let mut found = score("acc", "multiple_choice", &Printed::share(value), n);
    if let Some(chance) = output.after("Random chance: ")? {
        found.notes.push(format!("random chance {} %", chance.trim()));
    }
    Ok(vec![found])
}
