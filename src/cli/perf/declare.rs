//! From options to a declaration: a gate, a plan, and what the children's environment shall be. No process runs here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::Value;

use super::Perf;
use crate::adapter;
use crate::cli::parse;
use crate::edge::device::{self, Gpu};
use crate::edge::environment;
use crate::edge::measure::PROCESS_METRICS;
use crate::edge::session::Header;
use crate::judge::crossover;
use crate::model::gate::declaration::{Reduce, Series};
use crate::model::gate::{Against, Gate, Rule};
use crate::model::identity::{Facts, equal_by_default};
use crate::model::metric::{Better, Metric, Role};
use crate::model::plan::{Objective, Order, Orientation, Plan};
use crate::model::record::{Base, Context, digest};
use crate::model::sample::{Cell, PerArm};
use crate::model::unit::Unit;

/// The name of the gate that options declare.
pub const COMMAND_LINE: &str = "command-line";

/// What the options declare.
pub struct Declared {
    /// The gate.
    pub gate: Gate,
    /// The plan before its cap is known.
    pub plan: Plan,
    /// Variables set for both arms.
    pub env: Vec<(String, String)>,
    /// What else a gate file sets, by name.
    pub settings: Facts,
    /// Variables handed on although they are withheld otherwise.
    pub pass_env: Vec<String>,
    /// What is read of the output.
    pub series: Vec<Series>,
    /// The selected devices; none means what the environment shows.
    pub devices: Vec<Gpu>,
    /// What surrounds the comparison.
    pub context: Context,
}

impl Declared {
    /// What a session's options had declared.
    ///
    /// # Errors
    /// When a variable that was handed on is not set now.
    pub fn of(header: &Header) -> Result<Self> {
        let config = |name: &str| header.identity.config.get(name);
        let env = config("env").and_then(Value::as_object).into_iter().flatten();
        let pass_env = config("pass_env").and_then(Value::as_array).into_iter().flatten();
        let pass_env: Vec<String> = pass_env.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        if let Some(unset) = pass_env.iter().find(|name| !environment::is_set(name)) {
            bail!("--pass-env: {unset} is not set");
        }
        Ok(Self {
            gate: header.gate.clone(),
            plan: header.plan.clone(),
            env: env
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            settings: Facts::new(),
            pass_env,
            series: header.gate.metrics.iter().map(series_of).collect(),
            devices: Vec::new(),
            context: header.context.clone(),
        })
    }
}

/// Reads a declaration off the options.
pub fn declared(options: &Perf, a: &str, b: &str, cwd: &Path) -> Result<Declared> {
    let words = |option: &str, text: &str| parse::words(text).map_err(|why| anyhow!("{option}: {why}"));
    let commands = PerArm {
        a: words("--a", a)?,
        b: words("--b", b)?,
    };
    adapter::find(&options.extract).map_err(|why| anyhow!("--extract: {why}"))?;
    check_env(options)?;
    let metrics = metrics(options)?;
    let calibrated = options.calibration.as_ref();
    let command = calibrated.map_or_else(|| command(options, a, b), |calibration| calibration.command.clone());
    let rule = Rule {
        kind: "hold".to_owned(),
        against: Against::Base,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at: "command line".to_owned(),
        tolerance: None,
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    };
    let gate = Gate {
        name: COMMAND_LINE.to_owned(),
        from: "command line".to_owned(),
        digest: digest(command.as_bytes()),
        text: command.clone(),
        metrics,
        rules: vec![rule],
        complete: ["source", "artifacts", "model", "prompt", "config", "policy"]
            .map(str::to_owned)
            .to_vec(),
        equal: equal_by_default(&device::arch(&[], options.root())),
        measured: BTreeMap::new(),
        scores: None,
    };
    let cap = options.fixed_blocks.unwrap_or(options.max_blocks);
    let mut plan = Plan {
        objective: Objective::Gate,
        order: Order::from(options.order),
        blocks: Vec::new(),
        looks: Vec::new(),
        cells: vec![Cell::default()],
        max_blocks: cap,
        fixed: options.fixed_blocks.is_some(),
        alpha: options.alpha,
        beta: options.beta,
        null_margin: 0.0,
        rank_share: 0.25,
        min_run_cv: 0.0005,
        warmup_runs: options.warmup_runs,
        warmup: None,
        max_void_blocks: 2,
        max_attempts: 0,
        max_failed_pct: 0.0,
        timeout_s: options.timeout.as_secs_f64(),
        max_session_s: options.max_session.as_secs_f64(),
        on_inconclusive: options.on_inconclusive.into(),
        extract: options.extract.clone(),
        commands,
        cwd: cwd.to_string_lossy().into_owned(),
        telemetry: super::watching::of_option(options.telemetry, options.root()),
        digest: String::new(),
    };
    cap_at(&mut plan, cap);
    options.fix(&mut plan);
    let series = gate.metrics.iter().map(series_of).collect();
    let context = Context {
        base: Base {
            commit: None,
            why: "the command of --a".to_owned(),
        },
        head: None,
        attempt: 1,
        band: Vec::new(),
        waivers: Vec::new(),
        banners: Vec::new(),
        baseline: None,
        unaffected: None,
        identical: false,
        new_gate: false,
        beside: Vec::new(),
        changed_harness: Vec::new(),
        command,
    };
    Ok(Declared {
        gate,
        plan,
        env: options.env.clone(),
        settings: Facts::new(),
        pass_env: options.pass_env.clone(),
        series,
        devices: Vec::new(),
        context,
    })
}

/// A metric that is read under its own name, once a process.
fn series_of(metric: &Metric) -> Series {
    Series {
        from: metric.name.clone(),
        metric: metric.clone(),
        reduce: Reduce::Last,
    }
}

/// Sets the cap: orientations and looks follow from it.
pub fn cap_at(plan: &mut Plan, blocks: u32) {
    let single = plan.sides().len() == 1;
    let orientation = |block| if single { Orientation::B } else { plan.order.orientation(block) };
    plan.blocks = (0..blocks).map(orientation).collect();
    plan.looks = if single {
        Vec::new()
    } else if plan.fixed {
        vec![blocks]
    } else {
        crossover::looks(blocks as usize).into_iter().map(|look| look as u32).collect()
    };
}

fn check_env(options: &Perf) -> Result<()> {
    for (at, (name, _)) in options.env.iter().enumerate() {
        if options.env.iter().take(at).any(|(other, _)| other == name) {
            bail!("--env: {name} is set twice");
        }
        if options.pass_env.contains(name) {
            bail!("--env and --pass-env both name {name}: keep one");
        }
        let one = [(OsString::from(name), OsString::new())];
        if !environment::scrub(one.into_iter(), &[]).removed.is_empty() {
            bail!(
                "--env: {name} is withheld from measured processes, and a secret's value would stand in the record: set it outside, and name it with --pass-env {name}"
            );
        }
    }
    for name in &options.pass_env {
        if !environment::is_set(name) {
            bail!("--pass-env: {name} is not set");
        }
    }
    Ok(())
}

/// The judged metrics, each with the tolerance in its own unit.
fn metrics(options: &Perf) -> Result<Vec<Metric>> {
    let mut metrics = options.metrics.clone();
    if metrics.is_empty() {
        metrics.push(Metric::parse_flag("wall_s:lower:s").map_err(|why| anyhow!(why))?);
    }
    for (at, metric) in metrics.iter().enumerate() {
        if metrics.iter().take(at).any(|other| other.name == metric.name) {
            bail!("--metric: {} is named twice", metric.name);
        }
        check_process_metric(metric)?;
    }
    let judged = metrics.into_iter().map(|metric| {
        metric
            .with_tolerance(&options.tolerance)
            .map_err(|why| anyhow!("--tolerance: {why}"))
    });
    judged.collect()
}

/// Figures that gate takes itself have a unit and a direction of their own.
fn check_process_metric(metric: &Metric) -> Result<()> {
    if !PROCESS_METRICS.contains(&metric.name.as_str()) {
        return Ok(());
    }
    let unit = if metric.name == "peak_rss_bytes" { "B" } else { "s" };
    if metric.unit != Unit::parse(unit).map_err(|why| anyhow!(why))? || metric.better != Better::Lower || metric.role != Role::Gate {
        bail!(
            "--metric: {name} is taken by gate itself: write {name}:lower:{unit}",
            name = metric.name
        );
    }
    Ok(())
}

/// The command line that repeats the measurement: what declares it, and nothing about how it is shown.
fn command(options: &Perf, a: &str, b: &str) -> String {
    let mut words: Vec<String> = ["gate", "perf", "--a", a, "--b", b].map(str::to_owned).to_vec();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    for metric in &options.metrics {
        add("--metric", metric.flag());
    }
    if options.extract != "key-value" {
        add("--extract", options.extract.clone());
    }
    add("--tolerance", options.tolerance.to_string().replace(' ', ""));
    match options.fixed_blocks {
        Some(blocks) => add("--fixed-blocks", blocks.to_string()),
        None if options.max_blocks != 14 => add("--max-blocks", options.max_blocks.to_string()),
        None => {}
    }
    let seconds = |duration: std::time::Duration| format!("{}ms", duration.as_millis());
    let unusual = [
        ("--order", "abba".to_owned(), Order::from(options.order) == Order::Abba),
        ("--alpha", options.alpha.to_string(), options.alpha != 0.01),
        ("--beta", options.beta.to_string(), options.beta != 0.05),
        ("--warmup-runs", options.warmup_runs.to_string(), options.warmup_runs != 1),
        ("--timeout", seconds(options.timeout), options.timeout.as_secs() != 600),
        ("--max-session", seconds(options.max_session), options.max_session.as_secs() != 2700),
        (
            "--on-inconclusive",
            "advisory".to_owned(),
            options.on_inconclusive == super::OnInconclusiveName::Advisory,
        ),
    ];
    for (option, value, _) in unusual.into_iter().filter(|(.., unusual)| *unusual) {
        add(option, value);
    }
    match options.telemetry.0 {
        None => add("--telemetry", "off".to_owned()),
        Some(every) if every.as_millis() != 100 => add("--telemetry", seconds(every)),
        Some(_) => {}
    }
    for (name, value) in &options.env {
        add("--env", format!("{name}={value}"));
    }
    for name in &options.pass_env {
        add("--pass-env", name.clone());
    }
    if let Some(folder) = &options.cwd {
        add("--cwd", folder.to_string_lossy().into_owned());
    }
    shell_line(&words)
}

/// Words as a line that a shell splits into the same words.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" ")
}

/// A word as a shell reads it. Control characters stand as escapes: the command is shown on one line, and must survive that.
fn quoted(word: &str) -> String {
    if !word.contains(char::is_control) {
        return shell_words::quote(word).into_owned();
    }
    let escaped = word.chars().map(|character| match character {
        '\n' => "\\n".to_owned(),
        '\\' | '\'' => format!("\\{character}"),
        control if control.is_ascii_control() => format!("\\{:03o}", u32::from(control)),
        control if control.is_control() => format!("\\u{:04x}", u32::from(control)),
        other => other.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}

/// Variables set for both arms, as the identity records them.
pub fn env_facts(env: &[(String, String)]) -> Value {
    env.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))).collect()
}

/// Whether a session was started with the same declaration.
pub fn same(header: &Header, declared: &Declared) -> Result<(), String> {
    let (old, new) = (&header.plan, &declared.plan);
    let fact = |name: &str| header.identity.config.get(name).cloned().unwrap_or_default();
    let differs = [
        ("--a", old.commands.a != new.commands.a),
        ("--b", old.commands.b != new.commands.b),
        ("--metric or --tolerance", header.gate.metrics != declared.gate.metrics),
        ("--order", old.order != new.order),
        (
            "--max-blocks or --fixed-blocks",
            (old.max_blocks, old.fixed) != (new.max_blocks, new.fixed),
        ),
        ("--alpha", old.alpha != new.alpha),
        ("--beta", old.beta != new.beta),
        ("--warmup-runs", old.warmup_runs != new.warmup_runs),
        ("--timeout", old.timeout_s != new.timeout_s),
        ("--max-session", old.max_session_s != new.max_session_s),
        ("--on-inconclusive", old.on_inconclusive != new.on_inconclusive),
        ("--extract", old.extract != new.extract),
        ("--cwd", old.cwd != new.cwd),
        ("--telemetry", old.telemetry != new.telemetry),
        ("--env", fact("env") != env_facts(&declared.env)),
        ("--pass-env", fact("pass_env") != Value::from(declared.pass_env.clone())),
        ("an option", old != new || header.gate.rules != declared.gate.rules),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        Some((option, _)) => Err(format!("{option} differs from what the session was started with")),
        None => Ok(()),
    }
}
