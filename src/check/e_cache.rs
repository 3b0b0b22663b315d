//! Libraries that search for faster kernels while they are measured.

use super::{Check, Sight, sight};
use crate::model::host::Level;
use crate::model::host::machine::Machine;
use crate::model::host::profile::Declared;

/// Libraries that search for faster kernels while they are measured.
pub const E_CACHE: Check = Check {
    id: "E-CACHE",
    source: "the environment",
    rule: "no search / - / a search",
    why: "The first processes then measure the search, and later ones what it found.",
    hint: "Search once before, then switch it off: PYTORCH_TUNABLEOP_TUNING=0, MIOPEN_FIND_ENFORCE unset.",
    explained_by: &[],
    look,
};

/// Variables, and the values that ask for a search.
const SEARCHES: [(&str, &[&str]); 2] = [
    ("PYTORCH_TUNABLEOP_TUNING", &["1"]),
    (
        "MIOPEN_FIND_ENFORCE",
        &["3", "4", "SEARCH", "SEARCH_DB_UPDATE", "search", "search_db_update"],
    ),
];

fn look(machine: &Machine, _: &Declared) -> Option<Sight> {
    let on = |(name, values): &(&str, &[&str])| machine.env.get(*name).is_some_and(|value| values.contains(&value.as_str()));
    let look = match SEARCHES.iter().find(|search| on(search)) {
        None => (Level::Pass, "no search is asked for".to_owned()),
        Some((name, _)) => (Level::Fail, format!("{name} asks for a search")),
    };
    sight("no search", look)
}
