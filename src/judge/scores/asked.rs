//! What a gate asks of scores, applied to the scores of a side.

use std::collections::{HashMap, HashSet};

use crate::judge::drop::{DEFAULT_TOLERANCE_PP, Demand, Threshold};
use crate::model::eval::{Extent, Group, Key, Results, Score};
use crate::model::gate::scores::{ScorePattern, fits, names};
use crate::model::gate::{Rule, ScoreKeys};
use crate::model::metric::{Role, Scale, Tolerance};

/// A fall of so many points takes any score to its end: the rule is switched off.
const OFF_PP: f64 = 100.0;

/// What a gate asks.
pub(super) struct Asked<'a> {
    pub(super) keys: &'a ScoreKeys,
}

impl Asked<'_> {
    /// The base's scores that count, as they are declared.
    pub(super) fn of_base(&self, results: &Results) -> Results {
        self.of(results, self.keys.base_scale, false)
    }

    /// The candidate's.
    pub(super) fn of_candidate(&self, results: &Results) -> Results {
        self.of(results, self.keys.scale, true)
    }

    fn of(&self, results: &Results, scale: Option<Extent>, is_candidate: bool) -> Results {
        let ScoreKeys { tasks, groups, .. } = self.keys;
        let chosen: HashSet<&str> = results
            .groups
            .iter()
            .map(|group| group.name.as_str())
            .filter(|name| groups.iter().any(|pattern| fits(pattern, name)))
            .collect();
        let members = members(&results.groups, &chosen);
        let counts = |score: &&Score| {
            let task = score.key.task.as_str();
            let named = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, task));
            let inside = members.contains(task) && !chosen.contains(task);
            let wanted = tasks.is_empty() || named(tasks) || named(groups);
            let declared = self.keys.metrics.is_empty() || self.pattern(&score.key).is_some();
            !inside && wanted && declared
        };
        let read = |score: &Score| self.read(score, scale, is_candidate);
        Results {
            scores: results.scores.iter().filter(counts).map(read).collect(),
            groups: results
                .groups
                .iter()
                .filter(|group| !chosen.contains(group.name.as_str()))
                .cloned()
                .collect(),
            outcomes: results.outcomes.clone(),
        }
    }

    /// A score with what is declared of it. The scale of a side holds before that of a metric, and both before what the file lets one think.
    fn read(&self, score: &Score, scale: Option<Extent>, is_candidate: bool) -> Score {
        let mut score = score.clone();
        let pattern = self.pattern(&score.key);
        if let Some(aim) = pattern.and_then(|pattern| pattern.aim) {
            score.aim = Some(aim);
        }
        let of_metric = pattern
            .and_then(|pattern| pattern.extent)
            .filter(|_| is_candidate || score.extent.is_none());
        let of_side = scale.filter(|_| score.extent != Some(Extent::Open));
        score.extent = of_side.or(of_metric).or(score.extent);
        score
    }

    fn pattern(&self, key: &Key) -> Option<&ScorePattern> {
        self.keys.metrics.iter().find(|pattern| names(&pattern.name, key))
    }

    /// Whether a score is recorded and never judged.
    pub(super) fn is_info(&self, key: &Key) -> bool {
        self.pattern(key).is_some_and(|pattern| pattern.role == Role::Info)
    }

    /// A gain beyond this is suspicious, in percent of the base.
    pub(super) fn review_above_pct(&self, key: &Key) -> Option<f64> {
        self.pattern(key).and_then(|pattern| pattern.review_above_pct)
    }

    /// What a rule demands of a score.
    pub(super) fn demand(&self, rule: &Rule, key: &Key) -> Demand {
        let declared = rule.tolerance.as_ref();
        let tolerance = declared.or_else(|| self.pattern(key).and_then(|pattern| pattern.tolerance.as_ref()));
        Demand {
            threshold: tolerance.map_or(Threshold::Points(DEFAULT_TOLERANCE_PP), threshold),
            test: rule.test.unwrap_or_default(),
            limited: self.keys.limited,
            strict_config: self.keys.strict_config,
        }
    }

    /// The names that are declared and must stand on some side.
    pub(super) fn wanted<'r>(&'r self, rule: &'r Rule) -> Vec<&'r String> {
        let ScoreKeys {
            tasks, groups, metrics, ..
        } = self.keys;
        let judged = metrics.iter().filter(|pattern| pattern.role == Role::Gate);
        let declared = judged.map(|pattern| &pattern.name);
        let mut wanted: Vec<&String> = tasks.iter().chain(groups).chain(declared).chain([&rule.metric]).collect();
        wanted.retain(|name| *name != "*");
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}

/// A declared tolerance as the rule counts it.
fn threshold(tolerance: &Tolerance) -> Threshold {
    match tolerance.scale {
        Scale::Pct => Threshold::Percent(tolerance.value),
        Scale::Pp | Scale::Abs if tolerance.value >= OFF_PP => Threshold::Disabled,
        Scale::Pp | Scale::Abs => Threshold::Points(tolerance.value),
    }
}

/// A waiver's limit as the rule counts it: in points, or in percent where the score has no upper end.
///
/// # Errors
/// What to write instead, where the limit does not suit the score.
pub(super) fn limit(limit: &Tolerance, scale: Scale) -> Result<Threshold, String> {
    match (limit.scale, scale) {
        (Scale::Pp, Scale::Pp) if limit.value < OFF_PP => Ok(Threshold::Points(limit.value)),
        (Scale::Pp, Scale::Pp) => Err(format!(
            "its limit is {limit}, from which no score can fall: write less than {OFF_PP}pp"
        )),
        (Scale::Pct, Scale::Pct) => Ok(Threshold::Percent(limit.value)),
        (_, Scale::Pct) => Err(format!(
            "its limit is {limit}, and a score without an upper end has no points: write a share of the base's score, such as 5%"
        )),
        (_, Scale::Pp | Scale::Abs) => Err(format!(
            "its limit is {limit}, and a score falls by percentage points: write such as 5pp"
        )),
    }
}

/// Everything that is in one of the chosen groups, through groups of groups.
fn members<'a>(groups: &'a [Group], chosen: &HashSet<&'a str>) -> HashSet<&'a str> {
    let by_name: HashMap<&str, &Group> = groups.iter().map(|group| (group.name.as_str(), group)).collect();
    let mut found: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = chosen.iter().copied().collect();
    while let Some(at) = open.pop() {
        for member in by_name.get(at).into_iter().flat_map(|group| &group.members) {
            if found.insert(member) {
                open.push(member);
            }
        }
    }
    found
}
