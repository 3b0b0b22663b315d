//! Valid blocks in the engine's terms: what each run answered, + = worse.

use super::course;
use super::crossover::{self, Block};
use crate::model::metric::{Metric, Scale};

/// The responses of some blocks on one scale.
pub struct Responses {
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// Their values in running order, in the numbers of the scale.
    pub values: Vec<f64>,
    scale: Scale,
    resolution: f64,
}

impl Responses {
    /// The responses of `blocks` to a metric; none where a run did not report it, or its value has no meaning on the scale.
    pub fn of(blocks: &[course::Block<'_>], metric: &Metric, scale: Scale) -> Option<Self> {
        let points = points(metric, scale);
        let mut values = Vec::new();
        let mut found = Vec::new();
        for block in blocks {
            let mut y = [0.0; 4];
            for (y, sample) in y.iter_mut().zip(&block.samples) {
                let value = points * sample.value(&metric.name)?;
                values.push(value);
                *y = crossover::worse(value, scale, metric.better)?;
            }
            found.push(Block {
                orientation: block.orientation,
                y,
            });
        }
        Some(Self {
            blocks: found,
            values,
            scale,
            resolution: points * metric.resolution.unwrap_or(0.0),
        })
    }

    /// The least standard deviation of a pair difference that is believed.
    pub fn floor(&self, min_run_cv: f64) -> f64 {
        match self.scale {
            Scale::Pct => crossover::floor_log(min_run_cv, self.resolution, &self.values),
            Scale::Pp | Scale::Abs => crossover::floor_abs(0.0, self.resolution),
        }
    }
}

/// What turns a value of a metric into the numbers of a scale: 100 for points of a share that is recorded as a fraction, else 1.
pub fn points(metric: &Metric, scale: Scale) -> f64 {
    let fraction = scale == Scale::Pp && metric.unit.canonical() == "1";
    if fraction { 100.0 } else { 1.0 }
}
