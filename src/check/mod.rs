//! Is the machine fit to measure on: one file a check, each a pure function of what was read and what was declared.

use crate::model::host::card::Card;
use crate::model::host::machine::{Machine, Message};
use crate::model::host::profile::{Declared, Profile};
use crate::model::host::seen::Seen;
use crate::model::host::{Finding, Level};

mod c_pcap;
mod c_perflevel;
mod c_runpm;
mod c_sclkmax;
mod c_stuck;
mod d_cwsr;
mod d_dkms;
mod d_kernel;
mod d_loaded;
mod d_ver;
mod e_cache;
mod e_debug;
mod e_emptyvis;
mod e_override;
mod e_vismix;
mod f_pin;
mod f_shadow;
mod f_smuif;
mod g_arch;
mod g_count;
mod g_cpart;
mod g_link;
mod g_mpart;
mod g_xgmi;
mod h_acs;
mod h_affinity;
mod h_cstate;
mod h_gov;
mod h_iommu;
mod h_kernarg;
mod h_nps;
mod h_numabal;
mod h_realloc;
mod h_smt;
mod h_thp;
mod i_virt;
mod l_dmesg_throttle;
mod l_oversub;
mod l_reset;
mod p_cpuload;
mod p_kfdproc;
mod p_kfdproc_orphan;
mod p_monitor;
mod p_nspid;
mod q_busy;
mod q_hostmem;
mod q_power;
mod q_vram;
mod q_vram_stranded;
mod s_endpoint;
mod t_resid_trust;
mod t_temp;

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The word that selects it, equal to its file's name in capitals with `-` for `_`.
    pub id: &'static str,
    /// What is looked at.
    pub source: &'static str,
    /// When it passes, warns, fails.
    pub rule: &'static str,
    /// Why it matters to a figure.
    pub why: &'static str,
    /// What to do where it does not pass.
    pub hint: &'static str,
    /// Checks whose fault already is the cause of this one's: then theirs alone is reported, and names this one.
    pub explained_by: &'static [&'static str],
    /// Looks; none where the check does not apply to this machine, or nothing was declared for it.
    pub look: fn(&Machine, &Declared) -> Option<Sight>,
}

/// What a check saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// How it ended.
    pub level: Level,
    /// What was seen.
    pub saw: String,
    /// What was wanted.
    pub wants: String,
}

/// What one look gives before it is put into words: a level and what was seen.
type Look = (Level, String);

/// Every check. A new one is its file and its word here.
pub const ALL: &[Check] = &[
    g_arch::G_ARCH,
    g_count::G_COUNT,
    g_cpart::G_CPART,
    g_mpart::G_MPART,
    g_link::G_LINK,
    g_xgmi::G_XGMI,
    d_loaded::D_LOADED,
    d_ver::D_VER,
    d_dkms::D_DKMS,
    d_kernel::D_KERNEL,
    d_cwsr::D_CWSR,
    f_smuif::F_SMUIF,
    f_pin::F_PIN,
    f_shadow::F_SHADOW,
    e_vismix::E_VISMIX,
    e_emptyvis::E_EMPTYVIS,
    e_override::E_OVERRIDE,
    e_debug::E_DEBUG,
    e_cache::E_CACHE,
    p_kfdproc::P_KFDPROC,
    p_kfdproc_orphan::P_KFDPROC_ORPHAN,
    p_nspid::P_NSPID,
    p_monitor::P_MONITOR,
    p_cpuload::P_CPULOAD,
    q_busy::Q_BUSY,
    q_power::Q_POWER,
    q_vram::Q_VRAM,
    q_vram_stranded::Q_VRAM_STRANDED,
    q_hostmem::Q_HOSTMEM,
    s_endpoint::S_ENDPOINT,
    c_perflevel::C_PERFLEVEL,
    c_sclkmax::C_SCLKMAX,
    c_pcap::C_PCAP,
    c_runpm::C_RUNPM,
    c_stuck::C_STUCK,
    t_temp::T_TEMP,
    t_resid_trust::T_RESID_TRUST,
    l_dmesg_throttle::L_DMESG_THROTTLE,
    l_reset::L_RESET,
    l_oversub::L_OVERSUB,
    h_numabal::H_NUMABAL,
    h_iommu::H_IOMMU,
    h_realloc::H_REALLOC,
    h_gov::H_GOV,
    h_cstate::H_CSTATE,
    h_nps::H_NPS,
    h_smt::H_SMT,
    h_thp::H_THP,
    h_affinity::H_AFFINITY,
    h_kernarg::H_KERNARG,
    h_acs::H_ACS,
    i_virt::I_VIRT,
];

/// The checks that cost little enough for every gap between two processes.
pub const CHEAP: &[&str] = &[
    p_kfdproc::P_KFDPROC.id,
    c_perflevel::C_PERFLEVEL.id,
    c_sclkmax::C_SCLKMAX.id,
    c_pcap::C_PCAP.id,
    c_runpm::C_RUNPM.id,
    g_cpart::G_CPART.id,
    g_mpart::G_MPART.id,
];

/// Runs every check that a profile does not switch off.
///
/// # Errors
/// Names an id of the profile that no check has.
pub fn preflight(machine: &Machine, profile: &Profile) -> Result<Vec<Finding>, String> {
    if let Some(unknown) = profile.ids().find(|id| !ALL.iter().any(|check| check.id == *id)) {
        return Err(format!("the profile {} names the unknown check {unknown:?}", profile.name));
    }
    let ran: Vec<(&Check, Finding)> = ALL
        .iter()
        .filter(|check| !profile.is_off(check.id))
        .filter_map(|check| Some((check, finding(check, (check.look)(machine, &profile.declared)?, profile))))
        .collect();
    // A cause that is less grave than its effect does not speak for it.
    let is_cause = |id: &str, of: &Finding| {
        let mut faults = ran.iter().filter(|(check, finding)| check.id == id && is_fault(finding));
        faults.any(|(_, finding)| gravity(finding.level) >= gravity(of.level))
    };
    let mut findings: Vec<Finding> = Vec::new();
    let mut caused: Vec<(&str, String)> = Vec::new();
    for (check, finding) in &ran {
        let cause = check
            .explained_by
            .iter()
            .copied()
            .find(|id| is_fault(finding) && is_cause(id, finding));
        match cause {
            Some(id) => caused.push((id, format!("; with it {}: {}", finding.check, finding.saw))),
            None => findings.push(finding.clone()),
        }
    }
    for (id, words) in caused {
        findings
            .iter_mut()
            .filter(|finding| finding.check == id)
            .for_each(|finding| finding.saw.push_str(&words));
    }
    Ok(findings)
}

/// What counts first where several levels meet.
const fn gravity(level: Level) -> u8 {
    match level {
        Level::Pass => 0,
        Level::Warn => 1,
        Level::Unknown => 2,
        Level::Fail => 3,
    }
}

fn is_fault(finding: &Finding) -> bool {
    matches!(finding.level, Level::Warn | Level::Fail)
}

fn finding(check: &Check, sight: Sight, profile: &Profile) -> Finding {
    let level = profile.level(check.id, sight.level);
    Finding {
        check: check.id.to_owned(),
        level,
        saw: sight.saw,
        wants: sight.wants,
        hint: if level == Level::Pass {
            String::new()
        } else {
            check.hint.to_owned()
        },
    }
}

/// One look at the machine.
fn sight(wants: &str, (level, saw): Look) -> Option<Sight> {
    Some(Sight {
        level,
        saw,
        wants: wants.to_owned(),
    })
}

/// A value judged; unknown where it is not known.
fn known<T>(value: &Seen<T>, judge: impl FnOnce(&T) -> Look) -> Look {
    value.as_ref().map_or_else(|unseen| (Level::Unknown, unseen.to_string()), judge)
}

/// A look at every card: the gravest counts, and is told with the cards that it was seen at. None without a card.
fn cards(machine: &Machine, wants: &str, look: impl Fn(&Card) -> Look) -> Option<Sight> {
    let looks: Vec<(&str, Look)> = machine.cards.iter().map(|card| (card.label(), look(card))).collect();
    let level = looks.iter().map(|(_, (level, _))| *level).max_by_key(|level| gravity(*level))?;
    let told: Vec<&(&str, Look)> = looks.iter().filter(|(_, look)| look.0 == level).collect();
    let alike = told.len() == looks.len()
        && told
            .iter()
            .all(|(_, look)| Some(&look.1) == told.first().map(|(_, first)| &first.1));
    let saw = match told.first() {
        Some((_, (_, saw))) if alike => saw.clone(),
        _ => told
            .iter()
            .map(|(label, (_, saw))| format!("{label}: {saw}"))
            .collect::<Vec<String>>()
            .join("; "),
    };
    sight(wants, (level, saw))
}

/// A value wanted to be one thing.
fn equals<T: PartialEq>(value: &Seen<T>, wanted: &T, otherwise: Level, shown: impl Fn(&T) -> String) -> Look {
    known(value, |value| (if value == wanted { Level::Pass } else { otherwise }, shown(value)))
}

/// Messages of the kernel that hold one of the words: none is fine, an old one is worth knowing, one since the job began is a fault.
fn messages(machine: &Machine, words: &[&str], since_job: Level) -> Look {
    known(&machine.kernel.log, |log| {
        let found = |message: &&Message| words.iter().any(|word| message.text.contains(word));
        let Some(last) = log.iter().rfind(found) else {
            return (Level::Pass, "no such message".to_owned());
        };
        let own = machine.job_since_s.zip(last.at_s).is_some_and(|(since_s, at_s)| at_s >= since_s);
        (if own { since_job } else { Level::Warn }, format!("{:?}", last.text))
    })
}

/// A device is looked for: there is one, or one was declared.
fn wants_gpu(machine: &Machine, declared: &Declared) -> bool {
    declared.arch.is_some() || !machine.cards.is_empty()
}

/// The most that a device's activity was seen at, in %.
fn activity(card: &Card) -> Seen<f64> {
    let said = card.busy_pct.iter().flatten().copied();
    let table = card.last_metrics().and_then(|metrics| metrics.gfx_activity_pct);
    let most = said.chain(table).reduce(f64::max);
    match (most, card.busy_pct.last()) {
        (Some(most), _) => Ok(most),
        (None, Some(Err(unseen))) => Err(unseen.clone()),
        (None, _) => Ok(0.0),
    }
}

/// Passes where it is as wanted, and fails otherwise.
const fn level(fits: bool) -> Level {
    if fits { Level::Pass } else { Level::Fail }
}
