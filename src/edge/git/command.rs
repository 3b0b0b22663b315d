//! The `git` program, run so that nothing that a repository brings along runs with it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::edge::environment::{self, Variables};
use crate::edge::process::{self, Environment, Exit, Launch};
use crate::model::text::{plain, plain_line};

/// The oldest version that takes its configuration from the environment: before it, hooks could not be kept off.
const OLDEST: (u32, u32) = (2, 31);
/// How long one call may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How much one call may answer, in bytes; more is an error.
const ANSWER_MAX_BYTES: usize = 256 << 20;
/// How long git's own last line may be in a message, in characters.
const LINE_MAX: usize = 500;

/// What holds for every call, whatever the configuration of user, system and repository says.
const CONFIGURATION: [(&str, &str); 16] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    // A split index would leave its shared half in the repository's own folder.
    ("core.splitIndex", "false"),
    ("core.sparseCheckout", "false"),
    ("index.sparse", "false"),
    ("core.safecrlf", "false"),
    ("core.looseCompression", "0"),
    ("core.fsync", "none"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Variables that every call gets.
const VARIABLES: [(&str, &str); 12] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    // A look at the working tree must not refresh the user's index.
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Nothing is fetched: what is not here is an error with a remedy.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // A replaced object would not be what its name says.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ADVICE", "0"),
];

/// A way to call `git`: program, folder, environment and configuration.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    cwd: PathBuf,
    inherited: Variables,
    given: Variables,
    configuration: Vec<(String, String)>,
}

impl Git {
    /// Finds `git` on the `PATH` of this environment, of which every `GIT_*` and every secret is dropped.
    ///
    /// # Errors
    /// When there is none, or one too old to be kept from running hooks.
    pub fn find(cwd: &Path, environment: &[(OsString, OsString)]) -> Result<Self> {
        let inherited = environment::scrub(environment.iter().cloned(), &[]).kept;
        let path = inherited
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.as_os_str());
        let program = process::resolve("git", path, cwd).map_err(|why| anyhow!("{why}: install git, or add its folder to PATH"))?;
        let git = Self {
            program,
            cwd: cwd.to_owned(),
            inherited,
            given: VARIABLES.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            configuration: CONFIGURATION
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let said = git.text(&["version"])?;
        if version(&said).is_none_or(|found| found < OLDEST) {
            bail!(
                "{}: {}, gate needs at least {}.{} to keep a repository's hooks from running: update git",
                git.program.display(),
                plain_line(&said, LINE_MAX),
                OLDEST.0,
                OLDEST.1
            );
        }
        Ok(git)
    }

    /// The same in another folder.
    #[must_use]
    pub fn at(&self, cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            ..self.clone()
        }
    }

    /// The same with a variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.given.retain(|(other, _)| other != name);
        self.given.push((name.into(), value.into()));
        self
    }

    /// The same with every filter that is configured for the present repository switched off.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub fn without_filters(mut self) -> Result<Self> {
        let keys = self.asked(&["config", "-z", "--name-only", "--get-regexp", r"^filter\."])?;
        for key in keys.unwrap_or_default().split(|byte| *byte == 0) {
            let key = String::from_utf8_lossy(key).into_owned();
            let Some((driver, _)) = key.rsplit_once('.').filter(|(driver, _)| driver.len() > "filter.".len()) else {
                continue;
            };
            for (part, off) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
                let switch = (format!("{driver}.{part}"), off.to_owned());
                if !self.configuration.contains(&switch) {
                    self.configuration.push(switch);
                }
            }
        }
        Ok(self)
    }

    /// What a call answers.
    ///
    /// # Errors
    /// Git's own last line with a remedy where one is known; a passed time limit; an answer beyond the limit.
    pub fn bytes(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        self.answer(arguments, false)?
            .ok_or_else(|| anyhow!("git {}: no answer", command(arguments)))
    }

    /// What a call answers, as text without the last line's end.
    ///
    /// # Errors
    /// As [`Git::bytes`], and when it is no text.
    pub fn text(&self, arguments: &[&str]) -> Result<String> {
        text(self.bytes(arguments)?).with_context(|| format!("git {}", command(arguments)))
    }

    /// What a call answers; none where it ends with 1, which is git's "no".
    ///
    /// # Errors
    /// As [`Git::bytes`].
    pub fn asked(&self, arguments: &[&str]) -> Result<Option<Vec<u8>>> {
        self.answer(arguments, true)
    }

    fn answer(&self, arguments: &[&str], may_be_no: bool) -> Result<Option<Vec<u8>>> {
        let args: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let launch = Launch {
            program: &self.program,
            args: &args,
            env: &Environment::of(&self.environment()),
            cwd: &self.cwd,
            timeout: TIMEOUT,
            keep_bytes: ANSWER_MAX_BYTES,
        };
        let ended = process::run(&launch, None).with_context(|| format!("git {}", command(arguments)))?;
        let what = command(arguments);
        match ended.exit {
            Exit::Code(0) if ended.stdout.total_bytes > ANSWER_MAX_BYTES as u64 => {
                bail!(
                    "git {what}: answers {} bytes, at most {ANSWER_MAX_BYTES} are read",
                    ended.stdout.total_bytes
                )
            }
            Exit::Code(0) => Ok(Some(ended.stdout.kept)),
            Exit::Code(1) if may_be_no => Ok(None),
            Exit::Code(code) => Err(failed(what, code, &ended.stderr.kept)),
            Exit::Signal(signal) => bail!("git {what}: ended by signal {signal}"),
            Exit::TimedOut => bail!("git {what}: not done after {} s; try it by hand", TIMEOUT.as_secs()),
            Exit::Interrupted(signal) => bail!("git {what}: interrupted by signal {signal}"),
        }
    }

    fn environment(&self) -> Variables {
        let mut all = self.inherited.clone();
        let count = self.configuration.len().to_string();
        let mut given = self.given.clone();
        given.push(("GIT_CONFIG_COUNT".into(), count.into()));
        for (n, (key, value)) in self.configuration.iter().enumerate() {
            given.push((format!("GIT_CONFIG_KEY_{n}").into(), key.into()));
            given.push((format!("GIT_CONFIG_VALUE_{n}").into(), value.into()));
        }
        all.retain(|(name, _)| !given.iter().any(|(other, _)| other == name));
        all.extend(given);
        all
    }
}

/// Bytes as text without the last line's end.
fn text(bytes: Vec<u8>) -> Result<String> {
    let mut text = String::from_utf8(bytes).context("the answer is not UTF-8")?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// The subcommand, for a message.
fn command<'a>(arguments: &[&'a str]) -> &'a str {
    arguments.first().copied().unwrap_or_default()
}

/// Major and minor number in what `git version` says.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().nth(2)?.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn failed(what: &str, code: i32, stderr: &[u8]) -> anyhow::Error {
    let said = plain(stderr);
    let lines = || {
        said.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
    };
    let line = lines()
        .rev()
        .find(|line| line.starts_with("fatal:") || line.starts_with("error:"))
        .or_else(|| lines().next_back())
        .map_or_else(|| format!("exit code {code}"), |line| plain_line(line, LINE_MAX));
    match remedy(&said) {
        Some(remedy) => anyhow!("git {what}: {line}; {remedy}"),
        None => anyhow!("git {what}: {line}"),
    }
}

/// What to do about a complaint that is known.
fn remedy(said: &str) -> Option<&'static str> {
    let has = |phrase: &str| said.contains(phrase);
    if has("dubious ownership") {
        Some("the repository belongs to another user: `git config --global --add safe.directory DIR` allows it")
    } else if has("not a git repository") {
        Some("run inside a git repository")
    } else if has("must be run in a work tree") {
        Some("run in a checkout, not in a bare repository or inside .git")
    } else if has("lazy fetch") || has("promisor") || has("missing blob") || has("unable to read") {
        Some("objects are missing here: in a partial clone `git fetch --refetch --no-filter` brings them")
    } else if has("No space left") {
        Some("`gate clean` makes room")
    } else if has("index file") {
        Some("the index is damaged: `git status` tells more")
    } else {
        None
    }
}

/// A folder as an entry of `GIT_ALTERNATE_OBJECT_DIRECTORIES`, quoted so that a colon in it does not split it.
pub(super) fn alternate(folder: &Path) -> OsString {
    let mut quoted = OsString::from("\"");
    let text = folder.as_os_str();
    match text.to_str() {
        Some(text) => quoted.push(text.replace('\\', r"\\").replace('"', "\\\"")),
        None => quoted.push::<&OsStr>(text),
    }
    quoted.push("\"");
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (said, found) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.30.2", Some((2, 30))),
            ("git version x", None),
            ("", None),
        ] {
            assert_eq!(version(said), found, "{said}");
        }
    }

    #[test]
    fn the_complaint_is_gits_own_last_line_with_a_remedy() {
        let text = |stderr: &str| failed("add", 128, stderr.as_bytes()).to_string();
        assert_eq!(text("warning: x\nfatal: one\nhint: two\n"), "git add: fatal: one");
        assert_eq!(text("something\nelse\n"), "git add: else");
        assert_eq!(text(""), "git add: exit code 128");
        let told = text("fatal: detected dubious ownership in repository at '/x'\nTo add an exception\n\tgit config\n");
        assert!(told.contains("dubious") && told.contains("safe.directory"), "{told}");
    }

    #[test]
    fn an_alternate_with_a_colon_stays_whole() {
        assert_eq!(alternate(Path::new(r#"/a:b/"c\"#)), OsString::from(r#""/a:b/\"c\\""#));
    }
}
