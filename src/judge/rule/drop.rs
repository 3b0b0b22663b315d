//! `drop`: a score may fall by no more than the tolerance. [`crate::judge::scores`] judges scores; samples have none.

use super::{Bucket, Kind, error};
use crate::model::judgement::Ruling;

/// Speaks of scores.
pub const KIND: Kind = Kind {
    name: crate::judge::scores::KIND,
    about: "no score of a benchmark task falls by more than the tolerance in points (or in percent of the base's score): any task, never the mean; `gate eval` judges it",
    settled: |_| true,
    judge,
};

fn judge(bucket: &Bucket<'_>) -> Ruling {
    let because = "A drop is of scores of benchmark tasks, and these are samples of processes.".to_owned();
    error(bucket, because, "Declare a hold, or judge scores with `gate eval`.")
}
