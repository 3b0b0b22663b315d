//! `gate explain`: what a word means.

use anyhow::{Result, bail};
use clap::Args;

use super::answer;
use crate::model::judgement::Verdict;
use crate::{adapter, exit, judge, render};

/// Explain a verdict, a rule, an adapter, a format, or `exit`
#[derive(Debug, Args)]
pub struct Explain {
    /// The word; without one, every word is listed
    word: Option<String>,
}

/// One explained word.
struct Entry {
    family: &'static str,
    word: String,
    about: String,
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
        let wanted = word.to_lowercase().replace([' ', '-'], "_");
        let found: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.word.replace('-', "_") == wanted || entry.family == wanted)
            .collect();
        if found.is_empty() {
            bail!("nothing is called {word:?}; `gate explain` lists every word");
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
    verdicts.chain(rules).chain(exits).chain(adapters).chain(formats).collect()
}
