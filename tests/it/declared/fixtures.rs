//! Fixtures: what each puts into the command, and in which order they take turns.

use serde_json::{Value, json};

use super::{GATE, Project, verdicts};
use crate::sandbox::samples;

/// Appends sections to the gate, and words to its command.
fn gate(words: &str, sections: &str) -> String {
    GATE.replace("{tree}/tool\"", &format!("{{tree}}/tool\"{words}")) + sections
}

/// The blocks in the order in which they ran.
fn turns(record: &Value) -> Vec<(String, u64)> {
    let mut turns: Vec<(String, u64)> = Vec::new();
    for sample in samples(record).iter().filter(|sample| sample["warmup"] == false) {
        let turn = (
            sample["cell"]["fixture"].as_str().unwrap().to_owned(),
            sample["block"].as_u64().unwrap(),
        );
        if turns.last() != Some(&turn) {
            turns.push(turn);
        }
    }
    turns
}

#[test]
fn fixtures_take_turns_and_a_decided_one_drops_out() {
    let sections = "\n[[fixture]]\nname = \"steady\"\n\n[[fixture]]\nname = \"noisy\"\nenv = { COUNT = \"PLACE\" }\n";
    let project = Project::new();
    let count = project.write("../tmp/count", "").canonicalize().unwrap();
    let text = gate("", sections).replace("5%", "1%").replace("PLACE", count.to_str().unwrap());
    project.write("gates/perf.toml", text);
    // After two discarded runs the blocks differ in turn by a third upwards and a third downwards.
    project.script(
        "tool.sh",
        "[ \"$COUNT\" ] || exec echo ms=100\nn=$(wc -l < $COUNT)\necho >> $COUNT\nset -- 100 100 100 160 150 110 100 160 150 110 160 100 110 150 160 100 110 150\nshift $n\necho ms=$1",
    );
    project.commit("noisy");
    project.write("README", "words\n");
    let record = project.perf(&[]).exits(3).record();
    let turns = turns(&record);
    let turn = |name: &str, block: u64| (name.to_owned(), block);
    assert_eq!(
        turns[..4],
        [turn("steady", 0), turn("noisy", 0), turn("steady", 1), turn("noisy", 1)]
    );
    assert_eq!(turns[4..], [turn("noisy", 2), turn("noisy", 3)], "the decided fixture drops out");
    assert_eq!(verdicts(&record), ["no_regression", "inconclusive"]);
    let warmups: Vec<_> = samples(&record)
        .iter()
        .filter(|sample| sample["warmup"] == true)
        .map(|sample| sample["cell"]["fixture"].clone())
        .collect();
    assert_eq!(warmups.len(), 4);
}

const FIXTURES: &str = r#"
[[metric]]
name = "rate"
from = "tok_s"
unit = "tok/s"
better = "higher"
tolerance = "5%"

[[fixture]]
name = "small"
model = "small.gguf"
prompt = "prompts/one.txt"
args = ["-n", "8"]
env = { LEVEL = "low", PLACE = "{tree}" }
metrics = ["ms"]

[[fixture]]
name = "large"
model = "models/large.gguf"
prompt = "prompts/one.txt"
args = ["-n", "16", "two words"]
metrics = ["rate"]
"#;

/// Tells everything that it was given, and leaves its figures in a file.
const TOOL: &str = r#"model=$1 prompt=$2 out=$3
[ -d "$out" ] && [ -z "$(ls "$out")" ] || exit 3
shift 3
printf '%s|%s|%s|%s|%s|%s\n' "$model" "$(cat "$model")" "$(cat "$prompt")" "$out" "$*" "$LEVEL $TOKEN" >> "$LOG"
echo "tok_s=50 ms=100" > "$out/result.txt"
echo ms=1"#;

#[test]
fn model_prompt_arguments_and_output_reach_the_process() {
    let project = Project::new();
    let tmp = project.sandbox.path("../tmp").canonicalize().unwrap();
    let run = format!(
        "output = \"{{out}}/result.txt\"\nenv = {{ LOG = \"{}/log\" }}\npass_env = [\"TOKEN\"]\nrecord_env = [\"SEEN\", \"ABSENT\", \"MY_*\"]\ntimeout =",
        tmp.display()
    );
    let words = ", \"{model}\", \"{prompt}\", \"{out}\", \"{args}\"";
    project.write("gates/perf.toml", gate(words, FIXTURES).replace("timeout =", &run));
    project.script("tool.sh", TOOL);
    project.write("prompts/one.txt", "a prompt");
    project.write("models/large.gguf", "large, in the checkout");
    project.write("../tmp/models/small.gguf", "small, elsewhere");
    project.commit("fixtures");
    project.write("README", "words\n");
    let _done = project.perf(&[]).exits(2).says("run.pass_env: TOKEN is not set");
    let project = project.env("TOKEN", "s3cret-s3cret").env("SEEN", "yes").env("MY_ONE", "1");
    let done = project
        .perf(&[])
        .exits(2)
        .says("fixture \"small\": no model small.gguf: looked for");
    assert!(done.err.contains("GATE_MODELS names their folder"), "{}", done.err);
    let project = project.env("GATE_MODELS", tmp.join("models").to_str().unwrap());
    let record = project.perf(&[]).exits(0).record();

    let asked: Vec<_> = record["judgement"]["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ruling| json!([ruling["cell"]["fixture"], ruling["metric"]]))
        .collect();
    assert_eq!(asked, [json!(["small", "ms"]), json!(["large", "rate"])]);
    let values = &samples(&record)[0]["values"];
    assert_eq!(values["ms"], 100.0, "from the file, not from standard output: {values}");

    let lines = project.sandbox.lines("../tmp/log");
    let mut outs = Vec::new();
    for line in &lines {
        let [model, bytes, prompt, out, args, variables] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert_eq!(prompt, "a prompt");
        if args == "-n 8" {
            assert_eq!((bytes, variables), ("small, elsewhere", "low s3cret-s3cret"));
            assert!(model.ends_with("/tmp/models/small.gguf"));
        } else {
            assert_eq!(
                (bytes, variables, args),
                ("large, in the checkout", " s3cret-s3cret", "-n 16 two words")
            );
        }
        outs.push(out);
    }
    outs.sort_unstable();
    outs.dedup();
    assert_eq!(
        (outs.len(), lines.len()),
        (samples(&record).len(), samples(&record).len()),
        "a folder of its own for each process"
    );
    assert!(outs.iter().all(|out| !std::path::Path::new(out).exists()));

    let identity = &record["identity"];
    assert_eq!(identity["model"]["small"]["bytes"], "small, elsewhere".len());
    assert!(
        identity["model"]["large"]["blake3"]
            .as_str()
            .is_some_and(|digest| digest.len() == 64)
    );
    let roles: Vec<_> = identity["arms"]["B"]["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|artifact| json!([artifact["role"], artifact["path"]]))
        .collect();
    assert_eq!(
        roles,
        [json!(["artifact", "tool"]), json!(["interpreter", roles[1][1]])],
        "inputs are no artifacts"
    );
    let recorded = &identity["config"]["record_env"];
    assert_eq!(recorded, &json!({"SEEN": "yes", "ABSENT": null, "MY_ONE": "1"}));
    assert_eq!(identity["config"]["fixtures"]["small"]["args"], json!(["-n", "8"]));
    // A secret is handed on and written down nowhere.
    let told: Vec<_> = project
        .sandbox
        .everything()
        .into_iter()
        .filter(|(path, bytes)| !path.ends_with("tmp/log") && String::from_utf8_lossy(bytes).contains("s3cret-s3cret"))
        .collect();
    assert!(told.is_empty(), "{:?}", told.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(project.trees(), Vec::<String>::new());
}

#[test]
fn caches_are_private_to_an_arm_and_filled_by_the_warm_up() {
    let project = Project::new();
    let tmp = project.sandbox.path("../tmp").canonicalize().unwrap();
    let run = format!("caches = [\"KERNELS\"]\nenv = {{ LOG = \"{}/log\" }}\ntimeout =", tmp.display());
    project.write("gates/perf.toml", gate("", "").replace("timeout =", &run));
    project.script(
        "tool.sh",
        "ls $KERNELS | wc -l | sed \"s|^|$KERNELS $(pwd) |\" >> $LOG\ntouch $KERNELS/compiled\necho ms=100",
    );
    project.commit("caches");
    project.write("README", "words\n");
    let record = project.perf(&[]).exits(0).record();
    let lines = project.sandbox.lines("../tmp/log");
    assert_eq!(lines.len(), samples(&record).len());
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (line, sample) in lines.iter().zip(samples(&record)) {
        let [cache, tree, held] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert_eq!(held == "0", sample["warmup"] == true, "filled by the warm-up and kept: {line}");
        pairs.push((cache, tree));
    }
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 2, "a folder an arm: {pairs:?}");
    assert_ne!(pairs[0].0, pairs[1].0);
    project.write(
        "gates/perf.toml",
        gate("", "").replace("timeout =", &run).replace("[plan]", "[plan]\nwarmup_runs = 0"),
    );
    let _done = project
        .perf(&[])
        .exits(2)
        .says("plan.warmup_runs: 0, but discarded processes fill the caches");
}
