//! Order, limits and conditions: `[plan]`, `[telemetry]`, `[require]`, `[ingest]`.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::de::DeValue;

use super::declaration::{Ingest, PlanKeys, Require, TelemetryKeys, Warmup};
use super::reading::Table;
use super::scores::ModelName;
use super::words::distinct;
use super::{paths, value};
use crate::model::eval::Extent;
use crate::model::identity::COMPARABLE;
use crate::model::plan::{MAX_BLOCKS, Objective, OnInconclusive, Order};
use crate::model::telemetry::EVERY;

const COMPLETE: &[&str] = &["source", "artifacts", "model", "prompt", "gpu", "config", "policy"];
const COMPLETE_DEFAULT: &[&str] = &["source", "artifacts", "model", "prompt", "config", "policy"];

/// `[plan]`
pub(super) fn plan(root: &Table<'_>) -> PlanKeys {
    let table = root.section("plan", "plan");
    let objectives = [("gate", Objective::Gate), ("promote", Objective::Promote)];
    let orders = [("thue-morse", Order::ThueMorse), ("abba", Order::Abba)];
    let endings = [("fail", OnInconclusive::Fail), ("advisory", OnInconclusive::Advisory)];
    PlanKeys {
        objective: table.read("objective", value::choice(&objectives)).unwrap_or(Objective::Gate),
        order: table.read("order", value::choice(&orders)).unwrap_or(Order::ThueMorse),
        max_blocks: table.read("max_blocks", value::whole(MAX_BLOCKS)).unwrap_or(14),
        max_session: table.read("max_session", value::duration).unwrap_or(Duration::from_secs(45 * 60)),
        alpha: table.read("alpha", value::rate).unwrap_or(0.01),
        beta: table.read("beta", value::rate).unwrap_or(0.05),
        null_margin_pct: table.read("null_margin", value::percent(100.0)).unwrap_or(0.0),
        warmup_runs: table.read("warmup_runs", value::whole(0..=100)).unwrap_or(1),
        warmup: warmup(&table.section("warmup", "plan.warmup")),
        max_void_blocks: table.read("max_void_blocks", value::whole(0..=28)).unwrap_or(2),
        max_attempts: table.read("max_attempts", value::whole(1..=100)).unwrap_or(3),
        on_inconclusive: table
            .read("on_inconclusive", value::choice(&endings))
            .unwrap_or(OnInconclusive::Fail),
        runs: table.read("runs", value::whole(2..=1000)).unwrap_or(8),
        pre_push: table.read("pre_push", value::switch).unwrap_or(false),
    }
}

fn warmup(table: &Table<'_>) -> Option<Warmup> {
    if !table.stands() {
        return None;
    }
    let helpers = table.reading.known.helpers;
    Some(Warmup {
        helper: table.need("helper", value::known("helper", helpers)).unwrap_or_default(),
        seconds: table.read("seconds", value::whole(1..=600)).unwrap_or(10),
    })
}

/// `[telemetry]`
pub(super) fn telemetry(root: &Table<'_>) -> TelemetryKeys {
    let table = root.section("telemetry", "telemetry");
    let known = table.reading.known;
    let void = || {
        distinct(
            &table,
            "void",
            "a list of flags, such as [\"mclk_low\"],",
            value::known("flag", known.flags),
        )
    };
    TelemetryKeys {
        declared: table.stands(),
        every: table.read("every", every).unwrap_or(Some(Duration::from_millis(100))),
        void: table.value("void").is_some().then(void),
        gpu_bound: table.read("gpu_bound", value::switch).unwrap_or(false),
        limits: limits(&table, known.limits),
    }
}

/// A duration, or `off`.
fn every(value: &DeValue<'_>) -> Result<Option<Duration>, String> {
    if value.as_str() == Some("off") {
        return Ok(None);
    }
    let every = value::duration(value)?;
    match EVERY.contains(&every) {
        true => Ok(Some(every)),
        false => Err("readings from \"10ms\" to \"10s\" apart are possible, or \"off\"".to_owned()),
    }
}

fn limits(table: &Table<'_>, known: &[&str]) -> BTreeMap<String, f64> {
    let mut kept = BTreeMap::new();
    let wants = "a table of numbers, such as { thermal_throttle_pct = 2 },";
    let Some(entries) = table.free("limits", wants) else { return kept };
    for (name, value) in entries.iter() {
        let spelled = name.get_ref().as_ref();
        if !known.contains(&spelled) {
            let advice = super::fault::instead(spelled, known);
            table.fault(name.span().start, "limits", &format!("no flag has a limit {spelled:?}: {advice}"));
            continue;
        }
        match value::not_negative(value.get_ref()) {
            Ok(limit) => drop(kept.insert(spelled.to_owned(), limit)),
            Err(why) => table.fault(value.span().start, "limits", &format!("{spelled}: {why}")),
        }
    }
    kept
}

/// `[require]`
pub(super) fn require(root: &Table<'_>) -> Require {
    let table = root.section("require", "require");
    let fields = |key: &str, known: &[&str], default: &[&str]| {
        if table.value(key).is_none() {
            return default.iter().map(|field| (*field).to_owned()).collect();
        }
        let wants = "a list of identity fields, such as [\"model\", \"gpu\"],";
        distinct(&table, key, wants, value::known("identity field", known))
    };
    Require {
        checks: distinct(
            &table,
            "checks",
            "a list of check ids, such as [\"Q-BUSY\"],",
            |value| match table.reading.known.checks {
                Some(checks) => value::known("check", checks)(value),
                None => check_id(value),
            },
        ),
        complete: fields("complete", COMPLETE, COMPLETE_DEFAULT),
        equal: fields("equal", COMPARABLE, &[]),
        guard: table.read("guard", value::switch).unwrap_or(false),
    }
}

/// What the id of a check looks like, where the checks themselves are not known: `Q-BUSY`.
fn check_id(value: &DeValue<'_>) -> Result<String, String> {
    let id = value::filled(value)?;
    let upper = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let well_formed = id
        .split_once('-')
        .is_some_and(|(family, name)| family.len() == 1 && upper(family) && upper(name));
    if well_formed {
        Ok(id)
    } else {
        Err(format!("{id:?} is no check id: write for example \"Q-BUSY\""))
    }
}

/// `[ingest]`, without its metrics.
pub(super) fn ingest(root: &Table<'_>) -> Option<Ingest> {
    let table = root.section("ingest", "ingest");
    if !table.stands() {
        return None;
    }
    let adapters = table.reading.known.adapters;
    let texts = |key: &str| distinct(&table, key, "a list of texts, such as [\"gsm8k\"],", value::filled);
    Some(Ingest {
        adapter: table.read("adapter", value::known("adapter", adapters)),
        path: table.read("path", |value| {
            let path = value::filled(value)?;
            paths::inside(&path).map(|()| path)
        }),
        newest: table.read("newest", value::switch).unwrap_or(false),
        model: table.read("model", value::filled),
        tasks: texts("tasks"),
        groups: texts("groups"),
        strict_config: table.read("strict_config", value::switch).unwrap_or(false),
        max_failed_pct: table.read("max_failed", value::percent(100.0)).unwrap_or(0.0),
        limited: table.read("limited", value::switch).unwrap_or(false),
        baseline: table.read("baseline", |value| {
            let path = value::filled(value)?;
            paths::inside(&path).map(|()| path)
        }),
        base_model: table.read("base_model", |value| ModelName::parse(&value::filled(value)?)),
        scale: table.read("scale", scale),
        base_scale: table.read("base_scale", scale),
        metrics: Vec::new(),
    })
}

/// The scale of a side's scores.
fn scale(value: &DeValue<'_>) -> Result<Extent, String> {
    value::choice(&[("0-1", Extent::One), ("0-100", Extent::Hundred)])(value)
}
