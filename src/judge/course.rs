//! How far one cell's session has come, read off its samples: the valid blocks, what stands in the way, and the next slot.
//!
//! The runner keeps no state of its own. Whatever it knows about retries, voids and what comes next is derived here from the samples
//! alone, so that a resumed session goes on exactly where the killed one stopped.

use std::mem::{Discriminant, discriminant};

use super::rule;
use crate::model::figure::State;
use crate::model::gate::{Gate, Rule};
use crate::model::metric::{Metric, Role, Scale};
use crate::model::plan::{Orientation, Plan};
use crate::model::sample::{Arm, Cell, PerArm, Sample, Slot};

/// How often one place may fail: the first time and one retry.
const FAILURES_MAX: u32 = 2;
/// From this many more voids on the candidate's runs than on the base's, the candidate itself is the cause.
const VOID_IMBALANCE: u32 = 3;

/// A valid block: every run of it ended well, none of them void.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// The order of the arms.
    pub orientation: Orientation,
    /// The samples in slot order.
    pub samples: Vec<&'a Sample>,
    /// How many of the cell's samples there were when it was complete.
    pub end: usize,
}

/// Why a cell's session cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// One arm failed twice in the same place.
    Failed {
        /// Which arm.
        arm: Arm,
        /// Where: `the warm-up` or `block 3`.
        place: String,
        /// The last failure's reason.
        why: String,
    },
    /// The candidate's runs tripped declared limits clearly more often than the base's.
    Throttled {
        /// Voids that fell on runs of the base.
        base: u32,
        /// Voids that fell on runs of the candidate.
        candidate: u32,
    },
    /// More blocks were void than the plan allows.
    TooManyVoids {
        /// How many.
        count: u32,
        /// The last one's reason.
        why: String,
    },
    /// The samples do not follow the plan.
    OffPlan {
        /// The sample's place in the session.
        seq: u32,
    },
}

/// How far one cell's session has come.
#[derive(Debug, Clone)]
pub struct Course<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Its samples, warm-ups included.
    pub samples: Vec<&'a Sample>,
    /// Its valid blocks in order.
    pub blocks: Vec<Block<'a>>,
    /// How many of its samples come before the first that keeps a judged metric from an answer, in the order of the gate's metrics.
    pub barriers: Vec<Option<usize>>,
    /// What stands in the way, if anything does.
    pub trouble: Option<Trouble>,
    /// The next slot; none where the plan is done or something stands in the way.
    pub next: Option<Slot>,
}

/// Why a sample counts as a failure of its arm: the process itself, or a judged metric that is no usable number.
pub fn failure(sample: &Sample, gate: &Gate) -> Option<String> {
    if let Some(why) = &sample.failed {
        return Some(why.clone());
    }
    gate.metrics
        .iter()
        .filter(|metric| metric.role == Role::Gate)
        .find_map(|metric| unusable(sample, metric, gate))
}

fn unusable(sample: &Sample, metric: &Metric, gate: &Gate) -> Option<String> {
    if let Some(missing) = sample.missing(&metric.name) {
        return (missing.state == State::Failed).then(|| format!("{}: {}", metric.name, missing.why));
    }
    let value = sample.value(&metric.name)?;
    if !value.is_finite() {
        return Some(format!("{} is not a finite number", metric.name));
    }
    let asks_for_a_ratio = |rule: &Rule| {
        let scale = rule.tolerance.as_ref().map_or(metric.scale, |tolerance| tolerance.scale);
        rule.kind != "exact" && scale == Scale::Pct && covers(&rule.metric, &metric.name) && covers(&rule.fixture, &sample.cell.fixture)
    };
    (value <= 0.0 && gate.rules.iter().any(asks_for_a_ratio)).then(|| {
        format!(
            "{} is {value}: on a relative scale only a positive figure is a measurement",
            metric.name
        )
    })
}

/// Whether a rule's pattern names a metric or fixture.
pub fn covers(pattern: &str, name: &str) -> bool {
    pattern == "*" || pattern == name
}

impl<'a> Course<'a> {
    /// Reads one cell's state off the session's samples: each must stand where the plan puts the next one.
    pub fn read(plan: &Plan, gate: &Gate, cell: &'a Cell, samples: &'a [Sample]) -> Self {
        let mut walk = Walk::default();
        for (index, sample) in samples.iter().enumerate().filter(|(_, sample)| sample.cell == *cell) {
            walk.follow(plan, gate, index, sample);
        }
        walk.course(plan, cell, samples)
    }
}

/// Where a sample stands in its cell's session.
#[derive(PartialEq)]
struct Place {
    block: u32,
    position: u32,
    attempt: u32,
    arm: Arm,
    warmup: bool,
}

impl Place {
    const fn of(sample: &Sample) -> Self {
        Self {
            block: sample.block,
            position: sample.position,
            attempt: sample.attempt,
            arm: sample.arm,
            warmup: sample.warmup,
        }
    }

    fn slot(self, cell: &Cell) -> Slot {
        Slot {
            cell: cell.clone(),
            block: self.block,
            position: self.position,
            attempt: self.attempt,
            arm: self.arm,
            warmup: self.warmup,
        }
    }
}

/// One walk along a cell's samples, one at a time. A place is a warm-up run or a block; where it fails or is void it is tried again.
///
/// It holds no sample, so that it can go on when there are more of them: following the samples as they come ends where reading all of
/// them does, because reading is nothing else.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// Where the cell's samples stand among the session's.
    own: Vec<usize>,
    /// How many of the cell's samples come before the first that bars a metric, in the order of the gate's metrics.
    barriers: Vec<Option<usize>>,
    /// Warm-up runs that went well.
    warm: u32,
    /// Tries of this place before the present one.
    attempt: u32,
    /// Failed tries of this place, by arm.
    failures: [u32; 2],
    /// Runs of the present try of this block.
    rows: usize,
    /// Whether one of them is void.
    void: bool,
    /// Each arm's first failure in it.
    first: PerArm<Option<String>>,
    /// The valid blocks, and how many of the cell's samples there were when each was complete.
    blocks: Vec<(Orientation, usize)>,
    voids: Voids,
    trouble: Option<Trouble>,
}

impl Walk {
    /// Follows the cell's next sample, which stands at `index` among the session's. Whether a rule may answer otherwise than before it.
    pub fn follow(&mut self, plan: &Plan, gate: &Gate, index: usize, sample: &Sample) -> bool {
        let before = self.answers();
        self.note_barriers(gate, sample);
        self.own.push(index);
        // Nothing follows from what comes after a sample that is none of the plan's.
        if !matches!(self.trouble, Some(Trouble::OffPlan { .. })) {
            if self.due(plan) == Some(Place::of(sample)) {
                self.take(plan, gate, sample);
            } else {
                self.trouble = Some(Trouble::OffPlan { seq: sample.seq });
            }
        }
        self.answers() != before
    }

    /// All that a rule's answer rests on: the valid blocks, what bars a metric, and what stands in the way.
    fn answers(&self) -> (usize, usize, Option<Discriminant<Trouble>>) {
        let barred = self.barriers.iter().flatten().count();
        (self.blocks.len(), barred, self.trouble.as_ref().map(discriminant))
    }

    fn note_barriers(&mut self, gate: &Gate, sample: &Sample) {
        self.barriers.resize(gate.metrics.len(), None);
        for (barrier, metric) in self.barriers.iter_mut().zip(&gate.metrics) {
            if metric.role == Role::Gate && barrier.is_none() && rule::bars(&metric.name, sample) {
                *barrier = Some(self.own.len());
            }
        }
    }

    /// How far the cell has come, with the session's samples that were followed.
    pub fn course<'a>(&self, plan: &Plan, cell: &'a Cell, samples: &'a [Sample]) -> Course<'a> {
        let samples: Vec<&'a Sample> = self.own.iter().filter_map(|&index| samples.get(index)).collect();
        let block = |&(orientation, end): &(Orientation, usize)| {
            let rows = samples.get(end - orientation.arms().len()..end).unwrap_or_default();
            Block {
                orientation,
                samples: rows.to_vec(),
                end,
            }
        };
        Course {
            cell,
            blocks: self.blocks.iter().map(block).collect(),
            samples,
            barriers: self.barriers.clone(),
            trouble: self.trouble.clone(),
            next: self.next(plan, cell),
        }
    }

    /// The next slot of the cell; none where the plan is done or something stands in the way.
    pub fn next(&self, plan: &Plan, cell: &Cell) -> Option<Slot> {
        self.due(plan).map(|place| place.slot(cell))
    }

    /// The place that is due; none where the plan is done or something stands in the way.
    fn due(&self, plan: &Plan) -> Option<Place> {
        if self.trouble.is_some() {
            return None;
        }
        let sides = plan.sides();
        let warmup = u64::from(self.warm) < sides.len() as u64 * u64::from(plan.warmup_runs);
        let (block, position, arm) = if warmup {
            (0, self.warm, *sides.get(self.warm as usize % sides.len())?)
        } else {
            let (block, position) = (self.blocks.len(), self.rows);
            let arm = *plan.blocks.get(block)?.arms().get(position)?;
            (block as u32, position as u32, arm)
        };
        Some(Place {
            block,
            position,
            attempt: self.attempt,
            arm,
            warmup,
        })
    }

    /// Takes the sample that was due.
    fn take(&mut self, plan: &Plan, gate: &Gate, sample: &Sample) {
        let failure = failure(sample, gate);
        if sample.warmup {
            match failure {
                Some(why) => self.fail(sample.arm, "the warm-up".to_owned(), why),
                None => {
                    self.warm += 1;
                    self.arrive();
                }
            }
            return;
        }
        self.rows += 1;
        self.void |= self.voids.count(sample);
        let first = self.first.of_mut(sample.arm);
        *first = first.take().or(failure);
        // Nothing more is learnt from a try in which the base failed.
        let orientation = plan.blocks.get(self.blocks.len()).copied();
        let whole = orientation.is_some_and(|orientation| orientation.arms().len() == self.rows);
        if !whole && self.first.a.is_none() {
            return;
        }
        self.rows = 0;
        let PerArm { a, b } = std::mem::take(&mut self.first);
        let first_failure = a.map(|why| (Arm::A, why)).or_else(|| b.map(|why| (Arm::B, why)));
        if std::mem::take(&mut self.void) {
            self.voids.blocks += 1;
            self.trouble = self.voids.trouble(plan);
            self.attempt += 1;
        } else if let Some((arm, why)) = first_failure {
            self.fail(arm, format!("block {}", self.blocks.len() + 1), why);
        } else if let Some(orientation) = orientation {
            self.blocks.push((orientation, self.own.len()));
            self.arrive();
        }
    }

    /// At the next place.
    fn arrive(&mut self) {
        self.attempt = 0;
        self.failures = [0; 2];
    }

    /// One more failed try of this place.
    fn fail(&mut self, arm: Arm, place: String, why: String) {
        self.attempt += 1;
        let [base, candidate] = &mut self.failures;
        let count = if arm == Arm::A { base } else { candidate };
        *count += 1;
        if *count == FAILURES_MAX {
            self.trouble = Some(Trouble::Failed { arm, place, why });
        }
    }
}

/// The voids so far, over all blocks of a cell.
#[derive(Debug, Clone, Default)]
struct Voids {
    blocks: u32,
    base: u32,
    candidate: u32,
    why: String,
}

impl Voids {
    /// Counts a run's void; whether there is one.
    fn count(&mut self, run: &Sample) -> bool {
        let Some(void) = &run.void else { return false };
        self.why.clone_from(&void.why);
        match run.arm {
            _ if !void.attributable => {}
            Arm::A => self.base += 1,
            Arm::B => self.candidate += 1,
        }
        true
    }

    /// The balance over the arms is checked before the number of voids: a candidate that draws more power must not be cleaned into innocence.
    fn trouble(&self, plan: &Plan) -> Option<Trouble> {
        if plan.sides().len() == 2 && self.candidate >= self.base + VOID_IMBALANCE {
            return Some(Trouble::Throttled {
                base: self.base,
                candidate: self.candidate,
            });
        }
        (self.blocks > plan.max_void_blocks).then(|| Trouble::TooManyVoids {
            count: self.blocks,
            why: self.why.clone(),
        })
    }
}
