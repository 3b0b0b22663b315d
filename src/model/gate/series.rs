//! What is measured: `[[metric]]`.

use super::declaration::{Reduce, Series, SeriesPattern};
use super::reading::Table;
use super::value;
use crate::model::metric::{Better, DEFAULT_TOLERANCE_PCT, Metric, OF_EVERY_PROCESS, Role, Scale, Tolerance};
use crate::model::unit::Unit;

/// One `[[metric]]` as it stands in the file.
pub(super) struct Named<'d> {
    /// Its section.
    pub table: Table<'d>,
    /// What it says.
    pub keys: SeriesPattern,
    /// The metric, where unit and direction are declared.
    pub metric: Option<Metric>,
}

/// Every `[[metric]]`. Where gate measures itself, unit and direction must be declared and names are exact.
pub(super) fn metrics<'d>(root: &Table<'d>, from_file: bool) -> Vec<Named<'d>> {
    let mut found: Vec<Named<'d>> = Vec::new();
    for table in root.sections("metric") {
        let keys = keys(&table, from_file);
        if let (Some(at), true) = (table.place("name"), found.iter().any(|other| other.keys.name == keys.name)) {
            table.fault(at, "name", &format!("a second metric {:?}: names must differ", keys.name));
        }
        let metric = metric(&table, &keys);
        if !from_file {
            check_own(&table, &keys);
        }
        found.push(Named { table, keys, metric });
    }
    found
}

fn keys(table: &Table<'_>, from_file: bool) -> SeriesPattern {
    let directions = [("higher", Better::Higher), ("lower", Better::Lower)];
    let reductions = [
        ("median", Reduce::Median),
        ("mean", Reduce::Mean),
        ("min", Reduce::Min),
        ("max", Reduce::Max),
        ("last", Reduce::Last),
    ];
    let roles = [("gate", Role::Gate), ("info", Role::Info)];
    let (unit, better) = if from_file {
        (table.read("unit", unit), table.read("better", value::choice(&directions)))
    } else {
        (table.need("unit", unit), table.need("better", value::choice(&directions)))
    };
    SeriesPattern {
        name: table.need("name", value::name).unwrap_or_default(),
        from: table.read("from", value::filled),
        reduce: table.read("reduce", value::choice(&reductions)).unwrap_or(Reduce::Median),
        unit,
        better,
        tolerance: table.read("tolerance", value::tolerance),
        role: table.read("role", value::choice(&roles)).unwrap_or_default(),
        resolution: table.read("resolution", value::positive),
        review_above_pct: table.read("review_above", |value| {
            let percent = value::percent(10_000.0)(value)?;
            if percent > 0.0 {
                Ok(percent)
            } else {
                Err("0% calls every gain suspicious: give more, or leave the key out".to_owned())
            }
        }),
    }
}

fn unit(value: &toml::de::DeValue<'_>) -> Result<Unit, String> {
    Unit::parse(&value::filled(value)?)
}

/// The metric with its tolerance in its own unit; what does not fit is noted.
fn metric(table: &Table<'_>, keys: &SeriesPattern) -> Option<Metric> {
    let metric = Metric {
        name: keys.name.clone(),
        unit: keys.unit?,
        better: keys.better?,
        tolerance: DEFAULT_TOLERANCE_PCT,
        scale: Scale::Pct,
        role: keys.role,
        resolution: keys.resolution,
        review_above_pct: keys.review_above_pct,
    };
    let tolerance = keys.tolerance.clone().unwrap_or(Tolerance {
        value: DEFAULT_TOLERANCE_PCT,
        scale: Scale::Pct,
        unit: None,
    });
    let at = table.value("tolerance").map_or(table.at, |value| value.span().start);
    metric.with_tolerance(&tolerance).map_err(|why| table.reading.fault(at, why)).ok()
}

/// What holds where gate measures itself.
fn check_own(table: &Table<'_>, keys: &SeriesPattern) {
    let (Some(at), Some(_)) = (table.place("name"), table.value("name")) else {
        return;
    };
    if keys.name.contains('*') {
        table.fault(
            at,
            "name",
            "a pattern is for files of another tool (source = \"ingest\"): name each metric",
        );
    }
    let own = OF_EVERY_PROCESS.iter().find(|(name, _)| *name == keys.name);
    let Some((name, unit)) = own else { return };
    let unit_differs = keys.unit.is_some_and(|declared| declared.canonical() != *unit);
    if unit_differs || keys.better == Some(Better::Higher) {
        table.fault(
            at,
            "name",
            &format!("{name} is taken of every process by gate itself: write unit = \"{unit}\" and better = \"lower\""),
        );
    }
    if let (Some(at), Some(_)) = (table.place("from"), &keys.from) {
        table.fault(
            at,
            "from",
            &format!("{name} is taken by gate itself and comes from no series: leave the key out"),
        );
    }
}

/// The complete metrics; the wall time where none is declared.
pub(super) fn complete(named: &[Named<'_>]) -> Vec<Series> {
    let wall = || Metric::parse_flag("wall_s:lower:s").map(|metric| (metric, Reduce::Median, None));
    let all: Vec<(Metric, Reduce, Option<String>)> = if named.is_empty() {
        wall().into_iter().collect()
    } else {
        let complete = named.iter().filter_map(|named| Some((named.metric.clone()?, &named.keys)));
        complete.map(|(metric, keys)| (metric, keys.reduce, keys.from.clone())).collect()
    };
    let series = all.into_iter().map(|(metric, reduce, from)| Series {
        from: from.unwrap_or_else(|| metric.name.clone()),
        metric,
        reduce,
    });
    series.collect()
}

/// The patterns of an ingest gate; `*` where none is declared.
pub(super) fn patterns(named: &[Named<'_>]) -> Vec<SeriesPattern> {
    if !named.is_empty() {
        return named.iter().map(|named| named.keys.clone()).collect();
    }
    vec![SeriesPattern {
        name: "*".to_owned(),
        from: None,
        reduce: Reduce::Median,
        unit: None,
        better: None,
        tolerance: None,
        role: Role::Gate,
        resolution: None,
        review_above_pct: None,
    }]
}
