//! The embedded workload: fixed amounts of real work, timed by the process that does it.

use std::hint::black_box;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use md5::{Digest, Md5};
use rustix::time::{ClockId, clock_gettime};

/// Blocks of 64 bytes that [`spin`] digests for one nominal millisecond. MD5 is one long chain of dependent integer operations in
/// a crate that every profile optimises, so that debug and release builds do the same work in about the same time.
pub const SPIN_BLOCKS_PER_MS: u64 = 11_000;
/// Elements that [`triad`] computes for one nominal millisecond. The constant depends on the profile because the loop is compiled
/// with this crate: without optimisation it is bound by the loop and not by memory.
pub const TRIAD_ELEMENTS_PER_MS: u64 = if cfg!(debug_assertions) { 450_000 } else { 1_500_000 };

const SPIN_BLOCK_BYTES: u64 = 64;
const SPIN_BUFFER_BLOCKS: u64 = 256;
/// Elements of each of the three arrays: 16 MiB, well beyond a core's own caches.
const TRIAD_ARRAY_ELEMENTS: usize = (16 << 20) / size_of::<f64>();
const TRIAD_BYTES_PER_ELEMENT: f64 = 3.0 * size_of::<f64>() as f64;

/// What one piece of work took.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Wall-clock time of the work alone.
    pub wall_ms: f64,
    /// CPU time of the process over the same work.
    pub cpu_ms: f64,
    /// Decimal or hexadecimal result: equal for equal work, so that nobody can leave the work out.
    pub check: String,
}

/// Digests `blocks` blocks of 64 bytes: bound by one core's arithmetic.
pub fn spin(blocks: u64) -> Timing {
    let buffer: Vec<u8> = (0..=u8::MAX)
        .cycle()
        .take((SPIN_BLOCK_BYTES * SPIN_BUFFER_BLOCKS) as usize)
        .collect();
    let (wall, cpu) = (Instant::now(), cpu_ms());
    let mut digest = Md5::new();
    let mut left = blocks;
    while left > 0 {
        let now = left.min(SPIN_BUFFER_BLOCKS);
        digest.update(black_box(buffer.get(..(now * SPIN_BLOCK_BYTES) as usize).unwrap_or_default()));
        left -= now;
    }
    let check: String = digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    Timing {
        wall_ms: wall.elapsed().as_secs_f64() * 1e3,
        cpu_ms: cpu_ms() - cpu,
        check,
    }
}

/// Computes `a[i] = b[i] + s * c[i]` for `elements` elements, going round three arrays of 16 MiB: bound by memory.
/// Returns the timing and the bandwidth in GB/s.
pub fn triad(elements: u64) -> (Timing, f64) {
    let mut a = touched(0.0);
    let (b, c) = (touched(1.0), touched(2.0));
    let s = black_box(3.0);
    let (wall, cpu) = (Instant::now(), cpu_ms());
    let mut left = elements;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(TRIAD_ARRAY_ELEMENTS);
        triad_pass(&mut a[..now], &b[..now], &c[..now], s);
        black_box(&mut a);
        left -= now as u64;
    }
    let wall_s = wall.elapsed().as_secs_f64();
    let cpu_ms = cpu_ms() - cpu;
    let check = format!("{}", a.first().copied().unwrap_or_default() + a.last().copied().unwrap_or_default());
    let gb_per_s = elements as f64 * TRIAD_BYTES_PER_ELEMENT / wall_s / 1e9;
    (
        Timing {
            wall_ms: wall_s * 1e3,
            cpu_ms,
            check,
        },
        gb_per_s,
    )
}

/// Indices and not iterators: without optimisation an iterator costs several calls an element, an index costs one comparison.
fn triad_pass(a: &mut [f64], b: &[f64], c: &[f64], s: f64) {
    let mut i = 0;
    while i < a.len() {
        a[i] = b[i] + s * c[i];
        i += 1;
    }
}

/// An array whose every page exists: a page never written is one shared page of zeros, and would be read from the cache.
fn touched(value: f64) -> Vec<f64> {
    let mut array = vec![0.0; TRIAD_ARRAY_ELEMENTS];
    array.fill(value);
    array
}

/// CPU time that this process has used.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// A seed that differs from process to process, for a run that asks for none.
pub fn fresh_seed() -> u64 {
    let nanoseconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    nanoseconds.rotate_left(32) ^ u64::from(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_work_gives_equal_checks_and_more_work_another() {
        let (one, again, more) = (spin(1000), spin(1000), spin(1001));
        assert_eq!(one.check, again.check);
        assert_ne!(one.check, more.check);
        assert!(one.wall_ms > 0.0 && one.cpu_ms > 0.0);
    }

    #[test]
    fn triad_computes_every_element_asked_for() {
        let ends = |elements| triad(elements).0.check;
        assert_eq!(ends(1), "7", "only the first element");
        assert_eq!(ends(TRIAD_ARRAY_ELEMENTS as u64), "14", "both ends");
    }
}
