//! House rules that no compiler holds. Words that are forbidden everywhere are written here in two halves.

use crate::sources::{Source, objections, sources};

const FILE_MAX_LINES: usize = 500;
const README_MAX_LINES: usize = 250;
const CONTRIBUTING_MAX_LINES: usize = 60;
const UNFINISHED: &[&str] = &[concat!("to", "do!"), concat!("unimple", "mented!")];
const CATCH_ALL_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager"];
const MACHINE_PATHS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
];

/// A file that people edit as code.
fn is_code(path: &str) -> bool {
    path.ends_with(".rs") || path.starts_with("scripts/") || path.starts_with(".ci/")
}

/// Everything that is wrong with one file, as `file:line: what`.
fn untidy(source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    let lines = source.text.lines().count();
    let limit = match source.path.as_str() {
        "README.md" => README_MAX_LINES,
        "CONTRIBUTING.md" => CONTRIBUTING_MAX_LINES,
        path if is_code(path) => FILE_MAX_LINES,
        _ => usize::MAX,
    };
    if lines > limit {
        wrong.push(format!("{}:{lines}: {lines} lines, at most {limit}", source.path));
    }
    for part in source.path.split('/').map(|part| part.split('.').next().unwrap_or(part)) {
        if CATCH_ALL_NAMES.contains(&part) {
            wrong.push(format!("{}:1: {part} names no subject", source.path));
        }
    }
    wrong.extend(objections(source, |line| {
        MACHINE_PATHS
            .iter()
            .find(|path| holds_path(line, path))
            .map(|path| format!("{path} is a place on one machine"))
    }));
    if source.path.ends_with(".rs") {
        wrong.extend(objections(source, |line| {
            UNFINISHED
                .iter()
                .find(|word| line.contains(**word))
                .map(|word| format!("{word} is unfinished work"))
        }));
        wrong.extend(objections(source, |line| {
            suppresses_a_lint(line).then(|| "use expect with a reason".to_owned())
        }));
    }
    wrong
}

/// Whether the line holds this folder as the start of an absolute path, and not inside a longer one.
fn holds_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}*".contains(c)))
}

/// Whether the line holds the attribute that silences a lint for good.
fn suppresses_a_lint(line: &str) -> bool {
    let attribute = concat!("al", "low(");
    line.match_indices(attribute)
        .any(|(at, _)| line[..at].ends_with(['[', ' ', ',', '(']))
}

/// Test files whose module `main.rs` does not list: they would never run.
fn forgotten(main: &str, files: &[String]) -> Vec<String> {
    let listed = |name: &str| main.lines().any(|line| line.trim() == format!("mod {name};"));
    files.iter().filter(|name| *name != "main" && !listed(name)).cloned().collect()
}

#[test]
fn the_repository_is_tidy() {
    let files = sources(&[
        "src",
        "tests/it",
        "tests/programs",
        "scripts",
        ".ci",
        ".github",
        "docs",
        "gates",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "Cargo.toml",
    ]);
    assert!(files.len() > 10, "the repository was not found");
    let wrong: Vec<String> = files.iter().flat_map(untidy).collect();
    assert!(wrong.is_empty(), "untidy:\n{}", wrong.join("\n"));
}

#[test]
fn every_test_file_is_listed() {
    let files = sources(&["tests/it"]);
    let main = files
        .iter()
        .find(|file| file.path == "tests/it/main.rs")
        .map(|file| file.text.as_str())
        .unwrap();
    let name = |file: &Source| {
        Some(
            file.path
                .strip_prefix("tests/it/")?
                .strip_suffix(".rs")?
                .trim_end_matches("/mod")
                .to_owned(),
        )
    };
    let names: Vec<String> = files.iter().filter_map(name).filter(|name| !name.contains('/')).collect();
    let missing = forgotten(main, &names);
    assert!(missing.is_empty(), "tests/it/main.rs does not list {missing:?}");
    assert_eq!(
        forgotten("mod a;\n// mod b;\n", &["a".into(), "b".into(), "main".into()]),
        ["b"],
        "a forgotten file is found"
    );
}

#[test]
fn each_rule_can_object() {
    let of = |path: &str, text: &str| {
        untidy(&Source {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    };
    assert_eq!(of("src/a.rs", &"\n".repeat(501)), ["src/a.rs:501: 501 lines, at most 500"]);
    assert_eq!(of("README.md", &"\n".repeat(251)), ["README.md:251: 251 lines, at most 250"]);
    assert_eq!(
        of("CONTRIBUTING.md", &"\n".repeat(61)),
        ["CONTRIBUTING.md:61: 61 lines, at most 60"]
    );
    assert_eq!(of("src/common/mod.rs", ""), ["src/common/mod.rs:1: common names no subject"]);
    assert_eq!(of("src/helpers.rs", ""), ["src/helpers.rs:1: helpers names no subject"]);
    for unfinished in UNFINISHED {
        assert_eq!(
            of("src/a.rs", &format!("\n{unfinished}()")),
            [format!("src/a.rs:2: {unfinished} is unfinished work")]
        );
    }
    for path in MACHINE_PATHS {
        assert_eq!(
            of("docs/a.md", &format!("cd {path}me")),
            [format!("docs/a.md:1: {path} is a place on one machine")]
        );
    }
    for text in ["#![", "#[cfg_attr(test, "] {
        assert_eq!(
            of("src/a.rs", &format!("{text}{}dead_code)]", concat!("al", "low("))),
            ["src/a.rs:1: use expect with a reason"]
        );
    }
    assert_eq!(
        of(
            "src/a.rs",
            "fn is_allowed() {} // target/work/x, $HOME/home/x\n#[expect(x, reason = \"\")]"
        ),
        Vec::<String>::new()
    );
}
