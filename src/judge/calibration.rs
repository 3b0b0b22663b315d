//! From the records of A/A sessions to what they say of each fixture and metric.

use std::f64::consts::FRAC_1_SQRT_2;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::character::{self, Character, characterise};
use super::course::{Course, covers};
use super::crossover::{Estimate, Pairs, margin, mde};
use super::noise::{Band, blocks_needed, carried_margin};
use super::responses::Responses;
use super::{rule, summary};
use crate::model::gate::Against;
use crate::model::judgement::Range;
use crate::model::metric::{Better, Metric, Role, Scale};
use crate::model::number::count;
use crate::model::plan::MAX_BLOCKS;
use crate::model::record::{Record, short};
use crate::model::sample::Cell;
use crate::model::text::plain_line;

/// What A/A sessions say of one fixture and metric. Sizes are in percent where the scale is `pct`, else in the scale's own unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The gate.
    pub gate: String,
    /// The fixture; empty for the nameless one.
    pub fixture: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The scale of its tolerance.
    pub scale: Scale,
    /// Its declared tolerance.
    pub tolerance: f64,
    /// The gate's cap on blocks.
    pub max_blocks: u32,
    /// The seals of the sessions' records.
    pub records: Vec<String>,
    /// Blocks in all.
    pub blocks: usize,
    /// The values of all runs, in the metric's unit.
    pub values: Range,
    /// How far single runs lie apart.
    pub noise: RunNoise,
    /// Two states across processes, if there are.
    pub two_states: Option<States>,
    /// Drift from one run to the next.
    pub drift: Drift,
    /// Whether equal arms measure the same.
    pub bias: Bias,
    /// What the gate can see with this noise.
    pub reach: Reach,
}

/// How far single runs lie apart: standard deviations of a run, relative ones of its logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunNoise {
    /// Pooled over the sessions.
    pub sd: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Its one-sided upper 80 % limit, with which plans are made.
    pub planned: f64,
    /// Degrees of freedom.
    pub df: usize,
}

/// Two states of processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct States {
    /// How far the states' means lie apart.
    pub apart: f64,
    /// Share of the processes in the worse state.
    pub worse_share: f64,
}

/// Drift from one run to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The gain of each run over the one before it; negative is worse.
    pub gain: f64,
    /// The chance of a drift this large where there is none.
    pub p: f64,
    /// Whether it is beyond chance.
    pub shown: bool,
}

/// Whether equal arms measure the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bias {
    /// The chance of differences this large between equal arms.
    pub p: f64,
    /// Whether they differ beyond chance.
    pub shown: bool,
    /// The null margin that would cover it; null with fewer than three sessions.
    pub null_margin: Option<f64>,
}

/// What a gate can see with this noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reach {
    /// The slowdown that one look at the gate's cap would show.
    pub smallest_detectable: Option<f64>,
    /// The cap on blocks that catches a slowdown of the tolerance in 95 % of sessions; null where none up to 28 does.
    pub blocks_needed: Option<usize>,
    /// The smallest tolerance that the gate's cap carries; null below 4 blocks.
    pub carried: Option<f64>,
    /// The smallest tolerance that any cap carries.
    pub carried_at_most: Option<f64>,
}

impl Calibration {
    /// Whether some cap on blocks carries the declared tolerance; a tolerance of zero asks for nothing that noise could hide.
    pub fn carries(&self) -> bool {
        self.tolerance <= 0.0 || self.reach.blocks_needed.is_some()
    }
}

/// Characterises every fixture and judged metric of one gate's sessions; for each the answer, or why there is none.
pub fn calibrate(records: &[Record]) -> Vec<Result<Calibration, String>> {
    let Some(first) = records.first() else { return Vec::new() };
    let judged = first.gate.metrics.iter().filter(|metric| metric.role == Role::Gate);
    judged
        .flat_map(|metric| first.plan.cells.iter().map(move |cell| (metric, cell)))
        .filter(|(metric, cell)| first.gate.measures(&cell.fixture, &metric.name))
        .map(|(metric, cell)| {
            let metric = &judged_as(first, metric, cell);
            of_bucket(first, records, metric, cell).map_err(|why| format!("{}: {why}", subject(metric, cell)))
        })
        .collect()
}

fn subject(metric: &Metric, cell: &Cell) -> String {
    let name = plain_line(&metric.name, 100);
    match cell.fixture.as_str() {
        "" => name,
        fixture => format!("{name} of {}", plain_line(fixture, 100)),
    }
}

/// The metric with the tolerance of the rule that holds it against the base, where that has its own.
fn judged_as(record: &Record, metric: &Metric, cell: &Cell) -> Metric {
    let holds = record.gate.rules.iter().find(|rule| {
        let of_bucket = covers(&rule.metric, &metric.name) && covers(&rule.fixture, &cell.fixture);
        rule.kind == "hold" && rule.against == Against::Base && of_bucket
    });
    holds.map_or_else(|| metric.clone(), |rule| rule::suited(rule, metric).0)
}

fn of_bucket(first: &Record, records: &[Record], metric: &Metric, cell: &Cell) -> Result<Calibration, String> {
    let sessions = records
        .iter()
        .map(|record| session(record, metric, cell, metric.scale).map_err(|why| format!("session {}: {why}", short(&record.seal))))
        .collect::<Result<Vec<Session>, String>>()?;
    let characters: Vec<character::Session> = sessions.iter().map(|session| session.character.clone()).collect();
    let Character {
        band,
        two_states,
        order,
        bias,
    } = characterise(&characters).ok_or("its noise cannot be read")?;
    let values: Vec<f64> = sessions.iter().flat_map(|session| session.values.iter().copied()).collect();
    let spread = summary::summarise(&values).ok_or("a value is no number")?;
    let terms = Terms {
        scale: metric.scale,
        better: metric.better,
    };
    Ok(Calibration {
        gate: first.gate.name.clone(),
        fixture: cell.fixture.clone(),
        metric: metric.name.clone(),
        unit: metric.unit.canonical().to_owned(),
        scale: metric.scale,
        tolerance: metric.tolerance,
        max_blocks: first.plan.max_blocks,
        records: records.iter().map(|record| record.seal.clone()).collect(),
        blocks: sessions.iter().map(|session| session.blocks).sum(),
        values: Range {
            n: values.len() as u32,
            min: spread.min,
            median: spread.median,
            max: spread.max,
        },
        noise: terms.noise(&band),
        two_states: two_states.map(|states| States {
            apart: terms.change(states.apart),
            worse_share: states.worse_share,
        }),
        drift: Drift {
            gain: terms.gain(order.gamma),
            p: order.p,
            shown: order.shown,
        },
        bias: Bias {
            p: bias.p,
            shown: bias.shown,
            null_margin: bias.null_margin.map(|margin| terms.change(margin)),
        },
        reach: reach(first, metric, &terms, band.recommended_sigma_run),
    })
}

/// One session of one bucket.
pub(super) struct Session {
    pub(super) character: character::Session,
    values: Vec<f64>,
    blocks: usize,
}

/// One record's session of a bucket, on a scale.
///
/// # Errors
/// Why it has none, in words that end a sentence.
pub(super) fn session(record: &Record, metric: &Metric, cell: &Cell, scale: Scale) -> Result<Session, String> {
    if record.cancelled.is_some() || record.evidence.ended.is_some() {
        return Err("it did not come to its end".to_owned());
    }
    let course = Course::read(&record.plan, &record.gate, cell, &record.evidence);
    if course.trouble.is_some() || course.blocks.len() < record.plan.blocks.len() {
        let (have, planned) = (course.blocks.len(), record.plan.blocks.len());
        return Err(format!("{have} of {} are complete", count(planned as u64, "block")));
    }
    let responses =
        Responses::of(&course.blocks, metric, scale).ok_or("a run gave no figure, or one that has no meaning on the tolerance's scale")?;
    let pairs = Pairs::of(&responses.blocks);
    let estimate = Estimate::of(&pairs.x, &pairs.z, responses.floor(record.plan.min_run_cv)).ok_or("it has no pair")?;
    let noise = estimate.noise.ok_or("one block shows no noise")?;
    let samples = course.blocks.iter().flat_map(|block| &block.samples);
    Ok(Session {
        values: samples.filter_map(|sample| sample.values.get(&metric.name).copied()).collect(),
        blocks: responses.blocks.len(),
        character: character::Session {
            est: estimate.est,
            se: noise.se,
            sp: noise.sp_raw,
            df: noise.df,
            gamma: estimate.gamma,
            responses: responses.blocks.iter().flat_map(|block| block.y).collect(),
        },
    })
}

fn reach(record: &Record, metric: &Metric, terms: &Terms, sigma_run: f64) -> Reach {
    let plan = &record.plan;
    let judged = record.gate.metrics.iter().filter(|metric| metric.role == Role::Gate).count() * plan.cells.len();
    let alpha = plan.alpha / judged.max(1) as f64;
    let size = if metric.scale == Scale::Pct {
        metric.tolerance / 100.0
    } else {
        metric.tolerance
    };
    let shown = |delta: f64| Some(terms.change(delta)).filter(|size| size.is_finite());
    Reach {
        smallest_detectable: mde(sigma_run, plan.max_blocks as usize, alpha, plan.beta).and_then(shown),
        blocks_needed: margin(size, metric.scale, metric.better)
            .filter(|margin| *margin > 0.0)
            .and_then(|margin| blocks_needed(sigma_run, margin)),
        carried: carried_margin(sigma_run, plan.max_blocks as usize).and_then(shown),
        carried_at_most: carried_margin(sigma_run, *MAX_BLOCKS.end() as usize).and_then(shown),
    }
}

/// From response units to what people read.
struct Terms {
    scale: Scale,
    better: Better,
}

impl Terms {
    fn gain(&self, delta: f64) -> f64 {
        rule::gain(delta, self.scale, self.better)
    }

    /// The size of a change for the worse.
    fn change(&self, delta: f64) -> f64 {
        self.gain(delta).abs()
    }

    fn noise(&self, band: &Band) -> RunNoise {
        let points = if self.scale == Scale::Pct { 100.0 } else { 1.0 };
        let of_pair = |sp: f64| points * sp * FRAC_1_SQRT_2;
        let [low, high] = band.sp_ci95;
        RunNoise {
            sd: of_pair(band.sp_pooled),
            low: of_pair(low),
            high: of_pair(high),
            planned: points * band.recommended_sigma_run,
            df: band.nu,
        }
    }
}
