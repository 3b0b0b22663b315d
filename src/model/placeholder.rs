//! Placeholders in the words of a gate file: `{tree}`, `{model}`, `{prompt}`, `{args}`, `{out}`, `{port}`.

/// What each placeholder stands for; none where it stands for nothing here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    /// The arm's folder.
    pub tree: Option<String>,
    /// The model file.
    pub model: Option<String>,
    /// The prompt file.
    pub prompt: Option<String>,
    /// The folder of one slot.
    pub out: Option<String>,
    /// A free port.
    pub port: Option<u16>,
    /// The words that `{args}` is replaced with.
    pub args: Vec<String>,
}

impl Values {
    /// The value of a placeholder other than `{args}`.
    fn of(&self, name: &str) -> Result<String, String> {
        let (value, missing) = match name {
            "tree" => (self.tree.clone(), "there is no tree here"),
            "model" => (self.model.clone(), "no model is declared"),
            "prompt" => (self.prompt.clone(), "no prompt is declared"),
            "out" => (self.out.clone(), "it is known only while a slot runs"),
            "port" => (self.port.map(|port| port.to_string()), "it is known only while a slot runs"),
            "args" => return Err("{args} stands for several words: it must be a word of its own in a command".to_owned()),
            _ => {
                return Err(format!(
                    "{{{name}}} is no placeholder; there are {{tree}}, {{model}}, {{prompt}}, {{args}}, {{out}} and {{port}}"
                ));
            }
        };
        value.ok_or_else(|| format!("{{{name}}} stands for nothing: {missing}"))
    }
}

/// Replaces every placeholder in the words of a command; the word `{args}` becomes any number of words. What a value holds is not
/// looked at again.
///
/// # Errors
/// Names a placeholder that is unknown, or that stands for nothing here.
pub fn expand(words: &[String], values: &Values) -> Result<Vec<String>, String> {
    let mut expanded = Vec::with_capacity(words.len() + values.args.len());
    for word in words {
        if word == "{args}" {
            expanded.extend(values.args.iter().cloned());
        } else {
            expanded.push(expand_text(word, values)?);
        }
    }
    Ok(expanded)
}

/// Replaces every placeholder in one text: a variable's value, a file's path, an address. A brace that does not enclose a
/// lower-case word, as in JSON, stands for itself.
///
/// # Errors
/// As [`expand`]; `{args}` is refused.
pub fn expand_text(text: &str, values: &Values) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        expanded.push_str(before);
        match name(from) {
            Some(name) => {
                expanded.push_str(&values.of(name)?);
                rest = from.get(name.len() + 2..).unwrap_or_default();
            }
            None => {
                expanded.push('{');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The name between braces at the start of a text.
fn name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        Values {
            tree: Some("/t/{port}".to_owned()),
            port: Some(8080),
            args: vec!["-n".to_owned(), "{tree}".to_owned(), String::new()],
            ..Values::default()
        }
    }

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn values_are_put_in_once_and_args_as_words() {
        let expanded = expand(&words(&["{tree}/bin/x", "{args}", "-p={port}{port}", ""]), &values());
        assert_eq!(expanded, Ok(words(&["/t/{port}/bin/x", "-n", "{tree}", "", "-p=80808080", ""])));
        let none = Values {
            args: Vec::new(),
            ..values()
        };
        assert_eq!(expand(&words(&["a", "{args}"]), &none), Ok(words(&["a"])));
    }

    #[test]
    fn braces_of_other_texts_stand_for_themselves() {
        for text in [
            r#"{"a":{"b":1}}"#,
            "{",
            "}",
            "{}",
            "{{",
            "${HOME}",
            "{ tree }",
            "{1}",
            "{Tree}",
            "ü{ü}",
        ] {
            assert_eq!(expand_text(text, &values()).as_deref(), Ok(text));
        }
        assert_eq!(expand_text(r#"{"port":{port}}"#, &values()).as_deref(), Ok(r#"{"port":8080}"#));
        assert_eq!(expand_text("{{port}}", &values()).as_deref(), Ok("{8080}"));
    }

    #[test]
    fn what_is_unknown_or_stands_for_nothing_is_named() {
        for (text, says) in [
            ("{trees}", "{trees} is no placeholder"),
            ("{model}", "no model is declared"),
            ("a{prompt}", "no prompt is declared"),
            ("{out}/x", "while a slot runs"),
            ("--x={args}", "a word of its own"),
        ] {
            let error = expand(&words(&[text]), &values()).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
