//! `gate baseline`: accept, check, diff, show, import.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gate::model::baseline::{Baseline, SampleLine, parse};
use gate::model::evidence::Ended;
use gate::model::gate::Against;
use gate::model::record::Record;
use serde_json::Value;
use tempfile::TempDir;

use super::case::{ARCH, Maker, rule, used};

/// A project with a folder for records.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        Self(folder)
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    fn gate(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gate"));
        command.args(words).current_dir(self.0.path()).env_remove("GATE_LEDGER");
        command.output().unwrap()
    }

    /// Runs `gate baseline` and expects an exit code; gives everything it said.
    fn baseline(&self, words: &[&str], code: i32) -> String {
        let output = self.gate(&[&["baseline"], words].concat());
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.status.code(), Some(code), "gate baseline {words:?}: {said}");
        said
    }

    fn write(&self, name: &str, record: &Record) -> String {
        let path = self.path(name);
        fs::write(&path, record.line().unwrap() + "\n").unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn file(&self) -> PathBuf {
        self.path(&format!("baselines/{ARCH}.txt"))
    }

    fn read(&self) -> Baseline {
        parse(&fs::read_to_string(self.file()).unwrap(), self.file().to_str().unwrap()).unwrap()
    }

    fn lines(&self) -> Vec<SampleLine> {
        self.read().samples().cloned().collect()
    }

    fn evidence(&self) -> Vec<PathBuf> {
        let folder = self.path(&format!("baselines/evidence/{ARCH}"));
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }
}

/// A session of one day, held against its base arm.
fn maker(at: &'static str) -> Maker {
    let mut maker = Maker::new(None);
    maker.rules = vec![rule("hold", Against::Base)];
    maker.at = at;
    maker
}

const DAYS: [&str; 3] = [
    "2026-11-01T10:00:00.000000Z",
    "2026-11-02T10:00:00.000000Z",
    "2026-11-03T10:00:00.000000Z",
];

fn accepted(project: &Project, values: &[f64]) {
    for (at, value) in DAYS.into_iter().zip(values) {
        let record = project.write("record.json", &maker(at).steady(*value, *value));
        project.baseline(&["accept", &record], 0);
    }
}

#[test]
fn accepted_sessions_carry_their_evidence_and_judge_the_next() {
    let project = Project::new();
    accepted(&project, &[100.0, 101.0, 99.0]);
    let lines = project.lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0].date, "2026-11-03", "the newest first");
    assert!(
        lines
            .iter()
            .all(|line| line.values.len() >= 4 && line.extra("binary").is_some_and(|binary| binary.len() == 12))
    );
    assert_eq!(project.evidence().len(), 3);
    let name = format!("2026-11-03-{}.json", lines[0].record.as_ref().unwrap());
    assert!(project.evidence()[2].ends_with(&name), "{:?}", project.evidence());
    project.baseline(&["check"], 0);

    let mut next = maker("2026-11-04T10:00:00.000000Z");
    next.rules.push(rule("hold", Against::Baseline));
    next.baseline = Some(used(lines));
    let slower = next.steady(100.0, 88.0);
    assert_eq!(
        super::case::ruling(&slower, "hold").verdict,
        gate::model::judgement::Verdict::Regression
    );
}

#[test]
fn a_second_session_of_the_same_record_is_refused_and_the_file_stays() {
    let project = Project::new();
    accepted(&project, &[100.0]);
    let before = fs::read(project.file()).unwrap();
    let record = project.path("record.json");
    let said = project.baseline(&["accept", record.to_str().unwrap()], 2);
    assert!(said.contains("in the baseline already"), "{said}");
    assert_eq!(fs::read(project.file()).unwrap(), before);
}

#[test]
fn a_worse_session_needs_a_reason_and_a_replaced_one_leaves_its_anchor() {
    let project = Project::new();
    accepted(&project, &[100.0, 101.0]);
    let record = project.write("slow.json", &maker("2026-11-05T10:00:00.000000Z").steady(90.0, 90.0));
    let evidence = project.evidence();
    let said = project.baseline(&["accept", &record], 2);
    assert!(
        said.contains("--because") && said.contains("worse than the tolerance of 5 %"),
        "{said}"
    );
    assert_eq!(
        (project.lines().len(), project.evidence()),
        (2, evidence),
        "neither line nor evidence"
    );
    project.baseline(&["accept", &record, "--because", "  "], 2);

    project.baseline(
        &["accept", &record, "--replace", "--because", "fix of a wrong\nresult, reviewed"],
        0,
    );
    let [line] = project.lines().try_into().unwrap();
    assert_eq!(line.extra("note"), Some("fix of a wrong\nresult, reviewed"));
    let anchor = line.anchor().unwrap();
    assert_eq!(anchor.date, "2026-11-01");
    assert!((anchor.median - 100.0).abs() < 0.2);
    project.baseline(&["check"], 0);
    let record = project.write("close.json", &maker("2026-11-06T10:00:00.000000Z").steady(86.0, 86.0));
    project.baseline(&["accept", &record], 0);
    assert_eq!(project.lines().len(), 2, "within the tolerance no reason is needed");
}

#[test]
fn another_identity_is_no_way_around_the_reason() {
    let project = Project::new();
    accepted(&project, &[100.0]);
    let mut other = maker(DAYS[2]);
    other.identity.config.insert("env".to_owned(), serde_json::json!({"X": "2"}));
    let record = project.write("other.json", &other.steady(80.0, 80.0));
    let said = project.baseline(&["accept", &record], 2);
    assert!(said.contains("--because"), "{said}");
}

#[test]
fn what_may_not_become_a_baseline_is_refused() {
    let project = Project::new();
    let good = maker(DAYS[0]).steady(100.0, 100.0);
    let spoilt = |change: &dyn Fn(&mut Record)| {
        let mut record = good.clone();
        change(&mut record);
        record.judgement = gate::judge::judge(&gate::judge::Case::from(&record));
        record.sealed(None).unwrap().0
    };
    let label = |name: &str| {
        let name = name.to_owned();
        move |record: &mut Record| drop(record.labels.insert(name.clone(), "true".to_owned()))
    };
    for (what, record) in [
        ("labelled fork", spoilt(&label("fork"))),
        ("labelled untrusted", spoilt(&label("untrusted"))),
        ("replayed", spoilt(&|record| record.host.replayed = true)),
        (
            "did not come to its end",
            spoilt(&|record| {
                record.cancelled = Some("SIGINT".to_owned());
                record.evidence.ended = Some(Ended::Cancelled {
                    signal: "SIGINT".to_owned(),
                });
            }),
        ),
        ("rejected_null", maker(DAYS[0]).steady(100.0, 80.0)),
    ] {
        let record = project.write("record.json", &record);
        let said = project.baseline(&["accept", &record], 2);
        assert!(said.contains("is not accepted") && said.contains(what), "{what}: {said}");
    }
    let mut unknown = maker(DAYS[0]);
    unknown.identity.arms.a.source = None;
    let record = project.write("record.json", &unknown.steady(100.0, 100.0));
    assert!(project.baseline(&["accept", &record], 2).contains("exploratory"));
    unknown = maker(DAYS[0]);
    unknown.identity.config.clear();
    let record = project.write("record.json", &unknown.steady(100.0, 100.0));
    assert!(project.baseline(&["accept", &record], 2).contains("unknown equals nothing: config"));
    assert!(!project.file().exists() && project.evidence().is_empty());

    let record = project.write("record.json", &good);
    for words in [["--fixture", "q8"], ["--metric", "pp"]] {
        let said = project.baseline(&[["accept", &record], words].concat(), 2);
        assert!(said.contains("nothing of that name"), "{said}");
    }
    let said = project.baseline(&["accept", &record, "--baseline", "baselines/gfx942.txt"], 2);
    assert!(said.contains("measured on cpu-x86_64"), "{said}");
}

#[test]
fn the_baselines_own_opinion_does_not_keep_it_from_being_replaced() {
    let project = Project::new();
    accepted(&project, &[100.0, 100.5, 99.5]);
    let mut next = maker("2026-11-04T10:00:00.000000Z");
    next.rules = vec![rule("hold", Against::Baseline)];
    next.baseline = Some(used(project.lines()));
    let record = next.steady(85.0, 85.0);
    assert_eq!(record.judgement.outcome, gate::model::judgement::Outcome::Fail);
    let record = project.write("record.json", &record);
    assert!(project.baseline(&["accept", &record], 2).contains("--because"));
    project.baseline(&["accept", &record, "--because", "new cooling limit"], 0);
    project.baseline(&["check"], 0);
}

#[test]
fn a_session_without_a_base_arm_can_be_accepted() {
    let project = Project::new();
    let mut alone = maker(DAYS[0]);
    (alone.alone, alone.blocks) = (true, 8);
    alone.rules = vec![rule("hold", Against::Baseline)];
    let record = project.write("record.json", &alone.steady(0.0, 100.0));
    project.baseline(&["accept", &record], 0);
    assert_eq!(project.lines()[0].values.len(), 8);
    project.baseline(&["check"], 0);
    let said = project.baseline(&["accept", &record, "--arm", "A"], 2);
    assert!(said.contains("0 values of arm A"), "{said}");
}

#[test]
fn a_broken_seal_is_a_violation_wherever_it_is_met() {
    let project = Project::new();
    accepted(&project, &[100.0, 101.0]);
    let path = project.evidence().remove(0);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"tg\":", "\"tg\": ", 1)).unwrap();
    project.baseline(&["check"], 0);

    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["evidence"]["samples"][0]["values"]["tg"] = 123.0.into();
    fs::write(&path, value.to_string()).unwrap();
    let said = project.baseline(&["check"], 4);
    assert!(said.contains("the seal is broken") && said.contains("1 violations"), "{said}");
    project.baseline(&["accept", path.to_str().unwrap()], 4);

    value["seal"] = gate::model::record::seal(&value).into();
    fs::write(&path, value.to_string()).unwrap();
    assert!(project.baseline(&["check"], 4).contains("it is record"));
    fs::write(&path, "{").unwrap();
    assert!(project.baseline(&["check"], 4).contains("damaged"));
    fs::remove_file(&path).unwrap();
    assert!(project.baseline(&["check"], 4).contains("no evidence"));
}

#[test]
fn a_line_that_its_evidence_does_not_carry_is_a_violation() {
    let project = Project::new();
    accepted(&project, &[100.0]);
    let text = fs::read_to_string(project.file()).unwrap();
    let line = project.lines().remove(0);
    let value = format!("  {}", line.values[0]);
    for (what, from, to) in [
        ("the values", value.as_str(), "  140"),
        ("the unit", "tok/s", "req/s"),
        ("the direction", "higher", "lower"),
        ("the identity", line.identity.as_deref().unwrap(), "00000000"),
        ("binary", "binary=", "binary=0"),
        ("nothing of that name", "  q4  ", "  q8  "),
        ("no evidence", "2026-11-01", "2026-11-09"),
    ] {
        fs::write(project.file(), text.replacen(from, to, 1)).unwrap();
        let said = project.baseline(&["check"], 4);
        assert!(said.contains(what), "{what}: {said}");
    }
    fs::write(project.file(), text.replace("sample ", "# sample ")).unwrap();
    project.baseline(&["check"], 3);
    fs::write(project.file(), text.replace("tok/s", "furlong/s")).unwrap();
    let said = project.baseline(&["check"], 2);
    assert!(said.contains(".txt:4:") && said.contains("unknown unit"), "{said}");
}

#[test]
fn the_base_arm_can_be_accepted_and_the_ledger_names_records() {
    let project = Project::new();
    let mut record = maker(DAYS[0]);
    record.metrics.push(super::case::metric("pp:higher:tok/s"));
    let record = record.steady(100.0, 99.9);
    fs::create_dir(project.path(".gate")).unwrap();
    fs::write(project.path(".gate/ledger.jsonl"), record.line().unwrap() + "\n").unwrap();
    let digits = &record.seal[3..9];
    project.baseline(&["accept", digits, "--arm", "A", "--metric", "tg"], 0);
    project.baseline(&["accept", "last", "--metric", "pp"], 0);
    let lines = project.lines();
    assert_eq!(lines.iter().map(|line| line.metric.as_str()).collect::<Vec<_>>(), ["pp", "tg"]);
    assert_eq!((lines[0].extra("arm"), lines[1].extra("arm")), (None, Some("A")));
    assert_eq!(lines[1].extra("binary"), Some(super::case::base_build().as_str()));
    assert_eq!(project.evidence().len(), 1, "one record is one evidence file");
    project.baseline(&["check"], 0);
    project.baseline(&["accept", "ffff"], 2);
}

#[test]
fn both_are_written_or_neither() {
    let project = Project::new();
    let record = project.write("record.json", &maker(DAYS[0]).steady(100.0, 100.0));
    fs::create_dir_all(project.file()).unwrap();
    project.baseline(&["accept", &record], 2);
    assert!(project.evidence().is_empty(), "evidence without a line was left behind");
    fs::remove_dir(project.file()).unwrap();
    fs::write(project.path("baselines/evidence"), "in the way").unwrap();
    project.baseline(&["accept", &record], 2);
    assert!(!project.file().exists(), "a line without evidence was left behind");
}

#[test]
fn show_and_diff_tell_what_there_is_and_what_moved() {
    let project = Project::new();
    accepted(&project, &[100.0]);
    commit(project.0.path());
    let record = project.write("record.json", &maker(DAYS[1]).steady(104.0, 104.0));
    project.baseline(&["accept", &record], 0);
    let shown = project.baseline(&["show"], 0);
    assert!(
        shown.contains("2026-11-01") && shown.contains("2026-11-02") && shown.contains("min / median / max"),
        "{shown}"
    );
    let diff = project.baseline(&["diff", "HEAD"], 0);
    let added: Vec<&str> = diff.lines().filter(|line| line.starts_with("+ sample")).collect();
    assert_eq!(added.len(), 1, "{diff}");
    assert!(diff.contains("tg of q4: 100.1 -> 102.1 tok/s, a gain of +2.00 %"), "{diff}");
    assert!(project.baseline(&["diff", "no-such"], 2).contains("no revision"));
}

fn commit(folder: &Path) {
    let repository = git2::Repository::open(folder).unwrap();
    let mut index = repository.index().unwrap();
    index.add_all(["baselines"], git2::IndexAddOption::DEFAULT, None).unwrap();
    index.write().unwrap();
    let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
    let author = git2::Signature::now("a", "a@example.com").unwrap();
    repository.commit(Some("HEAD"), &author, &author, "baselines", &tree, &[]).unwrap();
}

#[test]
fn import_writes_historical_lines_once() {
    let project = Project::new();
    fs::write(project.path("old.txt"), "# theirs\n9b_mq4_gen_tok_s=164.0\n").unwrap();
    let words = [
        "import",
        "old.txt",
        "--arch",
        "gfx942",
        "--source",
        "hipfire",
        "--date",
        "2026-04-28",
        "--stat",
        "best-of-2",
    ];
    project.baseline(&words, 0);
    let text = fs::read_to_string(project.path("baselines/gfx942.txt")).unwrap();
    let line = "sample  9b_mq4  gen_tok_s  tok/s  higher  2026-04-28  -  -  164  status=historical stat=best-of-2 source=hipfire\n";
    assert!(text.ends_with(line), "{text}");
    assert!(project.baseline(&words, 2).contains("in the baseline already"));
    assert_eq!(fs::read_to_string(project.path("baselines/gfx942.txt")).unwrap(), text);
    project.baseline(&["check"], 0);
    for (words, what) in [
        (["--arch", "../x", "--date", "2026-04-28"], "no architecture"),
        (["--arch", "gfx942", "--date", "today"], "no day"),
    ] {
        assert!(project.baseline(&[&["import", "old.txt"], &words[..]].concat(), 2).contains(what));
    }
}

#[test]
fn the_baselines_of_this_repository_are_what_their_evidence_gives() {
    let root = crate::sources::root();
    let sandbox = crate::sandbox::Sandbox::new();
    let mut command = sandbox.command(&["baseline", "check"]);
    command.current_dir(&root);
    let said = sandbox.start(command).wait().exits(0).out;
    assert!(said.contains("cpu-x86_64.txt: 2 lines with sound evidence"), "{said}");
    assert!(said.contains("gfx942.txt: 0 lines with sound evidence, 12 historical"), "{said}");
    let folder = root.join("baselines/evidence/cpu-x86_64");
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for private in ["/home", "/root", "/tmp", "@"] {
            assert!(!text.contains(private), "evidence with {private:?} in it");
        }
    }
}
