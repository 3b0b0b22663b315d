//! The host reader: trees, snapshots, what a device refuses, and that a capture replays as what was captured.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gate::edge::host::{capture, machine, open, read};
use gate::model::host::card::GUEST_MI300X;
use gate::model::host::facts::{described, recorded};
use gate::model::host::machine::Machine;
use gate::model::host::seen::Why;
use serde_json::json;

use crate::gpu_metrics::shared_hosts;
use crate::sandbox::Sandbox;
use crate::sources::root;

pub fn snapshot(name: &str) -> PathBuf {
    root().join("tests/data/host").join(format!("{name}.snapshot.json"))
}

fn of(name: &str) -> Machine {
    machine(&open(&snapshot(name)).unwrap_or_else(|error| panic!("{name}: {error:#}")))
}

#[test]
fn a_healthy_host_is_read_whole() {
    let host = of("healthy");
    let nodes = host.nodes.as_ref().unwrap();
    assert_eq!(
        nodes.iter().map(|node| node.bdf.as_str()).collect::<Vec<_>>(),
        ["0000:1b:00.0", "0000:5e:00.0"]
    );
    assert_eq!((nodes[0].arch.as_str(), nodes[0].cu, nodes[0].xcc), ("gfx942", Some(304), Some(8)));
    assert_eq!(
        host.cards.iter().map(|card| card.name.as_str()).collect::<Vec<_>>(),
        ["card3", "card4"],
        "the console is no GPU"
    );
    let card = &host.cards[0];
    assert_eq!(card.power_w, Ok((131.0, "power1_input")));
    assert_eq!(card.temperatures["junction"].now_c, Ok(41.0), "there is no first sensor");
    assert_eq!(card.last_metrics().unwrap().power_w, Some(131.0));
    assert_eq!(
        (host.cpu.threads.clone(), host.cpu.sockets.clone(), host.driver.is_dkms()),
        (Ok(128), Ok(1), Some(true))
    );
    assert!(host.replayed && host.container.is_none());
    let whole = described(&host);
    assert_eq!(whole.missing, []);
    assert_eq!(whole.fields["gpu.product"], json!(["AMD Instinct MI300X", "AMD Instinct MI300X"]));
    assert_eq!(
        whole.fields["rocm_libraries"],
        json!({"opt/rocm-7.0.1": ["librocblas.so.5.0.70001"]}),
        "links and other libraries are left out"
    );
    assert_eq!(whole.fields["selection.HIP_VISIBLE_DEVICES"], json!(null), "unset is recorded too");
}

#[test]
fn what_a_device_refuses_is_unknown_with_its_reason() {
    let host = of("refusing");
    let card = &host.cards[0];
    assert_eq!(card.busy_pct[0].as_ref().unwrap_err().why, Why::InReset);
    assert_eq!(card.compute_partition.as_ref().unwrap_err().errno.as_deref(), Some("EPERM"));
    assert_eq!(card.sclk.as_ref().unwrap_err().why, Why::Busy);
    assert_eq!(card.uid_hash.as_ref().unwrap_err().why, Why::Permission);
    assert_eq!(card.vbios.as_ref().unwrap_err().why, Why::Absent);
    assert_eq!(card.metrics[0].as_ref().unwrap_err().errno.as_deref(), Some("EIO"));
    assert!(host.cards[1].busy_pct[0].is_ok(), "the other card answers");
    let missing: Vec<String> = described(&host).missing.into_iter().map(|unknown| unknown.field).collect();
    assert_eq!(missing, ["gpu.vbios", "gpu.uid_hash", "partition.compute", "limits.sclk_max_mhz"]);
}

#[test]
fn partitions_are_nodes_of_one_card() {
    let host = of("partitioned");
    assert_eq!((host.nodes.as_ref().unwrap().len(), host.cards.len()), (16, 2));
    assert_eq!(host.nodes_of(&host.cards[1]).count(), 8);
    assert_eq!(of("guest").cards[0].device.as_deref(), Ok(GUEST_MI300X));
}

#[test]
fn a_record_names_product_driver_and_firmware() {
    let facts = recorded(&of("healthy"));
    assert_eq!(facts.gpu["archs"], json!(["gfx942", "gfx942"]));
    assert_eq!(facts.gpu["product"], "AMD Instinct MI300X");
    assert_eq!(
        facts.gpu["driver"],
        json!({"version": "6.14.9", "srcversion": "AAAABBBBCCCCDDDD0000111"})
    );
    assert_eq!(facts.gpu["firmware"]["smc"], "0x00556900");
    assert_eq!(facts.gpu["rocm"], json!({"opt/rocm-7.0.1": "7.0.1-38"}));
    assert_eq!(facts.missing, []);
    let in_tree = recorded(&of("in_tree_driver"));
    assert_eq!(in_tree.gpu["driver"]["version"], "in the kernel's tree");
    let none = tempfile::tempdir().unwrap();
    let bare = read(none.path());
    assert_eq!(bare.gpu, gate::model::identity::none());
    assert!(
        bare.missing.iter().any(|unknown| unknown.field == "machine.kernel"),
        "{:?}",
        bare.missing
    );
}

#[test]
fn a_capture_replays_as_what_was_captured() {
    for name in ["healthy", "refusing", "contended", "hidden_devices", "partitioned"] {
        let source = open(&snapshot(name)).unwrap();
        let text = capture(&source).unwrap();
        assert!(
            !text.contains("0000000000000003") && !text.contains("hive_id"),
            "{name}: a serial number was captured"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("again.json");
        fs::write(&path, text).unwrap();
        let (first, again) = (of(name), machine(&open(&path).unwrap()));
        assert_eq!(described(&first), described(&again), "{name}");
        assert_eq!(format!("{:?}", first.processes), format!("{:?}", again.processes), "{name}");
        assert_eq!(format!("{:?}", first.cards), format!("{:?}", again.cards), "{name}");
    }
}

#[test]
fn a_folder_of_files_reads_like_its_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&fs::read(snapshot("healthy")).unwrap()).unwrap();
    for (path, entry) in document["files"].as_object().unwrap() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match entry["t"].as_str() {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::copy(root().join("tests/data/host/metrics/v1_9_idle.bin"), &path)
                .map(drop)
                .unwrap(),
        }
    }
    fs::remove_file(folder.path().join("proc/self/ns/pid")).unwrap();
    std::os::unix::fs::symlink("pid:[4026531836]", folder.path().join("proc/self/ns/pid")).unwrap();
    let read = machine(&open(folder.path()).unwrap());
    assert_eq!(described(&read), described(&of("healthy")));
    assert_eq!(format!("{:?}", read.cards), format!("{:?}", of("healthy").cards));
}

#[test]
fn a_snapshot_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |name: &str, text: &str| {
        let path = folder.path().join(format!("{name}.snapshot.json"));
        fs::write(&path, text).unwrap();
        format!("{:#}", open(&path).unwrap_err())
    };
    assert!(wrong("a", "{}").contains("is no snapshot of a host"));
    let of = |kind: &str, base: &str| format!(r#"{{"kind": "{kind}", "host": "x", "base": {base}, "files": {{}}}}"#);
    assert!(wrong("b", &of("gate-host-snapshot/2", "null")).contains("this version reads"));
    assert!(wrong("c", &of("gate-host-snapshot/1", "\"../x\"")).contains("no name of a snapshot"));
    assert!(wrong("d", &of("gate-host-snapshot/1", "\"d\"")).contains("more than 4 others"));
}

#[test]
fn identity_is_printed_and_compared() {
    let sandbox = Sandbox::new();
    let path = |name: &str| snapshot(name).to_str().unwrap().to_owned();
    let json = sandbox.gate(&["identity", "--host", &path("healthy"), "--format", "json"]).exits(0);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&document["arch"], &document["replayed"]), (&json!("gfx942"), &json!(true)));
    let words = sandbox.gate(&["identity", "--host", &path("refusing")]).exits(0);
    assert!(words.out.contains("the device is in reset (EPERM)"), "{}", words.out);
    let diff = |a: &str, b: &str, more: &[&str], code: i32| sandbox.gate(&[&["identity", "diff", a, b], more].concat()).exits(code).out;
    let (healthy, cap) = (path("healthy"), path("leftover_cap"));
    assert!(diff(&healthy, &healthy, &[], 0).contains("nothing differs"));
    assert!(diff(&healthy, &cap, &[], 1).contains("limits.power_cap_w: 2 x 750.0 -> 2 x 450.0"));
    assert!(diff(&healthy, &cap, &["--one-lever", "limits.power_cap_w"], 0).contains("only limits.power_cap_w differs"));
    assert!(diff(&healthy, &path("leftover_clock"), &["--one-lever", "limits.perf_level"], 1).contains("limits.sclk_max_mhz"));
    sandbox.write("identity.json", &json.out);
    assert!(diff("identity.json", &healthy, &[], 0).contains("nothing differs"));
    sandbox.write("nothing.json", "{}");
    sandbox
        .gate(&["identity", "diff", "nothing.json", &healthy])
        .exits(2)
        .says("holds no identity");
}

#[test]
fn this_machine_is_captured_and_replayed() {
    let sandbox = Sandbox::new();
    sandbox.gate(&["host", "capture", "--out", "here.json"]).exits(0);
    sandbox.gate(&["host", "capture", "--out", "no/such/folder.json"]).exits(2);
    let fields = |more: &[&str]| {
        let done = sandbox.gate(&[&["identity", "--format", "json"], more].concat()).exits(0);
        let document: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        (document["fields"].clone(), document["missing"].clone())
    };
    assert_eq!(fields(&[]), fields(&["--host", "here.json"]));
}

/// Puts a captured card and topology, which stand in folders of their own, where the kernel has them.
fn tree(part: &Path, folder: &Path) {
    let link = |from: &Path, to: PathBuf| {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(fs::canonicalize(from).unwrap(), to).unwrap();
    };
    for entry in fs::read_dir(part).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap();
        match name {
            "kfd" => link(&entry, folder.join("sys/class/kfd/kfd")),
            _ => link(&entry, folder.join("sys/class/drm").join(name)),
        }
    }
}

/// Whatever a machine's files lack: identity names this architecture, and preflight answers under every profile.
fn answers(host: &Path, arch: &str) {
    let sandbox = Sandbox::new();
    let path = host.to_str().unwrap();
    let shown = sandbox.gate(&["identity", "--host", path]).exits(0);
    assert!(shown.out.starts_with(&format!("machine: {arch}")), "{path}: {}", shown.out);
    assert!(shown.out.contains("not known:"), "{path}: {}", shown.out);
    for profile in ["plain", "gfx942", "gfx1151"] {
        let done = sandbox.gate(&["preflight", "--host", path, "--profile", profile]);
        assert!(
            matches!(done.code, Some(0 | 1 | 3)),
            "{path}, {profile}: {:?} {}",
            done.code,
            done.err
        );
    }
}

#[test]
fn captured_trees_of_other_parts_are_read() {
    let Some(hosts) = shared_hosts() else { return };
    let mut read = 0;
    for part in fs::read_dir(hosts.join("real/lact")).unwrap().map(|entry| entry.unwrap().path()) {
        let folder = tempfile::tempdir().unwrap();
        tree(&part, folder.path());
        let host = machine(&open(folder.path()).unwrap());
        let name = part.file_name().unwrap().to_str().unwrap();
        let arch = host.nodes.as_deref().unwrap_or_default().first().map(|node| node.arch.as_str());
        match name {
            "phoenix" => assert_eq!(arch, Some("gfx1103")),
            "strixpoint" => assert_eq!(arch, Some("gfx1150")),
            _ => assert_eq!(arch, None, "{name} has no topology"),
        }
        for card in &host.cards {
            assert!(card.bdf.is_ok(), "{name}");
            read += 1;
        }
        answers(folder.path(), arch.unwrap_or("cpu-"));
    }
    assert!(read >= 4, "{read} cards");
}

#[test]
fn trees_of_other_parts_are_read() {
    for (name, arch) in [
        ("gfx1201", "gfx1201"),
        ("gfx90a", "gfx90a"),
        ("gfx1151", "gfx1151"),
        ("gfx1103", "gfx1103"),
        ("without_topology", "cpu-"),
    ] {
        let name = format!("part_{name}");
        let host = of(&name);
        let card = &host.cards[0];
        assert_eq!(
            (card.name.as_str(), card.power_w.clone()),
            ("card1", Ok((12.0, "power1_average"))),
            "{name}"
        );
        assert_eq!(card.temperatures["edge"].now_c, Ok(43.0), "{name}");
        assert_eq!(card.metrics[0].is_ok(), name != "part_gfx1103", "2.x is known and not read");
        answers(&snapshot(&name), arch);
    }
}

#[test]
fn sixteen_nodes_are_read_fast() {
    let source = open(&snapshot("partitioned")).unwrap();
    let start = Instant::now();
    let rounds = 5;
    for _ in 0..rounds {
        assert_eq!(machine(&source).cards.len(), 2);
    }
    let each_ms = start.elapsed().as_secs_f64() * 1e3 / f64::from(rounds);
    // 20 ms are wanted of an optimised program; this one is not, and shares its processors.
    assert!(each_ms < 400.0, "{each_ms} ms");
}
