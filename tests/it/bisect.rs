//! `gate bisect` on real repositories: planted slow commits are found, and nothing of the user's is touched.
//!
//! Measuring on a busy machine may give no answer: a search that ends with exit 3 is run once more, from its start, and never twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use rustix::process::Signal;

use crate::alone::until;
use crate::playground::everything;
use crate::sandbox::{Done, Sandbox, json, program};

/// What is measured: 20 ms of work, slower by much more than the tolerance where it is slow.
const SLOW: &str = "--slow 20%";

/// A gate of one metric; `arms` is its table of arms.
fn gate(arms: &str) -> String {
    format!(
        "version = 1\nsource = \"run\"\n{arms}\n[run]\ncommand = [\"sh\", \"{{tree}}/bench.sh\"]\ntimeout = \"1m\"\n\
         [plan]\nmax_session = \"2m\"\nmax_blocks = 20\n\
         [[metric]]\nname = \"cpu_ms\"\nunit = \"ms\"\nbetter = \"lower\"\ntolerance = \"6%\"\n"
    )
}

/// A repository in a sandbox.
struct Project {
    sandbox: Sandbox,
    /// Every commit's id, oldest first.
    commits: Vec<String>,
}

impl Project {
    /// One with its gate and a first commit that is not slow; none without git.
    fn new(arms: &str) -> Option<Self> {
        program("git")?;
        let mut project = Self {
            sandbox: Sandbox::new(),
            commits: Vec::new(),
        };
        project.git(&["init", "-q", "-b", "trunk"]);
        fs::create_dir(project.sandbox.path("gates")).unwrap();
        project.sandbox.write("gates/perf.toml", gate(arms));
        project.sandbox.write("build.sh", "exit 0\n");
        project.speed("");
        project.commit("the start, \u{1b}[31mred");
        Some(project)
    }

    fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        self.sandbox.furnish(&mut command);
        command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(words);
        self.sandbox.start(command).wait().exits(0).out.trim().to_owned()
    }

    /// Makes what is measured slow, or not.
    fn speed(&self, slow: &str) {
        let own = env!("CARGO_BIN_EXE_gate");
        self.sandbox
            .write("bench.sh", format!("exec '{own}' workload spin --ms 20 {slow}\n"));
    }

    fn commit(&mut self, subject: &str) -> String {
        self.sandbox.write("note", subject);
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
        let id = self.git(&["rev-parse", "HEAD"]);
        self.commits.push(id.clone());
        id
    }

    /// Adds commits up to `last`; from number `slow` on they are slow.
    fn grow(&mut self, last: usize, slow: Option<usize>) {
        for number in self.commits.len()..=last {
            if slow == Some(number) {
                self.speed(SLOW);
            }
            self.commit(&format!("change {number}"));
        }
    }

    /// The whole range as an option.
    fn range(&self) -> String {
        format!("{}..{}", self.commits[0], self.commits[self.commits.len() - 1])
    }

    /// Runs `gate bisect`; once more where it has no answer.
    fn bisect(&self, words: &[&str]) -> Done {
        let words = [&["bisect"], words].concat();
        let done = self.sandbox.gate(&words);
        if done.code == Some(3) { self.sandbox.gate(&words) } else { done }
    }

    /// Searches the first of the whole range, and gives the exit code and the report.
    fn first(&self) -> (Option<i32>, Value) {
        let done = self.bisect(&["--range", &self.range(), "--first", "--format", "json"]);
        assert_ne!(done.out, "", "{}", done.err);
        (done.code, json(&done.out))
    }

    /// Every file of the user's: what is in the checkout and in the repository, our own state left out.
    fn users(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = everything(&self.sandbox.path(""));
        files.retain(|path, _| !path.starts_with(self.sandbox.path(".gate")));
        files
    }
}

#[test]
fn a_planted_commit_among_32_is_found_and_nothing_of_the_users_is_touched() {
    let Some(mut project) = Project::new("") else { return };
    project.grow(32, Some(23));
    // What a checkout, a stash or a reset would lose.
    project.sandbox.write("note", "changed, not committed");
    project.git(&["stash", "-q"]);
    project.sandbox.write("note", "changed again");
    project.sandbox.write("new", "untracked");
    let before = project.users();

    let done = project.bisect(&["--range", &project.range(), "--first"]);
    let done = done.exits(1).says("probe 1 of at most 6").says("declared now for the whole search");
    let found = format!("FIRST {} (change 23)", &project.commits[23][..9]);
    assert!(done.out.contains(&found), "{}", done.out);
    let before_it = format!("the commit before it, {} (change 22), does not", &project.commits[22][..9]);
    for words in [
        before_it.as_str(),
        "is named in at most 1 %",
        "is false in at most 5 %",
        "assumed: once slower",
    ] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    let changed: Vec<_> = project
        .users()
        .into_iter()
        .filter(|file| before.get(&file.0) != Some(&file.1))
        .collect();
    assert!(changed.is_empty() && project.users().len() == before.len(), "{changed:?}");

    let ledger = project.sandbox.ledger();
    assert!(
        (2..=12).contains(&ledger.len()),
        "{} records, in at most two searches of 6",
        ledger.len()
    );
    for record in &ledger {
        assert_eq!(record["plan"]["alpha"], 0.01 / 6.0, "the share was declared before");
        assert_eq!(record["plan"]["beta"], 0.05 / 6.0);
        assert_eq!(record["context"]["attempt"], 1, "no comparison is another's retry");
        assert_eq!(
            record["context"]["base"]["commit"],
            project.commits[0].as_str(),
            "always the good end"
        );
        let label = format!("{}..{}", &project.commits[0][..12], &project.commits[32][..12]);
        assert_eq!(record["labels"]["bisect"], label.as_str());
        let commit = record["identity"]["arms"]["B"]["source"]["commit"].as_str().unwrap();
        assert!(project.commits.contains(&commit.to_owned()), "{commit}");
    }
    project.sandbox.gate(&["ledger", "verify"]).exits(0);
}

#[test]
fn the_first_and_the_last_commit_of_a_range_are_found() {
    for planted in [1, 4] {
        let Some(mut project) = Project::new("") else { return };
        project.grow(4, Some(planted));
        let (code, report) = project.first();
        assert_eq!((code, &report["answer"]), (Some(1), &"found".into()), "{report}");
        assert_eq!(report["suspects"], Value::from(vec![project.commits[planted].clone()]), "{report}");
        assert!(report["commits"].as_array().unwrap().len() <= 3, "at most 3 comparisons: {report}");
        let perf = project
            .sandbox
            .gate(&["perf", "--base", &project.commits[0], "--format", "json"])
            .exits(1);
        assert_eq!(perf.record()["context"]["attempt"], 1, "a search is nobody's attempt");
    }
}

#[test]
fn a_range_without_a_slow_commit_is_not_searched() {
    let Some(mut project) = Project::new("") else { return };
    project.grow(4, None);
    let (code, report) = project.first();
    assert_eq!((code, &report["answer"]), (Some(0), &"no_regression".into()), "{report}");
    assert_eq!(report["suspects"], Value::Array(Vec::new()));
    assert_eq!(report["commits"].as_array().unwrap().len(), 1, "{report}");
}

const BUILT: &str = "[arms]\nbuild = [[\"sh\", \"build.sh\"]]\nartifacts = [\"bench.sh\"]\n";

#[test]
fn a_commit_that_does_not_build_is_neither_good_nor_bad() {
    // Halving asks commit 2 first, which is broken, and then one beside it.
    for (planted, suspects) in [(1, 1..=1), (2, 2..=3), (3, 2..=3), (4, 4..=4)] {
        let Some(mut project) = Project::new(BUILT) else { return };
        for number in 1..=4 {
            project.sandbox.write(
                "build.sh",
                if number == 2 {
                    "echo no compiler >&2; exit 7\n"
                } else {
                    "exit 0\n"
                },
            );
            project.grow(number, Some(planted));
        }
        let (code, report) = project.first();
        let said: Vec<String> = suspects.clone().map(|number: usize| project.commits[number].clone()).collect();
        assert_eq!(report["suspects"], Value::from(said), "planted {planted}: {report}");
        let answer = if suspects.clone().count() == 1 {
            (Some(1), "found")
        } else {
            (Some(3), "range")
        };
        assert_eq!((code, report["answer"].as_str().unwrap()), answer, "planted {planted}: {report}");
        let rows = report["commits"].as_array().unwrap();
        let broken = rows.iter().find(|row| row["commit"] == project.commits[2].as_str()).unwrap();
        let why = broken["cannot_be_judged"].as_str().unwrap();
        assert!(why.contains("failed with exit code 7") && why.contains("no compiler"), "{why}");
        assert_eq!(broken["record"], Value::Null, "nothing of it was measured");
    }
}

#[test]
fn an_end_that_cannot_be_judged_is_named() {
    let Some(mut project) = Project::new(BUILT) else { return };
    project.grow(1, None);
    project.sandbox.write("build.sh", "exit 7\n");
    project.grow(2, None);
    let done = project.sandbox.gate(&["bisect", "--range", "HEAD~2..", "--first"]).exits(3);
    assert!(done.out.contains("the newer end, cannot be judged"), "{}", done.out);
    project.sandbox.write("build.sh", "exit 0\n");
    project.grow(3, None);
    let done = project.sandbox.gate(&["bisect", "--range", "HEAD~1..", "--first"]).exits(2);
    let _said = done.says("the older end, cannot be judged").says("exit code 7");
}

#[test]
fn neighbours_name_the_pair_and_pass_over_what_does_not_build() {
    let Some(mut project) = Project::new(BUILT) else { return };
    project.grow(1, None);
    project.sandbox.write("build.sh", "exit 7\n");
    project.grow(2, None);
    project.sandbox.write("build.sh", "exit 0\n");
    project.grow(4, Some(3));
    let done = project.bisect(&["--range", &project.range()]).exits(1);
    let [first, third] = [1, 3].map(|number: usize| &project.commits[number][..9]);
    let pair = format!("slower between {first} (change 1) and {third} (change 3): cpu_ms: gain -");
    assert!(done.out.contains(&pair), "{}", done.out);
    assert_eq!(done.out.matches("slower between").count(), 1, "{}", done.out);
    assert!(done.out.contains("the start, red") && !done.out.contains('\u{1b}'), "{}", done.out);
    for words in [
        "cannot be judged: build step `sh build.sh` failed with exit code 7",
        "1 commit cannot be judged",
        "alpha 1 % and beta 5 %",
    ] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    let bases: Vec<Value> = project
        .sandbox
        .ledger()
        .iter()
        .rev()
        .take(3)
        .map(|record| record["context"]["base"]["commit"].clone())
        .collect();
    assert_eq!(
        bases,
        [&project.commits[3], &project.commits[1], &project.commits[0]].map(|id| Value::from(id.as_str()))
    );

    // Named commits in the order in which they are named; a broken first one is no base.
    let report = project.bisect(&[&project.commits[2], &project.commits[0], &project.commits[1], "--format", "json"]);
    let report = json(&report.exits(3).out);
    let verdicts: Vec<bool> = report["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["cannot_be_judged"].is_null())
        .collect();
    assert_eq!(verdicts, [false, true, true], "{report}");
    assert_eq!(report["commits"][2]["verdicts"][0]["verdict"], "no_regression", "{report}");
}

#[test]
fn a_candidate_that_does_not_run_is_passed_over_with_its_record() {
    let Some(mut project) = Project::new("") else { return };
    project.sandbox.write("bench.sh", "exit 9\n");
    project.commit("crashes");
    project.speed("");
    project.commit("runs again");
    let report = project.bisect(&["--range", &project.range(), "--format", "json"]).exits(3);
    let report = json(&report.out);
    let row = &report["commits"][1];
    assert!(row["cannot_be_judged"].as_str().unwrap().contains("failed twice"), "{report}");
    assert!(row["record"].is_string(), "what was measured is sealed: {report}");
    assert_eq!(report["commits"][2]["against"], project.commits[0][..9], "{report}");
}

#[test]
fn what_a_merge_brought_in_is_the_merges_own_commit() {
    let Some(mut project) = Project::new("") else { return };
    project.git(&["checkout", "-q", "-b", "side"]);
    project.speed(SLOW);
    project.sandbox.write("beside", "1");
    project.git(&["add", "--all"]);
    project.git(&["commit", "-q", "-m", "slow, on the side"]);
    let side = project.git(&["rev-parse", "HEAD"]);
    project.git(&["checkout", "-q", "trunk"]);
    project.commit("on the trunk");
    project.git(&["merge", "-q", "--no-ff", "-m", "merges the side", "side"]);
    project.commits.push(project.git(&["rev-parse", "HEAD"]));
    let (code, report) = project.first();
    assert_eq!(
        (code, &report["suspects"][0]),
        (Some(1), &project.commits[2].as_str().into()),
        "{report}"
    );
    let done = project
        .sandbox
        .gate(&["bisect", "--range", &format!("{side}..HEAD"), "--first"])
        .exits(2);
    let _said = done.says("by a merge").says(&project.commits[0][..9]);
}

#[test]
fn what_is_no_range_or_no_gate_is_an_error_with_a_remedy() {
    let Some(mut project) = Project::new("") else { return };
    project.grow(3, None);
    let [old, new] = [0, 3].map(|number: usize| project.commits[number].clone());
    let reversed = format!("{new}..{old}");
    let turned = format!("{}..{}", &old[..9], &new[..9]);
    for (words, says) in [
        (&["--range", "HEAD..HEAD", "--first"][..], "the range is empty"),
        (&["--range", &reversed], &turned),
        (&["--range", "nowhere..HEAD"], "nowhere: no such commit here"),
        (&["--range", "HEAD"], "write A..B"),
        (&["--range", "HEAD~1...HEAD"], "three dots"),
        (&["HEAD"], "2 values"),
        (&["HEAD", "HEAD"], "the same commit"),
        (&["HEAD~1", "HEAD", "--first"], "--range"),
        (
            &["HEAD~1", "HEAD", "--metric", "speed"],
            "--metric speed: gates/perf.toml declares cpu_ms",
        ),
        (&["HEAD~1", "HEAD", "--fixture", "x"], "--fixture x"),
        (&["HEAD~1", "HEAD", "--gate", "gates/other.toml"], "no such gate"),
        (&["HEAD~1", "HEAD", "--rules-from", "nowhere"], "--rules-from nowhere"),
    ] {
        let _said = project.sandbox.gate(&[&["bisect"], words].concat()).exits(2).says(says);
    }
    let two = gate("[arms.a]\nargs = [\"x\"]").replace("bench.sh\"", "bench.sh\", \"{args}\"");
    for (text, says) in [
        (two, "its arms differ"),
        (gate("[arms.a]\nrev = \"HEAD\""), "name their own rev or path"),
        (gate("").replace("[plan]", "[plan]\nobjective = \"promote\""), "objective"),
        (gate("").replace("[plan]", "[plan]\nalpha = 0.000002"), "declare larger ones"),
        (gate("") + "[[rule]]\nkind = \"spread\"\nmax = \"5%\"\n", "nothing to search for"),
    ] {
        project.sandbox.write("gates/perf.toml", text);
        let _said = project
            .sandbox
            .gate(&["bisect", "--range", &project.range(), "--first"])
            .exits(2)
            .says(says);
    }
    project.sandbox.write("gates/perf.toml", gate(""));
    project.sandbox.write("gates/second.toml", gate(""));
    let _said = project
        .sandbox
        .gate(&["bisect", "HEAD~1", "HEAD"])
        .exits(2)
        .says("name one gate with --gate");
    assert!(project.sandbox.ledger().is_empty(), "nothing was measured");
}

#[test]
fn a_shallow_clone_is_told_how_to_get_its_history() {
    let Some(mut project) = Project::new("") else { return };
    project.grow(3, None);
    let clone = Project {
        sandbox: Sandbox::new(),
        commits: Vec::new(),
    };
    let from = format!("file://{}", project.sandbox.path("").display());
    clone.git(&["clone", "-q", "--depth", "2", &from, "."]);
    for range in [format!("{}..HEAD", project.commits[0]), "HEAD~2..HEAD".to_owned()] {
        let done = clone.sandbox.gate(&["bisect", "--range", &range, "--first"]).exits(2);
        let _said = done.says("no such commit here").says("fetch-depth: 0");
    }
}

#[test]
fn only_what_is_asked_is_measured_and_judged() {
    let Some(mut project) = Project::new("") else { return };
    let more = "[[metric]]\nname = \"spin_ms\"\nunit = \"ms\"\nbetter = \"lower\"\n\
                [[fixture]]\nname = \"one\"\n[[fixture]]\nname = \"two\"\n\
                [[rule]]\nkind = \"hold\"\n[[rule]]\nkind = \"hold\"\nagainst = \"baseline\"\nrequired = true\n";
    project.sandbox.write("gates/perf.toml", gate("") + more);
    project.grow(1, None);
    let words = ["HEAD~1", "HEAD", "--metric", "cpu_ms", "--fixture", "two", "--ledger", "own.jsonl"];
    let done = project.bisect(&words).exits(0);
    assert!(done.out.contains("two / cpu_ms"), "{}", done.out);
    let record = json(project.sandbox.lines("own.jsonl").last().unwrap());
    let judged: Vec<_> = record["judgement"]["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["metric"], &one["against"]))
        .collect();
    assert_eq!(judged, [(&"cpu_ms".into(), &"base".into())]);
    assert_eq!(record["plan"]["cells"], serde_json::json!([{ "fixture": "two" }]));
    assert!(project.sandbox.ledger().is_empty(), "the named ledger is used");
}

#[test]
fn a_signal_ends_a_search_and_leaves_what_was_sealed() {
    let Some(mut project) = Project::new("") else { return };
    project.grow(8, Some(8));
    let range = project.range();
    let running = project
        .sandbox
        .start(project.sandbox.command(&["bisect", "--range", &range, "--first"]));
    until("a session has begun", || running.err().contains("plan: session"));
    running.signal(Signal::INT);
    let done = running.wait().exits(130).says("what was sealed stays in the ledger");
    assert!(
        !done.err.contains("--resume"),
        "a part of a search is not gone on with: {}",
        done.err
    );
    let cancelled = &project.sandbox.ledger()[0];
    assert_eq!(
        (&cancelled["cancelled"], cancelled["labels"]["bisect"].is_string()),
        (&"SIGINT".into(), true)
    );
    project.sandbox.gate(&["ledger", "verify"]).exits(0);
    let left: Vec<_> = fs::read_dir(project.sandbox.path(".gate/trees")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
