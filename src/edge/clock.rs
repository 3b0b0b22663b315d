//! The clock.

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
