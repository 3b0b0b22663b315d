//! The committed examples with stand-ins for the programs that they name, the gate of this repository, and what `gate init` writes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{Project, banners, verdicts};
use crate::sandbox::{Sandbox, program};
use crate::sources::root;

/// Stand-ins go into `../tmp/bin`, first on the `PATH`.
fn with_stand_ins(project: Project) -> Project {
    let tmp = project.sandbox.path("../tmp").canonicalize().unwrap();
    let path = format!("{}/bin:{}", tmp.display(), std::env::var("PATH").unwrap());
    project.env("PATH", &path)
}

/// A project with one of the examples and without another gate.
fn example(name: &str) -> Project {
    let project = with_stand_ins(Project::new());
    let models = project.sandbox.path("../tmp").canonicalize().unwrap().join("models");
    let project = project.env("GATE_MODELS", models.to_str().unwrap());
    fs::remove_file(project.sandbox.path("gates/perf.toml")).unwrap();
    let text = fs::read_to_string(root().join(format!("gates/examples/{name}.toml"))).unwrap();
    project.write(&format!("gates/{name}.toml"), text);
    project.commit("an example");
    project
}

/// Writes a stand-in program.
fn stands_in(project: &Project, name: &str, body: &str) {
    project.script(&format!("../tmp/bin/{name}"), body);
    let place = project.sandbox.path(&format!("../tmp/bin/{name}"));
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn llama_bench_of_two_builds() {
    let project = example("llama-bench");
    stands_in(
        &project,
        "cmake",
        "[ \"$1\" = --version ] && exit\nmkdir -p build/bin\n[ \"$1\" = --build ] || exit 0\ncp llama-bench libggml.so build/bin/",
    );
    project.write("../tmp/models/7b.Q4_K_M.gguf", "a model");
    let row = |prompt: u32, generated: u32, rate: &str| {
        format!(
            r#"{{"build_commit": "0a1b2c3d", "model_filename": "7b.Q4_K_M.gguf", "n_prompt": {prompt}, "n_gen": {generated}, "n_depth": 0, "avg_ts": {rate}, "samples_ts": [{rate}]}}"#
        )
    };
    let rows = format!("[{},\n{}]", row(512, 0, "812.4"), row(0, 128, "$rate"));
    let script = format!(
        "[ \"$LD_LIBRARY_PATH\" = \"$(pwd)/build/bin\" ] && [ \"$HIP_VISIBLE_DEVICES\" = 0 ] || exit 5\n. ./build/bin/libggml.so\necho \"$*\" | grep -q '7b.Q4_K_M.gguf -r 3 -o json -p 512 -n 128' || exit 6\necho init: one device >&2\ncat <<END\n{rows}\nEND"
    );
    project.script("llama-bench", &script);
    project.write("libggml.so", "rate=152.1\n");
    project.commit("llama");
    project.write("libggml.so", "rate=140.2\n");
    project.write("src/changed", "so that the gate is concerned\n");
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record)[..2], ["no_regression", "regression"]);
    assert_eq!(record["judgement"]["verdicts"][1]["metric"], "decode");
}

#[test]
fn vllm_serve() {
    let Some(_) = program("python3") else { return };
    let project = example("vllm-serve");
    let project = project.env("HF_TOKEN", "not-a-real-token");
    let python = program("python3").unwrap();
    stands_in(
        &project,
        "python3",
        &format!(
            "[ \"$1\" = -m ] && {{ mkdir -p env/bin; cp pip vllm-program env/bin/; mv env/bin/vllm-program env/bin/vllm; exit; }}\nexec '{}' \"$@\"",
            python.display()
        ),
    );
    project.script("pip", "exit 0");
    let server = "import http.server,sys\nclass H(http.server.BaseHTTPRequestHandler):\n  def do_GET(s):\n    s.send_response(200); s.end_headers()\nhttp.server.HTTPServer(('127.0.0.1',int(sys.argv[1])),H).serve_forever()\n";
    project.write("server.py", server);
    let body = format!(
        "tree=$(dirname \"$0\")/../..\nif [ \"$1\" = serve ]; then exec '{}' $tree/server.py \"$4\"; fi\nwhile [ $# -gt 0 ]; do [ \"$1\" = --result-dir ] && out=$2; shift; done\n[ -n \"$HF_TOKEN\" ] && [ -d \"$TRITON_CACHE_DIR\" ] || exit 5\ncat $tree/result.json > \"$out/result.json\"",
        python.display()
    );
    project.script("vllm-program", &body);
    project.write("vllm/kernels.so", "kernels\n");
    project.write("benchmarks/prompts/chat.jsonl", "{}\n");
    project.write("../tmp/models/served-8b", "a model");
    project.write(
        "result.json",
        r#"{"model_id": "under-test", "num_prompts": 200, "completed": 200, "failed": 0, "output_throughput": 1000.0, "p99_ttft_ms": 80.0, "median_itl_ms": 9.0}"#,
    );
    project.commit("vllm");
    project.write(
        "result.json",
        r#"{"model_id": "under-test", "num_prompts": 200, "completed": 200, "failed": 0, "output_throughput": 1000.0, "p99_ttft_ms": 80.0, "median_itl_ms": 10.5}"#,
    );
    project.write("vllm/changed.py", "# so that the gate is concerned\n");
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(verdicts(&record), ["no_regression", "no_regression", "regression"]);
}

#[test]
fn hipfire() {
    let project = example("hipfire");
    stands_in(
        &project,
        "cargo",
        "[ \"$1\" = -vV ] && exit\nmkdir -p target/release/examples\ncp bench target/release/examples/bench_qwen35_mq4",
    );
    for model in ["qwen3.5-0.8b.mq4", "qwen3.5-9b.mq4"] {
        project.write(&format!("../tmp/models/{model}"), model);
    }
    project.script(
        "bench",
        "[ -n \"$HIPFIRE_GRAPH\" ] || exit 5\necho warming up\necho \"SUMMARY  gen_tok_s=164.0  prefill_tok_s=351.4  avg_ms=6.1\" >&2",
    );
    project.script("scripts/both-streams", "exec \"$@\" 2>&1");
    let arch = format!("cpu-{}", std::env::consts::ARCH);
    let lines = [
        "0.8b_mq4 gen_tok_s 164.0",
        "9b_mq4 gen_tok_s 164.0",
        "9b_mq4_pp128 prefill_tok_s 351.4",
    ];
    let lines: String = lines
        .iter()
        .map(|line| {
            let [fixture, metric, value] = line.split(' ').collect::<Vec<_>>()[..] else {
                unreachable!()
            };
            format!("sample {fixture} {metric} tok/s higher 2026-04-28 - - {value} status=historical stat=best-of-2 source=hipfire\n")
        })
        .collect();
    project.write(&format!("baselines/{arch}.txt"), format!("gate-baseline 1\narch {arch}\n{lines}"));
    project.commit("hipfire");
    project.write("kernels/changed", "so that the gate is concerned\n");
    let record = project.perf(&[]).exits(0).record();
    assert!(
        verdicts(&record).iter().all(|verdict| *verdict == "no_regression"),
        "{:?}",
        verdicts(&record)
    );
    // 6 % below what was published, in both arms: no regression of this change, and below the ground floor all the same.
    let slow = project.sandbox.text("bench").replace("164.0", "154.0");
    project.write("bench", &slow);
    project.commit("slow");
    project.write("kernels/changed", "again\n");
    let record = project.perf(&[]).exits(3).record();
    let told = |record: &Value| {
        let rulings = record["judgement"]["verdicts"].as_array().unwrap().iter();
        let floors = rulings.filter(|ruling| ruling["rule"] == "floor" && ruling["metric"] == "gen_tok_s");
        floors.map(|ruling| ruling["verdict"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&record),
        ["stale_baseline", "stale_baseline"],
        "not this change: the base is below the floor too"
    );
    let record = project.perf(&["--no-base"]).exits(1).record();
    assert_eq!(told(&record), ["regression", "regression"]);
}

#[test]
fn a_prebuilt_pair() {
    let project = example("prebuilt-pair");
    let tmp = project.sandbox.path("../tmp").canonicalize().unwrap();
    let text = project
        .sandbox
        .text("gates/prebuilt-pair.toml")
        .replace("/opt/", &format!("{}/", tmp.display()));
    project.write("gates/prebuilt-pair.toml", text);
    for (name, ms) in [("encoder-2.3", 20), ("encoder-2.4", 20)] {
        project.script(
            &format!("../tmp/{name}/bin/encode"),
            &format!("[ -f \"$8\" ] || [ -f \"$7\" ] || exit 5\necho frame_ms={ms} output_bytes=1000"),
        );
        project.write(&format!("../tmp/{name}/lib/libx.so.1"), "library\n");
    }
    project.write("clips/city.y4m", "frames");
    project.commit("encoder");
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(record["judgement"]["outcome"], "pass", "{}", record["judgement"]);
    project.script("../tmp/encoder-2.4/bin/encode", "echo frame_ms=20 output_bytes=1001");
    let record = project.perf(&[]).exits(1).record();
    assert_eq!(record["judgement"]["outcome"], "fail");
}

#[test]
fn two_settings_of_one_build() {
    let project = example("two-settings");
    stands_in(&project, "make", "[ \"$1\" = --version ] && exit\ncp bench.sh bench");
    project.script("bench.sh", "[ \"$4\" = on ] && echo tok_per_s=120 || echo tok_per_s=100");
    project.commit("settings");
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(verdicts(&record), ["improvement_shown"]);
    assert_eq!(banners(&record), "");
}

#[test]
fn bandwidth_of_a_machine() {
    let project = example("bandwidth");
    stands_in(
        &project,
        "cc",
        "[ \"$1\" = --version ] && exit\ncp tools/bandwidth.c bandwidth; chmod 755 bandwidth",
    );
    project.write("tools/bandwidth.c", "#!/bin/sh\necho gb_s=20.0\n");
    project.commit("bandwidth");
    let done = project.perf(&["--gate", "gates/bandwidth.toml", "--no-base"]).exits(3);
    let record = done.record();
    let words = verdicts(&record);
    assert!(words.contains(&"no_regression") || words.contains(&"not_measured"), "{words:?}");
    project.write("tools/bandwidth.c", "#!/bin/sh\necho gb_s=17.0\n");
    let _done = project.perf(&["--gate", "gates/bandwidth.toml", "--no-base"]).exits(1);
}

#[test]
fn the_gate_of_this_repository_is_sound() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["gates", "check"]);
    command.current_dir(root());
    let done = sandbox.start(command).wait().exits(0);
    assert!(done.out.contains("sound"), "{}", done.out);
}

/// Runs `gate init` in a repository with these files, and checks what it wrote.
fn started(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    project.git(&["rm", "--quiet", "gates/perf.toml"]);
    for (path, text) in files {
        project.write(path, text);
    }
    project.commit("a project");
    let _done = project.sandbox.gate(&["init"]).exits(0);
    let done = project.sandbox.gate(&["gates", "check"]).exits(0);
    assert_eq!(done.out, "1 gate is sound\n");
    assert!(project.sandbox.path("baselines").is_dir());
    assert_eq!(
        project
            .sandbox
            .lines(".gitignore")
            .iter()
            .filter(|line| line.contains(".gate"))
            .count(),
        1
    );
    project.commit("a gate");
    project
}

#[test]
fn a_first_gate_is_sound_wherever_it_is_written() {
    let cargo = started(&[
        (
            "Cargo.toml",
            "[package]\nname = \"tool\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        ("src/main.rs", "fn main() {}\n"),
    ]);
    assert!(cargo.sandbox.text("gates/perf.toml").contains("target/release/tool"));
    let cmake = started(&[("CMakeLists.txt", "project(x C)\nadd_executable(bench a.c)\n")]);
    assert!(cmake.sandbox.text("gates/perf.toml").contains("build/bench"));
}

#[test]
fn a_first_gate_runs_at_once() {
    // Wall time on a busy machine may say anything but an error.
    let runs = |project: &Project| {
        project.write("README", "words\n");
        let gate = project
            .sandbox
            .text("gates/perf.toml")
            .replace("max_blocks  = 14", "max_blocks  = 2 ");
        project.write("gates/perf.toml", gate);
        let done = project.perf(&[]);
        assert!(matches!(done.code, Some(0 | 1 | 3)), "{done:?}");
        let record = done.record();
        assert!(
            record["judgement"]["verdicts"][0]["candidate"]["n"]
                .as_u64()
                .is_some_and(|n| n >= 4),
            "{}",
            record["judgement"]
        );
    };
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_gate")).parent().unwrap();
    let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
    runs(&started(&[]).env("PATH", &path));
    let cargo = [
        ("Cargo.toml", "[package]\nname = \"tool\"\nversion = \"0.1.0\"\n"),
        ("src/main.rs", "fn main() {}\n"),
    ];
    let cmake = [("CMakeLists.txt", "project(x C)\nadd_executable(bench a.c)\n")];
    for (files, builder, built) in [(&cargo[..], "cargo", "target/release/tool"), (&cmake, "cmake", "build/bench")] {
        let project = with_stand_ins(started(files));
        let body = format!("mkdir -p $(dirname {built})\ncp tool.sh {built}");
        stands_in(&project, builder, &body);
        runs(&project);
    }
    if program("python3").is_some() {
        let files = [
            ("pyproject.toml", "[project]\nname = \"my-pkg\"\nversion = \"0\"\n"),
            ("src/my_pkg/__init__.py", "x = 1\n"),
        ];
        runs(&started(&files));
    }
}
