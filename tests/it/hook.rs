//! `gate hook`: real pushes to a real repository beside the project, and the ways in which managers of hooks call it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::declared::Project;
use crate::sandbox::{Done, program};

const ZERO: &str = "0000000000000000000000000000000000000000";

/// A project with a remote beside it, and `gate` on its PATH.
fn project() -> Project {
    let project = Project::new().with_gate_on_path();
    project.git(&["init", "--quiet", "--bare", "../remote.git"]);
    project.git(&["remote", "add", "origin", "../remote.git"]);
    project
}

/// `git push` as a user types it.
fn push(project: &Project, words: &[&str]) -> Done {
    push_in(project, "", words)
}

fn push_in(project: &Project, folder: &str, words: &[&str]) -> Done {
    let mut command = Command::new("git");
    project.sandbox.furnish(&mut command);
    command.arg("push").args(words).env("GIT_CONFIG_NOSYSTEM", "1");
    command.current_dir(project.sandbox.path(folder));
    project.sandbox.start(command).wait()
}

/// `gate hook pre-push` with some words, variables and standard input.
fn hook(project: &Project, words: &[&str], variables: &[(&str, &str)], lines: &str) -> Done {
    let mut command = project.sandbox.command(&[&["hook", "pre-push"], words].concat());
    let input = project.write(".gate/input", lines);
    command.stdin(Stdio::from(fs::File::open(input).expect("just written")));
    command.envs(variables.iter().copied());
    project.sandbox.start(command).wait()
}

fn install(project: &Project) -> PathBuf {
    let _done = project.sandbox.gate(&["hook", "install"]).exits(0);
    project.sandbox.path(".git/hooks/pre-push")
}

/// Breaks the gate of the next commit.
fn break_gate(project: &Project) -> String {
    project.write("gates/perf.toml", "version = 1\nsource = \"rum\"\n");
    project.commit("a gate that is none")
}

#[test]
fn row_45_a_push_is_checked_and_a_wrong_gate_stops_it() {
    let project = project();
    let _hook = install(&project);
    let _done = push(&project, &["origin", "main"]).exits(0);
    break_gate(&project);
    // What is pushed counts, not what lies about.
    project.write("gates/perf.toml", crate::declared::GATE);
    let done = push(&project, &["origin", "main"]).exits(1);
    let done = done
        .says("gates/perf.toml:2:10")
        .says("the push is stopped")
        .says("the working tree has changes");
    assert!(done.err.contains("GATE_SKIP=1"), "{}", done.err);
    // A branch of its own, from a sub-directory, by URL, and by a name that is no branch: all the same.
    fs::create_dir_all(project.sandbox.path("a/b")).unwrap();
    let remote = project.sandbox.path("../remote.git");
    let _done = push_in(&project, "a/b", &[remote.to_str().unwrap(), "HEAD:refs/heads/new"]).exits(1);
    let done = push(&project, &["origin", "HEAD~1:refs/heads/old"]).exits(0);
    assert!(!done.err.contains("the working tree has changes"), "{}", done.err);
}

#[test]
fn row_45_deletions_tags_and_pushes_of_nothing_pass() {
    let project = project();
    let _hook = install(&project);
    let _done = push(&project, &["origin", "main", "main:refs/heads/side"]).exits(0);
    break_gate(&project);
    let nothing = push(&project, &["origin", "HEAD~1:refs/heads/main"]).exits(0);
    assert!(nothing.says("sends no reference").err.contains("nothing to check"));
    let _done = push(&project, &["origin", "--delete", "side"])
        .exits(0)
        .says("only tags, deletions");
    project.git(&["tag", "v1"]);
    let _done = push(&project, &["origin", "v1"]).exits(0).says("only tags, deletions");
    let _done = push(&project, &["origin", "v1", "main"]).exits(1);
}

#[test]
fn row_45_skipping_is_honoured_and_said() {
    let project = project().env("GATE_SKIP", "1");
    let _hook = install(&project);
    break_gate(&project);
    let _done = push(&project, &["origin", "main"])
        .exits(0)
        .says("GATE_SKIP=1: nothing was checked");
    let project = project.env("GATE_SKIP", "yes");
    let _done = push(&project, &["origin", "main:refs/heads/other"])
        .exits(1)
        .says("only GATE_SKIP=1 does");
}

#[test]
fn row_45_without_gate_on_path_nothing_is_passed_as_checked() {
    let project = project();
    let hook = install(&project);
    // A PATH with the shell and git, and no gate.
    let bin = project.sandbox.path("../bin");
    fs::create_dir(&bin).unwrap();
    for name in ["git", "sh", "dirname", "cat"] {
        std::os::unix::fs::symlink(program(name).expect("a usual program"), bin.join(name)).unwrap();
    }
    let project = project.env("PATH", bin.to_str().unwrap());
    let _done = push(&project, &["origin", "main"])
        .exits(1)
        .says("not found on PATH, so nothing was checked");
    let project = project.env("GATE_SKIP", "1");
    let _done = push(&project, &["origin", "main"]).exits(0);
    assert!(hook.exists());
}

#[test]
fn row_45_a_hook_of_somebody_else_stays() {
    let project = project();
    let path = project.sandbox.path(".git/hooks/pre-push");
    let foreign = "#!/bin/sh\necho \"first $1 $(cat)\" >> ../first\n[ ! -e ../refuse ]\n";
    project.write(".git/hooks/pre-push", foreign);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let done = project.sandbox.gate(&["hook", "install"]).exits(1);
    assert!(done.says("--chain").err.contains("gate hook pre-push \"$@\""));
    assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
    let _done = project.sandbox.gate(&["hook", "uninstall"]).exits(2).says("so it stays");
    let _done = project.sandbox.gate(&["hook", "status"]).exits(1);

    let done = project.sandbox.gate(&["hook", "install", "--chain"]).exits(0);
    assert!(done.out.contains("runs first"), "{}", done.out);
    // Again, as after an update of gate: the other one is still there.
    let _done = project.sandbox.gate(&["hook", "install"]).exits(0);
    let _done = project.sandbox.gate(&["hook", "status"]).exits(0);
    let _done = push(&project, &["origin", "main"]).exits(0);
    let main = project.git(&["rev-parse", "main"]);
    let first = fs::read_to_string(project.sandbox.path("../first")).unwrap();
    assert_eq!(first, format!("first origin refs/heads/main {main} refs/heads/main {ZERO}\n"));
    break_gate(&project);
    let _done = push(&project, &["origin", "main"]).exits(1).says("gates/perf.toml:2:10");
    project.write("../refuse", "");
    let done = push(&project, &["origin", "main"]).exits(1);
    assert!(!done.err.contains("gates/perf.toml"), "the other hook refused first: {}", done.err);

    let _done = project.sandbox.gate(&["hook", "uninstall"]).exits(0);
    assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
    let _done = project.sandbox.gate(&["hook", "install"]).exits(1);
}

#[test]
fn row_45_a_hook_that_lost_its_right_to_run_is_told_and_mended() {
    let project = project();
    let _done = project.sandbox.gate(&["hook", "status"]).exits(1);
    let hook = install(&project);
    let _done = project.sandbox.gate(&["hook", "status"]).exits(0);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    let done = project.sandbox.gate(&["hook", "status"]).exits(1);
    assert!(done.out.contains("may not be executed"), "{}", done.out);
    let _hook = install(&project);
    let _done = project.sandbox.gate(&["hook", "status"]).exits(0);
    let _done = project.sandbox.gate(&["hook", "uninstall"]).exits(0);
    assert!(!hook.exists());
    let _done = project.sandbox.gate(&["hook", "uninstall"]).exits(2).says("there is no hook");
}

#[test]
fn row_45_a_configured_folder_of_hooks_is_left_to_who_configured_it() {
    let project = project();
    project.git(&["config", "core.hooksPath", ".husky/_"]);
    for (marker, says) in [
        (".husky/x", ".husky/pre-push"),
        ("lefthook.yml", "use_stdin: true"),
        (".pre-commit-config.yaml", "stages: [pre-push]"),
    ] {
        project.write(marker, "");
        let _done = project
            .sandbox
            .gate(&["hook", "install"])
            .exits(1)
            .says(says)
            .says("core.hooksPath is .husky/_");
    }
    assert!(!project.sandbox.path(".husky/_").exists() && !project.sandbox.path(".git/hooks/pre-push").exists());
    let done = project.sandbox.gate(&["hook", "status"]).exits(1);
    assert!(done.out.contains("relative to each working tree"), "{}", done.out);
    // What its users write there runs, and is seen to call gate.
    project.write(".husky/_/pre-push", "#!/bin/sh\ngate hook pre-push \"$@\"\n");
    fs::set_permissions(project.sandbox.path(".husky/_/pre-push"), fs::Permissions::from_mode(0o755)).unwrap();
    let _done = project.sandbox.gate(&["hook", "status"]).exits(0);
    break_gate(&project);
    let _done = push(&project, &["origin", "main"]).exits(1).says("gates/perf.toml:2:10");
}

#[test]
fn row_45_a_linked_worktree_shares_the_hook() {
    let project = project();
    project.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    let side = project.sandbox.path("../side");
    let mut command = project.sandbox.command(&["hook", "install"]);
    command.current_dir(&side);
    let _done = project.sandbox.start(command).wait().exits(0);
    assert!(project.sandbox.path(".git/hooks/pre-push").exists());
    fs::write(side.join("gates/perf.toml"), "version = 2\n").unwrap();
    project.git_in("../side", &["commit", "--quiet", "--all", "-m", "a gate that is none"]);
    let _done = push_in(&project, "../side", &["origin", "side"])
        .exits(1)
        .says("gates/perf.toml:1:");
    let _done = push(&project, &["origin", "main"]).exits(0);
}

#[test]
fn row_45_ids_of_sha256_are_read() {
    let project = project();
    for folder in ["../long", "../long.git"] {
        let words = ["init", "--quiet", "--object-format", "sha256", "--initial-branch", "main"];
        let bare: &[&str] = if folder.ends_with(".git") { &["--bare"] } else { &[] };
        project.git(&[&words, bare, &[folder]].concat());
    }
    fs::create_dir(project.sandbox.path("../long/gates")).unwrap();
    project.write("../long/gates/perf.toml", crate::declared::GATE);
    project.git_in("../long", &["add", "--all"]);
    project.git_in("../long", &["commit", "--quiet", "-m", "first"]);
    let mut command = project.sandbox.command(&["hook", "install"]);
    command.current_dir(project.sandbox.path("../long"));
    let _done = project.sandbox.start(command).wait().exits(0);
    let _done = push_in(&project, "../long", &["../long.git", "main"]).exits(0);
    project.write("../long/gates/perf.toml", "version = 1\nsource = \"rum\"\n");
    project.git_in("../long", &["commit", "--quiet", "--all", "-m", "second"]);
    let _done = push_in(&project, "../long", &["../long.git", "main"])
        .exits(1)
        .says("gates/perf.toml:2:10");
}

#[test]
fn row_45_every_way_of_being_called_is_understood() {
    let project = project();
    let good = project.git(&["rev-parse", "HEAD"]);
    let bad = break_gate(&project);
    let line = |local: &str| format!("refs/heads/main {local} refs/heads/main {ZERO}\n");
    let pre_commit = [("PRE_COMMIT", "1")];
    let range = |to| [("PRE_COMMIT", "1"), ("PRE_COMMIT_FROM_REF", ZERO), ("PRE_COMMIT_TO_REF", to)];
    let origin: &[&str] = &["origin", "https://example.org/x.git"];
    for (what, words, variables, lines, code) in [
        ("git, sound", origin, &[][..], line(&good), 0),
        ("git, wrong", origin, &[], line(&bad), 2),
        ("git, nothing to send", origin, &[], String::new(), 0),
        ("by hand: HEAD", &[], &[], String::new(), 2),
        ("pre-commit with a range, sound", &[], &range(&good), String::new(), 0),
        ("pre-commit with a range, wrong", &[], &range(&bad), String::new(), 2),
        ("pre-commit on a new branch: HEAD", &[], &pre_commit, String::new(), 2),
        ("a hundred references of one commit", origin, &[], line(&good).repeat(100), 0),
        ("what is no commit here", origin, &[], line(&"5".repeat(40)), 0),
        ("what git never sends", origin, &[], "x\n".to_owned(), 2),
    ] {
        let done = hook(&project, words, variables, &lines);
        assert_eq!(done.code, Some(code), "{what}: {}", done.err);
    }
}

#[test]
fn row_45_what_takes_longer_than_the_budget_is_left_to_ci() {
    let project = project();
    break_gate(&project);
    let done = hook(&project, &["--budget", "1ms"], &[], "").exits(0);
    let _done = done.says("not done in time and left to CI: gate files").says("--budget gives more");
    for (budget, more) in [("61s", &[][..]), ("11m", &["--measure"])] {
        let _done = hook(&project, &[&["--budget", budget], more].concat(), &[], "")
            .exits(2)
            .says("at most");
    }
}

#[test]
fn a_baseline_without_its_record_stops_a_push() {
    let project = project();
    let line = |record: &str| format!("sample  -  ms  ms  lower  2026-11-01  aaaaaaaa  {record}  100 101 99\n");
    let baseline = |line: &str| format!("gate-baseline 1\narch cpu-x86_64\n{line}");
    project.write("baselines/cpu-x86_64.txt", baseline(&line("bbbbbbbbbbbb")));
    project.commit("a baseline that somebody typed");
    let done = hook(&project, &[], &[], "")
        .exits(4)
        .says("baselines/cpu-x86_64.txt: ms of -, 2026-11-01: no evidence");
    assert!(!done.err.contains("/gate-test-"), "no folder of ours is named: {}", done.err);
    // In the working tree it is gone already; what is pushed is what counts.
    project.write("baselines/cpu-x86_64.txt", baseline(""));
    let _done = hook(&project, &[], &[], "").exits(4);
    project.write("baselines/cpu-x86_64.txt", "gate-baseline 7\n");
    project.commit("a baseline of another version");
    let _done = hook(&project, &[], &[], "").exits(2).says("baselines/cpu-x86_64.txt:1");
    project.git(&["rm", "--quiet", "baselines/cpu-x86_64.txt"]);
    std::os::unix::fs::symlink("/etc/passwd", project.sandbox.path("gates/link.toml")).unwrap();
    project.commit("a link");
    let _done = hook(&project, &[], &[], "").exits(2).says("gates/link.toml: a symlink");
}

#[test]
fn the_last_verdict_of_this_tree_counts() {
    let project = project();
    let _sound = project.perf(&[]);
    project.program(150);
    let slow = project.commit("slower");
    let _done = project.perf(&["--base", "HEAD~1"]).exits(1);
    let done = hook(&project, &[], &[], "").exits(1);
    let _done = done.says("perf: fail when it was measured here").says(&slow[..9]);
    // Nothing is known of a tree that was not measured.
    project.program(151);
    project.commit("other");
    let _done = hook(&project, &[], &[], "").exits(0);
    // A record that stands for nothing any more stops nothing.
    project.git(&["checkout", "--quiet", &slow]);
    let seal = project.sandbox.ledger().last().unwrap()["seal"].as_str().unwrap().to_owned();
    let relabel = ["ledger", "relabel", &seal[3..15], "historical", "--because", "the fan was off"];
    let _done = project.sandbox.gate(&relabel).exits(0);
    let _done = hook(&project, &[], &[], "").exits(0);
}

#[test]
fn gates_that_may_run_before_a_push_run_on_request() {
    let project = project();
    let gate = crate::declared::GATE.replace("max_blocks = 4\n", "max_blocks = 4\npre_push = true\n");
    project.write("gates/perf.toml", &gate);
    project.commit("a gate for pushes");
    let _done = push(&project, &["origin", "main"]).exits(0);
    project.program(150);
    project.commit("slower");
    let measure = ["--measure", "--budget", "60s"];
    let done = hook(&project, &["--budget", "60s"], &[], "").exits(0);
    assert!(!done.err.contains("regression"), "nothing is measured unasked: {}", done.err);
    let _done = hook(&project, &measure, &[], "").exits(1).says("gates/perf.toml: fail");
    assert_eq!(project.sandbox.ledger().len(), 1);
    // What is checked out is what can be measured.
    project.program(100);
    let _done = hook(&project, &measure, &[], "").says("not measured: HEAD is another commit, or something is changed");
    project.commit("as fast as before");
    let _done = hook(&project, &measure, &[], "").exits(0).says("gates/perf.toml: pass");
    project.write("gates/perf.toml", gate.replace("pre_push = true\n", ""));
    project.commit("no gate for pushes");
    let _done = hook(&project, &measure, &[], "")
        .exits(0)
        .says("no gate declares `pre_push = true`");
}

#[test]
fn pre_commit_itself_runs_the_hook() {
    let Some(pre_commit) = program("pre-commit") else { return };
    let project = project();
    let entries = include_str!("../../.pre-commit-hooks.yaml").replace("\n", "\n      ");
    project.write(
        ".pre-commit-config.yaml",
        format!("repos:\n  - repo: local\n    hooks:\n      {}\n", entries.trim_end()),
    );
    project.commit("hooks");
    let mut command = Command::new(pre_commit);
    project.sandbox.furnish(&mut command);
    command.args(["install", "--hook-type", "pre-push"]);
    let _done = project.sandbox.start(command).wait().exits(0);
    let _done = push(&project, &["origin", "main"]).exits(0);
    break_gate(&project);
    let done = push(&project, &["origin", "main"]).exits(1);
    let said = format!("{}{}", done.out, done.err);
    assert!(said.contains("gates/perf.toml:2:10"), "{said}");
    let skipping = project.env("SKIP", "gate-pre-push");
    let _done = push(&skipping, &["origin", "main"]).exits(0);
}

#[test]
fn outside_a_repository_there_is_nothing_to_hook_into() {
    let sandbox = crate::sandbox::Sandbox::new();
    for words in [["hook", "install"], ["hook", "status"], ["hook", "pre-push"]] {
        let _done = sandbox.gate(&words).exits(2).says("git repository");
    }
}
