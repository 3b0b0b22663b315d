//! Which lines of an eval baseline a record of scores may become, and what speaks against it.

use super::asked::Asked;
use crate::judge::acceptance::{untrusted, waived};
use crate::judge::drop::{self, Demand, Threshold};
use crate::judge::summary::median;
use crate::model::baseline::is_date;
use crate::model::eval::baseline::{Model, ScoreLine};
use crate::model::eval::evidence::Scores;
use crate::model::eval::{Extent, Results, Score};
use crate::model::gate::ScoreKeys;
use crate::model::gate::scores::ModelName;
use crate::model::judgement::{Disposition, Verdict};
use crate::model::record::Record;

/// How far a score of no upper end may be worse before a reason is asked for, in percent.
const OPEN_PCT: f64 = 1.0;

/// Which part of a record is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// Only this task.
    pub task: Option<&'a str>,
    /// Only this metric.
    pub metric: Option<&'a str>,
}

/// The lines that a record gives, and each score that gives none with its reason.
#[derive(Debug)]
pub struct Accepted {
    /// One line a score, without what only the accepting person can say.
    pub lines: Vec<ScoreLine>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
}

/// The lines that a record gives.
///
/// # Errors
/// Why it may not become a baseline, in one sentence.
pub fn lines(record: &Record, wanted: &Wanted<'_>) -> Result<Accepted, String> {
    let scores = scores(record)?;
    if let Some(why) = untrusted(record).or_else(|| waived(record)) {
        return Err(why);
    }
    if record.judgement.disposition == Disposition::Historical {
        return Err("the record is historical: it is kept, and no longer stands for anything".to_owned());
    }
    let date = record.at.get(..10).filter(|date| is_date(date));
    let date = date.ok_or_else(|| format!("the record's time {:?} begins with no day", record.at))?;
    let seal = record.seal.strip_prefix("b3:").and_then(|hex| hex.get(..12));
    let seal = seal.ok_or("the record has no seal")?;
    let nothing = ScoreKeys::default();
    let keys = record.gate.scores.as_ref().unwrap_or(&nothing);
    let declared = Asked { keys }.of_candidate(&scores.candidate.results);
    let of_interest = |score: &&Score| {
        let key = &score.key;
        wanted.task.is_none_or(|task| task == key.task) && wanted.metric.is_none_or(|metric| metric == key.metric)
    };
    let mut accepted = Accepted {
        lines: Vec::new(),
        left_out: Vec::new(),
    };
    for score in declared.scores.iter().filter(of_interest) {
        let twice = declared.scores.iter().filter(|other| other.key == score.key).count() > 1;
        let why = match (&score.missing, score.aim) {
            _ if twice => Some("it stands more than once".to_owned()),
            (Some(missing), _) => Some(missing.why.clone()),
            (None, None) => Some("nothing says which way it is good: declare better".to_owned()),
            (None, Some(_)) if score.is_limited() && !keys.limited => Some("a part of the task does not speak for all of it".to_owned()),
            (None, Some(_)) => None,
        };
        match why {
            Some(why) => accepted.left_out.push(format!("{}: {why}", score.key)),
            None => accepted.lines.push(ScoreLine {
                score: score.clone(),
                date: date.to_owned(),
                record: seal.to_owned(),
                extras: std::collections::BTreeMap::new(),
            }),
        }
    }
    if accepted.lines.is_empty() {
        let why = accepted.left_out.first().map_or("it has no such score", String::as_str);
        return Err(format!("no score of it can be a baseline: {why}"));
    }
    Ok(accepted)
}

fn scores(record: &Record) -> Result<&Scores, String> {
    record
        .evidence
        .scores
        .as_ref()
        .ok_or_else(|| "the record holds no scores".to_owned())
}

/// The model that a record's scores are of: as its results name it, or as a person does.
///
/// # Errors
/// When the two differ, or name or digest is not known.
pub fn model(record: &Record, named: Option<&ModelName>) -> Result<Model, String> {
    let of_results = scores(record)?.candidate.model.as_ref();
    let model = match (of_results, named) {
        (Some(own), Some(named)) if named.digest.is_some() && own.digest.is_some() && !own.agrees(named) => {
            return Err(format!("the scores are of {own}, and {named} is named"));
        }
        (_, Some(named)) => ModelName {
            digest: named.digest.clone().or_else(|| of_results.and_then(|own| own.digest.clone())),
            ..named.clone()
        },
        (Some(own), None) => own.clone(),
        (None, None) => return Err("the results do not name the model: say it with --model NAME@DIGEST".to_owned()),
    };
    match model.digest {
        Some(digest) => Ok(Model { id: model.id, digest }),
        None => Err(format!(
            "the results do not tell the digest of {}: say it with --model {}@DIGEST, 8 to 64 hexadecimal digits of its files",
            model.id, model.id
        )),
    }
}

/// Why a line needs a reason: it is worse than the current runs of its score by more than the rule of scores allows.
pub fn worse(line: &ScoreLine, current: &[&ScoreLine]) -> Option<String> {
    let newest = current.iter().max_by(|one, other| one.date.cmp(&other.date))?;
    let mut values: Vec<f64> = current.iter().filter_map(|line| line.score.value).collect();
    let base = Score {
        value: median(&mut values),
        ..newest.score.clone()
    };
    let only = |score: Score| Results {
        scores: vec![score],
        ..Results::default()
    };
    let demand = Demand {
        threshold: if line.score.extent == Some(Extent::Open) {
            Threshold::Percent(OPEN_PCT)
        } else {
            Demand::default().threshold
        },
        limited: true,
        ..Demand::default()
    };
    let report = drop::judge(&demand, &only(base), &only(line.score.clone()));
    let answer = report.answers.into_iter().find(|answer| answer.verdict == Verdict::Regression)?;
    Some(answer.because)
}

/// Whether a committed line is what its evidence gives: everything but what the accepting person said.
///
/// # Errors
/// Names what differs, or why the evidence may not be a baseline at all.
pub fn agrees(line: &ScoreLine, evidence: &Record) -> Result<(), String> {
    let key = &line.score.key;
    let wanted = Wanted {
        task: Some(&key.task),
        metric: Some(&key.metric),
    };
    let again = lines(evidence, &wanted)?.lines;
    let again = again.iter().find(|again| again.score.key == *key);
    let again = again.ok_or("the evidence has no such score")?;
    let differs = [
        ("the record", line.record != again.record),
        ("the date", line.date != again.date),
        ("the score", line.score != again.score),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        Some((what, _)) => Err(format!("{what} of the line is not what the evidence gives: {again}")),
        None => Ok(()),
    }
}
