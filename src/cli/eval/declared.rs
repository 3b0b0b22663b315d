//! The rule of scores: of a gate file, of a recipe, or of options.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use super::{COMPLETE, Eval, bare_gate};
use crate::adapter::{self, Adapter};
use crate::cli::gates::{GATE_MAX_BYTES, read};
use crate::cli::rules::{Found, Rules};
use crate::judge::drop::{DEFAULT_TOLERANCE_PP, Threshold};
use crate::judge::scores::KIND;
use crate::model::eval::Extent;
use crate::model::eval::evidence::ScoreRun;
use crate::model::eval::recipe::{self, Recipe};
use crate::model::fault::Faults;
use crate::model::gate::declaration::{Declaration, Ingest, Series, SeriesPattern, Source};
use crate::model::gate::scores::{ModelName, ScorePattern};
use crate::model::gate::{Against, Gate, Rule, ScoreKeys};
use crate::model::metric::{Better, Metric, Scale, Tolerance};
use crate::model::record::digest;
use crate::model::text::plain_line;

/// The gate that is used where no rule is named.
const GATE: &str = "gates/eval.toml";
/// The name of a rule that options declare.
const COMMAND_LINE: &str = "command-line";
/// What of an identity a gate asks for where it does not say: what no result file tells is not asked of scores.
const COMPLETE_OF_RUNS: [&str; 6] = ["source", "artifacts", "model", "prompt", "config", "policy"];

/// What is asked, and where the scores are.
pub struct Declared {
    /// The gate as the record has it.
    pub gate: Gate,
    /// What a reviewer must see about it.
    pub banners: Vec<String>,
    /// The rules' revision does not have it: it only advises.
    pub is_new: bool,
    /// The results, from the top of the repository.
    pub path: Option<String>,
    /// The base's scores, likewise.
    pub baseline: Option<String>,
    /// Of several results take the newest.
    pub newest: bool,
    /// Of several results take this model's.
    pub model: Option<String>,
    /// How results are read, where it is declared.
    pub adapter: Option<&'static Adapter>,
    /// Declared scores, for formats that need unit and direction.
    pub series: Vec<Series>,
    /// Examples before each question, where a recipe states them.
    few_shot: Option<u32>,
}

impl Declared {
    /// Reads what is declared.
    ///
    /// # Errors
    /// Every fault of the gate file or recipe; options that contradict it.
    pub fn of(options: &Eval, rules: &Rules) -> Result<Self> {
        let recipe = options.recipe.as_deref().map(|path| of_recipe(path, rules)).transpose()?;
        let mut declared = match gate_path(options, rules)? {
            Some((path, found)) => of_gate(&path, found)?,
            None => of_options(options),
        };
        match &recipe {
            Some((path, found, recipe)) => declared.with_recipe(path, found, recipe)?,
            None if declared.gate.from == FROM_OPTIONS => {}
            None => declared.refuse_loosening(options)?,
        }
        declared.with_options(options)?;
        Ok(declared)
    }

    fn keys(&mut self) -> &mut ScoreKeys {
        self.gate.scores.get_or_insert_with(ScoreKeys::default)
    }

    /// What options may add to a declared rule: they never loosen it.
    fn with_options(&mut self, options: &Eval) -> Result<()> {
        let keys = self.keys();
        keys.strict_config |= options.strict_config;
        keys.limited |= options.limited;
        keys.scale = options.scale.or(keys.scale);
        keys.base_scale = options.base_scale.or(keys.base_scale);
        if let Some(model) = &options.base_model {
            agree(keys, model, "--base-model")?;
        }
        if let Some(test) = options.test {
            self.gate.rules.iter_mut().for_each(|rule| rule.test = Some(test));
        }
        Ok(())
    }

    /// A file is the rule: what would change it belongs into the file.
    fn refuse_loosening(&self, options: &Eval) -> Result<()> {
        let given = [
            ("--limited", options.limited, "ingest.limited"),
            ("--test", options.test.is_some(), "rule.test"),
            ("--scale", options.scale.is_some(), "ingest.scale"),
            ("--base-scale", options.base_scale.is_some(), "ingest.base_scale"),
        ];
        match given.iter().find(|(_, given, _)| *given) {
            None => Ok(()),
            Some((option, _, key)) => bail!(
                "{option}: the gate {} is the rule, and its key {key} says it: change the file, or give --tolerance instead of a gate",
                self.gate.name
            ),
        }
    }

    /// What a recipe asks, beside what a gate asks.
    fn with_recipe(&mut self, path: &Path, found: &Found, recipe: &Recipe) -> Result<()> {
        let named = path.display().to_string();
        let at = format!("{named}: eval.regression");
        let threshold = Threshold::of_recipe(recipe.threshold_pct).map_err(|why| anyhow!("{at}.{why}"))?;
        let points = match threshold {
            Threshold::Points(points) | Threshold::Percent(points) => points,
            Threshold::Disabled => 100.0,
        };
        if self.gate.from == FROM_OPTIONS {
            self.gate.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            self.gate.from.clone_from(&found.from);
            self.gate.text = String::from_utf8_lossy(&found.bytes).into_owned();
            self.gate.digest = digest(self.gate.text.as_bytes());
            self.is_new = found.is_new;
        }
        for rule in &mut self.gate.rules {
            if rule.tolerance.is_some() {
                bail!("{}: declares a tolerance, and the recipe {named} a threshold: keep one", rule.at);
            }
            rule.tolerance = Some(in_points(points));
            rule.at = format!("{}; {at}", rule.at);
        }
        self.banners.extend(found.banner.clone());
        self.few_shot = recipe.few_shot;
        let keys = self.keys();
        if keys.tasks.is_empty() {
            keys.tasks.clone_from(&recipe.tasks);
        }
        if let Some(model) = &recipe.base_model {
            agree(keys, model, &at)?;
        }
        Ok(())
    }

    /// Notes scores that were not made with the examples that a recipe states.
    pub fn check_few_shot(&self, run: &mut ScoreRun) {
        let Some(wanted) = self.few_shot else { return };
        let mut other: Vec<String> = run
            .results
            .scores
            .iter()
            .filter_map(|score| Some((&score.key.task, score.setup.few_shot?)))
            .filter(|(_, shots)| *shots != wanted)
            .map(|(task, shots)| format!("{} with {shots}", plain_line(task, 80)))
            .collect();
        other.sort_unstable();
        other.dedup();
        other.truncate(10);
        if !other.is_empty() {
            run.notes.push(format!(
                "the recipe asks for {wanted} examples before each question, and these had others: {}",
                other.join(", ")
            ));
        }
    }
}

/// Where the rule of options comes from.
pub const FROM_OPTIONS: &str = "command line";

/// Two that name the base model must mean the same.
fn agree(keys: &mut ScoreKeys, model: &ModelName, at: &str) -> Result<()> {
    match &keys.base_model {
        Some(other) if !other.agrees(model) => bail!("{at}: names the base model {model}, and the gate {other}: keep one"),
        Some(other) if other.digest.is_some() => {}
        _ => keys.base_model = Some(model.clone()),
    }
    Ok(())
}

fn of_recipe(path: &Path, rules: &Rules) -> Result<(PathBuf, Found, Recipe)> {
    let found = rules.read(path, recipe::FILE_MAX_BYTES)?;
    let found = found.ok_or_else(|| anyhow!("--recipe: no such file: {}", path.display()))?;
    let text = std::str::from_utf8(&found.bytes).map_err(|_| anyhow!("{}: not UTF-8", path.display()))?;
    let recipe = recipe::parse(text, &path.display().to_string()).map_err(|why| anyhow!("--recipe: {why}"))?;
    Ok((path.to_owned(), found, recipe))
}

/// The gate file that is used, with its name and its contents.
fn gate_path(options: &Eval, rules: &Rules) -> Result<Option<(PathBuf, Found)>> {
    if let Some(path) = &options.gate {
        let found = rules.read(path, GATE_MAX_BYTES)?;
        let found = found.ok_or_else(|| anyhow!("--gate: no such file: {}", path.display()))?;
        return Ok(Some((path.clone(), found)));
    }
    if options.tolerance.is_some() || options.recipe.is_some() {
        return Ok(None);
    }
    let found = rules.read(&rules.named(GATE), GATE_MAX_BYTES)?;
    Ok(found.map(|found| (PathBuf::from(GATE), found)))
}

fn of_options(options: &Eval) -> Declared {
    let text = options.command();
    let rule = Rule {
        tolerance: options.tolerance.clone(),
        ..drop_rule("command line".to_owned())
    };
    let rule = match &options.recipe {
        None if rule.tolerance.is_none() => Rule {
            tolerance: Some(in_points(DEFAULT_TOLERANCE_PP)),
            ..rule
        },
        _ => rule,
    };
    Declared {
        gate: Gate {
            name: COMMAND_LINE.to_owned(),
            from: FROM_OPTIONS.to_owned(),
            digest: digest(text.as_bytes()),
            text,
            rules: vec![rule],
            scores: Some(ScoreKeys::default()),
            ..bare_gate()
        },
        banners: Vec::new(),
        is_new: false,
        path: None,
        baseline: None,
        newest: false,
        model: None,
        adapter: None,
        series: Vec::new(),
        few_shot: None,
    }
}

fn in_points(points: f64) -> Tolerance {
    Tolerance {
        value: points,
        scale: Scale::Pp,
        unit: None,
    }
}

/// The rule where none is declared; its tolerance is the source's.
fn drop_rule(at: String) -> Rule {
    Rule {
        kind: KIND.to_owned(),
        against: Against::Baseline,
        metric: "*".to_owned(),
        fixture: "*".to_owned(),
        required: true,
        at,
        tolerance: None,
        max: None,
        at_least: None,
        at_most: None,
        test: None,
    }
}

/// The rule of a gate file.
///
/// # Errors
/// Every fault of it; what it asks for and scores cannot keep.
pub fn of_gate(path: &Path, found: Found) -> Result<Declared> {
    let file = path.display().to_string();
    let text = String::from_utf8(found.bytes).map_err(|_| anyhow!("{file}: not UTF-8"))?;
    let declaration = read(&text, &file).map_err(|all| Faults {
        whose: "the gate has faults",
        all,
    })?;
    if declaration.source != Source::Ingest {
        bail!("{file}: it measures itself (source = \"run\"): `gate perf` runs it; scores come from files, so write source = \"ingest\"");
    }
    let mut banners: Vec<String> = found.banner.into_iter().collect();
    banners.extend(unkept(&declaration, &file)?);
    let ingest = declaration.ingest.clone().unwrap_or_default();
    let complete = if declaration.require.complete == COMPLETE_OF_RUNS {
        COMPLETE.map(str::to_owned).to_vec()
    } else {
        declaration.require.complete.clone()
    };
    Ok(Declared {
        gate: Gate {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            from: found.from,
            digest: digest(text.as_bytes()),
            rules: rules(&declaration, &file)?,
            complete,
            scores: Some(keys(&ingest, &file)?),
            text,
            ..bare_gate()
        },
        banners,
        is_new: found.is_new,
        series: series(&ingest),
        adapter: ingest
            .adapter
            .as_deref()
            .map(adapter::find)
            .transpose()
            .map_err(|why| anyhow!(why))?,
        path: ingest.path,
        baseline: ingest.baseline,
        newest: ingest.newest,
        model: ingest.model,
        few_shot: None,
    })
}

/// What a declaration asks for is kept or refused, never passed over.
fn unkept(declaration: &Declaration, file: &str) -> Result<Option<String>> {
    if declaration.require.guard {
        bail!("{file}: require.guard: this version reads no guard's answer; leave the key out where the gate holds without one");
    }
    if let Some(check) = declaration.require.checks.first() {
        bail!("{file}: require.checks: {check}: result files do not tell of the machine that made them; leave the key out");
    }
    let when = "when.paths is not asked: results that are given are judged, whatever the change touches";
    Ok((!declaration.when.is_empty()).then(|| when.to_owned()))
}

fn rules(declaration: &Declaration, file: &str) -> Result<Vec<Rule>> {
    let declared = declaration.rules_for(false);
    if let [only] = declared.as_slice()
        && only.at.ends_with(": default")
    {
        return Ok(vec![drop_rule(only.at.clone())]);
    }
    if let Some(other) = declared.iter().find(|rule| rule.kind != KIND) {
        bail!(
            "{}: a rule of the kind {} says nothing of scores: `gate eval` judges rules of the kind {KIND}; declare others in a gate of their own than {file}",
            other.at,
            other.kind
        );
    }
    Ok(declared)
}

fn keys(ingest: &Ingest, file: &str) -> Result<ScoreKeys> {
    let is_default = |patterns: &[SeriesPattern]| match patterns {
        [one] => one.name == "*" && one.unit.is_none() && one.better.is_none() && one.tolerance.is_none() && one.review_above_pct.is_none(),
        _ => false,
    };
    let metrics = if is_default(&ingest.metrics) {
        Vec::new()
    } else {
        ingest.metrics.iter().map(|metric| pattern(metric, file)).collect::<Result<_>>()?
    };
    Ok(ScoreKeys {
        tasks: ingest.tasks.clone(),
        groups: ingest.groups.clone(),
        strict_config: ingest.strict_config,
        limited: ingest.limited,
        scale: ingest.scale,
        base_scale: ingest.base_scale,
        base_model: ingest.base_model.clone(),
        metrics,
    })
}

fn pattern(metric: &SeriesPattern, file: &str) -> Result<ScorePattern> {
    let at = format!("{file}: metric {:?}", plain_line(&metric.name, 60));
    let extent = match metric.unit.map(|unit| unit.canonical()) {
        None => None,
        Some("1") => Some(Extent::One),
        Some("%") => Some(Extent::Hundred),
        Some(other) => bail!("{at}: unit {other:?}: a score is a share: write unit = \"1\" for 0 to 1, or \"%\" for 0 to 100"),
    };
    if metric.from.is_some() || metric.resolution.is_some() {
        bail!("{at}: from and resolution say nothing of a score: name the task, the metric, or TASK/METRIC, and leave them out");
    }
    if let Some(tolerance) = metric.tolerance.as_ref().filter(|tolerance| tolerance.scale == Scale::Abs) {
        bail!("{at}: tolerance {tolerance}: a score falls by points or by a share of the base's: write \"1pp\" or \"1%\"");
    }
    let aim = metric.better.map(|better| match better {
        Better::Higher => crate::model::eval::Aim::Higher,
        Better::Lower => crate::model::eval::Aim::Lower,
    });
    Ok(ScorePattern {
        name: metric.name.clone(),
        aim,
        extent,
        tolerance: metric.tolerance.clone(),
        role: metric.role,
        review_above_pct: metric.review_above_pct,
    })
}

/// Scores that a bare name with a number can give: those whose unit and direction are declared.
fn series(ingest: &Ingest) -> Vec<Series> {
    let whole = ingest.metrics.iter().filter(|metric| !metric.name.contains('*'));
    whole
        .filter_map(|metric| {
            let better = if metric.better? == Better::Higher { "higher" } else { "lower" };
            let flag = format!("{}:{better}:{}", metric.name, metric.unit?);
            Some(Series::of(Metric::parse_flag(&flag).ok()?))
        })
        .collect()
}
