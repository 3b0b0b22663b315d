//! What a benchmark harness says of a model: scores of tasks, groups of tasks, and which items were answered right.

pub mod baseline;
pub mod evidence;
mod item;
pub mod recipe;
mod told;

pub use told::SCORE;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::item::Item;
use super::figure::Missing;
use super::text::plain_line;

/// Longest name in a sentence, in characters.
const NAME_SHOWN: usize = 80;

/// Which score.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// The task, or the group of tasks.
    pub task: String,
    /// The metric, without its filter: `acc`, `exact_match`.
    pub metric: String,
    /// How the answer was taken from the output: `none`, `strict-match`; empty where the harness has no filters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
}

impl Key {
    /// The metric with its filter, where that says something: as rulings and waivers name it.
    pub fn filtered_metric(&self) -> String {
        match self.filter.as_str() {
            "" | "none" => self.metric.clone(),
            filter => format!("{} ({filter})", self.metric),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [task, metric, filter] = [&self.task, &self.metric, &self.filter].map(|name| plain_line(name, NAME_SHOWN));
        write!(f, "{task} {metric}")?;
        match filter.as_str() {
            "" | "none" => Ok(()),
            filter => write!(f, " ({filter})"),
        }
    }
}

/// Which way a score is good.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Aim {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// The nearer to this value of the score's own scale the better.
    Target(
        /// The value.
        f64,
    ),
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Higher => f.write_str("higher"),
            Self::Lower => f.write_str("lower"),
            Self::Target(at) => write!(f, "target:{at}"),
        }
    }
}

/// Between which ends a score lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Extent {
    /// 0 to 1.
    #[serde(rename = "0-1")]
    One,
    /// 0 to 100.
    #[serde(rename = "0-100")]
    Hundred,
    /// From 0 without an upper end, such as a perplexity: points say nothing of it.
    #[serde(rename = "open")]
    Open,
}

impl Extent {
    /// The upper end.
    pub const fn top(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Hundred => 100.0,
            Self::Open => f64::INFINITY,
        }
    }

    /// Every scale.
    pub const ALL: [Self; 3] = [Self::One, Self::Hundred, Self::Open];

    /// The word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::One => "0-1",
            Self::Hundred => "0-100",
            Self::Open => "open",
        }
    }
}

/// How a task was put to the model. What was not stated is absent, which is not "none".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Examples before the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_shot: Option<u32>,
    /// The chat template by name or digest; `none` where the prompt is plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_template: Option<String>,
    /// The task's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_version: Option<String>,
    /// The harness with its version: `lm_eval-0.4.9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// The limit on items that was asked for; `none` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// The harness's digest of the task's items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_hash: Option<String>,
    /// What else was set and may move a score, such as the batch size; never the model itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
}

/// One score. Exactly one of `value` and `missing` is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Which score.
    pub key: Key,
    /// A finite number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// Items that were answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Items that the task has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The standard error, on the scale of the value; absent where it was not reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<f64>,
    /// Which way it is good, where that is stated or declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<Aim>,
    /// Between which ends it lies, where that is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// How the task was put.
    #[serde(default)]
    pub setup: Setup,
}

impl Score {
    /// A score with its value and nothing else; what is not a finite number is missing.
    pub fn new(key: Key, value: f64) -> Self {
        let finite = value.is_finite();
        let failed = || Missing::failed("not a finite number");
        Self {
            key,
            value: finite.then_some(value),
            missing: (!finite).then(failed),
            items: None,
            of: None,
            stderr: None,
            aim: None,
            extent: None,
            setup: Setup::default(),
        }
    }

    /// Whether it was made on a part of the task's items.
    pub fn is_limited(&self) -> bool {
        let asked = self.setup.limit.as_deref().is_some_and(|limit| limit != "none");
        match self.items.zip(self.of) {
            Some((items, of)) => items < of,
            None => asked,
        }
    }
}

/// Tasks whose scores make a score of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The group as scores name it.
    pub name: String,
    /// Its tasks, and groups of them.
    pub members: Vec<String>,
}

/// Which items of a task were answered right, in the order of the items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Which score they make.
    pub key: Key,
    /// The items.
    pub items: Vec<Item>,
    /// `1` for each item answered right and `0` for each other: as long as `items`.
    pub right: String,
}

impl Outcomes {
    /// Each item with whether it was answered right.
    ///
    /// # Errors
    /// When the two lists do not fit, or hold something else.
    pub fn pairs(&self) -> Result<Vec<(Item, bool)>, String> {
        if self.items.len() != self.right.len() {
            let (items, outcomes) = (self.items.len(), self.right.len());
            return Err(format!("{}: {items} items and {outcomes} outcomes", self.key));
        }
        let read = |(&item, byte): (&Item, u8)| match byte {
            b'0' | b'1' => Ok((item, byte == b'1')),
            _ => Err(format!("{}: the outcome of item {item} is neither 0 nor 1", self.key)),
        };
        self.items.iter().zip(self.right.bytes()).map(read).collect()
    }
}

/// What one run of a harness says of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// Every score.
    pub scores: Vec<Score>,
    /// Which of them are of groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// What is known of single items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcomes>,
}

impl Results {
    /// The groups of which a member is scored here, by the groups that either side tells of: their scores count nothing beside their members'.
    pub fn beside_members<'a>(&'a self, told: &'a [Group]) -> HashSet<&'a str> {
        let scored: HashSet<&str> = self.scores.iter().map(|score| score.key.task.as_str()).collect();
        let groups = self.groups.iter().chain(told);
        let mut members: HashMap<&str, Vec<&str>> = HashMap::new();
        for group in groups {
            let names = group.members.iter().map(String::as_str);
            members
                .entry(&group.name)
                .or_default()
                .extend(names.filter(|name| *name != group.name));
        }
        let any_scored = |name: &&str| {
            let mut seen = HashSet::from([*name]);
            let mut open = vec![*name];
            while let Some(at) = open.pop() {
                for &member in members.get(at).into_iter().flatten() {
                    if seen.insert(member) {
                        if scored.contains(member) {
                            return true;
                        }
                        open.push(member);
                    }
                }
            }
            false
        };
        members.keys().copied().filter(any_scored).collect()
    }
}
