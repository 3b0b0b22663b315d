//! A reading of this machine, written down as a snapshot without what would name the machine.

use std::collections::BTreeMap;

use super::snapshot::{self, Entry};
use super::source::Source;

/// Keeps hashes of ours apart from other hashes of the same serial number. It is public: who knows a serial number can recognise it, nobody
/// can read one off.
const SALT: &str = "gate host identity 1";
/// How a hash begins.
const HASHED: &str = "h:";
/// Properties of a node that name one card, and nothing else.
const NAMING_PROPERTIES: [&str; 2] = ["unique_id ", "hive_id "];

/// The hash that stands for a serial number or a name; what is one already stays.
pub fn hashed(text: &str) -> String {
    if text.starts_with(HASHED) {
        return text.to_owned();
    }
    let key = blake3::derive_key(SALT, text.as_bytes());
    let digits: String = key.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{HASHED}{digits}")
}

/// Reads the machine of a source, and gives the text of its snapshot.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn text(source: &Source) -> serde_json::Result<String> {
    let machine = super::whole(source);
    let name = source.glance("proc/sys/kernel/hostname").ok();
    let name = name.map(|name| String::from_utf8_lossy(&name).trim().to_owned());
    // A short name is a word like any other; replacing it would break what it is part of.
    let name = name.filter(|name| name.len() > 3 && name != "localhost");
    let mut entries: BTreeMap<String, Entry> = source.remembered();
    for (path, entry) in &mut entries {
        if let Entry::Text(text) = entry {
            *text = without_names(path, text, name.as_deref());
        }
    }
    let release = machine.kernel.release.unwrap_or_else(|_| "unknown".to_owned());
    let host = name.map_or_else(|| release, |name| hashed(&name));
    snapshot::write(&host, entries)
}

fn without_names(path: &str, text: &str, host: Option<&str>) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    if matches!(file, "unique_id" | "serial_number") {
        return format!("{}\n", hashed(text.trim()));
    }
    let names_card = |line: &&str| file == "properties" && NAMING_PROPERTIES.iter().any(|name| line.starts_with(name));
    let names_machine = |line: &&str| file == "cpuinfo" && line.starts_with("Serial");
    let kept = text.split_inclusive('\n').filter(|line| !names_card(line) && !names_machine(line));
    let kept: String = kept.collect();
    host.map_or_else(|| kept.clone(), |host| kept.replace(host, &hashed(host)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_the_machine_is_hashed_once() {
        let once = hashed("00001234");
        assert_eq!((once.len(), hashed(&once)), (18, once.clone()));
        assert_eq!(without_names("sys/x/unique_id", "00001234\n", None), format!("{once}\n"));
        assert_eq!(
            without_names("sys/x/properties", "a 1\nunique_id 77\nhive_id 3\nb 2\n", None),
            "a 1\nb 2\n"
        );
        let told = without_names("proc/cmdline", "root=/dev/x ip=::::build-17\n", Some("build-17"));
        assert!(!told.contains("build-17") && told.contains(HASHED), "{told}");
    }
}
