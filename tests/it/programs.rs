//! What programs say of the machine: GPU helpers and AMD's own tools, each with its answer or the reason why there is none.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use gate::edge::host::{ask_tools, machine, open};
use gate::model::host::smi::{Told, read};
use serde_json::{Value, json};

use crate::gpu_metrics::shared_hosts;
use crate::sandbox::Sandbox;
use crate::sources::root;

/// A place where `gate` stands alone, and where these programs, and those of the system, are on the `PATH`.
fn place(programs: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("alone")).unwrap();
    // No link: one more name would be a change to the program that other tests measure.
    fs::copy(env!("CARGO_BIN_EXE_gate"), sandbox.path("alone/gate")).unwrap();
    stand_in(&sandbox, programs);
    let path = format!("{}:/usr/bin:/bin", sandbox.path("").display());
    sandbox.with_env("PATH", &path)
}

/// Puts these programs, and no others, on the `PATH` of a place.
fn stand_in(sandbox: &Sandbox, programs: &[(&str, &str)]) {
    for name in ["gate-hip", "gate-ocl", "amd-smi", "rocm-smi"] {
        let _absent = fs::remove_file(sandbox.path(name));
    }
    for (name, body) in programs {
        sandbox.script(name, body);
    }
}

fn gate(sandbox: &Sandbox, words: &[&str]) -> crate::sandbox::Done {
    let mut command = std::process::Command::new(sandbox.path("alone/gate"));
    sandbox.furnish(&mut command);
    command.args(words);
    sandbox.start(command).wait()
}

fn identity(sandbox: &Sandbox, more: &[&str]) -> Value {
    let done = gate(sandbox, &[&["identity", "--format", "json"], more].concat()).exits(0);
    serde_json::from_str(&done.out).unwrap()
}

/// Why a field has no value.
fn why(identity: &Value, field: &str) -> String {
    let missing = identity["missing"].as_array().unwrap().iter();
    let found = missing
        .filter(|unknown| unknown["field"] == field)
        .map(|unknown| unknown["why"].as_str().unwrap());
    found.collect::<Vec<&str>>().join(";")
}

fn helper_says(state: &str, more: &str) -> String {
    format!(r#"printf '%s\n' '{{"kind": "gate-helper/1", "helper": "gate-ocl", "command": "info", "state": "{state}"{more}}}'"#)
}

fn data(name: &str) -> String {
    fs::read_to_string(root().join("tests/data/host/smi").join(name)).unwrap()
}

fn file(name: &str) -> String {
    root().join("tests/data/host/smi").join(name).display().to_string()
}

#[test]
fn an_identity_tells_of_the_runner_its_group_and_what_is_kept_compiled() {
    let sandbox = place(&[]).with_env("RUNNER_NAME", "mi300x-0");
    let before = identity(&sandbox, &[]);
    assert_eq!(before["fields"]["runner.name"], "mi300x-0");
    assert!(before["fields"]["host.cgroup"].is_string(), "{before}");
    assert!(before["fields"].get("caches").is_none(), "there is none yet");
    let kernels = sandbox.path("../home/.triton/cache/0a");
    fs::create_dir_all(&kernels).unwrap();
    fs::write(kernels.join("k.hsaco"), "1234").unwrap();
    let tuned = sandbox.write("tuned.csv", "x,y\n");
    let sandbox = sandbox.with_env("PYTORCH_TUNABLEOP_FILENAME", tuned.to_str().unwrap());
    let caches = identity(&sandbox, &[])["fields"]["caches"].clone();
    assert_eq!(
        (&caches[".triton/cache"]["files"], &caches[".triton/cache"]["bytes"]),
        (&1.into(), &4.into()),
        "{caches}"
    );
    assert_eq!(caches["PYTORCH_TUNABLEOP_FILENAME"]["bytes"], 4);
    fs::write(kernels.join("l.hsaco"), "").unwrap();
    let after = identity(&sandbox, &[])["fields"]["caches"].clone();
    assert_ne!(
        after[".triton/cache"]["digest"], caches[".triton/cache"]["digest"],
        "a cache that is warm is another state"
    );
}

#[test]
fn an_identity_tells_of_each_helper_why_it_says_nothing() {
    let sandbox = place(&[]);
    let told = |programs: &[(&str, &str)]| {
        stand_in(&sandbox, programs);
        identity(&sandbox, &[])
    };
    let absent = told(&[]);
    for helper in ["helper.gate-hip", "helper.gate-ocl"] {
        assert_eq!(why(&absent, helper), "absent: neither beside gate nor in a folder of PATH");
    }
    assert!(
        why(&absent, "smi").is_empty() && absent["fields"].get("smi.tool").is_none(),
        "nobody asks for tools without a GPU"
    );
    for (body, reason) in [
        (helper_says("no_platform", r#", "why": "none""#), "no platform: none"),
        (helper_says("no_device", r#", "why": "none""#), "no device: none"),
        ("kill -ABRT $$".to_owned(), "ended by a signal: number 6"),
        (
            "echo 'x: error while loading shared libraries: libOpenCL.so.1: cannot open' >&2; exit 127".to_owned(),
            "library missing: libOpenCL.so.1",
        ),
        ("echo hello".to_owned(), "not understood: no JSON object"),
    ] {
        let reason_told = why(&told(&[("gate-ocl", &body)]), "helper.gate-ocl");
        assert!(reason_told.starts_with(reason), "{body}: {reason_told}");
    }
    let found = told(&[(
        "gate-ocl",
        &helper_says("ok", r#", "devices": [{"name": "X", "memory_free_bytes": 7}]"#),
    )]);
    assert_eq!(
        found["fields"]["helper.gate-ocl"],
        json!({ "devices": [{ "name": "X" }] }),
        "what moves is no part of it"
    );
}

#[test]
fn a_helper_beside_gate_comes_before_one_on_the_path() {
    let sandbox = place(&[("gate-ocl", &helper_says("ok", r#", "devices": ["path"]"#))]);
    sandbox.script("alone/gate-ocl", &helper_says("ok", r#", "devices": ["beside"]"#));
    assert_eq!(identity(&sandbox, &[])["fields"]["helper.gate-ocl"]["devices"], json!(["beside"]));
}

/// O-35, at the level of the tools' output: another key a version, `N/A`, a warning before the document or in its place.
#[test]
fn what_tools_print_in_each_version_is_read_or_has_a_reason() {
    let whole = [
        "static_list.json",
        "static_gpu_data.json",
        "banner.txt",
        "doubled.txt",
        "trailing.txt",
        "rocm_smi.txt",
    ];
    for name in whole {
        let devices = read(&data(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        let first = Told {
            bdf: Some("0000:1b:00.0".to_owned()),
            product: Some("Invented 900".to_owned()),
            vbios: Some("001.002".to_owned()),
            vram_vendor: Some("hynix".to_owned()),
        };
        assert_eq!(devices[0], first, "{name}");
        assert_eq!((devices.len(), devices[1].vbios.as_deref()), (2, None), "{name}: N/A is no version");
    }
    for (name, reason) in [
        ("empty.txt", "printed nothing"),
        ("banner_only.txt", "no JSON document"),
        ("cut.json", "no JSON document"),
        ("rocm_nothing.txt", "no JSON document"),
        ("metric_partition.json", "names no device"),
        ("no_processes.json", "names no device"),
        ("rocm_power.json", "names no device"),
    ] {
        let told = read(&data(name)).unwrap_err();
        assert!(told.contains(reason), "{name}: {told}");
    }
    let every = fs::read_dir(root().join("tests/data/host/smi")).unwrap().count();
    assert_eq!(every, whole.len() + 7, "a file that no test reads");
}

#[test]
fn a_tool_is_asked_within_its_limit_and_the_older_one_where_it_says_nothing() {
    let sandbox = place(&[]);
    let told = |programs: &[(&str, &str)]| {
        stand_in(&sandbox, programs);
        identity(&sandbox, &[])
    };
    let newer = told(&[("amd-smi", &format!("cat '{}'", file("banner.txt")))]);
    assert_eq!(
        (&newer["fields"]["smi.tool"], &newer["fields"]["smi.vbios"]),
        (&json!("amd-smi"), &json!(["001.002", null]))
    );
    let older = told(&[("amd-smi", "exit 3"), ("rocm-smi", &format!("cat '{}'", file("rocm_smi.txt")))]);
    assert_eq!(older["fields"]["smi.tool"], "rocm-smi");
    let failed = told(&[("amd-smi", "echo 'no such device' >&2; exit 3")]);
    assert_eq!(why(&failed, "smi"), "amd-smi: it ended with exit code 3: no such device");
    let start = Instant::now();
    let hangs = told(&[("amd-smi", "exec sleep 600")]);
    assert_eq!(why(&hangs, "smi"), "amd-smi: it was still running after 10 s and was stopped");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn what_programs_said_is_captured_without_serial_numbers_and_replayed() {
    let helper = helper_says("ok", r#", "devices": [{"name": "X"}]"#);
    let sandbox = place(&[("gate-ocl", &helper), ("amd-smi", &format!("cat '{}'", file("static_list.json")))]);
    let _written = gate(&sandbox, &["host", "capture", "--out", "here.json"]).exits(0);
    let text = sandbox.text("here.json");
    assert!(
        text.contains("Invented 900") && !text.to_lowercase().contains("abcdef01234567"),
        "{text}"
    );
    let parts = |identity: Value| (identity["fields"].clone(), identity["missing"].clone());
    assert_eq!(parts(identity(&sandbox, &[])), parts(identity(&sandbox, &["--host", "here.json"])));
}

#[test]
fn a_tool_fills_in_what_sysfs_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let mut document: Value = serde_json::from_slice(&fs::read(crate::host::snapshot("healthy")).unwrap()).unwrap();
    let files = document["files"].as_object_mut().unwrap();
    let gone = |path: &str| path.ends_with("vbios_version") || path.ends_with("mem_info_vram_vendor");
    files.retain(|path, _| !gone(path) || path.contains("card4"));
    files.insert("cmd/amd-smi/stdout".to_owned(), json!({ "t": data("static_gpu_data.json") }));
    let path = folder.path().join("host.json");
    fs::write(&path, document.to_string()).unwrap();
    let source = open(&path).unwrap();
    let mut host = machine(&source);
    assert!(host.cards[0].vbios.is_err());
    ask_tools(&source, &mut host);
    assert_eq!(
        (host.cards[0].vbios.as_deref(), host.cards[0].vram_vendor.as_deref()),
        (Ok("001.002"), Ok("hynix"))
    );
    assert_eq!(
        host.cards[0].product_name().as_deref(),
        Some("AMD Instinct MI300X"),
        "what the id says comes first"
    );
    assert_eq!(host.cards[1].vbios.as_deref(), Ok("113-INVENTED-01"), "sysfs comes first");
}

#[test]
fn what_tools_printed_elsewhere_is_read_or_has_a_reason() {
    let Some(hosts) = shared_hosts() else { return };
    let files = |folder: &str| -> Vec<_> {
        fs::read_dir(hosts.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    };
    let mut seen = 0;
    for path in ["amd-smi", "rocm-smi", "real/amdsmi_docs", "real/mi300x_cli"]
        .into_iter()
        .flat_map(files)
    {
        let told = read(&fs::read_to_string(&path).unwrap());
        let is_static = path.file_name() == Some(Path::new("static_rocm70.json").as_os_str());
        assert_eq!(told.is_ok(), is_static, "{}: {told:?}", path.display());
        if let Ok(devices) = told {
            assert_eq!(devices[0].product.as_deref(), Some("AMD Instinct MI300X"));
            assert_eq!(devices[0].bdf.as_deref(), Some("0000:26:00.0"));
        }
        seen += 1;
    }
    assert!(seen >= 12, "{seen} files");
}
