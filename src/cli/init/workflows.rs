//! `gate init --workflows`: what a repository needs to measure and report on GitHub.

use std::path::Path;

use anyhow::{Result, bail};

use crate::edge::files;

/// A runner's labels as the workflow has them where none are named.
pub const RUNNER: &str = "[self-hosted, linux, x64, gate-bench]";
/// Most characters of them.
const RUNNER_MAX: usize = 200;

/// The files, each with the text that it gets.
const FILES: [(&str, &str); 5] = [
    (".github/workflows/gate-measure.yml", include_str!("files/gate-measure.yml")),
    (".github/workflows/gate-report.yml", include_str!("files/gate-report.yml")),
    (".github/actions/gate/action.yml", include_str!("files/action.yml")),
    (".github/actions/gate/run.sh", include_str!("files/run.sh")),
    (GUIDE, include_str!("files/github.md")),
];
/// What to set up once; whoever has one of their own keeps it.
const GUIDE: &str = "docs/github.md";
/// Who has to agree to a change.
const OWNERS: &str = ".github/CODEOWNERS";

/// Paths whose change a code owner has to see.
const OWNED: [&str; 4] = ["/.github/", "/gates/", "/gates/waivers/", "/baselines/"];

/// A runner: one label, or a list of them as YAML has it.
pub fn runner(text: &str) -> Result<String, String> {
    let label = |text: &str| {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !text.is_empty() && text.bytes().all(sound)
    };
    let labels = text.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
    let fits = text.len() <= RUNNER_MAX
        && match labels {
            Some(labels) => labels.split(',').all(|one| label(one.trim())),
            None => label(text),
        };
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?}: write a label, or a list of labels such as {RUNNER:?}"))
    }
}

/// What is to stand where, below a top folder, and does not; owners are added to a `CODEOWNERS` that there is.
///
/// # Errors
/// When one of the files cannot be read.
pub fn plan(top: &Path, runner: &str, owner: Option<&str>) -> Result<Vec<(&'static str, String)>> {
    let mut planned = Vec::new();
    for (path, text) in FILES {
        let text = text.replace("@RUNNER@", runner);
        let place = top.join(path);
        let stands = files::is_there(&place) && (path == GUIDE || files::read_text(&place)? == text);
        if !stands {
            planned.push((path, text));
        }
    }
    if let Some(text) = owners(top, owner)? {
        planned.push((OWNERS, text));
    }
    Ok(planned)
}

/// Refuses to write over a file that somebody has changed.
///
/// # Errors
/// When one of the files is there already, with other contents.
pub fn refuse_changed(top: &Path, planned: &[(&str, String)]) -> Result<()> {
    let changed = planned.iter().find(|(path, _)| *path != OWNERS && files::is_there(&top.join(path)));
    changed.map_or(Ok(()), |(path, _)| {
        bail!("{path}: is there already, with other contents: move it away first; `--dry-run` shows what would be written")
    })
}

/// Whether the code owners are still to be named.
///
/// # Errors
/// When the file cannot be read.
pub fn lacks_an_owner(top: &Path) -> Result<bool> {
    let place = top.join(OWNERS);
    let text = if files::is_regular(&place) {
        files::read_text(&place)?
    } else {
        String::new()
    };
    Ok(text.split_whitespace().any(|word| word == "@OWNER"))
}

/// The new text of `CODEOWNERS`, where a line is missing in it.
fn owners(top: &Path, owner: Option<&str>) -> Result<Option<String>> {
    let place = top.join(OWNERS);
    let mut text = if files::is_regular(&place) {
        files::read_text(&place)?
    } else {
        String::new()
    };
    let named = |path: &&str| text.lines().any(|line| line.split_whitespace().next() == Some(*path));
    let missing: Vec<&str> = OWNED.into_iter().filter(|path| !named(path)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("# Who must agree to a change of the rules, of what they are compared with, and of what measures.\n");
    let owner = owner.unwrap_or("OWNER");
    for path in missing {
        text.push_str(&format!("{path} @{owner}\n"));
    }
    Ok(Some(text))
}

/// The owner in a remote's URL, `https://HOST/OWNER/NAME` or `git@HOST:OWNER/NAME`.
pub fn owner_of(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':')?.1,
    };
    let owner = path.split('/').next()?;
    let sound = !owner.is_empty() && owner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (sound && path.contains('/')).then(|| owner.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_are_labels_and_nothing_else() {
        for text in ["ubuntu-latest", RUNNER, "[a]", "mi300x_0.1"] {
            assert_eq!(runner(text).as_deref(), Ok(text));
        }
        for text in ["", "a b", "[a, ]", "[a", "${{ x }}", "a\nb", "a # b", "[[a]]"] {
            assert!(runner(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn owners_are_read_from_urls() {
        for (url, owner) in [
            ("https://github.com/o/r.git", Some("o")),
            ("https://token@github.example.org/the-org/r", Some("the-org")),
            ("git@github.com:o/r.git", Some("o")),
            ("ssh://git@github.com/o/r", Some("o")),
            ("../remote.git", None),
            ("/srv/remote.git", None),
            ("https://github.com/", None),
            ("git@github.com:o x/r", None),
        ] {
            assert_eq!(owner_of(url).as_deref(), owner, "{url}");
        }
    }
}
