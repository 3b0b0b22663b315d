//! Whether two scores of a task may be compared at all: first of all questions, because a difference in how they were made is no drop.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::eval::{Aim, Extent, Score};
use crate::model::text::plain_line;

/// Longest foreign word in a sentence, in characters.
const SHOWN: usize = 60;

/// Two scores on the scale 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shares {
    pub(super) base: f64,
    pub(super) candidate: f64,
    /// Which way is good; a target on the same scale.
    pub(super) aim: Aim,
    /// How the standard errors are brought to the scale.
    pub(super) tops: [f64; 2],
}

/// What cannot be compared, and what to do.
pub(super) struct Differs {
    pub(super) why: String,
    pub(super) next: &'static str,
}

/// What was not stated on either side, so that nobody can tell whether it differs.
pub(super) fn unstated(base: &Score, candidate: &Score) -> Vec<&'static str> {
    let fields = fields(base, candidate).into_iter();
    fields
        .filter(|(_, [a, b])| a.is_none() && b.is_none())
        .map(|(name, _)| name)
        .collect()
}

/// Every difference in how the two were made, with both values; other settings only where `strict`.
pub(super) fn differences(base: &Score, candidate: &Score, strict: bool) -> Option<Differs> {
    let fields = fields(base, candidate).into_iter().filter(|(_, [a, b])| a != b);
    let mut named: Vec<String> = fields.map(|(name, [a, b])| differing(name, a.as_deref(), b.as_deref())).collect();
    if strict {
        named.extend(settings(base, candidate));
    }
    (!named.is_empty()).then(|| Differs {
        why: format!("the two were not made alike: {}", named.join("; ")),
        next: "Run the candidate as the base was run, or run the base again.",
    })
}

/// The other settings that differ, with both values.
pub(super) fn settings(base: &Score, candidate: &Score) -> Vec<String> {
    let [a, b] = [&base.setup.config, &candidate.setup.config];
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differing_ones = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let text = |side: &'_ BTreeMap<String, String>, name: &str| side.get(name).cloned();
    differing_ones
        .map(|name| differing(&plain_line(name, SHOWN), text(a, name).as_deref(), text(b, name).as_deref()))
        .collect()
}

fn differing(name: &str, base: Option<&str>, candidate: Option<&str>) -> String {
    let [a, b] = [base, candidate].map(|value| value.map_or_else(|| "not stated".to_owned(), |text| plain_line(text, SHOWN)));
    format!("{name}: {a} in the base, {b} in the candidate")
}

fn fields(base: &Score, candidate: &Score) -> [(&'static str, [Option<String>; 2]); 8] {
    let both = |of: fn(&Score) -> Option<String>| [of(base), of(candidate)];
    // The harness states it only where it logs the items, so that one alone is no difference.
    let hashes = both(|score| score.setup.task_hash.clone());
    let hashes = if hashes.iter().all(Option::is_some) {
        hashes
    } else {
        [None, None].map(|_: Option<String>| Some(String::new()))
    };
    [
        (
            "few-shot examples",
            both(|score| score.setup.few_shot.map(|shots| shots.to_string())),
        ),
        ("chat template", both(|score| score.setup.chat_template.clone())),
        ("task version", both(|score| score.setup.task_version.clone())),
        ("digest of the items", hashes),
        ("harness", both(|score| score.setup.harness.clone())),
        ("limit", both(|score| score.setup.limit.clone())),
        ("items", both(|score| score.items.map(|items| items.to_string()))),
        ("items of the task", both(|score| score.of.map(|items| items.to_string()))),
    ]
}

/// Brings two values to one scale and one direction, or says why not.
pub(super) fn shares([base_value, candidate_value]: [f64; 2], base: &Score, candidate: &Score) -> Result<Shares, Differs> {
    let aim = aim(base, candidate)?;
    let [from, to] = extents([base_value, candidate_value], base, candidate)?;
    let aim = match aim {
        Aim::Target(at) => Aim::Target(at / from.top()),
        other => other,
    };
    Ok(Shares {
        base: base_value / from.top(),
        candidate: candidate_value / to.top(),
        aim,
        tops: [from.top(), to.top()],
    })
}

/// A direction that one side states holds for both.
pub(super) fn aim(base: &Score, candidate: &Score) -> Result<Aim, Differs> {
    match (base.aim, candidate.aim) {
        (Some(one), Some(other)) if one != other => Err(Differs {
            why: format!("which way is good differs: {one} in the base, {other} in the candidate"),
            next: "Declare which is better.",
        }),
        (Some(aim), _) | (None, Some(aim)) => Ok(aim),
        (None, None) => Err(Differs {
            why: "neither side states whether more or less is better, and it is not guessed from a name".to_owned(),
            next: "Declare which is better: higher, lower or a target.",
        }),
    }
}

/// Declared scales are taken at their word. Undeclared ones must be seen to be one scale: both values within 0 and 1.
fn extents(values: [f64; 2], base: &Score, candidate: &Score) -> Result<[Extent; 2], Differs> {
    const DECLARE: &str = "Declare the `scale` of each side: 0-1 or 0-100.";
    let inside = values.map(|value| (0.0..=1.0).contains(&value));
    let [a, b] = values;
    let extents = match (base.extent, candidate.extent) {
        (Some(one), Some(other)) => [one, other],
        (None, None) if inside == [true, true] => [Extent::One; 2],
        // A declaration on one side speaks of both, unless the other side's value cannot be on it or could be on either.
        (Some(one), None) | (None, Some(one)) if (one == Extent::One) == inside[0] && inside[0] == inside[1] => [one; 2],
        _ => {
            let why = if inside[0] == inside[1] {
                format!("the scale is not known: {a} in the base, {b} in the candidate")
            } else {
                format!("the scale differs: {a} in the base, {b} in the candidate")
            };
            return Err(Differs { why, next: DECLARE });
        }
    };
    for ((value, extent), side) in values.into_iter().zip(extents).zip(["base", "candidate"]) {
        if !(0.0..=extent.top()).contains(&value) {
            let why = format!("{value} in the {side} lies outside the scale {}", extent.word());
            return Err(Differs { why, next: DECLARE });
        }
    }
    Ok(extents)
}
