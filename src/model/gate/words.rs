//! Commands, variables and the placeholders in them.

use std::collections::BTreeMap;

use super::fault::nearest;
use super::paths::climbs;
use super::reading::{Table, Use, Value};
use super::value;
use crate::model::text::plain_line;
use crate::model::variable;

/// Every placeholder.
const PLACEHOLDERS: [&str; 6] = ["tree", "model", "prompt", "args", "out", "port"];
/// Those that a build has.
pub(super) const BUILD: &[&str] = &["tree"];
/// Those that a process of a slot has.
pub(super) const SLOT: &[&str] = &["tree", "model", "prompt", "out", "port"];
/// Those of the measured command, where `{args}` is a whole word.
pub(super) const COMMAND: &[&str] = &PLACEHOLDERS;

const WORDS: &str = "a list of words, such as [\"-p\", \"512\"] (no shell reads it),";

/// What a word in braces must look like to be a placeholder: other braces are the program's own.
fn in_braces(word: &str) -> impl Iterator<Item = &str> {
    let named = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let pieces = word
        .split('{')
        .skip(1)
        .filter_map(|piece| piece.split_once('}').map(|(name, _)| name));
    pieces.filter(move |name| !name.is_empty() && named(name))
}

/// Checks the placeholders of a word, and gives them.
pub(super) fn placeholders(word: &str, allowed: &[&str]) -> Result<Vec<&'static str>, String> {
    let mut found = Vec::new();
    for name in in_braces(word) {
        let Some(known) = PLACEHOLDERS.iter().find(|known| **known == name) else {
            let all: Vec<String> = PLACEHOLDERS.iter().map(|known| format!("{{{known}}}")).collect();
            let advice = match nearest(name, &PLACEHOLDERS) {
                Some(meant) => format!("did you mean {{{meant}}}?"),
                None => format!("known are {}", all.join(" ")),
            };
            return Err(format!("unknown placeholder {{{}}}: {advice}", plain_line(name, 60)));
        };
        if !allowed.contains(known) {
            let here: Vec<String> = allowed.iter().map(|known| format!("{{{known}}}")).collect();
            return Err(format!("{{{known}}} has no meaning here: only {} have one", here.join(" ")));
        }
        if *known == "args" && word != "{args}" {
            return Err(format!(
                "{{args}} inside the word {:?}: it stands for several words, so make it a word of its own",
                plain_line(word, 60)
            ));
        }
        found.push(*known);
    }
    let from_a_folder = found.iter().any(|name| matches!(*name, "tree" | "out"));
    if from_a_folder && climbs(word) {
        return Err(format!("{:?} leaves the folder: take the .. out", plain_line(word, 60)));
    }
    Ok(found)
}

/// Words with their placeholders checked and noted.
pub(super) fn words(table: &Table<'_>, key: &str, allowed: &[&str]) -> Vec<String> {
    let read = |word: &toml::de::DeValue<'_>| {
        let text = value::text(word)?;
        placeholders(&text, allowed).map(|found| (text, found))
    };
    let mut kept = Vec::new();
    for (at, (text, found)) in table.list(key, WORDS, read) {
        note(table, key, at, &found);
        kept.push(text);
    }
    kept
}

fn note(table: &Table<'_>, key: &str, at: usize, found: &[&'static str]) {
    let uses = found.iter().map(|placeholder| Use {
        at,
        key: table.name_of(key),
        placeholder,
    });
    table.reading.uses.borrow_mut().extend(uses);
}

/// A command: its words, of which the first is a program.
pub(super) fn command(table: &Table<'_>, key: &str, allowed: &[&str]) -> Vec<String> {
    if table.value(key).is_none() {
        table.need(key, value::text);
    } else if let Some(items) = table.items(key, WORDS) {
        check_program(table, key, table.value(key).map_or(table.at, |value| value.span().start), items);
    }
    words(table, key, allowed)
}

/// Several commands.
pub(super) fn commands(table: &Table<'_>, key: &str, allowed: &[&str]) -> Vec<Vec<String>> {
    let wants = "a list of commands, such as [[\"cargo\", \"build\"]],";
    let mut commands = Vec::new();
    for item in table.items(key, wants).unwrap_or_default() {
        let at = item.span().start;
        let Some(items) = item.get_ref().as_array() else {
            table.fault(at, key, &value::mismatch(item.get_ref(), WORDS));
            continue;
        };
        check_program(table, key, at, items);
        let mut words = Vec::new();
        for word in items.iter() {
            let read = value::text(word.get_ref()).and_then(|text| placeholders(&text, allowed).map(|_| text));
            match read {
                Ok(text) => words.push(text),
                Err(why) => table.fault(word.span().start, key, &why),
            }
        }
        commands.push(words);
    }
    commands
}

/// Notes a command without a program.
fn check_program(table: &Table<'_>, key: &str, at: usize, words: &[Value<'_>]) {
    let Some(first) = words.first() else {
        return table.fault(at, key, "an empty command: give a program and its arguments");
    };
    match first.get_ref().as_str() {
        Some(program) if program.trim().is_empty() => {
            table.fault(first.span().start, key, "the program's name is empty: give a program");
        }
        Some("{args}") => table.fault(
            first.span().start,
            key,
            "{args} where the program's name is expected: give a program first",
        ),
        _ => {}
    }
}

/// Variables by name, with the placeholders of their values checked and noted.
pub(super) fn variables(table: &Table<'_>, key: &str, allowed: &[&str]) -> BTreeMap<String, String> {
    let wants = "a table of texts, such as { OMP_NUM_THREADS = \"8\" },";
    let mut kept = BTreeMap::new();
    let Some(entries) = table.free(key, wants) else { return kept };
    for (name, value) in entries.iter() {
        let spelled = name.get_ref().as_ref();
        if let Err(why) = check_settable(spelled) {
            table.fault(name.span().start, key, &why);
            continue;
        }
        let at = value.span().start;
        match value::text(value.get_ref()).and_then(|text| placeholders(&text, allowed).map(|found| (text, found))) {
            Ok((text, found)) => {
                note(table, key, at, &found);
                kept.insert(spelled.to_owned(), text);
            }
            Err(why) => table.fault(at, key, &format!("{spelled}: {why}")),
        }
    }
    kept
}

fn check_settable(name: &str) -> Result<(), String> {
    variable::check_name(name)?;
    if variable::is_held_back(name) {
        return Err(format!(
            "{name} is withheld from measured processes, and a secret's value would stand in every record: set it outside, and name it in run.pass_env"
        ));
    }
    Ok(())
}

/// Names of variables, each once.
pub(super) fn names(table: &Table<'_>, key: &str, check: impl Fn(&str) -> Result<(), String>) -> Vec<String> {
    distinct(table, key, "a list of variable names, such as [\"HF_TOKEN\"],", |value| {
        let name = value::text(value)?;
        check(&name).map(|()| name)
    })
}

/// Texts, each once.
pub(super) fn distinct(
    table: &Table<'_>,
    key: &str,
    wants: &str,
    read: impl Fn(&toml::de::DeValue<'_>) -> Result<String, String>,
) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for (at, text) in table.list(key, wants, read) {
        if kept.contains(&text) {
            table.fault(at, key, &format!("{:?} stands twice: keep one", plain_line(&text, 60)));
        } else {
            kept.push(text);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_other_braces() {
        for (word, found) in [
            ("{tree}/bin/x", &["tree"][..]),
            ("--port={port}", &["port"]),
            ("{tree}:{out}", &["tree", "out"]),
            ("{args}", &["args"]),
            ("{\"a\": 1}", &[]),
            ("${HOME}", &[]),
            ("{}", &[]),
            ("{unclosed", &[]),
            ("a}b{", &[]),
        ] {
            assert_eq!(placeholders(word, COMMAND).unwrap(), found, "{word}");
        }
        for (word, allowed, message) in [
            ("{modle}", COMMAND, "did you mean {model}?"),
            ("{whatever}", COMMAND, "known are {tree} {model}"),
            ("x{args}", COMMAND, "a word of its own"),
            ("{out}/log", BUILD, "only {tree}"),
            ("{tree}/../x", COMMAND, "take the .. out"),
        ] {
            let error = placeholders(word, allowed).unwrap_err();
            assert!(error.contains(message), "{word}: {error}");
        }
    }
}
