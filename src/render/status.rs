//! The commit status and the check run: the same answer as the comment, in less room.

use super::comment::{About, headline, page, rule_of};
use super::policy::Policy;
use crate::model::github::{Annotation, Check, DESCRIPTION_MAX_BYTES, Level, SUMMARY_MAX_BYTES, State, Status};
use crate::model::judgement::{Outcome, Ruling, Verdict};
use crate::model::record::Record;
use crate::model::text::plain_line;

/// Longest title of a check run or an annotation, in bytes.
const TITLE_MAX_BYTES: usize = 255;
/// Longest message of an annotation, in bytes: what a runner shows of one.
const MESSAGE_MAX_BYTES: usize = 4000;
/// Longest path that an annotation may name, in bytes.
const PATH_MAX_BYTES: usize = 500;

/// The commit status of these records; none where they say nothing of the commit that stands there.
pub fn status(records: &[Record], name: &str, head: &str, target_url: Option<String>) -> Option<Status> {
    let policy = Policy::of(records);
    policy.is_posted.then(|| Status {
        head: head.to_owned(),
        context: name.to_owned(),
        state: policy.state,
        description: cut(&title(records, policy), DESCRIPTION_MAX_BYTES),
        target_url,
    })
}

/// The commit status where there is no verdict, whatever the records say.
pub fn refused(why: &str, name: &str, head: &str, target_url: Option<String>) -> Status {
    Status {
        head: head.to_owned(),
        context: name.to_owned(),
        state: State::Error,
        description: cut(&plain_line(why, DESCRIPTION_MAX_BYTES), DESCRIPTION_MAX_BYTES),
        target_url,
    }
}

/// The check run of these records, with a remark on every rule that needs eyes.
pub fn check(records: &[Record], name: &str, about: &About<'_>) -> Check {
    let policy = Policy::of(records);
    let about = About {
        limit_bytes: SUMMARY_MAX_BYTES,
        ..about.clone()
    };
    Check {
        head: about.head.unwrap_or_default().to_owned(),
        name: name.to_owned(),
        conclusion: policy.conclusion,
        title: cut(&title(records, policy), TITLE_MAX_BYTES),
        summary: cut_at_line(page(records, &about), SUMMARY_MAX_BYTES),
        details_url: about.run_url.clone(),
        // GitHub wants a file for every remark of a check run.
        annotations: annotations(records).into_iter().filter(|remark| !remark.path.is_empty()).collect(),
    }
}

/// The answer with its policy, in one line.
fn title(records: &[Record], policy: Policy) -> String {
    let why = policy.why.map_or_else(String::new, |why| format!(" ({why})"));
    format!("{}{why}", headline(records))
}

/// A remark for every ruling that somebody has to look at, in the order of the records, on the line that declares its rule; without a path
/// where the rule stands in no file.
pub fn annotations(records: &[Record]) -> Vec<Annotation> {
    let of_record = |record| of_rulings(record).collect::<Vec<Annotation>>();
    let mut all: Vec<Annotation> = records.iter().flat_map(of_record).collect();
    all.sort_by_key(|remark| match remark.level {
        Level::Failure => 0,
        Level::Warning => 1,
        Level::Notice => 2,
    });
    all
}

/// A remark on what kept a command from its answer, at a place in a file where there is one: `gates/perf.toml` and a line.
pub fn failure(why: &str, at: Option<(&str, usize)>) -> Annotation {
    let (path, line) = at.and_then(|(path, line)| place(&format!("{path}:{line}"))).unwrap_or_default();
    Annotation {
        path,
        line,
        level: Level::Failure,
        title: "gate".to_owned(),
        message: cut(why, MESSAGE_MAX_BYTES),
    }
}

fn of_rulings(record: &Record) -> impl Iterator<Item = Annotation> {
    record.judgement.verdicts.iter().filter_map(move |ruling| {
        let level = level(ruling)?;
        let (path, line) = rule_of(record, ruling).and_then(|rule| place(&rule.at)).unwrap_or_default();
        let fixture = if ruling.cell.fixture.is_empty() {
            String::new()
        } else {
            format!("{} / ", ruling.cell.fixture)
        };
        Some(Annotation {
            path,
            line,
            level,
            title: cut(
                &format!("gate: {}: {fixture}{}", ruling.verdict.word().replace('_', " "), ruling.metric),
                TITLE_MAX_BYTES,
            ),
            message: cut(&format!("{} Next: {}", ruling.because, ruling.next), MESSAGE_MAX_BYTES),
        })
    })
}

/// How grave a ruling is to a reader of the change; none where there is nothing to look at.
fn level(ruling: &Ruling) -> Option<Level> {
    Some(match (ruling.required, ruling.outcome) {
        (true, Outcome::Fail | Outcome::Violation | Outcome::Error) => Level::Failure,
        (false, Outcome::Fail | Outcome::Violation | Outcome::Error) | (true, Outcome::Inconclusive) => Level::Warning,
        (false, Outcome::Inconclusive) => Level::Notice,
        (_, Outcome::Pass) => match ruling.verdict {
            Verdict::SmallSlowdown | Verdict::Waived => Level::Warning,
            Verdict::Improvement | Verdict::ImprovementShown => Level::Notice,
            _ => return None,
        },
    })
}

/// File and line of a declaration, `gates/perf.toml:41`, where the file is one inside the repository.
fn place(at: &str) -> Option<(String, u64)> {
    let (path, line) = at.rsplit_once(':')?;
    let line = line.parse().ok().filter(|line| *line > 0)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./ ".contains(&byte);
    let inside = !path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    (inside && path.len() <= PATH_MAX_BYTES && path.bytes().all(plain)).then(|| (path.to_owned(), line))
}

/// Foreign text in one line of at most so many bytes, cut visibly and between two letters.
fn cut(text: &str, max_bytes: usize) -> String {
    const ELLIPSIS: &str = "…";
    let text = plain_line(text, max_bytes);
    if text.len() <= max_bytes {
        return text;
    }
    let end = between_letters(&text, max_bytes - ELLIPSIS.len());
    format!("{}{ELLIPSIS}", &text[..end])
}

/// The last place at or before this byte that is no part of a letter.
fn between_letters(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A page that is too long all the same is cut after its last whole line.
fn cut_at_line(page: String, max_bytes: usize) -> String {
    if page.len() <= max_bytes {
        return page;
    }
    let end = between_letters(&page, max_bytes);
    let end = page[..end].rfind('\n').map_or(end, |at| at + 1);
    page[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_inside_the_repository() {
        assert_eq!(place("gates/perf.toml:41"), Some(("gates/perf.toml".to_owned(), 41)));
        for bad in [
            "command line",
            "gates/perf.toml",
            "gates/perf.toml:0",
            "gates/perf.toml:x",
            "/etc/passwd:1",
            "../x:1",
            "a/../b:1",
            "a//b:1",
            "a,b:1",
            "a\n::error::x:1",
            ":1",
        ] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_text_is_cut_between_letters_and_by_bytes() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcdef", 5), "ab…");
        let long = cut(&"測".repeat(200), 140);
        assert!(long.len() <= 140 && long.ends_with('…'), "{long}");
        assert_eq!(cut_at_line("ab\ncd\nef\n".to_owned(), 7), "ab\ncd\n");
    }
}
