//! The runs of the base as one: of several accepted runs of a score the middle one, with how far they lie apart.

use std::collections::HashMap;

use super::{base_word, runs, shown};
use crate::judge::summary::median;
use crate::model::baseline::days_between;
use crate::model::eval::evidence::{BaseKind, ScoreRun, Scores};
use crate::model::eval::{Aim, Key, Outcomes, Results, Score};
use crate::model::text::plain_line;

/// How far the newest run may lie below the others before it is said, in points of its scale.
const LEVEL_PP: f64 = 1.0;

/// The runs of the base as one.
pub(super) struct Reference {
    pub(super) results: Results,
    spread: HashMap<Key, Spread>,
    told: Vec<String>,
}

/// What the runs of one score say together.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    /// How many runs.
    pub(super) runs: usize,
    /// The smallest value.
    pub(super) min: f64,
    /// The middle value.
    pub(super) median: f64,
    /// The largest value.
    pub(super) max: f64,
}

impl Reference {
    pub(super) fn of(scores: &Scores) -> Self {
        let mut newest_first: Vec<&ScoreRun> = scores.base.iter().collect();
        newest_first.sort_by(|one, other| other.at.cmp(&one.at));
        let mut reference = Self {
            results: Results::default(),
            spread: HashMap::new(),
            told: Vec::new(),
        };
        for run in &newest_first {
            for group in &run.results.groups {
                if reference.results.groups.iter().all(|known| known.name != group.name) {
                    reference.results.groups.push(group.clone());
                }
            }
            for score in &run.results.scores {
                // A score that one run has twice is left so: which one holds is asked later.
                let known = reference.spread.contains_key(&score.key);
                let twice = run.results.scores.iter().filter(|other| other.key == score.key).count() > 1;
                if twice && !known {
                    reference.results.scores.push(score.clone());
                } else if !known {
                    reference.add(score, &newest_first);
                }
            }
        }
        reference
    }

    /// Puts the middle of all runs of a score in, made as its newest run was made.
    fn add(&mut self, newest: &Score, newest_first: &[&ScoreRun]) {
        let of = |run: &&'_ ScoreRun| run.results.scores.iter().find(|score| score.key == newest.key).cloned();
        let all: Vec<Score> = newest_first.iter().filter_map(of).collect();
        let alike: Vec<&Score> = all.iter().filter(|other| made_alike(newest, other)).collect();
        if alike.len() < all.len() {
            self.told.push(format!(
                "{}: {} of the base made otherwise than the newest, and left out",
                newest.key,
                runs(all.len() - alike.len())
            ));
        }
        let mut values: Vec<f64> = alike.iter().filter_map(|score| score.value).collect();
        let of_newest: Option<f64> = newest.value;
        let Some(middle) = median(&mut values).filter(|_| of_newest.is_some()) else {
            self.spread.insert(newest.key.clone(), Spread::of(&[], 0.0));
            self.results.scores.push(newest.clone());
            return;
        };
        self.spread.insert(newest.key.clone(), Spread::of(&values, middle));
        self.results.scores.push(Score {
            value: Some(middle),
            ..newest.clone()
        });
        self.level(newest, middle, &values);
        self.outcomes(newest, middle, newest_first);
    }

    /// The outcomes of the run whose score is the middle one: those of another would not be of this score.
    fn outcomes(&mut self, newest: &Score, middle: f64, newest_first: &[&ScoreRun]) {
        let is_middle = |run: &&&ScoreRun| {
            let mut own = run.results.scores.iter().filter(|score| score.key == newest.key);
            own.any(|score| score.value == Some(middle) && made_alike(newest, score))
        };
        let with = newest_first.iter().filter(is_middle);
        let outcomes: Option<&Outcomes> = with
            .flat_map(|run| &run.results.outcomes)
            .find(|outcomes| outcomes.key == newest.key);
        self.results.outcomes.extend(outcomes.cloned());
    }

    /// Says where the newest run lies elsewhere than the middle that is judged with: a level that fell, or slack that grew.
    fn level(&mut self, newest: &Score, middle: f64, values: &[f64]) {
        let (Some(value), true) = (newest.value, values.len() > 1) else {
            return;
        };
        let top = newest.extent.map_or(1.0, crate::model::eval::Extent::top);
        let rise_pp = 100.0 * (value - middle) / if top.is_finite() { top } else { middle.abs() };
        let gain_pp = match newest.aim {
            Some(Aim::Lower) => -rise_pp,
            Some(Aim::Higher) => rise_pp,
            Some(Aim::Target(_)) | None => return,
        };
        if gain_pp.abs() <= LEVEL_PP {
            return;
        }
        let (way, advice) = if gain_pp > 0.0 {
            ("better", "so the base lags behind: accept the newest with --replace")
        } else {
            ("worse", "so a lower level was accepted lately")
        };
        self.told.push(format!(
            "{}: the newest accepted run ({}) is {way} than the middle of {} ({}), {advice}",
            newest.key,
            shown(value),
            runs(values.len()),
            shown(middle)
        ));
    }

    /// What the runs of a score say together.
    pub(super) fn spread(&self, key: &Key) -> Option<Spread> {
        self.spread.get(key).copied().filter(|spread| spread.runs > 0)
    }

    /// What a reader should know of the base as a whole.
    pub(super) fn warnings(&self, scores: &Scores) -> Vec<String> {
        let mut told = self.told.clone();
        if scores.base_kind == BaseKind::None {
            told.push("there is no base to compare with: name one with --baseline, or accept this record as one".to_owned());
        }
        let newest = scores.base.iter().filter_map(|run| run.at.as_deref()).max();
        let day = newest.and_then(|at| at.get(..10));
        let age = day.and_then(|day| days_between(day, &scores.today));
        if let (Some(day), Some(days)) = (day, age.filter(|days| *days > i64::from(scores.stale_after_days))) {
            told.push(format!(
                "the newest run of the {} is {days} days old ({}): run the base model again",
                base_word(scores.base_kind),
                plain_line(day, 10)
            ));
        }
        told
    }
}

impl Spread {
    fn of(values: &[f64], median: f64) -> Self {
        let fold = |first: f64, pick: fn(f64, f64) -> f64| values.iter().copied().fold(first, pick);
        Self {
            runs: values.len(),
            min: fold(median, f64::min),
            median,
            max: fold(median, f64::max),
        }
    }
}

/// Whether two runs of a score may be put together: only the value, its error and the settings that are shown beside a verdict may differ.
fn made_alike(newest: &Score, other: &Score) -> bool {
    let setup = |score: &Score| {
        let setup = score.setup.clone();
        crate::model::eval::Setup {
            config: Default::default(),
            task_hash: None,
            ..setup
        }
    };
    let hashes = (&newest.setup.task_hash, &other.setup.task_hash);
    let same_items = !matches!(hashes, (Some(one), Some(other)) if one != other);
    let same = |score: &Score| (score.items, score.of, score.extent, score.aim);
    same_items && same(newest) == same(other) && setup(newest) == setup(other)
}
