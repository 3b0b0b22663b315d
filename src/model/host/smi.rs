//! What AMD's own tools say of the devices: optional, because they are not always there, sometimes hang, and print differently in each version.

use serde_json::{Map, Value, json};

use super::seen::{Seen, Unseen, Why};

/// Where a document may begin: no tool writes so many lines before it.
const LINES_MAX: usize = 200;
/// Most devices that are read.
const DEVICES_MAX: usize = 1_024;

/// One device; none where the tool does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// PCI address, `0000:26:00.0`.
    pub bdf: Option<String>,
    /// What it is sold as.
    pub product: Option<String>,
    /// Version of the board's firmware.
    pub vbios: Option<String>,
    /// Who made its memory.
    pub vram_vendor: Option<String>,
}

/// What one tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smi {
    /// The tool's name.
    pub tool: String,
    /// The devices, or why there are none.
    pub devices: Result<Vec<Told>, String>,
}

/// Reads what `amd-smi static --json` or `rocm-smi --json` printed.
///
/// It takes a list (before ROCm 7) and an object with `gpu_data`, a banner or a warning before the document, anything after it, a document
/// that is printed twice, `N/A` in the place of any value or section, and values with or without a unit.
///
/// # Errors
/// When there is no document, or it names no device.
pub fn read(text: &str) -> Result<Vec<Told>, String> {
    if text.trim().is_empty() {
        return Err("it printed nothing".to_owned());
    }
    let document = document(text).ok_or("it printed no JSON document")?;
    let entries = match &document {
        Value::Array(list) => Some(list),
        Value::Object(object) => object.get("gpu_data").and_then(Value::as_array),
        _ => None,
    };
    let devices: Vec<Told> = match (entries, &document) {
        (Some(list), _) => list.iter().take(DEVICES_MAX).map(of_amd_smi).collect(),
        (None, Value::Object(object)) => of_rocm_smi(object),
        (None, _) => Vec::new(),
    };
    if devices.iter().all(|told| *told == Told::default()) {
        return Err("its document names no device".to_owned());
    }
    Ok(devices)
}

/// The devices in the shape of `amd-smi`, from which [`read`] reads the same again.
pub fn written(devices: &[Told]) -> String {
    let entry = |told: &Told| {
        json!({
            "bus": { "bdf": told.bdf },
            "asic": { "market_name": told.product },
            "vbios": { "version": told.vbios },
            "vram": { "vendor": told.vram_vendor },
        })
    };
    Value::from(devices.iter().map(entry).collect::<Vec<Value>>()).to_string()
}

/// The first object or list that a line begins and that is whole.
fn document(text: &str) -> Option<Value> {
    let mut at = 0;
    for line in text.split_inclusive('\n').take(LINES_MAX) {
        if line.trim_start().starts_with(['{', '[']) {
            let mut stream = serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Value>();
            if let Some(Ok(value)) = stream.next() {
                return Some(value);
            }
        }
        at += line.len();
    }
    None
}

fn of_amd_smi(entry: &Value) -> Told {
    let of = |section: &str, field: &str| said(entry.get(section)?.get(field)?);
    Told {
        bdf: of("bus", "bdf").map(|bdf| bdf.to_lowercase()),
        product: of("asic", "market_name"),
        // Renamed in ROCm 7.1.
        vbios: of("vbios", "version").or_else(|| of("ifwi", "version")),
        vram_vendor: of("vram", "vendor").map(|vendor| vendor.to_lowercase()),
    }
}

/// `{"card0": {"PCI Bus": ..}, "system": {..}}`
fn of_rocm_smi(object: &Map<String, Value>) -> Vec<Told> {
    let cards = object.iter().filter(|(name, _)| {
        let number = name.strip_prefix("card").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    let told = cards.take(DEVICES_MAX).map(|(_, entry)| {
        let of = |names: &[&str]| names.iter().find_map(|name| said(entry.get(name)?));
        Told {
            bdf: of(&["PCI Bus"]).map(|bdf| bdf.to_lowercase()),
            product: of(&["Card Series", "Card series"]),
            vbios: of(&["VBIOS version"]),
            vram_vendor: of(&["GPU memory vendor"]).map(|vendor| vendor.to_lowercase()),
        }
    });
    told.collect()
}

/// A text that says something; a value may stand beside its unit.
fn said(value: &Value) -> Option<String> {
    let value = value.get("value").unwrap_or(value);
    let text = value.as_str()?.trim();
    let says = !text.is_empty() && !text.starts_with("N/A") && !text.eq_ignore_ascii_case("unknown");
    says.then(|| text.to_owned())
}

/// A value of sysfs, or where sysfs has none, what a tool says of the device at this address.
pub fn or_told(seen: &mut Seen<String>, told: Option<&String>) {
    let lacks = match seen {
        Ok(text) => text.is_empty(),
        Err(Unseen { why, .. }) => matches!(why, Why::Absent | Why::Permission | Why::Malformed | Why::Unreadable),
    };
    if let (true, Some(text)) = (lacks, told) {
        *seen = Ok(text.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(product: &str) -> Told {
        Told {
            bdf: Some("0000:26:00.0".to_owned()),
            product: Some(product.to_owned()),
            vbios: None,
            vram_vendor: None,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let devices = vec![
            one("X"),
            Told {
                vbios: Some("1".to_owned()),
                vram_vendor: Some("hynix".to_owned()),
                ..one("Y")
            },
        ];
        assert_eq!(read(&written(&devices)), Ok(devices));
    }

    #[test]
    fn shapes_of_several_versions_are_read() {
        let entry = r#"{"gpu": 0, "bus": {"bdf": "0000:26:00.0"}, "asic": {"market_name": "X"}, "vram": "N/A"}"#;
        for text in [
            format!("[{entry}]"),
            format!("{{\"gpu_data\": [{entry}]}}"),
            format!("'CTRL' + 'C' to stop watching output:\n[{entry}]"),
            format!("WARNING: [a] device {{is}} in a low-power state\n\n[{entry}]\nLegend: x"),
            format!("[{entry}][{entry}]"),
            r#"{"card0": {"PCI Bus": "0000:26:00.0", "Card Series": "X"}, "system": {"Driver version": "6"}}"#.to_owned(),
        ] {
            assert_eq!(read(&text), Ok(vec![one("X")]), "{text}");
        }
    }

    #[test]
    fn what_says_nothing_has_a_reason() {
        for (text, why) in [
            ("", "printed nothing"),
            (" \n", "printed nothing"),
            ("WARNING: No JSON data to report", "no JSON document"),
            ("'CTRL' + 'C' to stop watching output:\n", "no JSON document"),
            ("[{\"gpu\": 0", "no JSON document"),
            ("[]", "names no device"),
            ("{}", "names no device"),
            (r#"[{"gpu": 0, "bus": "N/A", "asic": {"market_name": "N/A"}}]"#, "names no device"),
            (
                r#"{"card0": {"Average Graphics Package Power (W)": "N/A (Secondary die)"}}"#,
                "names no device",
            ),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    #[test]
    fn a_tool_fills_what_sysfs_lacks_and_nothing_else() {
        let told = "told".to_owned();
        let filled = |mut seen: Seen<String>| {
            or_told(&mut seen, Some(&told));
            seen
        };
        assert_eq!(filled(Err(Unseen::absent("x"))), Ok(told.clone()));
        assert_eq!(filled(Ok(String::new())), Ok(told.clone()));
        assert_eq!(filled(Ok("seen".to_owned())), Ok("seen".to_owned()));
        let reset = Unseen::of_errno("EPERM", "x").of_device(false);
        assert_eq!(filled(Err(reset.clone())), Err(reset));
    }
}
