//! `gate init`: a first gate that runs at once, and the workflows around it.

mod workflows;

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;

use super::answer;
use crate::edge::{files, git};
use crate::exit;

/// Write a first gate after a look at the project, with the folder for baselines and the ignore entry
///
/// Nothing that exists is changed, except that `/.gate/` is added to `.gitignore`.
#[derive(Debug, Args)]
pub struct Init {
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the workflows that measure and report on GitHub instead: both of them, the action they use, who owns the rules, and what to set up
    #[arg(long)]
    workflows: bool,
    /// The runner that measures: a label, or a list of labels
    #[arg(long, value_name = "LABELS", default_value = workflows::RUNNER, value_parser = workflows::runner, requires = "workflows")]
    runner: String,
}

/// What kind of project was found.
struct Project {
    /// What was recognised, in words.
    what: String,
    /// The `[arms]` table, empty where nothing is built.
    arms: String,
    /// The words of the command.
    command: Vec<String>,
    /// Further keys of `[run]`.
    run: String,
}

impl Init {
    /// Runs it.
    ///
    /// # Errors
    /// When a gate exists already, or a file cannot be written.
    pub fn run(&self) -> Result<u8> {
        let cwd = files::working_folder()?;
        let top = git::top(&cwd).unwrap_or(cwd);
        if self.workflows {
            return self.write_workflows(&top);
        }
        let path = top.join("gates/perf.toml");
        if files::is_regular(&path) {
            bail!(
                "{} exists: edit it, or remove it first; `gate gates check` tells whether it is right",
                path.display()
            );
        }
        let project = look(&top)?;
        let text = gate(&project);
        let mut out = format!("found {}\n", project.what);
        if self.dry_run {
            answer(&(out + &text))?;
            return Ok(exit::PASS.code);
        }
        files::make_folder(&top.join("gates"))?;
        files::make_folder(&top.join("baselines"))?;
        files::write(&path, text.as_bytes())?;
        out.push_str("wrote gates/perf.toml: a command that runs at once; put the one that you care about in its place\n");
        let keep = top.join("baselines/.gitkeep");
        if !files::is_regular(&keep) {
            files::write(&keep, b"")?;
            out.push_str("made baselines/, where `gate baseline accept` writes\n");
        }
        if let Some(text) = ignored(&top)? {
            files::write(&top.join(".gitignore"), text.as_bytes())?;
            out.push_str("added /.gate/ to .gitignore\n");
        }
        out.push_str("next: `gate gates check`, then commit, then `gate perf --base HEAD` with a change in the working tree\n");
        answer(&out)?;
        Ok(exit::PASS.code)
    }
}

impl Init {
    fn write_workflows(&self, top: &Path) -> Result<u8> {
        let owner = git::remote_url(top, "origin").and_then(|url| workflows::owner_of(&url));
        let planned = workflows::plan(top, &self.runner, owner.as_deref())?;
        if self.dry_run {
            let shown = planned.iter().map(|(path, text)| format!("== {path}\n{text}"));
            answer(&shown.collect::<String>())?;
            return Ok(exit::PASS.code);
        }
        workflows::refuse_changed(top, &planned)?;
        let mut out = String::new();
        for (path, text) in &planned {
            let place = top.join(path);
            files::make_folder(place.parent().unwrap_or(top))?;
            files::write(&place, text.as_bytes())?;
            out.push_str(&format!("wrote {path}\n"));
        }
        if planned.is_empty() {
            out.push_str("everything is there already\n");
        } else {
            out.push_str(
                "next: commit it to the default branch, from which gate-report runs; docs/github.md tells what to set up there once\n",
            );
        }
        if workflows::lacks_an_owner(top)? {
            out.push_str("put a user or a team in the place of @OWNER in .github/CODEOWNERS: until then nobody has to agree\n");
        }
        if files::listing(&top.join("gates"), ".toml")?.is_empty() {
            out.push_str("there is no gate to measure by: `gate init` writes a first one\n");
        }
        answer(&out)?;
        Ok(exit::PASS.code)
    }
}

/// The new text of `.gitignore`, where it lacks the entry.
fn ignored(top: &Path) -> Result<Option<String>> {
    let path = top.join(".gitignore");
    let mut text = if files::is_regular(&path) {
        files::read_text(&path)?
    } else {
        String::new()
    };
    if text
        .lines()
        .any(|line| matches!(line.trim(), ".gate" | ".gate/" | "/.gate" | "/.gate/"))
    {
        return Ok(None);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str("/.gate/\n");
    Ok(Some(text))
}

fn look(top: &Path) -> Result<Project> {
    let read = |name: &str| {
        files::is_regular(&top.join(name))
            .then(|| files::read_text(&top.join(name)))
            .transpose()
    };
    if let Some(program) = read("Cargo.toml")?
        .as_deref()
        .and_then(|text| cargo_program(text, files::is_regular(&top.join("src/main.rs"))))
    {
        let artifact = format!("target/release/{program}");
        return Ok(Project {
            what: format!("a Cargo package with the program {program}"),
            arms: arms(&[&["cargo", "build", "--release", "--locked", "--bin", &program]], &artifact),
            command: words(&[&format!("{{tree}}/{artifact}"), "--help"]),
            run: String::new(),
        });
    }
    if let Some(program) = read("CMakeLists.txt")?.as_deref().and_then(cmake_program) {
        let artifact = format!("build/{program}");
        return Ok(Project {
            what: format!("a CMake project with the program {program}"),
            arms: arms(
                &[
                    &["cmake", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"],
                    &["cmake", "--build", "build", "-j", "--target", &program],
                ],
                &artifact,
            ),
            command: words(&[&format!("{{tree}}/{artifact}"), "--help"]),
            run: String::new(),
        });
    }
    if let Some(name) = read("pyproject.toml")?.as_deref().and_then(python_package) {
        let module = name.replace('-', "_");
        let folder = if files::is_folder(&top.join("src").join(&module)) {
            "{tree}/src"
        } else {
            "{tree}"
        };
        return Ok(Project {
            what: format!("the Python package {name}"),
            arms: String::new(),
            command: words(&["python3", "-c", &format!("import {module}")]),
            run: format!("env     = {{ PYTHONPATH = \"{folder}\" }}\n"),
        });
    }
    Ok(Project {
        what: "no Cargo, CMake or Python project: the gate runs the built-in workload".to_owned(),
        arms: String::new(),
        command: words(&["gate", "workload", "spin", "--ms", "100"]),
        run: String::new(),
    })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn array(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| toml::Value::from(*word).to_string()).collect();
    format!("[{}]", quoted.join(", "))
}

fn arms(build: &[&[&str]], artifact: &str) -> String {
    let steps: Vec<String> = build.iter().map(|step| array(step)).collect();
    format!("[arms]\nbuild     = [{}]\nartifacts = {}\n\n", steps.join(", "), array(&[artifact]))
}

/// The package's first program: a `[[bin]]` with a name, else the package itself where it has a main file.
fn cargo_program(text: &str, has_main: bool) -> Option<String> {
    let manifest: toml::Table = text.parse().ok()?;
    let named = |value: &toml::Value| value.get("name").and_then(toml::Value::as_str).map(str::to_owned);
    let bin = manifest
        .get("bin")
        .and_then(toml::Value::as_array)
        .and_then(|bins| bins.iter().find_map(named));
    bin.or_else(|| manifest.get("package").filter(|_| has_main).and_then(named))
        .filter(|name| plain(name))
}

/// The first `add_executable(NAME …)`.
fn cmake_program(text: &str) -> Option<String> {
    let after = text.split("add_executable(").nth(1)?;
    let name = after
        .split(|character: char| character.is_whitespace() || character == ')')
        .find(|word| !word.is_empty())?;
    Some(name.to_owned()).filter(|name| plain(name))
}

fn python_package(text: &str) -> Option<String> {
    let project: toml::Table = text.parse().ok()?;
    let name = project.get("project")?.get("name")?.as_str()?;
    Some(name.to_owned()).filter(|name| plain(name))
}

/// A name that can stand in a path and a command as it is.
fn plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn gate(project: &Project) -> String {
    let command: Vec<&str> = project.command.iter().map(String::as_str).collect();
    format!(
        "# What this file may hold: `gate explain key`. What it says now: `gate gates check`.\n\
         version = 1\n\
         about   = \"How long the program takes\"   # one sentence: what this gate guards\n\
         source  = \"run\"\n\n\
         {arms}[run]\n\
         command = {command}\n\
         timeout = \"10m\"\n\
         {run}\n\
         [plan]\n\
         max_blocks  = 14        # at most 56 processes, rarely reached\n\
         max_session = \"45m\"\n\n\
         # wall_s, cpu_s and peak_rss_bytes are taken by gate itself; any other name is read from standard output, as name=value.\n\
         [[metric]]\n\
         name      = \"wall_s\"\n\
         unit      = \"s\"\n\
         better    = \"lower\"\n\
         tolerance = \"5%\"        # the slowdown to catch: `gate noise` tells what this machine carries\n\n\
         [[rule]]\n\
         kind    = \"hold\"\n\
         against = \"base\"\n",
        arms = project.arms,
        command = array(&command),
        run = project.run,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_manifests() {
        assert_eq!(cargo_program("[package]\nname = \"tool\"\n", true), Some("tool".to_owned()));
        assert_eq!(cargo_program("[package]\nname = \"tool\"\n", false), None);
        assert_eq!(cargo_program("[[bin]]\nname = \"run-it\"\n", false), Some("run-it".to_owned()));
        assert_eq!(cargo_program("[package]\nname = \"../x\"\n", true), None);
        assert_eq!(cmake_program("project(x)\nadd_executable( bench\n  a.c)"), Some("bench".to_owned()));
        assert_eq!(cmake_program("add_executable(${X} a.c)"), None);
        assert_eq!(python_package("[project]\nname = \"my-pkg\"\n"), Some("my-pkg".to_owned()));
    }
}
