//! A gate file: its text becomes a declaration, or every fault of it with line and column.

use toml::de::{DeTable, DeValue};

use super::Fault;
use super::declaration::{Declaration, DeclaredRule, Fixture, Series, Source};
use super::fault::place;
use super::reading::{Reading, Table};
use super::rules::{Names, rules};
use super::series::Named;
use super::{Against, arms, series, session, value};
use crate::model::metric::{Role, Scale};
use crate::model::text::plain_line;

/// Longest file, in bytes.
const FILE_MAX_BYTES: usize = 1 << 20;
/// The version that this program reads.
const VERSION: &str = "1";

/// The words that other floors give a meaning.
#[derive(Debug, Clone, Copy)]
pub struct Known<'k> {
    /// Rule kinds.
    pub rules: &'k [&'k str],
    /// Adapters.
    pub adapters: &'k [&'k str],
    /// Preflight checks; none where they are not known, and then only the form of an id is checked.
    pub checks: Option<&'k [&'k str]>,
    /// Helper programs that bring the clocks up.
    pub helpers: &'k [&'k str],
    /// Flags that can void a block.
    pub flags: &'k [&'k str],
    /// Limits of flags.
    pub limits: &'k [&'k str],
}

/// Reads a gate file. `file` is what messages and rules call it.
///
/// # Errors
/// Every fault, in order of position; beyond twenty, a last one tells that there are more.
pub fn parse(text: &str, file: &str, known: &Known<'_>) -> Result<Declaration, Vec<Fault>> {
    if text.len() > FILE_MAX_BYTES {
        let what = format!("a file of {} bytes: at most {FILE_MAX_BYTES} are read", text.len());
        return Err(place(text, file, vec![(0, what)]));
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let noted = errors.iter().map(|error| {
            let at = error.span().map_or(text.len(), |span| span.start);
            (at, syntax(error.message()))
        });
        return Err(place(text, file, noted.collect()));
    }
    let reading = Reading::new(text, file, known);
    let declaration = document(root.get_ref(), &reading, file);
    let faults = reading.into_faults();
    match declaration {
        Some(declaration) if faults.is_empty() => Ok(declaration),
        _ => Err(faults),
    }
}

/// What the parser of TOML says, with what to do.
pub(super) fn syntax(message: &str) -> String {
    match message {
        "duplicate key" => "duplicate key: it is set before in the same section; keep one".to_owned(),
        deep if deep.contains("recurs") => "nested too deeply: no key or value of a gate needs more than a few levels".to_owned(),
        other => format!("not TOML: {other}; mend the line"),
    }
}

/// The whole document; none where its version or source is not known, and then nothing else is noted.
fn document<'d>(entries: &'d DeTable<'d>, reading: &'d Reading<'d>, file: &str) -> Option<Declaration> {
    let version = entries.iter().find(|(key, _)| key.get_ref() == "version").map(|(_, value)| value);
    if let Some(value) = version
        && let Err(why) = check_version(value.get_ref())
    {
        reading.fault(value.span().start, why);
        return None;
    }
    let root = Table::open(entries, "", 0, reading);
    root.need("version", |_| Ok(()));
    let sources = [("run", Source::Run), ("ingest", Source::Ingest)];
    let source = root.need("source", value::choice(&sources))?;
    check_sections(&root, source);
    let named = series::metrics(&root, source == Source::Ingest);
    let arms = arms::arms(&root);
    let serve = arms::serve(&root);
    let run = arms::run(&root);
    let fixtures = arms::fixtures(&root);
    let plan = session::plan(&root);
    let mut ingest = session::ingest(&root);
    let metrics = if source == Source::Run {
        series::complete(&named)
    } else {
        Vec::new()
    };
    if let Some(ingest) = &mut ingest {
        ingest.metrics = series::patterns(&named);
    }
    let default_metrics: Vec<_> = metrics
        .iter()
        .filter(|_| named.is_empty())
        .map(|series| series.metric.clone())
        .collect();
    let names = Names {
        metrics: &named,
        default_metrics: &default_metrics,
        fixtures: &fixtures,
        from_file: source == Source::Ingest,
    };
    let rules = rules(&root, &names, file);
    if source == Source::Run {
        arms::cross_check(&root, &arms, run.as_ref(), serve.as_ref(), &fixtures);
        check_measured(&named, &fixtures);
        check_caches(&root, run.as_ref().is_some_and(|run| !run.caches.is_empty()), plan.warmup_runs);
        check_null_margin(&root, plan.null_margin_pct, &metrics, &rules);
    }
    let mut fixtures: Vec<Fixture> = fixtures.into_iter().map(|(_, fixture)| fixture).collect();
    if fixtures.is_empty() {
        fixtures.push(Fixture::default());
    }
    Some(Declaration {
        about: root.read("about", value::text).unwrap_or_default(),
        source,
        when: when(&root),
        arms,
        serve,
        run,
        ingest,
        plan,
        telemetry: session::telemetry(&root),
        fixtures,
        metrics,
        rules,
        require: session::require(&root),
    })
}

/// `[when]`: a list that names nothing could mean every change or none.
fn when(root: &Table<'_>) -> Vec<String> {
    let table = root.section("when", "when");
    if let Some(value) = table.value("paths")
        && value.get_ref().as_array().is_some_and(|paths| paths.is_empty())
    {
        let why = "an empty list: name the paths that concern the gate, or leave the key out for every change";
        table.fault(value.span().start, "paths", why);
    }
    arms::patterns(&table, "paths")
}

fn check_version(value: &DeValue<'_>) -> Result<(), String> {
    match value {
        DeValue::Integer(number) if number.radix() == 10 && number.as_str() == VERSION => Ok(()),
        DeValue::Integer(number) => Err(format!(
            "version: {}, and this gate reads version {VERSION}: write version = {VERSION}, or use the gate that the file was written for",
            plain_line(&number.to_string(), 60)
        )),
        _ => Err(format!("version: {}", value::mismatch(value, "the number 1 (without quotes)"))),
    }
}

/// Each source has sections of its own.
fn check_sections(root: &Table<'_>, source: Source) {
    let (word, needs, foreign): (_, _, &[&str]) = match source {
        Source::Run => ("run", "run", &["ingest"]),
        Source::Ingest => ("ingest", "ingest", &["arms", "serve", "run", "plan", "telemetry", "fixture"]),
    };
    for section in foreign {
        if let Some(at) = root.place(section) {
            let brackets = if *section == "fixture" {
                "[[fixture]]"
            } else {
                &format!("[{section}]")
            };
            root.reading.fault(
                at,
                format!("{brackets} does not go with source = \"{word}\": take it out, or change the source"),
            );
        }
    }
    if root.value(needs).is_none() {
        let at = root.value("source").map_or(root.at, |value| value.span().start);
        let example = match source {
            Source::Run => "[run] with its command",
            Source::Ingest => "[ingest]",
        };
        root.reading
            .fault(at, format!("source = \"{word}\" needs a section [{needs}]: add {example}"));
    }
}

/// Every metric of a fixture is declared, and every declared metric is measured somewhere.
fn check_measured(named: &[Named<'_>], fixtures: &[(Table<'_>, Fixture)]) {
    let declared: Vec<&str> = match named {
        [] => vec!["wall_s"],
        _ => named.iter().map(|named| named.keys.name.as_str()).collect(),
    };
    for (table, fixture) in fixtures {
        for (at, name) in table.list("metrics", "a list of metric names, such as [\"tg128\"],", value::filled) {
            if !declared.contains(&name.as_str()) {
                let advice = super::fault::instead(&name, &declared);
                table.fault(at, "metrics", &format!("no metric {name:?} is declared: {advice}"));
            }
        }
        if table.value("metrics").is_some() && fixture.metrics.is_empty() {
            table.fault(
                table.at,
                "metrics",
                "names no metric, so nothing is measured: leave it out for every metric",
            );
        }
    }
    if let (Some(first), true) = (named.first(), named.iter().all(|named| named.keys.role == Role::Info)) {
        let at = first.table.value("role").map_or(first.table.at, |value| value.span().start);
        let why = "every metric has the role info, so nothing is judged: give one the role gate";
        first.table.fault(at, "role", why);
    }
    for Named { table, keys, .. } in named {
        let measured = fixtures.is_empty()
            || fixtures
                .iter()
                .any(|(_, fixture)| fixture.metrics.is_empty() || fixture.metrics.contains(&keys.name));
        if let (Some(at), false) = (table.place("name"), measured) {
            table.fault(
                at,
                "name",
                &format!(
                    "no fixture measures {:?}: list it in a fixture's metrics, or take it out",
                    keys.name
                ),
            );
        }
    }
}

/// Private caches are filled by the discarded processes: without one, the first measured process of each arm would fill them.
fn check_caches(root: &Table<'_>, has_caches: bool, warmup_runs: u32) {
    if has_caches && warmup_runs == 0 {
        let plan = root.section("plan", "plan");
        let at = plan.value("warmup_runs").map_or(plan.at, |value| value.span().start);
        plan.fault(
            at,
            "warmup_runs",
            "0, but discarded processes fill the caches of run.caches: give at least 1",
        );
    }
}

/// What counts as no slowdown lies well below every slowdown that must be caught.
fn check_null_margin(root: &Table<'_>, margin_pct: f64, metrics: &[Series], rules: &[DeclaredRule]) {
    if margin_pct == 0.0 {
        return;
    }
    let plan = root.section("plan", "plan");
    let at = plan.value("null_margin").map_or(plan.at, |value| value.span().start);
    for metric in metrics
        .iter()
        .map(|series| &series.metric)
        .filter(|metric| metric.role == Role::Gate)
    {
        if metric.scale != Scale::Pct {
            let why = format!(
                "a percentage does not compare with the tolerance of {}, which is none: leave it at \"0%\"",
                metric.name
            );
            plan.fault(at, "null_margin", &why);
        } else if margin_pct >= metric.tolerance / 2.0 {
            let why = format!(
                "{margin_pct}% is not below half of {}%, the tolerance of {}: give less",
                metric.tolerance, metric.name
            );
            plan.fault(at, "null_margin", &why);
        }
    }
    let own = rules.iter().map(|declared| &declared.rule);
    for rule in own.filter(|rule| rule.kind == "hold" && rule.against == Against::Base) {
        let half = rule.tolerance.as_ref().filter(|tolerance| tolerance.scale == Scale::Pct);
        if let Some(tolerance) = half.filter(|tolerance| margin_pct >= tolerance.value / 2.0) {
            let why = format!(
                "{margin_pct}% is not below half of {tolerance}, the tolerance of the rule at {}: give less",
                rule.at
            );
            plan.fault(at, "null_margin", &why);
        }
    }
}
