//! What is required: `[[rule]]`.

use super::declaration::{DeclaredRule, Fixture};
use super::fault::instead;
use super::reading::Table;
use super::series::Named;
use super::{Against, Bound, Rule, Test, paths, value};
use crate::model::metric::{Metric, Role, Scale, Tolerance};
use crate::model::quantity::split_number;
use crate::model::text::plain_line;
use crate::model::unit::{Unit, convert};

/// Tolerance of a `hold` against the baseline where none is declared, in percent: other sessions differ by more than runs do.
const BASELINE_TOLERANCE_PCT: f64 = 5.0;
/// The kind that speaks of scores.
const DROP: &str = "drop";
/// The unit of what has none: a ratio, a share.
const BARE: &str = "1";
/// Which kinds a parameter belongs to; a kind that is not listed here takes none of them.
const PARAMETERS: &[(&str, &[&str])] = &[
    ("tolerance", &["hold", "exact", DROP]),
    ("test", &[DROP]),
    ("max", &["spread"]),
    ("at_least", &["floor", "limit"]),
    ("at_most", &["floor", "limit"]),
];

/// What a rule may name.
pub(super) struct Names<'n, 'd> {
    /// Declared metrics.
    pub metrics: &'n [Named<'d>],
    /// Metrics where none is declared.
    pub default_metrics: &'n [Metric],
    /// Declared fixtures.
    pub fixtures: &'n [(Table<'d>, Fixture)],
    /// Whether names and units may come from a file that is not read yet.
    pub from_file: bool,
}

/// The metrics that one rule speaks of.
struct Scope<'n> {
    metrics: Vec<&'n Metric>,
    /// Whether units of some come from a file that is not read yet.
    open: bool,
}

/// Every `[[rule]]`; `hold` against the base where none is declared.
pub(super) fn rules(root: &Table<'_>, names: &Names<'_, '_>, file: &str) -> Vec<DeclaredRule> {
    if root.value("rule").is_none() {
        return vec![DeclaredRule {
            required: None,
            rule: bare("hold".to_owned(), Against::Base, format!("{file}: default")),
        }];
    }
    root.sections("rule").iter().filter_map(|table| rule(table, names)).collect()
}

fn bare(kind: String, against: Against, at: String) -> Rule {
    Rule {
        kind,
        against,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: against == Against::Base,
        at,
        tolerance: None,
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    }
}

fn rule(table: &Table<'_>, names: &Names<'_, '_>) -> Option<DeclaredRule> {
    let kinds = table.reading.known.rules;
    let kind = table.need("kind", value::known("rule kind", kinds));
    let references = [("base", Against::Base), ("baseline", Against::Baseline)];
    let speaks_of_scores = kind.as_deref() == Some(DROP);
    let usual = if speaks_of_scores { Against::Baseline } else { Against::Base };
    let against = table.read("against", value::choice(&references)).unwrap_or(usual);
    let metric = table.read("metric", value::filled).unwrap_or_else(|| "*".to_owned());
    let fixture = table.read("fixture", value::filled).unwrap_or_else(|| "*".to_owned());
    let required = table.read("required", value::switch);
    check_names(table, &metric, &fixture, names);
    let kind = kind?;
    check_parameters(table, &kind);
    if speaks_of_scores {
        check_scores(table, names, against, &fixture);
    }
    let scope = scope(&metric, names)?;
    let tolerance = table
        .read("tolerance", |value| {
            let read = if kind == "exact" || kind == DROP {
                value::margin
            } else {
                value::tolerance
            };
            let tolerance = read(value)?;
            if kind == DROP {
                of_scores(tolerance)
            } else {
                in_scale(tolerance, &scope)
            }
        })
        .or_else(|| default_tolerance(&kind, against, table, &scope));
    let bound = |key: &str| {
        table.read(key, |value| match parse_bound(&value::bound(value)?, &scope)? {
            Bound::Value { value } => Ok(Bound::Value { value }),
            _ if kind == "limit" => Err("a limit is a figure: write for example \"0.02\"; a share is a floor's".to_owned()),
            share => Ok(share),
        })
    };
    let rule = Rule {
        metric,
        fixture,
        required: required.unwrap_or(against == Against::Base),
        tolerance,
        max: table.read("max", |value| size(value::tolerance(value)?, &scope)),
        at_least: bound("at_least"),
        at_most: bound("at_most"),
        test: table.read("test", value::choice(&[("point", Test::Point), ("paired", Test::Paired)])),
        ..bare(kind, against, table.reading.place_of(table.at))
    };
    check_bounds(table, &rule);
    Some(DeclaredRule { required, rule })
}

/// What holds of a rule on scores alone.
fn check_scores(table: &Table<'_>, names: &Names<'_, '_>, against: Against, fixture: &str) {
    let at = |key: &str| table.value(key).map_or(table.at, |value| value.span().start);
    if !names.from_file {
        let why = "drop speaks of scores in another tool's files: write source = \"ingest\", or another kind";
        table.fault(at("kind"), "kind", why);
    }
    if against == Against::Base {
        let why = "a drop is against the base model's scores, which --baseline or ingest.baseline names: write \"baseline\"";
        table.fault(at("against"), "against", why);
    }
    if fixture != "*" {
        table.fault(
            at("fixture"),
            "fixture",
            "scores have no fixture: leave the key out, and name the task as the metric",
        );
    }
}

/// A tolerance of scores: points, or percent of the base's score.
fn of_scores(tolerance: Tolerance) -> Result<Tolerance, String> {
    match tolerance.scale {
        Scale::Pp | Scale::Pct => Ok(tolerance),
        Scale::Abs => Err(format!(
            "{tolerance}: a score falls by points or by a share of the base's: write \"1pp\" or \"1%\""
        )),
    }
}

fn check_names(table: &Table<'_>, metric: &str, fixture: &str, names: &Names<'_, '_>) {
    let at = |key: &str| table.value(key).map_or(table.at, |value| value.span().start);
    let metrics: Vec<&str> = names.metrics.iter().map(|named| named.keys.name.as_str()).collect();
    let defaults = names.default_metrics.iter().map(|metric| metric.name.as_str());
    let metrics: Vec<&str> = metrics.into_iter().chain(defaults).collect();
    let declared = metric == "*" || metrics.contains(&metric);
    if !declared && !(names.from_file && (metrics.is_empty() || fits_a_pattern(metric, &metrics))) {
        let why = format!("no metric {:?} is declared: {}", plain_line(metric, 60), instead(metric, &metrics));
        table.fault(at("metric"), "metric", &why);
    }
    let info = names
        .metrics
        .iter()
        .find(|named| named.keys.name == metric && named.keys.role == Role::Info);
    if info.is_some() {
        let why = format!("{metric:?} has the role info, which is never judged: give it the role gate, or take the rule out");
        table.fault(at("metric"), "metric", &why);
    }
    if fixture == "*" || names.from_file {
        return;
    }
    let known: Vec<&str> = names.fixtures.iter().map(|(_, fixture)| fixture.name.as_str()).collect();
    match names.fixtures.iter().find(|(_, declared)| declared.name == fixture) {
        None if known.is_empty() => table.fault(at("fixture"), "fixture", "the file declares no [[fixture]]: leave the key out"),
        None => {
            let why = format!("no fixture {:?} is declared: {}", plain_line(fixture, 60), instead(fixture, &known));
            table.fault(at("fixture"), "fixture", &why);
        }
        Some((_, declared)) => {
            let measured = metric == "*" || declared.metrics.is_empty() || declared.metrics.iter().any(|name| name == metric);
            if !measured {
                table.fault(
                    at("fixture"),
                    "fixture",
                    &format!("fixture {fixture:?} does not measure {metric:?}: name another"),
                );
            }
        }
    }
}

fn fits_a_pattern(name: &str, patterns: &[&str]) -> bool {
    let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    patterns.iter().any(|pattern| pattern == "*") || paths::matches(&patterns, &[name]).is_ok_and(|found| !found.is_empty())
}

/// The metrics of a rule; none where one of them is faulty itself, which is noted at the metric and needs no echo here.
fn scope<'n>(metric: &str, names: &'n Names<'_, '_>) -> Option<Scope<'n>> {
    let speaks_of = |name: &str, role: Role| if metric == "*" { role == Role::Gate } else { name == metric };
    let declared = names.metrics.iter().filter(|named| speaks_of(&named.keys.name, named.keys.role));
    let declared: Vec<&Named<'_>> = declared.collect();
    let defaults = names.default_metrics.iter().filter(|metric| speaks_of(&metric.name, metric.role));
    let known = declared.iter().filter_map(|named| named.metric.as_ref());
    let metrics: Vec<&Metric> = known.chain(defaults).collect();
    let faulty = metrics.len() < declared.len() || (metric != "*" && metrics.is_empty());
    (names.from_file || !faulty).then_some(Scope {
        metrics,
        open: names.from_file,
    })
}

fn check_parameters(table: &Table<'_>, kind: &str) {
    for (key, kinds) in PARAMETERS {
        if let (Some(at), false) = (table.place(key), kinds.contains(&kind)) {
            table.fault(
                at,
                key,
                &format!("belongs to the kind {}, and this rule is a {kind}: take it out", kinds.join(" or ")),
            );
        }
    }
    if kind == "spread" && table.value("max").is_none() {
        table.fault(
            table.at,
            "max",
            "is missing: say how far the values may lie apart, such as max = \"5%\"",
        );
    }
    let unbounded = table.value("at_least").is_none() && table.value("at_most").is_none();
    match kind {
        "floor" if unbounded => table.fault(
            table.at,
            "at_least",
            "is missing: a floor needs at_least or at_most, such as at_least = \"140 tok/s\"",
        ),
        "limit" if unbounded => table.fault(
            table.at,
            "at_most",
            "is missing: a limit needs at_least or at_most, such as at_most = \"0.02\"",
        ),
        _ => {}
    }
}

/// A tolerance as the judge counts it: in the metric's scale, and an absolute one in the metric's unit.
fn in_scale(tolerance: Tolerance, scope: &Scope<'_>) -> Result<Tolerance, String> {
    for metric in &scope.metrics {
        (*metric).clone().with_tolerance(&tolerance)?;
        if metric.scale != tolerance.scale {
            let own = Tolerance {
                value: metric.tolerance,
                scale: metric.scale,
                unit: Some(metric.unit),
            };
            return Err(format!(
                "{tolerance}: metric {} counts its tolerance as {own}: say both alike, or name another metric",
                metric.name
            ));
        }
    }
    in_unit(tolerance, scope)
}

/// A size of a spread: a share of the median, or absolute in the metric's unit.
fn size(size: Tolerance, scope: &Scope<'_>) -> Result<Tolerance, String> {
    match size.scale {
        Scale::Pp => Err(format!("{size}: a range over the median is a percentage: write {}%", size.value)),
        Scale::Pct => Ok(size),
        Scale::Abs => in_unit(size, scope),
    }
}

/// An absolute size in the one unit of the scope; relative ones stay.
fn in_unit(size: Tolerance, scope: &Scope<'_>) -> Result<Tolerance, String> {
    let Some(from) = size.unit else { return Ok(size) };
    let unit = one_unit(scope, &size.to_string())?;
    match convert(size.value, from, unit) {
        Some(value) => Ok(Tolerance {
            value,
            unit: Some(unit),
            ..size
        }),
        None => Err(format!("{size}: {from} does not convert to {unit}, the metric's unit")),
    }
}

fn one_unit(scope: &Scope<'_>, what: &str) -> Result<Unit, String> {
    let mut units = scope.metrics.iter().map(|metric| metric.unit);
    match units.next() {
        Some(unit) if units.all(|other| other == unit) => Ok(unit),
        Some(_) => Err(format!("{what}: the metrics of this rule have different units: name one metric")),
        None if scope.open => Err(format!(
            "{what}: the metric's unit is not declared: declare it, or say a percentage"
        )),
        None => Err(format!("{what}: no metric is judged by this rule: name a declared one")),
    }
}

fn default_tolerance(kind: &str, against: Against, table: &Table<'_>, scope: &Scope<'_>) -> Option<Tolerance> {
    let relative = scope.metrics.iter().all(|metric| metric.scale == Scale::Pct);
    let applies = kind == "hold" && against == Against::Baseline && relative && table.value("tolerance").is_none();
    applies.then_some(Tolerance {
        value: BASELINE_TOLERANCE_PCT,
        scale: Scale::Pct,
        unit: None,
    })
}

/// Reads `140 tok/s`, `95% of base`, `95% of historical`, `95% of baseline`.
fn parse_bound(text: &str, scope: &Scope<'_>) -> Result<Bound, String> {
    if let Some((share, of)) = text.split_once(" of ") {
        let share = Tolerance::parse(share)?;
        if share.scale != Scale::Pct {
            return Err(format!(
                "{text:?}: a share is a percentage: write for example \"95% of historical\""
            ));
        }
        let share_pct = share.value;
        return match of.trim() {
            "base" => Ok(Bound::Base { share_pct }),
            "historical" => Ok(Bound::Historical { share_pct }),
            "baseline" => Ok(Bound::Baseline { share_pct }),
            other => Err(format!(
                "{:?}: a share is of base, of historical or of baseline",
                plain_line(other, 60)
            )),
        };
    }
    let (number, unit) = split_number(text.trim())
        .ok_or_else(|| format!("{text:?} does not begin with a number: write for example \"140 tok/s\" or \"95% of historical\""))?;
    let declared = number.parse::<f64>().ok().filter(|value| value.is_finite());
    let declared = declared.ok_or_else(|| format!("{text:?} is too large for a number"))?;
    let from = match unit.trim() {
        "" if one_unit(scope, text).is_ok_and(|unit| unit.canonical() == BARE) => BARE,
        "" => {
            let example = one_unit(scope, text).map_or("tok/s", Unit::canonical);
            return Err(format!("{number} has no unit: write for example \"{number} {example}\""));
        }
        unit => unit,
    };
    let from = Unit::parse(from).map_err(|why| format!("{text:?}: {why}"))?;
    let unit = one_unit(scope, text)?;
    match convert(declared, from, unit) {
        Some(value) => Ok(Bound::Value { value }),
        None => Err(format!("{text:?}: {from} does not convert to {unit}, the metric's unit")),
    }
}

/// Two bounds that nothing can meet.
fn check_bounds(table: &Table<'_>, rule: &Rule) {
    let contradict = match (&rule.at_least, &rule.at_most) {
        (Some(Bound::Value { value: least }), Some(Bound::Value { value: most })) => least > most,
        (Some(Bound::Base { share_pct: least }), Some(Bound::Base { share_pct: most }))
        | (Some(Bound::Historical { share_pct: least }), Some(Bound::Historical { share_pct: most }))
        | (Some(Bound::Baseline { share_pct: least }), Some(Bound::Baseline { share_pct: most })) => least > most,
        _ => false,
    };
    if let (true, Some(value)) = (contradict, table.value("at_most")) {
        table.fault(
            value.span().start,
            "at_most",
            "is below at_least, so no value passes: swap them, or keep one",
        );
    }
}
