//! `gate explain`: what a word means.

use anyhow::{Result, bail};
use clap::Args;

use super::answer;
use crate::model::gate::keys;
use crate::model::judgement::Verdict;
use crate::{adapter, check, exit, judge, render};

/// Explain a verdict, a rule, a flag, an adapter, a format, a preflight check, a key of gate files, or an exit code
///
/// A family lists its words: `gate explain exit`, `gate explain key`. A word after it picks one: `gate explain key
/// plan.max_session`, or a section of keys: `gate explain key plan`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The word, or a family of words; without one, every word is listed
    word: Option<String>,
    /// The word of that family
    of_family: Option<String>,
}

/// One explained word.
struct Entry {
    family: &'static str,
    word: String,
    about: String,
}

impl Entry {
    /// Whether the options mean this one.
    fn is_meant(&self, word: &str, of_family: Option<&str>) -> bool {
        let is = |word: &str| {
            let own = self.word.to_lowercase().replace('-', "_");
            let below = own.strip_prefix(word).is_some_and(|rest| rest.starts_with('.'));
            own == word || below
        };
        match of_family {
            Some(chosen) => self.family == word && is(chosen),
            None => self.family == word || is(word),
        }
    }
}

impl Explain {
    /// Prints the explanation.
    ///
    /// # Errors
    /// When there is no such word.
    pub fn run(&self) -> Result<u8> {
        let entries = entries();
        let Some(word) = &self.word else {
            let lines: Vec<String> = entries
                .iter()
                .map(|entry| format!("{:<8} {}\n", entry.family, entry.word))
                .collect();
            answer(&lines.concat())?;
            return Ok(exit::PASS.code);
        };
        let plain = |word: &str| word.to_lowercase().replace([' ', '-'], "_");
        let (wanted, of_family) = (plain(word), self.of_family.as_deref().map(plain));
        let found: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.is_meant(&wanted, of_family.as_deref()))
            .collect();
        if found.is_empty() {
            let asked = [Some(word), self.of_family.as_ref()]
                .into_iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>();
            bail!("nothing is called {:?}; `gate explain` lists every word", asked.join(" "));
        }
        let texts: Vec<String> = found
            .iter()
            .map(|entry| format!("{} {}: {}\n", entry.family, entry.word, entry.about))
            .collect();
        answer(&texts.concat())?;
        Ok(exit::PASS.code)
    }
}

/// Every word, from the same constants that the program works with.
fn entries() -> Vec<Entry> {
    let verdicts = Verdict::ALL.iter().map(|verdict| {
        let about = format!("{} Outcome of a required rule: {}.", verdict.meaning(), verdict.outcome());
        Entry {
            family: "verdict",
            word: verdict.word().to_owned(),
            about,
        }
    });
    let rules = judge::rule::ALL.iter().map(|kind| Entry {
        family: "rule",
        word: kind.name.to_owned(),
        about: kind.about.to_owned() + ".",
    });
    let flags = judge::flag::ALL.iter().map(|flag| {
        let limits = flag
            .limits
            .iter()
            .map(|limit| format!("\n  limit     {} = {}: {}", limit.name, limit.default, limit.about));
        let about = format!("{}.\n  effect    {}{}", flag.about, flag.effect.word(), limits.collect::<String>());
        Entry {
            family: "flag",
            word: flag.name.to_owned(),
            about,
        }
    });
    let exits = exit::ALL.iter().map(|exit| Entry {
        family: "exit",
        word: exit.code.to_string(),
        about: format!("{}: {}.", exit.word, exit.means),
    });
    let adapters = adapter::ALL.iter().map(|adapter| Entry {
        family: "adapter",
        word: adapter.name.to_owned(),
        about: adapter.about.to_owned(),
    });
    let formats = render::ALL.iter().map(|format| Entry {
        family: "format",
        word: format.name.to_owned(),
        about: format.about.to_owned() + ".",
    });
    let checks = check::ALL.iter().map(|check| Entry {
        family: "check",
        word: check.id.to_owned(),
        about: format!(
            "{}\n  looks at  {}\n  pass / warn / fail: {}\n  then      {}",
            check.why, check.source, check.rule, check.hint
        ),
    });
    let keys = keys::all().map(|key| Entry {
        family: "key",
        word: key.path.to_owned(),
        about: format!("{}\n  takes    {}\n  default  {}", key.about, key.takes, key.default_text()),
    });
    let words = verdicts.chain(rules).chain(flags).chain(exits).chain(adapters).chain(formats);
    words.chain(checks).chain(keys).collect()
}
