//! How fast a large file is digested: `cargo bench --bench digest [-- MEBIBYTES]`, 1024 without a size.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark makes its file and reads the clock")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use gate::edge::digest::{DigestCache, digest_file};
use md5::{Digest, Md5};

/// Each way is timed this often, in turn; the fastest counts.
const ROUNDS: usize = 3;

fn main() -> io::Result<()> {
    let mebibytes: u64 = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1024);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("content");
    write_file(&path, mebibytes)?;
    // What was written just now is not cached.
    std::thread::sleep(Duration::from_millis(2500));
    let mut cache = DigestCache::open(&folder.path().join("cache"));
    let expected = cache.digests(&path)?;
    cache.save()?;

    let mut best = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        let seconds = [
            timed(|| md5_alone(&path))?,
            timed(|| digest_file(&path).map(|digests| digests.md5))?,
            timed(|| {
                DigestCache::open(&folder.path().join("cache"))
                    .digests(&path)
                    .map(|digests| digests.md5)
            })?,
            timed(|| md5sum(&path))?,
        ];
        for (best, (seconds, md5)) in best.iter_mut().zip(seconds) {
            if md5 != expected.md5 {
                return Err(io::Error::other(format!("{md5} is not {}", expected.md5)));
            }
            *best = best.min(seconds);
        }
    }
    let [alone_s, both_s, cached_s, md5sum_s] = best;
    println!("{mebibytes} MiB, the fastest of {ROUNDS}");
    for (way, seconds) in [
        ("md5 crate alone", alone_s),
        ("md5 and BLAKE3", both_s),
        ("from the cache", cached_s),
        ("md5sum", md5sum_s),
    ] {
        println!("{way:<16} {:>12.3} ms", seconds * 1e3);
    }
    println!(
        "speed of md5 and BLAKE3: {:.2} x md5 crate alone, {:.2} x md5sum",
        alone_s / both_s,
        md5sum_s / both_s
    );
    println!("speed of the cache: {:.0} x md5 and BLAKE3", both_s / cached_s);
    Ok(())
}

fn write_file(path: &Path, mebibytes: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        for word in block.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all(&block)?;
    }
    file.sync_all()
}

fn timed(work: impl FnOnce() -> io::Result<String>) -> io::Result<(f64, String)> {
    let start = Instant::now();
    let md5 = work()?;
    Ok((start.elapsed().as_secs_f64(), md5))
}

fn md5_alone(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Md5::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            bytes => hasher.update(&buffer[..bytes]),
        }
    }
}

fn md5sum(path: &Path) -> io::Result<String> {
    let done = Command::new("md5sum").arg(path).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).chars().take(32).collect())
}
