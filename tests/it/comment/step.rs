//! `gate perf` as a step of a job: summary, outputs, annotations, and foreign text that the runner must not obey.

use serde_json::json;

use super::command::{HEAD, job, pull_request};
use crate::sandbox::Sandbox;

/// What a runner reads in the file of a step's outputs: its own rules, written anew.
///
/// A line is `NAME=VALUE` or `NAME<<DELIMITER`, by whichever sign comes first; the value of the latter goes up to a line that is exactly the
/// delimiter, and a delimiter that never comes fails the step.
pub fn outputs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let (equals, heredoc) = (line.find('='), line.find("<<"));
        let is_heredoc = heredoc.is_some_and(|at| equals.is_none_or(|equals| at < equals));
        if !is_heredoc {
            let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("no output: {line:?}"));
            found.push((name.to_owned(), value.to_owned()));
            continue;
        }
        let (name, delimiter) = line.split_once("<<").unwrap();
        let mut value: Vec<&str> = Vec::new();
        loop {
            match lines.next() {
                Some(line) if line == delimiter => break,
                Some(line) => value.push(line),
                None => panic!("matching delimiter not found: {delimiter:?}"),
            }
        }
        found.push((name.to_owned(), value.join("\n")));
    }
    found
}

pub fn value(found: &[(String, String)], name: &str) -> String {
    let values: Vec<&String> = found.iter().filter(|(other, _)| other == name).map(|(_, value)| value).collect();
    assert_eq!(values.len(), 1, "{name} in {found:?}");
    values[0].clone()
}

/// The lines of standard output and error that a runner obeys: those that begin with `::`, and those with `##[` anywhere in them.
pub fn obeyed(text: &str) -> Vec<String> {
    let mut stopped: Option<String> = None;
    let mut commands = Vec::new();
    for line in text.lines().map(str::trim_start) {
        match &stopped {
            Some(end) if line == end => stopped = None,
            Some(_) => {}
            None => {
                if let Some(token) = line.strip_prefix("::stop-commands::") {
                    stopped = Some(format!("::{token}::"));
                } else if line.starts_with("::") || line.contains("##[") {
                    commands.push(line.to_owned());
                }
            }
        }
    }
    assert_eq!(stopped, None, "commands stay stopped");
    commands
}

fn slower(sandbox: &Sandbox) -> [String; 2] {
    sandbox.script("a", "echo t=100");
    sandbox.script("b", "echo ::error::x; echo ::add-mask::y; echo t=120");
    ["./a", "./b"].map(str::to_owned)
}

fn perf(sandbox: &Sandbox, more: &[&str]) -> crate::sandbox::Done {
    let [a, b] = slower(sandbox);
    sandbox.perf(&a, &b, &[&["--metric", "t:lower:ms", "--max-blocks", "3"][..], more].concat())
}

#[test]
fn a_step_has_a_summary_outputs_and_annotations() {
    let sandbox = job("pull_request", &pull_request());
    sandbox.write("summary.md", "# mine\n");
    sandbox.write("output", "mine=1\n");
    let done = perf(&sandbox, &["--out", "records.jsonl"]).exits(1);
    let commands = obeyed(&done.out);
    assert_eq!(commands.len(), 1, "{commands:?}");
    assert!(commands[0].starts_with("::error title=gate%3A regression%3A t::"), "{commands:?}");
    assert_eq!(obeyed(&done.err), Vec::<String>::new());

    let summary = sandbox.text("summary.md");
    assert!(summary.starts_with("# mine\n### gate: fail: regression (blocks)"), "{summary}");
    assert!(summary.contains(&HEAD[..12]), "{summary}");
    let found = outputs(&sandbox.text("output"));
    assert_eq!(value(&found, "mine"), "1");
    assert_eq!(value(&found, "outcome"), "fail");
    assert_eq!(value(&found, "exit-code"), "1");
    assert_eq!(value(&found, "records"), "records.jsonl");
    assert_eq!(sandbox.ledger()[0]["labels"]["pull_request"], "12");
    let sealed = sandbox.ledger()[0]["seal"].as_str().unwrap()[3..15].to_owned();
    assert_eq!(value(&found, "record"), sealed);
    assert!(!value(&found, "disposition").is_empty());
}

#[test]
fn json_stays_json_and_annotations_go_to_standard_error() {
    let sandbox = job("pull_request", &pull_request());
    let done = perf(&sandbox, &["--format", "json"]).exits(1);
    assert_eq!(done.record()["judgement"]["outcome"], "fail");
    assert_eq!(done.out.lines().count(), 1);
    let commands = obeyed(&done.err);
    assert!(commands.iter().any(|line| line.starts_with("::error title=")), "{}", done.err);
}

#[test]
fn a_job_is_told_where_it_is_asked_for_and_left_alone_where_not() {
    let sandbox = job("pull_request", &pull_request());
    let done = perf(&sandbox, &["--github=false"]).exits(1);
    assert_eq!((sandbox.text("summary.md"), sandbox.text("output")), (String::new(), String::new()));
    assert_eq!(obeyed(&done.out), Vec::<String>::new());

    let outside = Sandbox::new();
    let summary = outside.path("s.md").display().to_string();
    let outside = outside.with_env("GITHUB_STEP_SUMMARY", &summary);
    let _done = perf(&outside, &[]).exits(1);
    assert_eq!(outside.text("s.md"), "");
    let _done = perf(&outside, &["--github"]).exits(1);
    assert!(outside.text("s.md").starts_with("### gate: fail"), "{}", outside.text("s.md"));
}

#[test]
fn row_26_files_that_are_missing_or_cannot_be_written_are_warned_of() {
    let sandbox = job("pull_request", &pull_request())
        .with_env("GITHUB_STEP_SUMMARY", "")
        .with_env("GITHUB_OUTPUT", "/proc/no/such/file");
    let done = perf(&sandbox, &[])
        .exits(1)
        .says("gate: warning: the summary of the job: GITHUB_STEP_SUMMARY is not set");
    assert!(
        done.err
            .contains("gate: warning: the outputs of the step: GITHUB_OUTPUT: cannot write"),
        "{}",
        done.err
    );
    assert!(done.err.contains("the verdict stands"), "{}", done.err);
}

#[test]
fn row_25_a_summary_never_outgrows_what_a_runner_takes() {
    let sandbox = job("pull_request", &pull_request());
    let before = "x".repeat(999_000) + "\n";
    sandbox.write("summary.md", &before);
    let _done = perf(&sandbox, &[])
        .exits(1)
        .says("bytes do not fit: the runner takes 1000000 of a step");
    assert_eq!(sandbox.text("summary.md"), before, "what the step wrote before is kept");
    // With more room it is filled up to the limit, and what does not fit is said in it.
    let mut record = crate::synthetic::Session::new()
        .whole(crate::synthetic::noisy(8.0, 0.5, 1))
        .record();
    let model = record.judgement.verdicts[0].clone();
    record.judgement.verdicts = (0..9000)
        .map(|at| gate::model::judgement::Ruling {
            metric: format!("bench_{at:05}"),
            ..model.clone()
        })
        .collect();
    let (record, _) = record.sealed(None).unwrap();
    let sandbox = job("push", &json!({"before": HEAD, "after": HEAD}));
    sandbox.write("summary.md", "x".repeat(100_000) + "\n");
    sandbox.write("records.jsonl", record.line().unwrap() + "\n");
    let _done = sandbox.gate(&["comment", "--records", "records.jsonl"]).exits(0);
    let summary = sandbox.text("summary.md");
    assert!(summary.len() <= 1_000_000 && summary.len() > 900_000, "{}", summary.len());
    assert!(summary.contains("**Cut to fit") && summary.contains("the records have them"));
}

#[test]
fn row_27_an_output_reads_back_whatever_it_holds() {
    let token = "0123456789abcdef0123456789abcdef";
    for held in [
        "plain",
        "",
        "two\nlines",
        "a\n\nb\n",
        "EOF",
        "x\nEOF\ny=1",
        "%0A",
        "carriage\rreturn",
        "crlf\r\nline",
        "n<<EOF\nv\nEOF",
        "ends\n",
    ] {
        let text = gate::render::step::output("name", held, token).unwrap();
        assert_eq!(outputs(&text), [("name".to_owned(), held.to_owned())], "{held:?}");
        let twice = text.clone() + &text;
        assert_eq!(outputs(&twice).len(), 2, "{held:?}");
    }
    // What would end early is not written at all.
    assert_eq!(gate::render::step::output("name", &format!("a\n{token}\nevil=1"), token), None);
}

#[test]
fn row_28_what_a_measured_program_prints_is_shown_and_not_obeyed() {
    let sandbox = job("pull_request", &pull_request());
    sandbox.script("a", "echo ::error::from a; echo '::stop-commands::zz'; echo t=100");
    sandbox.script("b", "echo ::add-mask::secret; echo '##[error]x'; echo '::error::t=5'; exit 3");
    for format in ["terminal", "markdown", "json"] {
        let done = sandbox.perf(
            "./a",
            "./b '##[error]x'",
            &["--metric", "t:lower:ms", "--max-blocks", "2", "--format", format],
        );
        let commands = [obeyed(&done.out), obeyed(&done.err)].concat();
        assert!(!commands.is_empty(), "{format}");
        // What is for eyes stands behind a token that nobody can guess; what is for programs holds nothing else.
        assert_eq!(done.out.starts_with("::stop-commands::"), format == "terminal", "{}", done.out);
        for command in &commands {
            assert!(
                command.starts_with("::error title=gate") || command.starts_with("::warning title=gate"),
                "{format}: {command}"
            );
        }
    }
}

#[test]
fn the_reader_of_outputs_itself_can_object() {
    assert_eq!(outputs("a=b<<c\n"), [("a".to_owned(), "b<<c".to_owned())]);
    assert!(std::panic::catch_unwind(|| outputs("a<<EOF\nb\n")).is_err());
    assert_eq!(
        obeyed("x\n  ::error::y\n::stop-commands::t\n::error::z\n::t::\nin ##[group]g\n"),
        ["::error::y", "in ##[group]g"]
    );
}
