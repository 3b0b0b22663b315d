//! What must be equal for two sessions to compare.

use gate::model::identity::{COMPARABLE, Identity, Unknown, build_digest, equal_by_default, identity_digest, none};
use serde_json::json;

use super::case::identity;

fn equal(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn digest(identity: &Identity, names: &[&str]) -> String {
    identity_digest(identity, &equal(names)).unwrap()
}

#[test]
fn only_the_declared_fields_count() {
    let ours = identity();
    let own = digest(&ours, &["model", "prompt", "gpu", "config", "policy"]);
    assert!(own.len() == 8 && own.bytes().all(|byte| byte.is_ascii_hexdigit()), "{own}");
    let mut other = ours.clone();
    other.arms.b.artifacts[0].blake3 = "ff".repeat(32);
    other.machine.insert("kernel".to_owned(), json!("7.0"));
    other.config.insert("cwd".to_owned(), json!("/elsewhere"));
    other.config.insert("removed_env".to_owned(), json!(["TERM"]));
    assert_eq!(
        digest(&other, &["model", "prompt", "gpu", "config", "policy"]),
        own,
        "build, machine and place are not compared"
    );
    assert_ne!(digest(&other, &["machine"]), digest(&ours, &["machine"]));
    other.config.insert("env".to_owned(), json!({"X": "1"}));
    assert_ne!(digest(&other, &["config"]), digest(&ours, &["config"]));
    assert_eq!(digest(&other, &["model"]), digest(&ours, &["model"]), "none equals none");
}

#[test]
fn what_is_unknown_equals_nothing() {
    let mut ours = identity();
    ours.gpu.clear();
    ours.missing.push(Unknown {
        field: "gpu".to_owned(),
        why: "no sysfs".to_owned(),
    });
    let unknown = identity_digest(&ours, &equal(&["model", "gpu", "taste"])).unwrap_err();
    let fields: Vec<(&str, &str)> = unknown.iter().map(|field| (field.field.as_str(), field.why.as_str())).collect();
    assert_eq!(fields, [("gpu", "no sysfs"), ("taste", "not recorded")]);
    ours.gpu = none();
    ours.missing[0].field = "gpu.product".to_owned();
    assert!(
        identity_digest(&ours, &equal(&["gpu"])).is_err(),
        "one unknown field of a part is enough"
    );
    assert!(identity_digest(&ours, &equal(&["model"])).is_ok());
}

#[test]
fn single_fields_can_be_named() {
    let mut ours = identity();
    ours.gpu = [("archs".to_owned(), json!(["gfx942"])), ("product".to_owned(), json!("MI300X"))].into();
    let own = digest(&ours, &["gpu.archs"]);
    ours.gpu.insert("product".to_owned(), json!("MI325X"));
    assert_eq!(digest(&ours, &["gpu.archs"]), own);
    assert!(identity_digest(&ours, &equal(&["gpu.firmware"])).is_err());
    assert!(
        identity_digest(&identity(), &equal(&["gpu.firmware"])).is_ok(),
        "where there is no device, there is no firmware"
    );
}

#[test]
fn the_architecture_names_the_file() {
    let mut ours = identity();
    assert_eq!(ours.arch().as_deref(), Some("cpu-x86_64"));
    ours.gpu = [("archs".to_owned(), json!(["gfx942", "gfx942"]))].into();
    assert_eq!(ours.arch().as_deref(), Some("gfx942"));
    ours.gpu.insert("archs".to_owned(), json!(["gfx1100", "gfx942"]));
    assert_eq!(ours.arch(), None, "which of two is not known");
    ours.gpu.insert("arch".to_owned(), json!("gfx1100"));
    assert_eq!(ours.arch().as_deref(), Some("gfx1100"));
}

#[test]
fn a_build_is_what_runs_wherever_it_stands() {
    let ours = identity();
    let own = build_digest(&ours.arms.b).unwrap();
    let mut moved = ours.arms.b.clone();
    moved.artifacts[0].path = "/elsewhere/bench".to_owned();
    assert_eq!(build_digest(&moved).unwrap(), own);
    moved.artifacts[0].blake3 = "00".repeat(32);
    assert_ne!(build_digest(&moved).unwrap(), own);
    moved.artifacts.clear();
    assert_eq!(build_digest(&moved), None);
}

#[test]
fn a_processor_tells_machines_without_a_gpu_apart() {
    let (of_cpu, of_gpu) = (equal_by_default("cpu-x86_64"), equal_by_default("gfx942"));
    assert_eq!(of_gpu, equal(&["model", "prompt", "gpu", "config", "policy"]));
    assert_eq!(of_cpu, equal(&["model", "prompt", "gpu", "config", "policy", "machine.cpu"]));
    let mut ours = identity();
    ours.machine.insert("cpu".to_owned(), json!({"model": "one", "count": 4}));
    let mut other = ours.clone();
    other.machine.insert("cpu".to_owned(), json!({"model": "another", "count": 4}));
    let digest = |identity: &Identity, fields: &[String]| identity_digest(identity, fields).unwrap();
    assert_ne!(digest(&ours, &of_cpu), digest(&other, &of_cpu));
    assert_eq!(digest(&ours, &of_gpu), digest(&other, &of_gpu));
    assert!(of_cpu.iter().all(|field| COMPARABLE.contains(&field.as_str())));
    other.machine.remove("cpu");
    assert!(identity_digest(&other, &of_cpu).is_err(), "what is unknown equals nothing");
}
