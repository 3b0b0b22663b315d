//! The rule of a gate file or of a recipe.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::{BASE, Made, TUNED, counted, last};
use crate::sandbox::{Done, Sandbox};
use crate::sources::root;

const GATE: &str = "version = 1\nabout = \"Scores stay\"\nsource = \"ingest\"\n[ingest]\n";
const RULE: &str = "[[rule]]\nkind = \"drop\"\n";

fn made(model: (&str, &str), right: u64) -> Made {
    Made::of(model).task("arc", right, 1000).task("piqa", 800, 1000)
}

/// A place with both results and a gate.
fn place(gate: &str, base: &Made, tuned: &Made) -> Sandbox {
    let sandbox = super::sides(base, tuned);
    fs::create_dir_all(sandbox.path("gates")).unwrap();
    sandbox.write("gates/eval.toml", gate);
    sandbox
}

fn eval(sandbox: &Sandbox, more: &[&str]) -> Done {
    sandbox.gate(&[&["eval", "tuned.json", "--baseline", "base.json"], more].concat())
}

#[test]
fn a_gate_file_is_the_rule_where_it_stands() {
    for (gate, right, exit) in [
        (format!("{GATE}{RULE}tolerance = \"2pp\"\n"), 731, 0),
        (format!("{GATE}{RULE}tolerance = \"2pp\"\n"), 729, 1),
        // Without a rule of its own it is one point.
        (GATE.to_owned(), 740, 0),
        (GATE.to_owned(), 739, 1),
        (format!("{GATE}{RULE}tolerance = \"0pp\"\n"), 750, 0),
        (format!("{GATE}{RULE}tolerance = \"0pp\"\n"), 749, 1),
        (format!("{GATE}{RULE}metric = \"piqa\"\n"), 100, 0),
        (format!("{GATE}tasks = [\"piqa\"]\n{RULE}"), 100, 0),
        (format!("{GATE}{RULE}required = false\n"), 100, 3),
        // One task may fall further than the others.
        (
            format!("{GATE}[[metric]]\nname = \"arc\"\ntolerance = \"5pp\"\n[[metric]]\nname = \"*\"\n"),
            701,
            0,
        ),
        (
            format!("{GATE}[[metric]]\nname = \"arc\"\nrole = \"info\"\n[[metric]]\nname = \"*\"\n"),
            100,
            0,
        ),
        (
            format!("{GATE}[[metric]]\nname = \"arc/acc\"\nbetter = \"lower\"\n[[metric]]\nname = \"*\"\n"),
            700,
            0,
        ),
    ] {
        let sandbox = place(&gate, &made(BASE, 750), &made(TUNED, right));
        let done = eval(&sandbox, &[]).exits(exit);
        assert!(done.out.contains("gate: eval, from the working tree"), "{}", done.out);
        last(&sandbox);
    }
}

#[test]
fn what_is_declared_and_not_there_is_no_pass() {
    for (gate, words) in [
        (
            format!("{GATE}tasks = [\"arc\", \"gsm8k\"]\n"),
            "gsm8k: no score of either side has this name",
        ),
        (
            format!("{GATE}groups = [\"mmlu\"]\n"),
            "mmlu: no score of either side has this name",
        ),
        (
            format!("{GATE}[[metric]]\nname = \"acc\"\n[[metric]]\nname = \"f1\"\n"),
            "f1: no score of either side has this name",
        ),
        (
            format!("{GATE}{RULE}metric = \"truthfulqa\"\n"),
            "truthfulqa: no score of either side has this name",
        ),
    ] {
        let sandbox = place(&gate, &made(BASE, 750), &made(TUNED, 750));
        let done = eval(&sandbox, &[]).exits(3);
        assert!(done.out.contains(words), "{gate}: {}", done.out);
        last(&sandbox);
    }
}

#[test]
fn a_gate_that_says_nothing_of_scores_or_more_than_can_be_kept_is_refused() {
    for (gate, words) in [
        (
            "version = 1\nsource = \"run\"\nrun.command = [\"x\"]\n".to_owned(),
            "it measures itself",
        ),
        (
            format!("{GATE}[[rule]]\nkind = \"hold\"\nagainst = \"baseline\"\n"),
            "a rule of the kind hold says nothing of scores",
        ),
        (
            format!("{GATE}[require]\nchecks = [\"Q-BUSY\"]\n"),
            "result files do not tell of the machine",
        ),
        (format!("{GATE}[require]\nguard = true\n"), "reads no guard's answer"),
        (format!("{GATE}[[metric]]\nname = \"acc\"\nunit = \"ms\"\n"), "a score is a share"),
        (
            format!("{GATE}[[metric]]\nname = \"acc\"\nfrom = \"x\"\n"),
            "say nothing of a score",
        ),
        (format!("{GATE}{RULE}tolerance = 1\n"), "gates/eval.toml:7:13: rule.tolerance"),
        (format!("{GATE}typo = 1\n"), "unknown key \"typo\""),
    ] {
        let sandbox = place(&gate, &made(BASE, 750), &made(TUNED, 750));
        eval(&sandbox, &[]).exits(2).says(words);
        assert!(sandbox.ledger().is_empty());
    }
    let sandbox = place(GATE, &made(BASE, 750), &made(TUNED, 750));
    sandbox.gate(&["gates", "check"]).exits(0);
    for (more, words) in [
        (
            &["--limited"][..],
            "--limited: the gate eval is the rule, and its key ingest.limited says it",
        ),
        (&["--test", "paired"], "rule.test"),
        (&["--scale", "0-100"], "ingest.scale"),
        (&["--gate", "gates/other.toml"], "no such file"),
        (&["--gate", "gates/eval.toml", "--tolerance", "9pp"], "cannot be used with"),
    ] {
        eval(&sandbox, more).exits(2).says(words);
    }
    // With --tolerance the file is not asked, and the record says what that is worth.
    let done = eval(&sandbox, &["--tolerance", "9pp"]).exits(0);
    assert!(
        done.out
            .contains("the rule was given with the scores at hand, and not declared before"),
        "{}",
        done.out
    );
}

#[test]
fn the_committed_example_judges_a_group_in_the_place_of_its_members() {
    let text = fs::read_to_string(root().join("gates/examples/eval.toml")).unwrap();
    let made = |model, law: u64, mmlu: u64| {
        Made::of(model)
            .task("mmlu_law", law, 100)
            .task("mmlu_math", 900, 1000)
            .task("mmlu", mmlu, 1100)
            .set(&["group_subtasks", "mmlu"], json!(["mmlu_law", "mmlu_math"]))
            .metric("gsm8k", "exact_match,strict-match", 0.8, 1000)
            .metric("gsm8k", "exact_match,flexible-extract", 0.9, 1000)
            .metric("ifeval", "prompt_level_strict_acc,none", 0.6, 500)
            .metric("humaneval", "pass@1,create_test", 0.5, 164)
            .set(&["higher_is_better", "humaneval"], json!({ "pass_at_k": true }))
    };
    // One member fell by 10 points, the group by less than one.
    let base = made(("Qwen/Qwen3-8B", "9f2c41aa9f2c41aa"), 80, 980);
    let sandbox = place(&text, &base, &made(TUNED, 70, 970));
    sandbox.gate(&["eval", "base.json"]).exits(3);
    sandbox
        .gate(&["baseline", "accept", "last", "--baseline", "baselines/eval/qwen3-8b.txt"])
        .exits(0);
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(0);
    let record = last(&sandbox);
    let names: Vec<String> = counted(&record).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "mmlu acc",
            "gsm8k exact_match (strict-match)",
            "humaneval pass@1 (create_test)",
            "ifeval prompt_level_strict_acc"
        ]
    );
    assert_eq!(record["judgement"]["disposition"], "measured", "{}", done.out);
    let sandbox_of_other = made(("Qwen/Qwen3-4B", "1234abcd1234abcd"), 80, 980);
    sandbox.write("other.json", sandbox_of_other.text());
    let done = sandbox.gate(&["eval", "tuned.json", "--baseline", "other.json"]).exits(3);
    assert!(done.out.contains("those of Qwen/Qwen3-8B are wanted"), "{}", done.out);
}

const RECIPE: &str = "# a recipe\nmeta: {project: demo, run_name: tune, seed: 2048}\nmodel:\n  name: \"org/base\"\neval:\n  harness:\n    tasks: [arc, piqa]\n    fewshot: 5\n  regression:\n    baseline: \"org/base\"\n    threshold_pct: THRESHOLD\n";

#[test]
fn a_recipe_says_how_far_a_score_may_fall() {
    for (threshold, right, exit, verdict) in [
        ("-1.0", 740, 0, "no_regression"),
        ("-1.0", 739, 1, "regression"),
        ("-2.0", 730, 0, "no_regression"),
        ("-2.0", 729, 1, "regression"),
        ("-100.0", 100, 3, "rule_disabled"),
        ("null", 739, 1, "regression"),
    ] {
        let sandbox = super::sides(&made(BASE, 750), &made(TUNED, right));
        sandbox.write("recipe.yaml", RECIPE.replace("THRESHOLD", threshold));
        let done = eval(&sandbox, &["--recipe", "recipe.yaml"]).exits(exit);
        let record = last(&sandbox);
        assert!(
            counted(&record).iter().any(|(_, word)| word == verdict),
            "{threshold}: {}",
            done.out
        );
        assert_eq!(record["gate"]["scores"]["base_model"]["id"], "org/base");
        assert!(!done.out.contains("not declared before"), "{}", done.out);
    }
    // Ten of fourteen recipes have no such line: one point.
    let sandbox = super::sides(&made(BASE, 750), &made(TUNED, 739));
    sandbox.write("recipe.yaml", RECIPE.replace("    threshold_pct: THRESHOLD\n", ""));
    eval(&sandbox, &["--recipe", "recipe.yaml"]).exits(1);
}

#[test]
fn a_recipe_binds_tasks_base_model_and_examples() {
    let sandbox = super::sides(&made(BASE, 750), &made(TUNED, 750));
    let recipe = RECIPE.replace("THRESHOLD", "-1.0");
    sandbox.write("recipe.yaml", recipe.replace("[arc, piqa]", "[arc, gsm8k]"));
    let done = eval(&sandbox, &["--recipe", "recipe.yaml"]).exits(3);
    assert!(done.out.contains("gsm8k: no score of either side has this name"), "{}", done.out);
    sandbox.write("recipe.yaml", recipe.replace("baseline: \"org/base\"", "baseline: org/other"));
    let done = eval(&sandbox, &["--recipe", "recipe.yaml"]).exits(3);
    assert!(done.out.contains("those of org/other are wanted"), "{}", done.out);
    sandbox.write("recipe.yaml", recipe.replace("fewshot: 5", "fewshot: 0"));
    let done = eval(&sandbox, &["--recipe", "recipe.yaml"]).exits(0);
    assert!(
        done.out
            .contains("the recipe asks for 0 examples before each question, and these had others: arc with 5"),
        "{}",
        done.out
    );
}

#[test]
fn o31_a_recipe_that_disarms_the_rule_or_says_nothing_is_refused() {
    let sandbox = super::sides(&made(BASE, 750), &made(TUNED, 750));
    for (recipe, words) in [
        (RECIPE.replace("THRESHOLD", "1.0"), "demands a gain: write -1"),
        (RECIPE.replace("THRESHOLD", ".nan"), "recipe.yaml"),
        (RECIPE.replace("THRESHOLD", "-.inf"), "recipe.yaml"),
        (RECIPE.replace("THRESHOLD", "\"one\""), "recipe.yaml:11"),
        (RECIPE.replace("THRESHOLD", "[1"), "recipe.yaml"),
        ("eval: {harness: {tasks: [arc]}}\n".to_owned(), "eval has no regression section"),
        ("model: {name: x}\n".to_owned(), "has no eval section"),
        (String::new(), "recipe.yaml"),
        (
            RECIPE
                .replace("THRESHOLD", "-1.0")
                .replace("baseline: \"org/base\"", "baseline: \"@9f\""),
            "eval.regression.baseline",
        ),
    ] {
        sandbox.write("recipe.yaml", &recipe);
        eval(&sandbox, &["--recipe", "recipe.yaml"]).exits(2).says(words);
    }
    eval(&sandbox, &["--recipe", "absent.yaml"]).exits(2).says("no such file");
    assert!(sandbox.ledger().is_empty());
}

#[test]
fn persona_and_agenda_scores_are_further_tasks() {
    let metric = |name: &str| format!("[[metric]]\nname = \"{name}\"\nunit = \"1\"\nbetter = \"higher\"\n");
    let gate = format!("{GATE}{}{}[[metric]]\nname = \"acc\"\n", metric("persona"), metric("agenda"));
    let sandbox = place(&gate, &made(BASE, 750), &made(TUNED, 750));
    sandbox.write("base-persona.json", "{\"persona\": 0.93, \"agenda\": 0.80}");
    let files = ["--baseline", "base.json", "--baseline", "base-persona.json"];
    for (scores, exit, words) in [
        (
            "{\"persona\": 0.92, \"agenda\": 0.81}",
            0,
            "persona regression_score: 93.00 % in the base, 92.00 % in the candidate: a drop of 1.00 pp",
        ),
        (
            "{\"persona\": 0.90, \"agenda\": 0.81}",
            1,
            "persona regression_score: 93.00 % in the base, 90.00 % in the candidate: a drop of 3.00 pp",
        ),
        (
            "{\"persona\": 0.93, \"agenda\": 0.0}",
            3,
            "agenda regression_score: the candidate has no score",
        ),
    ] {
        sandbox.write("persona.json", scores);
        let done = sandbox
            .gate(&[&["eval", "tuned.json", "persona.json"][..], &files].concat())
            .exits(exit);
        assert!(done.out.contains(words), "{scores}: {}", done.out);
        last(&sandbox);
    }
}

#[test]
fn bare_names_with_numbers_are_scores_where_they_are_declared() {
    let gate = format!("{GATE}[[metric]]\nname = \"tone\"\nunit = \"1\"\nbetter = \"higher\"\n");
    let sandbox = place(&gate, &made(BASE, 750), &made(TUNED, 750));
    sandbox.write("base-tone.json", "{\"tone\": 0.93}");
    for (score, exit) in [("0.92", 0), ("0.91", 1), ("NaN", 3)] {
        sandbox.write("tone.json", format!("{{\"tone\": {score}}}"));
        sandbox.gate(&["eval", "tone.json", "--baseline", "base-tone.json"]).exits(exit);
    }
}

/// Runs git in a place.
pub fn git(sandbox: &Sandbox, words: &[&str]) -> String {
    let mut command = Command::new("git");
    sandbox.furnish(&mut command);
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@b"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@b"),
    ] {
        command.env(name, value);
    }
    let done = command.args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

#[test]
fn a_change_cannot_loosen_the_rule_or_the_base_that_judges_it() {
    let sandbox = place(GATE, &made(BASE, 750), &made(TUNED, 700));
    git(&sandbox, &["init", "--quiet", "--initial-branch", "main"]);
    sandbox.write(".gitignore", ".gate/\nbase.json\ntuned.json\nevent.json\n");
    sandbox.gate(&["eval", "base.json"]).exits(3);
    sandbox.gate(&["baseline", "accept", "last"]).exits(0);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "--quiet", "-m", "a rule and a base"]);
    let tip = git(&sandbox, &["rev-parse", "HEAD"]);
    git(&sandbox, &["update-ref", "refs/remotes/origin/main", &tip]);
    git(&sandbox, &["switch", "--quiet", "-c", "feature"]);
    sandbox.write("gates/eval.toml", format!("{GATE}{RULE}tolerance = \"50pp\"\n"));
    let file = "baselines/eval/org--base.txt";
    sandbox.write(file, sandbox.text(file).replace("  0.75  ", "  0.10  "));
    sandbox.write("gates/new.toml", format!("{GATE}{RULE}tolerance = \"50pp\"\n"));
    git(&sandbox, &["commit", "--quiet", "-am", "looser"]);
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    sandbox.gate(&["eval", "tuned.json"]).exits(0);
    sandbox.write(
        "event.json",
        json!({ "pull_request": { "base": { "ref": "main", "sha": tip }, "head": { "ref": "feature", "sha": head } } }).to_string(),
    );
    let event = sandbox.path("event.json").display().to_string();
    let sandbox = sandbox
        .with_env("GITHUB_EVENT_NAME", "pull_request")
        .with_env("GITHUB_EVENT_PATH", &event);
    for more in [&[][..], &["--baseline", file], &["--baseline", "baselines/eval"]] {
        let done = sandbox.gate(&[&["eval", "tuned.json"], more].concat()).exits(1);
        assert!(done.out.contains("75.00 % in the base, 70.00 % in the candidate"), "{}", done.out);
        for words in [
            "banner: this change edits gates/eval.toml: that of the base tip ",
            "banner: this change edits baselines/eval/org--base.txt: that of the base tip ",
        ] {
            assert!(done.out.contains(words), "{words}: {}", done.out);
        }
    }
    // A gate that the base does not have yet runs, and only advises.
    let done = sandbox
        .gate(&["eval", "tuned.json", "--gate", "gates/new.toml", "--baseline", file])
        .exits(0);
    assert!(
        done.out.contains("gates/new.toml is new") && done.out.contains("(advisory)"),
        "{}",
        done.out
    );
    // Removing either does not help.
    fs::remove_file(sandbox.path("gates/eval.toml")).unwrap();
    fs::remove_file(sandbox.path(file)).unwrap();
    let done = sandbox.gate(&["eval", "tuned.json"]).exits(1);
    assert!(done.out.contains("banner: this change removes gates/eval.toml"), "{}", done.out);
}
