//! Scores that a stranger's run read, as the gate and the baselines of a revision see them.

use std::path::Path;

use anyhow::{Result, anyhow};

use super::base::{Base, base};
use super::declared::{Declared, of_gate};
use super::found::Choice;
use super::{Eval, identity};
use crate::cli::perf::workspace;
use crate::cli::rules::{Found, Rules};
use crate::cli::untrusted::Again;
use crate::model::baseline::STALE_AFTER_DAYS;
use crate::model::eval::evidence::{BaseKind, ScoreRun, Scores};
use crate::model::eval::{Group, Score};
use crate::model::evidence::{Evidence, INGEST};
use crate::model::plan::Plan;
use crate::model::record::Record;
use crate::model::text::plain_line;

/// The scores of a record beside the base's, which `top` holds as the revision has them. Of the record only the candidate's scores are taken, and
/// the base's where the revision has none and the run named loose results.
///
/// # Errors
/// When the gate does not judge scores, or nothing says which baseline is meant.
pub(in crate::cli) fn again(gate: &workspace::Declared, top: &Path, record: &Record, claimed: &Scores, today: &str) -> Result<Again> {
    let found = Found {
        bytes: gate.text.clone().into_bytes(),
        from: gate.from.clone(),
        banner: None,
        is_new: false,
    };
    let declared = of_gate(Path::new(&gate.path), found)?;
    let mut base = of_revision(&declared, top, &gate.from)?;
    let mut banners = std::mem::take(&mut base.banners);
    banners.extend(declared.banners);
    if base.kind == BaseKind::None && claimed.base_kind == BaseKind::Results {
        banners.push(format!(
            "the base's scores are the run's claim too: the {} has neither a baseline nor results of the base model",
            gate.from
        ));
        base.kind = BaseKind::Results;
        base.runs.clone_from(&claimed.base);
        base.artifacts.clone_from(&record.identity.arms.a.artifacts);
        base.why = "results that the run named".to_owned();
    } else if !same_scores(&base.runs, &claimed.base) {
        banners.push(format!(
            "the run compared with other scores of the base than the {} has; those of the {} are used",
            gate.from, gate.from
        ));
    }
    if record.gate.rules != declared.gate.rules || record.gate.scores != declared.gate.scores {
        banners.push(format!("the run judged by other rules than {} declares", gate.path));
    }
    let mut candidate = claimed.candidate.clone();
    // Which scores are a group's, and so only shown, is for the base to say.
    candidate.results.groups = Vec::<Group>::new();
    // A stranger's remarks are no part of the evidence.
    candidate.notes.clear();
    if base.kind == BaseKind::Results && base.runs == claimed.base {
        base.runs.iter_mut().for_each(|run| run.notes.clear());
    }
    let adapter = plain_line(&record.plan.extract, 40);
    let identity = identity(&candidate, &record.identity.arms.b.artifacts, &adapter, &base);
    Ok(Again {
        identity,
        plan: Plan::of_results(adapter, String::new()),
        gate: declared.gate,
        evidence: Evidence {
            source: INGEST.to_owned(),
            scores: Some(Scores {
                base_kind: base.kind,
                base: base.runs,
                candidate,
                today: today.to_owned(),
                stale_after_days: STALE_AFTER_DAYS,
            }),
            ..Evidence::default()
        },
        why: base.why,
        banners,
    })
}

/// The base's scores as they stand below `top`, by names that do not tell where that is.
fn of_revision(declared: &Declared, top: &Path, words: &str) -> Result<Base> {
    let rules = Rules::written_out(top, words);
    let choice = Choice {
        newest: declared.newest,
        model: None,
        adapter: declared.adapter,
        series: &declared.series,
    };
    let prefix = rules.named("x").display().to_string();
    let inside = |text: &str| text.replace(prefix.trim_end_matches('x'), "");
    let mut base = base(&Eval::default(), declared, &rules, &choice).map_err(|error| {
        let why = inside(&format!("{error:#}"));
        anyhow!("{why}; here no option is given, so the gate must say it: ingest.baseline or ingest.base_model")
    })?;
    base.why = inside(&base.why);
    base.banners.iter_mut().for_each(|banner| *banner = inside(banner));
    for run in &mut base.runs {
        run.file = inside(&run.file);
        run.notes.iter_mut().for_each(|note| *note = inside(note));
    }
    for artifact in &mut base.artifacts {
        artifact.path = inside(&artifact.path);
    }
    Ok(base)
}

fn same_scores(ours: &[ScoreRun], claimed: &[ScoreRun]) -> bool {
    let scores = |runs: &'_ [ScoreRun]| -> Vec<Score> { runs.iter().flat_map(|run| run.results.scores.clone()).collect() };
    scores(ours) == scores(claimed)
}
