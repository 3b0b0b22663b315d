use crate::model::plan::Orientation;

/// One complete valid block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Which arm ran in which slot.
    pub orientation: Orientation,
    /// The responses (see [`super::worse`]) in slot order.
    pub y: [f64; 4],
}

/// The within-pair differences, second run − first run, in block order.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// One per block, of the pair in which the base ran first.
    pub x: Vec<f64>,
    /// One per block, of the pair in which the candidate ran first.
    pub z: Vec<f64>,
}

impl Pairs {
    /// Splits `blocks` into their AB and BA pairs.
    pub fn of(blocks: &[Block]) -> Self {
        let differences = |block: &Block| {
            let [a, b, c, d] = block.y;
            match block.orientation {
                Orientation::Abba => Some((b - a, d - c)),
                Orientation::Baab => Some((d - c, b - a)),
                // A single run is no pair.
                Orientation::A | Orientation::B => None,
            }
        };
        let (x, z) = blocks.iter().filter_map(differences).unzip();
        Self { x, z }
    }
}

/// The crossover's estimates after k blocks, in response units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Blocks.
    pub k: usize,
    /// The effect of the candidate, (x̄ − z̄)/2; + = worse.
    pub est: f64,
    /// The drift from one run to the next, (x̄ + z̄)/2.
    pub gamma: f64,
    /// The noise; none for fewer than two blocks.
    pub noise: Option<Noise>,
}

/// The noise of the pair differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Degrees of freedom, 2k − 2.
    pub df: usize,
    /// The pooled standard deviation of the pair differences, as found.
    pub sp_raw: f64,
    /// The same, raised to the floor.
    pub sp: f64,
    /// Whether the floor was needed.
    pub floored: bool,
    /// The standard error of the effect, sp/√(2k).
    pub se: f64,
}

impl Noise {
    /// The standard deviation of a single run, from the unfloored pairs.
    pub fn sigma_run(&self) -> f64 {
        self.sp_raw * std::f64::consts::FRAC_1_SQRT_2
    }
}

impl Estimate {
    /// Estimates from equally many AB and BA differences (the shorter side counts); `None` without any.
    ///
    /// `floor` is the least standard deviation of a pair difference (see [`super::floor_log`]).
    pub fn of(x: &[f64], z: &[f64], floor: f64) -> Option<Self> {
        let k = x.len().min(z.len());
        if k == 0 {
            return None;
        }
        let (x_mean, x_squares) = mean_and_squares(&x[..k]);
        let (z_mean, z_squares) = mean_and_squares(&z[..k]);
        let noise = (k > 1).then(|| {
            let df = 2 * k - 2;
            let sp_raw = ((x_squares + z_squares) / df as f64).sqrt();
            let sp = sp_raw.max(floor);
            Noise {
                df,
                sp_raw,
                sp,
                floored: sp_raw < floor,
                se: sp / ((2 * k) as f64).sqrt(),
            }
        });
        Some(Self {
            k,
            est: 0.5 * (x_mean - z_mean),
            gamma: 0.5 * (x_mean + z_mean),
            noise,
        })
    }
}

fn mean_and_squares(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, squares)
}
