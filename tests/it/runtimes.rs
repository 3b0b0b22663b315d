//! The GPU helpers for real: OpenCL on whatever device there is (PoCL computes on the processor), HIP as far as a machine without a GPU goes,
//! and that `gate` needs neither.

use std::path::Path;
use std::process::Command;

use gate::model::gpu_helper::{Document, State};
use serde_json::Value;

use crate::sandbox::{Done, Sandbox, json, program, samples};
use crate::sources::root;

/// The program of a feature, where the tests were built with it.
fn built(file: Option<&'static str>, feature: &str) -> Option<&'static Path> {
    if file.is_none() {
        let strict = std::env::var("GATE_TEST_STRICT").is_ok_and(|set| set == "1");
        assert!(!strict, "not built with --features {feature}");
        println!("skipped: not built with --features {feature}");
    }
    file.map(Path::new)
}

fn opencl() -> Option<&'static Path> {
    built(option_env!("CARGO_BIN_EXE_gate-ocl").filter(|_| cfg!(feature = "opencl")), "opencl")
}

fn hip() -> Option<&'static Path> {
    built(option_env!("CARGO_BIN_EXE_gate-hip").filter(|_| cfg!(feature = "hip")), "hip")
}

/// Runs a helper to its end.
fn ask(sandbox: &Sandbox, helper: &Path, words: &[&str], env: &[(&str, &str)]) -> Done {
    let mut command = Command::new(helper);
    sandbox.furnish(&mut command);
    command.args(words).envs(env.iter().copied());
    sandbox.start(command).wait()
}

/// The one document that it printed.
fn document(done: &Done) -> Document {
    assert_eq!(done.out.lines().count(), 1, "{}", done.out);
    Document::parse(&done.out).unwrap_or_else(|why| panic!("{why}: {}", done.out))
}

#[test]
fn opencl_devices_name_themselves() {
    let Some(helper) = opencl() else { return };
    let found = document(&ask(&Sandbox::new(), helper, &["info"], &[]).exits(0)).found;
    let devices = found["devices"].as_array().unwrap();
    assert!(!devices.is_empty());
    for device in devices {
        for field in ["platform", "name", "vendor", "driver", "type"] {
            assert!(device[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {device}");
        }
        assert!(
            device["compute_units"].as_u64() > Some(0) && device["memory_bytes"].as_u64() > Some(0),
            "{device}"
        );
    }
}

#[test]
fn the_known_answer_is_the_hosts_bit_for_bit() {
    let Some(helper) = opencl() else { return };
    let found = document(&ask(&Sandbox::new(), helper, &["known-answer"], &[]).exits(0)).found;
    // The same numbers once more, by the description of the kernel: 64 rounds of shifts by 13, 7 and 17.
    let answer = |index: u64| {
        (0..64).fold(index.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1), |x, _| {
            let x = x ^ (x << 13);
            let x = x ^ (x >> 7);
            x ^ (x << 17)
        })
    };
    let xor = (0..found["numbers"].as_u64().unwrap()).fold(0, |all, index| all ^ answer(index));
    assert_eq!(found["numbers"], 1 << 20);
    assert_eq!(found["xor"], format!("{xor:016x}"));
}

#[test]
fn bandwidth_and_warm_up_are_measured() {
    let Some(helper) = opencl() else { return };
    let sandbox = Sandbox::new();
    let found = document(&ask(&sandbox, helper, &["bandwidth", "--mib", "8"], &[]).exits(0)).found;
    let rate = |name: &str| found[name].as_f64().unwrap();
    assert_eq!(found["array_bytes"], 8 << 20);
    assert!(
        0.0 < rate("triad_min_gb_s") && rate("triad_min_gb_s") <= rate("triad_gb_s"),
        "{found:?}"
    );
    assert!(rate("triad_gb_s") <= rate("triad_max_gb_s"), "{found:?}");
    let found = document(&ask(&sandbox, helper, &["warmup", "--seconds", "1"], &[]).exits(0)).found;
    assert!(
        found["wall_s"].as_f64() >= Some(1.0) && found["launches"].as_u64() > Some(0),
        "{found:?}"
    );
    assert!(found["last_gflop_s"].as_f64() > Some(0.0), "{found:?}");
}

#[test]
fn an_opencl_without_platform_or_device_and_a_call_that_hangs_say_so() {
    let Some(helper) = opencl() else { return };
    let sandbox = Sandbox::new();
    let nowhere = [("OCL_ICD_VENDORS", "/nonexistent")];
    for words in [&["info"][..], &["known-answer"], &["warmup", "--seconds", "1"], &["bandwidth"]] {
        let document = document(&ask(&sandbox, helper, words, &nowhere).exits(3));
        assert_eq!(
            (document.state, document.command.as_str()),
            (State::NoPlatform, words[0]),
            "{}",
            document.why
        );
    }
    let fewer = document(&ask(&sandbox, helper, &["info", "--device", "1000"], &[]).exits(3));
    assert_eq!((fewer.state, fewer.found.get("devices")), (State::NoDevice, None));
    let late = document(&ask(&sandbox, helper, &["warmup", "--seconds", "60", "--limit", "1"], &[]).exits(2));
    assert_eq!((late.state, late.why.as_str()), (State::Hung, "no end within 1 s"));
    for words in [
        &["warmup", "--seconds", "0"][..],
        &["warmup"],
        &["warmup", "--seconds", "601"],
        &["sing"],
    ] {
        assert_eq!(ask(&sandbox, helper, words, &[]).exits(2).out, "", "{words:?}");
    }
}

#[test]
fn hip_without_a_device_says_so() {
    let Some(helper) = hip() else { return };
    if Path::new("/dev/kfd").exists() {
        println!("skipped: this machine has a compute device; scripts/device-check tells of it");
        return;
    }
    for words in [&["info"][..], &["warmup", "--seconds", "1"], &["bandwidth"]] {
        let document = document(&ask(&Sandbox::new(), helper, words, &[]).exits(3));
        assert_eq!(
            (document.state, document.command.as_str()),
            (State::NoDevice, words[0]),
            "{}",
            document.why
        );
        assert!(document.why.contains("hipErrorNoDevice (100)"), "{}", document.why);
    }
}

/// The libraries that a program's file asks the loader for.
fn needed(file: &str) -> Vec<String> {
    let done = Command::new("readelf").args(["-d", file]).output().unwrap();
    let out = String::from_utf8(done.stdout).unwrap();
    let lines = out.lines().filter(|line| line.contains("(NEEDED)"));
    lines
        .filter_map(|line| Some(line.split_once('[')?.1.trim_end_matches(']').to_owned()))
        .collect()
}

#[test]
fn gate_needs_no_gpu_runtime_and_each_helper_its_own() {
    let Some(_) = program("readelf") else { return };
    let of = |file: &str, library: &str| needed(file).iter().filter(|name| name.starts_with(library)).count();
    let (opencl_library, hip_library) = ("libOpenCL.so", "libamdhip64.so");
    let gate = env!("CARGO_BIN_EXE_gate");
    assert!(needed(gate).iter().any(|name| name.starts_with("libc.so")), "{:?}", needed(gate));
    assert_eq!((of(gate, opencl_library), of(gate, hip_library)), (0, 0));
    let own = |helper: Option<&Path>, library: &str, other: &str| {
        let file = helper.map(|file| file.to_str().unwrap());
        assert!(file.is_none_or(|file| (of(file, library), of(file, other)) == (1, 0)), "{file:?}");
    };
    own(opencl(), opencl_library, hip_library);
    own(hip(), hip_library, opencl_library);
}

#[test]
fn the_declared_bandwidth_gate_runs() {
    let Some(helper) = opencl() else { return };
    let sandbox = Sandbox::new();
    let gate = root().join("gates/opencl-bandwidth.toml");
    // Fewer and smaller runs: what is looked at is that they are measured and judged.
    let text = std::fs::read_to_string(gate).unwrap();
    let quick = text
        .replace("runs        = 8", "runs        = 2")
        .replace("\"bandwidth\"]", "\"bandwidth\", \"--mib\", \"16\"]");
    assert!(quick.contains("--mib") && quick.contains("= 2\n"), "{quick}");
    std::fs::create_dir_all(sandbox.path("gates")).unwrap();
    sandbox.write("gates/opencl-bandwidth.toml", quick);
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        sandbox.furnish(&mut command);
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(words);
        assert_eq!(sandbox.start(command).wait().code, Some(0), "git {words:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "a gate"]);
    let mut path = vec![helper.parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let perf = |gate: &Sandbox| {
        let words = ["perf", "--gate", "gates/opencl-bandwidth.toml", "--no-base", "--format", "json"];
        let mut command = gate.command(&words);
        command.env("PATH", std::env::join_paths(&path).unwrap());
        gate.start(command).wait()
    };
    let record: Value = json(&perf(&sandbox).exits(0).out);
    let bandwidths = samples(&record).iter().map(|sample| sample["values"]["bandwidth"].as_f64());
    assert!(
        bandwidths.clone().all(|gb_s| gb_s > Some(1.0)),
        "{:?}",
        bandwidths.collect::<Vec<_>>()
    );
    assert_eq!(samples(&record).len(), 3);
}

#[test]
fn the_script_for_a_real_device_says_where_there_is_none() {
    let Some(helper) = hip() else { return };
    if Path::new("/dev/kfd").exists() {
        println!("skipped: this machine has a compute device; run scripts/device-check by hand");
        return;
    }
    let sandbox = Sandbox::new();
    let mut command = Command::new(root().join("scripts/device-check"));
    sandbox.furnish(&mut command);
    command
        .arg("--bin")
        .arg(helper.parent().unwrap())
        .arg("--out")
        .arg(sandbox.path("out"));
    let done = sandbox.start(command).wait().exits(3);
    assert!(
        done.out.contains("hipErrorNoDevice") && done.out.contains("no device: HIP sees none"),
        "{}",
        done.out
    );
    assert!(!done.out.contains("ok ") && !done.out.contains("WRONG"), "{}", done.out);
}
