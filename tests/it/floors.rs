//! The floors of the architecture: which module may know which.

use crate::sources::{Source, sources};

/// Every module of the crate with the modules that it may name. `lib.rs` names all of them and imports none.
const FLOORS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("judge", &["model"]),
    ("adapter", &["model"]),
    ("check", &["model"]),
    ("render", &["model"]),
    ("edge", &["model"]),
    ("exit", &["model"]),
    ("cli", &["model", "judge", "adapter", "check", "render", "edge", "exit"]),
    ("main", &["cli", "exit"]),
];

/// The modules that a path in this text reaches from the crate's root, each with its line: `crate::edge::files`, the braces of
/// `crate::{edge, model::metric}`, `gate::cli` in `main.rs`, and chains of `super` that climb to the root or beyond.
fn reached(source: &Source) -> Vec<(usize, String)> {
    let without_comment = |line: &str| {
        if line.trim_start().starts_with("//") {
            "\n".to_owned()
        } else {
            format!("{line}\n")
        }
    };
    let code: String = source.text.lines().map(without_comment).collect();
    let below_root = source.path.matches('/').count() - usize::from(source.path.ends_with("/mod.rs"));
    let prefixes: &[&str] = if source.path == "src/main.rs" {
        &["gate::"]
    } else {
        &["crate::", "super::"]
    };
    let mut found = Vec::new();
    for prefix in prefixes {
        for (at, _) in code.match_indices(prefix) {
            let inside_a_path = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            let path = code[at..].trim_start_matches(prefix);
            let climbed = (code.len() - at - path.len()) / prefix.len();
            if !inside_a_path && (*prefix != "super::" || climbed >= below_root) {
                let line = code[..at].matches('\n').count() + 1;
                found.extend(first_names(path).into_iter().map(|name| (line, name)));
            }
        }
    }
    found
}

/// The first names of a path or of a braced group of paths.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect::<String>()
    };
    let Some(group) = path.strip_prefix('{') else {
        return vec![name(path)];
    };
    let (mut depth, mut names, mut start) = (0_usize, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn module_of(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split('/').next().unwrap_or(below).trim_end_matches(".rs")
}

/// Every path of a source file that its floor forbids, as `file:line: module must not name other`.
fn trespasses(source: &Source) -> Vec<String> {
    let module = module_of(&source.path);
    if module == "lib" || module == "bin" {
        return Vec::new();
    }
    let Some((_, allowed)) = FLOORS.iter().find(|(name, _)| *name == module) else {
        return vec![format!(
            "{}:1: module {module} stands on no floor: add it to the table",
            source.path
        )];
    };
    let known = |name: &str| FLOORS.iter().any(|(module, _)| *module == name);
    let wrong = reached(source)
        .into_iter()
        .filter(|(_, name)| name != module && known(name) && !allowed.contains(&name.as_str()));
    wrong
        .map(|(line, name)| format!("{}:{line}: {module} must not name {name}", source.path))
        .collect()
}

#[test]
fn every_module_keeps_to_its_floor() {
    let files = sources(&["src"]);
    assert!(files.len() > 5, "the sources were not found");
    let wrong: Vec<String> = files.iter().flat_map(trespasses).collect();
    assert!(wrong.is_empty(), "the floors are broken:\n{}", wrong.join("\n"));
}

#[test]
fn a_trespass_is_found_and_named() {
    let of = |path: &str, text: &str| {
        trespasses(&Source {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    };
    assert_eq!(
        of("src/model/a.rs", "\nuse crate::judge::x;\n"),
        ["src/model/a.rs:2: model must not name judge"]
    );
    assert_eq!(
        of("src/edge/a.rs", "fn f() { crate::adapter::find(); }"),
        ["src/edge/a.rs:1: edge must not name adapter"]
    );
    assert_eq!(
        of(
            "src/judge/rule/hold.rs",
            "use crate::{\n    model::{metric, unit},\n    render::text,\n    edge,\n};"
        ),
        [
            "src/judge/rule/hold.rs:1: judge must not name render",
            "src/judge/rule/hold.rs:1: judge must not name edge"
        ]
    );
    assert_eq!(
        of("src/render/a.rs", "use super::super::edge::files;"),
        ["src/render/a.rs:1: render must not name edge"]
    );
    assert_eq!(
        of("src/render/mod.rs", "use super::edge;"),
        ["src/render/mod.rs:1: render must not name edge"]
    );
    assert_eq!(of("src/model.rs", "use super::edge;"), ["src/model.rs:1: model must not name edge"]);
    assert_eq!(
        of("src/main.rs", "use gate::edge::files;"),
        ["src/main.rs:1: main must not name edge"]
    );
    assert_eq!(
        of("src/shop/a.rs", ""),
        ["src/shop/a.rs:1: module shop stands on no floor: add it to the table"]
    );
    for (path, text) in [
        ("src/cli/a.rs", "use crate::{edge::x, judge};"),
        ("src/edge/a.rs", "// crate::cli\nuse crate::model::unit;"),
        ("src/judge/a.rs", "use super::ranks; use crate::judge::ranks;"),
        ("src/judge/rule/a.rs", "use super::super::ranks;"),
        ("src/main.rs", "gate::cli::run();"),
    ] {
        assert_eq!(of(path, text), Vec::<String>::new(), "{path}");
    }
}
