//! Text from data, made inert.

use crate::model::text::plain_line;
use crate::render::markdown::escape;

/// Longest name that is shown, in characters.
const NAME_MAX: usize = 100;
/// Longest sentence that is shown where everybody sees it, in characters.
const SENTENCE_MAX: usize = 500;

/// A name: as code where it holds nothing but what names are made of, else every character of it escaped.
pub(super) fn name(text: &str) -> String {
    let text = plain_line(text, NAME_MAX);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.,:/+=-[]() ".contains(&byte);
    if text.trim().is_empty() {
        "(no name)".to_owned()
    } else if text.bytes().all(plain) && text.trim().len() == text.len() {
        format!("`{text}`")
    } else {
        escape(&text)
    }
}

/// Sentences, cut where they are very long.
pub(super) fn prose(text: &str) -> String {
    escape(&plain_line(text, SENTENCE_MAX))
}
