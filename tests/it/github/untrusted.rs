//! `--untrusted`: what a stranger's run measured, reported by the default branch's code against this GitHub.

use std::fs;

use gate::model::record::Record;
use gate::model::sample::{Arm, Void};
use serde_json::{Value, json};

use super::hub::{Hub, PULL, REPOSITORY, TOKEN};
use super::things;
use crate::declared::Project;
use crate::sandbox::Done;

pub const FILE: &str = "../artifact/records.jsonl";

/// The reporting job in the checkout of a repository, for a run of a fork that measured a change.
pub struct Report {
    pub project: Project,
    pub hub: Hub,
    pub base: String,
    pub head: String,
}

impl Report {
    /// A change that takes so many milliseconds, where the base takes 100, measured by a real run in the fork.
    pub fn of(ms: u32) -> Self {
        let mut report = Self::in_project(Project::new());
        report.pushes(ms);
        report
    }

    /// A repository whose last commit is the base branch's tip, before any change.
    pub fn in_project(project: Project) -> Self {
        fs::create_dir(project.sandbox.path("../artifact")).unwrap();
        Self {
            hub: Hub::new(),
            base: project.git(&["rev-parse", "HEAD"]),
            project,
            head: String::new(),
        }
    }

    /// The fork pushes another version, and its run measures it.
    pub fn pushes(&mut self, ms: u32) {
        let project = &self.project;
        project.git(&["checkout", "--quiet", "-B", "change", &self.base]);
        project.program(ms);
        self.head = project.commit(&format!("takes {ms} ms"));
        let _measured = project.perf(&["--base", &self.base, "--out", FILE]);
        project.git(&["checkout", "--quiet", "main"]);
        self.opened();
    }

    /// GitHub knows the change.
    pub fn opened(&self) {
        let mut pull = things::pull(PULL, REPOSITORY, &self.head, true, false);
        pull["head"]["ref"] = json!("change");
        pull["head"]["repo"]["id"] = json!(2);
        pull["head"]["repo"]["full_name"] = json!("visitor/engine");
        pull["base"]["sha"] = json!(self.base);
        let mut world = self.hub.world();
        world.pulls.insert(PULL, (self.head.clone(), true, false));
        world.listed = vec![pull];
        world.files = vec!["tool.sh".to_owned()];
    }

    /// The event of the run's end.
    pub fn event(&self, attempt: u32) -> Value {
        json!({
            "action": "completed",
            "workflow_run": {
                "id": 9007, "run_number": 7, "run_attempt": attempt, "event": "pull_request", "conclusion": "failure",
                "path": ".github/workflows/gate-measure.yml@refs/pull/12/merge",
                "head_sha": self.head, "head_branch": "change", "head_repository": { "id": 2, "full_name": "visitor/engine" },
            },
            "repository": { "id": 1, "full_name": REPOSITORY },
        })
    }

    fn step(&self, words: &[&str], event: &Value) -> Done {
        let path = self.project.write("../event.json", event.to_string());
        let mut command = self.project.sandbox.command(words);
        for (name, value) in [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_NAME", "workflow_run"),
            ("GITHUB_REPOSITORY", REPOSITORY),
            ("GITHUB_SHA", &self.base),
            ("GITHUB_RUN_ID", "1"),
            ("GITHUB_RUN_NUMBER", "1"),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_TOKEN", TOKEN),
            ("GITHUB_API_URL", &self.hub.address()),
        ] {
            command.env(name, value);
        }
        command.env("GITHUB_EVENT_PATH", path);
        command.env("GITHUB_STEP_SUMMARY", self.project.sandbox.path("../summary.md"));
        command.env("GITHUB_OUTPUT", self.project.sandbox.path("../output"));
        self.project.sandbox.start(command).wait()
    }

    fn comment(&self, event: &Value) -> Done {
        self.step(&["comment", "--untrusted", "--records", FILE, "--api-budget", "20s"], event)
    }

    fn status(&self, event: &Value) -> Done {
        let words = [
            "status",
            "--untrusted",
            "--as",
            "status",
            "--name",
            "gate/report",
            "--records",
            FILE,
            "--api-budget",
            "20s",
        ];
        self.step(&words, event)
    }

    /// The newest status: its commit, state and description.
    pub fn newest(&self) -> (String, String, String) {
        let world = self.hub.world();
        let (commit, asked) = world.statuses.last().expect("a status");
        let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
        assert_eq!(asked["context"], "gate/report");
        (commit.clone(), text("state"), text("description"))
    }

    /// Both steps, and the state that they leave.
    #[track_caller]
    pub fn told(&self, code: i32, state: &str, says: &str) {
        let event = self.event(1);
        let _done = self.comment(&event).exits(code);
        let _done = self.status(&event).exits(code);
        let (commit, is, description) = self.newest();
        assert_eq!((commit.as_str(), is.as_str()), (self.head.as_str(), state), "{description}");
        let body = self.hub.only();
        assert!(body.contains(says), "{says:?}: {body}");
    }

    /// The record with something else in it, sealed as if it were so.
    pub fn forges(&self, change: impl FnOnce(&mut Record)) {
        let text = self.project.sandbox.text(FILE);
        let mut record: Record = serde_json::from_str(text.trim()).unwrap();
        change(&mut record);
        let (_, line) = record.sealed(None).unwrap();
        self.project.write(FILE, line + "\n");
    }
}

#[test]
fn a_fork_s_regression_is_told_and_its_cure_turns_the_same_comment_green() {
    let mut report = Report::of(150);
    report.told(0, "failure", "### gate: fail: regression");
    let body = report.hub.only();
    assert!(body.contains("measured by code from a fork"), "{body}");
    let id = report.hub.marked()[0].id;
    report.pushes(100);
    let mut event = report.event(1);
    event["workflow_run"]["run_number"] = json!(8);
    let _done = report.comment(&event).exits(0).says("comment updated");
    let _done = report.status(&event).exits(0);
    assert_eq!(report.newest().1, "success");
    assert_eq!(report.hub.marked()[0].id, id, "one comment");
    assert!(report.hub.only().contains("### gate: pass"), "{}", report.hub.only());
}

#[test]
fn what_a_record_says_of_itself_counts_for_nothing() {
    let report = Report::of(150);
    report.forges(|record| {
        for ruling in &mut record.judgement.verdicts {
            ruling.verdict = gate::model::judgement::Verdict::NoRegression;
            ruling.outcome = gate::model::judgement::Outcome::Pass;
        }
        record.judgement.outcome = gate::model::judgement::Outcome::Pass;
        record.context.unaffected = Some("nothing to see".to_owned());
        record.context.identical = true;
        record.gate.metrics[0].tolerance = 90.0;
        record.gate.rules[0].required = false;
        // Another source is judged by other rules.
        "ingest".clone_into(&mut record.evidence.source);
    });
    report.told(0, "failure", "### gate: fail: regression");
    report.forges(|record| {
        for sample in record
            .evidence
            .samples
            .iter_mut()
            .filter(|sample| sample.arm == Arm::B && !sample.warmup)
        {
            sample.void = Some(Void {
                check: "P-KFDPROC".to_owned(),
                why: "a foreign process".to_owned(),
                attributable: false,
            });
        }
    });
    report.told(0, "failure", "### gate: fail: regression");
}

#[test]
fn row_29_records_of_another_commit_are_refused() {
    let report = Report::of(100);
    report.forges(|record| record.context.head = Some("d".repeat(40)));
    report.told(2, "error", "they do not belong to it");
}

#[test]
fn row_32_what_is_no_file_of_records_is_refused() {
    let report = Report::of(100);
    let sound = report.project.sandbox.text(FILE);
    let path = report.project.sandbox.path(FILE);
    let deep = format!("{{\"version\":1,\"x\":{}", "[".repeat(100_000));
    for (what, text) in [
        ("another format", sound.replace("\"version\":1}", "\"version\":2}")),
        ("a field of its own", sound.replace("{\"at\":", "{\"above\":1,\"at\":")),
        ("no number", sound.replace("100.0", "NaN")),
        ("a broken seal", sound.replace("100.0", "101.0")),
        ("too deep", deep),
        ("too large", "x".repeat(5 << 20)),
        ("empty", String::new()),
    ] {
        assert_ne!(text, sound, "{what}");
        report.project.write(FILE, text);
        report.told(2, "error", "the records are refused");
    }
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    report.told(2, "error", "is a symbolic link");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    report.told(2, "error", "is no regular file");
    let done = report.step(&["comment", "--untrusted", "--records", FILE, "x"], &report.event(1));
    let _done = done.exits(2).says("name one file of records");
}

#[test]
fn row_33_a_run_without_records_is_told() {
    let report = Report::of(100);
    fs::remove_file(report.project.sandbox.path(FILE)).unwrap();
    report.told(0, "error", "the run left no records");
}

#[test]
fn rows_34_and_36_other_runs_are_passed_over() {
    let report = Report::of(150);
    let mut push = report.event(1);
    push["workflow_run"]["event"] = json!("push");
    let mut same_name = report.event(1);
    same_name["workflow_run"]["path"] = json!(".github/workflows/mine.yml");
    let mut deleted = report.event(1);
    deleted["workflow_run"]["head_repository"] = Value::Null;
    let mut superseded = report.event(1);
    superseded["workflow_run"]["head_sha"] = json!("c".repeat(40));
    for event in [push, same_name, deleted, superseded] {
        let _done = report.comment(&event).exits(0).says("comment skipped");
        let _done = report.status(&event).exits(0).says("no status is set");
    }
    assert!(report.hub.marked().is_empty() && report.hub.world().statuses.is_empty());
}

#[test]
fn row_35_another_attempt_updates_the_same_comment() {
    let report = Report::of(150);
    let _done = report.comment(&report.event(1)).exits(0).says("comment created");
    let _done = report.comment(&report.event(2)).exits(0).says("comment updated");
    assert!(report.hub.only().contains("attempt=2"), "{}", report.hub.only());
    let _done = report.comment(&report.event(1)).exits(0).says("comment skipped");
}

#[test]
fn row_30_the_named_pull_request_counts_among_those_with_the_head_alone_and_then_none_passes() {
    let report = Report::of(100);
    let sibling = |number: u64| {
        let mut pull = report.hub.world().listed[0].clone();
        pull["number"] = json!(number);
        pull["base"]["ref"] = json!("release");
        let mut world = report.hub.world();
        world.pulls.insert(number, (report.head.clone(), true, false));
        world.listed.push(pull);
    };
    let warned = |done: &Done| {
        done.out
            .contains("::warning title=gate::2 open pull requests have this commit at their head")
    };
    sibling(13);
    // The run names none: nobody is spoken to, and the status says why.
    let event = report.event(1);
    let done = report.comment(&event).exits(0).says("comment skipped: 2 open pull requests");
    assert!(warned(&done) && report.hub.marked().is_empty(), "{}", done.out);
    assert!(report.project.sandbox.text("../summary.md").contains("close all but one"));
    let _done = report.status(&event).exits(0);
    let (commit, state, why) = report.newest();
    assert_eq!((commit.as_str(), state.as_str()), (report.head.as_str(), "error"), "{why}");
    // It names one of them: that one is told, without a verdict.
    for (named, spoken) in [("99", None), ("x", None), ("13", Some(13)), ("12", Some(PULL))] {
        report.forges(|record| drop(record.labels.insert("pull_request".to_owned(), named.to_owned())));
        report.hub.world().comments.clear();
        let done = report.comment(&event).exits(0);
        let marked = report.hub.marked();
        assert_eq!(marked.first().map(|comment| comment.number), spoken, "{named}");
        assert_eq!(
            (marked.len(), warned(&done)),
            (usize::from(spoken.is_some()), spoken.is_none()),
            "{named}"
        );
        assert!(
            marked.iter().all(|comment| comment.body.contains("### gate: error (blocks)")),
            "{marked:?}"
        );
        let _done = report.status(&event).exits(0);
        assert_eq!(report.newest().1, "error");
    }
    // Of one alone the name counts for nothing, and its own verdict stands.
    report.hub.world().listed.pop();
    report.hub.world().comments.clear();
    report.forges(|record| drop(record.labels.insert("pull_request".to_owned(), "13".to_owned())));
    report.told(0, "success", "### gate: pass");
    assert_eq!(report.hub.marked()[0].number, PULL);
}

#[test]
fn what_touches_the_rules_needs_a_maintainers_run() {
    let report = Report::of(100);
    for path in ["gates/perf.toml", ".github/workflows/gate-measure.yml", "baselines/gfx942.txt"] {
        report.hub.world().files = vec!["tool.sh".to_owned(), path.to_owned()];
        report.told(0, "error", "needs a maintainer's run");
    }
}

#[test]
fn a_record_that_is_missing_twice_or_of_no_gate_is_no_pass() {
    let report = Report::of(100);
    let sound = report.project.sandbox.text(FILE);
    report.project.write(FILE, sound.repeat(2));
    report.told(0, "error", "has several records");
    report.project.write(FILE, &sound);
    report.forges(|record| record.gate.name = "other".to_owned());
    report.told(0, "error", "there is no record of gate perf");
}

#[test]
fn row_40_a_merge_group_has_a_status_and_no_comment() {
    let report = Report::of(150);
    let mut event = report.event(1);
    event["workflow_run"]["event"] = json!("merge_group");
    let _done = report.status(&event).exits(0).says("no status is set");
    event["workflow_run"]["head_repository"] = json!({ "id": 1, "full_name": REPOSITORY });
    let _done = report.comment(&event).exits(0);
    let _done = report.status(&event).exits(0);
    assert!(report.hub.marked().is_empty());
    assert_eq!(report.newest().1, "failure");
}

#[test]
fn without_a_triggering_run_nothing_is_reported() {
    let report = Report::of(100);
    let mut command = report.project.sandbox.command(&["comment", "--untrusted", "--records", FILE]);
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_EVENT_NAME", "pull_request")
        .env("GITHUB_TOKEN", TOKEN);
    let _done = report.project.sandbox.start(command).wait().exits(2).says("on: workflow_run");
    let done = report
        .project
        .sandbox
        .gate(&["status", "--untrusted", "--as", "status", "--records", FILE]);
    let _done = done.exits(2).says("GITHUB_TOKEN");
}

#[test]
fn a_change_that_no_gate_guards_passes_by_githubs_own_list_of_its_files() {
    let mut report = Report::of(100);
    let gate = format!(
        "{}\n[when]\npaths = [\"tool.sh\"]\n",
        report.project.sandbox.text("gates/perf.toml")
    );
    report.project.write("gates/perf.toml", gate);
    report.base = report.project.commit("the gate guards one file");
    report.pushes(150);
    // What the run says of it does not count, what GitHub lists does.
    report.told(0, "failure", "### gate: fail: regression");
    report.hub.world().files = vec!["README".to_owned()];
    report.told(0, "success", "### gate: pass");
}
