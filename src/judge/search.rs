//! The search for the first commit of a line that regresses, by halving, and what one comparison tells about a commit.
//!
//! Assumed: once a commit is slower, every later one is. Then the line has a last good and a first bad commit, and a comparison with the good
//! end tells on which side of them the compared commit is. A commit that tells nothing stands on no side.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::model::judgement::{Judgement, Outcome, Verdict};
use crate::model::record::Record;
use crate::model::sample::{Arm, Sample};

/// What a comparison with the good end tells about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// A slowdown of the tolerance is ruled out.
    Good,
    /// It is slower beyond doubt.
    Bad,
    /// Neither.
    Nothing,
}

/// What a judgement tells: any required regression is bad, only a pass is good.
pub fn told(judgement: &Judgement) -> Told {
    let mut required = judgement.verdicts.iter().filter(|ruling| ruling.required);
    if required.any(|ruling| ruling.verdict == Verdict::Regression) {
        Told::Bad
    } else if judgement.outcome == Outcome::Pass {
        Told::Good
    } else {
        Told::Nothing
    }
}

/// The arm that does not run, or does not report what is judged, and why; none where both do, or a regression is shown all the same.
pub fn unfit(record: &Record) -> Option<(Arm, &str)> {
    if told(&record.judgement) == Told::Bad {
        return None;
    }
    let required = record.judgement.verdicts.iter().filter(|ruling| ruling.required);
    let mut stopped = required.filter(|ruling| matches!(ruling.verdict, Verdict::CandidateFailed | Verdict::NotMeasured));
    stopped.find_map(|ruling| {
        let lacks = |sample: &&Sample| {
            let figure = sample.values.contains_key(&ruling.metric);
            sample.cell == ruling.cell && (sample.failed.is_some() || !figure)
        };
        let arm = record.evidence.samples.iter().rfind(lacks)?.arm;
        Some((arm, ruling.because.as_str()))
    })
}

/// A search over the commits 0 (the good end) to `n` (the bad end, known to be bad).
#[derive(Debug, Clone)]
pub struct Search {
    good: usize,
    bad: usize,
    silent: BTreeSet<usize>,
}

impl Search {
    /// A search for the first bad commit of `1..=commits`; `commits` itself has been told to be bad.
    pub const fn new(commits: usize) -> Self {
        Self {
            good: 0,
            bad: commits,
            silent: BTreeSet::new(),
        }
    }

    /// How many comparisons a search over so many commits takes at most where each tells something, the first of its ends included:
    /// ⌈log2 n⌉ + 1.
    pub const fn most_comparisons(commits: usize) -> u32 {
        commits.next_power_of_two().trailing_zeros() + 1
    }

    /// The commit to compare next: the one nearest to the middle that was not asked yet; none where no commit is left between.
    pub fn next(&self) -> Option<usize> {
        let middle = self.good + (self.bad - self.good) / 2;
        let open = (self.good + 1..self.bad).filter(|commit| !self.silent.contains(commit));
        open.min_by_key(|commit| commit.abs_diff(middle))
    }

    /// Takes in what was told about the commit that [`Search::next`] gave.
    pub fn tell(&mut self, commit: usize, told: Told) {
        match told {
            Told::Good => self.good = self.good.max(commit),
            Told::Bad => self.bad = self.bad.min(commit),
            Told::Nothing => drop(self.silent.insert(commit)),
        }
    }

    /// The last commit that is known to be good.
    pub const fn good(&self) -> usize {
        self.good
    }

    /// The commits that may be the first bad one; a single one is found.
    pub const fn suspects(&self) -> RangeInclusive<usize> {
        self.good + 1..=self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches with `first` as the truth; `mute` commits tell nothing. Gives the suspects and the comparisons, the one of the ends included.
    fn searched(commits: usize, first: usize, mute: impl Fn(usize) -> bool) -> (RangeInclusive<usize>, u32) {
        let (mut search, mut comparisons) = (Search::new(commits), 1);
        while let Some(commit) = search.next() {
            let told = match (mute(commit), commit >= first) {
                (true, _) => Told::Nothing,
                (false, true) => Told::Bad,
                (false, false) => Told::Good,
            };
            search.tell(commit, told);
            comparisons += 1;
        }
        (search.suspects(), comparisons)
    }

    #[test]
    fn every_first_bad_commit_is_found_within_the_bound() {
        for commits in 1..=70 {
            for first in 1..=commits {
                let (suspects, comparisons) = searched(commits, first, |_| false);
                assert_eq!(suspects, first..=first, "{commits} commits");
                assert!(
                    comparisons <= Search::most_comparisons(commits),
                    "{commits} commits, first {first}: {comparisons}"
                );
            }
        }
    }

    #[test]
    fn commits_that_tell_nothing_leave_a_range_that_holds_the_first_and_no_commit_that_told() {
        for first in 1..=24 {
            for mute in [
                vec![12],
                vec![first],
                vec![first - 1],
                (6..14).collect(),
                (1..24).collect::<Vec<_>>(),
            ] {
                // The newer end was told before the search began.
                let is_mute = |commit: usize| commit < 24 && mute.contains(&commit);
                let (suspects, _) = searched(24, first, is_mute);
                assert!(suspects.contains(&first), "first {first}, mute {mute:?}: {suspects:?}");
                let loud = suspects.clone().filter(|commit| !is_mute(*commit));
                assert_eq!(
                    loud.collect::<Vec<_>>(),
                    [*suspects.end()],
                    "first {first}, mute {mute:?}: {suspects:?}"
                );
            }
        }
    }

    #[test]
    fn the_bound_is_the_logarithm_and_one() {
        for (commits, most) in [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (31, 6), (32, 6), (33, 7), (10_000, 15)] {
            assert_eq!(Search::most_comparisons(commits), most, "{commits}");
        }
    }
}
