//! Flags: what the machine did while a process ran that spoils its figure, or explains it. One file a flag, each a pure function of what
//! was read and of declared limits; none of them ever sees a measured value.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::number::count;
use crate::model::plan::Plan;
use crate::model::sample::{Arm, PerArm, Sample, Void};
use crate::model::telemetry::{Raised, Telemetry, Trace, Watching};
use crate::model::text::plain_line;

mod cap_or_level_changed;
mod clock_drift;
mod contention;
mod dpm_not_ramped;
mod gpu_reset;
mod host_bound;
mod host_contention;
mod mclk_low;
mod oversubscribed;
mod power_limited;
mod stale_telemetry;
mod start_temp_mismatch;
mod thermal_throttle;
mod xcd_imbalance;

/// Every flag. A new one is its file and its word here.
pub const ALL: &[Flag] = &[
    contention::FLAG,
    cap_or_level_changed::FLAG,
    gpu_reset::FLAG,
    oversubscribed::FLAG,
    thermal_throttle::FLAG,
    dpm_not_ramped::FLAG,
    mclk_low::FLAG,
    power_limited::FLAG,
    clock_drift::FLAG,
    xcd_imbalance::FLAG,
    start_temp_mismatch::FLAG,
    host_contention::FLAG,
    host_bound::FLAG,
    stale_telemetry::FLAG,
];

/// A flag.
#[derive(Clone, Copy)]
pub struct Flag {
    /// Its name in gate files and records, equal to its file's.
    pub name: &'static str,
    /// What raises it, in one sentence.
    pub about: &'static str,
    /// What it does where the gate does not say.
    pub effect: Effect,
    /// Whether the candidate's own load can be the cause.
    pub attributable: bool,
    /// What it compares with.
    pub limits: &'static [Limit],
    /// What it looks at.
    pub look: Look,
}

/// What a flag does where the gate does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It voids the block, whatever the gate says.
    AlwaysVoids,
    /// It voids the block.
    Voids,
    /// It warns.
    Warns,
}

impl Effect {
    /// In words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AlwaysVoids => "voids the block, whatever the gate says",
            Self::Voids => "voids the block, unless `telemetry.void` leaves it out",
            Self::Warns => "warns",
        }
    }
}

/// What a flag looks at.
#[derive(Clone, Copy)]
pub enum Look {
    /// One process: what was seen, if it is out of the limits.
    Process(fn(&Trace, &Watching) -> Option<String>),
    /// The processes of both arms, side by side.
    Arms(fn(&PerArm<Vec<&Telemetry>>, &Watching) -> Option<String>),
}

/// A limit of a flag: a starting value, to be replaced by what a fixture is known to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Its name in gate files and records, its unit last.
    pub name: &'static str,
    /// The value where the gate does not say.
    pub default: f64,
    /// What it bounds.
    pub about: &'static str,
}

impl Limit {
    /// Its value as declared.
    fn of(&self, watching: &Watching) -> f64 {
        watching.limits.get(self.name).copied().unwrap_or(self.default)
    }
}

impl Flag {
    /// Whether a gate may declare that it voids, or that it does not.
    pub const fn can_void(&self) -> bool {
        matches!(self.look, Look::Process(_))
    }

    /// Whether it voids the block of a process.
    fn voids(&self, watching: &Watching) -> bool {
        self.effect == Effect::AlwaysVoids || watching.void.iter().any(|name| name == self.name)
    }
}

/// The flags that void where a gate does not say.
pub fn voiding() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|flag| flag.effect != Effect::Warns).map(|flag| flag.name)
}

/// Every limit with its default.
pub fn limits() -> impl Iterator<Item = &'static Limit> {
    ALL.iter().flat_map(|flag| flag.limits)
}

/// What is watched where a gate declares only some of it; `void` and `limits` hold what it declares.
pub fn watching(every_s: f64, void: Option<Vec<String>>, gpu_bound: bool, declared: &BTreeMap<String, f64>) -> Watching {
    let mut void = void.unwrap_or_else(|| voiding().map(str::to_owned).collect());
    void.extend(always(&void));
    void.sort_unstable();
    let mut limits: BTreeMap<String, f64> = limits().map(|limit| (limit.name.to_owned(), limit.default)).collect();
    limits.extend(declared.iter().map(|(name, value)| (name.clone(), *value)));
    Watching {
        every_s,
        void,
        gpu_bound,
        limits,
    }
}

/// The flags that always void and are not listed yet.
fn always(listed: &[String]) -> Vec<String> {
    let always = ALL.iter().filter(|flag| flag.effect == Effect::AlwaysVoids);
    let names = always.map(|flag| flag.name.to_owned());
    names.filter(|name| !listed.contains(name)).collect()
}

/// What one process raised.
pub fn raised(trace: &Trace, watching: &Watching) -> Vec<Raised> {
    let looks = ALL.iter().filter_map(|flag| match flag.look {
        Look::Process(look) => Some((flag, look(trace, watching)?)),
        Look::Arms(_) => None,
    });
    looks
        .map(|(flag, saw)| Raised {
            flag: flag.name.to_owned(),
            saw,
            voids: flag.voids(watching),
        })
        .collect()
}

/// Whether what was raised voids the block, and by which flag: one that others caused excuses one that the candidate can have caused.
pub fn void(raised: &[Raised]) -> Option<Void> {
    let voids = || raised.iter().filter(|raised| raised.voids);
    let attributable = |raised: &Raised| ALL.iter().any(|flag| flag.name == raised.flag && flag.attributable);
    let cause = voids().find(|raised| !attributable(raised)).or_else(|| voids().next())?;
    Some(Void {
        check: cause.flag.clone(),
        why: format!("{}: {}", cause.flag, cause.saw),
        attributable: attributable(cause),
    })
}

/// What a reader should know of the flags of a whole session: those that only warn, and those that compare the arms.
pub fn warnings(plan: &Plan, samples: &[Sample]) -> Vec<String> {
    let Some(watching) = &plan.telemetry else { return Vec::new() };
    let watched = || samples.iter().filter(|sample| !sample.warmup);
    let mut arms = PerArm::<Vec<&Telemetry>>::default();
    for sample in watched().filter(|sample| sample.void.is_none()) {
        arms.of_mut(sample.arm).extend(sample.telemetry.as_deref());
    }
    let mut warnings: Vec<String> = voids(samples).into_iter().collect();
    warnings.extend(ALL.iter().filter_map(|flag| match flag.look {
        Look::Process(_) => of_processes(flag.name, watched()),
        Look::Arms(look) => Some(format!("{}: {}", flag.name, plain_line(&look(&arms, watching)?, SAW_MAX))),
    }));
    warnings
}

/// How many blocks were void, and by what.
fn voids(samples: &[Sample]) -> Option<String> {
    let void: Vec<(&Sample, &Void)> = samples.iter().filter_map(|sample| Some((sample, sample.void.as_ref()?))).collect();
    let blocks: BTreeSet<_> = void
        .iter()
        .map(|(sample, _)| (&sample.cell, sample.block, sample.attempt))
        .collect();
    let named = void.iter().take(NAMED_MAX).map(|(sample, void)| {
        let saw = void.why.strip_prefix(&format!("{}: ", void.check)).unwrap_or(&void.why);
        format!(
            "{} on sample {} ({}): {}",
            plain_line(&void.check, 40),
            sample.seq,
            sample.arm,
            plain_line(saw, SAW_MAX)
        )
    });
    let named: Vec<String> = named.collect();
    let were = if blocks.len() == 1 { "was" } else { "were" };
    (!void.is_empty()).then(|| {
        format!(
            "{} {were} void and run again: {}",
            count(blocks.len() as u64, "block"),
            named.join("; ")
        )
    })
}

/// How many voids are named.
const NAMED_MAX: usize = 3;
/// Longest text of what was seen.
const SAW_MAX: usize = 400;

/// On how many runs of each arm a flag was raised that voids nothing, and what the first one saw.
fn of_processes<'a>(name: &str, samples: impl Iterator<Item = &'a Sample>) -> Option<String> {
    let mut runs = PerArm::<u32>::default();
    let mut first = None;
    for sample in samples {
        let flags = sample.telemetry.iter().flat_map(|telemetry| &telemetry.flags);
        for raised in flags.filter(|raised| raised.flag == name && !raised.voids) {
            *runs.of_mut(sample.arm) += 1;
            first.get_or_insert((sample.seq, &raised.saw));
        }
    }
    let (seq, saw) = first?;
    let [a, b] = Arm::BOTH.map(|arm| count(*runs.of(arm), "run"));
    let on = match runs.a {
        0 => format!("{b} of B and none of A, so that the candidate may be the cause"),
        _ => format!("{a} of A and {b} of B"),
    };
    Some(format!("{name} on {on}; first on sample {seq}: {}", plain_line(saw, SAW_MAX)))
}

/// Values of one kind over the samples of each arm, and their means; none where an arm has none.
fn means(
    arms: &PerArm<Vec<&Telemetry>>,
    device: usize,
    of: impl Fn(&crate::model::telemetry::DeviceSummary) -> Option<f64>,
) -> Option<[f64; 2]> {
    let mean = |arm: Arm| {
        let values: Vec<f64> = arms
            .of(arm)
            .iter()
            .filter_map(|telemetry| of(telemetry.devices.get(device)?))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Some([mean(Arm::A)?, mean(Arm::B)?])
}

/// The devices that were watched, by place and address.
fn devices<'a>(arms: &'a PerArm<Vec<&Telemetry>>) -> impl Iterator<Item = (usize, &'a str)> {
    let first = arms.a.first().or(arms.b.first());
    first
        .into_iter()
        .flat_map(|telemetry| telemetry.devices.iter().map(|device| device.device.as_str()).enumerate())
}
