//! The search for the first commit that regresses against the range's older end.

use anyhow::{Result, bail};

use super::report::{Report, Row};
use super::{Pairs, SKIPPED_MAX, compared, say};
use crate::edge::git::Commit;
use crate::exit;
use crate::judge::search::{Search, Told, told};
use crate::model::number::{chance, count};
use crate::model::sample::Arm;

/// Most suspects that are named.
const NAMED_MAX: usize = 20;

/// What was asked so far, and how often it may be asked.
struct Probes<'a> {
    pairs: &'a mut Pairs,
    commits: &'a [Commit],
    rows: Vec<Row>,
    comparisons: u32,
    most: u32,
    /// The error rates of the whole search.
    alpha: f64,
    beta: f64,
}

/// Searches. `commits` begins with the good end; at least one commit comes after it.
pub fn search(pairs: &mut Pairs, commits: &[Commit]) -> Result<Report> {
    let (alpha, beta) = pairs.rates();
    let last = commits.len() - 1;
    let most = Search::most_comparisons(last);
    pairs.share(most)?;
    let (each_alpha, each_beta) = pairs.rates();
    say(&format!(
        "{} after {}: at most {}, each with alpha {} and beta {}, declared now for the whole search",
        count(last as u64, "commit"),
        Row::name(&commits[0]),
        count(most, "comparison"),
        chance(each_alpha),
        chance(each_beta)
    ));
    let mut probes = Probes {
        pairs,
        commits,
        rows: Vec::new(),
        comparisons: 0,
        most,
        alpha,
        beta,
    };
    let says = probes.probe(last)?;
    if says != Told::Bad {
        return Ok(probes.not_between(says));
    }
    let mut search = Search::new(last);
    let mut skipped = 0;
    while let Some(commit) = search.next()
        && probes.comparisons < most
        && skipped < SKIPPED_MAX
    {
        let says = probes.probe(commit)?;
        skipped += usize::from(says == Told::Nothing);
        search.tell(commit, says);
    }
    Ok(probes.found(&search))
}

impl Probes<'_> {
    /// Compares a commit with the good end. One that cannot be made takes no comparison: nothing of it was measured.
    fn probe(&mut self, at: usize) -> Result<Told> {
        let (good, commit) = (&self.commits[0], &self.commits[at]);
        say(&format!(
            "probe {} of at most {}: {}",
            self.comparisons + 1,
            self.most,
            Row::name(commit)
        ));
        let (mut row, unfit) = compared(self.pairs, good, commit)?;
        if unfit == Some(Arm::A) && self.rows.iter().all(|row| row.record.is_none()) {
            bail!(
                "{}, the older end, cannot be judged, and everything is compared with it: {}",
                Row::name(good),
                row.cannot.unwrap_or_default()
            );
        }
        if unfit == Some(Arm::A) && row.record.is_none() {
            bail!(
                "{} was built before, and cannot be now: {}",
                Row::name(good),
                row.cannot.unwrap_or_default()
            );
        }
        if unfit == Some(Arm::A) {
            row.cannot = None;
        }
        self.comparisons += u32::from(row.record.is_some());
        let says = match (&row.record, &row.cannot) {
            (Some(record), None) => told(&record.judgement),
            _ => Told::Nothing,
        };
        self.rows.push(row);
        Ok(says)
    }

    /// The answer where the newer end is not shown to be slower.
    fn not_between(self, says: Told) -> Report {
        let (good, bad) = (Row::name(&self.commits[0]), self.commits.last().map_or_else(String::new, Row::name));
        let gain = self.rows.first().map_or_else(String::new, Row::gain);
        let cannot = self.rows.first().and_then(|row| row.cannot.clone());
        let (_, each_beta) = self.pairs.rates();
        let (answer, exit, sentence) = match (says, cannot) {
            (Told::Good, _) => (
                "no_regression",
                exit::PASS,
                format!(
                    "no regression between {good} and {bad}: {gain}; a slowdown of the tolerance is ruled out (missed in at most {} of sessions that have one), so nothing was searched",
                    chance(each_beta)
                ),
            ),
            (_, Some(why)) => (
                "no_answer",
                exit::INCONCLUSIVE,
                format!("{bad}, the newer end, cannot be judged: {why}; end the range at a commit that builds and runs"),
            ),
            (_, None) => (
                "no_answer",
                exit::INCONCLUSIVE,
                format!(
                    "no answer between {good} and {bad}: {gain}; quiet the machine, or declare more blocks or a larger tolerance before searching again"
                ),
            ),
        };
        let mut report = self.report(answer, exit);
        report.says.insert(0, sentence);
        report
    }

    fn found(self, search: &Search) -> Report {
        let suspects: Vec<Commit> = search.suspects().filter_map(|at| self.commits.get(at).cloned()).collect();
        let before = self.commits.get(search.good()).map_or_else(String::new, Row::name);
        let (good, bad) = (Row::name(&self.commits[0]), self.commits.last().map_or_else(String::new, Row::name));
        let (answer, exit, mut says) = match suspects.as_slice() {
            [first] => {
                let gain = self.rows.iter().find(|row| row.id == first.id).map_or_else(String::new, Row::gain);
                let after = if search.good() == 0 {
                    "it comes right after the older end".to_owned()
                } else {
                    format!("the commit before it, {before}, does not")
                };
                let sentence = format!(
                    "FIRST {} is the first commit that regresses: {gain}; {after}; between {good} and {bad}",
                    Row::name(first)
                );
                ("found", exit::FAIL, vec![sentence])
            }
            _ => {
                let mut says = vec![format!(
                    "one of these {} is the first that regresses; {before} before them does not:",
                    count(suspects.len() as u64, "commit")
                )];
                says.extend(suspects.iter().take(NAMED_MAX).map(|commit| format!("  {}", Row::name(commit))));
                if suspects.len() > NAMED_MAX {
                    says.push(format!("  and {} more", suspects.len() - NAMED_MAX));
                }
                ("range", exit::INCONCLUSIVE, says)
            }
        };
        let mut report = self.report(answer, exit);
        says.append(&mut report.says);
        report.says = says;
        report.suspects = suspects.into_iter().map(|commit| commit.id).collect();
        report
    }

    fn report(self, answer: &'static str, exit: exit::Exit) -> Report {
        let mut report = Report::new(answer, self.pairs, self.rows, exit);
        report.says = vec![
            format!(
                "over the whole search, {} of at most {} with alpha {} and beta {} each: where nothing got slower a commit is named in at most {}; where one commit made it slower by the tolerance or more and it stayed so, the answer is false in at most {}",
                count(self.comparisons, "comparison"),
                self.most,
                chance(report.alpha),
                chance(report.beta),
                chance(self.alpha),
                chance(self.alpha.max(self.beta))
            ),
            "assumed: once slower, every later commit is slower too".to_owned(),
        ];
        report
    }
}
