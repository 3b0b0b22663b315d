//! Nouns: plain data, each with its own text form.

pub mod baseline;
pub mod duration;
pub mod eval;
pub mod evidence;
pub mod fault;
pub mod figure;
pub mod gate;
pub mod gpu_metrics;
pub mod host;
pub mod identity;
pub mod judgement;
pub mod metric;
pub mod number;
pub mod pattern;
pub mod placeholder;
pub mod plan;
pub mod push;
pub mod quantity;
pub mod record;
pub mod relabel;
pub mod report;
pub mod sample;
pub mod summary;
pub mod text;
pub mod unit;
pub mod variable;
