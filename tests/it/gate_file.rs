//! Gate files: right ones and what they declare, wrong ones and where, and no bytes that make reading panic.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gate::edge::measure::PROCESS_METRICS;
use gate::model::gate::declaration::Declaration;
use gate::model::gate::keys::{self, Absent};
use gate::model::gate::{Against, Fault, Known, parse};
use gate::model::metric::OF_EVERY_PROCESS;
use gate::{adapter, judge};
use proptest::prelude::*;
use toml::de::{DeTable, DeValue};

use crate::sources::root;

fn read(text: &str, file: &str) -> Result<Declaration, Vec<Fault>> {
    let mut rules: Vec<&str> = judge::rule::ALL.iter().map(|kind| kind.name).collect();
    if !rules.contains(&"floor") {
        rules.push("floor");
    }
    let adapters: Vec<&str> = adapter::ALL.iter().map(|adapter| adapter.name).collect();
    let flags: Vec<&str> = judge::flag::ALL
        .iter()
        .filter(|flag| flag.can_void())
        .map(|flag| flag.name)
        .collect();
    let limits: Vec<&str> = judge::flag::limits().map(|limit| limit.name).collect();
    let known = Known {
        rules: &rules,
        adapters: &adapters,
        checks: None,
        helpers: &["gate-hip", "gate-ocl"],
        flags: &flags,
        limits: &limits,
    };
    parse(text, file, &known)
}

fn sound(text: &str) -> Declaration {
    read(text, "g.toml").unwrap_or_else(|faults| panic!("{}\n{text}", told(&faults)))
}

fn told(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

fn toml_files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension() == Some("toml".as_ref()))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{folder} holds no case");
    files
}

#[test]
fn every_wrong_file_is_refused_at_its_place() {
    let files = toml_files("tests/data/gate/wrong");
    assert!(files.len() >= 100, "only {} wrong files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let wanted: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("#! ")).collect();
        assert!(!wanted.is_empty(), "{name} does not say what is wrong with it");
        let faults = match read(&text, name) {
            Ok(_) => Vec::new(),
            Err(faults) => faults,
        };
        let as_wanted = |(fault, wanted): (&Fault, &&str)| format!("{}:{} {}", fault.line, fault.column, fault.what).starts_with(*wanted);
        if faults.len() != wanted.len() || !faults.iter().zip(&wanted).all(as_wanted) {
            wrong.push(format!("{name}\n  wants {}\n  tells {}", wanted.join("\n        "), told(&faults)));
        }
        assert!(
            faults.iter().all(|fault| !fault.what.contains('\n') && fault.file == name),
            "{name}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_right_file_declares_what_its_snapshot_says() {
    for path in toml_files("tests/data/gate/right") {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let declaration = read(&text, &format!("gates/{name}.toml")).unwrap_or_else(|faults| panic!("{}", told(&faults)));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root().join("tests/data/gate/right"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_debug_snapshot!(name, declaration));
    }
}

#[test]
fn every_committed_gate_is_sound() {
    let examples = toml_files("gates/examples");
    assert!(examples.len() >= 6, "an example is missing");
    for path in examples.into_iter().chain(toml_files("gates")) {
        let text = fs::read_to_string(&path).unwrap();
        let declaration = read(&text, path.to_str().unwrap()).unwrap_or_else(|faults| panic!("{}", told(&faults)));
        assert!(!declaration.about.is_empty(), "{} does not say what it guards", path.display());
    }
}

/// The keys that stand in a file, as the table writes them.
fn standing(table: &DeTable<'_>, section: &str, found: &mut BTreeSet<String>) {
    for (key, value) in table.iter() {
        let path = if section.is_empty() {
            key.get_ref().to_string()
        } else {
            format!("{section}.{}", key.get_ref())
        };
        let is_section = !keys::names(&path).is_empty();
        match value.get_ref() {
            DeValue::Table(below) if is_section => standing(below, &path, found),
            DeValue::Array(items) if is_section => items
                .iter()
                .filter_map(|item| item.get_ref().as_table())
                .for_each(|below| standing(below, &path, found)),
            _ => {
                found.insert(path);
            }
        }
    }
}

#[test]
fn the_right_files_hold_every_key_of_the_table() {
    let mut found = BTreeSet::new();
    for path in toml_files("tests/data/gate/right") {
        let text = fs::read_to_string(path).unwrap();
        standing(DeTable::parse(&text).unwrap().get_ref(), "", &mut found);
    }
    let table: BTreeSet<String> = keys::all().map(|key| key.path.to_owned()).collect();
    assert_eq!(found, table);
}

/// A sound file with room for one more line in each section, so that no line moves.
const ROOMY: &str = r#"version = 1
#room
source = "run"
[when]
#room.when
[arms]
#room.arms
[arms.a]
#room.arms.a
[arms.b]
#room.arms.b
[serve]
command = ["server"]
ready = "http://127.0.0.1/"
#room.serve
[run]
command = ["bench"]
#room.run
[plan]
#room.plan
[plan.warmup]
helper = "gate-ocl"
#room.plan.warmup
[telemetry]
#room.telemetry
[[fixture]]
name = "f"
#room.fixture
[[metric]]
name = "ms"
unit = "ms"
better = "lower"
#room.metric
[[rule]]
kind = "hold"
#room.rule
[require]
#room.require
"#;
const ROOMY_INGEST: &str = "version = 1\nsource = \"ingest\"\n[ingest]\n#room.ingest\n";

/// The roomy file with a key set to a value; a key that stands there is replaced.
fn with_key(path: &str, value: &str) -> String {
    let (section, name) = path.rsplit_once('.').map_or(("", path), |(section, name)| (section, name));
    let base = if section == "ingest" { ROOMY_INGEST } else { ROOMY };
    let room = if section.is_empty() {
        "#room".to_owned()
    } else {
        format!("#room.{section}")
    };
    let (start, end) = base.split_once(&format!("{room}\n")).unwrap_or_else(|| panic!("no {room}"));
    let header = start.rfind("\n[").filter(|_| !section.is_empty()).unwrap_or(0);
    let already = |line: &str| line.starts_with(&format!("{name} ="));
    let kept = |text: &str| {
        text.lines()
            .filter(|line| !already(line))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    // Only the section itself, or the head of the file, may lose a line.
    let (before, own) = start.split_at(header);
    let (own_after, rest) = if section.is_empty() {
        end.split_at(end.find('[').unwrap())
    } else {
        ("", end)
    };
    format!("{before}{}{name} = {value}\n{}{rest}", kept(own), kept(own_after))
}

#[test]
fn every_key_of_the_table_is_read() {
    for key in keys::all() {
        let text = with_key(key.path, "1979-05-27");
        let faults = read(&text, "g.toml").map(|_| Vec::new()).unwrap_or_else(|faults| faults);
        let line = 1 + text.lines().position(|line| line.ends_with("1979-05-27")).unwrap();
        let refused = |fault: &Fault| {
            let column = 1 + text.lines().nth(line - 1).unwrap().find("1979").unwrap();
            (fault.line, fault.column) == (line, column) && fault.what.starts_with(&format!("{}: a date", key.path))
        };
        assert!(
            faults.iter().any(refused),
            "{} takes a date, or is not read: {}",
            key.path,
            told(&faults)
        );
    }
}

#[test]
fn what_the_table_calls_a_default_is_the_default() {
    let mut values = 0;
    for key in keys::all() {
        let Absent::Value(value) = key.absent else { continue };
        values += 1;
        let base = if key.path.starts_with("ingest.") { ROOMY_INGEST } else { ROOMY };
        assert_eq!(sound(base), sound(&with_key(key.path, value)), "{} = {value}", key.path);
    }
    assert!(values > 30, "only {values} keys have a default value");
}

#[test]
fn what_is_required_depends_on_a_base_arm() {
    let text = format!(
        "{ROOMY}[[rule]]\nkind = \"hold\"\nagainst = \"baseline\"\n[[rule]]\nkind = \"hold\"\nagainst = \"baseline\"\nrequired = true\n"
    );
    let declaration = sound(&text);
    let required = |base_arm| declaration.rules_for(base_arm).iter().map(|rule| rule.required).collect::<Vec<_>>();
    assert_eq!(required(true), [true, false, true]);
    assert_eq!(required(false), [true, true, true]);
    let rule = &declaration.rules[1].rule;
    assert_eq!(
        (rule.against, rule.required, rule.tolerance.as_ref().unwrap().value),
        (Against::Baseline, false, 5.0)
    );
    let line = 1 + text.lines().position(|line| line == "against = \"baseline\"").unwrap() - 2;
    assert_eq!(rule.at, format!("g.toml:{line}"));
}

#[test]
fn sizes_have_limits() {
    let head = "version = 1\nsource = \"run\"\n[run]\ncommand = [\"x\"]\n";
    let metric = |n: usize| format!("[[metric]]\nname = \"m{n}\"\nunit = \"ms\"\nbetter = \"lower\"\n");
    let metrics = |count: usize| head.to_owned() + &(0..count).map(metric).collect::<String>();
    assert_eq!(sound(&metrics(200)).metrics.len(), 200);
    let first = |text: &str| read(text, "g.toml").unwrap_err().remove(0).to_string();
    assert_eq!(
        first(&metrics(201)),
        "g.toml:805:1: metric: 201 sections [[metric]]: at most 200 are read"
    );
    let long = format!("{head}#{}", "x".repeat(1 << 20));
    assert!(first(&long).starts_with("g.toml:1:1: a file of 1048"), "{}", first(&long));
    for deep in [
        format!("{head}x = {}{}", "[".repeat(50_000), "]".repeat(50_000)),
        format!("{head}{} = 1", vec!["x"; 50_000].join(".")),
        format!("{head}x = {}1{}", "{x = ".repeat(50_000), "}".repeat(50_000)),
    ] {
        assert!(first(&deep).contains("nested too deeply"), "{}", first(&deep));
    }
    let many = format!("{head}{}", (0..5_000).map(|n| format!("nonsense{n} = 1\n")).collect::<String>());
    let faults = read(&many, "g.toml").unwrap_err();
    assert_eq!(faults.len(), 21);
    assert!(faults[20].what.contains("or more"), "{}", faults[20]);
    let words = format!("version = 1\nsource = \"run\"\n[run]\ncommand = [{}]\n", "\"x\",".repeat(1001));
    assert_eq!(first(&words), "g.toml:4:11: run.command: 1001 items: at most 1000 are read");
}

#[test]
fn figures_of_every_process_are_the_ones_that_are_taken() {
    assert_eq!(OF_EVERY_PROCESS.map(|(name, _)| name), PROCESS_METRICS);
}

/// Every file of the right ones and the committed ones, to be mutated.
fn seeds() -> Vec<String> {
    let places = ["tests/data/gate/right", "gates/examples", "gates"];
    let files = places.into_iter().flat_map(toml_files);
    files.map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Words, spaces and single signs.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for c in text.chars() {
        match tokens.last_mut() {
            Some(last) if c.is_alphanumeric() && last.chars().all(char::is_alphanumeric) => last.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    tokens
}

const PIECES: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    ".",
    "=",
    ",",
    "\n",
    "#",
    "nan",
    "-1",
    "0",
    "1e400",
    "true",
    "\"\"",
    "[[",
    "]]",
    "\u{e9}\u{1f600}",
    "{args}",
    "..",
    "1979-05-27",
    "\\u0000",
    "*",
    "%",
    "metric",
    "plan",
    "run",
    "\u{feff}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_mutation_panics_or_is_refused_without_a_place(
        seed in prop::sample::select(seeds()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, prop::sample::select(PIECES)), 1..4),
    ) {
        let mut tokens = tokens(&seed);
        for (index, change, piece) in changes {
            let at = index.index(tokens.len());
            match change {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, tokens[at].clone()),
                2 => tokens[at] = piece.to_owned(),
                _ => {
                    let other = index.index(tokens.len() / 2 + 1);
                    tokens.swap(at, other);
                }
            }
        }
        let text = tokens.concat();
        if let Err(faults) = read(&text, "g.toml") {
            prop_assert!(!faults.is_empty(), "refused without a word:\n{text}");
            let lines = text.matches('\n').count() + 1;
            for fault in &faults {
                prop_assert!((1..=lines).contains(&fault.line) && fault.column >= 1 && !fault.what.is_empty(), "{fault}\n{text}");
                let line = text.split('\n').nth(fault.line - 1).unwrap();
                prop_assert!(fault.column <= line.chars().count() + 1, "{fault}\n{text}");
                prop_assert!(!fault.what.contains('\n'), "{fault}");
            }
        }
    }
}

fn gates(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let run: Output = Command::new(env!("CARGO_BIN_EXE_gate"))
        .arg("gates")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
}

#[test]
fn gates_are_listed_and_checked() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let (code, out, err) = gates(folder, &["check"]);
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.contains("no gate is declared"), "{err}");

    fs::create_dir_all(folder.join("gates/examples")).unwrap();
    let good = "version = 1\nsource = \"run\"\nabout = \"Is\\u001b[31m fast\"\nrun.command = [\"x\"]\n";
    fs::write(folder.join("gates/good.toml"), good).unwrap();
    fs::write(folder.join("gates/notes.txt"), "no gate").unwrap();
    fs::write(folder.join("gates/examples/not-taken.toml"), "no gate").unwrap();
    assert_eq!(gates(folder, &["check"]), (0, "1 gate is sound\n".to_owned(), String::new()));
    let (code, out, err) = gates(folder, &["list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        "good: Is fast\n  source   run\n  metrics  wall_s:lower:s\n  rules    hold against base of every metric\n"
    );

    fs::write(folder.join("gates/bad.toml"), good.replace("1\n", "2\n")).unwrap();
    symlink("good.toml", folder.join("gates/link.toml")).unwrap();
    fs::write(folder.join("gates/large.toml"), "#".repeat((1 << 20) + 1)).unwrap();
    fs::write(folder.join("gates/latin.toml"), b"about = \"\xe9\"").unwrap();
    let (code, out, _) = gates(folder, &["check"]);
    assert_eq!(code, 2);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 5, "{out}");
    for (line, word) in lines.iter().zip([
        "gates/bad.toml:1:11: version",
        "1048576 bytes",
        "not UTF-8",
        "symbolic link",
        "4 of 5 gates",
    ]) {
        assert!(line.contains(word), "{line} does not tell {word}");
    }
    let (code, out, err) = gates(folder, &["list"]);
    assert!(
        code == 2 && out.starts_with("good") && err.contains("gates/bad.toml:1:11"),
        "{out}{err}"
    );
    assert_eq!(gates(folder, &["check", "gates/good.toml"]).0, 0);
    let (code, out, _) = gates(folder, &["check", "gates/none.toml"]);
    assert!(code == 2 && out.contains("cannot read gates/none.toml"), "{out}");
}

#[test]
fn a_linked_folder_of_gates_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    symlink("elsewhere", place.path().join("gates")).unwrap();
    let (code, _, err) = gates(place.path(), &["check"]);
    assert!(code == 2 && err.contains("symbolic link"), "{err}");
}
