//! The machine: kernel, processor, governor, load, and the GPU as sysfs shows it.

use std::fs;
use std::path::Path;

use super::device;
use crate::model::identity::{Facts, Unknown, none};

/// Largest system file that is read.
const READ_MAX_BYTES: u64 = 1 << 20;

/// What a machine says about itself.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Kernel, processor, governor, load.
    pub machine: Facts,
    /// The device.
    pub gpu: Facts,
    /// What could not be told.
    pub missing: Vec<Unknown>,
}

/// Reads the machine whose files stand under `root`; `/` is this one.
pub fn read(root: &Path) -> Machine {
    let mut seen = Machine::default();
    let files = [
        ("kernel", "proc/sys/kernel/osrelease"),
        ("governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("load", "proc/loadavg"),
        ("cpu", "proc/cpuinfo"),
    ];
    for (field, path) in files {
        match text(&root.join(path)) {
            Ok(text) => match fact(field, &text) {
                Some(value) => drop(seen.machine.insert(field.to_owned(), value)),
                None => seen.missing.push(unknown(field, format!("/{path} does not say"))),
            },
            Err(why) => seen.missing.push(unknown(field, format!("/{path}: {why}"))),
        }
    }
    seen.machine
        .insert("arch".to_owned(), format!("cpu-{}", std::env::consts::ARCH).into());
    gpu(root, &mut seen);
    seen
}

fn unknown(field: &str, why: String) -> Unknown {
    Unknown {
        field: format!("machine.{field}"),
        why,
    }
}

fn fact(field: &str, text: &str) -> Option<serde_json::Value> {
    Some(match field {
        "load" => text.split_whitespace().next()?.parse::<f64>().ok()?.into(),
        "cpu" => {
            let model = text
                .lines()
                .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
                .map(|(_, model)| model.trim());
            let count = text.lines().filter(|line| line.starts_with("processor")).count();
            serde_json::json!({ "model": model.unwrap_or("unnamed"), "count": count })
        }
        _ => text.trim().into(),
    })
}

/// The GPUs that the kernel's compute driver lists; the rest of a GPU's identity is not read yet.
fn gpu(root: &Path, seen: &mut Machine) {
    let gpus = device::list(root);
    if gpus.is_empty() {
        let driver = root.join("sys/class/kfd").exists();
        if driver || !root.join("dev/kfd").exists() {
            seen.gpu = none();
        } else {
            let why = "there is a compute device, but no topology in sysfs".to_owned();
            seen.missing.push(Unknown {
                field: "gpu".to_owned(),
                why,
            });
        }
        return;
    }
    let of = |fact: fn(&device::Gpu) -> &String| gpus.iter().map(fact).cloned().collect::<Vec<String>>();
    seen.gpu.insert("archs".to_owned(), of(|gpu| &gpu.arch).into());
    seen.gpu.insert("pci".to_owned(), of(|gpu| &gpu.bdf).into());
    for field in ["gpu.product", "gpu.driver", "gpu.firmware"] {
        seen.missing.push(Unknown {
            field: field.to_owned(),
            why: "not read by this version".to_owned(),
        });
    }
}

/// A system file's text, within a limit; the error is the reason in a few words.
pub(super) fn text(path: &Path) -> Result<String, String> {
    use std::io::Read;
    let file = fs::File::open(path).map_err(|error| error.kind().to_string())?;
    let mut bytes = Vec::new();
    file.take(READ_MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| error.kind().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
