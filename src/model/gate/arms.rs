//! How an arm becomes runnable and what is run: `[arms]`, `[serve]`, `[run]`, `[[fixture]]`.

use std::time::Duration;

use super::declaration::{ArmKeys, Arms, Fixture, Run, Serve};
use super::reading::Table;
use super::words::{BUILD, COMMAND, SLOT, command, commands, distinct, names, placeholders, variables, words};
use super::{paths, value};
use crate::model::variable;

const PATTERNS: &str = "a list of patterns, such as [\"src/**\"],";

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

/// Patterns of a key.
pub(super) fn patterns(table: &Table<'_>, key: &str) -> Vec<String> {
    let read = |item: &toml::de::DeValue<'_>| {
        let pattern = value::text(item)?;
        paths::check_pattern(&pattern).map(|()| pattern)
    };
    distinct(table, key, PATTERNS, read)
}

/// `[arms]`
pub(super) fn arms(root: &Table<'_>) -> Arms {
    let table = root.section("arms", "arms");
    Arms {
        build: commands(&table, "build", BUILD),
        build_timeout: table.read("build_timeout", value::duration).unwrap_or(minutes(60)),
        artifacts: patterns(&table, "artifacts"),
        env: variables(&table, "env", BUILD),
        submodules: table.read("submodules", value::switch).unwrap_or(false),
        skip_identical: table.read("skip_identical", value::switch).unwrap_or(false),
        harness: patterns(&table, "harness"),
        a: arm(&table.section("a", "arms.a")),
        b: arm(&table.section("b", "arms.b")),
    }
}

fn arm(table: &Table<'_>) -> ArmKeys {
    if let (Some(at), Some(_)) = (table.place("path"), table.place("rev")) {
        table.fault(at, "path", "a prebuilt install has no revision: keep path or rev");
    }
    ArmKeys {
        rev: table.read("rev", revision),
        path: table.read("path", install),
        args: words(table, "args", SLOT),
        env: variables(table, "env", BUILD),
    }
}

fn revision(value: &toml::de::DeValue<'_>) -> Result<String, String> {
    let rev = value::filled(value)?;
    if rev.starts_with('-') || rev.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("{rev:?} is no revision: give a commit, tag or branch"));
    }
    Ok(rev)
}

/// A prebuilt install may lie anywhere, but never above the repository by a relative path.
fn install(value: &toml::de::DeValue<'_>) -> Result<String, String> {
    let path = value::filled(value)?;
    if paths::climbs(&path) {
        return Err(format!("{path:?} leaves the tree: give an absolute path, or one without .."));
    }
    Ok(path)
}

/// `[serve]`
pub(super) fn serve(root: &Table<'_>) -> Option<Serve> {
    let table = root.section("serve", "serve");
    table.stands().then(|| Serve {
        command: command(&table, "command", SLOT),
        ready: table.need("ready", address).unwrap_or_default(),
        timeout: table.read("timeout", value::duration).unwrap_or(minutes(5)),
    })
}

fn address(value: &toml::de::DeValue<'_>) -> Result<String, String> {
    let address = value::filled(value)?;
    placeholders(&address, &["port"])?;
    let host = address
        .strip_prefix("http://")
        .filter(|rest| !rest.is_empty() && !rest.starts_with('/'));
    if host.is_none() || address.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!(
            "{address:?} is no http:// address: write for example \"http://127.0.0.1:{{port}}/health\""
        ));
    }
    Ok(address)
}

/// `[run]`
pub(super) fn run(root: &Table<'_>) -> Option<Run> {
    let table = root.section("run", "run");
    if !table.stands() {
        return None;
    }
    let adapters = table.reading.known.adapters;
    let run = Run {
        command: command(&table, "command", COMMAND),
        extract: table
            .read("extract", value::known("adapter", adapters))
            .unwrap_or_else(|| "key-value".to_owned()),
        output: table.read("output", output),
        timeout: table.read("timeout", value::duration).unwrap_or(minutes(10)),
        env: variables(&table, "env", SLOT),
        pass_env: names(&table, "pass_env", variable::check_name),
        record_env: names(&table, "record_env", recordable),
        caches: names(&table, "caches", variable::check_name),
        max_failed_pct: table.read("max_failed", value::percent(100.0)).unwrap_or(0.0),
    };
    for (key, list) in [("pass_env", &run.pass_env), ("caches", &run.caches)] {
        if let (Some(at), Some(name)) = (table.place(key), list.iter().find(|name| run.env.contains_key(*name))) {
            table.fault(at, key, &format!("{name} is set in run.env too: keep one"));
        }
    }
    Some(run)
}

/// A results file lies in the private folder of its slot or in the arm's tree.
fn output(value: &toml::de::DeValue<'_>) -> Result<String, String> {
    let path = value::filled(value)?;
    placeholders(&path, &["tree", "out"])?;
    let below = ["{out}/", "{tree}/"]
        .iter()
        .find_map(|folder| path.strip_prefix(folder))
        .unwrap_or(&path);
    paths::inside(below)?;
    Ok(path)
}

/// A literal name, or a pattern with `*`.
fn recordable(name: &str) -> Result<(), String> {
    let bare = name.replace('*', "");
    if bare.is_empty() {
        return Err(format!("{name:?} records every variable: name a family, such as \"HSA_*\""));
    }
    variable::check_name(&bare)?;
    if !name.contains('*') && variable::is_held_back(name) {
        return Err(format!(
            "{name} may be a secret, and its value would stand in every record: leave it out"
        ));
    }
    Ok(())
}

/// `[[fixture]]`, each with its place.
pub(super) fn fixtures<'d>(root: &Table<'d>) -> Vec<(Table<'d>, Fixture)> {
    let mut fixtures: Vec<(Table<'d>, Fixture)> = Vec::new();
    for table in root.sections("fixture") {
        let fixture = fixture(&table);
        if let (Some(at), true) = (table.place("name"), fixtures.iter().any(|(_, other)| other.name == fixture.name)) {
            table.fault(at, "name", &format!("a second fixture {:?}: names must differ", fixture.name));
        }
        fixtures.push((table, fixture));
    }
    fixtures
}

fn fixture(table: &Table<'_>) -> Fixture {
    let own = table.reading.uses.borrow().len();
    let fixture = Fixture {
        name: table.need("name", value::name).unwrap_or_default(),
        model: table.read("model", model),
        prompt: table.read("prompt", inside),
        args: words(table, "args", SLOT),
        env: variables(table, "env", SLOT),
        metrics: distinct(table, "metrics", "a list of metric names, such as [\"tg128\"],", value::filled),
    };
    if fixture.name == "*" {
        table.fault(table.at, "name", "\"*\" means every fixture in rules: give a name");
    }
    // What a fixture's own words use concerns that fixture only, except for the port.
    let own_uses = table.reading.uses.borrow_mut().split_off(own);
    for used in own_uses {
        match used.placeholder {
            placeholder @ ("model" | "prompt") if table.place(placeholder).is_none() => {
                let what = format!(
                    "{}: {{{placeholder}}}, and the fixture declares no {placeholder}: give it one",
                    used.key
                );
                table.reading.fault(used.at, what);
            }
            "port" => table.reading.uses.borrow_mut().push(used),
            _ => {}
        }
    }
    fixture
}

fn inside(value: &toml::de::DeValue<'_>) -> Result<String, String> {
    let path = value::filled(value)?;
    paths::inside(&path).map(|()| path)
}

fn model(value: &toml::de::DeValue<'_>) -> Result<String, String> {
    inside(value).map_err(|why| format!("{why}; GATE_MODELS names the folder"))
}

/// What only shows once run, server and fixtures are known: placeholders without anything behind them, arguments that go nowhere.
pub(super) fn cross_check(root: &Table<'_>, arms: &Arms, run: Option<&Run>, serve: Option<&Serve>, fixtures: &[(Table<'_>, Fixture)]) {
    let reading = root.reading;
    for used in reading.uses.borrow().iter() {
        let without = |has: fn(&Fixture) -> bool| fixtures.iter().find(|(_, fixture)| !has(fixture)).map(|(_, fixture)| &fixture.name);
        let complaint = match used.placeholder {
            "port" if serve.is_none() => Some("{port} is the server's, and there is no [serve]".to_owned()),
            placeholder @ ("model" | "prompt") if fixtures.is_empty() => Some(format!(
                "{{{placeholder}}} comes from a fixture, and there is none: add [[fixture]] with name and {placeholder}"
            )),
            "model" => without(|fixture| fixture.model.is_some()).map(|name| format!("{{model}}, and fixture {name:?} declares no model")),
            "prompt" => {
                without(|fixture| fixture.prompt.is_some()).map(|name| format!("{{prompt}}, and fixture {name:?} declares no prompt"))
            }
            _ => None,
        };
        if let Some(what) = complaint {
            reading.fault(used.at, format!("{}: {what}", used.key));
        }
    }
    let Some(run) = run else { return };
    if run.command.iter().any(|word| word == "{args}") {
        return;
    }
    let nowhere = "run.command has no {args}, so they would go nowhere: add the word \"{args}\" to it";
    for (key, path, arm) in [("a", "arms.a", &arms.a), ("b", "arms.b", &arms.b)] {
        let table = root.section("arms", "arms").section(key, path);
        if let (Some(at), false) = (table.place("args"), arm.args.is_empty()) {
            table.fault(at, "args", nowhere);
        }
    }
    for (table, fixture) in fixtures {
        if let (Some(at), false) = (table.place("args"), fixture.args.is_empty()) {
            table.fault(at, "args", nowhere);
        }
    }
}
