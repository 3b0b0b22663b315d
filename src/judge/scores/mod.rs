//! A record of scores: what is declared of them, against which runs of the base, and one ruling a score.

pub mod acceptance;
mod asked;
mod reference;
mod ruling;
mod worth;

use std::collections::{HashMap, HashSet};

use asked::Asked;
use reference::Reference;

use super::Case;
use super::drop::{self, Answer, Demand, Report};
use super::rule::waived;
use crate::model::eval::evidence::{BaseKind, Scores};
use crate::model::eval::{Key, Results};
use crate::model::gate::scores::names;
use crate::model::gate::{Rule, ScoreKeys};
use crate::model::judgement::{ENGINE, Judgement, Outcome, Ruling, Step, Verdict};
use crate::model::number::{count, figure};
use crate::model::text::plain_line;

/// The kind of rule that speaks of scores.
pub const KIND: &str = "drop";
/// Most names in one sentence.
const NAMED_MAX: usize = 6;

/// Judges the scores of a case.
pub fn judge(case: &Case<'_>, scores: &Scores) -> Judgement {
    let nothing = ScoreKeys::default();
    let keys = case.gate.scores.as_ref().unwrap_or(&nothing);
    let asked = Asked { keys };
    let reference = Reference::of(scores);
    let base = asked.of_base(&reference.results);
    let candidate = asked.of_candidate(&scores.candidate.results);
    let mut warnings = reference.warnings(scores);
    warnings.extend(foreign_model(keys, scores).err().iter().cloned());
    warnings.extend(unnamed_model(keys, scores));

    let mut verdicts = Vec::new();
    for rule in &case.gate.rules {
        let judging = Judging {
            case,
            rule,
            asked: &asked,
            scores,
            reference: &reference,
        };
        verdicts.extend(match foreign_model(keys, scores) {
            _ if rule.kind != KIND => vec![judging.unknown_kind()],
            Err(why) => judging.stale(&candidate, &why),
            Ok(()) => judging.rulings(&base, &candidate, &mut warnings),
        });
    }
    warnings.extend(common(&mut verdicts));
    warnings.extend(renamed(&verdicts, &base, &candidate));
    for run in scores.base.iter().chain([&scores.candidate]) {
        let file = plain_line(&run.file, 100);
        warnings.extend(run.notes.iter().map(|note| format!("{file}: {}", plain_line(note, 500))));
    }
    let outcome = outcome(case, &verdicts);
    let (disposition, disposition_because) = worth::of(case, scores, &verdicts);
    Judgement {
        engine: ENGINE,
        outcome,
        disposition,
        disposition_because,
        verdicts,
        warnings,
        step: Step::Stop,
    }
}

/// The gravest outcome of what is required. What only the candidate has answers no question: alone, it is nothing checked.
fn outcome(case: &Case<'_>, verdicts: &[Ruling]) -> Outcome {
    let required = verdicts.iter().filter(|ruling| ruling.required && ruling.verdict != Verdict::New);
    let advised = case.context.new_gate && !verdicts.is_empty();
    let nothing = if advised { Outcome::Pass } else { Outcome::Inconclusive };
    required.map(|ruling| ruling.outcome).max().unwrap_or(nothing)
}

/// Refuses a base of another model than the declared one.
fn foreign_model(keys: &ScoreKeys, scores: &Scores) -> Result<(), String> {
    let Some(wanted) = &keys.base_model else { return Ok(()) };
    let other = scores
        .base
        .iter()
        .filter_map(|run| run.model.as_ref())
        .find(|model| !wanted.agrees(model));
    match other {
        None => Ok(()),
        Some(other) => Err(format!(
            "the base's scores are of the model {other}, and those of {wanted} are wanted"
        )),
    }
}

/// Says where nothing tells of which model the base's scores must be, or are.
fn unnamed_model(keys: &ScoreKeys, scores: &Scores) -> Option<String> {
    let first = scores.base.first()?;
    match (&keys.base_model, &first.model) {
        (None, Some(model)) => Some(format!(
            "nothing says of which model the base's scores must be: they are of {model}"
        )),
        (None, None) => Some("nothing says of which model the base's scores are, nor must be".to_owned()),
        (Some(wanted), None) => Some(format!(
            "the base's scores do not say of which model they are: those of {wanted} are wanted"
        )),
        (Some(_), Some(_)) => None,
    }
}

/// One rule on all scores that it speaks of.
struct Judging<'a> {
    case: &'a Case<'a>,
    rule: &'a Rule,
    asked: &'a Asked<'a>,
    scores: &'a Scores,
    reference: &'a Reference,
}

impl Judging<'_> {
    /// One ruling a score: what has one tolerance is judged together.
    fn rulings(&self, base: &Results, candidate: &Results, warnings: &mut Vec<String>) -> Vec<Ruling> {
        let beside: [HashSet<&str>; 2] = [base.beside_members(&candidate.groups), candidate.beside_members(&base.groups)];
        let shown_only = |key: &Key| beside.iter().any(|beside| beside.contains(key.task.as_str()));
        let mut demands: Vec<(Demand, HashSet<&Key>)> = Vec::new();
        let keys = base.scores.iter().chain(&candidate.scores).map(|score| &score.key);
        for key in keys.filter(|key| names(&self.rule.metric, key)) {
            let demand = self.asked.demand(self.rule, key);
            match demands.iter_mut().find(|(other, _)| *other == demand) {
                Some((_, keys)) => drop(keys.insert(key)),
                None => demands.push((demand, HashSet::from([key]))),
            }
        }
        let mut rulings: Vec<Ruling> = Vec::new();
        for (demand, keys) in &demands {
            let only = |results: &Results| Results {
                scores: results.scores.iter().filter(|score| keys.contains(&score.key)).cloned().collect(),
                groups: results.groups.clone(),
                outcomes: results.outcomes.clone(),
            };
            let sides = [only(base), only(candidate)];
            let ask = |demand: &Demand| drop::judge(demand, &sides[0], &sides[1]);
            let Report { answers, noise, .. } = ask(demand);
            warnings.extend(noise);
            rulings.extend(answers.into_iter().map(|mut answer| {
                answer.counted &= !shown_only(&answer.key) && !self.asked.is_info(&answer.key);
                self.excused(self.ruling(demand, &answer), demand, &answer, ask)
            }));
        }
        let named: HashSet<&Key> = base.scores.iter().chain(&candidate.scores).map(|score| &score.key).collect();
        rulings.extend(self.unmet(&named));
        rulings
    }

    /// The ruling, where a waiver speaks of it: the same scores asked again with the waiver's limit as the tolerance.
    fn excused(&self, ruling: Ruling, demand: &Demand, answer: &Answer, ask: impl Fn(&Demand) -> Report) -> Ruling {
        let Case { context, gate, .. } = self.case;
        let Some(waiver) = waived::find(context, &gate.name, ruling.against, &ruling.cell.fixture, &ruling.metric) else {
            return ruling;
        };
        let scale = ruling.scale;
        waived::judge(ruling, waiver, |limit| {
            let limited = Demand {
                threshold: asked::limit(limit, scale)?,
                ..*demand
            };
            let within = ask(&limited).answers.into_iter().find(|other| other.key == answer.key);
            let within = within.ok_or("the score is not there when it is asked again")?;
            Ok(self.ruling(&limited, &within))
        })
    }

    /// What is declared by name and stands on neither side: not measured, whatever else passes.
    fn unmet(&self, named: &HashSet<&Key>) -> Vec<Ruling> {
        let wanted = self.asked.wanted(self.rule);
        let unmet = wanted.into_iter().filter(|pattern| !named.iter().any(|key| names(pattern, key)));
        unmet
            .map(|pattern| {
                let because = format!(
                    "{}: no score of either side has this name: not measured, which is no pass.",
                    plain_line(pattern, 100)
                );
                self.bare(
                    pattern,
                    Verdict::NotMeasured,
                    because,
                    "Run the task, or mend the name in the gate.",
                )
            })
            .collect()
    }

    /// Every score of the candidate, beside a base that is of another model.
    fn stale(&self, candidate: &Results, why: &str) -> Vec<Ruling> {
        let scores = candidate.scores.iter().filter(|score| names(&self.rule.metric, &score.key));
        let stale = |key: &Key| {
            let because = format!("{key}: {why}.");
            let next = "Name a baseline of that model, or accept one.";
            Ruling {
                metric: key.filtered_metric(),
                ..self.bare(&key.task, Verdict::StaleBaseline, because, next)
            }
        };
        scores.map(|score| stale(&score.key)).collect()
    }

    fn unknown_kind(&self) -> Ruling {
        let because = format!("A rule of the kind {} says nothing of scores.", plain_line(&self.rule.kind, 60));
        let next = "Judge it with the command that measures it, or with the version that wrote the gate.";
        Ruling {
            outcome: Outcome::Error,
            ..self.bare("*", Verdict::Incomparable, because, next)
        }
    }
}

/// What is said of every score that was compared is said once.
fn common(verdicts: &mut [Ruling]) -> Vec<String> {
    let compared = |ruling: &&Ruling| ruling.base.is_some() && ruling.candidate.is_some();
    let (Some(first), true) = (verdicts.iter().find(compared), verdicts.iter().filter(compared).count() > 1) else {
        return Vec::new();
    };
    let in_all = |warning: &&String| verdicts.iter().filter(compared).all(|ruling| ruling.warnings.contains(warning));
    let of_the_run = |warning: &&String| drop::OF_THE_RUN.iter().any(|words| warning.starts_with(words));
    let common: Vec<String> = first.warnings.iter().filter(of_the_run).filter(in_all).cloned().collect();
    for ruling in verdicts.iter_mut() {
        ruling.warnings.retain(|warning| !common.contains(warning));
    }
    common.into_iter().map(|warning| format!("of every score: {warning}")).collect()
}

/// A score that went and one that came with the same metric, value and items: probably one task under two names.
fn renamed(verdicts: &[Ruling], base: &Results, candidate: &Results) -> Option<String> {
    let of = |results: &'_ Results, other: &Results| -> Vec<(Key, u64, u64)> {
        let alone = results
            .scores
            .iter()
            .filter(|score| !other.scores.iter().any(|same| same.key == score.key));
        alone
            .filter_map(|score| Some((score.key.clone(), score.value?.to_bits(), score.items?)))
            .collect()
    };
    if verdicts.iter().all(|ruling| ruling.verdict != Verdict::New) {
        return None;
    }
    let (gone, come) = (of(base, candidate), of(candidate, base));
    let pairs: HashMap<String, String> = gone
        .iter()
        .filter_map(|(key, value, items)| {
            let same = |(other, v, n): &&(Key, u64, u64)| other.metric == key.metric && v == value && n == items;
            let [one] = come.iter().filter(same).collect::<Vec<_>>()[..] else {
                return None;
            };
            Some((key.to_string(), one.0.to_string()))
        })
        .collect();
    let mut shown: Vec<String> = pairs.iter().map(|(was, is)| format!("{was} is {is}")).collect();
    shown.sort_unstable();
    shown.truncate(NAMED_MAX);
    (!shown.is_empty()).then(|| format!("renamed? value and items agree: {}", shown.join("; ")))
}

/// A number of runs in words.
fn runs(number: usize) -> String {
    count(number as u64, "run")
}

/// A score as its own scale has it.
fn shown(value: f64) -> String {
    figure(value)
}

/// The word for a base in sentences.
const fn base_word(kind: BaseKind) -> &'static str {
    match kind {
        BaseKind::Baseline => "baseline",
        BaseKind::Results | BaseKind::None => "base",
    }
}
