//! Every key of a gate file: what it means, what it takes, and what holds where it is absent.
//!
//! The parser refuses what is not in this table; tests hold it to reading all of it, with these defaults.

mod judging;
mod running;

/// Every key, in the order in which a file has them.
pub fn all() -> impl Iterator<Item = &'static Key> {
    running::KEYS.iter().chain(judging::KEYS)
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its place: `plan.max_session`; `metric.unit` is a key of every `[[metric]]`.
    pub path: &'static str,
    /// What it means, in one sentence.
    pub about: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// What holds where it is absent.
    pub absent: Absent,
}

/// What holds where a key is absent.
#[derive(Debug, Clone, Copy)]
pub enum Absent {
    /// The file is refused.
    Refused,
    /// This value, as the file would write it.
    Value(&'static str),
    /// What these words say.
    Means(&'static str),
}

impl Key {
    /// The default as text.
    pub fn default_text(&self) -> &'static str {
        match self.absent {
            Absent::Refused => "none: it must be given",
            Absent::Value(text) | Absent::Means(text) => text,
        }
    }
}

/// The names that may stand in a section, in the order of the table: keys and the sections below it. The root is `""`.
pub fn names(section: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for key in all() {
        let below = match section {
            "" => Some(key.path),
            _ => key.path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')),
        };
        let name = below.and_then(|rest| rest.split('.').next());
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

/// The section in which a name is a key, for a message about a name in the wrong place.
pub fn home(name: &str) -> Option<&'static str> {
    let place = |key: &Key| key.path.rsplit_once('.').filter(|(_, last)| *last == name);
    all().find_map(place).map(|(section, _)| section)
}

const fn key(path: &'static str, absent: Absent, takes: &'static str, about: &'static str) -> Key {
    Key {
        path,
        about,
        takes,
        absent,
    }
}

const SWITCH: &str = "true or false";
const TEXTS: &str = "a list of texts";
const WORDS: &str = "a list of words, one an argument: no shell reads it";
const DURATION: &str = "a duration, such as \"45s\", \"10m\" or \"1h 30m\"";
const RATE: &str = "a rate from 0.000001 to below 0.5";
const PATTERNS: &str = "a list of patterns relative to the tree, such as \"src/**\"";
const VARIABLES: &str = "a table of texts by variable name";
const PERCENT: &str = "a percentage, such as \"5%\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_row_and_one_sentence() {
        for (at, key) in all().enumerate() {
            assert!(all().take(at).all(|other| other.path != key.path), "{} stands twice", key.path);
            let sentence = key.about.ends_with('.') && !key.about.trim_end_matches('.').contains(". ");
            assert!(sentence, "{}: {:?} is not one sentence", key.path, key.about);
            assert!(!key.takes.is_empty() && !key.default_text().is_empty(), "{}", key.path);
        }
    }

    #[test]
    fn sections_follow_from_the_table() {
        assert_eq!(
            names(""),
            [
                "version",
                "about",
                "source",
                "when",
                "arms",
                "serve",
                "run",
                "plan",
                "telemetry",
                "fixture",
                "metric",
                "rule",
                "require",
                "ingest"
            ]
        );
        assert_eq!(names("arms.a"), ["rev", "path", "args", "env"]);
        assert_eq!(names("plan.warmup"), ["helper", "seconds"]);
        assert_eq!((home("max_session"), home("nothing")), (Some("plan"), None));
    }
}
