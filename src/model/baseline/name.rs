//! Names as one word: percent-encoded where a character could break the line, or could not be seen.

/// How the nameless fixture is written.
const NAMELESS: &str = "-";

/// A name as one word of a line; `-` for none, so that a name `-` is written `%2D`.
pub fn encode(name: &str) -> String {
    match name {
        "" => return NAMELESS.to_owned(),
        NAMELESS => return "%2D".to_owned(),
        _ => {}
    }
    let mut word = String::with_capacity(name.len());
    let mut bytes = [0; 4];
    for c in name.chars() {
        if c != '%' && (c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric())) {
            word.push(c);
        } else {
            for byte in c.encode_utf8(&mut bytes).bytes() {
                word.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    word
}

/// The name that a word stands for.
///
/// # Errors
/// The byte of the word at which it is wrong, and what is wrong.
pub fn decode(word: &str) -> Result<String, (usize, String)> {
    if word == NAMELESS {
        return Ok(String::new());
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(rest.as_bytes().get(..at).unwrap_or_default());
        let hex = rest
            .get(at + 1..at + 3)
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
            let what = "after % two hexadecimal digits are expected: write %25 for the character itself".to_owned();
            return Err((word.len() - rest.len() + at, what));
        };
        bytes.push(byte);
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| (0, format!("{word:?} does not decode to UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_one_visible_word() {
        for (name, word) in [
            ("", "-"),
            ("-", "%2D"),
            ("q4-7b", "q4-7b"),
            ("a b\t\n", "a%20b%09%0A"),
            ("50%", "50%25"),
            ("größe", "größe"),
            ("\u{202e}x", "%E2%80%AEx"),
            ("# band", "#%20band"),
        ] {
            assert_eq!(encode(name), word);
            assert_eq!(decode(word).unwrap(), name);
        }
        assert_eq!(decode("ab%2").unwrap_err().0, 2);
        assert_eq!(decode("%zz").unwrap_err().0, 0);
        assert_eq!(decode("%20%+1").unwrap_err().0, 3);
        assert!(decode("%FF").unwrap_err().1.contains("UTF-8"));
    }
}
