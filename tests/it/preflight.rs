//! Preflight: every check listed and with its cases, every expected host, profiles, and what the command answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use gate::check::{ALL, preflight};
use gate::edge::host::{ask_endpoint, machine, observed, open};
use gate::model::host::machine::Machine;
use gate::model::host::profile::Profile;
use gate::model::host::{Finding, Level};
use serde::Deserialize;
use serde_json::Value;

use crate::gpu_metrics::shared_hosts;
use crate::host::snapshot;
use crate::sandbox::Sandbox;
use crate::sources::root;

fn profile(name: &str) -> Profile {
    Profile::parse(&fs::read_to_string(root().join("profiles").join(format!("{name}.toml"))).unwrap()).unwrap()
}

fn stem(id: &str) -> String {
    id.to_lowercase().replace('-', "_")
}

#[test]
fn every_check_is_one_file_one_word_and_one_folder_of_cases() {
    let names = |place: &str, ending: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root().join(place)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter_map(|name| name.strip_suffix(ending).map(str::to_owned))
            .filter(|name| name != "mod")
            .collect()
    };
    let listed: BTreeSet<String> = ALL.iter().map(|check| stem(check.id)).collect();
    assert_eq!(listed.len(), ALL.len(), "an id is listed twice");
    assert_eq!(
        names("src/check", ".rs"),
        listed,
        "the files of src/check and the ids in check::ALL differ"
    );
    assert_eq!(
        names("tests/data/check", ""),
        listed,
        "the folders of cases and the ids in check::ALL differ"
    );
    for check in ALL {
        for text in [check.source, check.rule, check.why, check.hint] {
            assert!(!text.is_empty() && !text.contains('\n'), "{}: {text:?}", check.id);
        }
        assert_eq!(
            check.rule.split(" / ").count(),
            3,
            "{}: pass / warn / fail: {}",
            check.id,
            check.rule
        );
        for cause in check.explained_by {
            assert!(ALL.iter().any(|other| other.id == *cause), "{}: {cause}", check.id);
        }
    }
}

/// One case: what differs from the healthy host (null is absent), other declarations, and the level; `none` where the check does not apply.
#[derive(Deserialize)]
struct Case {
    what: String,
    #[serde(default)]
    files: BTreeMap<String, Value>,
    declared: Option<String>,
    level: String,
}

/// The healthy host with other files.
fn changed(files: &BTreeMap<String, Value>, folder: &Path) -> Machine {
    let mut document: Value = serde_json::from_slice(&fs::read(snapshot("healthy")).unwrap()).unwrap();
    let all = document["files"].as_object_mut().unwrap();
    for (path, value) in files {
        match value {
            Value::Null => assert!(all.remove(path).is_some(), "{path} is not there to be absent"),
            Value::String(text) => drop(all.insert(path.clone(), serde_json::json!({ "t": text }))),
            entry => drop(all.insert(path.clone(), entry.clone())),
        }
    }
    let path = folder.join("host.json");
    fs::write(&path, document.to_string()).unwrap();
    let source = open(&path).unwrap();
    let mut host = machine(&source);
    ask_endpoint(&source, &mut host, "what is kept answers");
    // Ninety thousand seconds after its start, and the job runs for an hour.
    host.job_since_s = host.kernel.uptime_s.as_ref().ok().map(|uptime_s| uptime_s - 3600.0);
    host
}

#[test]
fn every_case_ends_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    for check in ALL {
        let path = root().join("tests/data/check").join(stem(check.id)).join("cases.json");
        let cases: Vec<Case> =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut levels = BTreeSet::new();
        for case in cases {
            let host = changed(&case.files, folder.path());
            let mut declared = profile("gfx942").declared;
            if let Some(text) = &case.declared {
                // A key beside the profile's others; an empty text declares nothing at all.
                let own = Profile::parse(&format!("version = 1\n[declared]\n{text}")).unwrap().declared;
                declared = if text.is_empty() { own } else { merged(declared, &own, text) };
            }
            let sight = (check.look)(&host, &declared);
            let level = sight
                .as_ref()
                .map_or("none".to_owned(), |sight| format!("{:?}", sight.level).to_lowercase());
            assert_eq!(level, case.level, "{}, {}: {sight:?}", check.id, case.what);
            assert!(
                sight.is_none_or(|sight| !sight.saw.is_empty() && !sight.wants.is_empty()),
                "{}, {}",
                check.id,
                case.what
            );
            levels.insert(level);
        }
        assert!(
            levels.contains("pass") && levels.len() > 1,
            "{}: cases that pass and that do not: {levels:?}",
            check.id
        );
    }
}

/// The profile's declarations with those that a case names.
fn merged(
    base: gate::model::host::profile::Declared,
    own: &gate::model::host::profile::Declared,
    text: &str,
) -> gate::model::host::profile::Declared {
    let mut all = base;
    for key in text.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key) {
        match key {
            "cards" => all.cards = own.cards,
            "several_gpus" => all.several_gpus = own.several_gpus,
            "driver_version" => all.driver_version.clone_from(&own.driver_version),
            "driver" => all.driver = own.driver,
            "kernel_min" => all.kernel_min.clone_from(&own.kernel_min),
            "firmware" => all.firmware.clone_from(&own.firmware),
            "vbios" => all.vbios.clone_from(&own.vbios),
            "compute_partition" => all.compute_partition.clone_from(&own.compute_partition),
            "memory_partition" => all.memory_partition.clone_from(&own.memory_partition),
            "perf_level" => all.perf_level.clone_from(&own.perf_level),
            "sclk_max_mhz" => all.sclk_max_mhz = own.sclk_max_mhz,
            "vram_need_bytes" => all.vram_need_bytes = own.vram_need_bytes,
            "memory_need_bytes" => all.memory_need_bytes = own.memory_need_bytes,
            "endpoint" => all.endpoint.clone_from(&own.endpoint),
            "smt" => all.smt = own.smt,
            other => panic!("no case declares {other}"),
        }
    }
    all
}

fn checks_that_do_not_pass(findings: &[Finding]) -> Vec<String> {
    let faults = findings.iter().filter(|finding| finding.level != Level::Pass);
    let mut ids: Vec<String> = faults.map(|finding| finding.check.clone()).collect();
    ids.sort();
    ids
}

fn word(level: Level) -> String {
    format!("{level:?}").to_lowercase()
}

#[test]
fn the_invented_hosts_get_their_verdicts_and_checks() {
    let text = fs::read(root().join("tests/data/host/expected.json")).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(expected.len(), 20);
    let profile = profile("gfx942");
    for (name, wanted) in expected {
        let findings = preflight(&observed(&open(&snapshot(&name)).unwrap()), &profile).unwrap();
        assert_eq!(
            Value::from(word(profile.verdict(&findings))),
            wanted["verdict"],
            "{name}: {findings:?}"
        );
        assert_eq!(Value::from(checks_that_do_not_pass(&findings)), wanted["checks"], "{name}");
    }
}

/// The rows of a table whose first cell is a host: its name, the first word of the verdict, and every id of a check.
fn rows(text: &str) -> Vec<(String, String, Vec<String>)> {
    let is_id = |word: &&str| {
        word.contains('-') && word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '-') && word.as_bytes()[1] == b'-'
    };
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [host, verdict, checks] = cells.as_slice() else { return None };
        let words = checks.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let mut ids: Vec<String> = words.filter(is_id).map(str::to_owned).collect();
        ids.sort();
        let verdict = verdict.split_whitespace().next()?;
        host.starts_with("mi300x").then(|| ((*host).to_owned(), verdict.to_owned(), ids))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn the_published_table_of_hosts_holds() {
    let Some(hosts) = shared_hosts() else { return };
    let table = rows(&fs::read_to_string(hosts.join("EXPECTED.md")).unwrap());
    assert_eq!(table.len(), 20);
    let profile = profile("gfx942");
    for (name, verdict, ids) in table {
        let path = hosts.join("snapshots").join(format!("{name}.snapshot.json"));
        let findings = preflight(&observed(&open(&path).unwrap()), &profile).unwrap();
        assert_eq!(word(profile.verdict(&findings)), verdict, "{name}: {findings:?}");
        assert_eq!(checks_that_do_not_pass(&findings), ids, "{name}");
    }
}

#[test]
fn one_cause_is_one_finding_and_loses_nothing() {
    let host = observed(&open(&snapshot("hot")).unwrap());
    let findings = preflight(&host, &profile("gfx942")).unwrap();
    let hot = findings.iter().find(|finding| finding.check == "T-TEMP").unwrap();
    assert!(hot.saw.contains("with it Q-POWER: ") && hot.saw.contains("598 W"), "{hot:?}");
    // Where the cause is not looked at, the effect speaks for itself.
    let mut without = profile("gfx942");
    without.off.push("T-TEMP".to_owned());
    let findings = preflight(&host, &without).unwrap();
    let power_fails = |findings: &[Finding]| {
        findings
            .iter()
            .any(|finding| finding.check == "Q-POWER" && finding.level == Level::Fail)
    };
    assert!(power_fails(&findings), "{findings:?}");
    let mut softened = profile("gfx942");
    softened.warn.push("T-TEMP".to_owned());
    let findings = preflight(&host, &softened).unwrap();
    assert!(
        power_fails(&findings),
        "a cause that only warns does not hide a fault: {findings:?}"
    );
}

#[test]
fn a_profile_softens_tightens_and_requires() {
    let findings = |name: &str, edit: fn(&mut Profile)| {
        let mut profile = profile("gfx942");
        edit(&mut profile);
        let findings = preflight(&observed(&open(&snapshot(name)).unwrap()), &profile).unwrap();
        profile.verdict(&findings)
    };
    assert_eq!(
        findings("leftover_cap", |profile| profile.warn.push("C-PCAP".to_owned())),
        Level::Warn
    );
    assert_eq!(
        findings("untuned", |profile| profile.fail.push("H-NUMABAL".to_owned())),
        Level::Fail
    );
    assert_eq!(
        findings("leftover_clock", |profile| profile.declared.sclk_max_mhz = Some(1800)),
        Level::Fail
    );
    assert_eq!(findings("refusing", |_| {}), Level::Unknown, "required checks have no answer");
    assert_eq!(
        findings("refusing", |profile| profile.required.clear()),
        Level::Pass,
        "what need not be known is no fault"
    );
    let mut unknown = profile("gfx942");
    unknown.off.push("Q-BUSSY".to_owned());
    let why = preflight(&observed(&open(&snapshot("healthy")).unwrap()), &unknown).unwrap_err();
    assert!(why.contains("unknown check \"Q-BUSSY\""), "{why}");
    for (text, wanted) in [
        ("version = 2", "version 2"),
        ("version = 1\nwarns = []", "unknown field"),
        ("version = 1\n[declared]\npower_idle_w = nan", "a number above 0"),
        ("version = 1\n[declared]\ndriver = \"rpm\"", "unknown variant"),
        ("version =", "TOML parse error"),
    ] {
        let why = Profile::parse(text).unwrap_err();
        assert!(why.contains(wanted), "{text}: {why}");
    }
}

#[test]
fn the_profile_of_the_documentation_is_one() {
    let text = fs::read_to_string(root().join("docs/hardware.md")).unwrap();
    let (_, rest) = text.split_once("```toml\n").unwrap();
    let profile = Profile::parse(rest.split_once("```").unwrap().0).unwrap();
    preflight(&observed(&open(&snapshot("healthy")).unwrap()), &profile).unwrap();
}

#[test]
fn the_command_answers_fit_unfit_and_unknown() {
    let sandbox = Sandbox::new();
    let of = |name: &str, more: &[&str], code: i32| {
        let path = snapshot(name);
        let words = [&["preflight", "--host", path.to_str().unwrap()], more].concat();
        sandbox.gate(&words).exits(code).out
    };
    assert!(
        of("healthy", &[], 0).contains("preflight: fit (profile gfx942, replayed from a snapshot)"),
        "the profile follows the architecture"
    );
    assert!(of("untuned", &[], 0).contains("fit, with warnings"));
    let unfit = of("contended", &[], 1);
    assert!(unfit.contains("P-KFDPROC: process 3001 (trainer) holds 40.0 GiB"), "{unfit}");
    assert!(of("refusing", &[], 3).contains("UNKNOWN  Q-BUSY"));
    of("refusing", &["--require-known"], 1);
    of("was_reset", &[], 0);
    of("was_reset", &["--since", "48h"], 1);
    let host: Value = serde_json::from_str(&of("leftover_cap", &["--format", "json"], 1)).unwrap();
    assert_eq!(host["replayed"], true);
    let cap = host["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["check"] == "C-PCAP")
        .unwrap();
    assert_eq!((&cap["level"], &cap["wants"]), (&"fail".into(), &"the default cap".into()));
    assert!(
        of("contended", &["--devices", "1"], 0).contains("P-MONITOR"),
        "the other card is free"
    );
    of("contended", &["--devices", "1b:00.0"], 1);
    of("contended", &["--devices", "2"], 2);
    sandbox.write("own.toml", "version = 1\nwarn = [\"C-PCAP\"]\n");
    assert!(of("leftover_cap", &["--profile", "own.toml"], 0).contains("profile own.toml"));
    sandbox.write("wrong.toml", "version = 1\noff = [\"X-Y\"]\n");
    of("healthy", &["--profile", "wrong.toml"], 2);
    of("healthy", &["--profile", "gfx90"], 2);
    assert!(of("healthy", &["--profile", "gfx1151"], 1).contains("G-ARCH: gfx942; wanted: gfx1151"));
    let explained = sandbox.gate(&["explain", "q-busy"]).exits(0);
    assert!(
        explained.out.contains("check Q-BUSY: ") && explained.out.contains("gpu_busy_percent"),
        "{}",
        explained.out
    );
}

#[test]
fn a_machine_without_a_gpu_is_answered() {
    let sandbox = Sandbox::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert!(sandbox.gate(&["preflight", "--host", path]).exits(0).out.contains("profile plain"));
    let out = sandbox.gate(&["preflight", "--host", path, "--profile", "gfx942"]).exits(1).out;
    assert!(out.contains("D-LOADED: not loaded"), "{out}");
}

#[test]
fn a_served_endpoint_is_asked() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/health", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        for status in ["200 OK", "503 Service Unavailable"] {
            let (mut client, _) = listener.accept().unwrap();
            let _asked = client.read(&mut [0; 4096]).unwrap();
            write!(client, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        }
    });
    let sandbox = Sandbox::new();
    let finding = || {
        let done = sandbox.gate(&["preflight", "--profile", "plain", "--endpoint", &url, "--format", "json"]);
        let host: Value = serde_json::from_str(&done.out).unwrap();
        let of = |finding: &&Value| finding["check"] == "S-ENDPOINT";
        let finding = host["findings"].as_array().unwrap().iter().find(of).unwrap().clone();
        (done.code, finding["level"].as_str().unwrap().to_owned(), finding["saw"].to_string())
    };
    assert_eq!(finding().1, "pass");
    let (code, level, saw) = finding();
    assert!(code == Some(1) && level == "fail" && saw.contains("503"), "{saw}");
    server.join().unwrap();
    let (code, level, _) = finding();
    assert_eq!((code, level.as_str()), (Some(1), "fail"), "nobody listens any more");
    sandbox
        .gate(&["preflight", "--endpoint", "https://example.com/"])
        .exits(2)
        .says("begins with http://");
}

/// A machine of the family gfx1151, as the notes of its users say that it must be before a served endpoint is measured.
fn served(files: &[(&str, Option<&str>)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let properties = fs::read_to_string(snapshot("healthy")).unwrap();
    let document: Value = serde_json::from_str(&properties).unwrap();
    let node = "sys/class/kfd/kfd/topology/nodes/1/properties";
    let text = document["files"][node]["t"].as_str().unwrap().replace("90402", "110501");
    let mut all: BTreeMap<String, Value> = BTreeMap::from([
        (node.to_owned(), text.into()),
        ("sys/class/kfd/kfd/topology/nodes/2/properties".to_owned(), Value::Null),
        ("sys/class/drm/card4/device/uevent".to_owned(), Value::Null),
        ("proc/sys/kernel/osrelease".to_owned(), "6.18.4-generic".into()),
        ("sys/module/amdgpu/version".to_owned(), Value::Null),
        ("sys/module/amdgpu/taint".to_owned(), "".into()),
        ("cmd/dkms_status/stdout".to_owned(), "".into()),
        ("cmd/endpoint/stdout".to_owned(), "200".into()),
    ]);
    for (path, value) in files {
        all.insert((*path).to_owned(), value.map_or(Value::Null, Value::from));
    }
    let host = changed(&all, folder.path());
    let mut profile = profile("gfx1151");
    profile.declared.endpoint = Some("http://127.0.0.1:1/health".to_owned());
    let findings = preflight(&host, &profile).unwrap();
    let faults = findings
        .iter()
        .filter(|finding| matches!(finding.level, Level::Fail | Level::Unknown));
    faults.map(|finding| finding.check.clone()).collect()
}

#[test]
fn the_profile_of_a_served_endpoint_asks_what_its_notes_ask() {
    assert_eq!(served(&[]), Vec::<String>::new());
    for (path, value, check) in [
        ("proc/sys/kernel/osrelease", Some("6.18.3-generic"), "D-KERNEL"),
        ("sys/module/amdgpu/parameters/cwsr_enable", Some("0"), "D-CWSR"),
        ("sys/module/amdgpu/parameters/cwsr_enable", None, "D-CWSR"),
        ("sys/class/drm/card3/device/gpu_busy_percent", Some("40"), "Q-BUSY"),
        (
            "proc/meminfo",
            Some("MemTotal: 131072000 kB\nMemAvailable: 1000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB"),
            "Q-HOSTMEM",
        ),
        ("cmd/endpoint/stdout", Some("503"), "S-ENDPOINT"),
    ] {
        assert_eq!(served(&[(path, value)]), [check], "{path} {value:?}");
    }
    let dkms = [
        ("sys/module/amdgpu/taint", Some("OE")),
        ("lib/modules/6.18.4-generic/updates/dkms/amdgpu.ko.zst", Some("")),
        ("cmd/dkms_status/stdout", Some("amdgpu/6.14.9, 6.18.4-generic, x86_64: installed")),
    ];
    assert_eq!(served(&dkms), ["D-DKMS"]);
}
