//! Where the faults of a gate file are, and what was probably meant.

use crate::model::fault::Fault;
use crate::model::text::plain_line;

/// Longest message, in characters.
const WHAT_MAX: usize = 1_000;
/// How many faults are told at once.
const SHOWN: usize = 20;

/// The faults at these byte offsets, in order of position, each once; beyond twenty, a last one tells how many are not shown.
pub(super) fn place(text: &str, file: &str, mut found: Vec<(usize, String)>) -> Vec<Fault> {
    found.sort();
    found.dedup();
    let hidden = found.len().saturating_sub(SHOWN);
    if hidden > 0 {
        found.truncate(SHOWN + 1);
        if let Some((_, what)) = found.last_mut() {
            *what = format!("faults not shown from here on: {hidden} or more; mend those above first");
        }
    }
    let placed = found.into_iter().map(|(at, what)| {
        let (line, column) = position(text, at);
        Fault {
            file: file.to_owned(),
            line,
            column,
            what: plain_line(&what, WHAT_MAX),
        }
    });
    placed.collect()
}

/// Line and column of a byte offset, both from 1; the column counts characters. An offset beyond the end is the end.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    let column = 1 + before.get(line_start..).unwrap_or_default().chars().count();
    (line, column)
}

/// The known word that is written most like this one, where one is near enough to be meant.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word: Vec<char> = word.chars().take(60).flat_map(char::to_lowercase).collect();
    let near = |candidate: &&'k str| {
        let far = edits(&word, &candidate.chars().collect::<Vec<char>>());
        (far <= (word.len().max(candidate.len()) + 1) / 3).then_some((far, *candidate))
    };
    known
        .iter()
        .filter_map(near)
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// How many characters must be put in, taken out or replaced to make one word the other (Levenshtein).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = changed.min(left + 1).min(*cell + 1);
            *cell = left;
        }
    }
    // The first column is only ever read as `left`.
    row.last().copied().filter(|_| !b.is_empty()).unwrap_or(a.len())
}

/// `; did you mean ...?`, or the known words.
pub(super) fn instead(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a = 1\n\u{e9}\u{e9} = 2\r\nb";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, text.find("= 2").unwrap()), (2, 4));
        assert_eq!(position(text, text.len() - 1), (3, 1));
        assert_eq!(position(text, 7), (2, 1), "inside a character");
        assert_eq!(position(text, 10_000), (3, 2));
    }

    #[test]
    fn the_nearest_word_is_found_or_none() {
        let known = ["max_blocks", "max_session", "alpha", "beta", "runs"];
        assert_eq!(nearest("max_sesion", &known), Some("max_session"));
        assert_eq!(nearest("Alpha", &known), Some("alpha"));
        assert_eq!(nearest("run", &known), Some("runs"));
        assert_eq!(nearest("tolerance", &known), None);
        let letters = |word: &str| word.chars().collect::<Vec<char>>();
        assert_eq!(edits(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!((edits(&letters("abc"), &[]), edits(&[], &letters("abc"))), (3, 3));
    }

    #[test]
    fn many_faults_are_told_in_part() {
        let text = "x\n".repeat(100);
        let found = (0..50).rev().map(|line| (line * 2, "wrong".to_owned())).collect();
        let faults = place(&text, "f", found);
        assert_eq!((faults.len(), faults[0].line, faults[20].line), (21, 1, 21));
        assert!(faults[20].what.contains("30 or more"), "{}", faults[20]);
    }
}
