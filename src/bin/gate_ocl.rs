//! `gate-ocl`: what OpenCL says of its devices, a known answer, a warm-up of the compute clocks, and the bandwidth of memory. One line of JSON
//! on standard output.
#![expect(
    unsafe_code,
    reason = "a kernel is started by an unsafe call, and the process is left without the driver's farewell"
)]
#![expect(clippy::disallowed_methods, reason = "the process measures how long its own work takes")]

mod opencl;
mod work;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use gate::model::gpu_helper::{OPENCL, State};
use ocl::{Event, Kernel};
use serde_json::{Map, Value, json};

use opencl::{Found as Device, Ready, built, chosen};
use work::{Fault, Found, PATIENCE_S, spread};

/// Numbers of the known answer.
const ANSWERS: usize = 1 << 20;
/// Rounds that each of them goes through.
const ROUNDS: u32 = 64;
/// Launches of the triad that are measured, after the first half second of them, in which clocks rise and pages are touched.
const LAUNCHES: u32 = 20;
/// That half second.
const UNMEASURED: Duration = Duration::from_millis(500);
/// What the arrays of the triad hold, and its factor: every step is exact in 32 bits.
const TRIAD: (f32, f32, f32) = (1.0, 2.0, 3.0);
/// Elements at either end of the result that are looked at.
const LOOKED_AT: usize = 1 << 16;
/// How long one launch of the warm-up takes about, in seconds.
const LAUNCH_S: f64 = 0.05;
/// Work items of the warm-up for each compute unit.
const ITEMS_A_UNIT: usize = 4096;
/// Floating-point operations of one round of one item: four chains, a product and a sum each.
const OPERATIONS: f64 = 8.0;

/// Asks OpenCL about its devices, checks their answers, warms them up, or measures their bandwidth; one line of JSON
#[derive(Debug, Parser)]
#[command(name = "gate-ocl", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// One device only, counted over all platforms [default: every GPU, without one every device]
    #[arg(long, global = true, value_name = "INDEX")]
    device: Option<usize>,
    /// Seconds after which a call that does not come back is given up [default: 120, and the time of the warm-up]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Command {
    /// Platforms, devices, drivers, PCI addresses, memory
    Info,
    /// Compare a million numbers that the device computes with the host's, bit for bit
    KnownAnswer,
    /// Keep the compute units busy for a while
    Warmup {
        /// For how long
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
        seconds: u64,
    },
    /// Measure a triad over three arrays in the memory of one device
    Bandwidth {
        /// Size of each array in MiB [default: 1024 on a GPU, 64 elsewhere]
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..=65536))]
        mib: Option<u64>,
    },
}

fn main() -> ExitCode {
    let Arguments { command, device, limit } = Arguments::parse();
    let (word, asked_s) = match command {
        Command::Info => ("info", 0),
        Command::KnownAnswer => ("known-answer", 0),
        Command::Warmup { seconds } => ("warmup", seconds),
        Command::Bandwidth { .. } => ("bandwidth", 0),
    };
    let limit = Duration::from_secs(limit.unwrap_or(PATIENCE_S + asked_s));
    work::run(OPENCL, word, limit, move || match command {
        Command::Info => info(device),
        Command::KnownAnswer => known_answer(&chosen(device)?),
        Command::Warmup { seconds } => warmup(&chosen(device)?, Duration::from_secs(seconds)),
        Command::Bandwidth { mib } => bandwidth(&chosen(device)?, mib),
    })
}

fn info(named: Option<usize>) -> Result<Found, Fault> {
    let devices = if named.is_some() { chosen(named)? } else { opencl::all()? };
    let devices: Vec<Value> = devices.iter().map(Device::describe).collect();
    Ok(Map::from_iter([("devices".to_owned(), json!(devices))]))
}

/// What the kernel `known_answer` computes.
fn answer(index: u64) -> u64 {
    let mut x = index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    for _ in 0..ROUNDS {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

fn known_answer(devices: &[Device]) -> Result<Found, Fault> {
    let wanted: Vec<u64> = (0..ANSWERS as u64).map(answer).collect();
    for device in devices {
        let ready = device.ready()?;
        let out = ready.buffer::<u64>(ANSWERS)?;
        let kernel = built(ready.kernel("known_answer", ANSWERS).arg(&out).arg(ROUNDS))?;
        ready.run(&kernel)?;
        let got = ready.read(&out, 0, ANSWERS)?;
        let wrong = got.iter().zip(&wanted).filter(|(got, wanted)| got != wanted).count();
        if wrong > 0 {
            return Err(Fault {
                state: State::Wrong,
                why: format!("device {}: {wrong} of {ANSWERS} numbers differ from the host's", device.index),
            });
        }
    }
    let all = wanted.iter().fold(0, |all, one| all ^ one);
    let indexes: Vec<usize> = devices.iter().map(|device| device.index).collect();
    Ok(Map::from_iter([
        ("devices".to_owned(), json!(indexes)),
        ("numbers".to_owned(), json!(ANSWERS)),
        ("rounds".to_owned(), json!(ROUNDS)),
        ("xor".to_owned(), json!(format!("{all:016x}"))),
    ]))
}

/// A device that spins: so many rounds take about [`LAUNCH_S`].
struct Spinning {
    ready: Ready,
    kernel: Kernel,
    items: usize,
    rounds: u32,
}

impl Spinning {
    /// Finds the number of rounds: a launch that is too short leaves the device idle between two.
    fn begin(device: &Device) -> Result<Self, Fault> {
        let ready = device.ready()?;
        let items = device.compute_units() as usize * ITEMS_A_UNIT;
        let out = ready.buffer::<f32>(items)?;
        let mut rounds = 256_u32;
        let kernel = built(ready.kernel("spin", items).arg(&out).arg(rounds))?;
        while ready.run(&kernel)? < LAUNCH_S && rounds < 1 << 24 {
            rounds *= 2;
            kernel.set_arg(1, rounds).map_err(opencl::failed("clSetKernelArg"))?;
        }
        Ok(Self {
            ready,
            kernel,
            items,
            rounds,
        })
    }
}

fn warmup(devices: &[Device], span: Duration) -> Result<Found, Fault> {
    let start = Instant::now();
    let all = devices.iter().map(Spinning::begin).collect::<Result<Vec<Spinning>, Fault>>()?;
    let mut took_s = Vec::new();
    while start.elapsed() < span || took_s.is_empty() {
        let launch = Instant::now();
        for one in &all {
            one.ready.start(&one.kernel, &mut Event::empty())?;
        }
        all.iter().try_for_each(|one| one.ready.finish())?;
        took_s.push(launch.elapsed().as_secs_f64());
    }
    let operations: f64 = all.iter().map(|one| one.items as f64 * f64::from(one.rounds) * OPERATIONS).sum();
    // The first and the last tenth: clocks that still rise show here.
    let tenth = took_s.len().div_ceil(10);
    let (first, last) = (&took_s[..tenth], &took_s[took_s.len() - tenth..]);
    let rate = |span: &[f64]| operations * span.len() as f64 / span.iter().sum::<f64>() / 1e9;
    let indexes: Vec<usize> = devices.iter().map(|device| device.index).collect();
    Ok(Map::from_iter([
        ("devices".to_owned(), json!(indexes)),
        ("wall_s".to_owned(), json!(start.elapsed().as_secs_f64())),
        ("launches".to_owned(), json!(took_s.len())),
        ("first_gflop_s".to_owned(), json!(rate(first))),
        ("last_gflop_s".to_owned(), json!(rate(last))),
    ]))
}

fn bandwidth(devices: &[Device], mib: Option<u64>) -> Result<Found, Fault> {
    let device = devices.first().ok_or_else(|| Fault::failed("bandwidth", "no device"))?;
    let bytes = mib.map_or_else(|| device.array_bytes(), |mib| mib << 20);
    let elements = usize::try_from(bytes / 16).map_err(|error| Fault::failed("--mib", error))?;
    let ready = device.ready()?;
    let (first, second, factor) = TRIAD;
    let (a, b, c) = (
        ready.filled(elements, 0.0)?,
        ready.filled(elements, first)?,
        ready.filled(elements, second)?,
    );
    let triad = built(ready.kernel("triad", elements).arg(&a).arg(&b).arg(&c).arg(factor))?;
    let moved = 3.0 * 16.0 * elements as f64;
    let start = Instant::now();
    while start.elapsed() < UNMEASURED {
        ready.run(&triad)?;
    }
    let rates = (0..LAUNCHES).map(|_| Ok(moved / ready.run(&triad)? / 1e9));
    let rates = rates.collect::<Result<Vec<f64>, Fault>>()?;
    let ends = elements.min(LOOKED_AT);
    let mut wrong = 0;
    for from in [0, elements - ends] {
        let seen = ready.read(&a, from, ends)?;
        wrong += seen
            .iter()
            .flat_map(|four| four.iter())
            .filter(|&&value| value != first + factor * second)
            .count();
    }
    if wrong > 0 {
        return Err(Fault {
            state: State::Wrong,
            why: format!("device {}: {wrong} of {} sums are wrong", device.index, 8 * ends),
        });
    }
    let [median, least, most] = spread(rates).ok_or_else(|| Fault::failed("bandwidth", "nothing was launched"))?;
    Ok(Map::from_iter([
        ("device".to_owned(), json!(device.index)),
        ("name".to_owned(), device.describe()["name"].clone()),
        ("launches".to_owned(), json!(LAUNCHES)),
        ("array_bytes".to_owned(), json!(16 * elements)),
        ("triad_gb_s".to_owned(), json!(median)),
        ("triad_min_gb_s".to_owned(), json!(least)),
        ("triad_max_gb_s".to_owned(), json!(most)),
    ]))
}
