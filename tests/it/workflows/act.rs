//! The measuring workflow under `act`, with small stand-ins for the actions that GitHub has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::declared::Project;
use crate::github::hub::{Hub, PULL, REPOSITORY, TOKEN};
use crate::github::things;
use crate::sandbox::{Done, program};

/// The actions that the workflows use, each with its stand-in.
const STAND_INS: [&str; 3] = ["checkout", "upload-artifact", "download-artifact"];

/// What act says of the required job. The last words of a step itself are at times lost in it.
const VERDICT_FAILED: &str = "gate / verdict] \u{1f3c1}  Job failed";

/// A repository with the workflows, a remote named as the GitHub of the tests, and its base on `main`.
pub struct Site {
    pub project: Project,
    act: PathBuf,
    base: String,
}

impl Site {
    /// One where `act` is there; the base is committed, and a branch checked out for the change.
    pub fn new() -> Option<Self> {
        let act = program("act")?;
        let project = Project::new().with_gate_on_path();
        project.git(&["remote", "add", "origin", "https://github.com/example-org/engine.git"]);
        let _done = project.sandbox.gate(&["init", "--workflows", "--runner", "ubuntu-latest"]).exits(0);
        for file in ["gate-measure.yml", "gate-report.yml"] {
            let path = format!(".github/workflows/{file}");
            let text = project.sandbox.text(&path);
            // As docs/github.md says for servers that do not know it; act is one.
            let text: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("queue: max")).collect();
            project.write(&path, text.join("\n"));
        }
        let base = project.commit("workflows");
        project.git(&["update-ref", "refs/remotes/origin/main", &base]);
        project.git(&["checkout", "--quiet", "-b", "change"]);
        Some(Self { project, act, base })
    }

    /// The event of the pull request at the present commit.
    pub fn pull_request(&self, draft: bool) -> Value {
        let repository = json!({ "id": 1, "full_name": REPOSITORY });
        json!({
            "action": "synchronize",
            "number": 7,
            "pull_request": {
                "number": 7,
                "draft": draft,
                "state": "open",
                "base": { "ref": "main", "sha": self.base, "repo": repository },
                "head": { "ref": "change", "sha": self.project.git(&["rev-parse", "HEAD"]), "repo": repository },
            },
            "repository": { "id": 1, "full_name": REPOSITORY, "name": "engine", "default_branch": "main", "owner": { "login": "example-org" } },
        })
    }

    /// Runs one workflow for an event.
    pub fn run(&self, workflow: &str, event: &str, payload: &Value) -> Done {
        self.run_with(workflow, event, payload, &[])
    }

    /// The same with further words for `act`.
    fn run_with(&self, workflow: &str, event: &str, payload: &Value, more: &[String]) -> Done {
        let sandbox = &self.project.sandbox;
        let payload = self.project.write("../event.json", payload.to_string());
        let artifacts = sandbox.path("../artifacts");
        let mut command = Command::new(&self.act);
        sandbox.furnish(&mut command);
        command
            .arg(event)
            .args(["-P", "ubuntu-latest=-self-hosted", "--no-cache-server", "-e"])
            .arg(payload);
        command.args(["-W", &format!(".github/workflows/{workflow}.yml")]);
        command.args(["--env", &format!("ARTIFACTS={}", artifacts.display())]);
        for name in STAND_INS {
            let pin = pinned(name);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/actions").join(name);
            command.args(["--local-repository", &format!("actions/{name}@{pin}={}", folder.display())]);
        }
        command.args(more);
        command.env("XDG_CACHE_HOME", sandbox.path("../cache")).env("NO_COLOR", "1");
        sandbox.start(command).wait()
    }

    /// The records that a run has left, the newest attempt's.
    pub fn records(&self) -> Vec<Value> {
        let path = self.project.sandbox.path("../artifacts/gate-report-1/records.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }
}

/// The commit of an action that the workflows name.
fn pinned(action: &str) -> String {
    let texts = ["gate-measure.yml", "gate-report.yml"].map(|file| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/init/files").join(file);
        fs::read_to_string(path).expect("a workflow of ours")
    });
    let all = texts.concat();
    let (_, after) = all.split_once(&format!("actions/{action}@")).expect("it is used");
    after.split_whitespace().next().expect("a commit").to_owned()
}

#[test]
fn a_slow_change_fails_the_required_job_and_leaves_its_record() {
    let Some(site) = Site::new() else { return };
    site.project.program(150);
    site.project.commit("slower");
    let done = site.run("gate-measure", "pull_request", &site.pull_request(false)).exits(1);
    let said = format!("{}{}", done.out, done.err);
    assert!(said.contains(VERDICT_FAILED), "{said}");
    let records = site.records();
    assert_eq!(records.len(), 1, "{said}");
    assert_eq!(records[0]["judgement"]["verdicts"][0]["verdict"], "regression");
    assert_eq!(records[0]["context"]["head"], site.project.git(&["rev-parse", "HEAD"]));

    site.project.program(100);
    site.project.commit("mended");
    let _done = site.run("gate-measure", "pull_request", &site.pull_request(false)).exits(0);
    assert_eq!(site.records()[0]["judgement"]["outcome"], "pass");
}

#[test]
fn row_41_a_draft_is_not_measured_and_passes() {
    let Some(site) = Site::new() else { return };
    site.project.program(150);
    site.project.commit("slower");
    let _done = site.run("gate-measure", "pull_request", &site.pull_request(true)).exits(0);
    assert_eq!(site.records(), Vec::<Value>::new());
    let _done = site.run("gate-measure", "pull_request", &site.pull_request(false)).exits(1);
}

#[test]
fn row_42_a_job_that_does_not_measure_fails_the_verdict() {
    let Some(site) = Site::new() else { return };
    site.project.write("gates/perf.toml", "version = 1\nsource = \"rum\"\n");
    let base = site.project.commit("a gate that is none");
    // It is in the base too, so that nothing can be judged by it.
    site.project.git(&["update-ref", "refs/remotes/origin/main", &base]);
    let mut event = site.pull_request(false);
    event["pull_request"]["base"]["sha"] = json!(base);
    site.project.program(150);
    let head = site.project.commit("slower");
    event["pull_request"]["head"]["sha"] = json!(head);
    let done = site.run("gate-measure", "pull_request", &event).exits(1);
    let said = format!("{}{}", done.out, done.err);
    assert!(said.contains("exit status 2") && said.contains(VERDICT_FAILED), "{said}");
    assert!(said.contains("gates/perf.toml:2:10: "), "the job is told where: {said}");
    assert_eq!(site.records(), Vec::<Value>::new());
}

#[test]
fn row_42_only_a_success_and_a_draft_that_was_skipped_pass() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/init/files/gate-measure.yml")).unwrap();
    let (_, verdict) = text.split_once("\n  verdict:\n").expect("the job of the verdict");
    assert!(verdict.contains("if: ${{ always() }}\n") && verdict.contains("RESULT: ${{ needs.measure.result }}\n"));
    let (_, script) = verdict.split_once("run: |\n").expect("its script");
    for (result, draft, code) in [
        ("success", "false", 0),
        ("success", "", 0),
        ("skipped", "true", 0),
        ("skipped", "false", 1),
        ("skipped", "", 1),
        ("failure", "true", 1),
        ("failure", "false", 1),
        ("cancelled", "false", 1),
        ("cancelled", "true", 1),
        ("", "", 1),
    ] {
        let done = Command::new("bash")
            .args(["-e", "-c", script])
            .env_clear()
            .envs([("RESULT", result), ("DRAFT", draft)])
            .output()
            .expect("bash runs");
        assert_eq!(done.status.code(), Some(code), "{result:?} {draft:?}");
        let said = String::from_utf8_lossy(&done.stdout).starts_with("::error title=gate::");
        assert_eq!(said, code == 1, "{result:?}");
    }
}

#[test]
fn row_40_a_merge_group_is_measured() {
    let Some(site) = Site::new() else { return };
    site.project.program(150);
    let head = site.project.commit("slower");
    let event = json!({
        "action": "checks_requested",
        "merge_group": { "head_sha": head, "head_ref": "refs/heads/gh-readonly-queue/main/pr-7", "base_sha": site.base, "base_ref": "refs/heads/main" },
        "repository": { "id": 1, "full_name": REPOSITORY, "name": "engine", "default_branch": "main", "owner": { "login": "example-org" } },
    });
    let _done = site.run("gate-measure", "merge_group", &event).exits(1);
    assert_eq!(site.records()[0]["context"]["head"], head);
}

#[test]
fn the_action_refuses_what_it_cannot_check() {
    let project = Project::new();
    let _done = project.sandbox.gate(&["init", "--workflows"]).exits(0);
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new("bash");
        project.sandbox.furnish(&mut command);
        command.arg(".github/actions/gate/run.sh").envs(variables.iter().copied());
        project.sandbox.start(command).wait()
    };
    let archive = ("GATE_ARCHIVE_URL", "https://127.0.0.1:1/gate.tar.gz");
    let digest = "0".repeat(64);
    for (variables, says) in [
        (&[("GATE_COMMAND", "perf")][..], "gate is not on PATH"),
        (
            &[("GATE_ARCHIVE_URL", "http://example.org/x"), ("GATE_ARCHIVE_SHA256", &digest)],
            "only https://",
        ),
        (&[archive], "64 hex digits are needed"),
        (&[archive, ("GATE_ARCHIVE_SHA256", "latest")], "64 hex digits are needed"),
        (&[archive, ("GATE_ARCHIVE_SHA256", &digest)], "cannot be fetched"),
    ] {
        let output = project.write("../output", "");
        let mut variables = variables.to_vec();
        variables.push(("GITHUB_OUTPUT", output.to_str().unwrap()));
        let done = run(&variables).exits(2);
        assert!(
            done.out.contains("::error title=gate::") && done.out.contains(says),
            "{says}: {}",
            done.out
        );
        assert_eq!(fs::read_to_string(&output).unwrap(), "outcome=error\nexit-code=2\n", "{says}");
    }
    // Inputs are words, whatever they hold.
    let bin = project.sandbox.path("bin");
    fs::create_dir(&bin).unwrap();
    project.script(
        "bin/gate",
        "for word in \"$@\"; do printf '[%s]' \"$word\"; done; env | grep -c GATE_COMMAND",
    );
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let done = run(&[
        ("PATH", &path),
        ("GATE_COMMAND", "perf"),
        ("GATE_GATES", "gates/a b.toml\n\n$(touch x)"),
        ("GATE_BASE", "-x; touch x"),
        ("GATE_ARGUMENTS", "--alpha\n0.02\n*"),
        ("GATE_OUT", "out/records.jsonl"),
    ]);
    assert_eq!(
        done.out,
        "[perf][--gate][gates/a b.toml][--gate][$(touch x)][--base][-x; touch x][--out][out/records.jsonl][--alpha][0.02][*]0\n"
    );
    assert!(!project.sandbox.path("x").exists() && project.sandbox.path("out").is_dir());
    let done = run(&[("PATH", &path), ("GATE_COMMAND", "clean --all")]).exits(2);
    assert!(done.out.contains("command: perf, eval or ingest"), "{}", done.out);
    assert_eq!(run(&[("PATH", &path)]).exits(0).out, "", "only put on PATH");
}

/// The reporting workflow for the run that measured a fork's change, against this GitHub; the default branch is checked out.
fn report(site: &Site, hub: &Hub, head: &str, number: u64) {
    let mut pull = things::pull(PULL, REPOSITORY, head, true, false);
    pull["head"]["ref"] = json!("change");
    pull["head"]["repo"]["id"] = json!(2);
    pull["head"]["repo"]["full_name"] = json!("visitor/engine");
    pull["base"]["sha"] = json!(site.base);
    {
        let mut world = hub.world();
        world.pulls.insert(PULL, (head.to_owned(), true, false));
        world.listed = vec![pull];
        world.files = vec!["tool.sh".to_owned()];
    }
    let event = json!({
        "action": "completed",
        "workflow_run": {
            "id": 9000 + number, "run_number": number, "run_attempt": 1, "event": "pull_request", "conclusion": "failure",
            "path": ".github/workflows/gate-measure.yml", "head_sha": head, "head_branch": "change",
            "head_repository": { "id": 2, "full_name": "visitor/engine" },
        },
        "repository": { "id": 1, "full_name": REPOSITORY, "name": "engine", "default_branch": "main", "owner": { "login": "example-org" } },
    });
    site.project.git(&["checkout", "--quiet", "main"]);
    let more = [
        "-s".to_owned(),
        format!("GITHUB_TOKEN={TOKEN}"),
        "--env".to_owned(),
        format!("GITHUB_API_URL={}", hub.address()),
    ];
    let done = site.run_with("gate-report", "workflow_run", &event, &more).exits(0);
    assert!(!done.out.contains(TOKEN) && !done.err.contains(TOKEN), "the token is told");
}

#[test]
fn both_workflows_tell_of_a_forks_regression_and_of_its_cure() {
    let Some(site) = Site::new() else { return };
    let hub = Hub::new();
    let newest = || {
        let world = hub.world();
        let (commit, asked) = world.statuses.last().expect("a status").clone();
        (commit, asked["state"].as_str().unwrap().to_owned())
    };
    site.project.program(150);
    let slow = site.project.commit("slower");
    let _done = site.run("gate-measure", "pull_request", &site.pull_request(false)).exits(1);
    report(&site, &hub, &slow, 7);
    assert_eq!(newest(), (slow, "failure".to_owned()));
    assert!(hub.only().contains("### gate: fail: regression"), "{}", hub.only());

    site.project.git(&["checkout", "--quiet", "change"]);
    site.project.program(100);
    let mended = site.project.commit("mended");
    let _done = site.run("gate-measure", "pull_request", &site.pull_request(false)).exits(0);
    report(&site, &hub, &mended, 8);
    assert_eq!(newest(), (mended, "success".to_owned()));
    assert!(
        hub.only().contains("### gate: pass") && hub.only().contains("The head has moved"),
        "{}",
        hub.only()
    );
}
