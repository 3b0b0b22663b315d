//! What `gate init --workflows` writes, that this repository uses the same, and that linters find nothing in either.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::declared::Project;
use crate::sandbox::program;

/// The files that carry no name of a project.
const SAME: [&str; 4] = [
    ".github/workflows/gate-measure.yml",
    ".github/workflows/gate-report.yml",
    ".github/actions/gate/action.yml",
    ".github/actions/gate/run.sh",
];

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_workflows_are_written_once_and_are_the_ones_of_this_repository() {
    let project = Project::new();
    project.git(&["remote", "add", "origin", "git@github.com:the-org/r.git"]);
    let init = ["init", "--workflows", "--runner", "ubuntu-latest"];
    let shown = project.sandbox.gate(&[&init, &["--dry-run"][..]].concat()).exits(0);
    assert!(shown.out.contains("== .github/workflows/gate-report.yml\n") && !project.sandbox.path(".github").exists());
    let done = project.sandbox.gate(&init).exits(0);
    assert!(
        done.out.contains("wrote docs/github.md")
            && done.out.contains("next: commit it to the default branch")
            && !done.out.contains("@OWNER"),
        "{}",
        done.out
    );
    for path in SAME {
        assert_eq!(
            project.sandbox.text(path),
            fs::read_to_string(own(path)).expect(path),
            "{path}: `{}`",
            init.join(" ")
        );
    }
    let owners = project.sandbox.text(".github/CODEOWNERS");
    assert!(
        owners.contains("/gates/waivers/ @the-org\n") && owners.contains("/.github/ @the-org\n"),
        "{owners}"
    );
    let again = project.sandbox.gate(&init).exits(0);
    assert_eq!(again.out, "everything is there already\n");

    // What is there stays: owners are only added, and a changed workflow is told.
    project.write(".github/CODEOWNERS", "/gates/ @somebody");
    let _done = project.sandbox.gate(&init).exits(0);
    let owners = project.sandbox.text(".github/CODEOWNERS");
    assert!(
        owners.starts_with("/gates/ @somebody\n") && owners.matches("/gates/ ").count() == 1,
        "{owners}"
    );
    project.write(".github/workflows/gate-measure.yml", "name: mine\n");
    let _done = project.sandbox.gate(&init).exits(2).says("is there already, with other contents");
    let shown = project.sandbox.gate(&[&init, &["--dry-run"][..]].concat()).exits(0);
    assert!(shown.out.starts_with("== .github/workflows/gate-measure.yml\n") && shown.out.matches("\n== ").count() == 0);
    assert_eq!(project.sandbox.text(".github/workflows/gate-measure.yml"), "name: mine\n");
    for runner in ["a b", "${{ github.actor }}", "x # y"] {
        let _done = project
            .sandbox
            .gate(&["init", "--workflows", "--runner", runner])
            .exits(2)
            .says("write a label");
    }
    let _done = project.sandbox.gate(&["init", "--runner", "x"]).exits(2).says("--workflows");
}

#[test]
fn what_is_left_to_do_is_said_until_it_is_done() {
    let project = Project::new();
    fs::remove_file(project.sandbox.path("gates/perf.toml")).unwrap();
    for first in ["wrote ", "everything is there already\n"] {
        let done = project.sandbox.gate(&["init", "--workflows"]).exits(0);
        assert!(done.out.starts_with(first), "{}", done.out);
        assert!(
            done.out.contains("in the place of @OWNER") && done.out.contains("`gate init` writes a first one"),
            "{}",
            done.out
        );
    }
    let _done = project.sandbox.gate(&["init"]).exits(0);
    let owners = project.sandbox.text(".github/CODEOWNERS");
    project.write(".github/CODEOWNERS", owners.replace("@OWNER", "@the-org/perf"));
    let done = project.sandbox.gate(&["init", "--workflows"]).exits(0);
    assert_eq!(done.out, "everything is there already\n");
}

/// Runs a linter in a folder; nothing where it is not there.
fn lint(folder: &Path, words: &[&str]) {
    let Some(linter) = program(words[0]) else { return };
    let done = Command::new(linter)
        .args(&words[1..])
        .current_dir(folder)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .expect("it runs");
    let said = [done.stdout, done.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    assert!(done.status.success(), "{words:?} in {}:\n{said}", folder.display());
}

fn lint_all(folder: &Path) {
    lint(folder, &["actionlint"]);
    lint(
        folder,
        &["zizmor", "--offline", "--no-progress", "--quiet", "--persona=pedantic", ".github"],
    );
    for (schema, files) in [
        ("vendor.github-workflows", "workflows"),
        ("vendor.github-actions", "actions/gate/action.yml"),
        ("vendor.dependabot", "dependabot.yml"),
        ("vendor.github-issue-config", "ISSUE_TEMPLATE/config.yml"),
        ("vendor.github-issue-forms", "ISSUE_TEMPLATE"),
    ] {
        let place = folder.join(".github").join(files);
        let mut paths: Vec<PathBuf> = match fs::read_dir(&place) {
            Ok(entries) => entries.map(|entry| entry.expect("own folder").path()).collect(),
            Err(_) if place.is_file() => vec![place],
            Err(_) => continue,
        };
        paths.retain(|path| files == "ISSUE_TEMPLATE/config.yml" || !path.ends_with("config.yml"));
        let named: Vec<&str> = paths.iter().map(|path| path.to_str().expect("plain")).collect();
        lint(
            folder,
            &[&["check-jsonschema", "--builtin-schema", schema], named.as_slice()].concat(),
        );
    }
}

#[test]
fn linters_find_nothing_in_this_repository() {
    lint_all(&own(""));
}

#[test]
fn linters_find_nothing_in_what_is_written() {
    let project = Project::new();
    let _done = project.sandbox.gate(&["init", "--workflows"]).exits(0);
    // Labels of one's own are told to the linter by a file of one's own.
    project.write(
        ".github/actionlint.yaml",
        fs::read_to_string(own(".github/actionlint.yaml")).unwrap(),
    );
    lint_all(&project.sandbox.path(""));
}

#[test]
fn the_linters_can_object() {
    let Some(linter) = program("actionlint") else { return };
    let project = Project::new();
    let _done = project.sandbox.gate(&["init", "--workflows"]).exits(0);
    let file = ".github/workflows/gate-report.yml";
    project.write(
        file,
        project
            .sandbox
            .text(file)
            .replace("github.event.workflow_run.run_attempt", "github.event.nothing.("),
    );
    let done = Command::new(linter)
        .current_dir(project.sandbox.path(""))
        .output()
        .expect("it runs");
    assert!(!done.status.success());
}
