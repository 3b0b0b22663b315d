//! How far one cell's session has come, read off its samples: the valid blocks, what stands in the way, and the next slot.
//!
//! The runner keeps no state of its own. Whatever it knows about retries, voids and what comes next is derived here from the samples
//! alone, so that a resumed session goes on exactly where the killed one stopped.

use crate::model::evidence::Evidence;
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

/// Why a metric of a sample is no usable number, if there is a figure or a failure that says so.
pub fn unusable(sample: &Sample, metric: &Metric, gate: &Gate) -> Option<String> {
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
    pub fn read(plan: &Plan, gate: &Gate, cell: &'a Cell, evidence: &'a Evidence) -> Self {
        let samples: Vec<&'a Sample> = evidence.samples.iter().filter(|sample| sample.cell == *cell).collect();
        if evidence.is_ingested() {
            return Self::of_results(plan, cell, samples);
        }
        let mut walk = Walk {
            plan,
            gate,
            warm: 0,
            attempt: 0,
            failures: [0; 2],
            rows: Vec::new(),
            first: PerArm::default(),
            blocks: Vec::new(),
            voids: Voids::default(),
            trouble: None,
        };
        for (taken, &sample) in (1..).zip(&samples) {
            if walk.due() != Some(Place::of(sample)) {
                walk.trouble = Some(Trouble::OffPlan { seq: sample.seq });
                break;
            }
            walk.take(sample, taken);
        }
        Self {
            cell,
            samples,
            next: walk.due().map(|place| place.slot(cell)),
            blocks: walk.blocks,
            trouble: walk.trouble,
        }
    }
}

impl<'a> Course<'a> {
    /// Reads results that another tool measured: they are what they are, each at its place, and none is tried again.
    fn of_results(plan: &Plan, cell: &'a Cell, samples: Vec<&'a Sample>) -> Self {
        let mut rest = samples.as_slice();
        let (mut blocks, mut trouble) = (Vec::new(), None);
        for (block, &orientation) in (0_u32..).zip(&plan.blocks) {
            let due = (0_u32..).zip(orientation.arms()).map(|(position, &arm)| Place {
                block,
                position,
                attempt: 0,
                arm,
                warmup: false,
            });
            let arms = orientation.arms().len();
            let Some((rows, after)) = rest
                .split_at_checked(arms)
                .filter(|(rows, _)| rows.iter().map(|row| Place::of(row)).eq(due))
            else {
                trouble = Some(Trouble::OffPlan {
                    seq: rest.first().map_or(0, |sample| sample.seq),
                });
                break;
            };
            rest = after;
            blocks.push(Block {
                orientation,
                samples: rows.to_vec(),
                end: samples.len() - rest.len(),
            });
        }
        let beyond = rest.first().map(|sample| Trouble::OffPlan { seq: sample.seq });
        Self {
            cell,
            blocks,
            trouble: trouble.or(beyond),
            next: None,
            samples,
        }
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

/// One walk along a cell's samples. A place is a warm-up run or a block; where it fails or is void it is tried again.
struct Walk<'a, 'p> {
    plan: &'p Plan,
    gate: &'p Gate,
    /// Warm-up runs that went well.
    warm: u32,
    /// Tries of this place before the present one.
    attempt: u32,
    /// Failed tries of this place, by arm.
    failures: [u32; 2],
    /// The present try of this block.
    rows: Vec<&'a Sample>,
    /// Each arm's first failure in it.
    first: PerArm<Option<String>>,
    blocks: Vec<Block<'a>>,
    voids: Voids,
    trouble: Option<Trouble>,
}

impl<'a> Walk<'a, '_> {
    /// The place that is due; none where the plan is done or something stands in the way.
    fn due(&self) -> Option<Place> {
        if self.trouble.is_some() {
            return None;
        }
        let sides = self.plan.sides();
        let warmup = u64::from(self.warm) < sides.len() as u64 * u64::from(self.plan.warmup_runs);
        let (block, position, arm) = if warmup {
            (0, self.warm, *sides.get(self.warm as usize % sides.len())?)
        } else {
            let (block, position) = (self.blocks.len(), self.rows.len());
            let arm = *self.plan.blocks.get(block)?.arms().get(position)?;
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

    /// Takes the sample that was due, the `taken`th of the cell.
    fn take(&mut self, sample: &'a Sample, taken: usize) {
        let failure = failure(sample, self.gate);
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
        self.rows.push(sample);
        let first = self.first.of_mut(sample.arm);
        *first = first.take().or(failure);
        // Nothing more is learnt from a try in which the base failed.
        let orientation = self.plan.blocks.get(self.blocks.len()).copied();
        let whole = orientation.is_some_and(|orientation| orientation.arms().len() == self.rows.len());
        if !whole && self.first.a.is_none() {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        let PerArm { a, b } = std::mem::take(&mut self.first);
        let first_failure = a.map(|why| (Arm::A, why)).or_else(|| b.map(|why| (Arm::B, why)));
        if self.voids.count(&rows) {
            self.trouble = self.voids.trouble(self.plan);
            self.attempt += 1;
        } else if let Some((arm, why)) = first_failure {
            self.fail(arm, format!("block {}", self.blocks.len() + 1), why);
        } else if let Some(orientation) = orientation {
            let (samples, end) = (rows, taken);
            self.blocks.push(Block { orientation, samples, end });
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
#[derive(Default)]
struct Voids {
    blocks: u32,
    base: u32,
    candidate: u32,
    why: String,
}

impl Voids {
    /// Counts a try's voids; whether there was one.
    fn count(&mut self, rows: &[&Sample]) -> bool {
        let mut any = false;
        for row in rows {
            let Some(void) = &row.void else { continue };
            any = true;
            self.why.clone_from(&void.why);
            match row.arm {
                _ if !void.attributable => {}
                Arm::A => self.base += 1,
                Arm::B => self.candidate += 1,
            }
        }
        self.blocks += u32::from(any);
        any
    }

    /// The balance over the arms is checked before the number of voids: a candidate that draws more power must not be cleaned into innocence.
    fn trouble(&self, plan: &Plan) -> Option<Trouble> {
        if self.candidate >= self.base + VOID_IMBALANCE {
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
