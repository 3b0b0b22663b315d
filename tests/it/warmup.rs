//! The clocks are brought up by a helper before the first process: until they are steady, told in the record, and no part of a figure.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use gate::judge::steady::{steady, warning};
use gate::model::evidence::WarmUp;
use gate::model::host::profile::Profile;
use gate::model::telemetry::Trace;
use serde_json::Value;

use crate::declared::{GATE, Project, verdicts};
use crate::flags::steady as loaded;
use crate::sandbox::{Done, samples};
use crate::watched::{CARD, blob, tree};

/// The program at a place of its own: helpers are looked for beside it first, and those of a build are none of this test's business.
fn program(folder: &Path) -> PathBuf {
    let path = folder.join("gate");
    // No link: that would touch the program that other tests measure with.
    fs::copy(env!("CARGO_BIN_EXE_gate"), &path).unwrap();
    path
}

/// A project whose gate declares a helper, and a folder with the program and stand-ins for helpers.
struct Warmed {
    project: Project,
    bin: tempfile::TempDir,
}

impl Warmed {
    fn new(seconds: u32) -> Self {
        let gate = GATE.replace(
            "max_attempts = 100\n",
            &format!("max_attempts = 100\nwarmup = {{ helper = \"gate-ocl\", seconds = {seconds} }}\n"),
        );
        let project = Project::with(&gate);
        project.sandbox.script("tool.sh", "echo ms=100 # no slower");
        Self {
            project,
            bin: tempfile::tempdir().unwrap(),
        }
    }

    /// A stand-in that notes how it was called, does something, and answers well.
    fn helper(&self, body: &str) {
        let path = self.bin.path().join("gate-ocl");
        let log = self.project.sandbox.path("../helper.log");
        let answer =
            r#"printf '%s\n' '{"kind": "gate-helper/1", "helper": "gate-ocl", "command": "warmup", "state": "ok", "device": "stand-in"}'"#;
        fs::write(&path, format!("#!/bin/sh\necho \"$@\" >>{}\n{body}\n{answer}\n", log.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn perf(&self, more: &[&str]) -> Done {
        let mut command = Command::new(program(self.bin.path()));
        self.project.sandbox.furnish(&mut command);
        command.env("PATH", "/usr/bin:/bin");
        command.args(["perf", "--format", "json"]).args(more);
        let done = self.project.sandbox.start(command).wait();
        fs::remove_file(self.bin.path().join("gate")).unwrap();
        done
    }

    fn called(&self) -> String {
        fs::read_to_string(self.project.sandbox.path("../helper.log")).unwrap_or_default()
    }
}

#[test]
fn a_helper_that_gives_no_answer_is_told_and_measuring_goes_on() {
    let warmed = Warmed::new(3);
    let record = warmed.perf(&[]).exits(0).record();
    let told = &record["evidence"]["warmups"][0];
    assert_eq!(told["silence"], "absent: neither beside gate nor in a folder of PATH");
    assert!(
        record["judgement"]["warnings"]
            .to_string()
            .contains("plan.warmup: gate-ocl gave no answer (absent: "),
        "{record}"
    );
    assert_eq!(record["plan"]["warmup"], serde_json::json!({"helper": "gate-ocl", "seconds": 3}));
    warmed.helper("kill -ABRT $$");
    let record = warmed.perf(&[]).exits(0).record();
    assert!(
        record["evidence"]["warmups"][0]["silence"].as_str().unwrap().contains("number 6"),
        "{record}"
    );
}

#[test]
fn without_a_device_to_read_it_works_once_and_is_no_sample() {
    let warmed = Warmed::new(3);
    warmed.helper("sleep 0.2");
    let record = warmed.perf(&[]).exits(0).record();
    assert_eq!(warmed.called(), "warmup --seconds 3\n");
    let told = &record["evidence"]["warmups"][0];
    assert_eq!(
        (&told["rounds"], &told["steady"], &told["found"]["device"]),
        (&1.into(), &Value::Null, &"stand-in".into())
    );
    assert_eq!(told["why"], "no device is watched");
    assert!(told["took_s"].as_f64().unwrap() >= 0.2);
    assert_eq!(verdicts(&record), ["no_regression"]);
    assert!(
        samples(&record).iter().all(|sample| sample["values"]["ms"] == 100.0),
        "it is no part of a figure"
    );
    assert_eq!(record["judgement"]["warnings"].to_string(), "[]");
}

#[test]
fn with_a_device_it_works_until_the_clocks_are_steady() {
    let warmed = Warmed::new(5);
    let host = warmed.project.sandbox.path("../host");
    tree("healthy", &host);
    let table = host.join(CARD).join("gpu_metrics");
    warmed.helper(&format!(
        "cp '{}' '{}'; sleep 5; cp '{}' '{}'",
        blob("v1_9_load").display(),
        table.display(),
        blob("v1_9_idle").display(),
        table.display()
    ));
    let record = warmed.perf(&["--host", host.to_str().unwrap()]).exits(0).record();
    let findings = record["host"]["findings"].as_array().unwrap();
    let checked: Vec<&str> = findings.iter().map(|found| found["check"].as_str().unwrap()).collect();
    let required = Profile::parse(include_str!("../../profiles/gfx942.toml")).unwrap().required;
    assert!(
        required.len() == checked.len() && required.iter().all(|id| checked.contains(&id.as_str())),
        "by default those of the profile: {checked:?}"
    );
    let told = &record["evidence"]["warmups"][0];
    assert_eq!(
        (&told["steady"], told["rounds"].as_u64()),
        (&true.into(), Some(2)),
        "at least ten seconds: {told}"
    );
    assert!(
        told["why"].as_str().unwrap().contains("0000:1b:00.0: 1291 MHz at 100 % activity"),
        "{told}"
    );
}

/// What a trace says, its readings at ten a second.
fn says(change: impl Fn(&mut Trace)) -> (bool, String) {
    let mut trace = loaded();
    let first = trace.devices[0].readings[0].clone();
    trace.devices[0].readings = (0..=100)
        .map(|at| {
            let mut reading = first.clone();
            reading.at_s = f64::from(at) * 0.1;
            reading
        })
        .collect();
    change(&mut trace);
    steady(&trace).unwrap()
}

#[test]
fn steady_is_activity_clocks_and_temperature() {
    assert_eq!(says(|_| {}), (true, "0000:1b:00.0: 1300 MHz at 99 % activity".to_owned()));
    for (says, why) in [
        (
            says(|trace| {
                trace.devices[0]
                    .readings
                    .iter_mut()
                    .for_each(|reading| reading.gfx_activity_pct = Some(80.0))
            }),
            "80 % active, 90 % are wanted",
        ),
        (
            says(|trace| {
                trace.devices[0]
                    .readings
                    .iter_mut()
                    .for_each(|reading| reading.gfxclk_mhz = Some(1000.0 + 20.0 * reading.at_s))
            }),
            "still moves: 1139 MHz, then 1179 MHz",
        ),
        (
            says(|trace| {
                trace.devices[0]
                    .readings
                    .iter_mut()
                    .for_each(|reading| reading.hotspot_c = Some(40.0 + reading.at_s))
            }),
            "it still warms by 1.0 °C a second",
        ),
        (
            says(|trace| {
                trace.devices[0]
                    .readings
                    .iter_mut()
                    .for_each(|reading| reading.uclk_mhz = Some(900.0))
            }),
            "the memory clock is not at its top",
        ),
        (says(|trace| trace.devices[0].readings.truncate(20)), "not known over four seconds"),
        (
            says(|trace| {
                trace.devices[0]
                    .readings
                    .iter_mut()
                    .for_each(|reading| reading.gfx_activity_pct = Some(0.0))
            }),
            "no watched device worked",
        ),
    ] {
        assert!(!says.0 && says.1.contains(why), "{why}: {says:?}");
    }
    let mut nothing = loaded();
    nothing.devices.clear();
    assert_eq!(steady(&nothing), None);
    let warmup = WarmUp {
        helper: "gate-hip".to_owned(),
        took_s: 120.4,
        steady: Some(false),
        why: "0000:1b:00.0: 80 % active, 90 % are wanted".to_owned(),
        ..WarmUp::default()
    };
    let told = warning(&warmup).unwrap();
    assert_eq!(
        told,
        "dpm_not_ramped: not steady after 120 s of gate-hip: 0000:1b:00.0: 80 % active, 90 % are wanted"
    );
}
