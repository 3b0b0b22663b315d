//! Bridges between cards: whether they send every transfer between two devices up to the processor.

use std::collections::BTreeMap;

use super::snapshot::Entry;
use super::source::Source;
use crate::model::host::seen::Seen;

const DEVICES: &str = "sys/bus/pci/devices";
/// The file of a snapshot that stands for what the configuration says; the configuration itself holds serial numbers.
const KEPT: &str = "acs_source_validation";
/// Configuration that every user may read, in bytes.
const OPEN_BYTES: usize = 64;
/// Where the extended capabilities begin.
const EXTENDED_AT: usize = 0x100;
/// The number of the capability "access control services".
const ACCESS_CONTROL: u32 = 0x000d;
/// Most capabilities that a device can have.
const CAPABILITIES_MAX: usize = 960;

/// Every bridge with access control, and whether its source validation is on.
pub fn bridges(source: &Source) -> BTreeMap<String, Seen<bool>> {
    let names = source.list(DEVICES).unwrap_or_default();
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), bridge(source, &name)?)))
        .collect()
}

fn bridge(source: &Source, name: &str) -> Option<Seen<bool>> {
    let kept = format!("{DEVICES}/{name}/{KEPT}");
    if source
        .list(&format!("{DEVICES}/{name}"))
        .is_ok_and(|files| files.iter().any(|file| file == KEPT))
    {
        return Some(source.parse(&kept, |text| Some(text == "1")));
    }
    let config = source.glance(&format!("{DEVICES}/{name}/config")).ok()?;
    let is_bridge = config.get(0x0e).is_some_and(|kind| kind & 0x7f == 1);
    is_bridge.then_some(())?;
    let found = if config.len() <= OPEN_BYTES {
        Entry::Errno("EACCES".to_owned())
    } else {
        Entry::Text(u8::from(validates(&config)?).to_string())
    };
    source.remember(&kept, found.clone());
    Some(found.bytes(&kept).map(|text| text == b"1"))
}

/// Whether source validation is on; none where the bridge has no access control.
fn validates(config: &[u8]) -> Option<bool> {
    let word = |at: usize| Some(u32::from_le_bytes(config.get(at..at + 4)?.try_into().ok()?));
    let mut at = EXTENDED_AT;
    for _ in 0..CAPABILITIES_MAX {
        let head = word(at)?;
        if head & 0xffff == ACCESS_CONTROL {
            return Some(config.get(at + 6)? & 1 == 1);
        }
        at = (head >> 20) as usize;
        (at >= EXTENDED_AT).then_some(())?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_control_is_found_behind_other_capabilities() {
        let mut config = vec![0_u8; 0x200];
        config[0x100..0x104].copy_from_slice(&(0x0001_u32 | 1 << 16 | 0x140 << 20).to_le_bytes());
        config[0x140..0x144].copy_from_slice(&(ACCESS_CONTROL | 1 << 16).to_le_bytes());
        assert_eq!(validates(&config), Some(false));
        config[0x146] = 0x1d;
        assert_eq!(validates(&config), Some(true));
        // A chain that leads back to itself ends.
        config[0x140..0x144].copy_from_slice(&(0x0002_u32 | 0x140 << 20).to_le_bytes());
        assert_eq!(validates(&config), None);
        assert_eq!(validates(&config[..0x100]), None);
    }
}
