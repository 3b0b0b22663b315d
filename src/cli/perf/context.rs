//! What one declared gate asks, before anything of it is built: its rules and plan, and what surrounds the comparison.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use serde_json::json;

use super::declare::{cap_at, shell_line};
use super::gates::Runner;
use super::workspace::Declared;
use crate::cli::say;
use crate::edge::{clock, device, files};
use crate::model::baseline::{self, BandLine, Baseline, BaselineUse, FILE_MAX_BYTES, parse_bytes};
use crate::model::gate::declaration::{ArmKeys, Fixture, PlanKeys, Run};
use crate::model::gate::{Against, Gate, Rule, matches};
use crate::model::identity::{Facts, equal_by_default};
use crate::model::metric::{Scale, Tolerance};
use crate::model::number::count;
use crate::model::pattern::Patterns;
use crate::model::plan::{Orientation, Plan};
use crate::model::record::{Base, Context, digest};
use crate::model::sample::{Cell, PerArm};

/// Most changed paths that a banner names.
const NAMED_MAX: usize = 5;

/// The gate as a record has it, measured on a machine of this architecture.
pub fn record_gate(declared: &Declared, single: bool, arch: &str) -> Gate {
    let declaration = &declared.declaration;
    let mut rules = declaration.rules_for(!single);
    if declared.is_new {
        rules.iter_mut().for_each(|rule| rule.required = false);
    }
    let measured = declaration.fixtures.iter().filter(|fixture| !fixture.metrics.is_empty());
    Gate {
        name: declared.name.clone(),
        from: declared.from.clone(),
        digest: digest(declared.text.as_bytes()),
        text: declared.text.clone(),
        metrics: declaration.metrics.iter().map(|series| series.metric.clone()).collect(),
        rules,
        complete: declaration.require.complete.clone(),
        equal: match declaration.require.equal.as_slice() {
            [] => equal_by_default(arch),
            declared => declared.to_vec(),
        },
        measured: measured
            .map(|fixture| (fixture.name.clone(), fixture.metrics.clone()))
            .collect::<BTreeMap<_, _>>(),
        scores: None,
    }
}

/// Whether a gate needs a baseline for its answer.
pub fn asks_baseline(gate: &Gate) -> bool {
    let asks = |rule: &Rule| rule.against == Against::Baseline || rule.at_least.is_some() || rule.at_most.is_some();
    gate.rules.iter().any(asks)
}

impl Runner<'_> {
    /// The gate as the record has it.
    pub fn record_gate(&self, declared: &Declared, single: bool) -> Gate {
        let mut gate = record_gate(declared, single, &self.arch());
        if self.options.baseline.is_some() && gate.rules.iter().all(|rule| rule.against != Against::Baseline) {
            let required = !declared.is_new;
            gate.rules.push(Rule {
                required,
                ..asked_for_by_option()
            });
        }
        gate
    }

    /// What surrounds the comparison.
    ///
    /// # Errors
    /// When a pattern, a revision or the baseline cannot be read.
    pub fn context(&self, declared: &Declared, gate: &Gate, plan: &Plan, single: bool) -> Result<Context> {
        let base = match (&self.workspace.base, &declared.declaration.arms.a) {
            (_, keys) if keys.path.is_some() => Base {
                commit: None,
                why: format!("the install {}", keys.path.as_deref().unwrap_or_default()),
            },
            _ if self.options.revisions.is_some() => {
                let a = self.options.revisions.as_ref().map(|(a, _)| a.clone()).unwrap_or_default();
                Base {
                    commit: self.workspace.repository.commit(&a)?,
                    why: "named by the command that compares".to_owned(),
                }
            }
            (_, keys) if keys.rev.is_some() => {
                let rev = keys.rev.clone().unwrap_or_default();
                Base {
                    commit: self.workspace.repository.commit(&rev)?,
                    why: format!("arms.a.rev {rev}"),
                }
            }
            _ if single => Base {
                commit: None,
                why: "no base arm (--no-base)".to_owned(),
            },
            (Ok(chosen), _) => Base {
                commit: Some(chosen.commit.clone()),
                why: chosen.why.clone(),
            },
            (Err(_), _) => Base {
                commit: None,
                why: "none".to_owned(),
            },
        };
        let harness = Patterns::new(&declared.declaration.arms.harness).map_err(|why| anyhow!("harness: {why}"))?;
        let changed = || self.workspace.changed.iter().flatten();
        let changed_harness: Vec<String> = changed().filter(|path| harness.matches(path)).cloned().collect();
        let mut banners = declared.banners.clone();
        if !changed_harness.is_empty() {
            banners.push(format!(
                "this change touches the measuring code itself: {}",
                named(&changed_harness)
            ));
        }
        let prompts: Vec<String> = declared
            .declaration
            .fixtures
            .iter()
            .filter_map(|fixture| fixture.prompt.clone())
            .collect();
        let watched = |path: &&String| path.starts_with("baselines/") || prompts.contains(path);
        let inputs: Vec<String> = changed().filter(watched).cloned().collect();
        if !inputs.is_empty() {
            let (words, paths) = (&self.workspace.rules_in_words, named(&inputs));
            banners.push(format!(
                "this change touches baselines or prompts, and those of the {words} are used: {paths}"
            ));
        }
        let waivers = self.workspace.change().waivers(&declared.name)?;
        banners.extend(waivers.banners);
        let (baseline, band) = self.baseline(gate, plan)?;
        let calibrated = self.options.calibration.as_ref().map(|calibration| calibration.command.clone());
        Ok(Context {
            base,
            head: self.workspace.answers_for.clone(),
            attempt: 1,
            band,
            waivers: waivers.hold,
            banners,
            baseline,
            unaffected: None,
            identical: false,
            new_gate: declared.is_new,
            beside: self.owing.iter().filter(|name| **name != declared.name).cloned().collect(),
            changed_harness,
            command: calibrated.unwrap_or_else(|| self.command(declared)),
        })
    }

    /// What the gate needs of the baseline (none where no rule speaks of one and none was named), and the accepted noise of what it measures.
    fn baseline(&self, gate: &Gate, plan: &Plan) -> Result<(Option<BaselineUse>, Vec<BandLine>)> {
        let asked = self.options.baseline.is_some() || asks_baseline(gate);
        let file = match &self.options.baseline {
            Some(path) => path.to_string_lossy().into_owned(),
            None => format!("baselines/{}.txt", self.arch()),
        };
        let (parsed, digest) = match self.read_baseline(&file) {
            Err(why) if !asked => {
                say(&format!("no accepted noise band is known: {why:#}"));
                return Ok((None, Vec::new()));
            }
            read => read?,
        };
        let band = parsed
            .as_ref()
            .map(|baseline| baseline.bands_of(gate, &plan.cells))
            .unwrap_or_default();
        let source = baseline::Source {
            file,
            digest,
            from: self.workspace.rules.clone(),
            today: clock::now_seconds().chars().take(10).collect(),
            stale_after_days: self.options.stale_after_days(),
        };
        let used = asked.then(|| BaselineUse::select(parsed.as_ref(), source, gate, &plan.cells));
        Ok((used, band))
    }

    /// The baseline where the rules come from, and its digest; none where there is no such file.
    fn read_baseline(&self, file: &str) -> Result<(Option<Baseline>, Option<String>)> {
        let bytes = match (&self.workspace.rules, &self.options.baseline) {
            (Some(revision), None) => self.workspace.repository.read_blob(revision, file)?,
            (Some(revision), Some(path)) => self.workspace.repository.read_blob(revision, &self.workspace.inside(path)?)?,
            (None, None) => files::read_input(&self.workspace.repository.top().join(file), FILE_MAX_BYTES as u64)?,
            (None, Some(path)) => files::read_input(&files::working_folder()?.join(path), FILE_MAX_BYTES as u64)?,
        };
        let parsed = bytes.as_deref().map(|bytes| parse_bytes(bytes, file)).transpose();
        let parsed = parsed.map_err(|fault| anyhow!("{fault}"))?;
        Ok((parsed, bytes.as_deref().map(digest)))
    }

    fn arch(&self) -> String {
        device::arch(&self.devices, self.options.root())
    }

    /// Why nothing is measured, where the change touches nothing that the gate names in `[when]`.
    pub fn unaffected(&self, declared: &Declared) -> Result<Option<String>> {
        let when = &declared.declaration.when;
        let Some(changed) = self
            .workspace
            .changed
            .as_ref()
            .filter(|_| !when.is_empty() && self.options.revisions.is_none())
        else {
            return Ok(None);
        };
        let paths: Vec<&str> = changed.iter().map(String::as_str).collect();
        let touched = matches(when, &paths).map_err(|why| anyhow!("when.paths: {why}"))?;
        let count = count(paths.len() as u64, "changed file");
        Ok(touched.is_empty().then(|| format!("none of {count} matches {}", when.join(", "))))
    }

    /// The command that repeats the measurement.
    fn command(&self, declared: &Declared) -> String {
        if let Some((a, b)) = &self.options.revisions {
            return shell_line(&["gate", "bisect", a, b, "--gate", &declared.path].map(str::to_owned));
        }
        let mut words: Vec<String> = ["gate", "perf", "--gate"].map(str::to_owned).to_vec();
        words.push(declared.path.clone());
        let options = self.options;
        if let Some(path) = &options.baseline {
            words.extend(["--baseline".to_owned(), path.to_string_lossy().into_owned()]);
        }
        match (&self.workspace.base, options.no_base) {
            _ if declared.declaration.arms.a.path.is_some() || declared.declaration.arms.a.rev.is_some() => {}
            (_, true) => words.push("--no-base".to_owned()),
            (Ok(chosen), false) => words.extend(["--base".to_owned(), chosen.commit.clone()]),
            (Err(_), false) => {}
        }
        if let Some(wanted) = &options.device {
            words.extend(["--device".to_owned(), wanted.clone()]);
        }
        shell_line(&words)
    }
}

/// What the gate sets that the identity must tell beside the variables of both arms: another command or argument is another figure.
pub fn settings(declared: &Declared, run: &Run) -> Facts {
    let declaration = &declared.declaration;
    let of_arm = |keys: &ArmKeys| json!({ "args": keys.args, "env": keys.env });
    let of_fixture = |fixture: &Fixture| (fixture.name.clone(), json!({ "args": fixture.args, "env": fixture.env }));
    let mut facts = Facts::from([("command".to_owned(), json!(run.command))]);
    let mut set = |name: &str, value: serde_json::Value| drop(facts.insert(name.to_owned(), value));
    set("fixtures", declaration.fixtures.iter().map(of_fixture).collect());
    if let Some(serve) = &declaration.serve {
        set("serve", json!(serve.command));
    }
    for (name, keys) in [("a", &declaration.arms.a), ("b", &declaration.arms.b)] {
        if !keys.args.is_empty() || !keys.env.is_empty() {
            set(name, of_arm(keys));
        }
    }
    facts
}

/// The rule that `--baseline FILE` asks for where the gate declares none against a baseline: it was asked for, so it is required.
fn asked_for_by_option() -> Rule {
    Rule {
        kind: "hold".to_owned(),
        against: Against::Baseline,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at: "--baseline".to_owned(),
        tolerance: Some(Tolerance {
            value: 5.0,
            scale: Scale::Pct,
            unit: None,
        }),
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    }
}

/// The plan before its cap is known.
pub fn plan(declared: &Declared, run: &Run, single: bool) -> Plan {
    let keys: &PlanKeys = &declared.declaration.plan;
    let cells = declared
        .declaration
        .fixtures
        .iter()
        .map(|Fixture { name, .. }| Cell { fixture: name.clone() })
        .collect();
    let cap = if single { keys.runs } else { keys.max_blocks };
    let mut plan = Plan {
        objective: keys.objective,
        order: keys.order,
        blocks: if single { vec![Orientation::B] } else { Vec::new() },
        looks: Vec::new(),
        cells,
        max_blocks: cap,
        fixed: false,
        alpha: keys.alpha,
        beta: keys.beta,
        null_margin: keys.null_margin_pct,
        rank_share: 0.25,
        min_run_cv: 0.0005,
        warmup_runs: keys.warmup_runs,
        warmup: keys.warmup.clone(),
        max_void_blocks: keys.max_void_blocks,
        max_attempts: keys.max_attempts,
        max_failed_pct: run.max_failed_pct,
        timeout_s: run.timeout.as_secs_f64(),
        max_session_s: keys.max_session.as_secs_f64(),
        on_inconclusive: keys.on_inconclusive,
        extract: run.extract.clone(),
        commands: PerArm {
            a: run.command.clone(),
            b: run.command.clone(),
        },
        cwd: "{tree}".to_owned(),
        telemetry: None,
        digest: String::new(),
    };
    cap_at(&mut plan, cap);
    plan
}

/// The first few paths of a list.
fn named(paths: &[String]) -> String {
    let shown: Vec<&str> = paths.iter().take(NAMED_MAX).map(String::as_str).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
