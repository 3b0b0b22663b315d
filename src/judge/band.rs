//! The accepted noise in a judgement: an alarm, and a bar for promotions. It never takes the place of the session's own noise.

use std::f64::consts::SQRT_2;

use super::Case;
use super::calibration::session;
use super::crossover::{Estimate, Pairs};
use super::noise::{NoiseAlarm, SessionNoise, alarm, pool};
use super::responses::Responses;
use crate::model::baseline::BandLine;
use crate::model::identity::identity_digest;
use crate::model::metric::Scale;
use crate::model::number::size;
use crate::model::record::{Record, short};
use crate::model::sample::Cell;
use crate::model::text::plain_line;

/// The scale of bands.
pub const SCALE: Scale = Scale::Pct;
/// Fewer sessions make no band.
const SESSIONS_MIN: usize = 2;
/// The least noise of a run that is believed where no plan says so, in percent.
const LEAST_PCT: f64 = 0.05;
/// The key of a band line that names the records beside its own.
const OTHERS: &str = "others";

/// The accepted bands of a case's own identity.
pub struct Bands<'a>(Vec<&'a BandLine>);

impl<'a> Bands<'a> {
    /// Those that were measured as this case was; none where its identity is not known.
    pub fn of(case: &Case<'a>) -> Self {
        let bands = &case.context.band;
        if bands.is_empty() {
            return Self(Vec::new());
        }
        let own = identity_digest(case.identity, &case.gate.equal).ok();
        Self(bands.iter().filter(|band| own.as_deref() == Some(&band.identity)).collect())
    }

    /// The band of a fixture and metric.
    pub fn find(&self, fixture: &str, metric: &str) -> Option<&'a BandLine> {
        let of_bucket = |band: &&&BandLine| band.fixture == fixture && band.metric == metric;
        self.0.iter().find(of_bucket).copied()
    }
}

/// Whether a session is noisier than its band, and its own noise of a run in percent. `least_pct` is the least noise of a run that is believed: a
/// band below it is raised to it.
pub fn noisier(band: &BandLine, session: SessionNoise, least_pct: f64) -> Option<(NoiseAlarm, f64)> {
    let of_pair = |run_pct: f64| SQRT_2 * run_pct / 100.0;
    let accepted = SessionNoise {
        sp: of_pair(band.sd_pct.max(least_pct)),
        df: band.df as usize,
    };
    let alarm = alarm(session, &pool(&[accepted])?)?;
    Some((alarm, 100.0 * session.sp / SQRT_2))
}

/// The noise of blocks on the relative scale, on which bands are: the unfloored standard deviation of the pair differences.
pub fn relative(responses: &Responses) -> Option<SessionNoise> {
    let pairs = Pairs::of(&responses.blocks);
    let noise = Estimate::of(&pairs.x, &pairs.z, 0.0)?.noise?;
    Some(SessionNoise {
        sp: noise.sp_raw,
        df: noise.df,
    })
}

/// The band line of some finished sessions of one gate; the last of them is the one that it names, the others stand behind it.
///
/// # Errors
/// Why these sessions make no band of this fixture and metric.
pub fn line(records: &[Record], fixture: &str, metric: &str) -> Result<BandLine, String> {
    let last = records.last().ok_or("there is no session")?;
    if records.len() < SESSIONS_MIN {
        return Err(format!("a band is pooled over at least {SESSIONS_MIN} sessions"));
    }
    if last.host.replayed {
        return Err("the host was replayed from a snapshot: no machine measured this".to_owned());
    }
    let cell = Cell {
        fixture: fixture.to_owned(),
    };
    let judged = last.gate.metrics.iter().find(|judged| judged.name == metric);
    let judged = judged.filter(|_| last.plan.cells.contains(&cell));
    let judged = judged.ok_or_else(|| format!("the sessions have no {metric} of {fixture:?}"))?;
    let identity = identity(last)?;
    let mut sessions = Vec::new();
    for record in records {
        let at = |why: String| format!("session {}: {why}", short(&record.seal));
        if record.gate.digest != last.gate.digest || self::identity(record).map_err(at)? != identity {
            return Err(at("it is of another gate or identity than the last".to_owned()));
        }
        let session = session(record, judged, &cell, SCALE).map_err(at)?.character;
        sessions.push(SessionNoise {
            sp: session.sp,
            df: session.df,
        });
    }
    let band = pool(&sessions).ok_or("its noise cannot be read")?;
    let [low, high] = band.sp_ci95;
    let [sd_pct, low, high] = [band.sp_pooled, low, high].map(|sp| four_digits(100.0 * sp / SQRT_2));
    let others: Vec<String> = records.iter().rev().skip(1).map(|record| short(&record.seal)).collect();
    Ok(BandLine {
        fixture: fixture.to_owned(),
        metric: metric.to_owned(),
        sd_pct,
        low,
        high,
        df: band.nu as u32,
        sessions: records.len() as u32,
        identity,
        record: short(&last.seal),
        extras: [(OTHERS.to_owned(), others.join(","))].into(),
    })
}

fn identity(record: &Record) -> Result<String, String> {
    identity_digest(&record.identity, &record.gate.equal).map_err(|unknown| {
        let fields: Vec<String> = unknown.iter().map(|field| format!("{} ({})", field.field, field.why)).collect();
        format!(
            "the identity is not known, and what is unknown equals nothing: {}",
            fields.join(", ")
        )
    })
}

/// More digits than four say nothing, and the line is read by people.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Whether a committed band is what its evidence gives: everything but what the accepting person said.
///
/// # Errors
/// Names what differs, or why the evidence makes no band.
pub fn agrees(band: &BandLine, arch: &str, records: &[Record]) -> Result<(), String> {
    if let Some(other) = records.iter().find(|record| record.identity.arch().as_deref() != Some(arch)) {
        return Err(format!("record {} was not measured on {arch}", short(&other.seal)));
    }
    let again = line(records, &band.fixture, &band.metric)?;
    let said = BandLine {
        extras: again.extras.clone(),
        ..band.clone()
    };
    if said == again && band.extras.get(OTHERS) == again.extras.get(OTHERS) {
        return Ok(());
    }
    Err(format!("the line is not what its evidence gives: {again}"))
}

/// The other records of a band, oldest last, as the line names them.
pub fn others(band: &BandLine) -> Vec<&str> {
    let named = band.extras.get(OTHERS).map_or("", String::as_str);
    named.split(',').filter(|record| !record.is_empty()).collect()
}

/// Why a band may not take the place of an accepted one without a reason being given: it is noisier than chance explains.
pub fn worse(new: &BandLine, accepted: &BandLine) -> Option<String> {
    let session = SessionNoise {
        sp: SQRT_2 * new.sd_pct / 100.0,
        df: new.df as usize,
    };
    let (alarm, _) = noisier(accepted, session, LEAST_PCT)?;
    alarm.noisier.then(|| {
        let [is, was] = [new.sd_pct, accepted.sd_pct].map(|pct| size(pct, SCALE, ""));
        format!(
            "{}: runs vary by {is}, and by {was} in the accepted band",
            plain_line(&new.metric, 100)
        )
    })
}
