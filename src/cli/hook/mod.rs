//! `gate hook`: the check before a push.

mod pre_push;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};

use super::{answer, say};
use crate::edge::git::{Hook, Owner, Repository};
use crate::edge::{environment, files};
use crate::exit;

/// Check what a push sends, before it is sent: gate files, baselines with their evidence, local verdicts
#[derive(Debug, Args)]
pub struct HookCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the pre-push hook; a hook of somebody else stays
    Install {
        /// Keep another hook and run it first, with the same input
        #[arg(long)]
        chain: bool,
    },
    /// Remove the hook, and put back one that it ran first
    Uninstall,
    /// Tell whose hook is there and whether git runs it; exit 1 if pushes are not checked
    Status,
    PrePush(pre_push::PrePush),
}

impl HookCommand {
    /// Runs it.
    ///
    /// # Errors
    /// Outside a repository, or when something cannot be read or written.
    pub fn run(&self) -> Result<u8> {
        match &self.action {
            Action::PrePush(hook) => hook.run(),
            Action::Install { chain } => install(&here()?, *chain),
            Action::Uninstall => uninstall(&here()?),
            Action::Status => status(&here()?),
        }
    }
}

/// The repository around the working folder.
fn here() -> Result<Repository> {
    Repository::open(&files::working_folder()?, &environment::of_children(&[]).kept).context("a hook belongs to a git repository")
}

fn install(repository: &Repository, chain: bool) -> Result<u8> {
    let hook = repository.hook()?;
    if let Some(folder) = &hook.configured {
        say(&format!(
            "gate: core.hooksPath is {folder}: whoever set it keeps the hooks there, so nothing was written; add gate to it:"
        ));
        say(&snippet(repository));
        return Ok(exit::FAIL.code);
    }
    if hook.owner == Owner::Other && !chain {
        say(&format!(
            "gate: {}: there is another hook, which stays as it is; `gate hook install --chain` keeps it and runs it first, or add gate to it:",
            hook.path.display()
        ));
        say(&snippet(repository));
        return Ok(exit::FAIL.code);
    }
    hook.install(chain)?;
    let first = if repository.hook()?.chained {
        "; the hook that was there runs first"
    } else {
        ""
    };
    answer(&format!(
        "wrote {}{first}\nevery push is checked within 10 s, without measuring; `GATE_SKIP=1 git push` passes once, `gate hook uninstall` takes it away\n",
        hook.path.display()
    ))?;
    Ok(exit::PASS.code)
}

fn uninstall(repository: &Repository) -> Result<u8> {
    let hook = repository.hook()?;
    if hook.owner == Owner::Nobody {
        bail!("{}: there is no hook", hook.path.display());
    }
    hook.uninstall()?;
    let back = if hook.chained {
        ", and put back the hook that was there before"
    } else {
        ""
    };
    answer(&format!("removed {}{back}\n", hook.path.display()))?;
    Ok(exit::PASS.code)
}

fn status(repository: &Repository) -> Result<u8> {
    let hook = repository.hook()?;
    let (checked, says) = told(&hook);
    let mut out = format!("{}: {says}\n", hook.path.display());
    if let Some(folder) = &hook.configured {
        out.push_str(&format!("core.hooksPath is {folder}"));
        out.push_str(if folder.starts_with('/') {
            "\n"
        } else {
            ", relative to each working tree: a linked one without that file runs no hook\n"
        });
    }
    answer(&out)?;
    Ok(if checked { exit::PASS.code } else { exit::FAIL.code })
}

/// Whether pushes are checked, and what there is to say of the hook.
fn told(hook: &Hook) -> (bool, &'static str) {
    match (hook.owner, hook.runs) {
        (Owner::Nobody, _) => (false, "there is no hook; `gate hook install` writes it"),
        (Owner::Gate, false) => (
            false,
            "the hook of gate, but it may not be executed, so git passes it over: `gate hook install` mends it",
        ),
        (Owner::Gate, true) if hook.chained => (true, "the hook of gate, after the one that was there before"),
        (Owner::Gate, true) => (true, "the hook of gate"),
        (Owner::Other, true) if hook.calls_gate => (true, "another hook, which calls `gate hook pre-push`"),
        (Owner::Other, true) => (
            false,
            "another hook, which does not name gate; a manager of hooks may call it all the same",
        ),
        (Owner::Other, false) => (false, "another hook, which may not be executed, so git passes it over"),
    }
}

/// What to write where for the manager of hooks that this repository has.
fn snippet(repository: &Repository) -> String {
    let has = |names: &[&str]| names.iter().any(|name| files::is_there(&repository.top().join(name)));
    if has(&[".pre-commit-config.yaml", ".pre-commit-config.yml"]) {
        "  in .pre-commit-config.yaml, below `repos:`; then `pre-commit install --hook-type pre-push`\n  \
         - repo: local\n    \
         hooks:\n      \
         - id: gate-pre-push\n        \
         name: gate pre-push\n        \
         entry: gate hook pre-push\n        \
         language: system\n        \
         stages: [pre-push]\n        \
         pass_filenames: false\n        \
         always_run: true"
    } else if has(&["lefthook.yml", ".lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json"]) {
        "  in lefthook.yml\n  \
         pre-push:\n    \
         commands:\n      \
         gate:\n        \
         run: gate hook pre-push {1} {2}\n        \
         use_stdin: true"
    } else if has(&[".husky"]) {
        "  in .husky/pre-push\n  gate hook pre-push \"$@\""
    } else {
        "  in the hook pre-push, before anything else reads its standard input\n  gate hook pre-push \"$@\" || exit $?"
    }
    .to_owned()
}
