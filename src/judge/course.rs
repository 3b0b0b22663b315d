//! How far one cell's session has come, read off its samples: the valid blocks, what stands in the way, and the next slot.
//!
//! The runner keeps no state of its own. Whatever it knows about retries, voids and what comes next is derived here from the samples
//! alone, so that a resumed session goes on exactly where the killed one stopped.

use crate::model::figure::State;
use crate::model::gate::Gate;
use crate::model::metric::{Metric, Role, Scale};
use crate::model::plan::{Orientation, Plan};
use crate::model::sample::{Arm, Cell, Sample, Slot};

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
}

/// Why a cell's session cannot go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// One arm failed twice in the same place.
    Failed {
        /// Which arm.
        arm: Arm,
        /// Where: `warm-up` or `block 3`.
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

fn unusable(sample: &Sample, metric: &Metric, gate: &Gate) -> Option<String> {
    if let Some(missing) = sample.missing.get(&metric.name) {
        return (missing.state == State::Failed).then(|| format!("{}: {}", metric.name, missing.why));
    }
    let value = *sample.values.get(&metric.name)?;
    if !value.is_finite() {
        return Some(format!("{} is not a finite number", metric.name));
    }
    let logarithmic = metric.scale == Scale::Pct
        && gate
            .rules
            .iter()
            .any(|rule| rule.kind != "exact" && covers(&rule.metric, &metric.name));
    (logarithmic && value <= 0.0).then(|| {
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
    /// Reads one cell's state off the session's samples.
    pub fn read(plan: &Plan, gate: &Gate, cell: &'a Cell, samples: &'a [Sample]) -> Self {
        let samples: Vec<&Sample> = samples.iter().filter(|sample| sample.cell == *cell).collect();
        let mut course = Self {
            cell,
            samples,
            blocks: Vec::new(),
            trouble: None,
            next: None,
        };
        if course.read_warmups(plan, gate) {
            course.read_blocks(plan, gate);
        }
        course
    }

    /// Whether the warm-up is over and went well.
    fn read_warmups(&mut self, plan: &Plan, gate: &Gate) -> bool {
        let sides = plan.sides();
        for position in 0..sides.len() as u32 * plan.warmup_runs {
            let arm = sides[position as usize % sides.len()];
            let runs: Vec<&Sample> = self
                .samples
                .iter()
                .copied()
                .filter(|sample| sample.warmup && sample.position == position)
                .collect();
            if let Some(foreign) = runs.iter().find(|sample| sample.arm != arm) {
                self.trouble = Some(Trouble::OffPlan { seq: foreign.seq });
                return false;
            }
            let failures: Vec<String> = runs.iter().filter_map(|sample| failure(sample, gate)).collect();
            if failures.len() < runs.len() {
                continue;
            }
            let attempt = failures.len() as u32;
            if attempt < FAILURES_MAX {
                self.next = Some(Slot {
                    cell: self.cell.clone(),
                    block: 0,
                    position,
                    attempt,
                    arm,
                    warmup: true,
                });
            } else {
                self.trouble = failures.into_iter().next_back().map(|why| Trouble::Failed {
                    arm,
                    place: "the warm-up".to_owned(),
                    why,
                });
            }
            return false;
        }
        true
    }

    fn read_blocks(&mut self, plan: &Plan, gate: &Gate) {
        let mut voids = Voids::default();
        for (number, &orientation) in (0_u32..).zip(&plan.blocks) {
            match self.read_block(number, orientation, plan, gate, &mut voids) {
                Ok(block) => self.blocks.push(block),
                Err(Stopped::Next(slot)) => {
                    self.next = Some(slot);
                    return;
                }
                Err(Stopped::Trouble(trouble)) => {
                    self.trouble = Some(trouble);
                    return;
                }
            }
        }
    }

    /// Reads the tries of one block up to the first valid one.
    fn read_block(&self, number: u32, orientation: Orientation, plan: &Plan, gate: &Gate, voids: &mut Voids) -> Result<Block<'a>, Stopped> {
        let arms = orientation.arms();
        let mut failures = [0_u32; 2];
        for attempt in 0.. {
            let of_try = |sample: &&&Sample| !sample.warmup && sample.block == number && sample.attempt == attempt;
            let rows: Vec<&'a Sample> = self.samples.iter().filter(of_try).copied().collect();
            if let Some(stray) = (0..)
                .zip(&rows)
                .find(|(at, row)| row.position != *at || arms.get(*at as usize) != Some(&row.arm))
            {
                return Err(Stopped::Trouble(Trouble::OffPlan { seq: stray.1.seq }));
            }
            let failed = |arm: Arm| rows.iter().filter(|row| row.arm == arm).find_map(|row| failure(row, gate));
            // Nothing more is learnt from a try in which the base failed.
            let closed = rows.len() == arms.len() || failed(Arm::A).is_some();
            if !closed {
                let position = rows.len() as u32;
                let slot = Slot {
                    cell: self.cell.clone(),
                    block: number,
                    position,
                    attempt,
                    arm: arms[rows.len()],
                    warmup: false,
                };
                return Err(Stopped::Next(slot));
            }
            if voids.count(&rows) {
                if let Some(trouble) = voids.trouble(plan) {
                    return Err(Stopped::Trouble(trouble));
                }
                continue;
            }
            let Some((arm, why)) = Arm::BOTH.into_iter().find_map(|arm| failed(arm).map(|why| (arm, why))) else {
                return Ok(Block {
                    orientation,
                    samples: rows,
                });
            };
            failures[arm as usize] += 1;
            if failures[arm as usize] == FAILURES_MAX {
                return Err(Stopped::Trouble(Trouble::Failed {
                    arm,
                    place: format!("block {}", number + 1),
                    why,
                }));
            }
        }
        Err(Stopped::Trouble(Trouble::OffPlan { seq: 0 }))
    }
}

enum Stopped {
    Next(Slot),
    Trouble(Trouble),
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
