//! What reading a machine costs: `cargo bench --bench host`. Wanted: an eight-GPU machine read in at most 20 ms, its preflight in at most 50 ms,
//! readings ten times a second in at most 1 % of a core, and what every gap between two processes reads in at most 20 ms.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads files and the clock, and starts a program")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gate::edge::host::{Source, machine};
use gate::edge::telemetry::Watch;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

/// Rounds of which the fastest counts.
const ROUNDS: usize = 20;
/// How long the sampler is watched.
const WATCHED: Duration = Duration::from_secs(5);

/// Processor time of this process, in seconds.
fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The fewest milliseconds that something takes: by the wall and of processor time.
fn fewest_ms(mut work: impl FnMut()) -> [f64; 2] {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let (start, cpu) = (Instant::now(), cpu_s());
        work();
        let took = [start.elapsed().as_secs_f64(), cpu_s() - cpu].map(|seconds| 1e3 * seconds);
        best = [0, 1].map(|at| best[at].min(took[at]));
    }
    best
}

/// The invented machine with this many GPUs, each a copy of the first.
fn tree(folder: &Path, gpus: usize) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/host");
    let document: Value = serde_json::from_slice(&fs::read(data.join("healthy.snapshot.json")).unwrap()).unwrap();
    let table = fs::read(data.join("metrics/v1_9_load.bin")).unwrap();
    let write = |path: &str, text: Option<&str>| {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text.map_or(table.as_slice(), str::as_bytes)).unwrap();
    };
    let (card, node) = ("sys/class/drm/card3/", "sys/class/kfd/kfd/topology/nodes/1/");
    for (path, entry) in document["files"].as_object().unwrap() {
        if path.starts_with("sys/class/drm/card4/") || path.starts_with("sys/class/kfd/kfd/topology/nodes/2/") {
            continue;
        }
        let text = entry["t"].as_str();
        if !path.starts_with(card) && !path.starts_with(node) {
            write(path, text);
            continue;
        }
        for gpu in 0..gpus {
            let path = path.replace(card, &format!("sys/class/drm/card{}/", 3 + gpu));
            let path = path.replace(node, &format!("sys/class/kfd/kfd/topology/nodes/{}/", 1 + gpu));
            let bus = 0x1b + gpu;
            let text = text.map(|text| text.replace("0000:1b:00.0", &format!("0000:{bus:02x}:00.0")));
            let text = text.map(|text| text.replace("location_id 6912", &format!("location_id {}", bus << 8)));
            write(&path, text.as_deref());
        }
    }
}

fn snapshot() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/host/healthy.snapshot.json")
}

fn main() {
    for gpus in [1, 8] {
        let folder = tempfile::tempdir().unwrap();
        tree(folder.path(), gpus);
        let read = || machine(&Source::folder(folder.path()));
        assert_eq!((read().cards.len(), read().nodes.unwrap().len()), (gpus, gpus));
        let [wall, cpu] = fewest_ms(|| drop(read()));
        println!("read a machine with {gpus} GPUs         {wall:8.2} ms, {cpu:.2} ms of a processor");
        let mut watch = Watch::new(folder.path(), read(), Duration::from_millis(100), true);
        let [wall, cpu] = fewest_ms(|| drop(watch.during(|| ())));
        println!("everything in a gap                 {wall:8.2} ms, {cpu:.2} ms of a processor");
        let cpu = cpu_s();
        let (_, trace) = watch.during(|| sleep(WATCHED));
        let share = 100.0 * (cpu_s() - cpu) / WATCHED.as_secs_f64();
        let readings = trace.devices.iter().map(|device| device.readings.len()).min().unwrap();
        println!(
            "{readings} readings of each in {} s         {share:8.3} % of a processor",
            WATCHED.as_secs()
        );
    }
    let [wall, _] = fewest_ms(|| {
        let done = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(["preflight", "--host"])
            .arg(snapshot())
            .output()
            .unwrap();
        assert!(done.status.success());
    });
    println!("gate preflight of a snapshot        {wall:8.2} ms, the whole process");
}
