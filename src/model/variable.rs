//! Names of environment variables: which are names at all, and which a measured process may not see.

/// Whole families that a CI system or git sets for its own use.
const HELD_BACK_FAMILIES: [&str; 4] = ["GITHUB_", "ACTIONS_", "RUNNER_", "GIT_"];
/// Last words that name a secret.
const SECRET_WORDS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS"];
/// Words that turn a following `KEY` into a secret (`API_KEY`, `APIKEY`).
const SECRET_KEYS: [&str; 4] = ["API", "ACCESS", "PRIVATE", "SECRET"];

/// Whether a variable can have this name; the error says why not.
pub fn check_name(name: &str) -> Result<(), String> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.bytes().all(good) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit()) {
        Ok(())
    } else {
        Err(format!(
            "{name:?} is no variable's name: letters, digits and underscores, not a digit first"
        ))
    }
}

/// Whether a variable is held back from measured processes by its name alone: what belongs to the CI system, to git or to the SSH
/// agent, and every name that ends like a secret; upper and lower case count the same.
pub fn is_held_back(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if name == "SSH_AUTH_SOCK" || HELD_BACK_FAMILIES.iter().any(|family| name.starts_with(family)) {
        return true;
    }
    let mut words = name.rsplit('_').filter(|word| !word.is_empty());
    let last = words.next().unwrap_or_default();
    SECRET_WORDS.contains(&last)
        || last.strip_suffix("KEY").is_some_and(|glued| {
            let kind = if glued.is_empty() {
                words.next().unwrap_or_default()
            } else {
                glued
            };
            SECRET_KEYS.contains(&kind)
        })
}
