//! Keys of what is measured, required and read: `[[fixture]]`, `[[metric]]`, `[[rule]]`, `[require]`, `[ingest]`.

use super::Absent::{Means, Refused, Value};
use super::{Key, PERCENT, SWITCH, TEXTS, VARIABLES, WORDS, key};

/// In the order in which a file has them.
pub(super) const KEYS: &[Key] = &[
    key(
        "fixture.name",
        Refused,
        "a name",
        "The name of the fixture in rules, baselines and reports.",
    ),
    key(
        "fixture.model",
        Means("no model"),
        "a relative path",
        "The model file of both arms, in GATE_MODELS or else in the user's checkout.",
    ),
    key(
        "fixture.prompt",
        Means("no prompt"),
        "a path relative to the repository",
        "The prompt file, from the revision that the rules come from.",
    ),
    key("fixture.args", Value("[]"), WORDS, "Arguments put where the command says {args}."),
    key(
        "fixture.env",
        Value("{}"),
        VARIABLES,
        "Variables of this fixture's processes, in both arms.",
    ),
    key(
        "fixture.metrics",
        Means("every metric"),
        "a list of declared metrics",
        "The metrics that the fixture measures.",
    ),
    key(
        "metric.name",
        Refused,
        "a name; a pattern such as \"*\" where the source is ingest",
        "The name of the metric in rules, baselines and reports.",
    ),
    key(
        "metric.from",
        Means("the metric's own name"),
        "a text",
        "The series of the adapter that it is taken from.",
    ),
    key(
        "metric.reduce",
        Value("\"median\""),
        "\"median\", \"mean\", \"min\", \"max\" or \"last\"",
        "How the repetitions inside one process become its one value.",
    ),
    key(
        "metric.unit",
        Refused,
        "a unit, such as \"ms\" or \"tok/s\"",
        "The unit in which values are recorded and judged; another tool's file may carry it itself.",
    ),
    key(
        "metric.better",
        Refused,
        "\"higher\" or \"lower\"",
        "Which direction is better, never guessed from a name; another tool's file may carry it itself.",
    ),
    key(
        "metric.tolerance",
        Value("\"2%\""),
        "\"2%\" relative, \"1pp\" points, or \"0.5 ms\" absolute",
        "The slowdown that the gate promises to catch.",
    ),
    key(
        "metric.resolution",
        Means("nothing is known of it"),
        "a number above 0, in the metric's unit",
        "The smallest step that the instrument can show.",
    ),
    key(
        "metric.review_above",
        Means("no gain is suspicious"),
        PERCENT,
        "A gain beyond this passes with the warning \"suspicious improvement\".",
    ),
    key(
        "metric.role",
        Value("\"gate\""),
        "\"gate\" or \"info\"",
        "Whether the metric is judged, or only recorded.",
    ),
    key(
        "rule.kind",
        Refused,
        "the name of a rule kind",
        "What is demanded; `gate explain rule` tells the kinds.",
    ),
    key(
        "rule.against",
        Value("\"base\""),
        "\"base\" or \"baseline\"",
        "What the candidate is compared with: the base arm of the same session, or the committed baseline of others.",
    ),
    key(
        "rule.metric",
        Value("\"*\""),
        "a declared metric, or \"*\" for all",
        "The metric that the rule speaks of.",
    ),
    key(
        "rule.fixture",
        Value("\"*\""),
        "a declared fixture, or \"*\" for all",
        "The fixture that the rule speaks of.",
    ),
    key(
        "rule.required",
        Means("true against base; false against baseline beside a base arm, else true"),
        SWITCH,
        "Whether the outcome of the record depends on the rule.",
    ),
    key(
        "rule.tolerance",
        Means("the metric's; 5% of a hold against baseline"),
        "a tolerance in the metric's scale; exact takes zero too",
        "hold, exact: the slowdown to catch, where it is not the metric's.",
    ),
    key(
        "rule.max",
        Means("a spread needs it"),
        "\"5%\" of the median, or a size in the metric's unit",
        "spread: how far the candidate's own values may lie apart.",
    ),
    key(
        "rule.at_least",
        Means("no such bound; a floor needs one of the two"),
        "\"140 tok/s\", \"95% of base\", \"95% of historical\" or \"95% of baseline\"",
        "floor: the least that the candidate's median must reach.",
    ),
    key(
        "rule.at_most",
        Means("no such bound; a floor needs one of the two"),
        "\"20 ms\", \"105% of base\", \"105% of historical\" or \"105% of baseline\"",
        "floor: the most that the candidate's median may reach.",
    ),
    key(
        "require.checks",
        Means("none without a GPU, else those that the profile of its architecture requires"),
        "a list of check ids, such as \"Q-BUSY\"",
        "Preflight checks that must pass before anything is measured.",
    ),
    key(
        "require.complete",
        Value("[\"source\", \"artifacts\", \"model\", \"prompt\", \"config\", \"policy\"]"),
        "a list of source, artifacts, model, prompt, gpu, config, policy",
        "Identity fields that must be known, or the evidence is exploratory.",
    ),
    key(
        "require.equal",
        Means("[\"model\", \"prompt\", \"gpu\", \"config\", \"policy\"], and \"machine.cpu\" where there is no GPU"),
        "a list of model, prompt, gpu, config, policy, or fields of gpu and machine, such as gpu.driver",
        "Identity fields that must equal the baseline's, or the baseline is stale.",
    ),
    key(
        "require.guard",
        Value("false"),
        SWITCH,
        "Whether a capability guard of the served model must have passed.",
    ),
    key(
        "ingest.adapter",
        Means("found by the file's contents"),
        "the name of an adapter",
        "The adapter that reads the results.",
    ),
    key(
        "ingest.path",
        Means("named on the command line"),
        "a path relative to the repository",
        "The file or folder of the results.",
    ),
    key(
        "ingest.newest",
        Value("false"),
        SWITCH,
        "Whether the newest of several results is taken.",
    ),
    key(
        "ingest.model",
        Means("the only one"),
        "a text",
        "The model, where a folder holds the results of several.",
    ),
    key("ingest.tasks", Means("every task"), TEXTS, "The tasks that count."),
    key("ingest.groups", Means("every group"), TEXTS, "The groups of tasks that count."),
    key(
        "ingest.strict_config",
        Value("false"),
        SWITCH,
        "Whether a difference in configuration makes results incomparable.",
    ),
    key(
        "ingest.max_failed",
        Value("\"0%\""),
        PERCENT,
        "Failed requests that a tool may report.",
    ),
];
