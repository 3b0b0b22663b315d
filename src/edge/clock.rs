//! The clock.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The wall clock now, RFC 3339 with microseconds, UTC.
pub fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

/// The wall clock now, RFC 3339 with whole seconds, UTC.
pub fn now_seconds() -> String {
    format!("{:.0}", Timestamp::now())
}

/// The wall clock now, in whole seconds since 1970.
pub fn epoch_s() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
}

/// A number from 0 to below 1 that processes started together do not share.
pub fn scatter() -> f64 {
    let mixed = RandomState::new().hash_one(Timestamp::now().as_nanosecond());
    mixed as f64 / 2_f64.powi(64)
}

/// A monotonic stopwatch, started now.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since the start.
    pub fn elapsed_s(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

/// A moment by which something must be done.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }

    /// What is left until then; zero once it has passed.
    pub fn left(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
