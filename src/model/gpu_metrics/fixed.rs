//! Revisions of fixed layout: where each field stands.

use super::{Fault, Limit, Metrics, number};

/// Offset of a field in bytes, its width in bytes, and how many of its steps make one of the unit.
type Scaled = (usize, usize, f64);

/// The layout of one revision. Offsets are in bytes from the start of the blob.
pub struct Layout {
    /// Bytes up to the end of the last field that is read.
    need: usize,
    hotspot: Scaled,
    mem: Option<Scaled>,
    power: Scaled,
    gfx_activity: usize,
    umc_activity: Option<usize>,
    energy: Option<usize>,
    clock: usize,
    /// The first graphics clock, and how many there are.
    gfxclk: (usize, usize),
    uclk: Option<usize>,
    accumulation: Option<usize>,
    residency: &'static [(Limit, usize)],
    /// Offset and width.
    throttle: Option<(usize, usize)>,
}

const fn degrees(at: usize) -> Scaled {
    (at, 2, 1.0)
}

const V1_3: Layout = Layout {
    need: 120,
    hotspot: degrees(6),
    mem: Some(degrees(8)),
    power: (22, 2, 1.0),
    gfx_activity: 16,
    umc_activity: Some(18),
    energy: Some(24),
    clock: 32,
    gfxclk: (54, 1),
    uclk: Some(58),
    accumulation: None,
    residency: &[],
    throttle: Some((112, 8)),
};

/// What the revisions of the MI300 family share.
const MI300: Layout = Layout {
    need: 0,
    hotspot: degrees(4),
    mem: Some(degrees(6)),
    power: (10, 2, 1.0),
    gfx_activity: 12,
    umc_activity: Some(14),
    energy: Some(24),
    clock: 32,
    gfxclk: (0, 8),
    uclk: None,
    accumulation: None,
    residency: &[],
    throttle: None,
};

const V1_4: Layout = Layout {
    need: 282,
    gfxclk: (240, 8),
    uclk: Some(280),
    throttle: Some((40, 4)),
    ..MI300
};

const V1_5: Layout = Layout {
    need: 354,
    energy: Some(88),
    clock: 96,
    gfxclk: (312, 8),
    uclk: Some(352),
    throttle: Some((104, 4)),
    ..MI300
};

const V1_6: Layout = Layout {
    need: 306,
    energy: Some(16),
    clock: 24,
    gfxclk: (264, 8),
    uclk: Some(304),
    accumulation: Some(32),
    residency: &[
        (Limit::Prochot, 36),
        (Limit::Ppt, 40),
        (Limit::SocketThermal, 44),
        (Limit::VrThermal, 48),
        (Limit::HbmThermal, 52),
    ],
    ..MI300
};

/// Also revision 1.8, which only adds to the end.
const V1_7: Layout = Layout {
    need: 338,
    gfxclk: (296, 8),
    uclk: Some(336),
    accumulation: Some(40),
    residency: &[
        (Limit::Prochot, 44),
        (Limit::Ppt, 48),
        (Limit::SocketThermal, 52),
        (Limit::VrThermal, 56),
        (Limit::HbmThermal, 60),
    ],
    ..MI300
};

/// Temperatures in hundredths of a degree, power in mW; no energy and no common tick count.
const V3_0: Layout = Layout {
    need: 256,
    hotspot: (4, 2, 100.0),
    mem: None,
    power: (112, 4, 1000.0),
    gfx_activity: 42,
    umc_activity: None,
    energy: None,
    clock: 104,
    gfxclk: (174, 1),
    uclk: None,
    accumulation: None,
    residency: &[
        (Limit::Prochot, 228),
        (Limit::Spl, 232),
        (Limit::Fppt, 236),
        (Limit::Sppt, 240),
        (Limit::CoreThermal, 244),
        (Limit::GfxThermal, 248),
        (Limit::SocThermal, 252),
    ],
    throttle: None,
};

/// The layout of a revision; none where it has no fixed one, or is not known.
pub const fn layout(revision: (u8, u8)) -> Option<&'static Layout> {
    match revision {
        (1, 3) => Some(&V1_3),
        (1, 4) => Some(&V1_4),
        (1, 5) => Some(&V1_5),
        (1, 6) => Some(&V1_6),
        (1, 7 | 8) => Some(&V1_7),
        (3, 0) => Some(&V3_0),
        _ => None,
    }
}

impl Layout {
    /// Reads a blob of this layout.
    pub fn decode(&self, blob: &[u8], revision: (u8, u8)) -> Result<Metrics, Fault> {
        if blob.len() < self.need {
            return Err(Fault::Short {
                have: blob.len(),
                need: self.need,
            });
        }
        let scaled = |(at, width, steps): Scaled| number(blob, at, width).map(|value| value as f64 / steps);
        let percent = |at: usize| number(blob, at, 2).map(|value| value as f64);
        let narrow = |at: usize| number(blob, at, 2).map(|value| value as u16);
        let tick = |at: usize| number(blob, at, 4).map(|value| value as u32);
        let (first, clocks) = self.gfxclk;
        Ok(Metrics {
            revision,
            hotspot_c: scaled(self.hotspot),
            mem_c: self.mem.and_then(scaled),
            power_w: scaled(self.power),
            gfx_activity_pct: percent(self.gfx_activity),
            umc_activity_pct: self.umc_activity.and_then(percent),
            energy_steps: self.energy.and_then(|at| number(blob, at, 8)).filter(|&steps| steps != 0),
            clock_ns: number(blob, self.clock, 8),
            gfxclk_mhz: (0..clocks).filter_map(|n| narrow(first + 2 * n)).collect(),
            uclk_mhz: self.uclk.and_then(narrow),
            accumulation: self.accumulation.and_then(tick),
            residency: self.residency.iter().filter_map(|&(limit, at)| Some((limit, tick(at)?))).collect(),
            throttle_bits: self.throttle.and_then(|(at, width)| number(blob, at, width)),
            ..Metrics::default()
        })
    }
}
