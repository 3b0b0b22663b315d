//! The one grammar of decimal numbers in foreign or typed text.

/// Splits the longest decimal number off the front of `text`: sign, digits, fraction, exponent; no hexadecimal digits, no
/// separators, no words. Returns the number and what follows it, or `None` where `text` does not begin with a number.
///
/// The number always parses as an `f64`, possibly to infinity (`1e400`): the caller says what that means.
pub fn split_number(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let signed = |at: usize| at + usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));

    let start = signed(0);
    let whole = digits(start);
    let mut end = start + whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = signed(end + 1);
        let count = digits(exponent);
        if count > 0 {
            end = exponent + count;
        }
    }
    text.split_at_checked(end)
}

/// Whether `text` begins with a word for a number that is not finite: `nan`, `inf`, `infinity` in any case, with any sign.
pub fn names_no_finite_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word: String = unsigned
        .chars()
        .take_while(|c| c.is_ascii_alphabetic())
        .collect::<String>()
        .to_ascii_lowercase();
    matches!(word.as_str(), "nan" | "inf" | "infinity")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_number_comes_off_the_front() {
        for (text, number, rest) in [
            ("152.1 tok/s", "152.1", " tok/s"),
            ("-3e-2ms", "-3e-2", "ms"),
            ("1e400%", "1e400", "%"),
            ("5e", "5", "e"),
            ("2E+", "2", "E+"),
            (".5", ".5", ""),
            ("0x1F", "0", "x1F"),
            ("1,000", "1", ",000"),
            ("1.2.3", "1.2", ".3"),
        ] {
            assert_eq!(split_number(text), Some((number, rest)), "{text}");
            assert!(number.parse::<f64>().is_ok(), "{number}");
        }
        for text in ["", ".", "-", "+.", "nan", "e5", "\u{663}"] {
            assert_eq!(split_number(text), None, "{text}");
        }
    }

    #[test]
    fn words_for_no_finite_number_match_whole() {
        assert!(
            ["nan", "-NaN%", "inf", "+Infinity", "INF ms"]
                .into_iter()
                .all(names_no_finite_number)
        );
        assert!(!["info", "nano", "", "1"].into_iter().any(names_no_finite_number));
    }
}
