//! What a step of a job tells its runner: commands, outputs, and text that must not be a command.

use crate::model::github::{Annotation, Level};

/// Most annotations of one kind: a runner takes ten of a step and drops the others without a word.
const SHOWN_MAX: usize = 9;

/// Annotations as commands to the runner, at most nine of a kind; one of the nine says how many more there are.
pub fn commands(annotations: &[Annotation]) -> String {
    let mut out = String::new();
    for level in [Level::Failure, Level::Warning, Level::Notice] {
        let of_level: Vec<&Annotation> = annotations.iter().filter(|remark| remark.level == level).collect();
        let shown = if of_level.len() > SHOWN_MAX {
            SHOWN_MAX - 1
        } else {
            of_level.len()
        };
        of_level.iter().take(shown).for_each(|remark| out.push_str(&command(remark)));
        if of_level.len() > shown {
            let more = format!("{} more like this are in the summary of the job", of_level.len() - shown);
            out.push_str(&format!("::{} title=gate::{}\n", word(level), data(&more)));
        }
    }
    out
}

fn command(remark: &Annotation) -> String {
    let file = if remark.path.is_empty() {
        String::new()
    } else {
        format!("file={},line={},", property(&remark.path), remark.line)
    };
    format!(
        "::{} {file}title={}::{}\n",
        word(remark.level),
        property(&remark.title),
        data(&remark.message)
    )
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::Notice => "notice",
        Level::Warning => "warning",
        Level::Failure => "error",
    }
}

/// Text after the second pair of colons.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A step's output as its runner reads it back, whatever it holds; none where the value has a line that is the delimiter.
///
/// The delimiter must be one that nobody can guess: a value from data would end early otherwise, and go on as another output.
pub fn output(name: &str, value: &str, delimiter: &str) -> Option<String> {
    let ends_early = value.split('\n').any(|line| line.trim_end_matches('\r') == delimiter);
    (!ends_early).then(|| format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"))
}

/// Text in which the runner looks for no commands, behind a token that nobody can guess.
pub fn quoted(text: &str, token: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("::stop-commands::{token}\n{text}{end}::{token}::\n")
}

/// JSON in which the runner finds no command, and which reads back as the same: `#` stands in strings alone, where it may be escaped.
pub fn harmless_json(json: &str) -> String {
    json.replace("##[", "#\\u0023[")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarks(level: Level, count: usize) -> Vec<Annotation> {
        let remark = |line| Annotation {
            path: "gates/a,b:c.toml".to_owned(),
            line,
            level,
            title: "50 %: a, b".to_owned(),
            message: "one\r\ntwo: 5 %\n::error::x".to_owned(),
        };
        (1..=count as u64).map(remark).collect()
    }

    #[test]
    fn a_remark_is_one_line_whatever_it_says() {
        assert_eq!(
            commands(&remarks(Level::Failure, 1)),
            "::error file=gates/a%2Cb%3Ac.toml,line=1,title=50 %25%3A a%2C b::one%0D%0Atwo: 5 %25%0A::error::x\n"
        );
        let mut nowhere = remarks(Level::Notice, 1);
        nowhere[0].path.clear();
        assert!(commands(&nowhere).starts_with("::notice title="), "{nowhere:?}");
    }

    #[test]
    fn row_24_at_most_nine_of_a_kind_and_the_last_says_how_many_more() {
        for (count, lines, more) in [(0, 0, 0), (9, 9, 0), (10, 9, 2), (180, 9, 172)] {
            let mut all = remarks(Level::Failure, count);
            all.extend(remarks(Level::Warning, count));
            let text = commands(&all);
            for word in ["::error ", "::warning "] {
                let of_kind: Vec<&str> = text.lines().filter(|line| line.starts_with(word)).collect();
                assert_eq!(of_kind.len(), lines, "{count}");
                let said = format!("::{more} more like this are in the summary of the job");
                assert_eq!(of_kind.last().is_some_and(|line| line.ends_with(&said)), more > 0, "{of_kind:?}");
            }
        }
    }

    #[test]
    fn json_without_commands_says_the_same() {
        for text in ["##[error]x", "###[", "\\##[", "#[", ""] {
            let json = serde_json::json!({ text: [text] });
            let harmless = harmless_json(&json.to_string());
            assert!(!harmless.contains("##["), "{harmless}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&harmless).unwrap(), json);
        }
    }

    #[test]
    fn what_is_quoted_ends_with_its_token() {
        assert_eq!(quoted("::error::x", "t1"), "::stop-commands::t1\n::error::x\n::t1::\n");
        assert_eq!(quoted("a\n", "t1"), "::stop-commands::t1\na\n::t1::\n");
        assert_eq!(quoted("", "t1"), "::stop-commands::t1\n::t1::\n");
    }

    #[test]
    fn an_output_with_the_delimiter_inside_is_none() {
        assert_eq!(output("n", "a\nD\nb", "D"), None);
        assert_eq!(output("n", "a\nD\r\nb", "D"), None);
        assert_eq!(output("n", "aD", "D").as_deref(), Some("n<<D\naD\nD\n"));
    }
}
