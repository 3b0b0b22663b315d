//! A run that measured a change and cannot be trusted: what GitHub itself says of it, and which pull request it belongs to.

use super::job::Repository;
use super::marker::Run;

/// The workflow that measures, as a repository names its file.
pub const WORKFLOW: &str = ".github/workflows/gate-measure.yml";

/// The label of a record that says of which pull request its run was.
pub const PULL_LABEL: &str = "pull_request";

/// A finished run, as the event `workflow_run` tells it. Nothing of it was written by the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredRun {
    /// What triggered it.
    pub event: String,
    /// The file of its workflow.
    pub path: String,
    /// How it ended.
    pub conclusion: String,
    /// The commit that it ran for.
    pub head: String,
    /// The branch of that commit.
    pub branch: String,
    /// The repository of that branch; none where it was deleted.
    pub repository: Option<(u64, Repository)>,
    /// The repository whose workflow reports.
    pub own_id: u64,
    /// Its number, attempt and id.
    pub run: Run,
}

impl MeasuredRun {
    /// Why it is none to report on, if it is none.
    pub fn objection(&self) -> Option<String> {
        let path = self.path.split('@').next().unwrap_or_default();
        let from_here = self.repository.as_ref().is_some_and(|(id, _)| *id == self.own_id);
        match self.event.as_str() {
            _ if path != WORKFLOW => Some(format!("the run's workflow is not {WORKFLOW}")),
            "pull_request" if self.repository.is_none() => Some("the fork was deleted".to_owned()),
            "pull_request" => None,
            "merge_group" if from_here => None,
            event => Some(format!(
                "the run was triggered by {event:?}, and only pull requests and this repository's merge queue are reported on"
            )),
        }
    }
}

/// A pull request, as the API tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its number.
    pub number: u64,
    /// The commit at its head.
    pub head: String,
    /// The id of its head's repository; none where that was deleted.
    pub head_repository: Option<u64>,
    /// The repository that it is to be merged into, `owner/name`.
    pub base_repository: String,
    /// The tip of the branch that it is to be merged into.
    pub base: String,
}

/// Which open pull request a run measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant<'p> {
    /// None any more: it has moved on or is closed.
    Nobody,
    /// This one.
    One(&'p Candidate),
    /// One branch is to be merged into several. A status on their commit counts for all of them, and the run measured one.
    Several {
        /// Their numbers.
        numbers: Vec<u64>,
        /// The one of them that the run's records name, where they name one.
        named: Option<&'p Candidate>,
    },
}

/// Which pull request a run measured: its head is the run's, in the run's repository, and it is to be merged here.
///
/// What the records claim chooses among several that GitHub confirms, and nothing else.
pub fn meant<'p>(run: &MeasuredRun, own: &Repository, pulls: &'p [Candidate], claimed: Option<u64>) -> Meant<'p> {
    let own = own.to_string().to_lowercase();
    let is_meant = |pull: &&Candidate| {
        pull.head == run.head
            && pull.head_repository.is_some()
            && pull.head_repository == run.repository.as_ref().map(|(id, _)| *id)
            && pull.base_repository.to_lowercase() == own
    };
    let meant: Vec<&Candidate> = pulls.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [] => Meant::Nobody,
        [one] => Meant::One(one),
        several => Meant::Several {
            numbers: several.iter().map(|pull| pull.number).collect(),
            named: several.iter().find(|pull| Some(pull.number) == claimed).copied(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> MeasuredRun {
        MeasuredRun {
            event: "pull_request".to_owned(),
            path: format!("{WORKFLOW}@refs/pull/7/merge"),
            conclusion: "failure".to_owned(),
            head: "a".repeat(40),
            branch: "change".to_owned(),
            repository: Some((2, Repository::parse("fork/r").expect("a name"))),
            own_id: 1,
            run: Run {
                number: 3,
                attempt: 1,
                id: 30,
            },
        }
    }

    #[test]
    fn row_34_only_runs_of_the_measuring_workflow_count() {
        assert_eq!(run().objection(), None);
        let says = |change: fn(&mut MeasuredRun)| {
            let mut run = run();
            change(&mut run);
            run.objection().unwrap_or_default()
        };
        assert!(says(|run| run.path = ".github/workflows/other.yml".to_owned()).contains("workflow is not"));
        assert!(says(|run| run.event = "push".to_owned()).contains("\"push\""));
        assert!(
            says(|run| run.event = "merge_group".to_owned()).contains("merge_group"),
            "of a fork"
        );
        assert!(says(|run| run.repository = None).contains("deleted"));
        assert_eq!(
            says(|run| {
                run.event = "merge_group".to_owned();
                run.repository = Some((1, Repository::parse("o/r").expect("a name")));
            }),
            ""
        );
    }

    #[test]
    fn rows_29_and_30_the_pull_request_is_the_one_with_the_runs_own_head() {
        let own = Repository::parse("o/r").expect("a name");
        let pull = |number, head: &str, repository, base: &str| Candidate {
            number,
            head: head.repeat(40),
            head_repository: repository,
            base_repository: base.to_owned(),
            base: "b".repeat(40),
        };
        let others = [
            pull(1, "c", Some(2), "o/r"),
            pull(2, "a", Some(3), "o/r"),
            pull(3, "a", None, "o/r"),
            pull(4, "a", Some(2), "fork/r"),
        ];
        for claimed in [None, Some(1), Some(2), Some(4), Some(5), Some(99)] {
            assert_eq!(meant(&run(), &own, &others, claimed), Meant::Nobody);
            let with = [&others[..], &[pull(5, "a", Some(2), "O/R")]].concat();
            assert!(matches!(meant(&run(), &own, &with, claimed), Meant::One(one) if one.number == 5));
            let twice = [&with[..], &[pull(6, "a", Some(2), "o/r")]].concat();
            let Meant::Several { numbers, named } = meant(&run(), &own, &twice, claimed) else {
                panic!("both are meant")
            };
            assert_eq!(
                (numbers, named.map(|pull| pull.number)),
                (vec![5, 6], claimed.filter(|number| *number == 5))
            );
        }
    }
}
