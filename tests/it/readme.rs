//! The manual cannot lie: every example of README.md and docs/method.md runs, and its lists are those of the program.
//!
//! In a fenced block `console`, a line `$ gate …` (with its continuations after `\`) is run by `sh` in a folder that the document's
//! examples share: a new git repository with the stand-ins of [`stand_ins`]. What stands below it, up to the next `$ ` or the end of the
//! block, is compared with its standard output, or with its standard error where it prints no output; plan and progress on standard error
//! are not shown. `$ echo $?` with a number below states the exit code of the command before it; without that, it must be 0.
//! Both sides go through [`normalised`]. A machine that was too noisy for an answer (exit 3) gets one more try of the whole document.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use gate::adapter::key_value::KEY_VALUE;
use gate::exit;
use gate::model::gate::declaration::Series;
use gate::model::metric::Metric;

use crate::sources::root;

/// Warnings that do not depend on the noise of the machine; the others come and go, and have tests of their own.
const STEADY_WARNINGS: &[&str] = &["both arms run the same files"];

/// The one filter: times become T, sessions S, digests H, other numbers with their sign N; runs of spaces, rules and blank lines shrink to
/// one; a warning that is not one of [`STEADY_WARNINGS`] is left out. Words, columns and their order stay.
fn normalised(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let warning = line.trim_start_matches("- ").strip_prefix("warning: ");
        if warning.is_some_and(|text| !STEADY_WARNINGS.iter().any(|start| text.starts_with(start))) {
            continue;
        }
        let words: Vec<String> = line.split_whitespace().map(word).collect();
        let line = words.join(" ");
        if !(line.is_empty() && lines.last().is_none_or(String::is_empty)) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

fn word(word: &str) -> String {
    if let Some(rule) = ['─', '═'].into_iter().find(|rule| word.chars().all(|c| c == *rule)) {
        return rule.to_string();
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_:-.+".contains(c);
    let (start, rest) = word.split_at(word.find(is_part).unwrap_or(word.len()));
    let core = rest.trim_end_matches(|c| !is_part(c));
    let end = &rest[core.len()..];
    let name = if is_time(core) {
        "T".to_owned()
    } else if is_session(core) {
        "S".to_owned()
    } else if is_digest(core) {
        "H".to_owned()
    } else {
        numbers(core)
    };
    format!("{start}{name}{end}")
}

/// `2026-11-30T10:00:00.123456Z`
fn is_time(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape.starts_with("0000-00-00T00:00:00") && shape.ends_with('Z')
}

/// `20261130t100000-6c0764`
fn is_session(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect();
    shape == "00000000t000000-000000"
}

/// Twelve hex digits or more, with or without `b3:`.
fn is_digest(word: &str) -> bool {
    let hex = word.trim_start_matches("b3:");
    hex.len() >= 12 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Numbers that are no part of a name, with the sign before them, as N.
fn numbers(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let in_name = out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if c.is_ascii_digit() && !in_name {
            if out == "-" || out == "+" {
                out.clear();
            }
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            // A full stop ends the sentence and not the number.
            let digits = rest[..digits].trim_end_matches('.').len();
            out.push('N');
            rest = &rest[digits..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// One command of a document and what stands below it.
#[derive(Debug, PartialEq)]
struct Example {
    line: usize,
    command: String,
    output: String,
    exit: i32,
}

/// The examples of a document's `console` blocks, and the line of each command.
fn examples(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut fenced = false;
    let mut asks_exit = false;
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if line.starts_with("```") {
            (fenced, asks_exit) = (!fenced && line == "```console", false);
        } else if !fenced {
            continue;
        } else if line == "$ echo $?" {
            asks_exit = true;
        } else if let Some(command) = line.strip_prefix("$ ") {
            asks_exit = false;
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                command.pop();
                command.push_str(lines.next().map_or("", |(_, line)| line.trim_start()));
            }
            found.push(Example {
                line: number,
                command,
                output: String::new(),
                exit: 0,
            });
        } else if let Some(example) = found.last_mut() {
            if asks_exit {
                example.exit = line.parse().unwrap_or_else(|_| panic!("line {number}: {line:?} is no exit code"));
            } else {
                example.output.push_str(line);
                example.output.push('\n');
            }
        }
    }
    found
}

/// What the examples compare besides `gate` itself, printing what the real programs print.
fn stand_ins(folder: &Path) {
    for (build, rate) in [("base", "152.104"), ("new", "147.392")] {
        let program = folder.join(build).join("llama-bench");
        fs::create_dir(folder.join(build)).unwrap();
        let line = format!(r#"{{"n_prompt": 0, "n_gen": 128, "avg_ts": {rate}, "stddev_ts": 0.4, "samples_ts": [ {rate} ]}}"#);
        fs::write(&program, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(folder.join("model.gguf"), "weights\n").unwrap();
}

/// A repository with one empty commit, so that the identity of what runs in it is complete.
fn repository(folder: &Path) {
    let repository = git2::Repository::init(folder).unwrap();
    let author = git2::Signature::now("Test", "test@example.org").unwrap();
    let tree = repository.index().unwrap().write_tree().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    repository.commit(Some("HEAD"), &author, &author, "empty", &tree, &[]).unwrap();
}

/// How an example that did not do what it says failed.
enum Wrong {
    /// The machine gave no answer.
    TooNoisy(String),
    /// It printed or returned something else.
    Differs(String),
}

/// Runs every example of a document in order.
fn run(document: &str, text: &str) -> Result<usize, Wrong> {
    let scratch = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let folder = scratch.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (home, locks, temporary, work) = (place("home"), place("locks"), place("temporary"), place("work"));
    repository(&work);
    stand_ins(&work);
    let programs = Path::new(env!("CARGO_BIN_EXE_gate")).parent().unwrap();
    let examples = examples(text);
    for example in &examples {
        let done = Command::new("/bin/sh")
            .args(["-c", &example.command])
            .current_dir(&work)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .env("HOME", &home)
            .env("TMPDIR", &temporary)
            .env("GATE_LOCK_DIR", &locks)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let shown = if out.is_empty() { &err } else { &out };
        let code = done.status.code();
        let told = format!(
            "{document}:{}: $ {}\nexit {code:?}, the document says {}\n--- printed\n{out}{err}",
            example.line, example.command, example.exit
        );
        let (is, says) = (normalised(shown), normalised(&example.output));
        if code != Some(example.exit) && code == Some(i32::from(exit::INCONCLUSIVE.code)) {
            return Err(Wrong::TooNoisy(told));
        }
        if code != Some(example.exit) || is != says {
            return Err(Wrong::Differs(format!(
                "{told}--- printed, normalised\n{is}\n--- the document, normalised\n{says}"
            )));
        }
    }
    Ok(examples.len())
}

/// Runs a document's examples, once more where the machine was too noisy for an answer.
fn holds(document: &str, fewest: usize) {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let once_more = |wrong| match wrong {
        Wrong::TooNoisy(_) => run(document, &text),
        Wrong::Differs(_) => Err(wrong),
    };
    match run(document, &text).or_else(once_more) {
        Ok(count) => assert!(count >= fewest, "{document}: {count} examples, expected at least {fewest}"),
        Err(Wrong::TooNoisy(why) | Wrong::Differs(why)) => panic!("{why}"),
    }
}

#[test]
fn the_readme_does_what_it_says() {
    holds("README.md", 7);
}

#[test]
fn the_method_does_what_it_says() {
    holds("docs/method.md", 1);
}

/// The cells of every row of the table with this head; the head and the rule below it are left out.
pub fn table(text: &str, head: &str) -> Vec<Vec<String>> {
    let rows = text
        .lines()
        .skip_while(|line| *line != head)
        .take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = rows.skip(2).map(cells).collect();
    assert!(!rows.is_empty(), "no table with the head {head:?}");
    rows
}

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let says = table(&readme(), "| exit | outcome | means |");
    let is: Vec<Vec<String>> = exit::ALL
        .iter()
        .map(|exit| vec![exit.code.to_string(), exit.word.to_owned(), exit.means.to_owned()])
        .collect();
    assert_eq!(says, is);
}

#[test]
fn the_commands_are_those_of_the_program() {
    let help = Command::new(env!("CARGO_BIN_EXE_gate")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // A name stands two columns in; a description that wraps, further.
    let names = names
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let is: Vec<String> = names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(|name| format!("`gate {name}`"))
        .collect();
    let says = table(&readme(), "| command | does | example |");
    assert_eq!(says.iter().map(|row| row[0].clone()).collect::<Vec<_>>(), is);
    for row in says {
        assert!(
            row[2].starts_with(row[0].trim_end_matches('`')),
            "an example of another command: {row:?}"
        );
    }
}

#[test]
fn the_options_read_what_the_programs_print() {
    let mut read = 0;
    for row in table(&readme(), "| program | prints | option |") {
        let [program, prints, option] = row.as_slice() else {
            panic!("three cells: {row:?}")
        };
        let Some(flag) = option.trim_matches('`').strip_prefix("--metric ") else {
            continue;
        };
        let metric = Metric::parse_flag(flag.trim_matches('\'')).unwrap();
        let wanted = Series::of(metric);
        let reading = KEY_VALUE.reading(prints.trim_matches('`').as_bytes(), std::slice::from_ref(&wanted));
        assert!(reading.values.contains_key(&wanted.metric.name), "{program}: {:?}", reading.missing);
        read += 1;
    }
    assert!(read >= 3, "{read} programs");
}

#[test]
fn the_filter_keeps_what_matters() {
    let same = |a: &str, b: &str| assert_eq!(normalised(a), normalised(b));
    same("gain -7.45 %, after 3 blocks.", "gain +0.1 %, after 14 blocks.");
    same(
        "record: d33f2e97f5e5, plan b3:0123456789abcdef",
        "record: 272b846b72eb, plan b3:ffffffffffffffff",
    );
    same(
        "at 2026-11-30T10:00:00.1Z  in 20261130t183921-6c0764",
        "at 2027-01-02T03:04:05Z in 20270102t030405-ffffff",
    );
    same("a    b\n────\n\n\nc\nwarning: on A sample 5 with 1 lies far", "a b\n──────\n\nc");
    for (a, b) in [
        ("regression", "no_regression"),
        ("gain | tolerance", "tolerance | gain"),
        ("pp512", "pp128"),
        ("warning: both arms run the same files", ""),
        ("3 %", "3 ms"),
        ("cpu_ms 1", "1 cpu_ms"),
        ("a\nb", "a b"),
    ] {
        assert_ne!(normalised(a), normalised(b), "{a:?} and {b:?} must differ");
    }
    assert_eq!(
        normalised("[-10.44, -3.38] % (after 2 of 28) avg\\_ts 'x2' --ms 100"),
        "[N, N] % (after N of N) avg\\_ts 'x2' --ms N"
    );
}

#[test]
fn a_wrong_example_is_found() {
    let wrong = |text: &str| match run("a document", text) {
        Ok(count) => panic!("{count} examples held: {text}"),
        Err(Wrong::TooNoisy(why) | Wrong::Differs(why)) => why,
    };
    let right = "```console\n$ gate explain \\\n    exit_\nx\n```\n";
    assert_eq!(examples(right)[0].command, "gate explain exit_");
    assert!(wrong(right).contains("exit Some(2), the document says 0"));
    assert!(
        wrong("```console\n$ gate --version\ngate of 1.2.3\n```\n").contains("gate N"),
        "another word"
    );
    assert!(wrong("```console\n$ gate --version\ngate 9.9.9\n$ echo $?\n1\n```\n").contains("the document says 1"));
    assert!(
        run(
            "a document",
            "```console\n$ gate --version\ngate 9.9.9\n```\n```sh\n$ gate nonsense\n```\n"
        )
        .is_ok()
    );
}
