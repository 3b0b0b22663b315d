//! `gate perf` on an invented machine whose files change while a process runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::declared::{GATE, Project, banners};
use crate::host::snapshot;
use crate::sandbox::{Done, Sandbox, samples, verdict};
use crate::sources::root;

/// The folder of the first card.
pub const CARD: &str = "sys/class/drm/card3/device";
/// The driver's number for it.
const GPU: &str = "1001";

/// Writes an invented machine into a folder.
pub fn tree(name: &str, folder: &Path) {
    let document: Value = serde_json::from_slice(&fs::read(snapshot(name)).unwrap()).unwrap();
    if let Some(base) = document["base"].as_str() {
        tree(base, folder);
    }
    for (path, entry) in document["files"].as_object().unwrap() {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if path == "proc/self/ns/pid" {
            symlink(entry["t"].as_str().unwrap(), file).unwrap();
        } else if let Some(text) = entry["t"].as_str() {
            fs::write(file, text).unwrap();
        } else {
            assert!(path.ends_with("gpu_metrics"), "{path}");
            fs::copy(blob("v1_9_idle"), file).unwrap();
        }
    }
}

pub fn blob(name: &str) -> PathBuf {
    root().join("tests/data/host/metrics").join(format!("{name}.bin"))
}

/// An idle machine with two GPUs, and two programs of the same figure that do something to it.
struct Invented {
    sandbox: Sandbox,
    host: PathBuf,
}

impl Invented {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let host = sandbox.path("host");
        tree("healthy", &host);
        fs::create_dir_all(host.join("proc/1")).unwrap();
        fs::write(host.join("proc/1/stat"), "1 (init) S 0 1 1\n").unwrap();
        // Far from every temperature: the counters alone tell of throttling, whenever they are looked at.
        for sensor in ["card3/device/hwmon/hwmon12", "card4/device/hwmon/hwmon13"]
            .into_iter()
            .flat_map(|card| [2, 3].map(|n| format!("{card}/temp{n}_crit")))
        {
            fs::write(host.join("sys/class/drm").join(sensor), "200000\n").unwrap();
        }
        for name in ["v1_9_idle", "v1_9_hot", "v1_9_load"] {
            fs::copy(blob(name), sandbox.path(name)).unwrap();
        }
        Self { sandbox, host }
    }

    fn file(&self, path: &str) -> PathBuf {
        self.host.join(path)
    }

    /// A program that prints its figure; `body` has `$card`, `$host`, `table NAME`, and `whole FILE`, which writes a file as the kernel's are:
    /// nobody reads half of it.
    fn program(&self, name: &str, body: &str) {
        let (host, work) = (self.host.display(), self.sandbox.path(""));
        let work = work.display();
        let head = format!(
            "host={host}\ncard={host}/{CARD}\nwhole() {{ cat >{work}/whole; mv {work}/whole $1; }}\ntable() {{ whole $card/gpu_metrics <{work}/v1_9_$1; }}"
        );
        self.sandbox.script(name, &format!("{head}\n{body}\necho ms=100"));
    }

    fn perf(&self, more: &[&str]) -> Done {
        let host = self.host.to_str().unwrap();
        let mut words = vec!["--host", host, "--metric", "ms:lower:ms", "--fixed-blocks", "2"];
        for usual in [["--format", "json"], ["--telemetry", "20ms"]] {
            let chosen = more.chunks(2).find(|chosen| chosen[0] == usual[0]);
            words.extend(chosen.unwrap_or(&usual));
        }
        self.sandbox.perf("./a.sh", "./b.sh", &words)
    }
}

fn voids(record: &Value) -> Vec<String> {
    let void = |sample: &Value| {
        Some(format!(
            "{}{}",
            sample["arm"].as_str()?,
            sample["void"]["check"].as_str().map_or("", |_| "!")
        ))
    };
    let measured = samples(record).iter().filter(|sample| sample["warmup"] == false);
    measured.filter_map(void).collect()
}

#[test]
fn each_sample_tells_what_the_machine_did() {
    let machine = Invented::new();
    machine.program("a.sh", "table idle; sleep 0.15; table load; sleep 0.15");
    machine.program("b.sh", "table idle; sleep 0.15; table load; sleep 0.15");
    let record = machine.perf(&[]).exits(0).record();
    assert_eq!(
        record["host"]["replayed"], true,
        "another machine's files are no measurement of this one"
    );
    assert_eq!(record["judgement"]["disposition"], "exploratory");
    let plan = &record["plan"]["telemetry"];
    assert_eq!(
        (&plan["every_s"], &plan["limits"]["thermal_throttle_pct"]),
        (&0.02.into(), &1.0.into())
    );
    assert!(plan["void"].as_array().unwrap().contains(&"contention".into()), "{plan}");
    for sample in samples(&record) {
        let seen = &sample["telemetry"];
        let device = &seen["devices"][0];
        assert_eq!(
            (&device["device"], &device["source"]),
            (&"0000:1b:00.0".into(), &"gpu_metrics 1.9".into())
        );
        assert!(device["readings"].as_u64().unwrap() >= 5, "{device}");
        assert_eq!(
            (&device["power_w"]["max"], &device["gfxclk_mhz"]["min"]),
            (&701.0.into(), &132.875.into()),
            "{device}"
        );
        assert_eq!(device["links"][0], "32.0 GT/s PCIe x16");
        assert_eq!(device["vram_used_bytes"]["mean"], 301_989_888.0);
        assert!(
            seen["window_s"].as_f64().unwrap() >= 0.3 && seen["foreign"].as_array().unwrap().is_empty(),
            "{seen}"
        );
        assert_eq!(seen["devices"].as_array().unwrap().len(), 2);
    }
    fs::copy(blob("v1_9_idle"), machine.file(&format!("{CARD}/gpu_metrics"))).unwrap();
    let shown = machine.perf(&["--format", "terminal"]).exits(0).out;
    assert!(
        shown.contains("watched: 2 devices every 20 ms; a block is void by cap_or_level_changed, contention, "),
        "{shown}"
    );
    assert!(shown.contains("thermal_throttle_pct 1"), "{shown}");
    let verified = machine.sandbox.gate(&["ledger", "verify"]).exits(0);
    assert!(verified.out.contains("0 violations"), "{}", verified.out);
}

#[test]
fn a_throttle_counter_that_moves_voids_its_block_which_is_run_again() {
    let machine = Invented::new();
    machine.program("a.sh", "table idle; sleep 0.1");
    // The first measured run only; its warm-up is not counted.
    machine.program(
        "b.sh",
        "table idle; runs=x$(cat runs 2>/dev/null); echo $runs >runs; sleep 0.1; [ $runs != xx ] || table hot",
    );
    let record = machine.perf(&[]).exits(0).record();
    assert_eq!(voids(&record).concat(), "AB!BAABBABAAB", "the whole block is run again");
    let void = samples(&record).iter().find(|sample| !sample["void"].is_null()).unwrap();
    assert_eq!(
        (&void["void"]["check"], &void["void"]["attributable"]),
        (&"thermal_throttle".into(), &true.into())
    );
    assert!(
        void["void"]["why"]
            .as_str()
            .unwrap()
            .contains("socket_thermal held the clocks down 4.0 % of the time"),
        "{void}"
    );
    assert_eq!(
        (verdict(&record), void["values"]["ms"].as_f64()),
        ("no_regression", Some(100.0)),
        "the row stays"
    );
}

#[test]
fn throttling_on_the_candidate_alone_is_the_candidates() {
    let machine = Invented::new();
    machine.program("a.sh", "table idle; sleep 0.1");
    machine.program("b.sh", "table idle; sleep 0.1; table hot");
    let record = machine.perf(&[]).exits(1).record();
    assert_eq!(verdict(&record), "throttle_attributable");
    // The second of two neighbours begins with the counters that the first left, which then stand still.
    assert_eq!(voids(&record).concat(), "AB!BAAB!BAAB!BA");
    let warm = samples(&record)
        .iter()
        .find(|sample| sample["warmup"] == true && sample["arm"] == "B")
        .unwrap();
    assert_eq!(
        warm["telemetry"]["flags"][0]["flag"], "thermal_throttle",
        "seen, and nothing to void"
    );
}

/// A process of somebody else that holds a GiB, and one of ours that holds as much.
const FOREIGN: &str = "mkdir -p $host/proc/3001 $host/sys/class/kfd/kfd/proc/3001; echo trainer | whole $host/proc/3001/comm
echo '3001 (trainer) S 1 3001 3001' | whole $host/proc/3001/stat
echo 1073741824 | whole $host/sys/class/kfd/kfd/proc/3001/vram_1001";
const OWN: &str = "mkdir -p $host/proc/$$ $host/sys/class/kfd/kfd/proc/$$; echo bench | whole $host/proc/$$/comm
whole $host/proc/$$/stat </proc/$$/stat; echo 1073741824 | whole $host/sys/class/kfd/kfd/proc/$$/vram_1001; sleep 0.3
rm -r $host/sys/class/kfd/kfd/proc/$$ $host/proc/$$";

#[test]
fn who_else_uses_the_gpu_is_named_and_never_decides() {
    let machine = Invented::new();
    machine.program("a.sh", OWN);
    machine.program(
        "b.sh",
        &format!("{FOREIGN}\n{OWN}\nrm -r $host/proc/3001 $host/sys/class/kfd/kfd/proc/3001"),
    );
    let record = machine.perf(&[]).exits(3).record();
    assert_eq!(
        verdict(&record),
        "inconclusive",
        "on the candidate's runs alone, and still no fault of the candidate"
    );
    let because = record["judgement"]["verdicts"][0]["because"].as_str().unwrap();
    assert!(because.contains("contention: process 3001 (trainer) held 1024 MiB"), "{because}");
    let voids = voids(&record);
    assert_eq!(
        (voids.len(), voids.contains(&"A!".to_owned())),
        (12, false),
        "three tries, two voids allowed: {voids:?}"
    );
    let seen = samples(&record).iter().find(|sample| sample["arm"] == "A").unwrap();
    assert_eq!(
        seen["telemetry"]["foreign"],
        serde_json::json!([]),
        "the measured process is no foreigner"
    );
    assert_eq!(seen["telemetry"]["missing"]["foreign"], Value::Null);
}

#[test]
fn before_the_session_it_makes_the_host_unfit() {
    let machine = Invented::new();
    tree_change(&machine);
    machine.program("a.sh", "");
    machine.program("b.sh", "");
    let done = machine.perf(&[]).exits(2).says("P-KFDPROC: process 3001 (trainer) holds 1.0 GiB");
    let record = done.says("Nothing was measured").record();
    assert_eq!(
        (record["judgement"]["outcome"].as_str(), samples(&record).len()),
        (Some("error"), 0)
    );
    let findings = record["host"]["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == "P-KFDPROC").unwrap();
    assert_eq!(found["level"], "fail");
    assert_eq!(machine.sandbox.ledger().len(), 1, "it is recorded");
    assert_eq!(machine.sandbox.sessions(), Vec::<String>::new(), "and no session to go on with");
    // Where GPUs do not matter, nobody looks.
    let record = machine.perf(&["--telemetry", "off"]).exits(0).record();
    assert_eq!(
        (&record["plan"]["telemetry"], &samples(&record)[0]["telemetry"]),
        (&Value::Null, &Value::Null)
    );
}

fn tree_change(machine: &Invented) {
    for (path, text) in [
        ("proc/3001/comm".to_owned(), "trainer\n"),
        (format!("sys/class/kfd/kfd/proc/3001/vram_{GPU}"), "1073741824\n"),
    ] {
        fs::create_dir_all(machine.file(&path).parent().unwrap()).unwrap();
        fs::write(machine.file(&path), text).unwrap();
    }
}

#[test]
fn a_cap_that_changes_voids_the_block_and_is_a_finding() {
    let machine = Invented::new();
    machine.program("a.sh", "");
    machine.program(
        "b.sh",
        "runs=x$(cat runs 2>/dev/null); echo $runs >runs; [ $runs != xx ] || echo 500000000 >$card/hwmon/hwmon12/power1_cap",
    );
    let record = machine.perf(&[]).exits(0).record();
    let void = samples(&record).iter().find(|sample| !sample["void"].is_null()).unwrap();
    assert_eq!(void["void"]["check"], "cap_or_level_changed");
    assert_eq!(
        void["void"]["why"],
        "cap_or_level_changed: 0000:1b:00.0: the power cap was 750 W and is 500 W"
    );
    let findings = record["host"]["findings"].as_array().unwrap();
    let told: Vec<&Value> = findings.iter().filter(|finding| finding["check"] == "C-PCAP").collect();
    let [told] = told.as_slice() else {
        panic!("one change, one finding: {told:?}")
    };
    let saw = told["saw"].as_str().unwrap();
    assert!(
        saw.contains("after sample 3: ") && saw.contains("500 W, the default is 750 W; before it: 750 W"),
        "{saw}"
    );
    assert_eq!(told["level"], "fail");
    assert_eq!(
        voids(&record).iter().filter(|run| run.ends_with('!')).count(),
        1,
        "what stays as it is now is no further change"
    );
}

#[test]
fn messages_and_refusals_of_a_reset_void() {
    let machine = Invented::new();
    machine.program("a.sh", "");
    machine.program(
        "b.sh",
        "runs=x$(cat runs 2>/dev/null); echo $runs >runs; [ $runs != xx ] || \
         echo '[ 9000.0] amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!' >>$host/cmd/dmesg/stdout",
    );
    fs::write(machine.file("cmd/dmesg/stdout"), "[ 9.0] amdgpu: GPU reset begin!\n").unwrap();
    let record = machine.perf(&[]).exits(0).record();
    let void = samples(&record)
        .iter()
        .filter(|sample| !sample["void"].is_null())
        .collect::<Vec<_>>();
    assert_eq!(void.len(), 1, "an old message is no new one");
    assert_eq!(void[0]["void"]["check"], "gpu_reset");
    assert_eq!(void[0]["telemetry"]["messages"][0], "amdgpu 0000:1b:00.0: amdgpu: GPU reset begin!");
}

#[test]
fn in_a_namespace_of_its_own_nobody_sees_who_else() {
    let machine = Invented::new();
    fs::remove_file(machine.file("proc/self/ns/pid")).unwrap();
    symlink("pid:[4026539999]", machine.file("proc/self/ns/pid")).unwrap();
    machine.program("a.sh", "");
    machine.program("b.sh", "");
    let record = machine.perf(&[]).exits(0).record();
    assert!(
        samples(&record)[0]["telemetry"]["missing"]["foreign"]
            .as_str()
            .unwrap()
            .contains("outside of this container")
    );
    let because = record["judgement"]["disposition_because"].to_string();
    assert!(because.contains("nobody could see who else used the GPU"), "{because}");
}

#[test]
fn where_the_processes_of_others_are_hidden_nobody_sees_them() {
    let machine = Invented::new();
    fs::remove_file(machine.file("proc/1/stat")).unwrap();
    machine.program("a.sh", "");
    machine.program("b.sh", FOREIGN);
    let record = machine.perf(&[]).exits(0).record();
    assert!(
        samples(&record)[0]["telemetry"]["missing"]["foreign"]
            .as_str()
            .unwrap()
            .contains("/proc/1/stat: absent")
    );
}

#[test]
fn a_device_without_a_table_is_read_from_single_files() {
    let machine = Invented::new();
    for card in ["card3", "card4"] {
        let folder = format!("sys/class/drm/{card}/device");
        fs::remove_file(machine.file(&format!("{folder}/gpu_metrics"))).unwrap();
    }
    machine.program("a.sh", "sleep 0.1");
    machine.program("b.sh", "sleep 0.1");
    let record = machine.perf(&[]).exits(0).record();
    let device = &samples(&record)[2]["telemetry"]["devices"][0];
    assert_eq!(
        (&device["source"], &device["power_w"]["mean"]),
        (&"hwmon and pp_dpm files".into(), &131.0.into())
    );
    assert_eq!(
        (&device["gfxclk_mhz"]["max"], &device["uclk_mhz"]["max"]),
        (&132.0.into(), &900.0.into())
    );
    assert_eq!((&device["hotspot_c"]["max"], &device["mem_c"]["max"]), (&41.0.into(), &36.0.into()));
    assert_eq!(
        (&device["energy"]["method"], device["counters_trusted"].as_bool()),
        (&"power_integral".into(), Some(false))
    );
    assert!(
        device["missing"]["throttled_pct"].as_str().unwrap().contains("does not say"),
        "{device}"
    );
}

#[test]
fn a_declared_gate_says_what_voids_and_a_machine_without_a_gpu_what_it_can() {
    let gate = format!("{GATE}\n[telemetry]\nvoid = [\"host_contention\"]\nlimits = {{ host_wait_pct = 101, host_load_pct = 1000000 }}\n");
    let project = Project::with(&gate);
    project.sandbox.script("tool.sh", "echo ms=100 # no slower");
    let bare = project.sandbox.path("bare");
    fs::create_dir_all(bare.join("proc/pressure")).unwrap();
    let perf = |more: &[&str]| {
        project
            .perf(&[&["--host", bare.to_str().unwrap()], more].concat())
            .exits(0)
            .record()
    };
    let record = perf(&[]);
    let seen = &samples(&record)[0]["telemetry"];
    assert_eq!(seen["devices"], serde_json::json!([]));
    assert!(
        seen["missing"]["cpu_wait_pct"]
            .as_str()
            .unwrap()
            .contains("proc/pressure/cpu: absent"),
        "{seen}"
    );
    assert_eq!(
        record["plan"]["telemetry"]["void"],
        serde_json::json!(["contention", "host_contention"])
    );
    fs::write(bare.join("proc/pressure/cpu"), "some avg10=0.00 avg60=0.10 avg300=0.05 total=1\n").unwrap();
    assert_eq!(samples(&perf(&[]))[0]["telemetry"]["cpu_wait_pct"], 0.0);
    // Without the section nothing is read of such a machine.
    project.write("gates/perf.toml", GATE);
    project.commit("without");
    project.sandbox.script("tool.sh", "echo ms=100 # still no slower");
    let record = perf(&[]);
    assert_eq!(
        (&samples(&record)[0]["telemetry"], &record["plan"]["telemetry"]),
        (&Value::Null, &Value::Null)
    );
    assert!(!banners(&record).contains("telemetry"));
}
