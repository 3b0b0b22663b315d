//! The token that answers for this job, and how it is kept out of everything that is shown.

use std::fmt;

use anyhow::{Result, bail};

use crate::edge::environment;

/// Where a token is looked for, first that is set.
const NAMES: [&str; 2] = ["GATE_TOKEN", "GITHUB_TOKEN"];
/// Longest token; GitHub's own are far shorter.
const LENGTH_MAX: usize = 4096;
/// How the tokens of an installed App begin; that of a workflow's job is one.
const INSTALLATION: &str = "ghs_";
/// What stands in the place of a token.
const HIDDEN: &str = "***";

/// A secret. Neither its `Debug` form nor anything that passed [`Token::hide`] shows it.
#[derive(Clone)]
pub struct Token {
    secret: String,
    /// The variable that it came from.
    pub name: &'static str,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({} from {})", HIDDEN, self.name)
    }
}

impl Token {
    /// The token of this job; none where no variable holds one.
    ///
    /// # Errors
    /// When what a variable holds cannot be a token; the words do not show it.
    pub fn of_this_job() -> Result<Option<Self>> {
        let found = NAMES.into_iter().find_map(|name| {
            let value = environment::value(name)?;
            (!value.trim().is_empty()).then_some((name, value))
        });
        found.map(|(name, value)| Self::new(name, &value)).transpose()
    }

    /// A token from a variable; white space around it is none of it.
    ///
    /// # Errors
    /// When it cannot be a token; the words do not show it.
    pub fn new(name: &'static str, value: &str) -> Result<Self> {
        let secret = value.trim();
        if secret.is_empty() || secret.len() > LENGTH_MAX || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!("{name} holds no token: 1 to {LENGTH_MAX} printable ASCII characters without spaces are expected");
        }
        Ok(Self {
            secret: secret.to_owned(),
            name,
        })
    }

    /// The secret itself, for the one header that carries it.
    pub(super) fn reveal(&self) -> String {
        self.secret.clone()
    }

    /// Whether it is the token of an installed App, which may not ask who it is.
    pub fn is_installation(&self) -> bool {
        self.secret.starts_with(INSTALLATION)
    }

    /// A text in which the token, should it be there, is not to be read. It is hidden before a text is cut, lest a part of it stay.
    pub fn hide(&self, text: &str) -> String {
        text.replace(&self.secret, HIDDEN)
    }

    /// The bytes of an answer in which the token is not to be read.
    pub(super) fn hide_in(&self, bytes: Vec<u8>) -> Vec<u8> {
        let text = String::from_utf8_lossy(&bytes);
        let hidden = text.contains(&self.secret).then(|| self.hide(&text));
        hidden.map_or(bytes, String::into_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_token_is_refused_unseen() {
        for bad in ["", " \n", "two words", "line\nbreak", "gr\u{fc}n", "nul\0", &"x".repeat(5000)] {
            let error = Token::new("GITHUB_TOKEN", bad).expect_err("no token").to_string();
            assert!(error.contains("GITHUB_TOKEN holds no token"), "{error}");
            assert!(bad.trim().is_empty() || !error.contains(bad), "{error}");
        }
    }

    #[test]
    fn no_form_of_it_shows_it() {
        let token = Token::new("GATE_TOKEN", "ghs_abc\n").expect("a token");
        assert_eq!(format!("{token:?}"), "Token(*** from GATE_TOKEN)");
        assert_eq!(token.hide("bad ghs_abc, ghs_abc"), "bad ***, ***");
        assert!(token.is_installation());
    }
}
