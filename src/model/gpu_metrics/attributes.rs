//! Revision 1.9: a packed table of attributes.
//!
//! After the header a count of entries (`i32`); each entry is a `u64` and then its values, unaligned. Of the `u64`, bits 0 to 9 are the
//! number of values, 10 to 19 the attribute, 20 to 23 the type, 24 to 31 the unit.

use super::{Fault, Limit, Metrics, number};

/// Bytes before the first entry.
const TABLE_AT: usize = 8;
/// Most entries that a table may claim: attribute numbers have ten bits.
const ENTRIES_MAX: i32 = 1024;

/// Attributes from here on have no meaning yet; those below that are not taken are of no use here.
const KNOWN: u16 = 48;

/// Reads a table; what stands before a fault is kept.
pub fn decode(blob: &[u8]) -> Result<Metrics, Fault> {
    let mut metrics = Metrics {
        revision: (1, 9),
        ..Metrics::default()
    };
    let short = Fault::Short {
        have: blob.len(),
        need: TABLE_AT,
    };
    let count: [u8; 4] = blob.get(4..TABLE_AT).and_then(|bytes| bytes.try_into().ok()).ok_or(short)?;
    let count = i32::from_le_bytes(count);
    if !(0..=ENTRIES_MAX).contains(&count) {
        return Err(Fault::Entries(count));
    }
    let mut at = TABLE_AT;
    for entry in 0..count as usize {
        let Some(code) = blob.get(at..at + 8).and_then(|_| number(blob, at, 8)) else {
            metrics.stopped = Some(Fault::Truncated(entry));
            break;
        };
        let (values, id, kind) = ((code & 0x3ff) as usize, (code >> 10 & 0x3ff) as u16, (code >> 20 & 0xf) as u8);
        let Some(width) = width(kind) else {
            metrics.stopped = Some(Fault::Type { entry, code: kind });
            break;
        };
        let Some(bytes) = blob.get(at + 8..at + 8 + values * width) else {
            metrics.stopped = Some(Fault::Truncated(entry));
            break;
        };
        take(&mut metrics, id, bytes, width);
        at += 8 + values * width;
    }
    Ok(metrics)
}

/// Bytes of a value: types 0 to 7 are unsigned and signed numbers of 8, 16, 32 and 64 bits, in turn.
const fn width(kind: u8) -> Option<usize> {
    match kind {
        0 | 1 => Some(1),
        2 | 3 => Some(2),
        4 | 5 => Some(4),
        6 | 7 => Some(8),
        _ => None,
    }
}

/// Puts one attribute in its place; one of an unknown number is kept by its number.
fn take(metrics: &mut Metrics, id: u16, bytes: &[u8], width: usize) {
    let all = || (0..bytes.len() / width).filter_map(|n| number(bytes, n * width, width));
    let first = number(bytes, 0, width);
    let real = first.map(|value| value as f64);
    let tick = first.and_then(|value| u32::try_from(value).ok());
    let mut held = |limit| metrics.residency.extend(tick.map(|tick| (limit, tick)));
    match id {
        0 => metrics.hotspot_c = real,
        1 => metrics.mem_c = real,
        3 => metrics.power_w = real,
        4 => metrics.gfx_activity_pct = real,
        5 => metrics.umc_activity_pct = real,
        7 => metrics.energy_steps = first.filter(|&steps| steps != 0),
        8 => metrics.clock_ns = first,
        9 => metrics.accumulation = tick,
        10 => held(Limit::Prochot),
        11 => held(Limit::Ppt),
        12 => held(Limit::SocketThermal),
        13 => held(Limit::VrThermal),
        14 => held(Limit::HbmThermal),
        31 => metrics.xgmi_link_status = all().map(|value| value as u16).collect(),
        33 => metrics.gfxclk_mhz = all().map(|value| value as u16).collect(),
        37 => metrics.uclk_mhz = first.map(|value| value as u16),
        KNOWN.. => drop(metrics.other.insert(id, all().collect())),
        _ => {}
    }
}
