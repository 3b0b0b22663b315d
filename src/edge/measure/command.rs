//! What one arm runs on one fixture, and the private folder and port that each slot of it gets.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use crate::edge::arms::claim::Claim;
use crate::edge::endpoint;
use crate::edge::environment::Variables;
use crate::edge::process::Environment;
use crate::model::gate::declaration::Series;
use crate::model::placeholder::{Values, expand, expand_text};

/// What one arm runs on one fixture.
#[derive(Debug, Clone)]
pub struct Command {
    /// The executable file.
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<String>,
    /// The whole environment.
    pub env: Variables,
    /// Where the process starts.
    pub cwd: PathBuf,
    /// What is read of its output.
    pub series: Vec<Series>,
    /// What differs from slot to slot; none where nothing does.
    pub private: Option<Private>,
}

/// What differs from slot to slot: `{out}` and `{port}` in arguments and in what stands here.
#[derive(Debug, Clone)]
pub struct Private {
    /// The folder in which each slot gets a folder of its own.
    pub folder: PathBuf,
    /// Further variables.
    pub env: Vec<(String, String)>,
    /// The file that is read instead of standard output.
    pub output: Option<String>,
    /// The server that is started for each slot.
    pub server: Option<Server>,
    /// What the placeholders stand for that are the same in every slot.
    pub values: Values,
}

/// A server under test.
#[derive(Debug, Clone)]
pub struct Server {
    /// The executable file.
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<String>,
    /// The address that answers once it is ready.
    pub ready: String,
    /// How long that may take.
    pub timeout: Duration,
}

/// A command whose environment is made already, for all slots that have none of their own.
#[derive(Debug)]
pub struct Ready {
    /// The command.
    pub command: Command,
    env: Environment,
}

impl From<Command> for Ready {
    fn from(command: Command) -> Self {
        let env = Environment::of(&command.env);
        Self { command, env }
    }
}

/// A command with everything that one slot puts into it.
pub(super) struct Filled<'a> {
    pub args: Vec<OsString>,
    pub env: Cow<'a, Environment>,
    pub output: Option<PathBuf>,
    pub server: Option<FilledServer>,
    /// Removed, with everything in it, when the slot is over.
    pub out: Option<Claim>,
}

pub(super) struct FilledServer {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub ready: String,
    pub timeout: Duration,
}

impl Ready {
    /// Fills in what this slot has of its own.
    ///
    /// # Errors
    /// When the slot's folder cannot be made, no port is free, or a placeholder stands for nothing.
    pub(super) fn fill(&self) -> Result<Filled<'_>> {
        let command = &self.command;
        let Some(private) = &command.private else {
            let args = command.args.iter().map(OsString::from).collect();
            return Ok(Filled {
                args,
                env: Cow::Borrowed(&self.env),
                output: None,
                server: None,
                out: None,
            });
        };
        let out = Claim::take(&private.folder, &[])?;
        let folder = out.path().to_str().context("the project's folder is no UTF-8 path")?;
        let port = endpoint::free_port().context("no port is free")?;
        let values = Values {
            out: Some(folder.to_owned()),
            port: Some(port),
            ..private.values.clone()
        };
        let words = |words: &[String]| -> Result<Vec<OsString>> {
            let expanded = expand(words, &values).map_err(|why| anyhow!(why))?;
            Ok(expanded.into_iter().map(OsString::from).collect())
        };
        let text = |text: &str| expand_text(text, &values).map_err(|why| anyhow!(why));
        let mut env = command.env.clone();
        for (name, value) in &private.env {
            env.push((name.into(), text(value)?.into()));
        }
        let server = private.server.as_ref().map(|server| -> Result<FilledServer> {
            let (args, ready) = (words(&server.args)?, text(&server.ready)?);
            Ok(FilledServer {
                program: server.program.clone(),
                args,
                ready,
                timeout: server.timeout,
            })
        });
        let output = private.output.as_deref().map(text).transpose()?.map(|path| command.cwd.join(path));
        Ok(Filled {
            args: words(&command.args)?,
            env: Cow::Owned(Environment::of(&env)),
            output,
            server: server.transpose()?,
            out: Some(out),
        })
    }
}

/// A file as it was when it was digested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    path: PathBuf,
    seen: [i64; 5],
}

impl Stamp {
    /// Takes the stamp of a file.
    ///
    /// # Errors
    /// When the file is gone.
    pub fn of(path: PathBuf) -> Result<Self> {
        let seen = look(&path)?;
        Ok(Self { path, seen })
    }

    /// Whether the file is still what it was.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self) -> Result<()> {
        if look(&self.path)? != self.seen {
            bail!(
                "{} changed while the session ran: its samples are of two different programs; measure anew",
                self.path.display()
            );
        }
        Ok(())
    }
}

/// Inode, size and times of a file.
fn look(path: &Path) -> Result<[i64; 5]> {
    let found = fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
    Ok([
        found.ino() as i64,
        found.size() as i64,
        found.mtime(),
        found.mtime_nsec(),
        found.ctime_nsec(),
    ])
}

/// Reads at most `limit` bytes of a file that a measured process wrote; the error is the reason in a few words.
pub(super) fn read_output(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut options = fs::OpenOptions::new();
    let file = options
        .read(true)
        .open(path)
        .map_err(|error| format!("the output file {} cannot be read: {error}", path.display()))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(format!("the output {} is not a regular file", path.display()));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the output file cannot be read: {error}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!("the output file is larger than {limit} bytes"));
    }
    Ok(bytes)
}
