//! The telemetry table that the kernel's GPU driver gives as one blob, `gpu_metrics`: bytes in, typed values out.
//!
//! A blob begins with its size (`u16`), format and content revision (`u8` each); little-endian throughout. Revisions 1.3 to 1.8 and 3.0 are
//! structures of fixed layout, 1.9 is a packed table of attributes. Layouts: `kgd_pp_interface.h` of the Linux kernel. All bits one means
//! "not available" in every field.

mod attributes;
mod fixed;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Joules of one step of the energy counter: 2⁻¹⁶.
pub const ENERGY_STEP_J: f64 = 1.0 / 65_536.0;
/// Bytes of the header: size, format, content.
const HEADER_BYTES: usize = 4;

/// What one blob says; a field that the device does not report is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Format and content revision, `(1, 9)`.
    pub revision: (u8, u8),
    /// Hottest spot of the die, in °C.
    pub hotspot_c: Option<f64>,
    /// Memory, in °C.
    pub mem_c: Option<f64>,
    /// Power of the socket, in W.
    pub power_w: Option<f64>,
    /// Activity of the graphics engine, in %.
    pub gfx_activity_pct: Option<f64>,
    /// Activity of the memory controller, in %.
    pub umc_activity_pct: Option<f64>,
    /// Energy counter, in steps of [`ENERGY_STEP_J`]; a counter that stands at 0 is not one.
    pub energy_steps: Option<u64>,
    /// The driver's own time, in ns.
    pub clock_ns: Option<u64>,
    /// Graphics clock of each die, in MHz.
    pub gfxclk_mhz: Vec<u16>,
    /// Memory clock, in MHz.
    pub uclk_mhz: Option<u16>,
    /// Ticks since the counters began; a residency is a part of these.
    pub accumulation: Option<u32>,
    /// For how many ticks each limit held the clocks down, over the device's life.
    pub residency: BTreeMap<Limit, u32>,
    /// Bits of the throttle status, where the revision has them.
    pub throttle_bits: Option<u64>,
    /// State of each xGMI link: 1 is up.
    pub xgmi_link_status: Vec<u16>,
    /// Attributes whose number this version does not know, as they came.
    pub other: BTreeMap<u16, Vec<u64>>,
    /// Why the table was not read to its end.
    pub stopped: Option<Fault>,
}

/// What can hold clocks down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The external "processor hot" signal.
    Prochot,
    /// Package power.
    Ppt,
    /// Temperature of the socket.
    SocketThermal,
    /// Temperature of the voltage regulators.
    VrThermal,
    /// Temperature of the memory stacks.
    HbmThermal,
    /// Sustained power.
    Spl,
    /// Fast package power.
    Fppt,
    /// Slow package power.
    Sppt,
    /// Temperature of the processor cores.
    CoreThermal,
    /// Temperature of the graphics engine.
    GfxThermal,
    /// Temperature of the system on chip.
    SocThermal,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 11] = [
        Self::Prochot,
        Self::Ppt,
        Self::SocketThermal,
        Self::VrThermal,
        Self::HbmThermal,
        Self::Spl,
        Self::Fppt,
        Self::Sppt,
        Self::CoreThermal,
        Self::GfxThermal,
        Self::SocThermal,
    ];

    /// The word in records.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prochot => "prochot",
            Self::Ppt => "ppt",
            Self::SocketThermal => "socket_thermal",
            Self::VrThermal => "vr_thermal",
            Self::HbmThermal => "hbm_thermal",
            Self::Spl => "spl",
            Self::Fppt => "fppt",
            Self::Sppt => "sppt",
            Self::CoreThermal => "core_thermal",
            Self::GfxThermal => "gfx_thermal",
            Self::SocThermal => "soc_thermal",
        }
    }
}

/// Why a blob, or the rest of one, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Fewer bytes than the revision's fields take.
    Short {
        /// Bytes that are there.
        have: usize,
        /// Bytes that are needed.
        need: usize,
    },
    /// A revision of an integrated GPU whose units are not settled.
    Integrated((u8, u8)),
    /// A revision that this version does not know.
    Revision((u8, u8)),
    /// The table of attributes ends inside this entry, counted from 0.
    Truncated(usize),
    /// This entry, counted from 0, has a type without a known width.
    Type {
        /// The entry.
        entry: usize,
        /// Its type.
        code: u8,
    },
    /// The table claims more entries than a table may hold.
    Entries(i32),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { have, need } => write!(out, "{have} bytes, at least {need} are needed"),
            Self::Integrated((format, content)) => {
                write!(
                    out,
                    "revision {format}.{content} of an integrated GPU: its units are not settled, so it is not read"
                )
            }
            Self::Revision((format, content)) => write!(out, "revision {format}.{content} is not known; known are 1.3 to 1.9 and 3.0"),
            Self::Truncated(entry) => write!(out, "the table ends inside entry {entry}"),
            Self::Type { entry, code } => write!(out, "entry {entry} has the unknown type {code}, so what follows cannot be found"),
            Self::Entries(count) => write!(out, "the table claims {count} entries"),
        }
    }
}

/// Reads a blob. More bytes than needed are no fault: drivers append, and a read may return a whole page.
///
/// # Errors
/// When nothing of it can be read. A table that ends early gives what was read before, and [`Metrics::stopped`].
pub fn decode(blob: &[u8]) -> Result<Metrics, Fault> {
    let &[_, _, format, content, ..] = blob else {
        return Err(Fault::Short {
            have: blob.len(),
            need: HEADER_BYTES,
        });
    };
    let revision = (format, content);
    if format == 2 {
        return Err(Fault::Integrated(revision));
    }
    if revision == (1, 9) {
        return attributes::decode(blob);
    }
    let layout = fixed::layout(revision).ok_or(Fault::Revision(revision))?;
    layout.decode(blob, revision)
}

/// An unsigned little-endian number of `width` bytes; none where the bytes end before it, or where all its bits are one.
fn number(blob: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = blob.get(at..at.checked_add(width)?)?;
    if bytes.iter().all(|&byte| byte == 0xff) {
        return None;
    }
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ones_are_not_available() {
        assert_eq!(number(&[1, 2, 0xff, 0xff], 0, 2), Some(0x0201));
        assert_eq!(number(&[1, 2, 0xff, 0xff], 2, 2), None);
        assert_eq!(number(&[1, 2, 0xff, 0xff], 1, 2), Some(0xff02));
        assert_eq!(number(&[1, 2], 1, 2), None);
        assert_eq!(number(&[1, 2], usize::MAX, 2), None);
    }

    #[test]
    fn short_and_unknown_blobs_say_so() {
        assert_eq!(decode(&[]), Err(Fault::Short { have: 0, need: 4 }));
        assert_eq!(decode(&[120, 0, 2, 1]), Err(Fault::Integrated((2, 1))));
        assert_eq!(decode(&[120, 0, 9, 9]), Err(Fault::Revision((9, 9))));
        assert_eq!(decode(&[120, 0, 1, 3]), Err(Fault::Short { have: 4, need: 120 }));
        assert_eq!(decode(&[120, 0, 1, 9]), Err(Fault::Short { have: 4, need: 8 }));
    }
}
