//! What GitHub answers, as far as anything depends on it.

use std::time::Duration;

use serde::Deserialize;

use crate::model::text::plain_line;

/// Longest text of an answer that is shown, in characters.
const SHOWN_MAX: usize = 300;

/// The headers that are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Headers {
    /// `Link` names a next page.
    pub more: bool,
    /// `Retry-After`, in whole seconds.
    pub retry_after: Option<Duration>,
    /// `X-RateLimit-Remaining` is 0.
    pub spent: bool,
    /// `X-RateLimit-Reset`, in seconds since 1970.
    pub reset: Option<u64>,
    /// `X-Accepted-GitHub-Permissions`: what the token would have to be allowed.
    pub permissions: Option<String>,
    /// `X-GitHub-SSO`: what an organisation demands of the token.
    pub sso: Option<String>,
    /// `Location`.
    pub location: Option<String>,
}

impl Headers {
    /// Reads them by their names, which are given in lower case.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| get(name)?.trim().parse::<u64>().ok();
        Self {
            more: get("link").is_some_and(|link| link.split(',').any(names_next)),
            retry_after: number("retry-after").map(Duration::from_secs),
            spent: number("x-ratelimit-remaining") == Some(0),
            reset: number("x-ratelimit-reset"),
            permissions: get("x-accepted-github-permissions"),
            sso: get("x-github-sso"),
            location: get("location"),
        }
    }
}

/// Whether one link of a `Link` header leads to the next page.
fn names_next(link: &str) -> bool {
    link.split(';')
        .skip(1)
        .any(|part| matches!(part.trim(), "rel=\"next\"" | "rel=next"))
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub body: Vec<u8>,
}

#[derive(Deserialize)]
struct Complaint {
    message: String,
    #[serde(default)]
    errors: Vec<serde_json::Value>,
}

impl Answer {
    /// Whether it is what was asked for.
    pub const fn is_good(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// Whether GitHub limits how much may be asked.
    pub fn limits(&self) -> bool {
        let said = || self.says().to_lowercase();
        match self.status {
            429 => true,
            403 => self.headers.retry_after.is_some() || self.headers.spent || said().contains("rate limit"),
            _ => false,
        }
    }

    /// How long to leave GitHub alone at `now`, in seconds since 1970, where the answer says so.
    pub fn wait(&self, now: u64) -> Option<Duration> {
        let reset = || {
            let reset = self.headers.reset.filter(|_| self.headers.spent)?;
            Some(Duration::from_secs(reset.saturating_sub(now) + 1))
        };
        self.headers.retry_after.or_else(reset)
    }

    /// What it says in words, on one line: the message of an error, or the title of a page of HTML.
    pub fn says(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let words = match serde_json::from_slice::<Complaint>(&self.body) {
            Ok(Complaint { message, errors }) => {
                let errors = errors.iter().take(5).map(detail).collect::<Vec<_>>().join("; ");
                if errors.is_empty() {
                    message
                } else {
                    format!("{message}: {errors}")
                }
            }
            Err(_) => title(&text).map_or_else(|| first_line(&text), |title| format!("a page titled {title:?}")),
        };
        plain_line(words.trim(), SHOWN_MAX)
    }
}

/// One entry of the list of errors: its message, or the field with its code.
fn detail(error: &serde_json::Value) -> String {
    let text = |name: &str| error.get(name).and_then(serde_json::Value::as_str);
    match (text("message"), text("field"), text("code")) {
        (Some(message), ..) => message.to_owned(),
        (None, Some(field), Some(code)) => format!("{field}: {code}"),
        _ => error.as_str().map_or_else(|| error.to_string(), str::to_owned),
    }
}

/// The title of a page of HTML.
fn title(text: &str) -> Option<String> {
    // Lower case of ASCII alone keeps every byte where it is.
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<title>")? + "<title>".len();
    let end = start + lower.get(start..)?.find('<')?;
    Some(text.get(start..end)?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first line of something that is neither JSON nor has a title.
fn first_line(text: &str) -> String {
    match text.lines().find(|line| !line.trim().is_empty()) {
        None => "an empty body".to_owned(),
        Some(line) if line.trim_start().starts_with('<') => "a page of HTML".to_owned(),
        Some(line) => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let get = |name: &str| {
            headers
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        Answer {
            status,
            headers: Headers::read(get),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn the_words_of_an_answer_are_one_plain_line() {
        for (body, says) in [
            (r#"{"message":"Not Found","documentation_url":"x"}"#, "Not Found"),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"custom","field":"body","message":"body is too long"}]}"#,
                "Validation Failed: body is too long",
            ),
            (
                r#"{"message":"No","errors":[{"field":"name","code":"missing"},"odd"]}"#,
                "No: name: missing; odd",
            ),
            (
                "<!DOCTYPE html>\n<html><head><TITLE>Unicorn!\n 502</TITLE>",
                "a page titled \"Unicorn! 502\"",
            ),
            ("<html><body>x", "a page of HTML"),
            ("upstream\u{1b}[31m gone\nmore", "upstream gone"),
            ("", "an empty body"),
        ] {
            assert_eq!(answer(502, &[], body).says(), says);
        }
        assert!(answer(500, &[], &"x".repeat(9000)).says().chars().count() <= SHOWN_MAX + 1);
    }

    #[test]
    fn a_limit_is_told_from_a_refusal() {
        let message = r#"{"message":"You have exceeded a secondary rate limit"}"#;
        for (status, headers, body, limits) in [
            (403, &[][..], message, true),
            (403, &[("retry-after", "30")], "{}", true),
            (403, &[("x-ratelimit-remaining", "0")], "{}", true),
            (
                403,
                &[("x-ratelimit-remaining", "9")],
                r#"{"message":"Resource not accessible by integration"}"#,
                false,
            ),
            (429, &[], "", true),
            (404, &[("x-ratelimit-remaining", "0")], "", false),
        ] {
            assert_eq!(answer(status, headers, body).limits(), limits, "{status} {headers:?} {body}");
        }
    }

    #[test]
    fn how_long_to_wait_is_read_in_githubs_order() {
        let s = Duration::from_secs;
        let spent = ("x-ratelimit-remaining", "0");
        for (headers, wait) in [
            (&[("retry-after", "30"), spent, ("x-ratelimit-reset", "1700")][..], Some(s(30))),
            (&[spent, ("x-ratelimit-reset", "1700")], Some(s(701))),
            (&[spent, ("x-ratelimit-reset", "900")], Some(s(1))),
            (&[("x-ratelimit-remaining", "7"), ("x-ratelimit-reset", "1700")], None),
            (&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], None),
            (&[], None),
        ] {
            assert_eq!(answer(403, headers, "").wait(1000), wait, "{headers:?}");
        }
    }

    #[test]
    fn a_next_page_is_one_that_is_named_next() {
        let next = r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel="next""#;
        assert!(answer(200, &[("link", next)], "").headers.more);
        assert!(!answer(200, &[("link", r#"<https://h/next>; rel="last""#)], "").headers.more);
        assert!(!answer(200, &[], "").headers.more);
    }
}
