//! The arms themselves: nothing but what is declared differs between them.

use std::collections::BTreeSet;
use std::path::Path;

use super::{GATE, Project, verdicts};
use crate::sandbox::{program, samples};
use crate::sources::root;

/// A gate whose program writes down where and with what it runs.
fn logging(project: &Project, more: &str) -> String {
    let log = project.sandbox.path("../tmp/log");
    let log = log.parent().unwrap().canonicalize().unwrap().join("log");
    let gate = GATE.replace("timeout =", &format!("env = {{ LOG = \"{}\" }}\ntimeout =", log.display()));
    gate.replace("[plan]", &format!("{more}\n[plan]"))
}

fn log(project: &Project) -> Vec<String> {
    project.sandbox.lines("../tmp/log")
}

#[test]
fn environments_are_equally_large_and_names_say_nothing() {
    let project = Project::new();
    let arms = "[arms.a]\nenv = { X = \"1\" }\n\n[arms.b]\nenv = { X = \"a much longer value\", YY = \"{tree}/z\" }\n";
    project.write("gates/perf.toml", logging(&project, arms));
    project.script("tool.sh", "echo \"$PWD $0 $X\" >> $LOG\necho ms=$(env -0 | wc -c)");
    project.commit("logs");
    project.write("README", "words\n");
    let record = project.perf(&[]).exits(0).record();
    let sizes: BTreeSet<String> = samples(&record).iter().map(|sample| sample["values"]["ms"].to_string()).collect();
    assert_eq!(sizes.len(), 1, "the environments have different sizes: {sizes:?}");

    let lines = log(&project);
    assert!(lines.len() >= 10, "{lines:?}");
    let mut names = BTreeSet::new();
    for line in &lines {
        let (folder, rest) = line.split_once(' ').unwrap();
        assert!(rest.starts_with(&format!("{folder}/tool ")), "it starts in its tree: {line}");
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        assert!(name.len() == 8 && name.bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
        names.insert((folder.to_owned(), rest.contains("longer")));
    }
    assert_eq!(names.len(), 2, "a tree an arm: {names:?}");
    assert_eq!(record["plan"]["cwd"], "{tree}");
}

#[test]
fn a_prebuilt_pair_is_compared_as_it_lies_there() {
    let project = Project::new();
    for (name, ms) in [("old", 100), ("new", 120)] {
        project.script(&format!("../tmp/{name}/bin/encode"), &format!("echo ms={ms}"));
    }
    let tmp = project.sandbox.path("../tmp").canonicalize().unwrap();
    let gate = GATE
        .replace("build = [[\"cp\", \"tool.sh\", \"tool\"]]\n", "")
        .replace("\"tool\"", "\"bin/*\"")
        .replace("/tool", "/bin/encode");
    let pair = format!(
        "[arms.a]\npath = \"{0}/old\"\n\n[arms.b]\npath = \"{0}/new\"\n\n[plan]",
        tmp.display()
    );
    project.write(
        "gates/perf.toml",
        gate.replace("[plan]", &pair) + "\n[require]\ncomplete = [\"artifacts\"]\n",
    );
    let done = project.perf(&[]).exits(1);
    let record = done.record();
    assert_eq!(
        (verdicts(&record), record["judgement"]["disposition"].as_str()),
        (vec!["regression"], Some("rejected_null"))
    );
    assert_eq!(record["context"]["base"]["why"], format!("the install {}/old", tmp.display()));
    assert_eq!(record["identity"]["arms"]["A"]["artifacts"][0]["path"], "bin/encode");
    let why = |field: &str| {
        record["identity"]["missing"]
            .as_array()
            .unwrap()
            .iter()
            .any(|missing| missing["field"] == field)
    };
    assert!(why("source"), "{}", record["identity"]["missing"]);

    // A release against the working tree.
    let gate = GATE.replace("[plan]", &format!("[arms.a]\npath = \"{}/release\"\n\n[plan]", tmp.display()));
    project.script("../tmp/release/tool", "echo ms=100");
    project.write("gates/perf.toml", gate);
    project.program(130);
    assert_eq!(verdicts(&project.perf(&[]).exits(1).record()), ["regression"]);
    std::fs::remove_dir_all(tmp.join("release")).unwrap();
    let _done = project.perf(&[]).exits(2).says("arm A: path: cannot enter");
}

#[test]
fn one_build_with_two_settings_needs_no_other_revision() {
    let project = Project::new();
    let arms = "[arms.a]\nrev = \"HEAD\"\nargs = [\"110\"]\n\n[arms.b]\nrev = \"HEAD\"\nargs = [\"100\"]\n";
    let gate = logging(&project, arms)
        .replace("/tool\"", "/tool\", \"{args}\"")
        .replace("[plan]", "[plan]\nobjective = \"promote\"");
    project.write("gates/perf.toml", gate);
    project.script("tool.sh", "echo ms=$1");
    let head = project.commit("settings");
    let record = project.perf(&[]).exits(0).record();
    assert_eq!(verdicts(&record), ["improvement_shown"]);
    assert_eq!(record["context"]["base"]["commit"], head.as_str());
    assert_eq!(record["context"]["base"]["why"], "arms.a.rev HEAD");
    let config = &record["identity"]["config"];
    assert_eq!((&config["a"]["args"][0], &config["b"]["args"][0]), (&"110".into(), &"100".into()));
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    if !gate::edge::device::list(Path::new("/")).is_empty() {
        return;
    }
    let project = Project::new();
    let done = project
        .perf(&["--device", "0"])
        .exits(2)
        .says("--device: there is no device \"0\": this machine has no GPU");
    assert!(done.out.is_empty());
}

#[test]
fn a_real_program_that_takes_longer_is_caught() {
    let Some(_) = program("cc") else { return };
    let work = |turns: u32| {
        format!(
            "#include <stdio.h>\nint main(void){{volatile double x=0;for(long i=0;i<{turns}L*1000;i++)x+=i;puts(x>0?\"done\":\"\");return 0;}}\n"
        )
    };
    let gate = GATE
        .replace("\"cp\", \"tool.sh\", \"tool\"", "\"cc\", \"-O1\", \"-o\", \"tool\", \"tool.c\"")
        .replace("name = \"ms\"\nunit = \"ms\"", "name = \"cpu_s\"\nunit = \"s\"");
    let project = Project::with(&gate.replace("5%", "25%").replace("max_blocks = 4", "max_blocks = 14"));
    project.write("tool.c", work(20_000));
    project.commit("a program in C");
    project.write("tool.c", work(40_000));
    assert_eq!(verdicts(&project.perf(&[]).exits(1).record()), ["regression"]);
}

#[test]
fn a_declared_share_of_requests_may_fail_in_a_measured_run_too() {
    let project = Project::new();
    let data = root().join("tests/data/adapter/vllm");
    let gate = |max_failed: &str| {
        let gate = GATE.replace("name = \"ms\"", "name = \"mean_ttft_ms\"");
        let gate = gate.replace(
            "timeout =",
            &format!("extract = \"vllm\"\nmax_failed = \"{max_failed}\"\ntimeout ="),
        );
        assert!(gate.contains("mean_ttft_ms") && gate.contains("extract"), "{gate}");
        gate
    };
    project.script("tool.sh", "cat \"$(dirname \"$0\")/result.json\"");
    let result = |name: &str| project.write("result.json", std::fs::read_to_string(data.join(name)).unwrap());
    result("serve.json");
    project.write("gates/perf.toml", gate("37%"));
    project.commit("serves");
    result("serve-some-failed.json");
    assert_eq!(verdicts(&project.perf(&[]).exits(1).record()), ["candidate_failed"]);
    project.write("gates/perf.toml", gate("38%"));
    let record = project.perf(&[]).record();
    assert_ne!(verdicts(&record), ["candidate_failed"], "{record}");
    assert!(
        samples(&record).iter().all(|sample| sample["values"]["mean_ttft_ms"].is_number()),
        "{record}"
    );
    assert_eq!(record["plan"]["max_failed_pct"], 38.0);
    result("serve-all-failed.json");
    assert_eq!(verdicts(&project.perf(&[]).exits(1).record()), ["candidate_failed"]);
}
