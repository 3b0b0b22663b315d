//! The `pre-push` hook of a repository: where git looks for it, whose it is, and our own put there and taken away.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::repository::Repository;
use crate::edge::files;

/// What tells our own hook from any other.
const MARK: &str = "# gate:hook:v1";
/// A hook is a short script; of a larger file the start is enough to tell whose it is.
const HOOK_MAX_BYTES: u64 = 1 << 20;
/// What a foreign hook is called while ours runs it first.
const CHAINED: &str = "pre-push.gate-chained";

/// Whose hook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// There is none.
    Nobody,
    /// Ours.
    Gate,
    /// Somebody else's.
    Other,
}

/// The place of the `pre-push` hook.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The file that git runs.
    pub path: PathBuf,
    /// `core.hooksPath` as it is configured, where it is.
    pub configured: Option<String>,
    /// Whose it is.
    pub owner: Owner,
    /// Whether git would run it: it is a file that may be executed.
    pub runs: bool,
    /// Whether ours runs another one first.
    pub chained: bool,
    /// Whether another one names ours, as one that a manager of hooks or a user wrote does.
    pub calls_gate: bool,
}

impl Repository {
    /// Looks at the `pre-push` hook as git does: in `core.hooksPath`, relative to the top of this working tree, else in the folder `hooks`
    /// that all working trees of a repository share.
    ///
    /// # Errors
    /// When the configuration or the file cannot be read.
    pub fn hook(&self) -> Result<Hook> {
        // The last value is our own, which keeps hooks from running while gate calls git.
        let values = self.git.text(&["config", "--null", "--type=path", "--get-all", "core.hooksPath"])?;
        let configured = values
            .trim_end_matches('\0')
            .split('\0')
            .rev()
            .nth(1)
            .filter(|path| !path.is_empty());
        let folder = configured.map_or_else(|| self.common_dir.join("hooks"), |path| self.top.join(path));
        let path = folder.join("pre-push");
        let (owner, runs, calls_gate) = look(&path)?;
        Ok(Hook {
            calls_gate,
            chained: owner == Owner::Gate && files::is_there(&folder.join(CHAINED)),
            path,
            configured: configured.map(str::to_owned),
            owner,
            runs,
        })
    }
}

impl Hook {
    /// Writes ours; with `chain` a foreign one is kept beside it and runs first.
    ///
    /// # Errors
    /// When a foreign one is there and is not to be chained, or a file cannot be written.
    pub fn install(&self, chain: bool) -> Result<()> {
        let folder = self.folder();
        let kept = folder.join(CHAINED);
        let keep = self.owner == Owner::Other;
        if keep && !chain {
            bail!("{}: there is another hook", self.path.display());
        }
        if keep && files::is_there(&kept) {
            bail!(
                "{}: is there already, from another hook: look which of the two is wanted, and remove one",
                kept.display()
            );
        }
        files::make_folder(folder)?;
        if keep {
            fs::rename(&self.path, &kept).with_context(|| format!("cannot rename {}", self.path.display()))?;
        }
        let written = write(&self.path, &script(keep || self.chained));
        if written.is_err() && keep {
            // The first error is the one to tell; the hook that was there goes on.
            let _back = fs::rename(&kept, &self.path);
        }
        written
    }

    /// Removes ours, and puts back the one that it ran first.
    ///
    /// # Errors
    /// When the hook is not ours, or cannot be removed.
    pub fn uninstall(&self) -> Result<()> {
        if self.owner != Owner::Gate {
            bail!("{}: is not the hook of gate, so it stays", self.path.display());
        }
        let failed = || format!("cannot remove {}", self.path.display());
        if self.chained {
            return fs::rename(self.folder().join(CHAINED), &self.path).with_context(failed);
        }
        fs::remove_file(&self.path).with_context(failed)
    }

    /// The folder that git looks into.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }
}

/// Whose a hook is, whether git would run it, and whether it names ours.
fn look(path: &Path) -> Result<(Owner, bool, bool)> {
    let Ok(found) = fs::metadata(path) else {
        // A link to nowhere is somebody's: it must not be written through.
        return Ok((if files::is_there(path) { Owner::Other } else { Owner::Nobody }, false, false));
    };
    let runs = found.is_file() && found.permissions().mode() & 0o111 != 0;
    if !found.is_file() || found.len() > HOOK_MAX_BYTES {
        return Ok((Owner::Other, runs, false));
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let ours = text.lines().any(|line| line.starts_with(MARK));
    Ok((
        if ours { Owner::Gate } else { Owner::Other },
        runs,
        text.contains("gate hook pre-push"),
    ))
}

fn write(path: &Path, text: &str) -> Result<()> {
    use std::io::Write as _;
    let part = path.with_file_name(format!(".pre-push.{}.part", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let written = options.write(true).create_new(true).mode(0o755).open(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        // The mask of the user may take the right to execute away, without which git passes the hook over.
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&part, path))
        .inspect_err(|_| drop(fs::remove_file(&part)))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The hook. Without `gate` a push is stopped with a way on, because nothing was checked.
fn script(chained: bool) -> String {
    let run = if chained {
        format!(
            "refs=$(cat; printf x)\n\
             refs=${{refs%x}}\n\
             printf %s \"$refs\" | \"$(dirname \"$0\")/{CHAINED}\" \"$@\" || exit $?\n\
             printf %s \"$refs\" | gate hook pre-push \"$@\"\n"
        )
    } else {
        "exec gate hook pre-push \"$@\"\n".to_owned()
    };
    format!(
        "#!/bin/sh\n\
         {MARK}: written by `gate hook install`, removed by `gate hook uninstall`\n\
         if ! command -v gate >/dev/null 2>&1; then\n\
         \x20 [ \"${{GATE_SKIP:-}}\" = 1 ] && exit 0\n\
         \x20 echo 'gate: not found on PATH, so nothing was checked; install it, or push with GATE_SKIP=1' >&2\n\
         \x20 exit 2\n\
         fi\n\
         {run}"
    )
}
