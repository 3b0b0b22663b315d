//! The next process of a session that is running.

use super::course::Walk;
use super::crossover::Design;
use super::{Case, buckets, first, looks, open};
use crate::model::gate::Gate;
use crate::model::judgement::Step;
use crate::model::plan::Plan;

/// The step of [`super::judge`] alone, without the numbers and words of a report: what the runner asks between two processes.
///
/// It remembers how far the samples that it was told of have come, so that a question costs what the new ones cost. What it remembers is
/// the walk that [`super::course::Course::read`] takes, and whether a rule is settled is asked of the same buckets as ever; only not again
/// where a sample cannot have changed that: it completed no block, bars no metric and stands in nobody's way.
#[derive(Debug)]
pub struct Steps {
    /// What the plan's looks ask for, the same for every sample.
    design: Result<Design, String>,
    /// A walk for each cell of the plan.
    walks: Vec<Walk>,
    /// How many of the session's samples were followed.
    followed: usize,
    /// Whether each cell still has a rule that more samples could settle; empty where that must be asked.
    open: Vec<bool>,
}

impl Steps {
    /// Of a session of this plan, before its first sample. A plan that is completed or cut is another one.
    pub fn of(gate: &Gate, plan: &Plan) -> Self {
        Self {
            design: looks(gate, plan),
            walks: vec![Walk::default(); plan.cells.len()],
            followed: 0,
            open: Vec::new(),
        }
    }

    /// The next step of a case of this gate and plan, whose samples begin with those of the last call.
    pub fn next(&mut self, case: &Case<'_>) -> Step {
        if case.context.unaffected.is_some() {
            return Step::Stop;
        }
        self.follow(case);
        if case.evidence.ended.is_some() {
            return Step::Stop;
        }
        let Case { plan, evidence, .. } = case;
        let walks = self.walks.iter().zip(&plan.cells);
        if self.open.is_empty() {
            let course = |(walk, cell): (&Walk, _)| walk.course(plan, cell, &evidence.samples);
            let courses: Vec<_> = walks.clone().map(course).collect();
            let buckets: Vec<_> = buckets(case, &courses, self.design.as_ref(), None, None).collect();
            self.open = courses.iter().map(|course| open(course, &buckets)).collect();
        }
        let open = walks.zip(&self.open).filter(|(_, open)| **open);
        first(open.filter_map(|((walk, cell), _)| walk.next(plan, cell)))
    }

    fn follow(&mut self, case: &Case<'_>) {
        let Case { gate, plan, evidence, .. } = case;
        for (index, sample) in evidence.samples.iter().enumerate().skip(self.followed) {
            for (walk, _) in self.walks.iter_mut().zip(&plan.cells).filter(|(_, cell)| **cell == sample.cell) {
                if walk.follow(plan, gate, index, sample) {
                    self.open.clear();
                }
            }
        }
        self.followed = evidence.samples.len();
    }
}
