//! What a gate asks of scores: which of them count, on which scale, against whose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::eval::{Aim, Extent, Key};
use crate::model::metric::{Role, Tolerance};

/// What the failure of a score rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Test {
    /// The fall of the score alone; the paired result stands beside it.
    #[default]
    Point,
    /// The fall of the score, and the paired test too.
    Paired,
}

/// Which scores count, and how they are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreKeys {
    /// The tasks that count; none means every one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The groups that count in the place of their members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Whether a difference in any setting makes two scores incomparable.
    #[serde(default)]
    pub strict_config: bool,
    /// Whether runs on a part of the items are judged, where both sides have the same limit.
    #[serde(default)]
    pub limited: bool,
    /// The scale of the candidate's scores, where it is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Extent>,
    /// The scale of the base's scores, where it is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_scale: Option<Extent>,
    /// The model that the base's scores must be of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model: Option<ModelName>,
    /// What is declared of single scores; the first that fits a score speaks of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<ScorePattern>,
}

/// What is declared of some scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScorePattern {
    /// A pattern of a task, a metric, or both: `gsm8k`, `acc`, `mmlu_*/acc`.
    pub name: String,
    /// Which way they are good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<Aim>,
    /// Between which ends they lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// How far they may fall, where no rule says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<Tolerance>,
    /// Whether they decide.
    #[serde(default)]
    pub role: Role,
    /// A gain beyond this passes with the warning "suspicious improvement", in percent of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_above_pct: Option<f64>,
}

/// A model as far as it is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelName {
    /// Its name: `Qwen/Qwen3-8B`.
    pub id: String,
    /// The digest of its files, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Longest name of a model, in bytes.
const NAME_MAX_BYTES: usize = 500;

impl ModelName {
    /// Reads `ID` or `ID@DIGEST`, the digest 8 to 64 hexadecimal digits.
    ///
    /// # Errors
    /// What is wrong, and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("{why}: write for example Qwen/Qwen3-8B, or Qwen/Qwen3-8B@9f2c41aa"));
        if text.len() > NAME_MAX_BYTES || text.chars().any(char::is_control) {
            return wrong("a model's name is at most 500 bytes without control characters");
        }
        let (id, digest) = match text.trim().rsplit_once('@') {
            Some((id, digest)) => (id, Some(digest.to_ascii_lowercase())),
            None => (text.trim(), None),
        };
        if id.is_empty() {
            return wrong("the model has no name");
        }
        if digest
            .as_deref()
            .is_some_and(|digest| !crate::model::eval::baseline::is_digest(digest))
        {
            return wrong("a digest is 8 to 64 hexadecimal digits");
        }
        Ok(Self { id: id.to_owned(), digest })
    }

    /// Whether another name can be of the same model: the ids are equal, and of two digests the longer begins with the shorter.
    pub fn agrees(&self, other: &Self) -> bool {
        let same_digest = match (&self.digest, &other.digest) {
            (Some(one), Some(other)) => one.starts_with(other.as_str()) || other.starts_with(one.as_str()),
            _ => true,
        };
        self.id == other.id && same_digest
    }
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = crate::model::text::plain_line(&self.id, 100);
        match &self.digest {
            Some(digest) => write!(f, "{id} ({digest})"),
            None => f.write_str(&id),
        }
    }
}

/// Whether a pattern names a score: by its task, its metric, `METRIC,FILTER`, or one of these behind `TASK/`. A star stands for any characters.
pub fn names(pattern: &str, key: &Key) -> bool {
    let Key { task, metric, filter } = key;
    let filtered = format!("{metric},{filter}");
    let short = [task, metric, &filtered].into_iter().any(|name| fits(pattern, name));
    short || [metric, &filtered].into_iter().any(|name| fits(pattern, &format!("{task}/{name}")))
}

/// Whether a text fits a pattern in which a star stands for any characters.
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_their_stars_say() {
        for (pattern, text, fitting) in [
            ("acc", "acc", true),
            ("acc", "acc_norm", false),
            ("*", "", true),
            ("mmlu_*", "mmlu_law", true),
            ("mmlu_*", "mmlu", false),
            ("*_law", "mmlu_law", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a[b", "a[b", true),
        ] {
            assert_eq!(fits(pattern, text), fitting, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_score_is_named_by_task_metric_or_both() {
        let key = Key {
            task: "gsm8k".to_owned(),
            metric: "exact_match".to_owned(),
            filter: "strict-match".to_owned(),
        };
        for pattern in [
            "gsm8k",
            "exact_match",
            "exact_match,strict-match",
            "gsm8k/exact_match",
            "gsm8k/*",
            "*",
        ] {
            assert!(names(pattern, &key), "{pattern}");
        }
        for pattern in ["gsm", "strict-match", "gsm8k/acc", "gsm8k/exact_match,none", ""] {
            assert!(!names(pattern, &key), "{pattern}");
        }
    }

    #[test]
    fn models_agree_by_name_and_by_as_much_digest_as_both_have() {
        let of = |text: &str| ModelName::parse(text).unwrap();
        let known = of("Qwen/Qwen3-8B@9f2c41aa0011");
        for (other, agrees) in [
            ("Qwen/Qwen3-8B", true),
            ("Qwen/Qwen3-8B@9f2c41aa", true),
            ("Qwen/Qwen3-8B@9f2c41ab", false),
            ("Qwen/Qwen3-4B@9f2c41aa", false),
        ] {
            assert_eq!((known.agrees(&of(other)), of(other).agrees(&known)), (agrees, agrees), "{other}");
        }
        for text in ["", "@9f2c41aa", "m@xyz", "m@12", "a\\nb@", "m@"] {
            assert!(ModelName::parse(text).is_err(), "{text}");
        }
    }
}
