//! `gate preflight`: is this machine fit to measure on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use super::host::source;
use super::identity::{Format, arch};
use super::{answer, parse};
use crate::check;
use crate::edge::device::{self, Gpu};
use crate::edge::{files, host};
use crate::exit::{self, Exit};
use crate::model::host::machine::Machine;
use crate::model::host::profile::{Declared, Profile};
use crate::model::host::visible::visible;
use crate::model::host::{Finding, Host, Level};
use crate::model::number::count;
use crate::model::text::{no_commands, plain_line};

/// The profiles that come with the program; the last one is for every machine without one of its own.
const BUILT_IN: [&str; 3] = [
    include_str!("../../profiles/gfx942.toml"),
    include_str!("../../profiles/gfx1151.toml"),
    include_str!("../../profiles/plain.toml"),
];
/// The name of the last one.
const PLAIN: &str = "plain";
/// Largest profile.
const PROFILE_MAX_BYTES: u64 = 1 << 20;
/// Longest text that is shown of one finding.
const TEXT_MAX: usize = 600;

/// Tell whether this machine is fit to measure on: exit 0 fit, 1 unfit, 3 where a required check has no answer
#[derive(Debug, Args)]
pub struct Preflight {
    /// What the machine should be: gfx942, gfx1151, plain, or a file [default: by the GPU's architecture, else plain]
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// A snapshot of a host, or a folder with its files, instead of this machine
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    /// How it is shown; json is the `host` object of a record
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,
    /// Look at these devices only: indexes in the compute driver's order or PCI addresses, separated by commas
    #[arg(long, value_name = "LIST")]
    devices: Option<String>,
    /// Count messages of the kernel of this last while as the job's own
    #[arg(long, value_name = "DURATION", value_parser = parse::duration)]
    since: Option<Duration>,
    /// Ask this address whether a served endpoint is well: http:// and on this machine or its network; what the profile declares otherwise
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Count a check without an answer as a fault
    #[arg(long)]
    require_known: bool,
}

impl Preflight {
    /// Runs the command.
    ///
    /// # Errors
    /// When the profile or the snapshot cannot be read.
    pub fn run(&self) -> Result<u8> {
        let named = self.profile.as_deref().map(profile).transpose()?;
        let source = source(self.host.as_deref())?;
        let mut machine = host::observed(&source);
        host::ask_tools(&source, &mut machine);
        let uptime_s = machine.kernel.uptime_s.as_ref().ok();
        machine.job_since_s = self.since.zip(uptime_s).map(|(since, uptime_s)| uptime_s - since.as_secs_f64());
        if let Some(list) = &self.devices {
            let chosen = device::select(&gpus(&machine), list).map_err(|why| anyhow!("--devices: {why}"))?;
            machine.keep_only(&chosen.into_iter().map(|gpu| gpu.bdf).collect());
        }
        let mut profile = named.map_or_else(|| of_arch(&machine), Ok)?;
        if let Some(url) = &self.endpoint {
            if !url.starts_with("http://") {
                bail!("--endpoint: {url:?}: an address that begins with http:// is wanted");
            }
            profile.declared.endpoint = Some(url.clone());
        }
        if let Some(url) = &profile.declared.endpoint {
            host::ask_endpoint(&source, &mut machine, url);
        }
        let mut findings = check::preflight(&machine, &profile).map_err(|why| anyhow!(why))?;
        if self.require_known {
            let open = findings.iter_mut().filter(|finding| finding.level == Level::Unknown);
            open.for_each(|finding| finding.level = Level::Fail);
        }
        let verdict = profile.verdict(&findings);
        let text = match self.format {
            Format::Terminal => words(&machine, &profile, &findings, verdict),
            Format::Json => {
                let replayed = machine.replayed;
                serde_json::to_string_pretty(&Host { findings, replayed })? + "\n"
            }
        };
        answer(&text)?;
        Ok(exit_of(verdict).code)
    }
}

/// What required checks found, and why nothing may be measured, if so.
pub(super) struct Fitness {
    /// The findings, as the record has them.
    pub host: Host,
    /// Why the machine is unfit, or cannot be told fit: the reason first, then what to do.
    pub unfit: Option<String>,
}

/// The machine below `root` as a session sees it: read, and watched for two seconds where it is this one and has GPUs. Of several GPUs
/// those are left that were selected, else those that `env` shows to the processes.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn machine(root: &Path, devices: &[Gpu], env: &[(String, String)]) -> Result<Machine> {
    let mut machine = host::observed(&source(Some(root))?);
    let mut kept: BTreeSet<String> = devices.iter().map(|gpu| gpu.bdf.clone()).collect();
    if kept.is_empty() {
        let mut all = machine.env.clone();
        all.extend(env.iter().cloned());
        let nodes = machine.nodes.as_deref().unwrap_or_default();
        // What cannot be resolved hides nothing from a look.
        let shown = visible(&all, nodes.len()).unwrap_or_default();
        kept = shown
            .into_iter()
            .filter_map(|at| nodes.get(at))
            .map(|node| node.bdf.clone())
            .collect();
    }
    if !kept.is_empty() {
        machine.keep_only(&kept);
    }
    Ok(machine)
}

/// What required checks find on a machine before anything is measured there: the declared ones, else those that the profile of the
/// architecture requires where there is a GPU, and none where there is not.
///
/// # Errors
/// When a profile names a check that does not exist.
pub(super) fn required(declared: &[String], machine: Option<&Machine>) -> Result<Fitness> {
    let Some(machine) = machine else {
        return Ok(Fitness {
            host: Host::default(),
            unfit: None,
        });
    };
    let mut profile = of_arch(machine)?;
    if !declared.is_empty() {
        profile.required = declared.to_vec();
    }
    let findings = only(machine, &mut profile)?;
    let unfit = unfit(declared, &findings, &profile);
    let replayed = machine.replayed;
    Ok(Fitness {
        host: Host { findings, replayed },
        unfit,
    })
}

/// What the checks find that are cheap enough for the gap between two processes.
///
/// # Errors
/// When a profile names a check that does not exist.
pub(super) fn in_a_gap(machine: &Machine) -> Result<Vec<Finding>> {
    let mut profile = of_arch(machine)?;
    profile.required = check::CHEAP.iter().map(|id| (*id).to_owned()).collect();
    only(machine, &mut profile)
}

/// Runs the required checks of a profile and no other.
fn only(machine: &Machine, profile: &mut Profile) -> Result<Vec<Finding>> {
    let wanted = &profile.required;
    let others = check::ALL
        .iter()
        .map(|check| check.id)
        .filter(|id| !wanted.iter().any(|wanted| wanted == id));
    profile.off = others.map(str::to_owned).collect();
    check::preflight(machine, profile).map_err(|why| anyhow!(why))
}

fn unfit(declared: &[String], findings: &[Finding], profile: &Profile) -> Option<String> {
    let fault = |level: Level| findings.iter().find(|finding| finding.level == level);
    if let Some(finding) = fault(Level::Fail).or_else(|| fault(Level::Unknown)) {
        let is = if finding.level == Level::Fail {
            "is unfit to measure on"
        } else {
            "cannot be told fit to measure on"
        };
        let [saw, wants, hint] = [&finding.saw, &finding.wants, &finding.hint].map(|text| plain_line(text, TEXT_MAX));
        return Some(format!(
            "this machine {is}: {}: {saw}; wanted: {wants}; next: {hint}",
            finding.check
        ));
    }
    let answered = |id: &&String| findings.iter().any(|finding| finding.check == **id);
    let id = declared.iter().find(|id| !answered(id))?;
    Some(format!(
        "this machine cannot be told fit to measure on: {id}, which the gate requires, has nothing to look at here (profile {}); \
         next: `gate explain check {id}` tells what it needs",
        profile.name
    ))
}

/// Whether the throttle counters of the devices can be believed: they stood still while the devices were idle.
pub(super) fn counters_are_trusted(machine: &Machine) -> bool {
    let looked = check::ALL.iter().find(|check| check.id == "T-RESID-TRUST");
    let sight = looked.and_then(|check| (check.look)(machine, &Declared::default()));
    sight.is_some_and(|sight| sight.level == Level::Pass)
}

/// The machine's GPUs, as the choice of some of them counts them.
fn gpus(machine: &Machine) -> Vec<Gpu> {
    let nodes = machine.nodes.iter().flatten().enumerate();
    nodes
        .map(|(index, node)| Gpu {
            index,
            bdf: node.bdf.clone(),
            arch: node.arch.clone(),
        })
        .collect()
}

/// Fit, with or without warnings; unfit; or not answered.
const fn exit_of(verdict: Level) -> Exit {
    match verdict {
        Level::Pass | Level::Warn => exit::PASS,
        Level::Fail => exit::FAIL,
        Level::Unknown => exit::INCONCLUSIVE,
    }
}

/// The profile of this name, or in this file.
fn profile(named: &str) -> Result<Profile> {
    let built_in = built_in()?;
    if let Some(profile) = built_in.iter().find(|profile| profile.name == named) {
        return Ok(profile.clone());
    }
    let path = Path::new(named);
    if !files::is_there(path) {
        let names: Vec<&str> = built_in.iter().map(|profile| profile.name.as_str()).collect();
        bail!("there is no profile {named:?}, and no such file; known are {}", names.join(", "));
    }
    let text = files::read_declared(path, PROFILE_MAX_BYTES)?;
    let mut profile = Profile::parse(&text).map_err(|why| anyhow!("{named}: {why}"))?;
    if profile.name.is_empty() {
        profile.name = named.to_owned();
    }
    Ok(profile)
}

fn built_in() -> Result<Vec<Profile>> {
    BUILT_IN
        .iter()
        .map(|text| Profile::parse(text).map_err(|why| anyhow!(why)))
        .collect()
}

fn of_arch(machine: &Machine) -> Result<Profile> {
    let arch = arch(machine);
    let mut all = built_in()?;
    let at = all.iter().position(|profile| profile.declared.arch.as_deref() == Some(&arch));
    let at = at.or_else(|| all.iter().position(|profile| profile.name == PLAIN));
    at.map(|at| all.swap_remove(at)).context("no profile is built in")
}

fn words(machine: &Machine, profile: &Profile, findings: &[Finding], verdict: Level) -> String {
    let of = |level: Level| findings.iter().filter(move |finding| finding.level == level);
    let answer = match verdict {
        Level::Pass => "fit",
        Level::Warn => "fit, with warnings",
        Level::Fail => "unfit",
        Level::Unknown => "not answered: a required check is unknown",
    };
    let replayed = if machine.replayed { ", replayed from a snapshot" } else { "" };
    let mut out = format!("preflight: {answer} (profile {}{replayed})\n\n", profile.name);
    for (level, word) in [(Level::Fail, "fail"), (Level::Unknown, "unknown"), (Level::Warn, "warn")] {
        for finding in of(level) {
            let required = level == Level::Unknown && profile.required.contains(&finding.check);
            let word = if required { "UNKNOWN" } else { word };
            let [saw, wants, hint] = [&finding.saw, &finding.wants, &finding.hint].map(|text| plain_line(text, TEXT_MAX));
            out.push_str(&format!(
                "{word:<8} {}: {saw}; wanted: {wants}\n         next: {hint}\n",
                finding.check
            ));
        }
    }
    let passed = count(of(Level::Pass).count() as u64, "check");
    out.push_str(&format!("{passed} passed; `gate explain check` tells what each looks at\n"));
    no_commands(&out)
}
