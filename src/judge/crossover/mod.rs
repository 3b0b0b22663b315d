//! The sequential crossover test: fresh-process ABBA blocks in, one of a few honest answers out.
//!
//! A block holds one pair in the order AB and one in the order BA. In each pair the difference is second − first; what is
//! common to both orders is drift, half of what differs is the effect (Grizzle 1965). The effect is tested at declared
//! numbers of blocks only, each look at its own share of the error levels, so that by the union bound a change of at most
//! `m0` is called a regression with at most α, and one of at least `m1` passes with at most β, however the stopping goes.
//! The last look may spend a kept-back share on an exact rank test (Koch 1972), which a few wild runs cannot spoil.
//!
//! Everything is in response units: ln(value), or the value itself, turned so that **+ is worse**.

mod arms;
mod decide;
mod design;
mod estimate;
mod response;

pub use arms::{ArmsDiffer, arms_differ};
pub use decide::{Bounds, Claim, Decision, Replay, Stop, decide, promote, stop};
pub use design::{Design, RankTest, looks, mde};
pub use estimate::{Block, Estimate, Noise, Pairs};
pub use response::{floor_abs, floor_log, margin, worse};
