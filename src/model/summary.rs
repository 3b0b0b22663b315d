//! Many records, one answer: what the exit code, a comment and a status say.

use super::judgement::{Outcome, Verdict};
use super::plan::OnInconclusive;
use super::record::Record;

/// The answer of several records together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The gravest outcome.
    pub outcome: Outcome,
    /// The outcome is inconclusive and every gate concerned declares that advisory.
    pub advisory: bool,
}

impl Summary {
    /// The answer of several records; none at all is inconclusive, because nothing was checked.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let records: Vec<&Record> = records.into_iter().collect();
        let outcome = records
            .iter()
            .map(|record| record.judgement.outcome)
            .max()
            .unwrap_or(Outcome::Inconclusive);
        let open = records.iter().filter(|record| record.judgement.outcome == Outcome::Inconclusive);
        let advisory = outcome == Outcome::Inconclusive && !records.is_empty() && open.into_iter().all(|record| excusable(record));
        Self { outcome, advisory }
    }
}

/// An answer may be advisory only where a look was taken and the samples carried none: what was not measured stays a failure to answer.
fn excusable(record: &Record) -> bool {
    let required = || record.judgement.verdicts.iter().filter(|ruling| ruling.required);
    record.plan.on_inconclusive == OnInconclusive::Advisory
        && required().next().is_some()
        && required()
            .filter(|ruling| ruling.outcome == Outcome::Inconclusive)
            .all(|ruling| ruling.verdict == Verdict::Inconclusive && !ruling.looks.is_empty())
}
