//! What a host is wanted to be: declared values, and how grave a check's fault is.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Finding, Level};

/// One profile, as its TOML file declares it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// The version of the format: 1.
    pub version: u32,
    /// Its name, `gfx942`.
    pub name: String,
    /// What it is for, in one sentence.
    pub about: String,
    /// Checks that must be known: one that is not leaves the question unanswered.
    pub required: Vec<String>,
    /// Checks that are not run.
    pub off: Vec<String>,
    /// Checks whose fault only warns.
    pub warn: Vec<String>,
    /// Checks whose warning is a fault.
    pub fail: Vec<String>,
    /// What is declared of the machine.
    pub declared: Declared,
}

/// Declared values; a check whose value is not declared does not apply.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Declared {
    /// `gfx942`
    pub arch: Option<String>,
    /// How many cards there are.
    pub cards: Option<usize>,
    /// Several GPUs work together in what is measured.
    pub several_gpus: bool,
    /// The driver's version.
    pub driver_version: Option<String>,
    /// Where the driver comes from.
    pub driver: Option<Origin>,
    /// The oldest kernel, `6.18`.
    pub kernel_min: Option<String>,
    /// Compute waves are saved and restored on a switch.
    pub cwsr: Option<bool>,
    /// Versions of firmware by name, `smc`.
    pub firmware: BTreeMap<String, String>,
    /// The version of the board's firmware.
    pub vbios: Option<String>,
    /// `SPX`
    pub compute_partition: Option<String>,
    /// `NPS1`
    pub memory_partition: Option<String>,
    /// `auto`
    pub perf_level: Option<String>,
    /// The highest graphics clock in MHz.
    pub sclk_max_mhz: Option<u64>,
    /// Transfers a second of the link, in GT/s.
    pub link_speed_gts: Option<f64>,
    /// Lanes of the link.
    pub link_width: Option<u64>,
    /// Power of an idle device in W.
    pub power_idle_w: Option<f64>,
    /// Power of an idle device that a host gives to a guest, in W.
    pub power_idle_guest_w: Option<f64>,
    /// Free device memory that is needed, in bytes.
    pub vram_need_bytes: u64,
    /// Free host memory that is needed, in bytes.
    pub memory_need_bytes: u64,
    /// Address of a served endpoint's health, which must answer with success: `http://127.0.0.1:8080/health`.
    pub endpoint: Option<String>,
    /// `madvise`
    pub thp: Option<String>,
    /// Two threads may share a core.
    pub smt: bool,
}

/// Where a driver comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Built outside of the kernel.
    Dkms,
    /// Part of the kernel.
    Inbox,
    /// Either.
    Any,
}

impl Profile {
    /// Reads a profile's text.
    ///
    /// # Errors
    /// When it is no TOML, has an unknown key, or declares what cannot be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let profile: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if profile.version != 1 {
            return Err(format!("version {}: this version of gate reads `version = 1`", profile.version));
        }
        let declared = &profile.declared;
        if let Some(url) = declared.endpoint.as_ref().filter(|url| !url.starts_with("http://")) {
            return Err(format!("declared.endpoint: {url:?}: an address that begins with http:// is wanted"));
        }
        for (name, value) in [
            ("power_idle_w", declared.power_idle_w),
            ("power_idle_guest_w", declared.power_idle_guest_w),
            ("link_speed_gts", declared.link_speed_gts),
        ] {
            if value.is_some_and(|value| !value.is_finite() || value <= 0.0) {
                return Err(format!("declared.{name}: a number above 0 is wanted"));
            }
        }
        Ok(profile)
    }

    /// Every check that it names.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        [&self.required, &self.off, &self.warn, &self.fail]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Whether a check is not run.
    pub fn is_off(&self, id: &str) -> bool {
        self.off.iter().any(|off| off == id)
    }

    /// How grave what a check saw is here.
    pub fn level(&self, id: &str, level: Level) -> Level {
        let names = |list: &[String]| list.iter().any(|name| name == id);
        match level {
            Level::Fail if names(&self.warn) => Level::Warn,
            Level::Warn if names(&self.fail) => Level::Fail,
            other => other,
        }
    }

    /// The answer of all findings: unfit where one fails; not answered where one that must be known is not; else fit, with or without
    /// warnings.
    pub fn verdict(&self, findings: &[Finding]) -> Level {
        let any = |level: Level| findings.iter().any(|finding| finding.level == level);
        let open = |finding: &Finding| finding.level == Level::Unknown && self.required.contains(&finding.check);
        if any(Level::Fail) {
            Level::Fail
        } else if findings.iter().any(open) {
            Level::Unknown
        } else if any(Level::Warn) {
            Level::Warn
        } else {
            Level::Pass
        }
    }
}
