//! Rows of scores on the page that a pull request shows.

use super::{BASE, Made, TUNED, log};
use crate::declared::Project;

/// The page about some records, written by gates of this project.
fn page(project: &Project, records: &[String]) -> String {
    project.write("../records.jsonl", records.concat());
    let words = ["comment", "--records", "../records.jsonl", "--dry-run"];
    project.sandbox.gate(&words).exits(0).out
}

/// A project whose change answers 70 questions of `arc` worse, 12 others better, and 4 of `piqa` worse.
fn project() -> Project {
    let project = Project::new();
    project.write(
        "gates/eval.toml",
        "version = 1\nsource = \"ingest\"\n[ingest]\nbaseline = \"base\"\n[[rule]]\nkind = \"drop\"\nmetric = \"arc\"\n\
         [[rule]]\nkind = \"drop\"\nmetric = \"piqa\"\n",
    );
    let side = |folder: &str, model, arc: &dyn Fn(usize) -> bool, piqa: usize| {
        let right = (0..1000).filter(|at| arc(*at)).count() as u64;
        let made = Made::of(model).task("arc", right, 1000).task("piqa", piqa as u64, 1000);
        project.write(&format!("{folder}/results.json"), made.text());
        project.write(&format!("{folder}/samples_arc.jsonl"), log("arc", (0..1000).map(arc)));
        project.write(&format!("{folder}/samples_piqa.jsonl"), log("piqa", (0..1000).map(|at| at < piqa)));
    };
    side("base", BASE, &|at| at < 750, 800);
    project.commit("the rule of scores");
    side("tuned", TUNED, &|at| (70..762).contains(&at), 796);
    project
}

fn eval(project: &Project) -> String {
    project.sandbox.gate(&["eval", "tuned", "--format", "json"]).exits(1).out
}

#[test]
fn a_row_of_a_score_has_items_lost_and_gained() {
    let project = project();
    let shown = page(&project, &[eval(&project)]);
    for line in [
        "| what | base | candidate | gain, interval | tolerance | blocks | n | lost | gained | committed baseline | worth | verdict |",
        "| `arc` / `acc` (higher is better), drop | 75.00 % | 69.20 % | -5.80 ",
        "| 1 pp | - | 1000 | 70 | 12 | - |",
        "| what | gain, interval | tolerance | could see | n | lost | gained | committed baseline | verdict |",
        "| 1 pp | - | 1000 | 4 | 0 | - | no_regression |",
        "Decided by the rule `drop` at `gates/eval.toml:5`",
        "To accept it for a while: `gate waive ",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("looks after"), "nothing was planned: {shown}");
}

#[test]
fn what_was_not_counted_is_a_dash_and_never_zero() {
    let project = project();
    std::fs::remove_file(project.sandbox.path("tuned/samples_arc.jsonl")).unwrap();
    let shown = page(&project, &[eval(&project)]);
    assert!(shown.contains("| 1 pp | - | 1000 | - | - | - |"), "{shown}");
    // One side has the task and the other has not: nothing is known of it but that.
    project.write("tuned/results.json", Made::of(TUNED).task("piqa", 700, 1000).text());
    let shown = page(&project, &[eval(&project)]);
    assert!(shown.contains("| 1 pp | - | - | - | - | - |"), "{shown}");
}

#[test]
fn beside_scores_a_measured_row_has_dashes_and_alone_no_such_columns() {
    let project = project();
    project.program(150);
    project.commit("slower");
    let scores = eval(&project);
    let measured = project.perf(&["--base", "HEAD^"]).exits(1).out;
    assert!(!page(&project, std::slice::from_ref(&measured)).contains("| lost |"));
    let both = page(&project, &[measured, scores]);
    let row = both.lines().find(|line| line.starts_with('|') && line.contains("`ms`")).unwrap();
    assert!(row.contains("| 5 % | 2 | - | - | - | - |"), "{row}");
    assert_eq!(row.matches(" | ").count(), 11, "{row}");
}
